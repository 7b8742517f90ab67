"""The database of a store: opening, transactions, frequent statements.

What it stands on, a file of SQLite or a PostgreSQL server, is its `ground`.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from threading import local
from typing import Any

from sqlalchemy import Connection, CursorResult, Engine, Executable, event, select
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.sql import ClauseElement

from enginetour.model.errors import StoreRefused
from enginetour.store import dialect
from enginetour.store.address import Address, ServerAddress, parse_address
from enginetour.store.dialect import Backend, Lock, Probe, StoreBusy, StoreUnreachable
from enginetour.store.sqlite import SqliteFile
from enginetour.store.tables import SCHEMA_VERSION, TOURNAMENTS

# Which ground an address has: the one place where a file and a server are told apart.


def backend_of(address: Address | str) -> Backend:
    """The file, or the server's database; nothing is opened yet. UsageRefused without the driver a server needs."""
    if isinstance(address, str):
        address = parse_address(address)
    if isinstance(address, ServerAddress):
        from enginetour.store.postgres import PostgresDatabase

        return PostgresDatabase(address)
    return SqliteFile(address)


def lock_of(address: Address | str, slug: str) -> Lock:
    """The lock of a tournament, whatever its database stands on."""
    return backend_of(address).lock(slug)


# A database: opened only if it is ours, created whole, and every failure of it in one line.

PATIENCE_S = 60.0  # for a finished game: a command that holds the database, or a server's restart, must not cost it
RETRY_S = 0.2  # between two tries to reach a server


def database_exists(address: Address | str) -> bool:
    """There is something in that place, ours or not; False for a database that is yet to be made or to be filled."""
    return backend_of(address).is_made()


def schema_version(address: Address | str) -> int:
    """All refusals, without a byte written, and the schema's version; 0 where that is to be seen after a roll-back."""
    below = backend_of(address)
    return _born(below, below.arrive(create=False)).version


def _born(below: Backend, found: Probe) -> Probe:
    """The same; StoreRefused where nothing was ever committed."""
    if found.unborn:
        raise StoreRefused("holds no tournament yet", place=str(below.address), step="enginetour run fills it")
    return found


