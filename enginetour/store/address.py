"""Database addresses (`--db`): a SQLite file, or the URL of a PostgreSQL server, which is shown without its password.

This module also defines the names of tournaments, their file names and the default directories, and reads names from a
database. It does not load the store, which takes longer.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlencode

from enginetour.interop.files import SQLITE_MAGIC
from enginetour.model.errors import StoreRefused, TourError, UsageRefused

_SCHEMES = ("postgresql", "postgres")  # libpq, "Connection URIs"
_SECRET = frozenset({"password", "sslpassword"})  # libpq, "Parameter Key Words"
_FORM = "postgresql://USER@HOST:PORT/NAME"
_PORT = 5432  # libpq's default
_IS_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BROKEN_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class ServerAddress:
    """A database of a PostgreSQL server. `url` is for libpq and may contain a password, which `str` never shows.

    `identity` identifies the database by host, port, name and schema. It does not depend on the user.
    """

    url: str = field(repr=False)
    shown: str
    name: str
    identity: str

    def __str__(self) -> str:
        return self.shown


Address = Path | ServerAddress


def parse_address(text: str) -> Address:
    """Parse a path or a server URL. Raise UsageRefused, without the password in the message, for an invalid URL."""
    if not _IS_ADDRESS.match(text):
        return Path(text)
    scheme, _, rest = text.partition("://")
    if scheme not in _SCHEMES:
        raise UsageRefused(f"unsupported scheme {scheme}://", place="--db", step=f"use the path of a file, or {_FORM}")
    if _BROKEN_PERCENT.search(rest):
        what = "the address contains a % without two hexadecimal digits after it"
        raise UsageRefused(what, place="--db", step="write % as %25, : as %3A, / as %2F and @ as %40")
    place, _, tail = rest.partition("/")
    path, _, query_text = tail.partition("?")  # `urlsplit` fails for ? and # in a password, which libpq accepts
    user, _, hosts = place.rpartition("@")
    if "@" in user + path or "?" in hosts or not path:
        what = "not a valid address of a database"
        step = f"write {_FORM}; in a password, write / as %2F and @ as %40"
        raise UsageRefused(what, place="--db", step=step)
    _refuse_odd_ports(hosts)
    query = [(key, value) for key, value in parse_qsl(query_text, keep_blank_values=True) if key not in _SECRET]
    name = unquote(path)
    who = f"{user.partition(':')[0]}@" if user else ""
    more = f"?{urlencode(query)}" if query else ""
    return ServerAddress(text, f"postgresql://{who}{hosts}/{path}{more}", name, _identity(hosts, name, query))


def _refuse_odd_ports(hosts: str) -> None:
    for host in hosts.split(","):
        port = host.rpartition("]")[2].partition(":")[2]
        if port and not (port.isascii() and port.isdecimal() and 0 < int(port) < 1 << 16):
            raise UsageRefused(f"{port!r} is not a valid port", place="--db", step=f"write {_FORM}")


def _identity(hosts: str, name: str, query: list[tuple[str, str]]) -> str:
    options = dict(query)
    host = hosts or options.get("host", "")
    last = host.rpartition("]")[2]
    port = "" if "," in host or ":" in last else f":{options.get('port', _PORT)}"
    return f"postgresql://{host.lower()}{port}/{name}?{options.get('options', '')}"


# Slugs: names of tournaments as file names, ``[a-z0-9._-]{1,64}``, unique for each tournament.

LONGEST_NAME = 64  # characters in the name of a tournament or a list, so that a slug fits into a file name
_UNFIT = re.compile(r"[^a-z0-9._-]+")
_LONGEST = 48  # characters; the digest and the edition also have to fit into 64 characters
_EDITION = re.compile(r"\.\d+$")


def slug_of(name: str, edition: int = 1) -> str:
    """Return the name of a tournament in a form for file names.

    A name that is not a valid slug is replaced by its valid characters and six digits of a digest. The slugs of later
    editions end with ``.2``, ``.3``. A name that already ends like this gets a digest too.
    """
    fit = _UNFIT.sub("-", name.lower())[:_LONGEST].strip(".-")
    if not fit or fit != name or _EDITION.search(name):
        fit = f"{fit or 'tournament'}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"
    return fit if edition == 1 else f"{fit}.{edition}"


def stage_name(league: str, season: int, label: str) -> str:
    """Return the name of a tournament of a league."""
    return f"{league} S{season} {label}"


def workspace_of(start: Path) -> Path:
    """Return the nearest directory, from `start` upwards, that contains ``engines`` or ``results``, or else `start`."""
    here = start.resolve()
    for directory in (here, *here.parents):
        if (directory / "engines").is_dir() or (directory / "results").is_dir():
            return directory
    return here


def database_of(start: Path, db: Address | None) -> Address:
    """Return the address of the database: `db`, or by default ``results/enginetour.db`` of the workspace."""
    if db is None:
        return workspace_of(start) / "results" / "enginetour.db"
    return db.absolute() if isinstance(db, Path) else db


_FEW = 3  # databases that an error names


def existing_database(start: Path, db: Address | None) -> Address:
    """Return the address of a database to read: that of `database_of`, or else the only database in its directory.

    `enginetour demo` writes such a database. If the directory does not have one, those in `start` count. Raise
    UsageRefused if there are several databases.
    """
    usual = database_of(start, db)
    if db is not None or not isinstance(usual, Path) or usual.exists():
        return usual
    for folder in dict.fromkeys((usual.parent, start.resolve())):
        found = sorted(path for path in folder.glob("*.db") if _is_sqlite(path))
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(path.name for path in found[:_FEW])
            more = f" and {len(found) - _FEW} more" if len(found) > _FEW else ""
            step = f"choose one, for example --db {found[0]}"
            raise UsageRefused(f"contains several databases: {names}{more}", place=str(folder), step=step)
    return usual


def _is_sqlite(path: Path) -> bool:
    try:
        with path.open("rb") as source:
            return path.is_file() and source.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError:
        return False


def report_of(results: Path, slug: str) -> Path:
    """Return the default directory of a tournament's report."""
    return results / f"{slug}-report"


