"""A statement that every game needs: compiled once, and run by the driver itself where the ground is a file.

Through all layers of SQLAlchemy one takes 70 us between the moves of quick engines, by the driver 12 (measured): what
runs once a game finds nothing of it in the processor's caches. A server takes longer than the layers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Executable
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.sql import ClauseElement

from enginetour.store.entrants import made_id

_NAMED = SQLiteDialect_pysqlite(paramstyle="named")


class Prepared:
    """One statement, for any database. What its driver raises is translated by `Database`, as all else."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._text = ""
        self._fixed: dict[str, Any] = {}  # parameters of its own, and None for a key that the database gives

    def first(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Any]:
        """The row it finds; it must find one."""
        raw = driver_of(connection)
        if raw is None:
            return connection.execute(self._statement, values).one()
        row: Sequence[Any] = self._run(raw, values).fetchone()
        return row

    def write(self, connection: Connection, values: Mapping[str, Any]) -> None:
        """One row, all of whose columns are named."""
        raw = driver_of(connection)
        if raw is None:
            connection.execute(self._statement, values)
        else:
            self._run(raw, values)

    def made(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """The key of a row that is written, with all its columns but that one."""
        raw = driver_of(connection)
        if raw is None:
            return made_id(connection.execute(self._statement, values))
        key = self._run(raw, values).lastrowid
        assert key is not None
        return key

    def _run(self, raw: sqlite3.Connection, values: Mapping[str, Any]) -> sqlite3.Cursor:
        if not self._text:
            assert isinstance(self._statement, ClauseElement)
            compiled = self._statement.compile(dialect=_NAMED)
            self._fixed, self._text = dict(compiled.params), str(compiled)
        return raw.execute(self._text, {**self._fixed, **values})


def driver_of(connection: Connection) -> sqlite3.Connection | None:
    """The driver's own connection, in the same transaction; None where it is a server's."""
    raw = connection.connection.driver_connection
    return raw if isinstance(raw, sqlite3.Connection) else None
