"""What can be seen of a database's file before the store is loaded, which takes a third of a second."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def is_new(database: Path, name: str) -> bool:
    """There is no file, or it knows no tournament of that name; False in any doubt: the store will say.

    Nothing is written, and no side file is made: one that has none is read as it lies there.
    """
    database = database.resolve()
    if not database.exists():
        return True
    log, journal = (database.with_name(f"{database.name}{end}") for end in ("-wal", "-journal"))
    try:
        if not database.is_file() or journal.exists():
            return False
        mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
        with closing(sqlite3.connect(f"{database.as_uri()}?{mode}", uri=True, timeout=0)) as connection:
            return connection.execute("SELECT 1 FROM tournaments WHERE name = ?", (name,)).fetchone() is None
    except (sqlite3.Error, OSError, UnicodeError):
        return False