def results_of(start: Path, database: Address) -> Path:
    """Return the directory for files about a database.

    It is the directory of a SQLite file, and ``results`` of the workspace for a server.
    """
    return database.parent if isinstance(database, Path) else workspace_of(start) / "results"


# Names in a database, for completion and running tournaments, and the reason why a database cannot be read.

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


def newest_tournaments(database: Path) -> list[tuple[str, int]]:
    """Return the newest tournament with its edition; the list is empty if the database cannot be read.

    If it is part of a league, return all tournaments of its season, in the order of their starts.
    """
    newest = "SELECT name, edition FROM tournaments WHERE system <> 'import' ORDER BY id DESC LIMIT 1"
    found = [(str(name), int(edition)) for name, edition in _rows(database, newest)]
    for league, season in _rows(database, "SELECT league, number FROM seasons") if found else ():
        if found[0][0].startswith(begin := stage_name(league, season, "")):
            query = "SELECT name, max(edition) FROM tournaments WHERE substr(name, 1, ?) = ? GROUP BY name ORDER BY id"
            return [(str(name), int(edition)) for name, edition in _rows(database, query, len(begin), begin)]
    return found


def _rows(database: Path, query: str, *values: str | int) -> list[tuple[Any, ...]]:
    import sqlite3  # imported here: most commands do not read names

    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_S)) as reader:
            return reader.execute(query, values).fetchall()
    except sqlite3.Error:
        return []


@contextmanager
def rows_of_others(path: Address) -> Iterator[None]:
    """If reading the database fails, inspect it; raise StoreRefused if it is damaged.

    If it is not damaged, the failure is an internal error and is raised unchanged.
    """
    from enginetour.store.dialect import UNREADABLE  # imported here: a command starts faster without it

    try:
        yield
    except TourError:
        raise
    except UNREADABLE as error:
        from enginetour.store.check import first_fault
        from enginetour.store.database import database_exists

        found = first_fault(path) if database_exists(path) else ""
        if not found:
            raise
        command = shlex.join(["enginetour", "db", "check", "--db", str(path)])
        step = f"run {command}, or use a backup with --db"
        raise StoreRefused(f"cannot be read, {found}", place=str(path), step=step) from error
