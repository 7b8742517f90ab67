"""Whether a database holds exactly our tables, and how an older one comes to hold them: by additions only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, text
from sqlalchemy.schema import CreateColumn

from enginetour.model.errors import StoreRefused
from enginetour.store.tables import METADATA, PARTIAL, SCHEMA_VERSION

# version -> what came with it: whole tables, and columns at the end of older ones
_TABLES = {2: ("lists", "editions", "edition_lines", "imports", "imported_games")}
_COLUMNS: dict[int, dict[str, tuple[str, ...]]] = {
    2: {"games": ("hardware", "handicap"), "rating_events": ("imported",)},
    3: {"games": ("load", "cores", "steal", "own_us")},
    4: {"imports": ("odds",), "imported_games": ("black_tc", "handicap")},
    5: {"incidents": ("status", "load", "asked_us", "memory_kb", "own_us")},
    6: {"imported_games": ("opening",)},
    7: {"imported_games": ("termination",)},
}


@dataclass(frozen=True, slots=True)
class Found:
    """A schema as a database tells it: its version, what it holds as (kind, name, table), and columns by table."""

    version: int
    objects: Iterable[tuple[str, str, str]]
    columns: Mapping[str, list[str]]


def expected(version: int) -> dict[str, list[str]]:
    """The columns of every table as that version of ours made them."""
    made = {name: [column.name for column in table.columns] for name, table in METADATA.tables.items()}
    for later in range(version + 1, SCHEMA_VERSION + 1):
        made = {name: columns for name, columns in made.items() if name not in _TABLES.get(later, ())}
        for name, columns in _COLUMNS.get(later, {}).items():
            if name in made:  # a table that came between the two versions comes whole
                made[name] = made[name][: -len(columns)]
    return made


def check(found: Found, place: object) -> int:
    """The version; StoreRefused for a newer one and for any schema that is not exactly ours.

    Triggers and views would be code, so they are refused too.
    """
    version = found.version
    if version > SCHEMA_VERSION:
        step = "update enginetour, or name another database with --db"
        raise StoreRefused(f"was written by a newer enginetour (schema {version})", place=str(place), step=step)
    if version < 1:
        step = "name another database with --db"
        raise StoreRefused(f"has no schema of ours ({version})", place=str(place), step=step)
    tables = expected(version)
    for kind, name, owner in found.objects:
        if kind not in ("table", "index") or owner not in tables:
            step = "name another database with --db"
            raise StoreRefused(f"holds the {kind} {name!r}, which is not ours", place=str(place), step=step)
    for name, columns in tables.items():
        if columns != found.columns.get(name):
            step = "put a backup in its place, or name another database with --db"
            raise StoreRefused(f"has no table {name!r} as we make it", place=str(place), step=step)
    return version


def make(connection: Connection) -> None:
    """All tables, in a database that has none; the caller stamps it with the version."""
    _tell_partial(connection)
    METADATA.create_all(connection)


def upgrade(connection: Connection, version: int) -> None:
    """Add what came after `version`; rows that are there stay as they are. The caller stamps the new one."""
    _tell_partial(connection)
    for later in range(version + 1, SCHEMA_VERSION + 1):
        METADATA.create_all(connection, [METADATA.tables[name] for name in _TABLES.get(later, ())])
        for table, columns in _COLUMNS.get(later, {}).items():
            if any(table in _TABLES.get(between, ()) for between in range(version + 1, later + 1)):
                continue
            for name in columns:
                _add_column(connection, table, name)
            for index in METADATA.tables[table].indexes:
                index.create(connection, checkfirst=True)


def _tell_partial(connection: Connection) -> None:
    """To the dialect in use alone: those told with a table are loaded with it, PostgreSQL in 30 ms of each start."""
    for index in (index for table in METADATA.tables.values() for index in table.indexes if PARTIAL in index.info):
        index.dialect_kwargs[f"{connection.dialect.name}_where"] = text(index.info[PARTIAL])


def _add_column(connection: Connection, table: str, name: str) -> None:
    column = METADATA.tables[table].c[name]
    words = str(CreateColumn(column).compile(dialect=connection.dialect))
    for reference in column.foreign_keys:
        words += f" REFERENCES {reference.column.table.name} ({reference.column.name})"
    connection.exec_driver_sql(f'ALTER TABLE "{table}" ADD COLUMN {words}')
