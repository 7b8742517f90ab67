"""A store on a PostgreSQL server: the same tables, one transaction a game, ``synchronous_commit`` on.

Writers take turns by an advisory lock of the transaction, as those of a file do: so keys are handed out in the order
of commits, and a list as of some game never gains one later. Readers wait for nobody.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, create_engine

from enginetour.model.errors import StoreRefused, TourError, UsageRefused
from enginetour.store import ground, postgres_schema, schema
from enginetour.store.postgres_errors import not_connected, translated
from enginetour.store.postgres_lock import AdvisoryLock
from enginetour.store.serveraddress import ServerAddress
from enginetour.store.tables import APPLICATION_ID, METADATA, SCHEMA_VERSION

try:
    import psycopg
except ImportError:
    what, step = "PostgreSQL needs the driver psycopg", "pip install 'enginetour[postgres]'"
    raise UsageRefused(what, place="--db", step=step) from None

CONNECT_TIMEOUT_S = 5  # of each try; an address where nobody answers would wait for two minutes
TABLE_LOCK_MS = 60_000  # the server's owner may lock a table for a while (VACUUM FULL): that costs no finished game
OLDEST = 14  # the oldest PostgreSQL that still has releases in 2026, and the first with idle_session_timeout
NAME = "enginetour"  # as the server's list of sessions shows us
# A dead machine's connections are noticed within about 30 + 3 * 10 s by both ends (libpq, "Parameter Key Words").
KEEPALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
WRITERS = f"{APPLICATION_ID}, hashtext(current_schema())"  # the key of the advisory lock by which they take turns
_SETTINGS = {
    "client_encoding": "UTF8",
    "lock_timeout": f"{ground.BUSY_TIMEOUT_MS}ms",
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


def connected(address: ServerAddress, *, known: bool, name: str = NAME, readonly: bool = False) -> Any:
    """A bare connection of psycopg in autocommit; TourError in one line where there is none."""
    try:
        given = psycopg.conninfo.conninfo_to_dict(address.url)
    except psycopg.Error:
        step = "postgresql://USER@HOST:PORT/NAME; % : / @ in a password are %25 %3A %2F %40"
        raise UsageRefused("is no address that PostgreSQL reads", place=str(address), step=step) from None
    defaults = {"connect_timeout": CONNECT_TIMEOUT_S, **KEEPALIVE}
    more = {key: value for key, value in defaults.items() if key not in given}
    try:
        connection = psycopg.connect(address.url, autocommit=True, application_name=name, **more)  # type: ignore[arg-type]
    except psycopg.Error as error:
        raise not_connected(error, address, known=known) from None  # its frames hold the password
    release = connection.info.server_version // 10_000
    if release < OLDEST:
        connection.close()
        what = f"runs PostgreSQL {release}, {OLDEST} or newer is needed"
        raise StoreRefused(what, place=str(address), step="name another server with --db")
    try:
        settings = {**_SETTINGS, "default_transaction_read_only": "on"} if readonly else _SETTINGS
        words = "; ".join(f"SET {key} = '{value}'" for key, value in settings.items())
        connection.execute(f"{words}; {_DURABLE}")
    except psycopg.Error as error:
        connection.close()
        raise translated(error, address) or error from None
    return connection


class PostgresDatabase:
    """One schema of one database of a server: the first of the search path."""

    is_steady = False
    view = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"

    def __init__(self, address: ServerAddress) -> None:
        self.address = address
        self._known = False  # it has let us in

    def is_made(self) -> bool:
        """There is something in that place, ours or not."""
        with self._alone() as raw:
            return not postgres_schema.is_blank(raw)

    def arrive(self, *, create: bool) -> ground.Arrival:
        """Look at server and schema; nothing is written."""
        with self._alone() as raw:
            postgres_schema.refuse_unfit(raw, self.address)
            blank = postgres_schema.is_blank(raw)
            if blank and not create:
                raise StoreRefused("there is no database yet", place=str(self.address), step="enginetour run makes one")
            version = 0 if blank else schema.check(postgres_schema.ours(raw, self.address), self.address)
            return ground.Arrival(blank, version, postgres_schema.warnings(raw, self.address))

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

    def make_ready(self, connection: Connection, *, create: bool) -> None:
        """Tables, later columns and the stamp in one transaction: all of it or nothing."""
        raw = _raw(connection)
        if create and postgres_schema.is_blank(raw):
            schema.make(connection)
        else:
            version = schema.check(postgres_schema.found(raw), self.address)
            if version == SCHEMA_VERSION:
                return
            schema.upgrade(connection, version)
        postgres_schema.stamp(raw)

    def settle(self, connection: Connection) -> None:
        """The rights to every table."""
        postgres_schema.refuse_unwritable(_raw(connection), self.address)

    def begin(self, connection: Connection) -> None:
        """Writers of one schema take turns."""
        try:
            connection.exec_driver_sql(
                f"BEGIN; SET LOCAL lock_timeout = {ground.BUSY_SLICE_MS}; "  # signals are heard while others write
                f"SELECT pg_advisory_xact_lock({WRITERS}); SET LOCAL lock_timeout = {TABLE_LOCK_MS}"
            )
        except TourError:
            connection.rollback()
            raise

    def require(self) -> None:
        """A connection that still answers is one to the same database."""

    def translated(self, error: BaseException) -> TourError | None:
        """By its SQLSTATE."""
        return translated(error, self.address)

    @contextmanager
    def unchecked(self, connection: Connection) -> Iterator[None]:  # noqa: ARG002 - needs rights of the server's owner
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

    def count_on(self, connection: Connection) -> None:
        """Its counters know only of the keys they gave themselves."""
        for table in METADATA.sorted_tables:
            if table.autoincrement_column is not None:
                key = table.autoincrement_column.name
                last = f'(SELECT coalesce(max("{key}"), 0) + 1 FROM "{table.name}")'  # noqa: S608 - names of ours
                connection.exec_driver_sql(
                    f"SELECT setval(pg_get_serial_sequence('{table.name}', '{key}'), {last}, false)"
                )

    def quick_check(self, connection: Connection) -> Iterator[str]:
        """What the server knows to be invalid."""
        from enginetour.store.postgres_soundness import invalid

        return invalid(connection)

    def integrity(self, connection: Connection, most: int) -> Iterator[str]:
        """Every row read, then references."""
        from enginetour.store.postgres_soundness import integrity

        return integrity(connection, most)

    def odd_cells(self, connection: Connection) -> Iterator[str]:
        """The server keeps types; what is in them it does not look at."""
        from enginetour.store.postgres_soundness import odd_cells

        return odd_cells(connection)

    def lock(self, slug: str) -> ground.Lock:
        """An advisory lock on a connection of its own."""
        return AdvisoryLock(self.address, slug, connected, turn=WRITERS)

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
            postgres_schema.refuse_unwritable(raw, self.address)

    def _connect(self, *, readonly: bool) -> Any:
        connection = connected(self.address, known=self._known, readonly=readonly)
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
