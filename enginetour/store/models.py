"""The tables as SQLModel classes, and sessions for queries of your own. docs/schema.md describes the columns."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlmodel import Session, select

from enginetour.model.errors import StorageFailed, UsageRefused
from enginetour.store.database import Database
from enginetour.store.tables import EditionLineRow as EditionLine
from enginetour.store.tables import EditionRow as Edition
from enginetour.store.tables import EngineRow as Engine
from enginetour.store.tables import EntrantRow as Entrant
from enginetour.store.tables import EventRow as Event
from enginetour.store.tables import GameRow as Game
from enginetour.store.tables import ImportedGameRow as ImportedGame
from enginetour.store.tables import ImportRow as Import
from enginetour.store.tables import IncidentRow as Incident
from enginetour.store.tables import ListRow as List
from enginetour.store.tables import MovesRow as Moves
from enginetour.store.tables import NoteRow as Note
from enginetour.store.tables import PairCountRow as PairCount
from enginetour.store.tables import RatingEventRow as RatingEvent
from enginetour.store.tables import RatingRevisionRow as RatingRevision
from enginetour.store.tables import TournamentRow as Tournament

__all__ = [
    "Edition",
    "EditionLine",
    "Engine",
    "Entrant",
    "Event",
    "Game",
    "Import",
    "ImportedGame",
    "Incident",
    "List",
    "Moves",
    "Note",
    "PairCount",
    "RatingEvent",
    "RatingRevision",
    "Session",
    "Tournament",
    "select",
]


@contextmanager
def session_of(database: Database) -> Iterator[Session]:
    """Yield a session in one transaction. Changes are written when the block ends without an error.

    A session of a database that was opened for reading has one state of the database, and cannot write.
    """
    with database.reading() if database.readonly else database.writing() as connection:
        if not connection.in_transaction():
            connection.begin()  # `commit` of the session does not end the transaction of the block
        with Session(connection, expire_on_commit=False) as session:
            try:
                yield session
            except StorageFailed as error:
                # SQLite: "attempt to write a readonly database"; PostgreSQL: "in a read-only transaction".
                if not (database.readonly and re.search("read-?only", error.what)):
                    raise
                what, step = "was opened for reading", "open it with writable=True"
                raise UsageRefused(what, place=error.place, step=step) from None
            session.commit()
