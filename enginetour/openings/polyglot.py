"""Polyglot books: lines for openings, and moves that enginetour plays for an engine with its own book.

Random choices come from a digest of seed and place, so that they do not depend on time or Python's version.
The format is a table of 16-byte entries sorted by key (hgm.nubati.net/book_format.html).
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from enginetour.interop.files import refuse_special
from enginetour.model.errors import InputRefused
from enginetour.model.game import Opening
from enginetour.model.variants import STANDARD, LazyOpenings, board_of
from enginetour.openings.positions import why_over

if TYPE_CHECKING:
    import chess  # imported only for runs that use a book


BookChoice = Literal["weight", "best"]
MOST_PLIES = 200  # longest line, equal to the limit of `plies`; necessary because entries may form cycles
_ENDLESS = 1_000_000_000  # length of the sequence of random lines


class PolyglotBook:
    """Read one Polyglot book; raise InputRefused for a file that is not a Polyglot book."""

    def __init__(self, path: Path) -> None:
        import chess.polyglot

        try:
            refuse_special(path)
            size = path.stat().st_size
            self._entries = chess.polyglot.MemoryMappedReader(path)
        except FileNotFoundError:
            raise InputRefused("opening book not found", place=str(path)) from None
        except OSError as error:
            what = f"not a valid Polyglot book: {error.strerror or 'invalid size'}"
            raise InputRefused(what, place=str(path)) from None
        if not size or not self._is_sorted():
            what = "not a valid Polyglot book: " + ("its keys are not sorted" if size else "the file is empty")
            raise InputRefused(what, place=str(path), step="create a book with polyglot make-book")

    def _is_sorted(self) -> bool:
        """Return whether a sample of the keys is sorted; files of other kinds fail this test."""
        size = len(self._entries)
        places = sorted({place * (size - 1) // 1023 for place in range(1024)})
        keys = [self._entries[place].key for place in places]
        return keys == sorted(keys)

    def move(self, board: chess.Board, choice: BookChoice, seed: str, plies: int) -> chess.Move | None:
        """Return a legal move: a random move by weight, or the move with the highest weight.

        Return None at the end of the book.
        `plies` is the number of moves played so far; each ply has its own random number.
        """
        found = list(self._entries.find_all(board))
        if not found:
            return None
        if choice == "best":
            return max(found, key=lambda entry: entry.weight).move
        rest = draw_number(f"{seed}:{plies}", sum(entry.weight for entry in found))
        for entry in found:
            rest -= entry.weight
            if rest < 0:
                return entry.move
        return None

    def line(self, choice: BookChoice, seed: str, plies: int) -> Opening:
        """Return a line from the initial position, up to `plies` or the end of the book; it never ends a game."""
        board = board_of(STANDARD)
        moves: list[str] = []
        while len(moves) < plies:
            move = self.move(board, choice, seed, len(moves))
            if move is None:
                break
            board.push(move)
            if why_over(board, STANDARD) or board.is_repetition(3):
                break
            moves.append(move.uci())
        return Opening("", 0, None, tuple(moves))

    def close(self) -> None:
        """Close the file."""
        self._entries.close()


class BookLines(LazyOpenings):
    """Provide an unlimited number of random lines of a book, by seed and number, or only the best line."""

    def __init__(self, path: Path, choice: BookChoice, seed: int, plies: int = MOST_PLIES) -> None:
        self._path, self.choice, self._seed, self._plies = path, choice, seed, plies
        self._book = PolyglotBook(path)
        if not self[0].moves and plies != 0:
            raise InputRefused("the book does not have a move for the initial position", place=str(path))

    def __len__(self) -> int:
        return 1 if self.choice == "best" else _ENDLESS

    def _at(self, number: int) -> Opening:
        line = self._book.line(self.choice, f"{self._seed}:{number}", self._plies)
        return replace(line, index=number + 1)

    def seeded(self, seed: int) -> BookLines:
        """Return the same book with another seed."""
        return BookLines(self._path, self.choice, seed, self._plies)


def draw_number(seed: str, ways: int) -> int:
    """Return a number from 0 to ways - 1; all numbers are equally likely, with an error of at most 2^-64."""
    return int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=16).digest()) % ways
