"""PostgreSQL backend: connections, the advisory lock that one run holds on a tournament, errors, integrity check.

Writers take turns with an advisory lock of the transaction, as in a SQLite file. Keys are therefore assigned in the
order of commits, and a rating list as of an earlier game never gains games later. Readers do not wait.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Protocol

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Engine,
    Float,
    Integer,
    QueuePool,
    and_,
    create_engine,
    exists,
    func,
    not_,
    or_,
    select,
    text,
)

from enginetour.model.errors import StorageFailed, StoreRefused, TourError, UsageRefused
from enginetour.store import dialect, migrations
from enginetour.store.address import ServerAddress
from enginetour.store.codecs import JsonText, stored
from enginetour.store.dialect import (
    BUSY_TIMEOUT_MS,
    CHARACTERS_SHOWN,
    LARGEST_REAL,
    LARGEST_WHOLE,
    UNBOUNDED_COLUMNS,
    StoreBusy,
    StoreUnreachable,
)
from enginetour.store.tables import APPLICATION_ID, METADATA

# SQLSTATE codes and classes (PostgreSQL, "Error Codes").
# Shut down, starting, cut off, too many; and what its owner or itself has cancelled, which is tried again likewise.
_AWAY = ("08", "57P01", "57P02", "57P03", "57P05", "25P03", "53300", "57014", "40001", "40P01")
_BUSY = "55P03"
_READ_ONLY = "25006"
_NO_RIGHTS = "42501"
_FULL = "53100"
_DAMAGED = ("XX001", "XX002")
_STORAGE = ("53", "58")
# What a server says at the door has no code in libpq: its words, which are English in the message of a new server.
_SOON = re.compile(r"starting up|shutting down|recovery mode|not yet accepting|too many clients|slots", re.IGNORECASE)
_SEVERE = re.compile(r"FATAL:\s*(.+)")
_LAST_FAILURE = re.compile(r"failed: (?!FATAL)(.+)")
_PASSWORD = re.compile(r"password|SCRAM|pg_hba|authentication", re.IGNORECASE)


def _translated(error: BaseException, address: ServerAddress) -> TourError | None:
    """What the user reads for an error of the driver in use; None for those that are our own mistakes."""
    if not isinstance(error, psycopg.Error):
        return None
    place, state = str(address), error.sqlstate
    if state is None:
        gone = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        return _away("the server hung up", place) if gone else None
    words = _first_line(error)
    if state.startswith(_AWAY):
        return _away(f"the server is away ({words})", place)
    if state.startswith(_BUSY):
        return StoreBusy("is locked by another program", place=place, step="try again when it has finished")
    if state == _FULL:
        return StorageFailed("the server's disk is full", place=place, step="make room there and run again")
    if state == _READ_ONLY:
        what = "can only be read (a standby, or default_transaction_read_only)"
        return StorageFailed(what, place=place, step="name the primary server with --db")
    if state == _NO_RIGHTS:
        return StorageFailed(f"lacks a right: {words}", place=place, step="its owner can grant it")
    if state.startswith(_DAMAGED):
        return StoreRefused(f"is damaged ({words})", place=place, step="put a backup in its place")
    if state.startswith(_STORAGE):
        return StorageFailed(f"the server fails ({words})", place=place, step="see to the server and run again")
    return None


def _not_connected(error: psycopg.Error, address: ServerAddress, *, known: bool) -> TourError:
    """Why there is no connection. A server that was `known` to let us in is only away, whatever it says now."""
    place, words = str(address), str(error)
    said = _SEVERE.findall(words)
    if said and not known and not _SOON.search(words):
        step = "check the address, PGPASSWORD or ~/.pgpass" if _PASSWORD.search(said[-1]) else "check the address"
        if "does not exist" in said[-1] and "database" in said[-1]:
            step = "createdb makes it"
        return StoreRefused(f"the server refuses: {said[-1].strip()}", place=place, step=step)
    found = said or _LAST_FAILURE.findall(words) or [words.splitlines()[0] if words else "no answer"]
    return _away(f"the server cannot be reached ({found[-1].strip()})", place)


def _away(what: str, place: str) -> StoreUnreachable:
    return StoreUnreachable(what, place=place, step="see that it runs and listens there, then run again")


def _first_line(error: psycopg.Error) -> str:
    return error.diag.message_primary or (str(error).splitlines() or [""])[0]


# Tournament lock: an advisory lock on a separate connection, which ends with its process. Runs take it while they
# hold the writers' lock, so a writer that still holds the tournament lock keeps it until the commit.

_GOODBYE_S = 0.5  # a server notices within milliseconds that the process of the last run is dead
_RETRY_S = 0.05
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


class _Connect(Protocol):
    """A bare connection, under a name that the server's views show."""

    def __call__(self, address: ServerAddress, *, known: bool, name: str) -> Any: ...


