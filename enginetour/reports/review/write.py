"""Write the report of a tournament or of a rating list into a directory or a single file.

All files that have changed are written into a temporary directory and then moved to their places. If that fails, the
old report is restored. Files that are not part of a report are never replaced.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from glob import escape
from hashlib import blake2b
from itertools import chain
from pathlib import Path

from enginetour.interop.files import locked_directory, named_errors, open_regular, replace_file
from enginetour.model.errors import InputRefused, UsageRefused
from enginetour.reports.html import game
from enginetour.reports.html.game import GamePage, game_page
from enginetour.reports.html.page import (
    GAME_ASSETS,
    GENERATOR_TAG,
    MAX_FILE_BYTES,
    REPORT_ASSETS,
    STATE_CSS,
    Section,
    make_section,
    program_digest,
    read_asset,
    single_file,
)
from enginetour.reports.html.tables import Site
from enginetour.reports.review.lists import list_review
from enginetour.reports.review.pages import list_pages, list_site, report_pages, report_site
from enginetour.reports.review.tournament import RESUME_COMMAND, TournamentReview, game_rows, review_tournament
from enginetour.store.address import slug_of
from enginetour.store.games import TournamentReader
from enginetour.store.tournaments import Store

# A report in one file.

_PAGE_OVERHEAD = 14_000  # bytes of the file without sections, styles and scripts; 10,400 were measured with the pieces
_FOLD = 300  # bytes of the markup around a closed section, with two names of 100 characters
_ENGINES_DIR = "engines/"
# Addresses (or beginnings of addresses) of the pages that are left out if the file is too large, in this order.
_LESS = (_ENGINES_DIR, "games", "history.html", "superiority.html", "rounds.html", "crosstable.html", "incidents.html")
_Pages = Iterable[tuple[str, Callable[[], str]]]


def _single_text(
    site: Site,
    pages: Callable[[Site], _Pages],
    command: str,
    games: Iterable[GamePage] = (),
    count: int = 0,
) -> str:
    """Return the text of a single file with the pages and as many of the `count` games as fit, in their order.

    Sections are rendered twice: first to find the sections that fit, then with links only to these.
    """
    names = {f"{_ENGINES_DIR}{slug}.html": name for name, slug in site.slugs.items()}
    kinds = ("report.css", "game.css"), ("report.js", "board.js")
    styles, scripts = ([read_asset(name) for name in own[: 2 if count else 1]] for own in kinds)
    room = MAX_FILE_BYTES - _PAGE_OVERHEAD - sum(len(text.encode()) for text in (*styles, *scripts))
    made = list(_sections(pages(site), names))
    kept = _fitting(made, room)
    there = sorted(_that_fit(games, site, room - _size(kept)), key=lambda row: row.number)
    site = _without(replace(site, games=frozenset(row.number for row in there)), made, kept)
    addresses = {one.address for one in kept}
    parts = list(_sections(((address, make) for address, make in pages(site) if address in addresses), names))
    parts += [_game(row, site) for row in there]
    shared = game.piece_symbols() if there else None  # for all boards in the file
    missing = _missing(site, count - len(there))
    return single_file(site, parts, styles=styles, scripts=scripts, missing=missing, command=command, shared=shared)


def _sections(made: _Pages, names: Mapping[str, str]) -> Iterator[Section]:
    """Yield the pages as sections. The section of an engine is closed and shows only the name."""
    return (make_section(address, make(), names.get(address, "")) for address, make in made)


def _fitting(made: Sequence[Section], room: int) -> list[Section]:
    """Return the sections that fit into `room` bytes. The least important ones are left out first."""
    kept = list(made)
    for beginning in _LESS:
        if _size(kept) > room:
            kept = [one for one in kept if not one.address.startswith(beginning)]
    if sum(one.address.startswith("games") for one in kept) > 1:  # the parts of a long list have the same ids
        kept = [one for one in kept if not one.address.startswith("games")]
    return kept


def _size(sections: Sequence[Section]) -> int:
    return sum(one.size + _FOLD for one in sections)


def _that_fit(rows: Iterable[GamePage], site: Site, room: int) -> Iterator[GamePage]:
    """Yield games in their order, and stop before the first one that does not fit."""
    for row in rows:
        room -= _game(row, site).size + _FOLD
        if room < 0:
            return
        yield row


def _game(row: GamePage, site: Site) -> Section:
    pairing = row.game.pairing
    summary = f"Game {row.number}: {pairing.white} – {pairing.black} {row.game.outcome}"
    return make_section(f"games/{row.number}.html", game_page(row, site), summary)


def _without(site: Site, made: Sequence[Section], kept: Sequence[Section]) -> Site:
    """Return the site with links only to the sections that are kept."""
    out = frozenset(one.address for one in made) - {one.address for one in kept}
    slugs = {} if any(address.startswith(_ENGINES_DIR) for address in out) else site.slugs
    return replace(site, left_out=out, slugs=slugs, pages=tuple(page for page in site.pages if page[0] not in out))


def _missing(site: Site, games: int) -> str:
    """Return a text that names what was left out, for a sentence that continues with "left out"."""
    parts = [f"{games:,} games"] if games > 1 else ["one game"] if games else []
    if any(address.startswith(_ENGINES_DIR) for address in site.left_out):
        parts.append("the pages of the engines")
    if any(address.startswith("games") for address in site.left_out):
        parts.append("the list of games")
    others = (address for address in sorted(site.left_out) if not address.startswith((_ENGINES_DIR, "games")))
    parts += [f"the {address.removesuffix('.html')}" for address in others]
    if not parts:
        return ""
    is_one = len(parts) == 1 and parts[0] == "one game"
    return f"{' and '.join(filter(None, (', '.join(parts[:-1]), parts[-1])))} {'is' if is_one else 'are'}"


# A report in a directory.

_DIRECTORIES = frozenset({"assets", "engines", "games"})
_RANDOM = 8  # characters that tempfile adds to a prefix
_JUST_NOW_S = 60.0  # seconds; a newer temporary directory may not be locked yet
_HEAD = 2000  # characters at the start of a page, which contain the generator tag


def check_target(target: Path) -> None:
    """Raise UsageRefused unless the target is a report, is an empty directory or does not exist."""
    step = "choose another directory with -o"
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise UsageRefused("is not a directory", place=str(target), step=step)
    if not target.is_dir() or not any(target.iterdir()):
        return
    others = sorted(one.name for one in target.iterdir() if not _is_report_entry(one))
    if others:
        what = f"contains {others[0]}, which is not part of an enginetour report"
        raise UsageRefused(what, place=str(target), step=step)
    if not _is_report(target / "index.html"):
        raise UsageRefused("is not empty and is not an enginetour report", place=str(target), step=step)


@dataclass(frozen=True, slots=True)
class KeyedPages:
    """Pages that are made only if they may have changed.

    `keys` has a text for each address: pages with the same address and text are equal. `make` yields the pages of the
    given addresses, in their order.
    """

    keys: Mapping[str, str]
    make: Callable[[Sequence[str]], _Pages]


def write_directory(
    target: Path,
    pages: _Pages,
    assets: Mapping[str, str],
    *,
    keyed: KeyedPages | None = None,
    before_page: Callable[[], None] = lambda: None,
) -> None:
    """Write a report into a directory.

    Files that have not changed are not written again. `assets` maps the names of additional files to their texts.
    `before_page` is called before each page. If it raises an exception, or after an OSError, no part of the new report
    remains.
    """
    check_target(target)
    keys = {} if keyed is None else keyed.keys
    with named_errors(target), _locked(target), _temporary_dir(target) as folder:
        report = _Report(target, folder)
        kept = report.keep_pages(keys)
        made = () if keyed is None else keyed.make([address for address in keys if address not in kept])
        for address, make in chain(pages, made):
            before_page()
            report.put(address, make())
        files = {
            **{name: read_asset(name) for name in REPORT_ASSETS},
            STATE_CSS: "/* no run has started since */\n",
            **assets,
        }
        for name, text in files.items():
            report.put(f"assets/{name}", text)
        if keys:
            report.put(_MANIFEST, report.manifest(keys))
        before_page()
        report.move()
    _sweep(target)


def mark_outdated(target: Path) -> None:
    """Make all pages of a report show that a run has started since it was written."""
    with suppress(OSError):  # a run does not end because its report cannot be written
        if _is_report(target / "index.html") and not target.is_symlink():
            text = "/* a run has started since */\n.outdated[hidden] { display: block; }\n"
            _write(f"{target}/assets/{STATE_CSS}", text.encode())


def _is_report_entry(entry: Path) -> bool:
    return entry.name in _DIRECTORIES if entry.is_dir() else entry.suffix == ".html" and not entry.is_symlink()


def _is_report(page: Path) -> bool:
    try:
        with page.open(encoding="utf-8", errors="replace") as source:
            return GENERATOR_TAG in source.read(_HEAD)
    except OSError:
        return False


@contextmanager
def _temporary_dir(target: Path) -> Iterator[Path]:
    """Create a locked directory next to the target, and remove it at the end unless it was renamed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    with _locked(folder):
        try:
            mask = os.umask(0)
            os.umask(mask)
            folder.chmod(0o777 & ~mask)  # mkdtemp gives permissions only to the owner
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a directory, if it exists, and wait for other processes that have locked it."""
    with ExitStack() as stack:
        with suppress(OSError):  # without locks in the file system, `_sweep` does not remove anything either
            stack.enter_context(locked_directory(folder, wait=True))
        yield


def _sweep(target: Path) -> None:
    """Remove temporary directories that killed processes left: old directories that are not locked."""
    for left in target.parent.glob(f".{escape(target.name)}.{'?' * _RANDOM}"):
        with suppress(OSError):
            fresh = left.lstat().st_mtime > time.time() - _JUST_NOW_S
            if fresh or left.is_symlink() or any(not _is_report_entry(e) and e.name != "old" for e in left.iterdir()):
                continue
            with locked_directory(left, wait=False):
                shutil.rmtree(left, ignore_errors=True)


def _write(path: str, data: bytes) -> None:
    def make() -> None:
        with open(path, "wb") as file:  # noqa: PTH123  # `Path` takes as long as the rest
            file.write(data)

    _with_directory(path, make)


def _with_directory(path: str, make: Callable[[], object]) -> None:
    """Make a file, and its directory if it does not exist yet. Paths are texts, because there are many pages."""
    try:
        make()
    except FileNotFoundError:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        make()


# The files of a report. Those of the old report that have not changed stay where they are.

_MANIFEST = "assets/pages.json"  # the key, the size and the time of the file of each keyed page


class _Report:
    """The report in `target`. Its new files are written into `folder` until all of them can be moved.

    A page that was edited has another size or another time than in the manifest. If the manifest or a page cannot be
    used, for whatever reason, the page is written again.
    """

    def __init__(self, target: Path, folder: Path) -> None:
        self._target, self._folder = str(target), str(folder)
        self._mode = stat.S_IFREG | (folder.stat().st_mode & 0o666)  # of a new page, which is not executable
        self._old = dict(_entries(self._target))
        self._kept: dict[str, object] = {}  # the entries of kept pages in the manifest
        self._same = set[str]()  # other files that have not changed
        self._new: dict[str, None] = {}

    def keep_pages(self, keys: Mapping[str, str]) -> Set[str]:
        """Keep the pages that have these keys in the manifest, and return their addresses."""
        known = self._known() if keys else {}
        for address, key in keys.items():
            file = self._usual(address)
            if file is not None and (entry := known.get(address)) == [key, *_state(file)]:
                self._kept[address] = entry
        return self._kept.keys()

    def put(self, address: str, text: str) -> None:
        """Write a file, or keep the old one if it has the same content."""
        data, file = text.encode(), self._usual(address)
        if file is not None and file.st_size == len(data) and Path(self._target, address).read_bytes() == data:
            self._same.add(address)
        else:
            _write(f"{self._folder}/{address}", data)
            self._new[address] = None

    def manifest(self, keys: Mapping[str, str]) -> str:
        """Return the manifest of the new report."""
        found = dict(self._kept)
        for address in keys.keys() - found.keys():
            if address in self._same:
                found[address] = [keys[address], *_state(self._old[address])]
            elif address in self._new:  # a game that has lost its moves has no page
                found[address] = [keys[address], *_state(os.lstat(f"{self._folder}/{address}"))]
        return json.dumps(found, separators=(",", ":"))

    def move(self) -> None:
        """Move the new files to their places, and remove files that are not part of the report any more.

        If that fails, the old report is restored.
        """
        if not os.path.lexists(self._target):
            os.rename(self._folder, self._target)  # noqa: PTH104
            return
        moved: list[tuple[str, str]] = []

        def move(source: str, target: str, how: Callable[[str, str], None]) -> None:
            moved.append((source, target))
            _with_directory(target, partial(how, source, target))

        target, folder = self._target, self._folder
        replaced, stay = self._new.keys(), self._kept.keys() | self._same
        gone = {
            address
            for address, file in self._old.items()
            if address not in stay and (address not in replaced or stat.S_ISDIR(file.st_mode))
        }
        try:
            for address in gone:
                move(f"{target}/{address}", f"{folder}/old/{address}", os.rename)
            for address in replaced:
                if address in self._old and address not in gone:
                    move(f"{target}/{address}", f"{folder}/old/{address}", _copy)
                move(f"{folder}/{address}", f"{target}/{address}", os.replace)
        except BaseException:
            for source, to in reversed(moved):
                with suppress(OSError):
                    os.replace(to, source)  # noqa: PTH105
            raise
        for name in _DIRECTORIES:
            with suppress(OSError):  # it is not empty, or does not exist
                os.rmdir(f"{self._target}/{name}")  # noqa: PTH106

    def _usual(self, address: str) -> os.stat_result | None:
        """Return the state of an old file if it is a usual file with the rights of a new page."""
        file = self._old.get(address)
        return file if file is not None and file.st_mode == self._mode else None

    def _known(self) -> Mapping[str, object]:
        try:
            with open_regular(Path(self._target, _MANIFEST)) as source:
                found = json.load(source)
        except (OSError, ValueError, RecursionError, InputRefused):
            return {}
        return found if isinstance(found, dict) else {}


def _copy(source: str, target: str) -> None:
    """Give a file a second name, or copy it where that is not possible."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _entries(target: str, inside: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Yield the address and the state of everything in a report except its directories. Links are not followed."""
    with suppress(FileNotFoundError), os.scandir(f"{target}/{inside}") as entries:
        for entry in entries:
            if not inside and entry.name in _DIRECTORIES and entry.is_dir(follow_symlinks=False):
                yield from _entries(target, f"{entry.name}/")
            else:
                yield f"{inside}{entry.name}", entry.stat(follow_symlinks=False)


