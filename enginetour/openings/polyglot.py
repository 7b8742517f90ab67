"""Polyglot books: lines for a suite, and moves we play for an engine with a book of its own.

Draws come from a digest of seed and place, so that they depend on nothing else: not on time, nor on Python's version.
The format: a table of 16-byte entries sorted by key (hgm.nubati.net/book_format.html).
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
    import chess  # whose run has no book need not load it


BookChoice = Literal["weight", "best"]
MOST_PLIES = 200  # of a line, as for `plies` of a suite: entries may lead in circles
_ENDLESS = 1_000_000_000  # lines that can be drawn, for whoever counts


class PolyglotBook:
    """One open book. InputRefused for a file that is none."""

    def __init__(self, path: Path) -> None:
        import chess.polyglot

        try:
            refuse_special(path)
            size = path.stat().st_size
            self._entries = chess.polyglot.MemoryMappedReader(path)
        except FileNotFoundError:
            raise InputRefused("no such book", place=str(path)) from None
        except OSError as error:
            raise InputRefused(f"no Polyglot book: {error.strerror or 'broken size'}", place=str(path)) from None
        if not size or not self._is_sorted():
            what = "no Polyglot book: " + ("its keys are not sorted" if size else "nothing in it")
            raise InputRefused(what, place=str(path), step="make one with polyglot make-book")

    def _is_sorted(self) -> bool:
        """By a sample of its keys: a file of another kind is found out by a few."""
        size = len(self._entries)
        places = sorted({place * (size - 1) // 1023 for place in range(1024)})
        keys = [self._entries[place].key for place in places]
        return keys == sorted(keys)

    def move(self, board: chess.Board, choice: BookChoice, seed: str, plies: int) -> chess.Move | None:
        """A legal move of the position by weight, or the heaviest (of equals the first); None: the book ends.

        `plies` have been played before: each has its own draw.
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
        """A line from the start to the end of the book or to `plies`, never to the end of a game."""
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
        """Give the file back."""
        self._entries.close()


class BookLines(LazyOpenings):
    """Lines drawn from a book by seed and number, without end; or the one best line."""

    def __init__(self, path: Path, choice: BookChoice, seed: int, plies: int = MOST_PLIES) -> None:
        self._path, self.choice, self._seed, self._plies = path, choice, seed, plies
        self._book = PolyglotBook(path)
        if not self[0].moves and plies != 0:
            raise InputRefused("the book has no move for the usual start", place=str(path))

    def __len__(self) -> int:
        return 1 if self.choice == "best" else _ENDLESS

    def _at(self, number: int) -> Opening:
        line = self._book.line(self.choice, f"{self._seed}:{number}", self._plies)
        return replace(line, index=number + 1)

    def seeded(self, seed: int) -> BookLines:
        """The same book with other draws."""
        return BookLines(self._path, self.choice, seed, self._plies)


def draw_number(seed: str, ways: int) -> int:
    """0 to ways - 1, each as likely as the others to 2^-64 of it."""
    return int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=16).digest()) % ways
