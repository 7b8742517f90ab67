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


def stage_name(league: str, season: int, label: str) -> str:
    """Return the name of a tournament of a league."""
    return f"{league} S{season} {label}"


def newest_tournaments(database: Path, *, of_season: bool) -> list[tuple[str, int]]:
    """Return the newest tournament with its edition; the list is empty if the database cannot be read.

    With `of_season`, return all tournaments of its season, in the order of their starts, if it is part of a league.
    """
    newest = "SELECT name, edition FROM tournaments WHERE system <> 'import' ORDER BY id DESC LIMIT 1"
    found = [(str(name), int(edition)) for name, edition in _rows(database, newest)]
    for league, season in _rows(database, "SELECT league, number FROM seasons") if found and of_season else ():
        if found[0][0].startswith(begin := stage_name(league, season, "")):
            query = "SELECT name, max(edition) FROM tournaments WHERE substr(name, 1, ?) = ? GROUP BY name ORDER BY id"
            return [(str(name), int(edition)) for name, edition in _rows(database, query, len(begin), begin)]
    return found


def _rows(database: Path, query: str, *values: str | int) -> list[tuple[Any, ...]]:
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_S)) as reader:
            return reader.execute(query, values).fetchall()
    except sqlite3.Error:
        return []
