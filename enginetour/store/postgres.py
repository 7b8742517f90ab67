"""PostgreSQL backend: connections, the advisory lock that one run holds on a tournament, errors, integrity check.

An advisory lock of the transaction allows one writer at a time, as in a SQLite file. Keys are therefore assigned in the
order of commits, and a rating list as of an earlier game never gains games later. Readers do not wait.
"""

from __future__ import annotations

import hashlib
import json
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

from enginetour.model.errors import AlreadyRunning, StorageFailed, StoreRefused, TourError, UsageRefused
from enginetour.store import dialect, migrations
from enginetour.store.address import ServerAddress, slug_of
from enginetour.store.codecs import JsonText, Values, stored
from enginetour.store.dialect import (
    BUSY_TIMEOUT_MS,
    CHARACTERS_SHOWN,
    LARGEST_REAL,
    StoreBusy,
    StoreUnreachable,
    largest_whole,
)
from enginetour.store.tables import APPLICATION_ID, METADATA

# SQLSTATE codes and classes (PostgreSQL, "Error Codes").
# The server stops, starts, disconnects or has too many clients, or a statement was cancelled. enginetour tries again.
_UNAVAILABLE = ("08", "57P01", "57P02", "57P03", "57P05", "25P03", "53300", "57014", "40001", "40P01")
_BUSY = "55P03"
_READ_ONLY = "25006"
_NO_RIGHTS = "42501"
_FULL = "53100"
_DAMAGED = ("XX001", "XX002")
_STORAGE = ("53", "58")
# libpq has no code for errors of a connection attempt. The texts are English, because no language was negotiated yet.
_SOON = re.compile(r"starting up|shutting down|recovery mode|not yet accepting|too many clients|slots", re.IGNORECASE)
_SEVERE = re.compile(r"FATAL:\s*(.+)")
_LAST_FAILURE = re.compile(r"failed: (?!FATAL)(.+)")
_PASSWORD = re.compile(r"password|SCRAM|pg_hba|authentication", re.IGNORECASE)


def _translated(error: BaseException, address: ServerAddress) -> TourError | None:
    """Return the error for the user, or None for an internal error."""
    if not isinstance(error, psycopg.Error):
        return None
    place, state = str(address), error.sqlstate
    if state is None:
        gone = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        return _unreachable("the server closed the connection", place) if gone else None
    message = _first_line(error)
    if state.startswith(_UNAVAILABLE):
        return _unreachable(f"the server is not available ({message})", place)
    if state.startswith(_BUSY):
        return StoreBusy("is locked by another program", place=place, step="try again when it has finished")
    if state == _FULL:
        step = "free disk space, then run the command again"
        return StorageFailed("the server's disk is full", place=place, step=step)
    if state == _READ_ONLY:
        what = "is read-only (a standby server, or default_transaction_read_only)"
        return StorageFailed(what, place=place, step="use the primary server with --db")
    if state == _NO_RIGHTS:
        return StorageFailed(f"cannot be used: {message}", place=place, step="ask its owner for a GRANT")
    if state.startswith(_DAMAGED):
        return StoreRefused(f"is damaged ({message})", place=place, step="restore a backup")
    if state.startswith(_STORAGE):
        return StorageFailed(f"the server failed ({message})", place=place, step="check the server and resume the run")
    return None


def _not_connected(error: psycopg.Error, address: ServerAddress, *, known: bool) -> TourError:
    """Return the error for a failed connection. If a connection succeeded before (`known`), waiting may help."""
    place, text = str(address), str(error)
    severe = _SEVERE.findall(text)
    if severe and not known and not _SOON.search(text):
        step = "check the address, PGPASSWORD or ~/.pgpass" if _PASSWORD.search(severe[-1]) else "check the address"
        if "does not exist" in severe[-1] and "database" in severe[-1]:
            step = "create it with createdb"
        return StoreRefused(f"cannot connect: {severe[-1].strip()}", place=place, step=step)
    found = severe or _LAST_FAILURE.findall(text) or [text.splitlines()[0] if text else "no response"]
    return _unreachable(f"the server cannot be reached ({found[-1].strip()})", place)


def _unreachable(what: str, place: str) -> StoreUnreachable:
    return StoreUnreachable(what, place=place, step="check that the server is running there, then resume the run")


def _first_line(error: psycopg.Error) -> str:
    return error.diag.message_primary or (str(error).splitlines() or [""])[0]


# Tournament lock: an advisory lock of a separate connection, which ends with its process. A run takes it while it
# holds the lock of writers. A writer that still holds the tournament lock therefore keeps it until the commit.

_RELEASE_S = 0.5  # seconds; longer than a server needs to notice that the process of the last run is dead
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
    """Function that opens a connection of the driver. The server's views show it with the given name."""

    def __call__(self, address: ServerAddress, *, known: bool, name: str) -> Any: ...


