"""The Format protocol, the registry of formats, and replay: the state is a fold over the event log."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from importlib import import_module
from typing import Any, Protocol, Self, TypeVar

from enginetour.model.game import Entrant, Event, Note, Pairing, StandingsRow


@dataclass(frozen=True, slots=True)
class FormatState:
    """A moment of a tournament, with every decision so far."""

    notes: tuple[Note, ...] = field(default=(), kw_only=True)

    def noted(self, kind: str, text: str, **fields: object) -> Self:
        """Return the same moment with one decision more on record."""
        return replace(self, notes=(*self.notes, Note(kind, text, tuple(fields.items()))))


S = TypeVar("S", bound=FormatState)


class Format(Protocol[S]):
    """Decides who plays whom. Pure: no clock, no files, no global random numbers.

    An offer is a promise: `step` takes back no pairing except the one just played
    and those of an entrant that withdrew, so games in flight stay valid.

    One exception: a match under a sequential test ends with its verdict. From then on it offers nothing at all and
    nothing remains; games in flight are still taken, and count for the strength but not for the verdict. Nothing
    short of voiding a game the verdict rests on brings offers back, and then all those that were open return.
    """

    version: int

    def start(self, entrants: tuple[Entrant, ...]) -> S:
        """The state before the first game; entrants best first."""

    def offers(self, state: S) -> tuple[Pairing, ...]:
        """Games that may be played now, in the order wished; a window, empty only if none is left."""

    def ahead(self, _state: S) -> tuple[Pairing, ...]:
        """Games that are not on offer yet and sure to be; they may be played now, to keep slots busy. By default none.

        Their results are held back until they are due: nothing depends on whether anybody looked ahead. One that was
        begun is taken, whoever comes or goes meanwhile, and counts for the strength alone if it is never due.
        """
        return ()

    def step(self, state: S, event: Event) -> S:
        """The state after one event of the log. ValueError: the event cannot have happened here."""

    def remaining(self, state: S) -> tuple[int, int]:
        """Fewest and most games still to come."""

    def likely(self, state: S) -> int:
        """Best guess of the games still to come, within the bounds of `remaining`; by default their middle."""
        return sum(self.remaining(state)) // 2

    def standings(self, state: S) -> tuple[StandingsRow, ...]:
        """The table now, best first, whoever withdrew at the end."""

    def notes(self, state: S) -> tuple[Note, ...]:
        """Every decision so far, oldest first; a step only ever appends."""
        return state.notes


@dataclass(frozen=True, slots=True)
class System:
    """One line of the registry. The module is imported only when the system is used."""

    factory: str  # module.Class, called with options; ClassOptions is the frozen pydantic model of these
    summary: str
    source: str
    rounds: bool = False  # the factory makes a pairing system, which the format of rounds plays

    def load(self, suffix: str = "") -> Any:
        """Import the factory, or what has its name and this suffix."""
        module, name = self.factory.split(".")
        return getattr(import_module(f"enginetour.formats.{module}"), name + suffix)


SYSTEMS: dict[str, System] = {
    "bubble": System(
        "bubble.Bubble",
        "bubbling round robin with parking: a complete ranking for a fraction of a round robin",
        "H.G. Muller, WinBoard forum, 19 June 2007",
    ),
    "roundrobin": System(
        "roundrobin.RoundRobin",
        "everybody against everybody, in cycles",
        "Berger tables, FIDE C.05 annex 1",
    ),
    "gauntlet": System(
        "roundrobin.Gauntlet",
        "one or several seeds against all the others",
        "as cutechess and fastchess",
    ),
    "scheveningen": System(
        "roundrobin.Scheveningen",
        "two teams, everybody against everybody of the other team",
        "the Scheveningen tournament of 1923",
    ),
    "cup": System(
        "knockout.Cup",
        "knock-out: who loses a match is out",
        "Vuorinen 2010; seeds folded as usual",
        rounds=True,
    ),
    "double-elimination": System(
        "elimination.DoubleElimination",
        "who loses two matches is out",
        "Vuorinen 2010 (score form); two trees (fixed form)",
        rounds=True,
    ),
    "match": System(
        "match.Match",
        "two entrants, a number of games or a sequential test that ends it",
        "Wald 1945; Van den Bergh (fishtest)",
    ),
    "dutch": System(
        "dutch.Dutch",
        "FIDE Swiss: score groups, colours, floats, by the rules of chess federations",
        "FIDE Handbook C.04.3, Dutch system, in force since 2026",
        rounds=True,
    ),
    "swiss": System(
        "dutch.Dutch",
        "another name of dutch: what chess users mean by a Swiss",
        "as dutch",
        rounds=True,
    ),
    "entropy": System(
        "information.Entropy",
        "the games whose results are hardest to foretell; ranked by rating",
        "Vuorinen 2010, 2.2",
        rounds=True,
    ),
    "gor-drift": System(
        "information.Drift",
        "the largest expected change of Go ratings: points added to the pool, or moved",
        "Vuorinen 2010, 2.2.2",
        rounds=True,
    ),
    "probe": System(
        "information.Probe",
        "winners aimed above the strongest they beat, losers below: finds the level of newcomers",
        "Vuorinen 2010, grade probing",
        rounds=True,
    ),
    "accelrat": System(
        "accelrat.AccelRat",
        "rounds between near ratings, re-rated after each; ratings rank, not points",
        "AccelRat of the American Go Association",
        rounds=True,
    ),
    "gopair": System(
        "gopair.Gopair",
        "rounds weighed by rating, wins and family; the best games are kept for later",
        "gopair manual, Augustin 2005",
        rounds=True,
    ),
    "mcmahon": System(
        "mcmahon.McMahon",
        "the stronger start with more points, so near strengths meet; today's Gotha criteria",
        "Vuorinen 2010; OpenGotha 3.51",
        rounds=True,
    ),
    "swiss-gotha": System(
        "swiss.SwissGotha",
        "Swiss by one weighing of scores, floats, seeding, colours; today's Gotha criteria",
        "Vuorinen 2010; OpenGotha 3.51",
        rounds=True,
    ),
    "swiss-cat": System(
        "swiss.SwissCat",
        "the same inside categories of like rating, which meet only where they must",
        "OpenGotha 3.51",
        rounds=True,
    ),
    "gotha-2005": System(
        "mcmahon.Gotha2005",
        "McMahon by the older Gotha function",
        "Gotha documentation, about 2005",
        rounds=True,
    ),
    "gerlach": System(
        "mcmahon.Gerlach",
        "McMahon with floats that even SOS; a reconstruction of MacMahon",
        "C. Gerlach, MacMahon: only its architecture is public",
        rounds=True,
    ),
    "godraw": System(
        "godraw.GoDraw",
        "McMahon by lot inside score groups, guided by origin, family and colours",
        "GoDraw, as described by Vuorinen 2010",
        rounds=True,
    ),
    "epm": System(
        "epm.Epm",
        "McMahon by floats from the middle and backtracking through lists of opponents",
        "EPM, as described by Vuorinen 2010; weights of Gotha 2005",
        rounds=True,
    ),
}


def refuse_twice(names: Iterable[str], what: str) -> None:
    """Raise ValueError that names the first `what` that stands there twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} {name} stands there twice")
        seen.add(name)


