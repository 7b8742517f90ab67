"""Where things are: the folder around a configuration that holds engines and results, and the database in it."""

from __future__ import annotations

from pathlib import Path


def workspace_of(start: Path) -> Path:
    """The nearest folder upward that holds ``engines`` or ``results``, else `start` itself."""
    here = start.resolve()
    for folder in (here, *here.parents):
        if (folder / "engines").is_dir() or (folder / "results").is_dir():
            return folder
    return here


def database_of(start: Path, db: Path | None) -> Path:
    """The database: as asked, or ``results/enginetour.db`` of the workspace around `start`."""
    return (db if db is not None else workspace_of(start) / "results" / "enginetour.db").absolute()
