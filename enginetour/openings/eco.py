"""ECO codes and names of openings by position, from a file of the user.

Supported are PGN files with ECO tags, such as eco.pgn of pgn-extract, and tables with the columns eco, name and pgn,
such as chess-openings of lichess. A game gets the name of its last position that the file contains, even after
another order of moves, as in pgn-extract and lichess.
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
from enginetour.openings.books import read_openings
from enginetour.openings.positions import BadOpening, WrittenOpening, check_opening

_LARGEST = 10_000_000  # bytes; pgn-extract's file has 0.2 million, the five files of lichess together have 0.4 million
_NUMBER = re.compile(r"^\d+\.+")


@dataclass(frozen=True, slots=True)
class OpeningNames:
    """Code and name of each known position; no position is known after `longest` plies."""

    known: Mapping[int, tuple[str, str]]
    longest: int

    def of(self, game: Game) -> tuple[str, str] | None:
        """Return code and name of a game of standard chess, or None if no position is known; this takes 0.5 ms."""
        from chess.polyglot import zobrist_hash

        if game.opening.variant != STANDARD:
            return None
        board, found = board_of(STANDARD, game.opening.fen), None
        for move in islice(game.moves, self.longest):
            board.push_uci(move.uci)
            found = self.known.get(zobrist_hash(board), found)
        return found


def read_opening_names(path: Path, place: str) -> OpeningNames:
    """Read all openings of a file; raise InputRefused for `place` if the file does not contain ECO codes."""
    from chess import Move
    from chess.polyglot import zobrist_hash

    step = "use eco.pgn of pgn-extract or a table of chess-openings (lichess)"
    if not path.is_file():  # reading a pipe would wait for its writer
        raise InputRefused(f"{path} is not a regular file", place=place, step=step)
    try:
        if path.stat().st_size > _LARGEST:
            raise InputRefused(f"{path} is larger than {_LARGEST:,} bytes", place=place, step=step)
        found = _table(path) if path.suffix.lower() == ".tsv" else read_openings(path)
        known: dict[int, tuple[str, str]] = {}
        longest = 0
        for opening in found:
            if isinstance(opening, BadOpening) or not opening.eco or not opening.moves:
                continue  # for example lines that end in checkmate, and comments
            board = board_of(STANDARD, opening.fen)
            for uci in opening.moves:
                board.push(Move.from_uci(uci))
            known.setdefault(zobrist_hash(board), (opening.eco, opening.name))
            longest = max(longest, len(opening.moves))
    except OSError as error:
        raise InputRefused(f"{path} cannot be read: {error.strerror or error}", place=place) from None
    if not known:
        raise InputRefused(f"{path} does not contain openings with ECO codes", place=place, step=step)
    return OpeningNames(known, longest)


def _table(path: Path) -> Iterator[Opening | BadOpening]:
    """Yield the rows (eco, name, pgn) of a table separated by tabs; a header is a row without readable moves."""
    with path.open(encoding="utf-8", errors="replace") as source:
        for number, line in enumerate(source, 1):
            eco, name, moves = (*line.rstrip("\n").split("\t"), "", "")[:3]
            sans = (_NUMBER.sub("", word) for word in moves.split())
            yield check_opening(WrittenOpening(number, name, eco, None, tuple((number, san) for san in sans if san)))
