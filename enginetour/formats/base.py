"""The Format protocol, the registry of formats, and the replay of an event log."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from importlib import import_module
from math import floor
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Protocol, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic import Field as Setting

from enginetour.formats.pairing.field import NEITHER, Board, Field, Paired
from enginetour.formats.pairing.schedule import MOST_EACH, fair_count
from enginetour.model.errors import did_you_mean
from enginetour.model.game import Entrant, Event, Note, Pairing, StandingsRow
from enginetour.model.plugins import Registry
from enginetour.model.renamed import FORMER_NAMES


@dataclass(frozen=True, slots=True)
class FormatState:
    """State of a tournament at one moment, with all decisions made so far."""

    notes: tuple[Note, ...] = field(default=(), kw_only=True)

    def noted(self, kind: str, text: str, **fields: object) -> Self:
        """Return this state with one more decision recorded."""
        return replace(self, notes=(*self.notes, Note(kind, text, tuple(fields.items()))))


S = TypeVar("S", bound=FormatState)


Counts = Mapping[tuple[str, str], tuple[int, int, int]]
"""White's wins, draws and losses by (White, Black)."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Remaining games that do not depend on results; `table` returns the final table after their results."""

    games: tuple[Pairing, ...]
    table: Callable[[Counts], tuple[StandingsRow, ...]]


class Format(Protocol[S]):
    """Decide which entrants meet. A format does not use a clock, files or global random numbers.

    An offered game stays valid while it is played: `step` removes an offered pairing only if its game is finished or
    one of its entrants withdrew.

    There is one exception: a match with a sequential test does not offer games after its verdict. Games in progress at
    that time are accepted. They count for the rating difference but not for the verdict. If a game that led to the
    verdict is voided, all games that were offered before the verdict are offered again.
    """

    version: int
    # Kind of the notes that record that an entrant (field `engine`) leaves, and the words for it; None: there are none.
    departure: tuple[str, str] | None = None
    # Meanings of the codes in the table that differ from their usual ones.
    meanings: Mapping[str, str] = MappingProxyType({})
    # What happens if a game is voided and not offered again.
    after_void: str = "decisions based on it remain, but the ratings ignore it"
    # Results before this tournament that count for ratings.
    earlier: Counts = MappingProxyType({})

    def start(self, entrants: tuple[Entrant, ...]) -> S:
        """Return the state before the first game; `entrants` are in order of strength, best first."""

    def offers(self, state: S) -> tuple[Pairing, ...]:
        """Return games that can be played now, in the preferred order.

        The number of games may be limited. The result is empty only if no game is left.
        """

    def ahead(self, _state: S) -> tuple[Pairing, ...]:
        """Return games that are certain to be played but are not offered yet; the default is an empty tuple.

        They may be played early to use all slots. Their results are stored but do not count until the games are due, so
        early play does not change the tournament. A game that has started is always accepted. If it never becomes due,
        it counts for ratings only.
        """
        return ()

    def step(self, state: S, event: Event) -> S:
        """Return the state after one event of the log. Raises ValueError if the event is impossible in this state."""

    def steps(self, state: S, events: Iterable[Event]) -> S:
        """Return the state after several events, which is that of `step` for each of them in turn."""
        return reduce(self.step, events, state)

    def rest(self, _state: S) -> Rest | None:
        """Return all remaining games if no result changes them and the table needs only sums of results, or else None.

        The default is None.
        """
        return None

    def remaining(self, state: S) -> tuple[int, int]:
        """Return the fewest and the most games that are still to be played."""

    def likely(self, state: S) -> int:
        """Return an estimate of the remaining games; the default is the middle of the bounds from `remaining`."""
        return sum(self.remaining(state)) // 2

    def standings(self, state: S) -> tuple[StandingsRow, ...]:
        """Return the current table, best first, with withdrawn entrants at the end."""

    def notes(self, state: S) -> tuple[Note, ...]:
        """Return all decisions so far, oldest first; a step only adds decisions."""
        return state.notes