class _AdvisoryLock(dialect.Lock):
    """Held from `acquire` to `release`, or to the end of the connection."""

    def __init__(self, address: ServerAddress, slug: str, connect: _Connect, *, turn: str) -> None:
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

    def _take(self, *, known: bool) -> None:
        former = self._session
        raw = self._connect(self.address, known=known, name=_name())
        try:
            self._key, *session = raw.execute(_WHO, (self.slug, APPLICATION_ID)).fetchone()
            self._wait(raw, former)
        except psycopg.Error as error:
            raw.close()
            raise _translated(error, self.address) or error from error
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
            elif time.monotonic() - begun > _GOODBYE_S:
                step = "wait for its end, or ask it with: enginetour status"
                raise StoreRefused(f"already running: {_shown(holder)}", step=step)
            time.sleep(_RETRY_S)

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


# The backend: the same tables, one transaction per game, ``synchronous_commit`` on.

try:
    import psycopg
except ImportError:
    what, step = "PostgreSQL needs the driver psycopg", "pip install 'enginetour[postgres]'"
    raise UsageRefused(what, place="--db", step=step) from None

_CONNECT_TIMEOUT_S = 5  # of each try; an address where nobody answers would wait for two minutes
_TABLE_LOCK_MS = 60_000  # the server's owner may lock a table for a while (VACUUM FULL): that costs no finished game
_OLDEST = 14  # the oldest PostgreSQL that still has releases in 2026, and the first with idle_session_timeout
_APPLICATION = "enginetour"  # as the server's list of sessions shows us
# A dead machine's connections are noticed within about 30 + 3 * 10 s by both ends (libpq, "Parameter Key Words").
_KEEPALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
_WRITERS = f"{APPLICATION_ID}, hashtext(current_schema())"  # the key of the advisory lock by which they take turns
_SETTINGS = {
    "client_encoding": "UTF8",
    "lock_timeout": f"{dialect.BUSY_TIMEOUT_MS}ms",
    "statement_timeout": "0",
    "idle_session_timeout": "0",  # a game may last for hours
    "idle_in_transaction_session_timeout": "0",  # a view is read as long as a report takes
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}
# Stronger settings (remote_apply) stay: "on" is the least that survives a power cut ("Asynchronous Commit").
_DURABLE = """SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') IN ('off', 'local')"""

# A server's number is kept in its data folder ("Control Data Functions"); hardly anybody forbids to ask for it.
_SERVER = "SELECT system_identifier FROM pg_control_system()"
_WHICH = """SELECT has_function_privilege('pg_control_system()', 'EXECUTE'), oid, current_schema()
FROM pg_database WHERE datname = current_database()"""


def _connect(address: ServerAddress, *, known: bool, name: str = _APPLICATION, readonly: bool = False) -> Any:
    """A bare connection of psycopg in autocommit; TourError in one line where there is none."""
    try:
        given = psycopg.conninfo.conninfo_to_dict(address.url)
    except psycopg.Error:
        step = "postgresql://USER@HOST:PORT/NAME; % : / @ in a password are %25 %3A %2F %40"
        raise UsageRefused("is no address that PostgreSQL reads", place=str(address), step=step) from None
    defaults = {"connect_timeout": _CONNECT_TIMEOUT_S, **_KEEPALIVE}
    more = {key: value for key, value in defaults.items() if key not in given}
    try:
        connection = psycopg.connect(address.url, autocommit=True, application_name=name, **more)  # type: ignore[arg-type]
    except psycopg.Error as error:
        raise _not_connected(error, address, known=known) from None  # its frames hold the password
    release = connection.info.server_version // 10_000
    if release < _OLDEST:
        connection.close()
        what = f"runs PostgreSQL {release}, {_OLDEST} or newer is needed"
        raise StoreRefused(what, place=str(address), step="name another server with --db")
    try:
        settings = {**_SETTINGS, "default_transaction_read_only": "on"} if readonly else _SETTINGS
        words = "; ".join(f"SET {key} = '{value}'" for key, value in settings.items())
        connection.execute(f"{words}; {_DURABLE}")
    except psycopg.Error as error:
        connection.close()
        raise _translated(error, address) or error from None
    return connection


