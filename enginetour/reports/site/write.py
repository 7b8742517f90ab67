"""Write the site of a league into a directory. Only files that change are written, and only its own files removed.

The list of its files, ``assets/site.json.gz``, is written before the first file and again at the end. A site that was
interrupted is completed by the next call.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from enginetour.interop.files import locked_directory, named_errors, open_regular
from enginetour.model.errors import InputRefused, UsageRefused
from enginetour.reports.html.page import GAME_ASSETS, REPORT_ASSETS, program_digest, read_asset
from enginetour.reports.site.feeds import ATOM, JSON_FEED, atom, feed_entries, json_feed, newest_games
from enginetour.reports.site.games import game_scripts
from enginetour.reports.site.league import Facts, league_review
from enginetour.reports.site.pages import site_pages
from enginetour.store.address import slug_of
from enginetour.store.tournaments import Store

MANIFEST = "assets/site.json.gz"  # packed: the list for twenty seasons of 79,200 games has 2 MB
_ADDRESS = re.compile(r"(?:[a-z0-9][a-z0-9._-]*/)*[a-z0-9][a-z0-9._-]*")
_KIND = "site of a league, written by enginetour"
_STEP = "choose another directory with -o"
_ASSETS = (*REPORT_ASSETS, *GAME_ASSETS, "site.css", "site-load.js", "site.js", "site-game.js")
_Text = Callable[[], str]


@dataclass(frozen=True, slots=True)
class WrittenSite:
    """The first page of a written site, the number of its files, and how many of them were written or removed."""

    start: Path
    files: int
    changed: int


def site_dir(results: Path, league: str) -> Path:
    """Return the default directory of the site of a league."""
    return results / f"{slug_of(league)}-site"


def write_site(store: Store, league: str, target: Path, *, base: str = "") -> WrittenSite:
    """Write the site of a league into a directory that is empty, has an earlier site, or does not exist.

    `base` is the address at which the site is published, for the feeds; it is empty if it is not known. Raise
    UsageRefused if the directory has files that are not part of a site.
    """
    with named_errors(target), _locked(target):
        files = _Files(target)
        with store.database.snapshot():
            facts = Facts(files.facts)
            review = league_review(store, league, facts)
            scripts = chain.from_iterable(game_scripts(one.log) for one in review.played)
            keyed = {address: (key, make) for address, key, make in scripts}
            # These files depend only on the program.
            keyed |= {f"assets/{name}": ("asset", partial(read_asset, name)) for name in _ASSETS}
            games = newest_games(review)
            entries = feed_entries(review, games)
            texts: dict[str, _Text] = dict(site_pages(review, games))
            texts |= {ATOM: lambda: atom(review, entries, base), JSON_FEED: lambda: json_feed(review, entries, base)}
            files.begin([*keyed, *texts])
            for address, (key, make) in keyed.items():
                if not files.keep(address, key):
                    files.put(address, make(), key)
            for address, make in texts.items():
                files.put(address, make())
        return WrittenSite(target / "index.html", len(keyed) + len(texts), files.end(facts.found))


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Create the directory and lock it. Raise UsageRefused while another process writes into it."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise UsageRefused("is not a directory", place=str(target), step=_STEP)
    target.mkdir(parents=True, exist_ok=True)
    try:
        with locked_directory(target, wait=False):
            yield
    except BlockingIOError:
        raise UsageRefused("another process writes this site", place=str(target), step="try again later") from None


_State = list[Any]
"""The key of a file, its size, and the time of its last change in ns. Another file does not have all three."""


class _Files:
    """The files of a site. `facts` are those of the site that is there, if the same program has written it."""

    def __init__(self, target: Path) -> None:
        """Read what is in the directory. Raise UsageRefused if it is not empty and not a site."""
        self._target, self._changed = target, 0
        found = self._manifest()
        if found is None and any(target.iterdir()):
            first = min(one.name for one in target.iterdir())
            what = f"is not empty and is not the site of a league (found {first})"
            raise UsageRefused(what, place=str(target), step=_STEP)
        found = found or {}
        is_same = found.get("program") == program_digest()
        self.facts: Mapping[str, Any] = found.get("facts", {}) if is_same else {}
        self._old: Mapping[str, _State] = found.get("files", {})
        self._keys = {address: one[0] for address, one in self._old.items()} if is_same else {}
        self._new: dict[str, _State] = {}

    def _manifest(self) -> dict[str, Any] | None:
        try:
            with open_regular(self._target / MANIFEST) as source:
                found = json.loads(gzip.decompress(source.read()))
        except (OSError, EOFError, ValueError, zlib.error, RecursionError, InputRefused):
            return None
        if not isinstance(found, dict) or found.get("kind") != _KIND or not isinstance(found.get("files"), dict):
            return None
        return found if all(map(_ADDRESS.fullmatch, found["files"])) else None

    def begin(self, addresses: Iterable[str]) -> None:
        """Check that no file of somebody else is in the way, and write the list of all files, old and new ones."""
        addresses = set(addresses)
        for address in sorted({str(parent) for one in addresses for parent in Path(one).parents} - {"."}):
            path = self._target / address
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                raise UsageRefused(f"contains {address}, which is not a directory", place=str(self._target), step=_STEP)
        for address in sorted(addresses - self._old.keys()):
            if os.path.lexists(self._target / address):
                what = f"contains {address}, which enginetour did not write"
                raise UsageRefused(what, place=str(self._target), step=_STEP)
        self._write_manifest({**{address: ["", 0, 0] for address in addresses}, **self._old}, self._keys and self.facts)

    def keep(self, address: str, key: str) -> bool:
        """Keep a file if it has this key and was not changed since; return whether it was kept."""
        is_same = self._keys.get(address) == key and self._state(address) == self._old[address][1:]
        if is_same:
            self._new[address] = self._old[address]
        return is_same

    def put(self, address: str, text: str, key: str = "") -> None:
        """Write a file unless it has this content."""
        path, data = self._target / address, text.encode()
        state = self._state(address)
        if state is None or state[0] != len(data) or path.read_bytes() != data:
            _replace(path, data)
            self._changed += 1
            state = self._state(address)
        assert state is not None
        self._new[address] = [key, *state]

    def end(self, facts: Mapping[str, Any]) -> int:
        """Remove the files that are not part of the site any more; return the number of files that have changed."""
        for address in self._old.keys() - self._new.keys():
            if self._state(address) == self._old[address][1:]:  # otherwise it is not the file that was written
                with suppress(OSError):
                    (self._target / address).unlink()
                    self._changed += 1
                    for parent in list(Path(address).parents)[:-1]:
                        (self._target / parent).rmdir()  # fails if it is not empty
        self._write_manifest(self._new, facts)
        return self._changed

    def _state(self, address: str) -> list[int] | None:
        """Return the size and the time of a regular file."""
        try:
            found = os.lstat(self._target / address)
        except OSError:
            return None
        return [found.st_size, found.st_mtime_ns] if stat.S_ISREG(found.st_mode) else None

    def _write_manifest(self, files: Mapping[str, _State], facts: Mapping[str, Any]) -> None:
        found = {"kind": _KIND, "program": program_digest(), "files": files, "facts": facts}
        _replace(self._target / MANIFEST, gzip.compress(json.dumps(found).encode(), 3, mtime=0))


def _replace(path: Path, data: bytes) -> None:
    """Write a file under another name and rename it, so that readers see the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        fresh.unlink()  # an interrupted call left it
    with fresh.open("xb") as sink:
        sink.write(data)
    fresh.replace(path)
