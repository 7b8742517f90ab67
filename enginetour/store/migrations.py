"""Database schema: check its version, create the tables, upgrade an older schema by adding tables and columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.schema import CreateColumn

from enginetour.model.errors import StorageFailed, StoreRefused
from enginetour.store.address import ServerAddress
from enginetour.store.tables import METADATA, PARTIAL, SCHEMA_VERSION

# schema version -> tables that it added, and columns that it appended to older tables
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
class Schema:
    """A schema as read from a database: version, objects as (kind, name, table), and column names by table."""

    version: int
    objects: Iterable[tuple[str, str, str]]
    columns: Mapping[str, list[str]]


def expected(version: int) -> dict[str, list[str]]:
    """Return the columns of every table as that schema version created them."""
    made = {name: [column.name for column in table.columns] for name, table in METADATA.tables.items()}
    for later in range(version + 1, SCHEMA_VERSION + 1):
        made = {name: columns for name, columns in made.items() if name not in _TABLES.get(later, ())}
        for name, columns in _COLUMNS.get(later, {}).items():
            if name in made:  # a table that came between the two versions comes whole
                made[name] = made[name][: -len(columns)]
    return made


def check_schema(found: Schema, place: object) -> int:
    """Return the version; StoreRefused for a newer one and for any schema that differs from enginetour's.

    Triggers and views are rejected too, because they could run code.
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


def create_tables(connection: Connection) -> None:
    """Create all tables in an empty database; the caller writes the version."""
    _tell_partial(connection)
    METADATA.create_all(connection, checkfirst=False)


def upgrade(connection: Connection, version: int) -> None:
    """Add tables and columns of later versions; rows do not change. The caller writes the version."""
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


# PostgreSQL: the schema version is the comment on the table of tournaments.

_STAMP = "tournaments"  # the table that bears the comment
_WORDS = "enginetour, schema {}"
_VERSION = re.compile(r"enginetour, schema (\d{1,9})")
_ENCODING = "UTF8"
_KINDS = {"r": "table", "p": "table", "v": "view", "m": "materialized view", "f": "foreign table"}
# Everything people can see or run in the schema; what belongs to an extension is none of our business.
_OBJECTS = """
SELECT c.relkind::text, c.relname, c.relname FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND NOT EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
UNION ALL
SELECT 'trigger', t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal
UNION ALL
SELECT 'rule', r.rulename, c.relname FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 2
"""
_COLUMN_TYPES = """
SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0
  AND NOT a.attisdropped GROUP BY c.relname
"""
_COMMENT = """
SELECT obj_description(c.oid, 'pg_class') FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = %s
"""
_RIGHTS = """
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY(%s)
  AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
           AND has_table_privilege(c.oid, 'UPDATE')) ORDER BY 1 LIMIT 1
"""


def refuse_unfit(raw: Any, address: ServerAddress) -> None:
    """Raise StoreRefused for a database that cannot hold the tables: no schema, or not UTF-8."""
    encoding, folder = raw.execute("SELECT current_setting('server_encoding'), current_schema()").fetchone()
    if folder is None:
        step = "create the schema its search_path names, or name one: ?options=-csearch_path%3DNAME"
        raise StoreRefused("has no schema that this user may look into", place=str(address), step=step)
    if encoding != _ENCODING:
        step = "createdb -E UTF8 -T template0 makes one that does"
        raise StoreRefused(f"holds {encoding} text, names need UTF8", place=str(address), step=step)


def is_blank(raw: Any) -> bool:
    """Whether the schema is empty."""
    return not _objects(raw)


def read_server_schema(raw: Any) -> Schema:
    """Read version, objects and columns of the server's schema."""
    comment = raw.execute(_COMMENT, (_STAMP,)).fetchone()
    version = _VERSION.fullmatch(comment[0] or "") if comment is not None else None
    columns = dict(raw.execute(_COLUMN_TYPES).fetchall())
    return Schema(int(version[1]) if version else 0, _objects(raw), columns)


def read_own_schema(raw: Any, address: ServerAddress) -> Schema:
    """Read the schema; StoreRefused for tables of another program."""
    told = read_server_schema(raw)
    for kind, name, _ in told.objects if told.version == 0 else ():
        step = "name an empty database, or a schema of its own: ?options=-csearch_path%3DNAME"
        raise StoreRefused(f"has no schema of ours, and holds the {kind} {name!r}", place=str(address), step=step)
    return told


def write_version(raw: Any) -> None:
    """Write the schema version into the comment."""
    raw.execute(f"COMMENT ON TABLE {_STAMP} IS '{_WORDS.format(SCHEMA_VERSION)}'")


def server_warnings(raw: Any, address: ServerAddress) -> tuple[str, ...]:
    """Return warnings about settings that can lose games in a power cut."""
    lax = [name for name in ("fsync", "full_page_writes") if raw.execute(f"SHOW {name}").fetchone()[0] == "off"]
    return tuple(f"{address} runs with {name} = off: a power cut may lose games there" for name in lax)


def refuse_unwritable(raw: Any, address: ServerAddress) -> None:
    """Raise StorageFailed for a standby server and for missing rights of this user."""
    refuse_unfit(raw, address)
    place = str(address)
    standby, may_create, folder = raw.execute(
        "SELECT pg_is_in_recovery(), has_schema_privilege(current_schema(), 'CREATE'), current_schema()"
    ).fetchone()
    if standby:
        raise StorageFailed("can only be read, it is a standby", place=place, step="name the primary server with --db")
    if is_blank(raw):
        if not may_create:
            what = "this user may make no tables in it"
            raise StorageFailed(what, place=place, step=f"its owner can GRANT CREATE ON SCHEMA {folder}")
        return
    row = raw.execute(_RIGHTS, (list(METADATA.tables),)).fetchone()
    if row is not None:
        what = f"this user may not read and write its table {row[0]!r}"
        raise StorageFailed(what, place=place, step="its owner can GRANT, or name another user with --db")


def _objects(raw: Any) -> list[tuple[str, str, str]]:
    return [(_KINDS.get(kind, kind), name, owner) for kind, name, owner in raw.execute(_OBJECTS).fetchall()]
