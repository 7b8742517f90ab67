"""Cells that no version of ours writes: another type than the column's, broken JSON, numbers beyond all measure.

SQLite holds any value in any column (SQLite, "Datatypes", 3), so that a database from elsewhere may hold anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Boolean, Column, Float, Integer, LargeBinary, String
from sqlalchemy.exc import SQLAlchemyError

from enginetour.errors import TourError
from enginetour.store.database import Database
from enginetour.store.tables import METADATA

# What reading rows that somebody has changed can raise, beside what is told already.
UNREADABLE = (
    *(TourError, SQLAlchemyError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(RecursionError, MemoryError),
)
LARGEST_REAL = 1e12  # moments are seconds of UTC, and 1e12 of them are the year 33658; all others are far smaller
LARGEST_WHOLE = 1 << 53  # what JSON and every float hold exactly (RFC 8259, 6); counts and keys are far smaller
FREE = frozenset({"seed"})  # people choose it, up to what a column holds
SHOWN = 40  # signs of a cell that are told
_JSON = {
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
_MAY_BE_EMPTY = frozenset({"payload", "relay"})  # JSON that is left out where there is nothing to say


def odd_cells(database: Database) -> Iterator[str]:
    """A sentence for each column that has such cells, naming the first."""
    with database.reading() as connection:
        for table in METADATA.sorted_tables:
            for column in table.columns:
                fits = _fits(column, is_json=column.name in _JSON.get(table.name, ()))
                name = f'"{column.name}"'
                shown = f"iif({name} IS NULL, NULL, coalesce(substr(CAST({name} AS BLOB), 1, {SHOWN}), x''))"
                rows = f'FROM "{table.name}" WHERE NOT coalesce({fits}, 0)'
                found = connection.exec_driver_sql(f"SELECT rowid, {shown} {rows} ORDER BY rowid LIMIT 1").first()
                if found is not None:
                    count = connection.exec_driver_sql(f"SELECT count(*) {rows}").scalar_one()
                    more = f", and {count - 1} more" if count > 1 else ""
                    value = "nothing" if found[1] is None else repr(bytes(found[1]).decode("utf-8", "backslashreplace"))
                    yield f"row {found[0]} of {table.name} has {value} as {column.name}{more}"


def _fits(column: Column[Any], *, is_json: bool) -> str:
    """The condition in SQL on a cell of ours; null where the cell is."""
    name = f'"{column.name}"'
    if is_json:
        fits = f"typeof({name}) = 'text' AND json_valid({name})"
        fits = f"({name} = '' OR {fits})" if column.name in _MAY_BE_EMPTY else fits
    elif isinstance(column.type, Boolean):
        fits = f"{name} IN (0, 1)"
    elif isinstance(column.type, Integer):
        bound = "1" if column.name in FREE else f"{name} BETWEEN -{LARGEST_WHOLE} AND {LARGEST_WHOLE}"
        fits = f"typeof({name}) = 'integer' AND {bound}"
    elif isinstance(column.type, Float):
        fits = f"typeof({name}) IN ('real', 'integer') AND abs({name}) <= {LARGEST_REAL}"
    else:
        kind = {String: "text", LargeBinary: "blob"}[type(column.type)]
        fits = f"typeof({name}) = '{kind}'"
    return f"({name} IS NULL OR ({fits}))" if column.nullable else f"({fits})"
