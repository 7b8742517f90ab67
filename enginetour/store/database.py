"""The open database: opening, transactions, snapshots and frequent statements, for SQLite and PostgreSQL."""

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
    """Return the backend of an address without opening it; UsageRefused if the PostgreSQL driver is missing."""
    if isinstance(address, str):
        address = parse_address(address)
    if isinstance(address, ServerAddress):
        from enginetour.store.postgres import PostgresDatabase

        return PostgresDatabase(address)
    return SqliteFile(address)


def lock_of(address: Address | str, slug: str) -> Lock:
    """Return the lock of a tournament by the address of its database."""
    return backend_of(address).lock(slug)


PATIENCE_S = 60.0  # for a finished game: a command that holds the database, or a server's restart, must not cost it
RETRY_S = 0.2  # between two tries to reach a server


def database_exists(address: Address | str) -> bool:
    """Whether the file exists or the server's schema holds anything, of any program; False for an empty one."""
    return backend_of(address).is_made()


def schema_version(address: Address | str) -> int:
    """Check a database without writing and return its schema version; 0 if an interrupted creation hides it."""
    below = backend_of(address)
    return _born(below, below.probe(create=False)).version


def _born(below: Backend, found: Probe) -> Probe:
    if found.unborn:
        raise StoreRefused("holds no tournament yet", place=str(below.address), step="enginetour run fills it")
    return found


class Database:
    """An open database, as a context manager or until `close`; `warnings` are sentences for the user.

    `heed` is called several times a second while somebody else holds it or the server is away; what it raises ends the
    wait. `patience` in seconds is how long a server that is away is waited for, `tell` hears of it.
    """

    def __init__(
        self,
        backend: Backend,
        engine: Engine,
        *,
        readonly: bool,
        warnings: tuple[str, ...],
        heed: Callable[[], None] = lambda: None,
    ) -> None:
        self.backend = backend
        self.engine = engine
        self.path = backend.address
        self.heed = heed
        self.readonly = readonly
        self.warnings = warnings
        self.patience = 0.0
        self.tell: Callable[[str], None] = lambda _: None
        self._writer: Connection | None = None
        self._view = local()  # `connection`, of the thread that is in `snapshot`
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
        """Open or create a database.

        Raises:
            StoreRefused: it belongs to another program, has an older schema, or is busy.
            StorageFailed: it cannot be written.
        """
        create = create and not readonly
        below = backend_of(path)
        found = below.probe(create=create)
        if not create:
            _born(below, found)
        if found.version:
            migrations.refuse_older(found.version, below.address)
        engine = below.engine(create=create, readonly=readonly)
        database = cls(below, engine, readonly=readonly, warnings=found.warnings, heed=heed)
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
        below = backend_of(path)
        found = below.probe(create=False)
        return cls(below, below.engine(create=False, readonly=False), readonly=False, warnings=found.warnings)

    def close(self) -> None:
        """Close the connections; SQLite merges its write-ahead log when the last one closes."""
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
        """Run one exclusive write transaction: rolled back by any exception, durable on return.

        Waits `patience` seconds for a database that is busy, beyond the usual five. In `bulk` references are not
        looked up where that can be left out: all of them must be to rows that the caller reads or writes itself.
        """
        with self._kept() as connection, self.backend.without_reference_checks(connection) if bulk else nullcontext():
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
        """Let everything that this thread reads inside come from one state; writers are not blocked."""
        outer = getattr(self._view, "connection", None)
        with self.reading() as connection:
            connection.execute(select(TOURNAMENTS.c.id).limit(1)).first()  # a view begins with its first look
            self._view.connection = connection
            try:
                yield
            finally:
                self._view.connection = outer

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Keep the `snapshot` usable if a statement inside fails (PostgreSQL would reject all later ones)."""
        with self.reading() as connection, connection.begin_nested():
            yield

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read from one state of the database; inside `snapshot`, from that one."""
        if (held := getattr(self._view, "connection", None)) is not None:
            yield held
            return
        with self._connected() as connection:
            connection.exec_driver_sql(self.backend.view)
            yield connection
            connection.rollback()

    def rows(self, query: Executable, values: Mapping[str, Any] | None = None) -> Sequence[Any]:
        """Read all rows of one query."""
        with self.reading() as connection:
            return connection.execute(query, values).fetchall()

    def scalar(self, query: Executable, values: Mapping[str, Any] | None = None) -> Any:
        """Read the first column of a query's first row; None if there is no row."""
        with self.reading() as connection:
            return connection.execute(query, values).scalar()

    def fill(self, connection: Connection, table: str, columns: Mapping[str, list[Any] | int]) -> None:
        """Insert many rows of one table, given as columns of equal length; a number is the value of all rows.

        Table and column names are never user input.
        """
        self.backend.fill(connection, table, columns)

    def integrity(self, most: int = 20) -> Iterator[str]:
        """Yield the faults of the database's own full check, at most `most` of a kind, and broken foreign keys."""
        with self.reading() as connection:
            yield from self.backend.integrity(connection, most)

    @contextmanager
    def _kept(self) -> Iterator[Connection]:
        """A connection to write by; one to a file waits here for the next write, unless it failed."""
        if not self.backend.is_steady:
            with self._connected() as connection:
                yield connection
            return
        kept, self._writer = self._writer, None  # another thread that writes meanwhile takes one of its own
        connection = kept or self.engine.connect()
        try:
            yield connection
        except BaseException as error:
            connection.close()
            if isinstance(error, Exception) and (refused := self.backend.translated(error)) is not None:
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
                if (refused := self.backend.translated(error)) is not None:
                    raise refused from error
                raise

    def _begin(self, connection: Connection, deadline: float) -> None:
        while True:
            try:
                self.backend.begin(connection)
            except StoreBusy:
                self.heed()
                if time.monotonic() >= deadline:
                    raise
            else:
                return

    def _translate(self, context: ExceptionContext) -> None:
        if context.is_pre_ping:
            return  # one that the server has dropped is replaced, nobody need be told
        refused = self.backend.translated(context.original_exception)
        if refused is not None:
            raise refused from context.original_exception

    def _initialize(self, *, create: bool) -> None:
        """Schema and what else must be; proves that it can be written before anything starts."""
        with self.writing() as connection:
            self.backend.initialize(connection, create=create)
        with self._connected() as connection:
            self.backend.verify(connection)


