"""Database schema: check its version, create the tables, upgrade an older schema with Alembic.

Each version has a file in `schema/versions`. The version itself is in the header of a SQLite file, and in a comment on
a PostgreSQL server, so that a look at a database needs no Alembic.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from enginetour.model.errors import SchemaOutdated, StorageFailed, StoreRefused
from enginetour.store.address import Address, ServerAddress
from enginetour.store.tables import METADATA, PARTIAL, SCHEMA_VERSION

_OLDEST_VERSION = 6  # that is upgraded


def refuse_older(version: int, address: Address) -> None:
    """Raise SchemaOutdated for a version below that of this enginetour."""
    if version < SCHEMA_VERSION:
        what = f"has schema {version}, this enginetour reads and writes schema {SCHEMA_VERSION}"
        named = f" --db {shlex.quote(str(address))}" if isinstance(address, Path) else ""
        step = f"enginetour db upgrade{named} makes a backup and upgrades it"
        raise SchemaOutdated(what, address=address, step=step)


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema as read from a database: version, objects as (kind, name, table), and column names by table."""

    version: int
    objects: Iterable[tuple[str, str, str]]
    columns: Mapping[str, list[str]]


def expected(version: int) -> dict[str, list[str]]:
    """Return the columns of every table as that schema version has them."""
    made = {name: [column.name for column in table.columns] for name, table in METADATA.tables.items()}
    if version < SCHEMA_VERSION:
        from enginetour.store.schema.versions import schema_7, schema_8  # here: with them Alembic is loaded

        older = {name: {new: old for old, new in columns.items()} for name, columns in schema_8.RENAMED.items()}
        added = schema_7.ADDED if version < 7 else {}
        made = {
            name: [older.get(name, {}).get(column, column) for column in columns if column not in added.get(name, ())]
            for name, columns in made.items()
        }
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
    if version < _OLDEST_VERSION:
        what = f"has schema {version}, and schema {_OLDEST_VERSION} is the oldest that is upgraded"
        raise StoreRefused(what, place=str(place), step="use the enginetour that wrote it")
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
    """Upgrade the tables from a version, inside the transaction of the connection. The caller writes the version."""
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).with_name("schema")).replace("%", "%%"))
    command.stamp(config, str(version))
    command.upgrade(config, "head")
    connection.exec_driver_sql("DROP TABLE alembic_version")  # the version has a place of its own, see above


def _tell_partial(connection: Connection) -> None:
    """To the dialect in use alone: those told with a table are loaded with it, PostgreSQL in 30 ms of each start."""
    for index in (index for table in METADATA.tables.values() for index in table.indexes if PARTIAL in index.info):
        index.dialect_kwargs[f"{connection.dialect.name}_where"] = text(index.info[PARTIAL])


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


def copy_tables(raw: Any, schema: str) -> None:
    """Copy all tables of ours into a new schema of the server, which the enginetour that wrote them can open.

    Raises:
        StorageFailed: this user may create no schema.
    """
    (own,) = raw.execute("SELECT current_schema()").fetchone()
    (may,) = raw.execute("SELECT has_database_privilege(current_database(), 'CREATE')").fetchone()
    if not may:
        step = "GRANT CREATE ON DATABASE, or make a backup by pg_dump and upgrade with --no-backup"
        raise StorageFailed(f"this user may not create the schema {schema} for a backup", step=step)
    raw.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE; CREATE SCHEMA "{schema}"')
    for name in METADATA.tables:
        raw.execute(f'CREATE TABLE "{schema}"."{name}" (LIKE "{own}"."{name}" INCLUDING ALL)')
        raw.execute(f'INSERT INTO "{schema}"."{name}" SELECT * FROM "{own}"."{name}"')  # noqa: S608
    comment = raw.execute(_COMMENT, (_STAMP,)).fetchone()[0]
    raw.execute(f"COMMENT ON TABLE \"{schema}\".{_STAMP} IS '{comment}'")


def _objects(raw: Any) -> list[tuple[str, str, str]]:
    return [(_KINDS.get(kind, kind), name, owner) for kind, name, owner in raw.execute(_OBJECTS).fetchall()]
