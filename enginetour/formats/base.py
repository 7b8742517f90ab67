"""The Format protocol, the registry of formats, and replay: the state is a fold over the event log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any, Protocol, TypeVar

from enginetour.model.game import Entrant, Event, Note, Pairing, StandingsRow

S = TypeVar("S")


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

    def ahead(self, state: S) -> tuple[Pairing, ...]:
        """Games that are not on offer yet and sure to be; they may be played now, to keep slots busy.

        Their results are held back until they are due: nothing depends on whether anybody looked ahead. One that was
        begun is taken, whoever comes or goes meanwhile, and counts for the strength alone if it is never due.
        """

    def step(self, state: S, event: Event) -> S:
        """The state after one event of the log. ValueError: the event cannot have happened here."""

    def remaining(self, state: S) -> tuple[int, int]:
        """Fewest and most games still to come."""

    def likely(self, state: S) -> int:
        """Best guess of the games still to come, within the bounds of `remaining`."""

    def standings(self, state: S) -> tuple[StandingsRow, ...]:
        """The table now, best first, whoever withdrew at the end."""

    def notes(self, state: S) -> tuple[Note, ...]:
        """Every decision so far, oldest first; a step only ever appends."""


@dataclass(frozen=True, slots=True)
class System:
    """One line of the registry. The module is imported only when the system is used."""

    name: str
    module: str
    factory: str  # callable(options: BaseModel) -> Format
    options: str  # the frozen pydantic model of its settings
    summary: str
    source: str
    rounds: bool = False  # the factory makes a pairing system, which the format of rounds plays


SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        System(
            "bubble",
            "enginetour.formats.bubble",
            "Bubble",
            "BubbleOptions",
            "bubbling round robin with parking: a complete ranking for a fraction of a round robin",
            "H.G. Muller, WinBoard forum, 19 June 2007",
        ),
        System(
            "roundrobin",
            "enginetour.formats.roundrobin",
            "RoundRobin",
            "RoundRobinOptions",
            "everybody against everybody, in cycles",
            "Berger tables, FIDE C.05 annex 1",
        ),
        System(
            "gauntlet",
            "enginetour.formats.roundrobin",
            "Gauntlet",
            "GauntletOptions",
            "one or several seeds against all the others",
            "as cutechess and fastchess",
        ),
        System(
            "scheveningen",
            "enginetour.formats.roundrobin",
            "Scheveningen",
            "ScheveningenOptions",
            "two teams, everybody against everybody of the other team",
            "the Scheveningen tournament of 1923",
        ),
        System(
            "cup",
            "enginetour.formats.knockout",
            "Cup",
            "CupOptions",
            "knock-out: who loses a match is out",
            "Vuorinen 2010; seeds folded as usual",
            rounds=True,
        ),
        System(
            "double-elimination",
            "enginetour.formats.elimination",
            "DoubleElimination",
            "EliminationOptions",
            "who loses two matches is out",
            "Vuorinen 2010 (score form); two trees (fixed form)",
            rounds=True,
        ),
        System(
            "match",
            "enginetour.formats.match",
            "Match",
            "MatchOptions",
            "two entrants, a number of games or a sequential test that ends it",
            "Wald 1945; Van den Bergh (fishtest)",
        ),
        System(
            "dutch",
            "enginetour.formats.dutch",
            "Dutch",
            "DutchOptions",
            "FIDE Swiss: score groups, colours, floats, by the rules of chess federations",
            "FIDE Handbook C.04.3, Dutch system, in force since 2026",
            rounds=True,
        ),
        System(
            "swiss",
            "enginetour.formats.dutch",
            "Dutch",
            "DutchOptions",
            "another name of dutch: what chess users mean by a Swiss",
            "as dutch",
            rounds=True,
        ),
        System(
            "entropy",
            "enginetour.formats.information",
            "Entropy",
            "EntropyOptions",
            "the games whose results are hardest to foretell; ranked by rating",
            "Vuorinen 2010, 2.2",
            rounds=True,
        ),
        System(
            "gor-drift",
            "enginetour.formats.information",
            "Drift",
            "DriftOptions",
            "the largest expected change of Go ratings: points added to the pool, or moved",
            "Vuorinen 2010, 2.2.2",
            rounds=True,
        ),
        System(
            "probe",
            "enginetour.formats.information",
            "Probe",
            "ProbeOptions",
            "winners aimed above the strongest they beat, losers below: finds the level of newcomers",
            "Vuorinen 2010, grade probing",
            rounds=True,
        ),
        System(
            "accelrat",
            "enginetour.formats.accelrat",
            "AccelRat",
            "AccelRatOptions",
            "rounds between near ratings, re-rated after each; ratings rank, not points",
            "AccelRat of the American Go Association",
            rounds=True,
        ),
        System(
            "gopair",
            "enginetour.formats.gopair",
            "Gopair",
            "GopairOptions",
            "rounds weighed by rating, wins and family; the best games are kept for later",
            "gopair manual, Augustin 2005",
            rounds=True,
        ),
        System(
            "mcmahon",
            "enginetour.formats.mcmahon",
            "McMahon",
            "McMahonOptions",
            "the stronger start with more points, so near strengths meet; today's Gotha criteria",
            "Vuorinen 2010; OpenGotha 3.51",
            rounds=True,
        ),
        System(
            "swiss-gotha",
            "enginetour.formats.swiss",
            "SwissGotha",
            "SwissGothaOptions",
            "Swiss by one weighing of scores, floats, seeding, colours; today's Gotha criteria",
            "Vuorinen 2010; OpenGotha 3.51",
            rounds=True,
        ),
        System(
            "swiss-cat",
            "enginetour.formats.swiss",
            "SwissCat",
            "SwissCatOptions",
            "the same inside categories of like rating, which meet only where they must",
            "OpenGotha 3.51",
            rounds=True,
        ),
        System(
            "gotha-2005",
            "enginetour.formats.mcmahon",
            "Gotha2005",
            "Gotha2005Options",
            "McMahon by the older Gotha function",
            "Gotha documentation, about 2005",
            rounds=True,
        ),
        System(
            "gerlach",
            "enginetour.formats.mcmahon",
            "Gerlach",
            "GerlachOptions",
            "McMahon with floats that even SOS; a reconstruction of MacMahon",
            "C. Gerlach, MacMahon: only its architecture is public",
            rounds=True,
        ),
        System(
            "godraw",
            "enginetour.formats.godraw",
            "GoDraw",
            "GoDrawOptions",
            "McMahon by lot inside score groups, guided by origin, family and colours",
            "GoDraw, as described by Vuorinen 2010",
            rounds=True,
        ),
        System(
            "epm",
            "enginetour.formats.epm",
            "Epm",
            "EpmOptions",
            "McMahon by floats from the middle and backtracking through lists of opponents",
            "EPM, as described by Vuorinen 2010; weights of Gotha 2005",
            rounds=True,
        ),
    )
}


def options_model(name: str) -> Any:
    """The pydantic model of a system's settings; KeyError for an unknown name."""
    system = SYSTEMS[name]
    return getattr(import_module(system.module), system.options)


def own_decisions(name: str) -> dict[str, str]:
    """What a system in rounds decides where its settings leave it the choice, or have none: table, rests, byes."""
    system = SYSTEMS[name]
    if not system.rounds:
        return {}
    made: Any = getattr(import_module(system.module), system.factory)
    found: dict[str, str] = made.own_decisions(options_model(name))
    return found


def make_format(name: str, options: Any, seed: int = 1) -> Format[Any]:
    """The format of that name with validated options; `seed` is all its chance. KeyError for an unknown name."""
    system = SYSTEMS[name]
    made: Any = getattr(import_module(system.module), system.factory)(options)
    if system.rounds:
        from enginetour.formats.rounds import Rounds

        made = Rounds(made, seed)
    found: Format[Any] = made
    return found


def replay(format_: Format[S], entrants: tuple[Entrant, ...], events: Iterable[Event]) -> S:
    """Fold a log: the one way to a state, for starting, resuming and auditing alike."""
    return reduce(format_.step, events, format_.start(entrants))
