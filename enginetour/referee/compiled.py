"""Load the compiled part (enginetour._native, written in C) if it was built, and choose the board of the record."""

from __future__ import annotations

import os
from types import ModuleType

import chess

from enginetour.engines.position import Position, play_san

# The compiled part, if it was built: plain plies and the record of a game.
#
# It only saves time. Without a C compiler at the installation, or with ENGINETOUR_NO_NATIVE=1 in the environment,
# Python does the same work (tests/laws/test_native.py compares the two).

INTERFACE = 3  # of `_native` as this code calls it; a module that was built from other sources is not used


def _loaded() -> ModuleType | None:
    if os.environ.get("ENGINETOUR_NO_NATIVE", "") not in ("", "0"):
        return None
    try:
        from enginetour import _native
    except ImportError:
        return None
    return _native if getattr(_native, "INTERFACE", None) == INTERFACE else None


native = _loaded()


class RecordBoard:
    """The position before the next ply of the record, kept by python-chess, for all variants."""

    def __init__(self, position: Position) -> None:
        self._board = position.start_board()
        self._board.castling_rights = self._board.clean_castling_rights()
        self._usual = position.usual

    @property
    def board(self) -> chess.Board:
        """The current board, for reading only."""
        return self._board

    @property
    def turn(self) -> bool:
        """The side to move."""
        return self._board.turn

    def play(self, move: chess.Move, uci: str, mark: str | None) -> str:
        """Play a move and return its notation; `mark` is the ``+``, ``#`` or "" at its end, if known.

        Takes 4 us with FIDE's rules, 14 us otherwise (measured).
        """
        del uci
        if self._usual:
            return play_san(self._board, move, mark=mark)
        san = self._board.san(move)
        self._board.push(move)
        return san


class _CompiledBoard(RecordBoard):
    """The position before the next ply of the record, kept by compiled code; only for FIDE's rules."""

    def __init__(self, position: Position) -> None:
        """Raise ValueError for a position without one king per side, or one that no game can reach."""
        super().__init__(position)
        assert native is not None
        self._own = native.Board(self._board)
        self.write = self._own.write  # writes a ply of a UCI engine with its search; None: Python must read the search

    @property
    def board(self) -> chess.Board:
        self._own.onto(self._board)  # takes about 3 us
        return self._board

    @property
    def turn(self) -> bool:
        return bool(self._own.turn)

    def play(self, move: chess.Move, uci: str, mark: str | None) -> str:
        del move, mark  # faster to calculate than to pass
        return str(self._own.play(uci))


def record_board(position: Position) -> RecordBoard:
    """Return the fastest board that supports the rules of the game."""
    if native is not None and position.usual:
        try:
            return _CompiledBoard(position)
        except ValueError:  # a position that only python-chess accepts
            pass
    return RecordBoard(position)
