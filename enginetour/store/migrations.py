"""Database schema: check its version, create the tables, upgrade an older schema with Alembic.

Each version has a file in `schema/versions`. The version of a database is in the header of a SQLite file, or in a
comment on a PostgreSQL server, so that Alembic is only needed for an upgrade.
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

_OLDEST_VERSION = 6  # oldest version that can be upgraded


def require_current(version: int, address: Address) -> None:
    """Raise SchemaOutdated if the schema is older than the schema of this enginetour version."""
    if version < SCHEMA_VERSION:
        what = f"has schema {version}, but this enginetour version needs schema {SCHEMA_VERSION}"
        named = f" --db {shlex.quote(str(address))}" if isinstance(address, Path) else ""
        step = f"back up and upgrade it with enginetour db upgrade{named}"
        raise SchemaOutdated(what, address=address, step=step)


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema as read from a database: version, objects as (kind, name, table), and column names by table."""

    version: int
    objects: Iterable[tuple[str, str, str]]
    columns: Mapping[str, list[str]]


def expected(version: int) -> dict[str, list[str]]:
    """Return the columns of every table in this version of the schema."""
    made = {name: [column.name for column in table.columns] for name, table in METADATA.tables.items()}
    if version < SCHEMA_VERSION:
        from enginetour.store.schema.versions import schema_7, schema_8, schema_9  # imported here: they load Alembic

        made = {name: columns for name, columns in made.items() if name not in schema_9.ADDED}
        if version == 8:
            return made
        older = {name: {new: old for old, new in columns.items()} for name, columns in schema_8.RENAMED.items()}
        added = schema_7.ADDED if version < 7 else {}
        made = {
            name: [older.get(name, {}).get(column, column) for column in columns if column not in added.get(name, ())]
            for name, columns in made.items()
        }
    return made


def check_schema(found: Schema, place: object) -> int:
    """Return the version of a schema.

    Raise StoreRefused for a newer version and for any schema that differs from enginetour's schema. Triggers and views
    are rejected too, because they could run code.
    """
    version = found.version
    if version > SCHEMA_VERSION:
        step = "update enginetour, or choose another database with --db"
        raise StoreRefused(f"was written by a newer enginetour version (schema {version})", place=str(place), step=step)
    if version < 1:
        step = "choose another database with --db"
        raise StoreRefused(f"does not have a valid schema version ({version})", place=str(place), step=step)
    if version < _OLDEST_VERSION:
        what = f"has schema {version}, but only schema {_OLDEST_VERSION} or newer can be upgraded"
        raise StoreRefused(what, place=str(place), step="use the enginetour version that wrote it")
    tables = expected(version)
    for kind, name, owner in found.objects:
        if kind not in ("table", "index") or owner not in tables:
            what = f"contains the {kind} {name!r}, which is not part of an enginetour database"
            raise StoreRefused(what, place=str(place), step="choose another database with --db")
    for name, columns in tables.items():
        if columns != found.columns.get(name):
            what = f"the table {name!r} is missing or has unexpected columns"
            raise StoreRefused(what, place=str(place), step="restore a backup, or choose another database with --db")
    return version


def create_tables(connection: Connection) -> None:
    """Create all tables in an empty database. The caller writes the version."""
    _set_partial_conditions(connection)
    METADATA.create_all(connection, checkfirst=False)


def upgrade(connection: Connection, version: int) -> None:
    """Upgrade the tables from a version in the transaction of the connection. The caller writes the version."""
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).with_name("schema")).replace("%", "%%"))
    command.stamp(config, str(version))
    command.upgrade(config, "head")
    connection.exec_driver_sql("DROP TABLE alembic_version")  # the version is stored elsewhere, as described at the top


def _set_partial_conditions(connection: Connection) -> None:
    """Set the conditions of partial indexes for the dialect in use, because loading the other dialect takes 30 ms."""
    for index in (index for table in METADATA.tables.values() for index in table.indexes if PARTIAL in index.info):
        index.dialect_kwargs[f"{connection.dialect.name}_where"] = text(index.info[PARTIAL])


# PostgreSQL: the schema version is in the comment on the table of tournaments.

_VERSION_TABLE = "tournaments"  # the table with the comment
_COMMENT_TEXT = "enginetour, schema {}"
_VERSION = re.compile(r"enginetour, schema (\d{1,9})")
_ENCODING = "UTF8"
_KINDS = {"r": "table", "p": "table", "v": "view", "m": "materialized view", "f": "foreign table"}
# All objects of the schema that can be read or run, except those of extensions.
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