@dataclass(frozen=True, slots=True)
class System:
    """One entry of the registry; its module is imported only when the system is used."""

    # `module:Class`, called with an instance of its options model `ClassOptions`
    factory: str
    summary: str
    source: str
    rounds: bool = False  # whether the factory is a PairingSystem, which needs the format `Rounds`
    seeded: bool = False  # whether the factory also takes the random seed
    # Returns settings for the laws of `enginetour.testing`, chosen with a random generator for a number of entrants.
    examples: Callable[[Any, int], dict[str, object]] | None = None

    def load(self, suffix: str = "") -> Any:
        """Import the factory, or the object of its module that has the same name plus `suffix`."""
        module, _, name = self.factory.partition(":")
        return getattr(import_module(module, __package__), name + suffix)

    def fault(self) -> str:
        """Return what is wrong with the factory or its options, for plug-ins; "" if they are valid."""
        made, model = self.load(), self.load("Options")
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return f"{self.factory}Options must be a pydantic model"
        if self.rounds:
            from enginetour.formats.rounds import PairingSystem

            return "" if issubclass(made, PairingSystem) else f"{self.factory} must be a PairingSystem"
        lacking = [name for name in _REQUIRED if getattr(made, name, None) is getattr(Format, name, None)]
        return f"{self.factory} has no {lacking[0]}" if lacking else ""


_REQUIRED = ("version", "start", "offers", "step", "remaining", "standings")
CONTRACT = 1  # version of the contract of a format, for plug-ins

_OWN: dict[str, System] = {
    "bubble": System(
        ".bubble:Bubble",
        "bubbling round robin with parking: a complete ranking with far fewer games than a round robin",
        "H.G. Muller, WinBoard forum, 19 June 2007",
    ),
    "roundrobin": System(
        ".roundrobin:RoundRobin",
        "every entrant meets every other entrant once per cycle",
        "Berger tables, FIDE C.05 annex 1",
    ),
    "gauntlet": System(
        ".roundrobin:Gauntlet",
        "one or several seeds meet all other entrants",
        "same as in cutechess and fastchess",
    ),
    "scheveningen": System(
        ".roundrobin:Scheveningen",
        "two teams; every entrant meets all entrants of the other team",
        "the Scheveningen tournament of 1923",
    ),
    "knockout": System(
        ".knockout:SingleElimination",
        "an entrant that loses a match is out",
        "Vuorinen 2010; standard seeding (first against last)",
        rounds=True,
    ),
    "double-elimination": System(
        ".elimination:DoubleElimination",
        "an entrant that loses two matches is out",
        "Vuorinen 2010 (score groups); two fixed brackets (fixed form)",
        rounds=True,
    ),
    "match": System(
        ".match:Match",
        "two entrants play a fixed number of games, or until a sequential test ends the match",
        "Wald 1945; Van den Bergh (fishtest)",
    ),
    "adaptive": System(
        ".adaptive:Adaptive",
        "plays the games that tell most about a goal, such as errors of 10 Elo or the best three, until it is reached",
        "Fedorov 1972 (optimal design); Davidson 1970",
        seeded=True,
    ),
    "dutch": System(
        ".dutch:Dutch",
        "FIDE Swiss: score groups, colors and floats by the rules of chess federations",
        "FIDE Handbook C.04.3, Dutch system, in force since 2026",
        rounds=True,
    ),
    "swiss": System(
        ".dutch:Dutch",
        "same as dutch, under the usual name among chess players",
        "same as dutch",
        rounds=True,
    ),
    "entropy": System(
        ".information:Entropy",
        "pairs entrants so that the results are as unpredictable as possible; ranks by rating",
        "Vuorinen 2010, 2.2",
        rounds=True,
    ),
    "gor-drift": System(
        ".information:Drift",
        "pairs entrants so that Go ratings are expected to change as much as possible; ranks by rating",
        "Vuorinen 2010, 2.2.2",
        rounds=True,
    ),
    "probe": System(
        ".information:Probe",
        "winners meet stronger entrants, losers weaker ones: finds the level of new engines quickly",
        "Vuorinen 2010, grade probing",
        rounds=True,
    ),
    "accelrat": System(
        ".accelrat:AccelRat",
        "pairs entrants of similar rating and updates the ratings after each round; ranks by rating",
        "AccelRat of the American Go Association",
        rounds=True,
    ),
    "gopair": System(
        ".gopair:Gopair",
        "weighs pairs by rating, wins and family; keeps the most interesting games for later rounds",
        "gopair manual, Augustin 2005",
        rounds=True,
    ),
    "mcmahon": System(
        ".mcmahon:McMahon",
        "stronger entrants start with more points, so similar strengths meet; OpenGotha criteria",
        "Vuorinen 2010; OpenGotha 3.51",
        rounds=True,
    ),
    "swiss-gotha": System(
        ".swiss:SwissGotha",
        "Swiss that weighs scores, floats, seeding and colors together; OpenGotha criteria",
        "Vuorinen 2010; OpenGotha 3.51",
        rounds=True,
    ),
    "swiss-cat": System(
        ".swiss:SwissCat",
        "swiss-gotha within rating categories; entrants of two categories meet only if necessary",
        "OpenGotha 3.51",
        rounds=True,
    ),
    "gotha-2005": System(
        ".mcmahon:Gotha2005",
        "McMahon with the older Gotha criteria",
        "Gotha documentation, about 2005",
        rounds=True,
    ),
    "gerlach": System(
        ".mcmahon:Gerlach",
        "McMahon that balances SOS by its choice of floats; a reconstruction of MacMahon",
        "C. Gerlach, MacMahon: only its architecture is public",
        rounds=True,
    ),
    "godraw": System(
        ".godraw:GoDraw",
        "McMahon by a random draw within score groups, guided by origin, family and colors",
        "GoDraw, as described by Vuorinen 2010",
        rounds=True,
    ),
    "epm": System(
        ".epm:Epm",
        "McMahon with floats from the middle of a group and backtracking through lists of opponents",
        "EPM, as described by Vuorinen 2010; weights of Gotha 2005",
        rounds=True,
    ),
}
SYSTEMS = Registry("enginetour.formats", System, CONTRACT, _OWN, reserved=tuple(FORMER_NAMES), fault_of=System.fault)


