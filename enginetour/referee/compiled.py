"""The board of the record: compiled if the compiled part was built, otherwise python-chess."""

from __future__ import annotations

import chess

from enginetour.engines.position import Position, play_san
from enginetour.interop.compiled import native


class RecordBoard:
    """The position before the next ply of the record, implemented with python-chess, for all variants."""

    def __init__(self, position: Position) -> None:
        self._board = position.start_board()
        self._board.castling_rights = self._board.clean_castling_rights()
        self._usual = position.usual

    @property
    def board(self) -> chess.Board:
        """The current board, which callers must not change."""
        return self._board

    @property
    def turn(self) -> bool:
        """The side to move."""
        return self._board.turn

    def play(self, move: chess.Move, uci: str, mark: str | None) -> str:
        """Play a move and return its SAN notation. `mark` is the ``+``, ``#`` or "" at its end; None if unknown.

        This takes 4 us with FIDE's rules and 14 us otherwise (measured).
        """
        del uci
        if self._usual:
            return play_san(self._board, move, mark=mark)
        san = self._board.san(move)
        self._board.push(move)
        return san


class _CompiledBoard(RecordBoard):
    """The position before the next ply of the record, implemented with compiled code, only for FIDE's rules."""

    def __init__(self, position: Position) -> None:
        """Raise ValueError if a side does not have exactly one king, or if no game can reach the position."""
        super().__init__(position)
        assert native is not None
        self._own = native.Board(self._board)
        self.write = self._own.write  # writes a UCI engine's ply and search; None if Python must read the search

    @property
    def board(self) -> chess.Board:
        self._own.onto(self._board)  # takes about 3 us
        return self._board

    @property
    def turn(self) -> bool:
        return bool(self._own.turn)

    def play(self, move: chess.Move, uci: str, mark: str | None) -> str:
        del move, mark  # calculating them in C is faster than passing them
        return str(self._own.play(uci))


def record_board(position: Position) -> RecordBoard:
    """Return the fastest board that supports the rules of the game."""
    if native is not None and position.usual:
        try:
            return _CompiledBoard(position)
        except ValueError:  # a position that only python-chess accepts
            pass
    return RecordBoard(position)
