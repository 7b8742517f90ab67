"""Where files are: the workspace directory with engines and results, its database, its reports."""

from __future__ import annotations

from pathlib import Path

from enginetour.store.address import Address


def workspace_of(start: Path) -> Path:
    """The nearest folder upward that holds ``engines`` or ``results``, else `start` itself."""
    here = start.resolve()
    for folder in (here, *here.parents):
        if (folder / "engines").is_dir() or (folder / "results").is_dir():
            return folder
    return here


def database_of(start: Path, db: Address | None) -> Address:
    """The database: as asked, or ``results/enginetour.db`` of the workspace around `start`."""
    if db is None:
        return workspace_of(start) / "results" / "enginetour.db"
    return db.absolute() if isinstance(db, Path) else db


def report_of(results: Path, slug: str) -> Path:
    """The folder of a tournament's report unless another place is asked for: beside its PGN."""
    return results / f"{slug}-report"


def results_of(start: Path, database: Address) -> Path:
    """The folder for what is written beside a database: its own, or that of the workspace where it is on a server."""
    return database.parent if isinstance(database, Path) else workspace_of(start) / "results"
