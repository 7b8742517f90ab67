"""Imports: games of files enter as one event of the store, all of them in one transaction or none.

By the driver: a million games through the mapper would take minutes.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from enginetour import __version__
from enginetour.errors import UsageRefused
from enginetour.interop.gamecolumns import Games
from enginetour.interop.naming import Naming
from enginetour.interop.ratable import Ratable
from enginetour.interop.tally import text
from enginetour.store import known, records
from enginetour.store.bulk import fill
from enginetour.store.database import Database
from enginetour.store.importlog import IMPORT
from enginetour.store.paircounts import engines_in, packed, unpacked
from enginetour.store.removals import removals
from enginetour.store.slugs import LONGEST_NAME, slug_of
from enginetour.store.sqlite_errors import told
from enginetour.store.tables import IMPORTS, TOURNAMENTS
from enginetour.variants import STANDARD

if TYPE_CHECKING:
    from enginetour.store.paircounts import Sums

_FORMAT_VERSION = 1  # of what an import's config holds
_CLASSES = 3  # White won, drew, lost


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import brought, or would: `games` that are new, `odds` of them at odds, `duplicates` that were there.

    `edition` is 0 where nothing was written.
    """

    name: str
    edition: int
    games: int
    duplicates: int
    engines: int
    new_engines: int
    odds: int


@dataclass(frozen=True, slots=True)
class ImportLine:
    """One import of the store; `made` in UTC seconds, `removed` too where it was struck out, with the reason."""

    name: str
    edition: int
    made: float
    files: tuple[str, ...]
    games: int
    duplicates: int
    odds: int
    engines: int
    removed: float | None
    why: str


