"""Names in a database for completion and running tournaments, read without loading the store, which takes longer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

NameKind = Literal["tournament", "list", "entrant", "engine"]
_QUERIES: dict[NameKind, str] = {
    "tournament": "SELECT DISTINCT name FROM tournaments WHERE name LIKE ? ESCAPE '\\' AND system <> 'import'",
    "list": "SELECT DISTINCT name FROM lists WHERE name LIKE ? ESCAPE '\\'",
    "entrant": "SELECT DISTINCT name FROM entrants WHERE name LIKE ? ESCAPE '\\'",
    "engine": "SELECT DISTINCT name FROM engines WHERE name LIKE ? ESCAPE '\\'",
}
_MOST = 200  # names; a shell does not show more in a useful way
_WAIT_S = 0.2  # a locked database must not make the shell wait


def names_in(database: Path, kind: NameKind, start: str) -> list[str]:
    """Return the names that begin with `start`, in order; none if the database cannot be read."""
    pattern = start.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    rows = _rows(database, f"{_QUERIES[kind]} ORDER BY name LIMIT {_MOST}", pattern)
    return [str(name) for (name,) in rows if str(name).isprintable()]


def newest_tournament(database: Path) -> tuple[str, int] | tuple[None, None]:
    """Return the name and the edition of the newest tournament; None for both if the database cannot be read."""
    rows = _rows(database, "SELECT name, edition FROM tournaments WHERE system <> 'import' ORDER BY id DESC LIMIT 1")
    match rows:
        case [(str() as name, int() as edition)]:
            return name, edition
    return None, None


def _rows(database: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_S)) as reader:
            return reader.execute(query, values).fetchall()
    except sqlite3.Error:
        return []
