"""Load the compiled part (enginetour._native, written in C) if it was built, and choose the board of the record."""

from __future__ import annotations

import os
from types import ModuleType

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


class RecordBoard:
    """The position before the next ply to be written, by python-chess, for all variants."""

    def __init__(self, position: Position) -> None:
        self._board = position.start_board()
        self._board.castling_rights = self._board.clean_castling_rights()
        self._usual = position.usual

    @property
    def board(self) -> chess.Board:
        """To look at, not to play on."""
        return self._board

    @property
    def turn(self) -> bool:
        """Whose ply it is."""
        return self._board.turn

    def play(self, move: chess.Move, uci: str, mark: str | None) -> str:
        """The move's notation. `mark`: the ``+`` or ``#`` at its end, or "", where that is known.

        In 4 us where FIDE's rules hold, 14 elsewhere (measured).
        """
        del uci
        if self._usual:
            return play_san(self._board, move, mark=mark)
        san = self._board.san(move)
        self._board.push(move)
        return san


class _CompiledBoard(RecordBoard):
    """Where FIDE's rules hold."""

    def __init__(self, position: Position) -> None:
        """ValueError for a position without a king, with two, or one that cannot have come about."""
        super().__init__(position)
        assert native is not None
        self._own = native.Board(self._board)
        self.write = self._own.write  # an UCI engine's ply with its search; None: somebody patient is to read it

    @property
    def board(self) -> chess.Board:
        self._own.onto(self._board)  # some 3 us
        return self._board

    @property
    def turn(self) -> bool:
        return bool(self._own.turn)

    def play(self, move: chess.Move, uci: str, mark: str | None) -> str:
        del move, mark  # which is found out sooner than handed over
        return str(self._own.play(uci))


def record_board(position: Position) -> RecordBoard:
    """The quickest that knows the rules of the game."""
    if native is not None and position.usual:
        try:
            return _CompiledBoard(position)
        except ValueError:  # a set-up that only python-chess takes
            pass
    return RecordBoard(position)