def import_games(
    database: Database,
    name: str,
    games: Games,
    rated: Ratable,
    files: Sequence[str],
    *,
    variant: str = STANDARD,
    write: bool = True,
) -> Imported:
    """Write the games that are new as the next edition of an event; nothing where none is, or not asked to `write`.

    All that are `rated` are of the `variant`, as the games of a tournament are.

    UsageRefused for the name of a tournament that was played here.
    """
    identities = games.identities()
    with _transaction(database, write=write) as connection:
        if connection.execute("SELECT 1 FROM tournaments WHERE name = ? AND system != ?", (name, IMPORT)).fetchone():
            step = "give the import another name with --name"
            raise UsageRefused(f"{name!r} is a tournament that was played here", place="--name", step=step)
        fresh = known.fresh(connection, games, identities, rated.wanted)
        white, black = rated.white[fresh], rated.black[fresh]
        there = _engines(connection)
        used = [rated.names[place] for place in np.unique(np.concatenate([white, black])).tolist()]
        new = [one for one in used if one not in there]
        duplicates = len(rated.wanted) - len(fresh)
        even = np.isin(fresh, np.array(list(games.odds), dtype=np.intp), invert=True)
        odds, edition = int((~even).sum()), 0
        if write and len(fresh):
            _add_engines(connection, new)
            there = _engines(connection)
            keys = np.array([there.get(one, 0) for one in rated.names], dtype=np.int64)
            event, edition = _add_event(connection, name, rated.naming, variant)
            after = connection.execute("SELECT coalesce(max(id), 0) FROM games").fetchone()[0]
            digests = identities[fresh].astype("<u8").tobytes()
            counts = packed(_counted(keys[white][even], keys[black][even], rated.results[fresh][even]))
            row = (event, records.packed(list(files)), after, len(fresh), duplicates, counts, digests, odds)
            connection.execute("INSERT INTO imports VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            _add_games(connection, event, games, fresh, keys[white], keys[black])
    return Imported(name, edition, len(fresh), duplicates, len(used), len(new), odds)


def refuse_name(name: str) -> None:
    """UsageRefused for what no tournament can be called either."""
    if not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
        what = f"an event's name is 1 to {LONGEST_NAME} printable signs, found {name!r}"
        raise UsageRefused(what, place="--name", step="give another one with --name")


def imports_of(database: Database) -> list[ImportLine]:
    """All imports, oldest first."""
    columns = (TOURNAMENTS.c.name, TOURNAMENTS.c.edition, TOURNAMENTS.c.created.label("made"))
    rows = select(*columns, IMPORTS.c.files, IMPORTS.c.games, IMPORTS.c.duplicates, IMPORTS.c.odds, IMPORTS.c.counts)
    rows = rows.join(IMPORTS, IMPORTS.c.tournament == TOURNAMENTS.c.id).order_by(TOURNAMENTS.c.id)
    with database.reading() as connection:
        found = connection.execute(rows).fetchall()
        struck = {(one.name, one.edition): one for one in removals(connection)}
    lines = []
    for row in found:
        told = row._asdict()
        engines, removal = len(engines_in(unpacked(told.pop("counts")))), struck.get((row.name, row.edition))
        about = {"engines": engines, "removed": removal and removal.at, "why": removal.why if removal else ""}
        lines.append(ImportLine(**told | about | {"files": tuple(json.loads(row.files))}))
    return lines


@contextmanager
def _transaction(database: Database, *, write: bool) -> Iterator[sqlite3.Connection]:
    """One transaction of the bare driver, rolled back by any exception.

    References are not checked while it lasts: all of them are to rows it reads or writes itself, and looking every
    one up takes a third of the time.
    """
    pooled = database.engine.raw_connection()
    connection = pooled.driver_connection
    assert isinstance(connection, sqlite3.Connection)
    try:
        with told(database.path):
            connection.execute("PRAGMA foreign_keys=OFF")
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk may have ended it
                    connection.execute("ROLLBACK")
                raise
    finally:
        connection.execute("PRAGMA foreign_keys=ON")
        pooled.close()


def _engines(connection: sqlite3.Connection) -> dict[str, int]:
    """Versions of which only the name is known."""
    rows = "SELECT name, id FROM engines WHERE fingerprint = '' AND options = '[]' AND protocol = ''"
    return dict(connection.execute(rows).fetchall())


def _add_engines(connection: sqlite3.Connection, names: Sequence[str]) -> None:
    row = "VALUES (?, '', '[]', '', '', '', '', '[]')"
    columns = "name, fingerprint, options, protocol, own_name, family, origin, command"
    connection.executemany(f"INSERT INTO engines ({columns}) {row}", ((name,) for name in names))


def _add_event(connection: sqlite3.Connection, name: str, naming: Naming, variant: str) -> tuple[int, int]:
    """Key and edition of the event, which keeps by what names and patterns it was made."""
    newest = connection.execute("SELECT coalesce(max(edition), 0) FROM tournaments WHERE name = ?", (name,))
    edition = newest.fetchone()[0] + 1
    config = {
        "aliases": naming.aliases,
        "include": naming.include,
        "exclude": naming.exclude,
        "ratings": {"systems": ["ml"], "anchor": {}},
        **({} if variant == STANDARD else {"play": {"variant": variant}}),  # where tournaments have theirs
    }
    columns = "name, edition, slug, system, format_version, config, seed, created, version"
    row = (name, edition, slug_of(name, edition), IMPORT, _FORMAT_VERSION, records.packed(config), 0, time.time())
    written = connection.execute(
        f"INSERT INTO tournaments ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608  columns are ours
        (*row, __version__),
    )
    assert written.lastrowid is not None
    return written.lastrowid, edition


def _add_games(
    connection: sqlite3.Connection,
    event: int,
    games: Games,
    fresh: NDArray[np.intp],
    white: NDArray[np.int64],
    black: NDArray[np.int64],
) -> None:
    controls = [text(raw) for raw in games.controls]
    results = np.array(games.results, dtype=np.int64)[fresh]
    columns = {
        "tournament": event,
        "white": white.tolist(),
        "black": black.tolist(),
        "half_points": (2 - results).tolist(),
        "day": np.array(games.days)[fresh].tolist(),
        "tc": [controls[number] for number in np.array(games.control)[fresh].tolist()],
        "file": np.searchsorted(np.array(games.ends), fresh, side="right").tolist() if len(games.ends) > 1 else 0,
        "offset": np.array(games.offsets)[fresh].tolist(),
    }
    places = fresh.tolist()
    if games.black_control:
        blacks = (games.black_control.get(place) for place in places)
        columns["black_tc"] = ["" if number is None else controls[number] for number in blacks]
    if games.odds:
        columns["handicap"] = [games.odds.get(place, 0) for place in places]
    fill(connection, "imported_games", columns)


def _counted(white: NDArray[np.int64], black: NDArray[np.int64], results: NDArray[np.int64]) -> Sums:
    """The pair counts, in the order of their key."""
    engines = int(max(white.max(initial=0), black.max(initial=0))) + 1
    found, times = np.unique((white * engines + black) * _CLASSES + results, return_counts=True)
    pairs, row = np.unique(found // _CLASSES, return_inverse=True)
    counts = np.zeros((_CLASSES, len(pairs)), dtype=np.int64)
    counts[found % _CLASSES, row] = times
    return np.stack((pairs // engines, pairs % engines, *counts))
