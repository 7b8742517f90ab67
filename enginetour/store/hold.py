"""The hold of one run on its tournament: its lock, how far its log has come, and commits whose answer was lost.

A server may go away in the middle of a commit: then nobody knows whether it came through. The log itself tells
afterwards, so that the game is neither lost nor written twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlalchemy import Connection, bindparam, func, select

from enginetour.model.errors import StoreRefused
from enginetour.store.database import AGAIN_S, Database
from enginetour.store.ground import Lock
from enginetour.store.prepared import Prepared
from enginetour.store.tables import EVENTS
from enginetour.store.trouble import LockLost, StoreAway

T = TypeVar("T")
NEXT_POSITION = select(func.coalesce(func.max(EVENTS.c.position), 0) + 1).where(EVENTS.c.tournament == bindparam("t"))
_NEXT = Prepared(NEXT_POSITION)
_MOMENT = select(EVENTS.c.at).where(EVENTS.c.tournament == bindparam("t"), EVENTS.c.position == bindparam("p"))


@dataclass(frozen=True, slots=True)
class _Tried(Generic[T]):
    """The last event that was to be committed; its moment, to the last bit, tells it from anybody else's."""

    position: int
    at: float
    result: T


class Hold:
    """What keeps the writes of one run in order. `newest` is the position of its last event, None before the first."""

    def __init__(self, database: Database, tournament: int, title: str) -> None:
        self.newest: int | None = None
        self._database = database
        self._here = {"t": tournament}
        self._title = title
        self._lock: Lock | None = None
        self._seen: int | None = None  # how far the log had come when the lock was taken
        self._event: tuple[int, float] | None = None  # the last of the transaction under way: position and moment

    def under(self, lock: Lock) -> None:
        """From now on nothing is written unless this lock is still held, or was got again before anybody wrote."""
        self._lock = lock
        with self._database.reading() as connection:
            self._seen = self._next(connection) - 1

    def noted(self, position: int, at: float) -> None:
        """The transaction under way has written this event, at a moment in UTC seconds."""
        self._event = position, at

    def written(self, write: Callable[[Connection, int], T], *, patience: float = 0.0) -> T:
        """What `write` gives in one transaction, told where its first event goes. StoreRefused if somebody else wrote.

        While the server is away, or the lock is, it is tried again for as long as the database has patience.
        """
        deadline = time.monotonic() + self._database.patience
        tried: _Tried[T] | None = None
        while True:
            try:
                with self._database.writing(patience=patience) as connection:
                    position = self._next(connection)
                    if tried is not None and self._came_through(connection, tried):
                        self.newest = tried.position
                        return tried.result
                    self._refuse_others(connection, position)
                    self._event = None
                    result = write(connection, position)
                    tried = None if self._event is None else _Tried(*self._event, result)
            except StoreAway as away:
                if time.monotonic() >= deadline:
                    raise
                self._go_on(away)
            else:
                self.newest = tried.position if tried is not None else position - 1
                return result

    def _next(self, connection: Connection) -> int:
        return int(_NEXT.first(connection, self._here)[0])

    def _came_through(self, connection: Connection, tried: _Tried[T]) -> bool:
        at = connection.execute(_MOMENT, {**self._here, "p": tried.position}).scalar()
        return bool(at == tried.at)

    def _refuse_others(self, connection: Connection, position: int) -> None:
        if self._lock is not None and not self._lock.is_held(connection):
            raise LockLost("the tournament's lock was lost", place=str(self._database.path), step="run again")
        last = self._seen if self.newest is None else self.newest
        if last not in (None, position - 1):
            step = "let one run end, then start it again; leave lock files alone"
            raise StoreRefused("somebody else writes this tournament", place=self._title, step=step)

    def _go_on(self, away: StoreAway) -> None:
        """A lost lock is taken again, if nobody has it; a server that is away gets a moment."""
        self._database.heed()
        if isinstance(away, LockLost) and self._lock is not None:
            try:
                self._lock.regain()
            except StoreAway:
                pass
            else:
                return
        time.sleep(AGAIN_S)