class Database:
    """An open database. `warnings` are sentences for the user; use as a context manager or call `close`.

    `heed` is called several times a second while somebody else holds it or the server is away; what it raises ends the
    wait. `patience` in seconds is how long a server that is away is waited for, `tell` hears of it.
    """

    def __init__(
        self,
        ground: Backend,
        engine: Engine,
        *,
        readonly: bool,
        warnings: tuple[str, ...],
        heed: Callable[[], None] = lambda: None,
    ) -> None:
        self.ground = ground
        self.engine = engine
        self.path = ground.address
        self.heed = heed
        self.readonly = readonly
        self.warnings = warnings
        self.patience = 0.0
        self.tell: Callable[[str], None] = lambda _: None
        self._writer: Connection | None = None
        self._view = local()  # `connection`, of the thread that is in `still`
        event.listen(self.engine, "handle_error", self._translate)

    @classmethod
    def open(
        cls,
        path: Address | str,
        *,
        create: bool = True,
        readonly: bool = False,
        heed: Callable[[], None] = lambda: None,
    ) -> Database:
        """Open or create; StoreRefused if it is not ours or busy, StorageFailed if it cannot be written."""
        create = create and not readonly
        below = backend_of(path)
        found = below.arrive(create=create)
        if not create:
            _born(below, found)
        if readonly and not found.unborn and 0 < found.version < SCHEMA_VERSION:
            cls.open(path, create=False).close()  # an older one is brought up to date first
        engine = below.engine(create=create, readonly=readonly)
        database = cls(below, engine, readonly=readonly, warnings=found.warnings, heed=heed)
        if readonly:
            return database
        try:
            database._make_ready(create=create)
        except BaseException:
            database.close()
            raise
        return database

    def close(self) -> None:
        """Let go of it; the last one out folds a file's log into it."""
        kept, self._writer = self._writer, None
        if kept is not None:
            kept.close()
        self.engine.dispose()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def writing(self, *, patience: float = 0.0, bulk: bool = False) -> Iterator[Connection]:
        """One transaction that nobody else can write beside; rolled back by any exception, durable on return.

        Waits `patience` seconds for a database that is busy, beyond the usual five. In `bulk` references are not
        looked up where that can be left out: all of them must be to rows that the caller reads or writes itself.
        """
        with self._kept() as connection, self.ground.unchecked(connection) if bulk else nullcontext():
            self._begin(connection, time.monotonic() + dialect.BUSY_TIMEOUT_MS / 1000 + patience)
            try:
                self.ground.require()
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    @contextmanager
    def still(self) -> Iterator[None]:
        """All that this thread reads in here is of one moment. Writers are not held up: they go on beside it."""
        outer = getattr(self._view, "connection", None)
        with self.reading() as connection:
            connection.execute(select(TOURNAMENTS.c.id).limit(1)).first()  # a view begins with its first look
            self._view.connection = connection
            try:
                yield
            finally:
                self._view.connection = outer

    @contextmanager
    def apart(self) -> Iterator[None]:
        """A statement that fails in here is no end of `still`: a server would answer nothing more in it."""
        with self.reading() as connection, connection.begin_nested():
            yield

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One unchanging view of the database, whoever writes meanwhile; within `still` it is that one."""
        if (held := getattr(self._view, "connection", None)) is not None:
            yield held
            return
        with self._connected() as connection:
            connection.exec_driver_sql(self.ground.view)
            yield connection
            connection.rollback()

    def fill(self, connection: Connection, table: str, columns: Mapping[str, list[Any] | int]) -> None:
        """Many rows of one table at once: columns of equal length, a number for one that has it everywhere.

        Table and columns are words of ours, never of a user.
        """
        self.ground.fill(connection, table, columns)

    def quick_check(self) -> tuple[str, ...]:
        """The database's own check of pages and rows; empty if all is well."""
        with self.reading() as connection:
            return tuple(self.ground.quick_check(connection))

    @contextmanager
    def _kept(self) -> Iterator[Connection]:
        """A connection to write by; one to a file waits here for the next write, unless it failed."""
        if not self.ground.is_steady:
            with self._connected() as connection:
                yield connection
            return
        kept, self._writer = self._writer, None  # another thread that writes meanwhile takes one of its own
        connection = kept or self.engine.connect()
        try:
            yield connection
        except BaseException as error:
            connection.close()
            if isinstance(error, Exception) and (refused := self.ground.translated(error)) is not None:
                raise refused from error
            raise
        self._writer, other = connection, self._writer
        if other is not None:
            other.close()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """A connection; a server that is away is waited for."""
        deadline = time.monotonic() + self.patience
        told = False
        while True:
            try:
                connection = self.engine.connect()
                break
            except StoreUnreachable as error:
                if time.monotonic() >= deadline:
                    raise
                if not told:
                    self.tell(f"{error.what}: waiting up to {self.patience:.0f} s, nothing is lost")
                    told = True
                self.heed()
                time.sleep(RETRY_S)
        with connection:
            try:
                yield connection
            except Exception as error:  # of statements that were the driver's own: all others are translated by now
                if (refused := self.ground.translated(error)) is not None:
                    raise refused from error
                raise

    def _begin(self, connection: Connection, deadline: float) -> None:
        while True:
            try:
                self.ground.begin(connection)
            except StoreBusy:
                self.heed()
                if time.monotonic() >= deadline:
                    raise
            else:
                return

    def _translate(self, context: ExceptionContext) -> None:
        if context.is_pre_ping:
            return  # one that the server has dropped is replaced, nobody need be told
        refused = self.ground.translated(context.original_exception)
        if refused is not None:
            raise refused from context.original_exception

    def _make_ready(self, *, create: bool) -> None:
        """Schema and what else must be; proves that it can be written before anything starts."""
        with self.writing() as connection:
            self.ground.make_ready(connection, create=create)
        with self._connected() as connection:
            self.ground.settle(connection)


def inserted_id(result: CursorResult[Any]) -> int:
    """The key of the row just written."""
    keys = result.inserted_primary_key
    assert keys is not None
    return int(keys[0])


# A statement that every game needs: compiled once, and run by the driver itself where the ground is a file.
#
# Through all layers of SQLAlchemy one takes 70 us between the moves of quick engines, by the driver 12 (measured): what
# runs once a game finds nothing of it in the processor's caches. A server takes longer than the layers.

_NAMED = SQLiteDialect_pysqlite(paramstyle="named")


class Prepared:
    """One statement, for any database. What its driver raises is translated by `Database`, as all else."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._text = ""
        self._fixed: dict[str, Any] = {}  # parameters of its own, and None for a key that the database gives

    def first(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Any]:
        """The row it finds; it must find one."""
        raw = sqlite_connection(connection)
        if raw is None:
            return connection.execute(self._statement, values).one()
        row: Sequence[Any] = self._run(raw, values).fetchone()
        return row

    def write(self, connection: Connection, values: Mapping[str, Any]) -> None:
        """One row, all of whose columns are named."""
        raw = sqlite_connection(connection)
        if raw is None:
            connection.execute(self._statement, values)
        else:
            self._run(raw, values)

    def made(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """The key of a row that is written, with all its columns but that one."""
        raw = sqlite_connection(connection)
        if raw is None:
            return inserted_id(connection.execute(self._statement, values))
        key = self._run(raw, values).lastrowid
        assert key is not None
        return key

    def _run(self, raw: sqlite3.Connection, values: Mapping[str, Any]) -> sqlite3.Cursor:
        if not self._text:
            assert isinstance(self._statement, ClauseElement)
            compiled = self._statement.compile(dialect=_NAMED)
            self._fixed, self._text = dict(compiled.params), str(compiled)
        return raw.execute(self._text, {**self._fixed, **values})


def sqlite_connection(connection: Connection) -> sqlite3.Connection | None:
    """The driver's own connection, in the same transaction; None where it is a server's."""
    raw = connection.connection.driver_connection
    return raw if isinstance(raw, sqlite3.Connection) else None