class _AdvisoryLock(dialect.Lock):
    """The lock of a tournament, held by a separate connection."""

    def __init__(self, address: ServerAddress, name: str, connect: _Connect, *, turn: str) -> None:
        self.address = address
        self.name = name
        self._connect = connect
        self._turn = turn
        self._raw: Any = None
        self._key = 0
        self._session = (0, "")  # id and start time of the connection's server process; ids are reused

    def acquire(self) -> None:
        """Take the lock without waiting. Raise AlreadyRunning if another run holds it."""
        if self._raw is not None:
            raise RuntimeError(f"{self.name} is already locked by this object")
        self._take(known=False)

    def release(self) -> None:
        """Release the lock. Do nothing if it is not held."""
        if self._raw is not None:
            self._raw.close()
            self._raw = None

    def is_held(self, connection: Connection) -> bool:
        """Return whether the lock is still held. Inside a write transaction, it is then held until the commit."""
        pid, start = self._session
        found = connection.execute(_IS_OURS, {"key": self._key, "pid": pid, "start": start}).first()
        return self._raw is not None and found is not None

    def regain(self) -> None:
        """Take the lock again on a new connection. If the server has not ended the old connection, end it."""
        self.release()
        self._take(known=True)

    def _take(self, *, known: bool) -> None:
        former = self._session
        raw = self._connect(self.address, known=known, name=_session_name())
        try:
            self._key, *session = raw.execute(_WHO, (slug_of(self.name), APPLICATION_ID)).fetchone()
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
                continue  # it was released in the meantime
            if tuple(holder[:2]) == former:
                raw.execute("SELECT pg_terminate_backend(%s)", (holder[0],))
            elif time.monotonic() - begun > _RELEASE_S:
                raise AlreadyRunning(self.name, _describe_holder(holder))
            time.sleep(_RETRY_S)

    def _try(self, raw: Any, deadline: float) -> bool:
        """Wait for the lock of writers, and try to take the tournament's lock while it is held."""
        while True:
            try:
                with raw.transaction():
                    raw.execute(f"SELECT pg_advisory_xact_lock({self._turn})")
                    return bool(raw.execute("SELECT pg_try_advisory_lock(%s)", (self._key,)).fetchone()[0])
            except psycopg.errors.LockNotAvailable:
                if time.monotonic() >= deadline:
                    raise


def _session_name() -> str:
    """Return the name of this run in the server's list of sessions, which messages show."""
    host, now = socket.gethostname(), f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    rest = f" since {now}"
    head = f"{_PREFIX}pid {os.getpid()} on "
    return head + host.encode("ascii", "replace").decode()[: _LONGEST_NAME - len(head) - len(rest)] + rest


def _describe_holder(holder: tuple[int, str, str | None]) -> str:
    """Describe the session that holds a lock, in printable characters."""
    name = "".join(char for char in holder[2] or "" if char.isprintable())
    return name.removeprefix(_PREFIX) if name.startswith(_PREFIX) else f"server process {holder[0]} {name}".strip()


# The backend: one transaction per game, with ``synchronous_commit``.

try:
    import psycopg
except ImportError:
    what, step = "PostgreSQL needs the driver psycopg", "run pip install 'enginetour[postgres]'"
    raise UsageRefused(what, place="--db", step=step) from None

_CONNECT_TIMEOUT_S = 5  # seconds for each attempt; by default, an address without a server takes two minutes
_TABLE_LOCK_MS = 60_000  # long, so that no finished game is lost if a table is locked on the server (VACUUM FULL)
_OLDEST = 14  # the oldest PostgreSQL that is supported in 2026, and the first with idle_session_timeout
_APPLICATION = "enginetour"  # name in the server's list of sessions
# Both ends notice a dead connection within about 30 + 3 * 10 s (libpq, "Parameter Key Words").
_KEEPALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
_WRITERS = f"{APPLICATION_ID}, hashtext(current_schema())"  # key of the advisory lock of writers
_SETTINGS = {
    "client_encoding": "UTF8",
    "lock_timeout": f"{dialect.BUSY_TIMEOUT_MS}ms",
    "statement_timeout": "0",
    "idle_session_timeout": "0",  # a game may last for hours
    "idle_in_transaction_session_timeout": "0",  # a report can use one snapshot for a long time
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}
# Stronger settings (remote_apply) are kept. The weakest setting that survives a power failure is "on" ("Asynchronous
# Commit").
_DURABLE = """SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') IN ('off', 'local')"""

