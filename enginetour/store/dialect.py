"""Interface of the database backends: everything in which SQLite and PostgreSQL differ.

All other modules read and write the same tables with the same statements.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, Self

from sqlalchemy import String, Table, TextClause, bindparam, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from enginetour.model.errors import StorageFailed, StoreRefused, TourError
from enginetour.store.address import Address
from enginetour.store.codecs import Values

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


BUSY_TIMEOUT_MS = 5000  # longer than any write transaction of another command (reliability spec 3)
BUSY_SLICE_MS = 200  # a waiting driver does not handle signals, and SIGTERM must end a run in 5 s (reliability spec 3)


@dataclass(frozen=True, slots=True)
class Probe:
    """The state of a database before it is opened: it is empty or contains enginetour's tables of schema `version`.

    The version is 0 if the creation of the database was interrupted. It is then known after the next write. `warnings`
    contains sentences for the user.
    """

    is_empty: bool
    version: int
    warnings: tuple[str, ...]


class Lock(ABC):
    """The lock of a tournament. One run holds it from `acquire` to `release`, or until its process ends."""

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @abstractmethod
    def acquire(self) -> None:
        """Take the lock without waiting.

        Raises:
            AlreadyRunning: Another run holds the lock.
            StorageFailed: The lock cannot be requested.
        """

    @abstractmethod
    def release(self) -> None:
        """Release the lock. Do nothing if it is not held."""

    @abstractmethod
    def is_held(self, connection: Connection) -> bool:
        """Return whether the lock is still held. If so, it is held until the transaction of the connection ends."""

    @abstractmethod
    def regain(self) -> None:
        """Take the lock again after it was lost. This raises the same errors as `acquire`."""


class Backend(Protocol):
    """One database in a SQLite file or on a PostgreSQL server, both before and after it is opened."""

    address: Address  # the file or server, as messages show it
    view: str  # the statement that begins a read-only snapshot
    keeps_connection: bool  # whether one connection is kept for writing, because connections cannot break

    def exists(self) -> bool:
        """Return whether the file exists and is not empty, or the schema of the server has tables of any program."""

    def probe(self, *, create: bool) -> Probe:
        """Inspect the database without writing.

        Raises:
            StoreRefused: The database belongs to another program, or it does not exist and `create` is False.
            StorageFailed: The database cannot be used.
        """

    def engine(self, *, create: bool, readonly: bool) -> Engine:
        """Make the SQLAlchemy engine with its connection pool."""

    def initialize(self, connection: Connection, *, create: bool) -> None:
        """Create the tables and write the schema version in the first transaction."""

    def upgrade(self, connection: Connection) -> None:
        """Upgrade the tables of an older schema and write the schema version."""

    def verify(self, connection: Connection) -> None:
        """Check all other conditions for writing games, outside of a transaction."""

    def begin(self, connection: Connection) -> None:
        """Begin an exclusive write transaction. Raise StoreBusy after a wait of `BUSY_SLICE_MS`."""

    def require_in_place(self) -> None:
        """Raise StorageFailed if the open database was removed from its address, or replaced there.

        An open connection to a server cannot change to another database.
        """
        return

    def translated(self, error: BaseException) -> TourError | None:
        """Return the error for the user that describes an error of the driver, or None for internal errors."""

    def without_reference_checks(self, connection: Connection) -> AbstractContextManager[None]:
        """Switch off foreign key checks during a bulk write, if the database supports it."""
        del connection
        return nullcontext()

    def fill(self, connection: Connection, table: str, columns: Mapping[str, Values | int]) -> None:
        """Insert rows into a table. `columns` contains values of equal length; a number is the value of all rows.

        Names of tables and columns must not be user input.
        """

    def reset_counters(self, connection: Connection) -> None:
        """Set the key counters after rows with explicit keys were inserted, if the database needs it."""
        del connection

    def integrity(self, connection: Connection, most: int) -> Iterator[str]:
        """Yield at most `most` faults of each kind that a full check finds, and broken foreign keys."""

    def invalid_cells(self, connection: Connection) -> Iterator[str]:
        """Yield a sentence for each column with cells that no version of enginetour writes."""

    def lock(self, name: str) -> Lock:
        """Return the lock of the tournament with this name, for all its editions."""

    def tag(self) -> str:
        """Return a text that identifies the database, even if another database has the same address in a container."""

    def free_bytes(self) -> float:
        """Return the free disk space in bytes, or infinity if it is unknown, as on a server."""
        return inf

    def require_writable(self) -> None:
        """Raise StorageFailed if the database cannot be written. It is called before engines start."""


class StoreBusy(StoreRefused):
    """Another program has locked the database."""


class StoreUnreachable(StorageFailed):
    """The server does not respond. An open transaction may or may not have been committed."""


class LockLost(StoreUnreachable):
    """The tournament's lock was lost with its connection. Nothing may be written without it."""


