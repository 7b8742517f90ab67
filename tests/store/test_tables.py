"""Tests of the table definitions."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlmodel import SQLModel

from enginetour.store import migrations
from enginetour.store.database import Database
from enginetour.store.schema.versions.schema_8 import RENAMED
from enginetour.store.schema.versions.schema_9 import ADDED as NEW_TABLES
from enginetour.store.tables import METADATA, SCHEMA_VERSION
from tests.support.databases import OLDER, older

SINCE = "\ttermination VARCHAR DEFAULT '' NOT NULL, \n"  # the column that schema 7 added


def renamed(statement: str) -> str:
    """Return a statement of schema 6 with the column names of schema 8, which need no quotes."""
    found = re.match(r"CREATE (?:TABLE|INDEX \w+ ON) (\w+)", statement)
    for old, new in RENAMED.get(found[1] if found else "", {}).items():
        statement = re.sub(rf'"{old}"|\b{old}\b', new, statement)
    return statement


def statements(path: Path) -> dict[str, str]:
    """Return the statements that created the tables and indexes of a SQLite file, by name."""
    with closing(sqlite3.connect(path)) as raw:
        return dict(raw.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall())


def test_the_tables_are_those_of_an_older_file(tmp_path: Path) -> None:
    """The tables are those of an older SQLite file, except for new names, columns and tables."""
    then = statements(older(tmp_path / "old.db"))
    Database.open(tmp_path / "new.db").close()
    found = statements(tmp_path / "new.db")
    assert SQLModel.metadata is METADATA
    assert set(found) - set(METADATA.tables) == {"events_game", "games_odds"}
    assert SCHEMA_VERSION == 9
    assert all(found.pop(name) for name in NEW_TABLES)
    assert SINCE in found["imported_games"]
    assert {name: words.replace(SINCE, "") for name, words in found.items()} == {
        name: renamed(words) for name, words in then.items()
    }


def test_the_tables_are_those_of_an_older_server() -> None:
    """The tables are those of an older PostgreSQL server, except for new tables."""
    dialect = PGDialect()  # type: ignore[no-untyped-call]
    migrations._set_partial_conditions(cast("Connection", SimpleNamespace(dialect=dialect)))
    parts: list[CreateTable | CreateIndex] = []
    for table in (table for table in METADATA.sorted_tables if table.name not in NEW_TABLES):
        parts += [CreateTable(table), *map(CreateIndex, sorted(table.indexes, key=lambda index: str(index.name)))]
    made = [f"{str(part.compile(dialect=dialect)).strip()};" for part in parts]
    since = SINCE.replace("VARCHAR", 'VARCHAR COLLATE "C"')
    then = (OLDER / "postgresql.sql").read_text("utf-8").split(";\n")
    assert "\n".join(made).replace(since, "") + "\n" == ";\n".join(map(renamed, then))