# The identifier of a server is stored in its data directory ("Control Data Functions"). Reading it is rarely forbidden.
_SERVER = "SELECT system_identifier FROM pg_control_system()"
_WHICH = """SELECT has_function_privilege('pg_control_system()', 'EXECUTE'), oid, current_schema()
FROM pg_database WHERE datname = current_database()"""


def _connect(address: ServerAddress, *, known: bool, name: str = _APPLICATION, readonly: bool = False) -> Any:
    """Open a connection of psycopg in autocommit mode. Raise TourError with a one-line message if it fails."""
    try:
        given = psycopg.conninfo.conninfo_to_dict(address.url)
    except psycopg.Error:
        step = "write postgresql://USER@HOST:PORT/NAME; in a password, write % : / @ as %25 %3A %2F %40"
        raise UsageRefused("is not a valid address of a database", place=str(address), step=step) from None
    defaults = {"connect_timeout": _CONNECT_TIMEOUT_S, **_KEEPALIVE}
    more = {key: value for key, value in defaults.items() if key not in given}
    try:
        connection = psycopg.connect(address.url, autocommit=True, application_name=name, **more)  # type: ignore[arg-type]
    except psycopg.Error as error:
        raise _not_connected(error, address, known=known) from None  # because its traceback contains the password
    release = connection.info.server_version // 10_000
    if release < _OLDEST:
        connection.close()
        what = f"PostgreSQL {_OLDEST} or newer is required (found {release})"
        raise StoreRefused(what, place=str(address), step="use another server with --db")
    try:
        settings = {**_SETTINGS, "default_transaction_read_only": "on"} if readonly else _SETTINGS
        statements = "; ".join(f"SET {key} = '{value}'" for key, value in settings.items())
        connection.execute(f"{statements}; {_DURABLE}")
    except psycopg.Error as error:
        connection.close()
        raise _translated(error, address) or error from None
    return connection


class PostgresDatabase(dialect.Backend):
    """Backend for the first schema of the search path in a database of a server."""

    address: ServerAddress
    keeps_connection = False
    view = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"

    def __init__(self, address: ServerAddress) -> None:
        self.address = address
        self._known = False  # whether a connection succeeded before

    def exists(self) -> bool:
        """Return whether the schema contains objects of any program."""
        with self._read_only() as raw:
            return not migrations.is_blank(raw)

    def probe(self, *, create: bool) -> dialect.Probe:
        """Check the server and the schema without writing."""
        with self._read_only() as raw:
            migrations.require_suitable(raw, self.address)
            blank = migrations.is_blank(raw)
            if blank and not create:
                step = "create it with enginetour run"
                raise StoreRefused("database does not exist", place=str(self.address), step=step)
            version = (
                0 if blank else migrations.check_schema(migrations.read_own_schema(raw, self.address), self.address)
            )
            return dialect.Probe(blank, version, migrations.server_warnings(raw, self.address))

    def engine(self, *, create: bool, readonly: bool) -> Engine:  # noqa: ARG002 - only for files
        """Make an engine whose pool replaces connections that the server has closed."""
        return create_engine(
            "postgresql+psycopg://",
            creator=lambda: self._connect(readonly=readonly),
            poolclass=QueuePool,
            pool_size=2,
            max_overflow=8,
            pool_pre_ping=True,
        )

    def initialize(self, connection: Connection, *, create: bool) -> None:
        """Create the tables and write the version in one transaction."""
        raw = _raw(connection)
        if create and migrations.is_blank(raw):
            migrations.create_tables(connection)
            migrations.write_version(raw)
        else:
            version = migrations.check_schema(migrations.read_server_schema(raw), self.address)
            migrations.require_current(version, self.address)

    def upgrade(self, connection: Connection) -> None:
        """Upgrade the tables and write the version."""
        raw = _raw(connection)
        migrations.upgrade(connection, migrations.check_schema(migrations.read_server_schema(raw), self.address))
        migrations.write_version(raw)

    def verify(self, connection: Connection) -> None:
        """Check the privileges for every table."""
        migrations.require_writable(_raw(connection), self.address)

    def begin(self, connection: Connection) -> None:
        """Begin a transaction and take the lock of writers."""
        try:
            connection.exec_driver_sql(
                f"BEGIN; SET LOCAL lock_timeout = {dialect.BUSY_SLICE_MS}; "  # short, so that signals are handled
                f"SELECT pg_advisory_xact_lock({_WRITERS}); SET LOCAL lock_timeout = {_TABLE_LOCK_MS}"
            )
        except TourError:
            connection.rollback()
            raise

    def translated(self, error: BaseException) -> TourError | None:
        """Translate an error of the driver by its SQLSTATE."""
        return _translated(error, self.address)

    def fill(self, connection: Connection, table: str, columns: Mapping[str, Values | int]) -> None:
        """Insert rows with COPY. Raise ValueError for values that a column cannot contain, and for existing keys."""
        count = next(len(column) for column in columns.values() if not isinstance(column, int))
        repeated = ([column] * count if isinstance(column, int) else column for column in columns.values())
        lists = [column if isinstance(column, list) else column.tolist() for column in repeated]
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
        """Set the counters to the largest keys, because they ignore explicit keys."""
        for table in METADATA.sorted_tables:
            if table.autoincrement_column is not None:
                key = table.autoincrement_column.name
                last = f'(SELECT coalesce(max("{key}"), 0) + 1 FROM "{table.name}")'  # noqa: S608 - no user input
                connection.exec_driver_sql(
                    f"SELECT setval(pg_get_serial_sequence('{table.name}', '{key}'), {last}, false)"
                )

    def integrity(self, connection: Connection, most: int) -> Iterator[str]:
        """Yield invalid indexes and constraints, then broken references. Every page of every table is read."""
        yield from connection.exec_driver_sql(_INVALID).scalars().fetchmany(most)
        for here in METADATA.sorted_tables:
            # Casting rows to text also reads values that are stored elsewhere; the server checks its page checksums.
            connection.exec_driver_sql(f'SELECT sum(length(r::text)) FROM "{here.name}" r')  # noqa: S608
            for key in here.foreign_keys:
                parent = key.column.table.alias()
                lost = and_(key.parent.is_not(None), ~exists().where(parent.c[key.column.name] == key.parent))
                rows = connection.execute(select(func.count()).select_from(here).where(lost)).scalar_one()
                if rows:
                    yield f"{rows} rows of {here.name} refer to rows of {key.column.table.name} that do not exist"

    def invalid_cells(self, connection: Connection) -> Iterator[str]:
        """Yield a sentence for each column with invalid cells, with the keys of the first such row."""
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
                    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
                    yield f"{here.name} with {named}: invalid {cell.name} {str(value)[:CHARACTERS_SHOWN]!r}{more}"

    def lock(self, name: str) -> dialect.Lock:
        """Return an advisory lock on a separate connection."""
        return _AdvisoryLock(self.address, name, _connect, turn=_WRITERS)

    def tag(self) -> str:
        """Identify the database by the server's identifier and the ids of database and schema, not by its address."""
        with self._read_only() as raw:
            ids = raw.execute(_WHICH).fetchone()
            server = raw.execute(_SERVER).fetchone() if ids[0] else self.address.identity
        return hashlib.sha256(repr((server, ids)).encode()).hexdigest()[:16]

    def require_writable(self) -> None:
        """Check the privileges of this user for the tables or for the schema."""
        with self._read_only() as raw:
            migrations.require_writable(raw, self.address)

    def _connect(self, *, readonly: bool) -> Any:
        connection = _connect(self.address, known=self._known, readonly=readonly)
        self._known = True
        return connection

    @contextmanager
    def _read_only(self) -> Iterator[Any]:
        """Yield a connection in a read-only transaction."""
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


