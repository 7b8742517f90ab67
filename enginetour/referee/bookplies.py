"""Plies that no engine is asked for: the opening's, and those of the book we play from for one side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import chess

from enginetour.engines.position import Position
from enginetour.model.errors import InputRefused, MachineFailure
from enginetour.model.game import Opening
from enginetour.model.task import OwnBook
from enginetour.referee.adjudication import End
from enginetour.referee.bookkeeping import Books
from enginetour.referee.ends import Ends
from enginetour.referee.referee_seats import Seat
from enginetour.referee.scribe import RawPly

if TYPE_CHECKING:
    from enginetour.openings.polyglot import Book


def play_opening(opening: Opening, position: Position, ends: Ends, books: Books) -> None:
    """ValueError for one that ends the game."""
    for text in opening.moves:
        move = position.board.parse_uci(text)
        books.enter(RawPly(move, None))
        if ends.push(move) is not None:
            raise ValueError(f"opening {opening.name!r} ends the game at {text}")


class OwnBooks:
    """The books of the two sides in one game. A side that is out of its book once stays out of it."""

    def __init__(self, seats: Sequence[Seat], position: Position) -> None:
        self._position = position
        self._open = {seat.white: (seat, seat.side.own_book) for seat in seats if seat.side.own_book is not None}
        self._books: dict[str, Book] = {}

    def play(self, ends: Ends, books: Books) -> tuple[bool, End | None]:
        """Play as long as whoever is to move has a book move: whether any was played, and how it ended the game.

        MachineFailure when a book that was there at the start of the run cannot be read here and now.
        """
        played = False
        while (found := self._open.get(self._position.board.turn)) is not None:
            seat, book = found
            move = self._move(book)
            if move is None:
                del self._open[self._position.board.turn]
                break
            books.enter(RawPly(move, seat, 0, seat.clock.rest_ms, book=True))
            played = True
            end = ends.answered(move, lambda: None)
            if end is not None:
                return True, end
        return played, None

    def _move(self, book: OwnBook) -> chess.Move | None:
        if len(self._position.moves) >= book.plies:
            return None
        if book.path not in self._books:
            try:
                from enginetour.openings.polyglot import Book  # here, for a quicker start

                self._books[book.path] = Book(Path(book.path))
            except InputRefused as refused:
                raise MachineFailure(f"own book {book.path}: {refused.what}") from None
        return self._books[book.path].move(self._position.board, book.choice, book.seed, len(self._position.moves))

    def close(self) -> None:
        """Give the files back."""
        for book in self._books.values():
            book.close()
