#!/usr/bin/env python3
"""Pebble, the engine of the recorded tournaments: `pebble.py LEVEL [FAULT]` speaks UCI and CECP.

Level 0 plays some legal move, level 1 captures the most, level 2 less what it can lose in return. In the same game it plays the
same moves. A fault strikes in its fourth search of a game: crash, illegal or slow. With `whitepov` it tells White's score,
with `computer` that command ends it.
It never castles and never captures in passing, but understands both.
"""

# mypy: ignore-errors
# An engine is a program, not a part of the package. It is a part of the recording: a change makes it another engine.
import os
import sys
import time
import zlib

LEVEL, FAULT = int(sys.argv[1]), (sys.argv[2] if len(sys.argv) > 2 else "")
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
WORTH = {"p": 100, "n": 300, "b": 310, "r": 500, "q": 900, "k": 0, ".": 0}
STRAIGHT, SLANTED = ((0, 1), (1, 0), (0, -1), (-1, 0)), ((1, 1), (1, -1), (-1, 1), (-1, -1))
LEAPS = ((1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1))
STEPS = {"n": LEAPS, "b": SLANTED, "r": STRAIGHT, "q": STRAIGHT + SLANTED, "k": STRAIGHT + SLANTED}


def say(*lines):
    os.write(1, "".join(f"{line}\n" for line in lines).encode())


def square(text):
    return ord(text[0]) - 97 + 8 * (int(text[1]) - 1)


def named(at):
    return "abcdefgh"[at % 8] + str(at // 8 + 1)


class Game:
    def __init__(self, fen=START):
        rows, side = fen.split()[:2]
        for digit in "12345678":
            rows = rows.replace(digit, "." * int(digit))
        self.board = [piece for row in reversed(rows.split("/")) for piece in row]
        self.white = side == "w"

    def copy(self):
        other = Game.__new__(Game)
        other.board, other.white = self.board[:], self.white
        return other

    def own(self, piece):
        return piece != "." and piece.isupper() == self.white

    def play(self, move):
        board, start, end = self.board, square(move), square(move[2:])
        piece = board[start]
        if piece in "Kk" and (self.own(board[end]) or abs(end % 8 - start % 8) > 1):  # castling, either spelling
            short, base = end > start, start - start % 8
            rook = end if self.own(board[end]) else base + (7 if short else 0)
            tower, board[start], board[rook] = board[rook], ".", "."
            board[base + (6 if short else 2)], board[base + (5 if short else 3)] = piece, tower
        else:
            if piece in "Pp" and start % 8 != end % 8 and board[end] == ".":
                board[start - start % 8 + end % 8] = "."
            promoted = move[4:5]
            board[start] = "."
            board[end] = (promoted.upper() if self.white else promoted) if promoted else piece
        self.white = not self.white

    def targets(self, at):
        board, piece = self.board, self.board[at]
        x, y, kind = at % 8, at // 8, piece.lower()
        if kind == "p":
            step = 1 if self.white else -1
            if board[at + 8 * step] == ".":
                yield at + 8 * step
                if y == (1 if self.white else 6) and board[at + 16 * step] == ".":
                    yield at + 16 * step
            for side in (-1, 1):
                if 0 <= x + side < 8 and self.taken(board[at + 8 * step + side]):
                    yield at + 8 * step + side
            return
        for dx, dy in STEPS[kind]:
            i, j = x + dx, y + dy
            while 0 <= i < 8 and 0 <= j < 8 and not self.own(board[i + 8 * j]):
                yield i + 8 * j
                if board[i + 8 * j] != "." or kind in "nk":
                    break
                i, j = i + dx, j + dy

    def taken(self, piece):
        return piece != "." and not self.own(piece)

    def moves(self):
        for at, piece in enumerate(self.board):
            if self.own(piece):
                for end in self.targets(at):
                    yield named(at) + named(end) + ("q" if piece in "Pp" and end // 8 in (0, 7) else "")

    def takes_king(self):
        return any(self.board[square(move[2:])] in "Kk" for move in self.moves())

    def legal(self):
        for move in self.moves():
            after = self.copy()
            after.play(move)
            if not after.takes_king():
                yield move, after

    def score(self):
        return sum(WORTH[piece.lower()] * (1 if self.own(piece) else -1) for piece in self.board)


def chosen(game):
    """The move and its score in centipawns from the mover's side; None where there is no legal move."""
    best = None
    for move, after in game.legal():
        lot = zlib.crc32(f"{LEVEL}{''.join(game.board)}{move}".encode()) % 1000
        worth = 0 if LEVEL == 0 else -after.score()
        if LEVEL > 1:
            worth -= max((WORTH[after.board[square(reply[2:])].lower()] for reply in after.moves()), default=0)
        best = max(best or (-99_999, 0, ""), (worth, lot, move))
    return best and (best[2], best[0])


def main():
    game, searches, force, cecp, depth = Game(), 0, False, False, 3
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        search = False
        if word == "uci":
            say(f"id name Pebble {LEVEL}", "id author the enginetour authors")
            say("option name Hash type spin default 16 min 1 max 64", "option name Style type combo default a var a var b")
            say("option name UCI_Chess960 type check default false", "option name Wipe type button", "uciok")
        elif word == "isready":
            say("readyok")
        elif word in ("ucinewgame", "new"):
            game, searches, force = Game(), 0, False
        elif word == "position":
            where, _, moves = rest.partition(" moves ")
            game = Game(where.removeprefix("fen ") if where.startswith("fen ") else START)
            for move in moves.split():
                game.play(move)
        elif word == "xboard":
            cecp = True
        elif word == "protover":
            say(f'feature myname="Pebble {LEVEL}" ping=1 setboard=1 usermove=1 sigint=0 sigterm=0 colors=0')
            say('feature analyze=0 reuse=1 playother=0 memory=1 option="Style -combo *a /// b" done=1')
        elif word == "ping":
            say(f"pong {rest}")
        elif word == "setboard":
            game = Game(rest)
        elif word == "force":
            force = True
        elif word == "sd":
            depth = int(rest)
        elif word == "usermove":
            game.play(rest)
            search = not force
        elif word == "go":
            force, search = False, True
        elif word == "quit" or (word == "computer" and FAULT == "computer"):
            return
        if search:
            searches += 1
            if FAULT == "crash" and searches == 4:
                os.write(2, b"pebble: cannot go on\n")
                os.abort()
            if FAULT == "slow" and searches == 4:
                time.sleep(3)
            found = chosen(game)
            if found is None:
                continue
            move, score = found
            if FAULT == "whitepov" and not game.white:
                score = -score
            if FAULT == "illegal" and searches == 4:
                move = "a1a1"
            if cecp:
                say(f"{depth} {score} 1 20 {move}", f"move {move}")
                game.play(move)
            else:
                say(f"info depth 3 score cp {score} nodes 20 nps 2000 time 1 pv {move}", f"bestmove {move}")


main()
