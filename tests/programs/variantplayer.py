"""An engine for games of any variant, which always plays the same legal move in a position.

It only accepts and sends moves in the notation of its protocol. Wrong input makes it fail, and missing information (a
pocket, checks, a right to castle) changes its moves.
"""

# mypy: ignore-errors
# An engine is a program, not a module of the package.
from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import chess
import chess.variant

BOARDS = {board.uci_variant: board for board in (chess.Board, *chess.variant.VARIANTS[1:])}
SHUFFLED = "fischerandom"  # name in the CECP spec
BY_CECP_NAME = {"normal" if name == "chess" else name: board for name, board in BOARDS.items()}


def choice(board: chess.Board, seed: str) -> chess.Move:
    """Return a move without random numbers, which can differ between versions of Python; prefer special moves."""
    number = int.from_bytes(hashlib.sha256(f"{seed} {board.fen()}".encode()).digest()[:8], "big")
    moves = sorted(board.legal_moves, key=chess.Move.uci)
    kinds = (board.is_castling, lambda move: move.drop is not None, board.is_capture, board.gives_check)
    for wanted, kind in enumerate(kinds):
        some = [move for move in moves if kind(move)]
        if some and number >> (60 - 2 * wanted) & 3 < 2:
            return some[number % len(some)]
    return moves[number % len(moves)]


def in_cecp(board: chess.Board, move: chess.Move, *, san: bool) -> str:
    """Write a move as the CECP spec has it ("move", "variant"): castling as O-O in Chess960, drops as P@e5."""
    if san:
        text = board.san(move)
        return f"P{text}" if text[0] == "@" else text
    if board.chess960 and board.is_castling(move):
        return "O-O" if board.is_kingside_castling(move) else "O-O-O"
    return move.uci()


def say(*lines: str) -> None:
    os.write(1, "".join(f"{line}\n" for line in lines).encode())


class Uci:
    """Its board is that of the last `position`; a longer list of moves continues it."""

    def __init__(self, seed: str) -> None:
        self.seed, self.variant, self.shuffled, self.told = seed, "chess", False, []
        self.board = chess.Board()

    def hear(self, word: str, rest: str) -> None:
        if word == "uci":
            values = " ".join(f"var {name}" for name in BOARDS)
            say("id name Uci", "option name UCI_Chess960 type check default false")
            say(f"option name UCI_Variant type combo default chess {values}", "uciok")
        elif word == "isready":
            say("readyok")
        elif rest.startswith("name UCI_Variant value "):
            self.variant = rest.rpartition(" ")[2]
        elif rest.startswith("name UCI_Chess960 value "):
            self.shuffled = rest.endswith(" true")
        elif word == "position":
            self.place(rest)
        elif word == "go":
            say(f"info depth 1 score cp 0 pv {(move := choice(self.board, self.seed))}", f"bestmove {move.uci()}")

    def place(self, words: str) -> None:
        start, _, moves = words.partition(" moves ")
        told = [self.variant, self.shuffled, start, *moves.split()]
        if told[: len(self.told)] != self.told or len(self.told) < 3:
            self.begin(start)
            self.told = told[:3]
        for text in told[len(self.told) :]:
            self.board.push(next(move for move in self.board.legal_moves if move.uci() == text))
        self.told = told

    def begin(self, start: str) -> None:
        kind = BOARDS[self.variant]
        fen = None if start == "startpos" else start.removeprefix("fen ")
        if fen is not None and not self.shuffled and set(fen.split()[2]) - set("KQkq-"):
            sys.exit(f"rights by files: {fen}")
        kept = {"chess960": self.shuffled} if kind is chess.Board else {}
        self.board = kind(**kept) if fen is None else kind(fen, **kept)


class Cecp:
    """Its board gets every move that it receives or sends."""

    def __init__(self, seed: str, *, san: bool, faults: Sequence[str] = ()) -> None:
        self.seed, self.san, self.force, self.faults, self.moves = seed, san, True, faults, 0
        self.board, self.kind, self.shuffled = chess.Board(), chess.Board, False

    def hear(self, word: str, rest: str) -> None:
        if word == "protover":
            known = ",".join((SHUFFLED, *BY_CECP_NAME))
            ping, setboard = int("no-ping" not in self.faults), int("no-setboard" not in self.faults)
            say(f"feature ping={ping} setboard={setboard} usermove=1 colors=0 sigint=0 san={int(self.san)} draw=0")
            say(f'feature myname="Cecp" variants="{known}" done=1')
        elif word == "ping":
            say(f"pong {rest}")
        elif word == "new":
            self.kind, self.shuffled, self.force = chess.Board, False, False
            self.board = chess.Board()
        elif word == "variant":
            self.kind, self.shuffled = BY_CECP_NAME.get(rest, chess.Board), rest == SHUFFLED
            self.board = self.kind()
        elif word == "setboard":
            self.board = self.kind(rest, chess960=True) if self.shuffled else self.kind(rest)
        elif word == "force":
            self.force = True
        elif word == "usermove":
            if "late" in self.faults and not self.force and self.moves == 5:
                self.moves += 1
                say(self.moved())  # it had moved for its opponent before the move came
            moves = self.board.legal_moves
            if self.san:
                with suppress(ValueError):
                    moves = [self.board.parse_san(rest)]  # parse_san accepts other forms too
            found = next((move for move in moves if in_cecp(self.board, move, san=self.san) == rest), None)
            if found is None:
                say(f"Illegal move: {rest}")
                return
            self.board.push(found)
            if not self.force:
                self.play()
        elif word == "go":
            self.force = False
            self.play()

    def play(self) -> None:
        lines = [f"1 0 1 1 {choice(self.board, self.seed).uci()}", self.moved()]
        self.moves += 1
        if "surplus" in self.faults and self.moves % 3 == 0 and any(self.board.legal_moves):
            lines.append(self.moved())  # also for its opponent
        say(*lines)

    def moved(self) -> str:
        """Play a move and print it."""
        move = choice(self.board, self.seed)
        line = f"move {in_cecp(self.board, move, san=self.san)}"
        self.board.push(move)
        return line


def main() -> None:
    """Arguments: protocol (uci, cecp, or san for CECP with san=1), seed, and faults of CECP."""
    protocol, seed, *faults = sys.argv[1:]
    engine = Uci(seed) if protocol == "uci" else Cecp(seed, san=protocol == "san", faults=faults)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "quit":
            return
        engine.hear(word, rest)


if __name__ == "__main__":
    main()