class PostgresDatabase:
    """The first schema of the search path in a server's database, as the backend of a store."""

    is_steady = False
    view = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"

    def __init__(self, address: ServerAddress) -> None:
        self.address = address
        self._known = False  # it has let us in

    def is_made(self) -> bool:
        """There is something in that place, ours or not."""
        with self._alone() as raw:
            return not migrations.is_blank(raw)

    def probe(self, *, create: bool) -> dialect.Probe:
        """Look at server and schema; nothing is written."""
        with self._alone() as raw:
            migrations.refuse_unfit(raw, self.address)
            blank = migrations.is_blank(raw)
            if blank and not create:
                raise StoreRefused("there is no database yet", place=str(self.address), step="enginetour run makes one")
            version = (
                0 if blank else migrations.check_schema(migrations.read_own_schema(raw, self.address), self.address)
            )
            return dialect.Probe(blank, version, migrations.server_warnings(raw, self.address))

    def engine(self, *, create: bool, readonly: bool) -> Engine:  # noqa: ARG002 - a server's database is there
        """A few connections; one that the server has dropped meanwhile is replaced when it is taken."""
        return create_engine(
            "postgresql+psycopg://",
            creator=lambda: self._connect(readonly=readonly),
            poolclass=QueuePool,
            pool_size=2,
            max_overflow=8,
            pool_pre_ping=True,
        )

    def initialize(self, connection: Connection, *, create: bool) -> None:
        """Tables and the stamp in one transaction: all of it or nothing."""
        raw = _raw(connection)
        if create and migrations.is_blank(raw):
            migrations.create_tables(connection)
            migrations.write_version(raw)
        else:
            version = migrations.check_schema(migrations.read_server_schema(raw), self.address)
            migrations.refuse_older(version, self.address)

    def upgrade(self, connection: Connection) -> None:
        """The tables of this version, and its number."""
        raw = _raw(connection)
        migrations.upgrade(connection, migrations.check_schema(migrations.read_server_schema(raw), self.address))
        migrations.write_version(raw)

    def verify(self, connection: Connection) -> None:
        """The rights to every table."""
        migrations.refuse_unwritable(_raw(connection), self.address)

    def begin(self, connection: Connection) -> None:
        """Writers of one schema take turns."""
        try:
            connection.exec_driver_sql(
                f"BEGIN; SET LOCAL lock_timeout = {dialect.BUSY_SLICE_MS}; "  # signals are heard while others write
                f"SELECT pg_advisory_xact_lock({_WRITERS}); SET LOCAL lock_timeout = {_TABLE_LOCK_MS}"
            )
        except TourError:
            connection.rollback()
            raise

    def require_in_place(self) -> None:
        """A connection that still answers is one to the same database."""

    def translated(self, error: BaseException) -> TourError | None:
        """By its SQLSTATE."""
        return _translated(error, self.address)

    @contextmanager
    def without_reference_checks(self, connection: Connection) -> Iterator[None]:  # noqa: ARG002 - needs rights of the server's owner
        """References are looked up all the same."""
        yield

    def fill(self, connection: Connection, table: str, columns: Mapping[str, list[Any] | int]) -> None:
        """By COPY, the server's own way in; ValueError for values no column holds and keys that are taken."""
        count = next(len(column) for column in columns.values() if isinstance(column, list))
        lists = [column if isinstance(column, list) else [column] * count for column in columns.values()]
        names = ", ".join(f'"{name}"' for name in columns)
        try:
            with _raw(connection).cursor() as cursor, cursor.copy(f'COPY "{table}" ({names}) FROM STDIN') as copy:
                for row in zip(*lists, strict=True):
                    copy.write_row(row)
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            raise ValueError(str(error).splitlines()[0]) from error
        except psycopg.Error as error:
            raise self.translated(error) or error from error

    def reset_counters(self, connection: Connection) -> None:
        """Its counters know only of the keys they gave themselves."""
        for table in METADATA.sorted_tables:
            if table.autoincrement_column is not None:
                key = table.autoincrement_column.name
                last = f'(SELECT coalesce(max("{key}"), 0) + 1 FROM "{table.name}")'  # noqa: S608 - names of ours
                connection.exec_driver_sql(
                    f"SELECT setval(pg_get_serial_sequence('{table.name}', '{key}'), {last}, false)"
                )

    def integrity(self, connection: Connection, most: int) -> Iterator[str]:
        """What is invalid, then references to rows that are not there; every page of every table is read for it."""
        yield from connection.exec_driver_sql(_INVALID).scalars().fetchmany(most)
        for here in METADATA.sorted_tables:
            # Whole rows as text: what lies apart from its row is read too, and checked if the server keeps checksums.
            connection.exec_driver_sql(f'SELECT sum(length(r::text)) FROM "{here.name}" r')  # noqa: S608 - a name of ours
            for key in here.foreign_keys:
                parent = key.column.table.alias()
                lost = and_(key.parent.is_not(None), ~exists().where(parent.c[key.column.name] == key.parent))
                rows = connection.execute(select(func.count()).select_from(here).where(lost)).scalar_one()
                if rows:
                    yield f"{rows} of {here.name} refer to {key.column.table.name} that are not there"

    def invalid_cells(self, connection: Connection) -> Iterator[str]:
        """A sentence for each column that has such cells, naming the first; rows have no numbers, so keys name them."""
        for here in METADATA.sorted_tables:
            keys = list(here.primary_key.columns)
            for cell in here.columns:
                if isinstance(cell.type, JsonText):
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
                    yield f"{here.name} with {named} has {str(value)[:CHARACTERS_SHOWN]!r} as {cell.name}{more}"

    def lock(self, slug: str) -> dialect.Lock:
        """An advisory lock on a connection of its own."""
        return _AdvisoryLock(self.address, slug, _connect, turn=_WRITERS)

    def tag(self) -> str:
        """By the server's own numbers: a database has many addresses, and an address had other databases."""
        with self._alone() as raw:
            told = raw.execute(_WHICH).fetchone()
            server = raw.execute(_SERVER).fetchone() if told[0] else self.address.identity
        return hashlib.sha256(repr((server, told)).encode()).hexdigest()[:16]

    def free_bytes(self) -> float:
        """A server does not tell."""
        return math.inf

    def refuse_unwritable(self) -> None:
        """By the rights of this user, where tables are or where they will be."""
        with self._alone() as raw:
            migrations.refuse_unwritable(raw, self.address)

    def _connect(self, *, readonly: bool) -> Any:
        connection = _connect(self.address, known=self._known, readonly=readonly)
        self._known = True
        return connection

    @contextmanager
    def _alone(self) -> Iterator[Any]:
        """A connection for a look, in a transaction that writes nothing."""
        raw = self._connect(readonly=True)
        try:
            with raw.transaction():
                yield raw
        except psycopg.Error as error:
            raise self.translated(error) or error from error
        finally:
            raw.close()


