"""Names in a database for the completion of a shell, read without loading the store, which takes longer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Literal

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
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_S)) as reader:
            rows = reader.execute(f"{_QUERIES[kind]} ORDER BY name LIMIT {_MOST}", (pattern,)).fetchall()
    except sqlite3.Error:
        return []
    return [str(name) for (name,) in rows if str(name).isprintable()]
