"""What SQLite finds in its own pages, and cells of other types than their columns.

SQLite holds any value in any column (SQLite, "Datatypes", 3), so that a database from elsewhere may hold anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Boolean, Column, Connection, Float, Integer, LargeBinary, String

from enginetour.store.cells import FREE, JSON, LARGEST_REAL, LARGEST_WHOLE, MAY_BE_EMPTY, SHOWN
from enginetour.store.tables import METADATA


def integrity(connection: Connection, most: int) -> Iterator[str]:
    """SQLite's own full check, then references to rows that are not there."""
    checked = connection.exec_driver_sql(f"PRAGMA integrity_check({most})").scalars().all()
    yield from (line for line in checked if line != "ok")
    lost = Counter((row[0], row[2]) for row in connection.exec_driver_sql("PRAGMA foreign_key_check"))
    for (table, parent), rows in lost.items():
        yield f"{rows} of {table} refer to {parent} that are not there"


def odd_cells(connection: Connection) -> Iterator[str]:
    """A sentence for each column that has such cells, naming the first."""
    for table in METADATA.sorted_tables:
        for column in table.columns:
            fits = _fits(column, is_json=column.name in JSON.get(table.name, ()))
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
        fits = f"({name} = '' OR {fits})" if column.name in MAY_BE_EMPTY else fits
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
