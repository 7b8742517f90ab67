"""Database address (`--db`): a SQLite file, or the URL of a PostgreSQL server, shown without its password."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode

from enginetour.model.errors import UsageRefused

# Database address (`--db`): a SQLite file, or the URL of a PostgreSQL server, shown without its password.

_SCHEMES = ("postgresql", "postgres")  # libpq, "Connection URIs"
_SECRET = frozenset({"password", "sslpassword"})  # libpq, "Parameter Key Words"
_FORM = "postgresql://USER@HOST:PORT/NAME"
_PORT = 5432  # libpq's default
_IS_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BROKEN_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class ServerAddress:
    """A database of a PostgreSQL server. `url` is what libpq reads and may hold a password; `str` never shows it.

    `identity` is the same for all who mean the same database: host, port, name and schema, whoever asks.
    """

    url: str = field(repr=False)
    shown: str
    name: str
    identity: str

    def __str__(self) -> str:
        return self.shown


Address = Path | ServerAddress


def parse_address(words: str) -> Address:
    """Parse a path or a server URL; UsageRefused (without the password) for an invalid URL."""
    if not _IS_ADDRESS.match(words):
        return Path(words)
    scheme, _, rest = words.partition("://")
    if scheme not in _SCHEMES:
        raise UsageRefused(f"no database can be reached by {scheme}://", place="--db", step=f"name a file, or {_FORM}")
    if _BROKEN_PERCENT.search(rest):
        what = "a % in an address begins a sign's number"
        raise UsageRefused(what, place="--db", step="write % as %25, : as %3A, / as %2F, @ as %40")
    place, _, tail = rest.partition("/")
    path, _, asked = tail.partition("?")  # by hand: to libpq a password may hold ? and #
    user, _, hosts = place.rpartition("@")
    if "@" in user + path or "?" in hosts or not path:
        what = f"an address is {_FORM}"
        step = "it names a database after the third slash; in a password / is %2F and @ is %40"
        raise UsageRefused(what, place="--db", step=step)
    _refuse_odd_ports(hosts)
    query = [(key, value) for key, value in parse_qsl(asked, keep_blank_values=True) if key not in _SECRET]
    name = unquote(path)
    who = f"{user.partition(':')[0]}@" if user else ""
    more = f"?{urlencode(query)}" if query else ""
    return ServerAddress(words, f"postgresql://{who}{hosts}/{path}{more}", name, _identity(hosts, name, query))


def _refuse_odd_ports(hosts: str) -> None:
    for host in hosts.split(","):
        port = host.rpartition("]")[2].partition(":")[2]
        if port and not (port.isascii() and port.isdecimal() and 0 < int(port) < 1 << 16):
            raise UsageRefused(f"{port!r} is no port", place="--db", step=f"an address is {_FORM}")


def _identity(hosts: str, name: str, query: list[tuple[str, str]]) -> str:
    told = dict(query)
    host = hosts or told.get("host", "")
    last = host.rpartition("]")[2]
    port = "" if "," in host or ":" in last else f":{told.get('port', _PORT)}"
    return f"postgresql://{host.lower()}{port}/{name}?{told.get('options', '')}"


# Slugs: names of tournaments as file names, ``[a-z0-9._-]{1,64}``, unique for each tournament.

LONGEST_NAME = 64  # signs of a tournament's name, and of a list's: a slug fits into a file's name
_UNFIT = re.compile(r"[^a-z0-9._-]+")
_LONGEST = 48  # leaves room below 64 for the digest and the edition
_EDITION = re.compile(r"\.\d+$")


def slug_of(name: str, edition: int = 1) -> str:
    """Return the file name of a tournament: its name if valid, else its valid part and six digits of a digest.

    Later editions end in ``.2``, ``.3``; a name that already ends so gets the digest too.
    """
    fit = _UNFIT.sub("-", name.lower())[:_LONGEST].strip(".-")
    if not fit or fit != name or _EDITION.search(name):
        fit = f"{fit or 'tournament'}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"
    return fit if edition == 1 else f"{fit}.{edition}"


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
