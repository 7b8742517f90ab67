"""Many rows of one table at once, by the driver."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

ROWS_A_STATEMENT = 50  # measured: less than half the time of single rows, and more rows gain nothing
ROWS_A_BLOCK = 50_000  # held as one list of parameters; a multiple of the rows of a statement


def fill(connection: sqlite3.Connection, table: str, columns: Mapping[str, list[Any] | int]) -> None:
    """Insert rows given as columns of equal length; a number stands for a column that has it everywhere.

    Table and columns are words of ours, never of a user.
    """
    lists = [column for column in columns.values() if isinstance(column, list)]
    row = ", ".join("?" if isinstance(column, list) else str(int(column)) for column in columns.values())
    names = ", ".join(f'"{name}"' for name in columns)
    into = f"INSERT INTO {table} ({names}) VALUES "  # noqa: S608
    count = len(lists[0])
    even = count - count % ROWS_A_STATEMENT
    connection.executemany(into + ", ".join([f"({row})"] * ROWS_A_STATEMENT), _statements(lists, even))
    connection.executemany(f"{into}({row})", zip(*(column[even:] for column in lists), strict=True))


def _statements(lists: list[list[Any]], count: int) -> Iterator[list[Any]]:
    """The parameters of one statement after the other: row by row, from the first `count` of each list."""
    width = len(lists)
    size = width * ROWS_A_STATEMENT
    for begin in range(0, count, ROWS_A_BLOCK):
        end = min(count, begin + ROWS_A_BLOCK)
        flat: list[Any] = [None] * (width * (end - begin))
        for place, column in enumerate(lists):
            flat[place::width] = column[begin:end]
        for at in range(0, len(flat), size):
            yield flat[at : at + size]