# SQL expressions that differ between SQLite and PostgreSQL, and upserts, which do not differ.


class _ConfigValue(FunctionElement[str]):
    """A setting in the configuration of a tournament; null if it is not set."""

    type = String()
    path: tuple[str, str]


class config_variant(_ConfigValue):  # noqa: N801 - named like an SQL function
    """`play.variant` in the configuration of a tournament, as an SQL expression."""

    inherit_cache = True
    name = "config_variant"
    path = "play", "variant"


class config_rating_scale(_ConfigValue):  # noqa: N801 - named like an SQL function
    """`tournament.rating_scale` in the configuration of a tournament, as an SQL expression."""

    inherit_cache = True
    name = "config_rating_scale"
    path = "tournament", "rating_scale"


@compiles(_ConfigValue)
def _json_extract(element: Any, compiler: Any, **kw: Any) -> str:
    return f"json_extract({compiler.process(element.clauses, **kw)}, '$.{'.'.join(element.path)}')"


@compiles(_ConfigValue, "postgresql")
def _json_path(element: Any, compiler: Any, **kw: Any) -> str:
    return f"(CAST({compiler.process(element.clauses, **kw)} AS json) #>> '{{{','.join(element.path)}}}')"


def upsert(table: Table, keys: Sequence[str], changed: Collection[str], *, adds: bool = False) -> TextClause:
    """Build an upsert of a whole row. For a known key, the `changed` columns are replaced (with `adds`: increased)."""
    columns = [column.name for column in table.columns]
    quoted = {name: f'"{name}"' for name in columns}
    old = f'"{table.name}".'
    new = ", ".join(
        f"{quoted[name]} = {f'{old}{quoted[name]} + ' if adds else ''}excluded.{quoted[name]}" for name in changed
    )
    statement = (
        f'INSERT INTO "{table.name}" ({", ".join(quoted.values())}) '  # noqa: S608 - no user input
        f"VALUES ({', '.join(f':{name}' for name in columns)}) "
        f"ON CONFLICT ({', '.join(quoted[name] for name in keys)}) DO UPDATE SET {new}"
    )
    return text(statement).bindparams(*(bindparam(column.name, type_=column.type) for column in table.columns))


# All exceptions that can occur when rows of a damaged database are read.
UNREADABLE = (
    *(TourError, SQLAlchemyError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(RecursionError, MemoryError),
)
LARGEST_REAL = 253_402_300_799.0  # seconds; the largest values are times, and dates end with the year 9999
_LARGEST_DATE = 9999_12_31  # the largest value of columns that contain a date as a number
_LARGEST_WHOLE = 1 << 53  # JSON and doubles are exact up to this value (RFC 8259, 6); counts and keys are smaller
_UNBOUNDED_COLUMNS = frozenset({"seed"})  # the user chooses the value, up to the limit of the column type
CHARACTERS_SHOWN = 40  # characters of a cell that messages show


def largest_whole(column: str) -> int | None:
    """Return the largest number, positive or negative, that enginetour writes to an integer column."""
    if column in _UNBOUNDED_COLUMNS:
        return None
    return _LARGEST_DATE if column.endswith("_yyyymmdd") else _LARGEST_WHOLE