def _raw(connection: Connection) -> Any:
    return connection.connection.driver_connection


# Integrity check, and cells with values that the column types allow but enginetour never writes.

_ROWS_A_BLOCK = 1000  # read at once; a cell of JSON is a few KB at most
# An index or a reference that somebody made without checking what is there, or that failed while it was made.
_INVALID = """
SELECT 'the index ' || i.indexrelid::regclass || ' is not valid' FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE c.relnamespace = current_schema()::regnamespace AND NOT (i.indisvalid AND i.indisready)
UNION ALL
SELECT 'the reference ' || n.conname || ' of ' || c.relname || ' was never checked' FROM pg_constraint n
JOIN pg_class c ON c.oid = n.conrelid WHERE c.relnamespace = current_schema()::regnamespace AND NOT n.convalidated
"""


def _fits(cell: Column[Any]) -> ColumnElement[bool] | None:
    """The condition on a cell of ours; None where its type says all."""
    if isinstance(cell.type, Integer) and cell.name not in UNBOUNDED_COLUMNS:
        fits: ColumnElement[bool] = cell.between(-LARGEST_WHOLE, LARGEST_WHOLE)
    elif isinstance(cell.type, Float):
        fits = func.abs(cell) <= LARGEST_REAL  # NaN is larger than all others there
    else:
        return None
    return or_(cell.is_(None), fits)


def _broken(connection: Connection, keys: list[Column[Any]], cell: Column[Any]) -> list[tuple[Any, ...]]:
    rows = select(stored(cell), *keys).order_by(*keys).execution_options(yield_per=_ROWS_A_BLOCK)
    empty = cell.type.may_be_empty  # type: ignore[attr-defined] # of a JsonText
    return [tuple(row) for row in connection.execute(rows) if not _is_json(row[0], empty=empty)]


def _is_json(words: str, *, empty: bool) -> bool:
    if empty and words == "":
        return True
    try:
        json.loads(words)
    except (ValueError, RecursionError):
        return False
    return True