def refuse_twice(names: Iterable[str], what: str) -> None:
    """Raise ValueError if a name is listed twice; `what` describes the names in the message."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} {name} is listed twice")
        seen.add(name)


def check_present(name: str, names: Collection[str], gone: Collection[str], what: str = "tournament") -> None:
    """Raise ValueError if `name` is not an entrant or has withdrawn; `what` describes `names` in the message."""
    if name not in names:
        raise ValueError(f"{name} is not in this {what}")
    if name in gone:
        raise ValueError(f"{name} has already withdrawn")


def options_model(name: str) -> Any:
    """Return the pydantic model of a system's settings. Raises KeyError for an unknown name."""
    return SYSTEMS[name].load("Options")


def setting_value(text: str) -> object:
    """Read the value of a setting that the user typed: TOML as in a configuration, or else text without quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # not TOML, a number with thousands of digits, or too many nested brackets
        return text


def own_decisions(name: str) -> dict[str, str]:
    """Return the system's own rules for settings without a value: table order, byes, and rounds without a game.

    The result is empty for systems that are not played in rounds.
    """
    found: dict[str, str] = {}
    if SYSTEMS[name].rounds:
        found = SYSTEMS[name].load().own_decisions(options_model(name))
    return found


def make_format(name: str, options: Any, seed: int = 1) -> Format[Any]:
    """Return the format with this name and these validated options. Raises KeyError for an unknown name.

    All random decisions of the format are derived from `seed`.
    """
    system = SYSTEMS[name]
    made = system.load()(options, seed) if system.seeded else system.load()(options)
    if system.rounds:
        from enginetour.formats.rounds import Rounds

        made = Rounds(made, seed)
    found: Format[Any] = made
    return found


def replay(format_: Format[S], entrants: tuple[Entrant, ...], events: Iterable[Event]) -> S:
    """Return the state after all events of a log; used to start, resume and audit a tournament."""
    return format_.steps(format_.start(entrants), events)


FEWEST = 2  # smallest number of entrants in a round
_NAMED = 5  # number of entrants shown in an error message

GamesOfMatch = Annotated[
    int,
    Setting(ge=1, le=MOST_EACH, description="Number of games per match: 1 or an even number."),
    AfterValidator(fair_count),
]
ForbidFamily = Annotated[
    bool, Setting(description="Do not pair entrants of the same family, unless no other round is possible.")
]
Strict = Annotated[
    bool,
    Setting(
        description="Stop if every possible round has a rematch; false: play the round with the fewest and oldest "
        "rematches."
    ),
]


def listed(names: Sequence[str]) -> str:
    """Join the first five names and add the number of further names."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def lists_as_tuples(value: object) -> object:
    """Return lists as tuples, also inside a table or a list, because frozen models need hashable values."""
    if isinstance(value, dict):
        return {key: lists_as_tuples(each) for key, each in value.items()}
    return tuple(map(lists_as_tuples, value)) if isinstance(value, list) else value


RoundsByName = Annotated[
    dict[str, tuple[Annotated[int, Setting(ge=1, le=1000)], ...]], BeforeValidator(lists_as_tuples)
]


