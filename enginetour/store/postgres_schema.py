"""What a schema of a PostgreSQL server holds. Its version is told by the comment on our table of tournaments."""

from __future__ import annotations

import re
from typing import Any

from enginetour.model.errors import StorageFailed, StoreRefused
from enginetour.store.schema import Found
from enginetour.store.serveraddress import ServerAddress
from enginetour.store.tables import METADATA, SCHEMA_VERSION

STAMP = "tournaments"  # the table that bears the comment
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
_COLUMNS = """
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
    """StoreRefused for a database that cannot hold our tables, whatever is in it."""
    encoding, folder = raw.execute("SELECT current_setting('server_encoding'), current_schema()").fetchone()
    if folder is None:
        step = "create the schema its search_path names, or name one: ?options=-csearch_path%3DNAME"
        raise StoreRefused("has no schema that this user may look into", place=str(address), step=step)
    if encoding != _ENCODING:
        step = "createdb -E UTF8 -T template0 makes one that does"
        raise StoreRefused(f"holds {encoding} text, names need UTF8", place=str(address), step=step)


def is_blank(raw: Any) -> bool:
    """The schema holds nothing at all."""
    return not _objects(raw)


def found(raw: Any) -> Found:
    """The schema as the server tells it."""
    comment = raw.execute(_COMMENT, (STAMP,)).fetchone()
    version = _VERSION.fullmatch(comment[0] or "") if comment is not None else None
    columns = dict(raw.execute(_COLUMNS).fetchall())
    return Found(int(version[1]) if version else 0, _objects(raw), columns)


def ours(raw: Any, address: ServerAddress) -> Found:
    """As `found`; StoreRefused for the tables of another program, with the way to live beside them."""
    told = found(raw)
    for kind, name, _ in told.objects if told.version == 0 else ():
        step = "name an empty database, or a schema of its own: ?options=-csearch_path%3DNAME"
        raise StoreRefused(f"has no schema of ours, and holds the {kind} {name!r}", place=str(address), step=step)
    return told


def stamp(raw: Any) -> None:
    """Say which version of ours these tables are."""
    raw.execute(f"COMMENT ON TABLE {STAMP} IS '{_WORDS.format(SCHEMA_VERSION)}'")


def warnings(raw: Any, address: ServerAddress) -> tuple[str, ...]:
    """What the server does not promise."""
    lax = [name for name in ("fsync", "full_page_writes") if raw.execute(f"SHOW {name}").fetchone()[0] == "off"]
    return tuple(f"{address} runs with {name} = off: a power cut may lose games there" for name in lax)


def refuse_unwritable(raw: Any, address: ServerAddress) -> None:
    """StorageFailed for a server that only answers, and for rights that this user does not have."""
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
