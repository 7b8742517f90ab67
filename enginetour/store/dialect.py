"""What SQLite and PostgreSQL do differently: connection, errors, SQL expressions.

All that differs between the two is asked of the ground; everything above it reads and writes the same tables by the
same statements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Float, String, Table, TextClause, bindparam, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from enginetour.model.errors import StorageFailed, StoreRefused, TourError
from enginetour.store.address import Address

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


# What a store stands on: a file of SQLite or a database of a PostgreSQL server.

BUSY_TIMEOUT_MS = 5000  # other commands write in short transactions (reliability spec 3)
BUSY_SLICE_MS = 200  # a database waits without hearing signals, and SIGTERM has 5 s in all (reliability spec 3)


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found before anything was opened: nothing yet (`unborn`), or our tables of schema `version`.

    Version 0: it is seen only when somebody writes. `warnings` are sentences for the user.
    """

    unborn: bool
    version: int
    warnings: tuple[str, ...]


class Lock(Protocol):
    """One run per tournament: held from `acquire` to `release`, or to the end of the process."""

    def acquire(self) -> None:
        """Take it now or not at all: StoreRefused names who has it, StorageFailed if it cannot be asked for."""

    def release(self) -> None:
        """Let go; nothing happens if it was not held."""

    def is_held(self, connection: Connection) -> bool:
        """It is still ours, and stays so until the transaction of this connection ends."""

    def regain(self) -> None:
        """Take it again after it was lost; refused as `acquire` is."""

    def __enter__(self) -> Lock: ...

    def __exit__(self, *_: object) -> None: ...


class Backend(Protocol):
    """One database before and while it is open."""

    @property
    def address(self) -> Address:
        """What messages name."""

    view: str  # the statement that begins one unchanging view
    is_steady: bool  # a connection to it is not lost by itself

    def is_made(self) -> bool:
        """There is something in that place, ours or not; False for what is yet to be made or filled."""

    def arrive(self, *, create: bool) -> Probe:
        """Look without a write: StoreRefused if it is not ours, StorageFailed if it cannot be used."""

    def engine(self, *, create: bool, readonly: bool) -> Engine:
        """Connections to it."""

    def make_ready(self, connection: Connection, *, create: bool) -> None:
        """In the first transaction: tables where there are none and it may `create` them, later columns, the stamp."""

    def settle(self, connection: Connection) -> None:
        """After that, outside of any transaction: what else must be so before games are kept in it."""

    def begin(self, connection: Connection) -> None:
        """Begin a transaction that nobody else can write beside; StoreBusy after `BUSY_SLICE_MS` of waiting."""

    def require(self) -> None:
        """StorageFailed where what is open is not what lies under that address any more."""

    def translated(self, error: BaseException) -> TourError | None:
        """What the user reads for an error of the driver; None for those that are our own mistakes."""

    def unchecked(self, connection: Connection) -> AbstractContextManager[None]:
        """Bulk writing: references are not looked up meanwhile, where that can be left out."""

    def fill(self, connection: Connection, table: str, columns: Mapping[str, list[Any] | int]) -> None:
        """Insert rows given as columns of equal length; a number stands for a column that has it everywhere."""

    def count_on(self, connection: Connection) -> None:
        """After rows came with keys of their own: new keys are counted on from the last of them."""

    def quick_check(self, connection: Connection) -> Iterator[str]:
        """What the database itself finds wrong with its pages and rows, the first few."""

    def integrity(self, connection: Connection, most: int) -> Iterator[str]:
        """The same gone over in full, `most` findings of a kind, and references to rows that are not there."""

    def odd_cells(self, connection: Connection) -> Iterator[str]:
        """A sentence for each column that has cells no version of ours writes."""

    def lock(self, slug: str) -> Lock:
        """The lock of a tournament."""

    def tag(self) -> str:
        """What tells this database from others under the same address, in containers too."""

    def free_bytes(self) -> float:
        """Room left; infinite where it is not told."""

    def refuse_unwritable(self) -> None:
        """StorageFailed before the first engine starts, when nothing could be written anyway."""


# What may befall a database in use, apart from what it is: somebody else holds it, or it is out of reach.


class StoreBusy(StoreRefused):
    """Another program holds the database, or what is asked of it."""