def check_present(name: str, names: Collection[str], gone: Collection[str], what: str = "tournament") -> None:
    """Raise ValueError unless `name` is one of the entrants and has not withdrawn."""
    if name not in names:
        raise ValueError(f"{name} is not in this {what}")
    if name in gone:
        raise ValueError(f"{name} has withdrawn already")


def options_model(name: str) -> Any:
    """The pydantic model of a system's settings; KeyError for an unknown name."""
    return SYSTEMS[name].load("Options")


def own_decisions(name: str) -> dict[str, str]:
    """What a system in rounds decides where its settings leave it the choice, or have none: table, rests, byes."""
    found: dict[str, str] = {}
    if SYSTEMS[name].rounds:
        found = SYSTEMS[name].load().own_decisions(options_model(name))
    return found


def make_format(name: str, options: Any, seed: int = 1) -> Format[Any]:
    """The format of that name with validated options; `seed` is all its chance. KeyError for an unknown name."""
    made = SYSTEMS[name].load()(options)
    if SYSTEMS[name].rounds:
        from enginetour.formats.rounds import Rounds

        made = Rounds(made, seed)
    found: Format[Any] = made
    return found


def replay(format_: Format[S], entrants: tuple[Entrant, ...], events: Iterable[Event]) -> S:
    """Fold a log: the one way to a state, for starting, resuming and auditing alike."""
    return reduce(format_.step, events, format_.start(entrants))