def _state(file: os.stat_result) -> tuple[int, int]:
    return file.st_size, file.st_mtime_ns


# The reports.


def list_report_dir(results: Path, name: str) -> Path:
    """Return the default directory of the report of a list."""
    return results / f"{slug_of(name)}-list-report"


def write_report(
    log: TournamentReader,
    target: Path,
    *,
    again: str = RESUME_COMMAND,
    suspended: Sequence[str] = (),
    before_page: Callable[[], None] = lambda: None,
) -> Path:
    """Write the report into the directory `target`, or into the file `target` if its name ends in .html.

    Return the first page.
    `again` and `suspended` are passed to `review_tournament`, and `before_page` is passed to `write_directory`.
    """
    if not _is_single_file(target):
        check_target(target)
    with log.database.snapshot():
        review = review_tournament(log, again=again, suspended=suspended, forecast=True)
        facts = review.facts
        if _is_single_file(target):
            troubled = dict.fromkeys(line.game.number for line in review.incidents)
            wanted = list(troubled | dict.fromkeys(line.number for line in review.games))
            command = shlex.join(["enginetour", "report", "-t", facts.name, "--edition", str(facts.edition)])
            games = game_rows(log, review.encounters, wanted, review.purposes)
            pages = partial(report_pages, review)
            return _one_file(target, _single_text(report_site(review, single=True), pages, command, games, len(wanted)))
        site = report_site(review)
        assets = {name: read_asset(name) for name in GAME_ASSETS}
        keyed = _game_pages(log, review, site)
        write_directory(target, report_pages(review, site), assets, keyed=keyed, before_page=before_page)
        return target / "index.html"


