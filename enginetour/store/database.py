"""The open database, in SQLite or PostgreSQL: opening, transactions, snapshots and frequent statements."""

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
from sqlalchemy.sql.compiler import SQLCompiler

from enginetour.model.errors import StoreRefused
from enginetour.store import dialect, migrations
from enginetour.store.address import Address, ServerAddress, parse_address
from enginetour.store.dialect import Backend, Lock, Probe, StoreBusy, StoreUnreachable
from enginetour.store.sqlite import SqliteFile
from enginetour.store.tables import TOURNAMENTS


def backend_of(address: Address | str) -> Backend:
    """Return the backend of an address without opening it. Raise UsageRefused if the PostgreSQL driver is missing."""
    if isinstance(address, str):
        address = parse_address(address)
    if isinstance(address, ServerAddress):
        from enginetour.store.postgres import PostgresDatabase

        return PostgresDatabase(address)
    return SqliteFile(address)


def lock_of(address: Address | str, name: str) -> Lock:
    """Return the lock of a tournament, or of the run of a league, for the address of its database."""
    return backend_of(address).lock(name)


PATIENCE_S = 60.0  # seconds; longest wait to write a game while the database is locked or a server restarts
_MOST_FAULTS = 20  # of one kind
RETRY_S = 0.2  # seconds between two attempts to reach a server


def database_exists(address: Address | str) -> bool:
    """Return whether the file exists and is not empty, or the schema of the server has tables of any program."""
    return backend_of(address).exists()


def schema_version(address: Address | str) -> int:
    """Check a database without writing and return its schema version.

    The version is 0 if the creation of the database was interrupted. It is then known after the next write.
    """
    backend = backend_of(address)
    return _require_created(backend, backend.probe(create=False)).version


def _require_created(backend: Backend, found: Probe) -> Probe:
    if found.is_empty:
        step = "start a tournament with enginetour run"
        raise StoreRefused("does not contain a tournament", place=str(backend.address), step=step)
    return found


