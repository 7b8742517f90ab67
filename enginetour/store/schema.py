"""Whether a file holds exactly our tables, and how an older one comes to hold them: by additions only."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sqlalchemy import Connection

from enginetour.errors import StoreRefused
from enginetour.store.tables import APPLICATION_ID, METADATA, SCHEMA_VERSION

# version -> what came with it: whole tables, and columns at the end of older ones with the words that add them
_TABLES = {2: ("lists", "editions", "edition_lines", "imports", "imported_games")}
_COLUMNS: dict[int, dict[str, tuple[tuple[str, str], ...]]] = {
    2: {
        "games": (("hardware", "VARCHAR DEFAULT '' NOT NULL"), ("handicap", "INTEGER DEFAULT '0' NOT NULL")),
        "rating_events": (("imported", "INTEGER REFERENCES imported_games (id)"),),
    },
    3: {"games": (("load", "FLOAT"), ("cores", "INTEGER"), ("steal", "FLOAT"), ("own_us", "INTEGER"))},
    4: {
        "imports": (("odds", "INTEGER DEFAULT '0' NOT NULL"),),
        "imported_games": (("black_tc", "VARCHAR DEFAULT '' NOT NULL"), ("handicap", "INTEGER DEFAULT '0'")),
    },
    5: {
        "incidents": (
            ("status", "VARCHAR DEFAULT '' NOT NULL"),
            ("load", "FLOAT"),
            ("asked_us", "INTEGER"),
            ("memory_kb", "INTEGER"),
            ("own_us", "INTEGER"),
        )
    },
}


def expected(version: int) -> dict[str, list[str]]:
    """The columns of every table as that version of ours made them."""
    made = {name: [column.name for column in table.columns] for name, table in METADATA.tables.items()}
    for later in range(version + 1, SCHEMA_VERSION + 1):
        made = {name: columns for name, columns in made.items() if name not in _TABLES.get(later, ())}
        for name, columns in _COLUMNS.get(later, {}).items():
            if name in made:  # a table that came between the two versions comes whole
                made[name] = made[name][: -len(columns)]
    return made


def check(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the file; StoreRefused for a newer one and for any schema that is not exactly ours.

    Triggers and views would be code, so they are refused too.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        step = "update enginetour, or name another file with --db"
        raise StoreRefused(f"was written by a newer enginetour (schema {version})", place=str(path), step=step)
    if version < 1:
        raise StoreRefused(f"has no schema of ours ({version})", place=str(path), step="name another file with --db")
    tables = expected(version)
    listed = connection.execute("SELECT type, name, tbl_name FROM sqlite_master").fetchall()
    for kind, name, owner in listed:
        if kind not in ("table", "index") or owner not in tables:
            if name.startswith("sqlite_stat"):  # ANALYZE leaves these
                continue
            step = "name another file with --db"
            raise StoreRefused(f"holds the {kind} {name!r}, which is not ours", place=str(path), step=step)
    for name, columns in tables.items():
        if columns != [row[1] for row in connection.execute(f'PRAGMA table_xinfo("{name}")')]:
            step = "put a backup in its place, or name another file with --db"
            raise StoreRefused(f"has no table {name!r} as we make it", place=str(path), step=step)
    return version


def make(connection: Connection) -> None:
    """All tables, in a file that has none."""
    METADATA.create_all(connection)
    connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
    connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA_VERSION}")


def upgrade(connection: Connection) -> None:
    """Add what later versions brought; rows that are there stay as they are. Nothing to do for the newest."""
    version = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
    for later in range(version + 1, SCHEMA_VERSION + 1):
        METADATA.create_all(connection, [METADATA.tables[name] for name in _TABLES.get(later, ())])
        for table, columns in _COLUMNS.get(later, {}).items():
            if any(table in _TABLES.get(between, ()) for between in range(version + 1, later + 1)):
                continue
            for column, words in columns:
                connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {column} {words}")
            for index in METADATA.tables[table].indexes:
                index.create(connection, checkfirst=True)
    if version < SCHEMA_VERSION:
        connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA_VERSION}")
