"""One unchanging view of a database for many readings in a row, while a tournament writes to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, select

from enginetour.store.database import Database
from enginetour.store.tables import TOURNAMENTS


class Snapshot(Database):
    """An open database as it was at one moment, to be read only. Made by `snapshot`."""

    def __init__(self, database: Database, connection: Connection) -> None:
        self.path = database.path
        self.ground = database.ground
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
    """The database as it is now. Writers are not held up: they go on beside it."""
    with database.reading() as connection:
        connection.execute(select(TOURNAMENTS.c.id).limit(1)).first()  # a view begins with its first look
        yield Snapshot(database, connection)
