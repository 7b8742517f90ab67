"""One run per tournament on a server: an advisory lock on a connection of its own, which dies with its process.

Runs take it in the writers' turn. So whoever is writing and finds that the lock is still ours may rely on it until the
commit: nobody can have taken it in between.
"""

from __future__ import annotations

import os
import socket
import time
from datetime import UTC, datetime
from typing import Any, Protocol

import psycopg
from sqlalchemy import Connection, text

from enginetour.model.errors import StoreRefused
from enginetour.store.ground import BUSY_TIMEOUT_MS
from enginetour.store.postgres_errors import translated
from enginetour.store.serveraddress import ServerAddress
from enginetour.store.tables import APPLICATION_ID

FAREWELL_S = 0.5  # a server notices within milliseconds that the process of the last run is dead
AGAIN_S = 0.05
_LONGEST_NAME = 63  # bytes of an application_name: NAMEDATALEN - 1 (PostgreSQL, "Identifiers")
_PREFIX = "enginetour "
_WHO = """SELECT hashtextextended(current_schema() || '/' || %s, %s), pid, backend_start::text FROM pg_stat_activity
WHERE pid = pg_backend_pid()"""
_HELD = """FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND a.datname = current_database()
AND (l.classid::bigint << 32 | l.objid::bigint) = {key}"""
_IS_OURS = text(
    f"SELECT 1 {_HELD.format(key=':key')} AND l.pid = :pid AND a.backend_start::text = :start".replace("::", r"\:\:")
)
_HOLDER = f"SELECT a.pid, a.backend_start::text, a.application_name {_HELD.format(key='%s')}"


class Connect(Protocol):
    """A bare connection, under a name that the server's views show."""

    def __call__(self, address: ServerAddress, *, known: bool, name: str) -> Any: ...  # noqa: D102


class AdvisoryLock:
    """Held from `acquire` to `release`, or to the end of the connection; a context manager does both."""

    def __init__(self, address: ServerAddress, slug: str, connect: Connect, *, turn: str) -> None:
        self.address = address
        self.slug = slug
        self._connect = connect
        self._turn = turn
        self._raw: Any = None
        self._key = 0
        self._session = (0, "")  # the server's process for us and its start: a number alone may come again

    def acquire(self) -> None:
        """Take it now or not at all: StoreRefused names who has it, StoreAway where the server does not answer."""
        if self._raw is not None:
            raise RuntimeError(f"{self.slug} is held by this object already")
        self._take(known=False)

    def release(self) -> None:
        """Let go; nothing happens if it was not held."""
        if self._raw is not None:
            self._raw.close()
            self._raw = None

    def is_held(self, connection: Connection) -> bool:
        """The server still has it for our connection; asked in the writers' turn it stays so until the commit."""
        pid, start = self._session
        found = connection.execute(_IS_OURS, {"key": self._key, "pid": pid, "start": start}).first()
        return self._raw is not None and found is not None

    def regain(self) -> None:
        """Take it again on a new connection; the old one, if the server still believes in it, is ended."""
        self.release()
        self._take(known=True)

    def __enter__(self) -> AdvisoryLock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _take(self, *, known: bool) -> None:
        former = self._session
        raw = self._connect(self.address, known=known, name=_name())
        try:
            self._key, *session = raw.execute(_WHO, (self.slug, APPLICATION_ID)).fetchone()
            self._wait(raw, former)
        except psycopg.Error as error:
            raw.close()
            raise translated(error, self.address) or error from error
        except BaseException:
            raw.close()
            raise
        self._raw, self._session = raw, (session[0], session[1])

    def _wait(self, raw: Any, former: tuple[int, str]) -> None:
        begun = time.monotonic()
        while not self._try(raw, begun + BUSY_TIMEOUT_MS / 1000):
            holder = raw.execute(_HOLDER, (self._key,)).fetchone()
            if holder is None:
                continue  # it went in this moment
            if tuple(holder[:2]) == former:
                raw.execute("SELECT pg_terminate_backend(%s)", (holder[0],))
            elif time.monotonic() - begun > FAREWELL_S:
                step = "wait for its end, or ask it with: enginetour status"
                raise StoreRefused(f"already running: {_shown(holder)}", step=step)
            time.sleep(AGAIN_S)

    def _try(self, raw: Any, deadline: float) -> bool:
        """In the writers' turn, which is waited for."""
        while True:
            try:
                with raw.transaction():
                    raw.execute(f"SELECT pg_advisory_xact_lock({self._turn})")
                    return bool(raw.execute("SELECT pg_try_advisory_lock(%s)", (self._key,)).fetchone()[0])
            except psycopg.errors.LockNotAvailable:
                if time.monotonic() >= deadline:
                    raise


def _name() -> str:
    """Who we are, for the server's list of sessions: what another run that is refused is told."""
    host, now = socket.gethostname(), f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    rest = f" since {now}"
    head = f"{_PREFIX}pid {os.getpid()} on "
    return head + host.encode("ascii", "replace").decode()[: _LONGEST_NAME - len(head) - len(rest)] + rest


def _shown(holder: tuple[int, str, str | None]) -> str:
    """The holder's own words, printable and on one line, or what the server knows of it."""
    name = "".join(sign for sign in holder[2] or "" if sign.isprintable())
    return name.removeprefix(_PREFIX) if name.startswith(_PREFIX) else f"server process {holder[0]} {name}".strip()