@dataclass(frozen=True, slots=True)
class RequestedByes:
    """Rounds that each entrant misses: without points (`absent`) or with half of a match's points (`half_bye`)."""

    absent: Mapping[str, Collection[int]]
    half_bye: Mapping[str, Collection[int]]

    def __bool__(self) -> bool:
        return bool(self.absent or self.half_bye)

    def check(self, names: Sequence[str], rounds: int) -> None:
        """Raise ValueError for an unknown name or round, a round in both settings, or a round with one entrant."""
        for key, asked in (("absent", self.absent), ("half_bye", self.half_bye)):
            for name, missed in asked.items():
                if name not in names:
                    raise ValueError(f"{key}: {name!r} is not an entrant{did_you_mean(name, names)}")
                if max(missed, default=0) > rounds:
                    raise ValueError(
                        f"{key}: round {max(missed)} of {name} does not exist (the last round is {rounds})"
                    )
                if both := sorted(set(missed) & set(self.absent.get(name, ()))) if key == "half_bye" else ():
                    raise ValueError(
                        f"round {both[0]} of {name} is in both absent and half_bye. Hint: keep one of them"
                    )
        for number in range(1, rounds + 1):
            there = sum(not self.takes(name, number) for name in names)
            if there < FEWEST:
                raise ValueError(f"absent and half_bye leave fewer than two entrants in round {number}")

    def takes(self, name: str, number: int) -> bool:
        """Return whether an entrant misses this round."""
        return number in self.absent.get(name, ()) or self.halves(name, number)

    def halves(self, name: str, number: int) -> bool:
        """Return whether an entrant misses this round with a half-point bye."""
        return number in self.half_bye.get(name, ())


BY_RATING = (
    "Time odds by rating difference: a table with per (rating points per band, default 100), "
    "correction (in bands, default 1), ceiling (in bands, default 9) and threshold (a rating, default none). "
    "Default: no time odds."
)


class RatingHandicap(BaseModel):
    """Handicap in bands that the higher-rated engine gives; correction and ceiling as in OpenGotha 3.51."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, validate_default=True)

    per: float = Setting(default=100.0, gt=0, allow_inf_nan=False, description="Rating points per band.")
    correction: int = Setting(
        default=1, ge=0, le=50, description="Number of bands that are subtracted from the rating difference."
    )
    ceiling: int = Setting(default=9, ge=1, le=50, description="Largest handicap, in bands.")
    threshold: float | None = Setting(
        default=None,
        allow_inf_nan=False,
        description="Rating above which all entrants count as equal, in rating points. Default: none.",
    )

    def between(self, one: float | None, other: float | None) -> int:
        """Return the bands that `one` gives to `other`, negative if it receives them; 0 if a rating is missing."""
        if one is None or other is None:
            return 0
        if self.threshold is not None:
            one, other = min(one, self.threshold), min(other, self.threshold)
        given = min(max(floor(abs(one - other) / self.per) - self.correction, 0), self.ceiling)
        return given if one > other else -given

    def check(self, ratings: Mapping[str, float | None]) -> None:
        """Raise ValueError if an entrant has no rating."""
        unrated = [name for name, rating in ratings.items() if rating is None]
        if unrated:
            raise ValueError(
                f"handicap needs a rating for every entrant (missing: {listed(unrated)}). "
                "Hint: set rating = ... in the [[entrants]] section of each of these entrants, or remove handicap"
            )

    def seated(self, field: Field, paired: Paired) -> Paired:
        """Return the round with its handicaps; the engine that gives a handicap has White."""
        boards = []
        for board in paired.boards:
            given = self.between(field.members[board.white].rating, field.members[board.black].rating)
            seats = (board.white, board.black) if given >= 0 else (board.black, board.white)
            boards.append(Board(*seats, abs(given)))
        return replace(paired, boards=tuple(boards))


def without_odds_colors(field: Field) -> Field:
    """Return the field without the colors of handicap games, because the rating decided these colors."""
    history = tuple(
        tuple(replace(turn, color=NEITHER) if turn.handicap else turn for turn in row) for row in field.history
    )
    return replace(field, history=history)


class ColorOptions(BaseModel):
    """Settings of formats in which `colors_by` decides who has White; the keys `swap` and `reverse` are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, validate_default=True)

    colors_by: ClassVar[str] = "the balance of colors so far"

    @model_validator(mode="before")
    @classmethod
    def _color_keys(cls, settings: object) -> object:
        for key in ("swap", "reverse"):
            if isinstance(settings, Mapping) and key in settings and key not in cls.model_fields:
                raise ValueError(
                    f"{key} is only for match, roundrobin, gauntlet and scheveningen; "
                    f"here {cls.colors_by} decides who has White. Hint: remove {key}"
                )
        return settings