# Integrity check, and cells with values that the column types allow but enginetour does not write.

_ROWS_A_BLOCK = 1000  # rows in memory; a JSON cell has at most a few KB
# Indexes whose creation failed, and constraints that were created without a check of the existing rows.
_INVALID = """
SELECT 'the index ' || i.indexrelid::regclass || ' is not valid' FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE c.relnamespace = current_schema()::regnamespace AND NOT (i.indisvalid AND i.indisready)
UNION ALL
SELECT 'the reference ' || n.conname || ' of ' || c.relname || ' was not checked' FROM pg_constraint n
JOIN pg_class c ON c.oid = n.conrelid WHERE c.relnamespace = current_schema()::regnamespace AND NOT n.convalidated
"""


def _fits(cell: Column[Any]) -> ColumnElement[bool] | None:
    """Return the condition for a valid cell, or None if the type of the column is sufficient."""
    if isinstance(cell.type, Integer) and (most := largest_whole(cell.name)) is not None:
        fits: ColumnElement[bool] = cell.between(-most, most)
    elif isinstance(cell.type, Float):
        fits = func.abs(cell) <= LARGEST_REAL  # NaN is the largest value in PostgreSQL
    else:
        return None
    return or_(cell.is_(None), fits)


def _broken(connection: Connection, keys: list[Column[Any]], cell: Column[Any]) -> list[tuple[Any, ...]]:
    rows = select(stored(cell), *keys).order_by(*keys).execution_options(yield_per=_ROWS_A_BLOCK)
    empty = cell.type.may_be_empty  # type: ignore[attr-defined] # of a JsonText
    return [tuple(row) for row in connection.execute(rows) if not _is_json(row[0], empty=empty)]


def _is_json(text: str, *, empty: bool) -> bool:
    if empty and text == "":
        return True
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
