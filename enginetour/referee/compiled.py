"""Load the compiled part (enginetour._native, written in C) if it was built, and choose the board of the record."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Protocol

import chess

from enginetour.engines.position import Position, play_san

# The part in C, where it was built: the path of a plain ply and the record of a game.
#
# Nothing hangs on it but time: without a C compiler at the installation, or with ENGINETOUR_NO_NATIVE=1 in the
# environment, Python does the same (tests/laws/test_native.py holds one against the other).

INTERFACE = 3  # of `_native` as it is called here: one that was built from other sources is not used


def _loaded() -> ModuleType | None:
    if os.environ.get("ENGINETOUR_NO_NATIVE", "") not in ("", "0"):
        return None
    try:
        from enginetour import _native
    except ImportError:
        return None
    return _native if getattr(_native, "INTERFACE", None) == INTERFACE else None


native = _loaded()


# The board behind the real one, on which the record of a game is written ply by ply.


class RecordBoard(Protocol):
    """What stands before the next ply to be written."""

    @property
    def board(self) -> chess.Board:
        """To look at, not to play on."""

    @property
    def turn(self) -> bool:
        """Whose ply it is."""

    def play(self, move: chess.Move, uci: str, mark: str | None) -> str:
        """The move's notation. `mark`: the ``+`` or ``#`` at its end, or "", where that is known."""


class _PlainShadow:
    """By python-chess, for all variants."""

    def __init__(self, position: Position) -> None:
        self.board = position.start_board()
        self.board.castling_rights = self.board.clean_castling_rights()
        self._usual = position.usual

    @property
    def turn(self) -> bool:
        """Whose ply it is."""
        return self.board.turn

    def play(self, move: chess.Move, uci: str, mark: str | None) -> str:
        """In 4 us where FIDE's rules hold, 14 elsewhere (measured)."""
        del uci
        if self._usual:
            return play_san(self.board, move, mark=mark)
        san = self.board.san(move)
        self.board.push(move)
        return san


class _QuickShadow:
    """Compiled, where FIDE's rules hold."""

    def __init__(self, position: Position) -> None:
        """ValueError for a position without a king, with two, or one that cannot have come about."""
        assert native is not None
        self._seen = _PlainShadow(position).board
        self._own = native.Board(self._seen)
        self.write = self._own.write  # an UCI engine's ply with its search; None: somebody patient is to read it

    @property
    def board(self) -> chess.Board:
        """Made anew each time, some 3 us."""
        self._own.onto(self._seen)
        return self._seen

    @property
    def turn(self) -> bool:
        """Whose ply it is."""
        return bool(self._own.turn)

    def play(self, move: chess.Move, uci: str, mark: str | None) -> str:
        """The mark is found out sooner than handed over."""
        del move, mark
        return str(self._own.play(uci))


def record_board(position: Position) -> RecordBoard:
    """The quickest that knows the rules of the game."""
    if native is not None and position.usual:
        try:
            return _QuickShadow(position)
        except ValueError:  # a set-up that only python-chess takes
            pass
    return _PlainShadow(position)