class StoreUnreachable(StorageFailed):
    """The server does not answer, or hung up: what was under way may be written or not."""


class LockLost(StoreUnreachable):
    """The tournament's lock went with its connection: nothing is written without it."""


# The few words that SQLite and PostgreSQL say differently, and the statements that both read alike.


class larger(FunctionElement[float]):  # noqa: N801 - a function of SQL
    """The larger one of two numbers of a row."""

    type = Float()
    inherit_cache = True
    name = "larger"


class config_variant(FunctionElement[str]):  # noqa: N801 - a function of SQL
    """`play.variant` of a tournament's configuration; null where it does not say."""

    type = String()
    inherit_cache = True
    name = "variant_told"


class config_rating_scale(FunctionElement[str]):  # noqa: N801 - a function of SQL
    """`tournament.rating_scale` of a tournament's configuration; null where it does not state it."""

    type = String()
    inherit_cache = True
    name = "scale_told"


@compiles(larger)
def _larger(element: Any, compiler: Any, **kw: Any) -> str:
    return f"max({compiler.process(element.clauses, **kw)})"


@compiles(larger, "postgresql")
def _greatest(element: Any, compiler: Any, **kw: Any) -> str:
    return f"greatest({compiler.process(element.clauses, **kw)})"


@compiles(config_variant)
def _json_extract(element: Any, compiler: Any, **kw: Any) -> str:
    return f"json_extract({compiler.process(element.clauses, **kw)}, '$.play.variant')"


@compiles(config_variant, "postgresql")
def _json_path(element: Any, compiler: Any, **kw: Any) -> str:
    return f"(CAST({compiler.process(element.clauses, **kw)} AS json) #>> '{{play,variant}}')"


@compiles(config_rating_scale)
def _scale_extract(element: Any, compiler: Any, **kw: Any) -> str:
    return f"json_extract({compiler.process(element.clauses, **kw)}, '$.tournament.rating_scale')"


@compiles(config_rating_scale, "postgresql")
def _scale_path(element: Any, compiler: Any, **kw: Any) -> str:
    return f"(CAST({compiler.process(element.clauses, **kw)} AS json) #>> '{{tournament,rating_scale}}')"


def upsert(table: Table, keys: Sequence[str], changed: Collection[str], *, adds: bool = False) -> TextClause:
    """Insert a row of all columns, or change those named where its key is there: replaced, or with `adds` added up."""
    columns = [column.name for column in table.columns]
    quoted = {name: f'"{name}"' for name in columns}
    old = f'"{table.name}".'
    new = ", ".join(
        f"{quoted[name]} = {f'{old}{quoted[name]} + ' if adds else ''}excluded.{quoted[name]}" for name in changed
    )
    words = (
        f'INSERT INTO "{table.name}" ({", ".join(quoted.values())}) '  # noqa: S608 - names of ours
        f"VALUES ({', '.join(f':{name}' for name in columns)}) "
        f"ON CONFLICT ({', '.join(quoted[name] for name in keys)}) DO UPDATE SET {new}"
    )
    return text(words).bindparams(*(bindparam(column.name, type_=column.type) for column in table.columns))


# What reading rows that somebody has changed can raise, beside what is told already.
UNREADABLE = (
    *(TourError, SQLAlchemyError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(RecursionError, MemoryError),
)
LARGEST_REAL = 1e12  # moments are seconds of UTC, and 1e12 of them are the year 33658; all others are far smaller
LARGEST_WHOLE = 1 << 53  # what JSON and every float hold exactly (RFC 8259, 6); counts and keys are far smaller
UNBOUNDED_COLUMNS = frozenset({"seed"})  # people choose it, up to what a column holds
CHARACTERS_SHOWN = 40  # signs of a cell that are told
JSON_COLUMNS = {
    "engines": ("options", "command"),
    "tournaments": ("config",),
    "entrants": ("spec",),
    "events": ("payload",),
    "games": ("opening", "white_side", "black_side", "relay"),
    "incidents": ("traffic", "stderr"),
    "notes": ("fields",),
    "rating_revisions": ("settings",),
    "imports": ("files",),
    "lists": ("definition",),
    "editions": ("story",),
    "edition_lines": ("remarks",),
}
MAY_BE_EMPTY = frozenset({"payload", "relay"})  # JSON that is left out where there is nothing to say
