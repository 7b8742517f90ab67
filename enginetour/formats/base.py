"""The Format protocol, the registry of formats, and replay: the state is a fold over the event log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from importlib import import_module
from math import floor
from typing import Annotated, Any, ClassVar, Protocol, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic import Field as Setting

from enginetour.formats.pairing.field import NEITHER, Board, Field, Paired
from enginetour.formats.pairing.schedule import MOST_EACH, fair_count
from enginetour.model.errors import did_you_mean
from enginetour.model.game import Entrant, Event, Note, Pairing, StandingsRow

# The Format protocol, the registry of formats, and replay: the state is a fold over the event log.


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


FEWEST = 2  # a round has two sides
_NAMED = 5  # entrants in a message

GamesOfMatch = Annotated[
    int, Setting(ge=1, le=MOST_EACH, description="games of one match: 1 or an even number"), AfterValidator(fair_count)
]
ForbidFamily = Annotated[
    bool, Setting(description="whether entrants of one family must not meet, unless there is no round without")
]
Strict = Annotated[
    bool,
    Setting(description="whether to stop when no round is left without a rematch; else the fewest, oldest ones"),
]


def listed(names: Sequence[str]) -> str:
    """The first five names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def lists_as_tuples(value: object) -> object:
    """Return TOML's lists as tuples, in a table too."""
    if isinstance(value, dict):
        return {key: lists_as_tuples(each) for key, each in value.items()}
    return tuple(value) if isinstance(value, list) else value


RoundsByName = Annotated[
    dict[str, tuple[Annotated[int, Setting(ge=1, le=1000)], ...]], BeforeValidator(lists_as_tuples)
]


@dataclass(frozen=True, slots=True)
class RequestedByes:
    """Who is away in which rounds, by name: without points, or with half of what a match is worth."""

    absent: Mapping[str, Collection[int]]
    half_bye: Mapping[str, Collection[int]]

    def __bool__(self) -> bool:
        return bool(self.absent or self.half_bye)

    def check(self, names: Sequence[str], rounds: int) -> None:
        """ValueError: nobody of that name, a round that does not come, both kinds at once, a round without a pair."""
        for key, asked in (("absent", self.absent), ("half_bye", self.half_bye)):
            for name, missed in asked.items():
                if name not in names:
                    raise ValueError(f"{key} names {name!r}, who is no entrant{did_you_mean(name, names)}")
                if max(missed, default=0) > rounds:
                    raise ValueError(f"{key} of {name} has round {max(missed)}, the last is {rounds}")
                if both := sorted(set(missed) & set(self.absent.get(name, ()))) if key == "half_bye" else ():
                    raise ValueError(f"{name} is absent in round {both[0]} and has a half-point bye there: one of them")
        for number in range(1, rounds + 1):
            there = sum(not self.takes(name, number) for name in names)
            if there < FEWEST:
                raise ValueError(f"absent and half_bye leave fewer than two entrants in round {number}")

    def takes(self, name: str, number: int) -> bool:
        """Whether somebody is away in that round."""
        return number in self.absent.get(name, ()) or self.halves(name, number)

    def halves(self, name: str, number: int) -> bool:
        """Whether it is away with a half-point bye."""
        return number in self.half_bye.get(name, ())


BY_RATING = (
    "time odds by difference in rating; none by default. A table with per (100 points a band), correction (1), "
    "ceiling (9) and threshold (none)"
)


class RatingHandicap(BaseModel):
    """When and how much the stronger gives, in bands; correction and ceiling as OpenGotha 3.51 has them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, validate_default=True)

    per: float = Setting(
        default=100.0, gt=0, allow_inf_nan=False, description="points of difference in rating that give one band"
    )
    correction: int = Setting(default=1, ge=0, le=50, description="bands that are not given")
    ceiling: int = Setting(default=9, ge=1, le=50, description="most bands given")
    threshold: float | None = Setting(
        default=None, allow_inf_nan=False, description="rating from which on all count as equal; none by default"
    )

    def between(self, one: float | None, other: float | None) -> int:
        """Bands that `one` gives `other`, below 0 those it takes; without both ratings the game is even."""
        if one is None or other is None:
            return 0
        if self.threshold is not None:
            one, other = min(one, self.threshold), min(other, self.threshold)
        given = min(max(floor(abs(one - other) / self.per) - self.correction, 0), self.ceiling)
        return given if one > other else -given

    def check(self, ratings: Mapping[str, float | None]) -> None:
        """ValueError names the first of those without a rating, and the key."""
        unrated = [name for name, rating in ratings.items() if rating is None]
        if unrated:
            raise ValueError(
                f"the handicap goes by ratings and {listed(unrated)} has none: give rating = ..., or leave handicap out"
            )

    def seated(self, field: Field, paired: Paired) -> Paired:
        """The round with its odds; where there are any, the stronger has White."""
        boards = []
        for board in paired.boards:
            given = self.between(field.members[board.white].rating, field.members[board.black].rating)
            seats = (board.white, board.black) if given >= 0 else (board.black, board.white)
            boards.append(Board(*seats, abs(given)))
        return replace(paired, boards=tuple(boards))


def without_odds_colours(field: Field) -> Field:
    """As systems should see it that count colours: who had which in a game at odds was not theirs to say."""
    history = tuple(
        tuple(replace(turn, colour=NEITHER) if turn.handicap else turn for turn in row) for row in field.history
    )
    return replace(field, history=history)


class ColourOptions(BaseModel):
    """Settings of formats in which `colours_by` decides who has White; other settings of colours are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, validate_default=True)

    colours_by: ClassVar[str] = "the balance of colours so far"

    @model_validator(mode="before")
    @classmethod
    def _not_ours(cls, settings: object) -> object:
        for key in ("swap", "reverse"):
            if isinstance(settings, Mapping) and key in settings and key not in cls.model_fields:
                raise ValueError(
                    f"{key} is for match, roundrobin, gauntlet and scheveningen: here {cls.colours_by} decides who has "
                    "White; leave it out"
                )
        return settings