def _game_pages(log: TournamentReader, review: TournamentReview, site: Site) -> KeyedPages:
    keys = _game_keys(log, review, site)
    numbers = {f"games/{number}.html": number for number in keys}

    def made(addresses: Sequence[str]) -> _Pages:
        for row in game_rows(log, review.encounters, map(numbers.__getitem__, addresses), review.purposes):
            yield f"games/{row.number}.html", partial(game_page, row, site)

    return KeyedPages(dict(zip(numbers, keys.values(), strict=True)), made)


def _game_keys(log: TournamentReader, review: TournamentReview, site: Site) -> dict[int, str]:
    """Return a digest of everything on the page of each game: the program, the site, and what `game_rows` reads.

    A stored game never changes, except that it can become void later. Its times tell it from a game with the same
    number in another copy of the database.
    """
    origin = program_digest(), replace(site, slugs={}), log.created_unix, log.seed, log.pgn_tags
    common = blake2b(repr(origin).encode(), digest_size=16)
    last, ratings, purposes = log.last_number, log.known_ratings, review.purposes
    found = {}
    for (names, _), same in review.encounters.items():
        near = [(one.number, one.started_unix, one.ended_unix, one.outcome.value, one.voided) for one in same]
        engines = [(name, site.slugs.get(name), ratings.get(name)) for name in sorted(names)]
        shared = repr((near, engines)).encode()
        for line in same:
            key = common.copy()
            key.update(shared)
            key.update(repr((line.white, line.number == last, purposes.get(line.round, ""))).encode())
            found[line.number] = key.hexdigest()
    return {line.number: found[line.number] for line in review.games}


def write_list_report(store: Store, name: str, target: Path) -> Path:
    """Write the report of a list, and return its first page. Raise UsageRefused if no list has this name."""
    if not _is_single_file(target):
        check_target(target)
    review = list_review(store, name)
    if _is_single_file(target):
        site, command = replace(list_site(review), single=True), shlex.join(["enginetour", "report", review.name])
        return _one_file(target, _single_text(site, partial(list_pages, review), command))
    write_directory(target, list_pages(review, list_site(review)), {})
    return target / "index.html"


def _is_single_file(target: Path) -> bool:
    return target.suffix.lower() in (".html", ".htm")


def _one_file(target: Path, text: str) -> Path:
    if target.is_dir():
        raise UsageRefused("is a directory", place=str(target), step="choose a name without .html for a directory")
    replace_file(target, [text])
    return target
