"""One unchanging view of a database for many readings in a row, while a tournament writes to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from enginetour.store.database import Database


class Snapshot(Database):
    """An open database as it was at one moment, to be read only. Made by `snapshot`."""

    def __init__(self, database: Database, connection: Connection) -> None:
        self.path = database.path
        self.readonly = True
        self.warnings = database.warnings
        self.engine = database.engine
        self._connection = connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """The same view, however often it is asked for."""
        yield self._connection

    def close(self) -> None:
        """The database it was taken of stays open."""


@contextmanager
def snapshot(database: Database) -> Iterator[Snapshot]:
    """The database as it is now. Writers are not held up: their pages wait in the log until this ends."""
    with database.reading() as connection:
        connection.exec_driver_sql(
            "SELECT count(*) FROM sqlite_master"
        ).scalar_one()  # a view begins with its first look
        yield Snapshot(database, connection)
