"""Cells that no version of ours writes: another type than the column's, broken JSON, numbers beyond all measure."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy.exc import SQLAlchemyError

from enginetour.model.errors import TourError
from enginetour.store.database import Database

# What reading rows that somebody has changed can raise, beside what is told already.
UNREADABLE = (
    *(TourError, SQLAlchemyError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(RecursionError, MemoryError),
)
LARGEST_REAL = 1e12  # moments are seconds of UTC, and 1e12 of them are the year 33658; all others are far smaller
LARGEST_WHOLE = 1 << 53  # what JSON and every float hold exactly (RFC 8259, 6); counts and keys are far smaller
FREE = frozenset({"seed"})  # people choose it, up to what a column holds
SHOWN = 40  # signs of a cell that are told
JSON = {
    "engines": ("options", "command"),
    "tournaments": ("config",),
    "entrants": ("spec",),
    "events": ("payload",),
    "games": ("opening", "white_side", "black_side", "relay"),
    "incidents": ("traffic", "stderr"),
    "notes": ("fields",),
    "rating_revisions": ("settings",),
    "imports": ("files",),
    "lists": ("definition",),
    "editions": ("story",),
    "edition_lines": ("remarks",),
}
MAY_BE_EMPTY = frozenset({"payload", "relay"})  # JSON that is left out where there is nothing to say


def odd_cells(database: Database) -> Iterator[str]:
    """A sentence for each column that has such cells, naming the first."""
    with database.reading() as connection:
        yield from database.ground.odd_cells(connection)
