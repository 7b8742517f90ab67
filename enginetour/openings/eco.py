"""Codes of ECO and names of openings by position, from a file of the user's.

Read are PGN with ECO tags, as the eco.pgn of pgn-extract, and tables of three columns eco, name and pgn, as the
chess-openings of lichess. A game is called by the deepest position of it that the file has, also where it came there
by other moves, as pgn-extract and lichess do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from enginetour.model.errors import InputRefused
from enginetour.model.game import Game, Opening
from enginetour.model.variants import STANDARD, board_of
from enginetour.openings.positions import BadOpening, WrittenOpening, check_opening
from enginetour.openings.suites import read_suite

_LARGEST = 10_000_000  # bytes: pgn-extract's file has 0.2 million, lichess's five together 0.4
_NUMBER = re.compile(r"^\d+\.+")


@dataclass(frozen=True, slots=True)
class OpeningNames:
    """The code and the name of each known position, and the plies after which there are none."""

    known: Mapping[int, tuple[str, str]]
    longest: int

    def of(self, game: Game) -> tuple[str, str] | None:
        """Code and name of a game of standard chess; None where no position of it is known. Some 0.5 ms."""
        from chess.polyglot import zobrist_hash

        if game.opening.variant != STANDARD:
            return None
        board, found = board_of(STANDARD, game.opening.fen), None
        for move in islice(game.moves, self.longest):
            board.push_uci(move.uci)
            found = self.known.get(zobrist_hash(board), found)
        return found


def read_opening_names(path: Path, place: str) -> OpeningNames:
    """All that can be read of a file; InputRefused naming `place` where it has no openings with codes."""
    from chess import Move
    from chess.polyglot import zobrist_hash

    step = "give eco.pgn of pgn-extract, or a table of lichess's chess-openings"
    if not path.is_file():  # nor a pipe, which would wait for its writer
        raise InputRefused(f"{path} is no file", place=place, step=step)
    try:
        if path.stat().st_size > _LARGEST:
            raise InputRefused(f"{path} has more than {_LARGEST:,} bytes", place=place, step=step)
        found = _table(path) if path.suffix.lower() == ".tsv" else read_suite(path)
        known: dict[int, tuple[str, str]] = {}
        longest = 0
        for opening in found:
            if isinstance(opening, BadOpening) or not opening.eco or not opening.moves:
                continue  # lines that end in mate, for one, and comments between them
            board = board_of(STANDARD, opening.fen)
            for uci in opening.moves:
                board.push(Move.from_uci(uci))
            known.setdefault(zobrist_hash(board), (opening.eco, opening.name))
            longest = max(longest, len(opening.moves))
    except OSError as error:
        raise InputRefused(f"cannot read {path}: {error.strerror or error}", place=place) from None
    if not known:
        raise InputRefused(f"{path} has no openings with codes of ECO", place=place, step=step)
    return OpeningNames(known, longest)


def _table(path: Path) -> Iterator[Opening | BadOpening]:
    """Rows eco, name, pgn, parted by tabs; a heading is a row without moves that can be read."""
    with path.open(encoding="utf-8", errors="replace") as source:
        for number, line in enumerate(source, 1):
            eco, name, moves = (*line.rstrip("\n").split("\t"), "", "")[:3]
            sans = (_NUMBER.sub("", word) for word in moves.split())
            yield check_opening(WrittenOpening(number, name, eco, None, tuple((number, san) for san in sans if san)))