def inserted_id(result: CursorResult[Any]) -> int:
    """Return the key of the row just inserted."""
    keys = result.inserted_primary_key
    assert keys is not None
    return int(keys[0])


# Statements of every game: compiled once. SQLite's driver runs them directly, because SQLAlchemy's layers cost 70 us
# instead of 12 between the games of fast engines (measured). PostgreSQL takes longer than the layers.

_NAMED = SQLiteDialect_pysqlite(paramstyle="named")


class Prepared:
    """A statement compiled once, for any backend; `Database` translates the errors of its driver."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._text = ""
        self._fixed: dict[str, Any] = {}  # parameters of its own, and None for a key that the database gives
        self._encoders: list[tuple[str, Callable[[Any], Any]]] = []  # of the columns' types

    def first(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Any]:
        """Return the row that the query finds; there must be one."""
        raw = sqlite_connection(connection)
        if raw is None:
            return connection.execute(self._statement, values).one()
        row: Sequence[Any] = self._run(raw, values).fetchone()
        return row

    def write(self, connection: Connection, values: Mapping[str, Any]) -> None:
        """Insert one row, given by all its columns."""
        raw = sqlite_connection(connection)
        if raw is None:
            connection.execute(self._statement, values)
        else:
            self._run(raw, values)

    def made(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Insert one row, given by all columns but its key; return the key."""
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
            assert isinstance(compiled, SQLCompiler)
            kinds = {name: bound.type.dialect_impl(_NAMED) for name, bound in compiled.binds.items()}
            encoders = {name: kind.bind_processor(_NAMED) for name, kind in kinds.items()}
            self._encoders = [(name, encode) for name, encode in encoders.items() if encode is not None]
        given = {**self._fixed, **values}
        for name, encode in self._encoders:
            given[name] = encode(given[name])
        return raw.execute(self._text, given)


def sqlite_connection(connection: Connection) -> sqlite3.Connection | None:
    """Return SQLite's own connection, in the same transaction; None for a server."""
    raw = connection.connection.driver_connection
    return raw if isinstance(raw, sqlite3.Connection) else None
