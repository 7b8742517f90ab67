"""An engine that plays random moves, always the same in a position, with info lines of many forms.

The score is the material. Some lines are unusual: bounds, other orders of values, illegal PVs.
"""

# mypy: ignore-errors
# An engine is a program, not a module of the package.
import os
import random
import sys

import chess

VALUES = {chess.PAWN: 100, chess.KNIGHT: 300, chess.BISHOP: 310, chess.ROOK: 500, chess.QUEEN: 900, chess.KING: 0}


def say(text):
    os.write(1, text.encode())


def score_of(board):
    return sum(
        VALUES[piece.piece_type] * (1 if piece.color == board.turn else -1) for piece in board.piece_map().values()
    )


def line_of(board, dice, first):
    line, board = [first.uci()], board.copy(stack=False)
    board.push(first)
    for _ in range(dice.randrange(6)):
        legal = list(board.legal_moves)
        if not legal:
            break
        line.append(dice.choice(legal).uci())
        board.push_uci(line[-1])
    return " ".join(line)


def told(board, dice, move):
    score, pv = score_of(board), line_of(board, dice, move)
    usual = f"info depth 3 seldepth 5 multipv 1 score cp {score} nodes 1234 nps 99 tbhits 0 time 7 pv {pv}\n"
    form = dice.randrange(24)
    if form == 0:
        return usual + f"info depth 4 score cp {score + 40} lowerbound nodes 20 pv {move.uci()}\n"
    if form == 1:
        return f"info nodes 77 time 3 depth 6 score cp {score} pv {pv}\r\n"
    if form == 2:
        return f"info depth 9 score mate {dice.choice([-7, 5, 30])} pv {pv}\n"
    if form == 3:
        return f"info depth 9 score cp {score} pv {move.uci()} a1h8 h8a1\n"
    if form == 4:
        return f"info depth 2 score cp {score} pv {dice.choice(list(board.legal_moves)).uci()}\n"
    if form == 5:
        return "info string nothing to tell\n"
    if form == 6:
        return f"{usual}info hashfull 33\ninfo string score cp 7 is no score\n"
    if form == 7:
        return f"info depth 3 score cp {score} multipv 2 pv {pv}\ninfo  depth 1  score cp  {score} \n"
    return usual


def main():
    seed = sys.argv[1]
    board = chess.Board()
    shuffled = False
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "uci":
            say("id name Dice\noption name UCI_Chess960 type check default false\nuciok\n")
        elif word == "setoption":
            shuffled = rest == "name UCI_Chess960 value true"
        elif word == "isready":
            say("readyok\n")
        elif word == "position":
            where, _, moves = rest.partition(" moves ")
            fen = chess.STARTING_FEN if where == "startpos" else where.removeprefix("fen ")
            board = chess.Board(fen, chess960=shuffled)
            for move in moves.split():
                board.push_uci(move)
        elif word == "go":
            dice = random.Random(f"{seed} {board.fen()} {len(board.move_stack)}")
            taking = [move for move in board.legal_moves if board.is_capture(move)]
            move = dice.choice(taking if taking and dice.random() < 0.3 else list(board.legal_moves))
            text = told(board, dice, move)
            end = f"bestmove {move.uci()}{dice.choice(['', ' ponder e2e4', ' '])}\n"
            if dice.random() < 0.3:
                say(text)
                say(end)
            else:
                say(text + end)
        elif word == "quit":
            return


main()