def require_suitable(raw: Any, address: ServerAddress) -> None:
    """Raise StoreRefused for a database without a schema for the tables, and for an encoding other than UTF-8."""
    encoding, schema = raw.execute("SELECT current_setting('server_encoding'), current_schema()").fetchone()
    if schema is None:
        step = "create the schema in search_path, or choose one with ?options=-csearch_path%3DNAME"
        raise StoreRefused("does not have a schema that this user can read", place=str(address), step=step)
    if encoding != _ENCODING:
        step = "create a database with createdb -E UTF8 -T template0"
        raise StoreRefused(f"the encoding must be UTF8 (found {encoding})", place=str(address), step=step)


def is_blank(raw: Any) -> bool:
    """Return whether the schema of the server is empty."""
    return not _objects(raw)


def read_server_schema(raw: Any) -> Schema:
    """Return the version, the objects and the columns of the server's schema."""
    comment = raw.execute(_COMMENT, (_VERSION_TABLE,)).fetchone()
    version = _VERSION.fullmatch(comment[0] or "") if comment is not None else None
    columns = dict(raw.execute(_COLUMN_TYPES).fetchall())
    return Schema(int(version[1]) if version else 0, _objects(raw), columns)


def read_own_schema(raw: Any, address: ServerAddress) -> Schema:
    """Return the server's schema. Raise StoreRefused if it contains tables of another program."""
    schema = read_server_schema(raw)
    for kind, name, _ in schema.objects if schema.version == 0 else ():
        what = f"is not an enginetour database: it contains the {kind} {name!r}"
        step = "choose an empty database, or another schema with ?options=-csearch_path%3DNAME"
        raise StoreRefused(what, place=str(address), step=step)
    return schema


def write_version(raw: Any) -> None:
    """Write the schema version into the comment."""
    raw.execute(f"COMMENT ON TABLE {_VERSION_TABLE} IS '{_COMMENT_TEXT.format(SCHEMA_VERSION)}'")


def server_warnings(raw: Any, address: ServerAddress) -> tuple[str, ...]:
    """Return warnings about settings of the server that can lose games in a power failure."""
    lax = [name for name in ("fsync", "full_page_writes") if raw.execute(f"SHOW {name}").fetchone()[0] == "off"]
    return tuple(f"{address} runs with {name} = off: a power failure can lose games" for name in lax)


def require_writable(raw: Any, address: ServerAddress) -> None:
    """Raise StorageFailed for a standby server and for missing privileges of this user."""
    require_suitable(raw, address)
    place = str(address)
    standby, may_create, schema = raw.execute(
        "SELECT pg_is_in_recovery(), has_schema_privilege(current_schema(), 'CREATE'), current_schema()"
    ).fetchone()
    if standby:
        raise StorageFailed("is a read-only standby server", place=place, step="use the primary server with --db")
    if is_blank(raw):
        if not may_create:
            step = f"ask its owner for GRANT CREATE ON SCHEMA {schema}"
            raise StorageFailed("this user cannot create tables: permission denied", place=place, step=step)
        return
    row = raw.execute(_RIGHTS, (list(METADATA.tables),)).fetchone()
    if row is not None:
        what = f"this user cannot read and write the table {row[0]!r}: permission denied"
        raise StorageFailed(what, place=place, step="ask its owner for a GRANT, or use another user with --db")


def copy_tables(raw: Any, schema: str) -> None:
    """Copy all tables into a new schema of the server. The enginetour version that wrote the tables can open the copy.

    Raises:
        StorageFailed: This user may not create a schema.
    """
    (own,) = raw.execute("SELECT current_schema()").fetchone()
    (may,) = raw.execute("SELECT has_database_privilege(current_database(), 'CREATE')").fetchone()
    if not may:
        what = f"this user cannot create the schema {schema} for a backup: permission denied"
        step = "ask for GRANT CREATE ON DATABASE, or make a backup with pg_dump and upgrade with --no-backup"
        raise StorageFailed(what, step=step)
    raw.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE; CREATE SCHEMA "{schema}"')
    for name in METADATA.tables.keys() & read_server_schema(raw).columns.keys():  # older schemas have fewer tables
        raw.execute(f'CREATE TABLE "{schema}"."{name}" (LIKE "{own}"."{name}" INCLUDING ALL)')
        raw.execute(f'INSERT INTO "{schema}"."{name}" SELECT * FROM "{own}"."{name}"')  # noqa: S608
    comment = raw.execute(_COMMENT, (_VERSION_TABLE,)).fetchone()[0]
    raw.execute(f"COMMENT ON TABLE \"{schema}\".{_VERSION_TABLE} IS '{comment}'")


def _objects(raw: Any) -> list[tuple[str, str, str]]:
    return [(_KINDS.get(kind, kind), name, owner) for kind, name, owner in raw.execute(_OBJECTS).fetchall()]
