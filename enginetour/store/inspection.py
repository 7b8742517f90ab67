"""A database gone over from pages to published lists: everything in it that can be had twice is, and compared.

All of it is read in one unchanging view, so that a tournament may go on meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TypeVar

from enginetour.model.errors import StoreRefused, TourError
from enginetour.model.game import fixed
from enginetour.store import soundness
from enginetour.store.cells import UNREADABLE, odd_cells
from enginetour.store.editions import Edition, Line, edition, edition_of, editions_of
from enginetour.store.imports import imports_of
from enginetour.store.lists import list_of
from enginetour.store.log import TournamentLog
from enginetour.store.repairs import damages
from enginetour.store.replay import audit, format_of
from enginetour.store.revisions import lists_of, revisions_of
from enginetour.store.selected import selected
from enginetour.store.serveraddress import Address
from enginetour.store.store_lists import settings_of
from enginetour.store.tables import SCHEMA_VERSION
from enginetour.store.tournaments import Store

T = TypeVar("T")
SAME = 1e-6  # Elo; what ratings may differ by and share a rank, far below the last digit that is shown


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, and where."""

    place: str
    what: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was gone over and what was found. `unreplayed`: logs of format versions that are not ours to replay."""

    tournaments: int
    games: int
    imports: int
    editions: int
    findings: tuple[Finding, ...]
    unreplayed: tuple[Finding, ...]
    repairable: int = 0  # of the findings, those that ``db repair`` repairs

    def to_json(self) -> dict[str, object]:
        """Ready for json.dumps."""
        return {"schema": SCHEMA_VERSION, "sound": not self.findings, **asdict(self)}


def inspect(store: Store) -> Inspection:
    """Go over everything; reading never stops at a finding."""
    with store.database.still():
        return _Round(store).all()


def oddity(path: Address) -> str:
    """The first thing that is found, "" in a sound database: whose fault it is that its rows could not be read."""
    with Store.open(path, create=False, readonly=True) as store:
        found = inspect(store).findings
    return f"{found[0].place}: {found[0].what}" if found else ""


class _Round:
    """One inspection under way."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.findings: list[Finding] = []
        self.unreplayed: list[Finding] = []
        self.repairable = 0

    def all(self) -> Inspection:
        """Pages first: where they are damaged, whatever else is found may come from that."""
        database = self.store.database
        self._note("pages", soundness.pages(database))
        self._note("rows", odd_cells(database))
        self._repairable()
        tournaments = self._listed("tournaments", lambda: self.store.tournaments())
        for line in tournaments:
            for log in self._log("tournament", line.name, line.edition):
                self._tournament(log)
        imports = self._listed("imports", lambda: soundness.imports(database))
        for name, number in imports:
            for log in self._log("import", name, number):
                self._note(f"import {log.title}", soundness.imported(database, log.id))
        self._note("imports", soundness.doubled(database))
        self._note("imports", self._shapes(lambda: imports_of(database)))
        self._note("ratings", soundness.streams(database))
        self._listed("ratings", lambda: settings_of(self.store))
        for summary in self._listed("lists", lambda: lists_of(self.store)):
            self._list(summary.revision.name)
        editions = self._listed("editions", lambda: editions_of(self.store))
        for head in editions:
            self._note(f"edition {head.number} of {head.name}", self._edition(head))
        games = sum(line.games for line in tournaments)
        counts = (len(tournaments), games, len(imports), len(editions))
        return Inspection(*counts, tuple(self.findings), tuple(self.unreplayed), self.repairable)

    def _repairable(self) -> None:
        """What ``db repair`` repairs."""
        for damage in self._listed("entrants", lambda: damages(self.store.database)):
            self.findings.append(Finding(f"tournament {damage.tournament}", damage.what))
            self.repairable += 1

    def _log(self, kind: str, name: str, number: int) -> list[TournamentLog]:
        """That one, or none where it cannot be read."""
        return self._listed(f"{kind} {name} #{number}", lambda: [self.store.tournament(name, number)])

    def _tournament(self, log: TournamentLog) -> None:
        place = f"tournament {log.title}"
        self._note(place, soundness.order(log))
        self._note(place, soundness.unreadable(log))
        self._note(place, soundness.miscounted(log.database, log.id))
        self._note(place, self._replay(log))
        self._note(place, self._shapes(lambda: [one for _, one in log.incidents()]))

    def _replay(self, log: TournamentLog) -> Iterator[str]:
        try:
            format_of(log)
        except StoreRefused as refused:
            self.unreplayed.append(Finding(f"tournament {log.title}", refused.what))
            return
        try:
            audit(log)
        except StoreRefused as refused:
            yield refused.what

    def _list(self, name: str) -> None:
        self._listed(f"list {name}", lambda: revisions_of(self.store, name))

    def _shapes(self, read: Callable[[], Iterable[object]]) -> Iterator[str]:
        """Nouns with a field of another type, once they are read."""
        yield from filter(None, map(soundness.misshapen, read()))

    def _edition(self, head: Edition) -> Iterator[str]:
        definitions = {revision.number: revision.definition for revision in revisions_of(self.store, head.name)}
        stored = edition(self.store, head.name, head.number)
        if odd := soundness.misshapen(stored):
            yield odd
            return
        selection = selected(self.store, definitions[head.revision], head.moment)
        again = edition_of(head.name, head.revision, selection, list_of(self.store, selection))
        if stored.games != again.games:
            yield f"published from {stored.games} games, its filter now finds {again.games} of then"
        yield from _lines(stored.lines, again.lines)

    def _note(self, place: str, found: Iterable[str]) -> None:
        try:
            with self.store.database.apart():
                for words in found:
                    self.findings.append(Finding(place, words))
        except UNREADABLE as error:
            cause = getattr(error, "orig", None) or error  # of an error of SQLAlchemy, which tells the statement too
            words = error.what if isinstance(error, TourError) else f"{type(cause).__name__}: {cause}"
            self.findings.append(Finding(place, f"cannot be read: {' '.join(words.split())}"))

    def _listed(self, place: str, read: Callable[[], list[T]]) -> list[T]:
        found: list[T] = []

        def reading() -> Iterator[str]:
            found.extend(read())
            yield from ()

        self._note(place, reading())
        return found


def _lines(stored: tuple[Line, ...], again: tuple[Line, ...]) -> Iterator[str]:
    """The first line that differs, and how many do."""
    here, there = ({line.name: line for line in lines} for lines in (stored, again))
    differing = [name for name in {**here, **there} if not _same(here.get(name), there.get(name))]
    if differing:
        name = differing[0]
        was, now = (_words(lines.get(name)) for lines in (here, there))
        yield f"{len(differing)} lines are not what its games give; {name}: published {was}, now {now}"


def _same(one: Line | None, other: Line | None) -> bool:
    if one is None or other is None:
        return False
    counts = [(line.games, line.wins, line.draws, line.losses) for line in (one, other)]
    return counts[0] == counts[1] and abs(one.rating - other.rating) <= SAME


def _words(line: Line | None) -> str:
    return "not at all" if line is None else f"{fixed(line.rating, 2)} from +{line.wins} ={line.draws} -{line.losses}"
