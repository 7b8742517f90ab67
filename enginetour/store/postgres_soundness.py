"""What a PostgreSQL server can be asked about its own order, and what it does not look at: cells beyond all measure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Float,
    Integer,
    and_,
    exists,
    func,
    not_,
    or_,
    select,
)

from enginetour.store.cells import FREE, JSON, LARGEST_REAL, LARGEST_WHOLE, MAY_BE_EMPTY, SHOWN
from enginetour.store.tables import METADATA

ROWS_A_BLOCK = 1000  # read at once; a cell of JSON is a few KB at most
# An index or a reference that somebody made without checking what is there, or that failed while it was made.
_INVALID = """
SELECT 'the index ' || i.indexrelid::regclass || ' is not valid' FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE c.relnamespace = current_schema()::regnamespace AND NOT (i.indisvalid AND i.indisready)
UNION ALL
SELECT 'the reference ' || n.conname || ' of ' || c.relname || ' was never checked' FROM pg_constraint n
JOIN pg_class c ON c.oid = n.conrelid WHERE c.relnamespace = current_schema()::regnamespace AND NOT n.convalidated
"""


def invalid(connection: Connection) -> Iterator[str]:
    """What the server knows to be invalid."""
    yield from connection.exec_driver_sql(_INVALID).scalars().all()


def integrity(connection: Connection, most: int) -> Iterator[str]:
    """What is invalid, then references to rows that are not there; every page of every table is read for it."""
    yield from islice(invalid(connection), most)
    for here in METADATA.sorted_tables:
        # Whole rows as text: what lies apart from its row is read too, and checked where the server keeps checksums.
        connection.exec_driver_sql(f'SELECT sum(length(r::text)) FROM "{here.name}" r')  # noqa: S608 - a name of ours
        for key in here.foreign_keys:
            parent = key.column.table.alias()
            lost = and_(key.parent.is_not(None), ~exists().where(parent.c[key.column.name] == key.parent))
            rows = connection.execute(select(func.count()).select_from(here).where(lost)).scalar_one()
            if rows:
                yield f"{rows} of {here.name} refer to {key.column.table.name} that are not there"


def odd_cells(connection: Connection) -> Iterator[str]:
    """A sentence for each column that has such cells, naming the first. Rows have no numbers, so keys name them."""
    for here in METADATA.sorted_tables:
        keys = list(here.primary_key.columns)
        for cell in here.columns:
            if cell.name in JSON.get(here.name, ()):
                found = _broken(connection, keys, cell)
            elif (fits := _fits(cell)) is not None:
                rows = select(cell, *keys).where(not_(fits)).order_by(*keys)
                found = [tuple(row) for row in connection.execute(rows)]
            else:
                continue
            if found:
                value, *key = found[0]
                named = ", ".join(f"{one.name} {part}" for one, part in zip(keys, key, strict=True))
                more = f", and {len(found) - 1} more" if len(found) > 1 else ""
                yield f"{here.name} with {named} has {str(value)[:SHOWN]!r} as {cell.name}{more}"


def _fits(cell: Column[Any]) -> ColumnElement[bool] | None:
    """The condition on a cell of ours; None where its type says all."""
    if isinstance(cell.type, Integer) and cell.name not in FREE:
        fits: ColumnElement[bool] = cell.between(-LARGEST_WHOLE, LARGEST_WHOLE)
    elif isinstance(cell.type, Float):
        fits = func.abs(cell) <= LARGEST_REAL  # NaN is larger than all others there
    else:
        return None
    return or_(cell.is_(None), fits)


def _broken(connection: Connection, keys: list[Column[Any]], cell: Column[Any]) -> list[tuple[Any, ...]]:
    rows = connection.execute(select(cell, *keys).order_by(*keys).execution_options(yield_per=ROWS_A_BLOCK))
    return [tuple(row) for row in rows if not _is_json(row[0], empty=cell.name in MAY_BE_EMPTY)]


def _is_json(words: str, *, empty: bool) -> bool:
    if empty and words == "":
        return True
    try:
        json.loads(words)
    except (ValueError, RecursionError):
        return False
    return True