class Database:
    """An open database; use it as a context manager or call `close`. `warnings` are sentences for the user.

    While another process locks the database or the server cannot be reached, `check_stop` is called several times a
    second. An exception from it ends the wait. `patience` is the longest wait for a server in seconds. When this wait
    begins, `notify` is called with a sentence for the user.
    """

    def __init__(
        self,
        backend: Backend,
        engine: Engine,
        *,
        readonly: bool,
        warnings: tuple[str, ...],
        check_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self.backend = backend
        self.engine = engine
        self.path = backend.address
        self.check_stop = check_stop
        self.readonly = readonly
        self.warnings = warnings
        self.patience = 0.0
        self.notify: Callable[[str], None] = lambda _: None
        self._writer: Connection | None = None
        self._view = local()  # its attribute `connection` is the connection of the thread's snapshot
        event.listen(self.engine, "handle_error", self._translate)

    @classmethod
    def open(
        cls,
        path: Address | str,
        *,
        create: bool = True,
        readonly: bool = False,
        check_stop: Callable[[], None] = lambda: None,
    ) -> Database:
        """Open or create a database.

        Raises:
            StoreRefused: The database belongs to another program, has an older schema, or is busy.
            StorageFailed: The database cannot be written.
        """
        create = create and not readonly
        backend = backend_of(path)
        found = backend.probe(create=create)
        if not create:
            _require_created(backend, found)
        if found.version:
            migrations.require_current(found.version, backend.address)
        engine = backend.engine(create=create, readonly=readonly)
        database = cls(backend, engine, readonly=readonly, warnings=found.warnings, check_stop=check_stop)
        if readonly:
            return database
        try:
            database._initialize(create=create)
        except BaseException:
            database.close()
            raise
        return database

    @classmethod
    def open_older(cls, path: Address | str) -> Database:
        """Open a database of an older schema, to upgrade it."""
        backend = backend_of(path)
        found = backend.probe(create=False)
        return cls(backend, backend.engine(create=False, readonly=False), readonly=False, warnings=found.warnings)

    def close(self) -> None:
        """Close all connections. SQLite merges its write-ahead log when the last one is closed."""
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
        """Run one exclusive write transaction. Any exception rolls it back. After the block, the data is durable.

        Args:
            patience: How long to wait for a busy database, in seconds, in addition to the usual five seconds.
            bulk: Do not check foreign keys, if the backend allows it. All references must be to rows that the caller
                reads or writes in this transaction.
        """
        with (
            self._write_connection() as connection,
            self.backend.without_reference_checks(connection) if bulk else nullcontext(),
        ):
            self._begin(connection, time.monotonic() + dialect.BUSY_TIMEOUT_MS / 1000 + patience)
            try:
                self.backend.require_in_place()
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Make all reads of this thread inside the block return one state of the database. Writers are not blocked."""
        outer = getattr(self._view, "connection", None)
        with self.reading() as connection:
            connection.execute(select(TOURNAMENTS.c.id).limit(1)).first()  # the first read starts the snapshot
            self._view.connection = connection
            try:
                yield
            finally:
                self._view.connection = outer

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Keep the snapshot usable if a statement in the block fails. PostgreSQL would reject all later statements."""
        with self.reading() as connection, connection.begin_nested():
            yield

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection that reads one state of the database. Inside `snapshot`, it is that of the snapshot."""
        if (held := getattr(self._view, "connection", None)) is not None:
            yield held
            return
        with self._connection() as connection:
            connection.exec_driver_sql(self.backend.view)
            yield connection
            connection.rollback()

    def rows(self, query: Executable) -> Sequence[Any]:
        """Return all rows of one query."""
        with self.reading() as connection:
            return connection.execute(query).fetchall()

    def scalar(self, query: Executable, values: Mapping[str, Any] | None = None) -> Any:
        """Return the first column of a query's first row, or None if there is no row."""
        with self.reading() as connection:
            return connection.execute(query, values).scalar()

    def integrity(self) -> Iterator[str]:
        """Yield the first faults of each kind that the full check of SQLite or PostgreSQL finds; broken references."""
        with self.reading() as connection:
            yield from self.backend.integrity(connection, _MOST_FAULTS)

    @contextmanager
    def _write_connection(self) -> Iterator[Connection]:
        """Yield a connection for writing. The connection to a file is kept for the next write if this one succeeds."""
        if not self.backend.keeps_connection:
            with self._connection() as connection:
                yield connection
            return
        kept, self._writer = self._writer, None  # another thread that writes at the same time opens its own connection
        connection = kept or self.engine.connect()
        try:
            yield connection
        except BaseException as error:
            connection.close()
            if isinstance(error, Exception) and (translated := self.backend.translated(error)) is not None:
                raise translated from error
            raise
        self._writer, other = connection, self._writer
        if other is not None:
            other.close()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """Yield a connection. If the server cannot be reached, wait for it."""
        deadline = time.monotonic() + self.patience
        notified = False
        while True:
            try:
                connection = self.engine.connect()
                break
            except StoreUnreachable as error:
                if time.monotonic() >= deadline:
                    raise
                if not notified:
                    self.notify(f"{error.what}: waiting up to {self.patience:.0f} s (no data is lost)")
                    notified = True
                self.check_stop()
                time.sleep(RETRY_S)
        with connection:
            try:
                yield connection
            except Exception as error:  # from the driver; errors of SQLAlchemy were translated before
                if (translated := self.backend.translated(error)) is not None:
                    raise translated from error
                raise

    def _begin(self, connection: Connection, deadline: float) -> None:
        while True:
            try:
                self.backend.begin(connection)
            except StoreBusy:
                self.check_stop()
                if time.monotonic() >= deadline:
                    raise
            else:
                return

    def _translate(self, context: ExceptionContext) -> None:
        if context.is_pre_ping:
            return  # the pool replaces a connection that the server has closed
        translated = self.backend.translated(context.original_exception)
        if translated is not None:
            raise translated from context.original_exception

    def _initialize(self, *, create: bool) -> None:
        """Create the schema if needed, and check that the database can be written."""
        with self.writing() as connection:
            self.backend.initialize(connection, create=create)
        with self._connection() as connection:
            self.backend.verify(connection)


def inserted_id(result: CursorResult[Any]) -> int:
    """Return the key of the inserted row."""
    keys = result.inserted_primary_key
    assert keys is not None
    return int(keys[0])


# Statements that run for every game are compiled once. SQLite's driver runs them directly in 12 us instead of 70 us,
# which matters between the games of fast engines (measured). PostgreSQL itself takes longer than SQLAlchemy's layers.

_NAMED = SQLiteDialect_pysqlite(paramstyle="named")


class Prepared:
    """A statement that is compiled once, for any backend. `Database` translates the errors of the driver."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._text = ""
        self._fixed: dict[str, Any] = {}  # fixed parameters, and None for a key that the database assigns
        self._encoders: list[tuple[str, Callable[[Any], Any]]] = []  # encoders of the column types, by column

    def first(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Any]:
        """Return the row that the query finds. The row must exist."""
        raw = sqlite_connection(connection)
        if raw is None:
            return connection.execute(self._statement, values).one()
        row: Sequence[Any] = self._run(raw, values).fetchone()
        return row

    def write(self, connection: Connection, values: Mapping[str, Any]) -> None:
        """Insert one row with values for all columns."""
        raw = sqlite_connection(connection)
        if raw is None:
            connection.execute(self._statement, values)
        else:
            self._run(raw, values)

    def made(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Insert one row with values for all columns except the key, and return the key."""
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
            assert isinstance(compiled, SQLCompiler)
            kinds = {name: bound.type.dialect_impl(_NAMED) for name, bound in compiled.binds.items()}
            encoders = {name: kind.bind_processor(_NAMED) for name, kind in kinds.items()}
            self._encoders = [(name, encode) for name, encode in encoders.items() if encode is not None]
            self._fixed = dict(compiled.params)
            self._text = str(compiled)  # last, because another thread uses the others when it is set
        given = {**self._fixed, **values}
        for name, encode in self._encoders:
            given[name] = encode(given[name])
        return raw.execute(self._text, given)


def sqlite_connection(connection: Connection) -> sqlite3.Connection | None:
    """Return the driver's connection to a SQLite file, in the same transaction. Return None for a server."""
    raw = connection.connection.driver_connection
    return raw if isinstance(raw, sqlite3.Connection) else None
