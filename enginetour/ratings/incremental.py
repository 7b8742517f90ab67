"""Incremental ratings, game by game or event by event: the shared fold of Elo and the Go systems.

A rule says what is expected and how much a surprise weighs; the fold keeps the standings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum
from typing import Literal, NamedTuple, Protocol

# Games that rating systems read, and events that they write.
#
# Both are named tuples: a fold makes two events a game, and a frozen dataclass takes nearly four times as long.

CAPTION = "incremental: no error can be given; more games, surer ratings"
LARGEST = 1_000_000  # points; no list spans a hundredth of it, and a double still tells a 1e-9th of one


class RatedGame(NamedTuple):
    """A game as rating systems see it. `game` grows in log order; `event` names the tournament edition.

    `handicap`: bands or stones that White gives, below 0 those that Black gives.
    """

    white: str
    black: str
    white_half_points: int  # 0, 1, 2
    game: int
    event: str = ""
    handicap: int = 0


class RatingEvent(NamedTuple):
    """One change of one rating, append-only. `game` is None for systems that rate a whole event at once.

    `weight` is the K or con that was used; `games` counts the engine's rated games after this event.
    """

    system: str
    engine: str
    event: str
    game: int | None
    before: float
    change: float
    after: float
    weight: float
    games: int


# Engine versions: whose rating a new version inherits, where a list asks for it.
#
# The predecessor is the newest rated version of the same name, else the newest rated engine of the same family. Newest
# is what entered the store last; rated is what has a rated game by then.

# A version begins with a digit, perhaps behind a v, at the beginning of a word or behind a hyphen or underscore.
_VERSION = re.compile(r"(?<=\S)[\s_-]+[vV]?\d.*", re.DOTALL)


def stem(name: str) -> str:
    """A name without its version, and what follows that: ``Toga II 1.4 64-bit`` is a ``Toga II``."""
    return _VERSION.sub("", name)


class Version(NamedTuple):
    """An engine version as the games name it; an empty family is none."""

    engine: str
    name: str
    family: str = ""


class _Counted(Protocol):
    """Anything that knows how many rated games it has."""

    @property
    def games(self) -> int:
        """Rated ones, so far."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """Relatives of every engine, newest first: those of its name, then those of its family."""

    relatives: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]

    def predecessor(self, engine: str, standings: Mapping[str, _Counted]) -> str | None:
        """Its newest relative with a rated game among `standings`; None for the first of its kind."""
        for kind in self.relatives.get(engine, ()):
            for relative in kind:
                if relative != engine and relative in standings and standings[relative].games:
                    return relative
        return None


def lineage(versions: Iterable[Version]) -> Lineage:
    """Of versions in the order in which they came, oldest first."""
    known = list(versions)
    of_name: dict[str, list[str]] = {}
    of_family: dict[str, list[str]] = {}
    for version in reversed(known):
        of_name.setdefault(version.name, []).append(version.engine)
        if version.family:
            of_family.setdefault(version.family, []).append(version.engine)
    same_name = {name: tuple(engines) for name, engines in of_name.items()}
    same_family = {family: tuple(engines) for family, engines in of_family.items()}
    return Lineage({v.engine: (same_name[v.name], same_family.get(v.family, ())) for v in known})


# The fold over games, per game or per event.

Mode = Literal["sequential", "batch"]
EventTallies = dict[tuple[str, str, int], tuple[int, int, int]]
"""(White, Black, the handicap that White gives) -> White's wins, draws, losses in one event."""


class Standing(NamedTuple):
    """What an engine brings to its next game. `peak` includes the rating it entered with."""

    rating: float
    peak: float
    games: int = 0


class _Rule(Protocol):
    """The arithmetic of one rating system."""

    @property
    def system(self) -> str:
        """Name written into every rating event."""

    @property
    def mode(self) -> Mode:
        """After every game, or after every event from the ratings before it."""

    def entry(self) -> float:
        """Rating of an engine nobody gave one."""

    def weight(self, standing: Standing, event: str, /) -> float:
        """Points for one game won against all expectation (K, con)."""

    def bonus(self, standing: Standing, event: str, /) -> float:
        """Points for every game, whatever its result."""

    def expected(self, white: float, black: float, handicap: int, /) -> tuple[float, float]:
        """Expected scores of White, who gives this handicap, and Black; they need not sum to 1."""

    def settle(self, rating: float) -> float:
        """The rating as it is kept: floors and the like."""


@dataclass(frozen=True, slots=True)
class RatingState:
    """The standings before some game.

    With a `lineage` an engine that nobody gave a rating enters with that of its predecessor.
    """

    rule: _Rule
    standings: Mapping[str, Standing]
    lineage: Lineage | None = None

    def newcomer(self, engine: str, standings: Mapping[str, Standing]) -> Standing:
        """Return the standing an engine begins with, next to those the others have by then."""
        before = None if self.lineage is None else self.lineage.predecessor(engine, standings)
        entry = self.rule.entry() if before is None else standings[before].rating
        return Standing(entry, entry)


def begin(rule: _Rule, start: Mapping[str, float], lineage: Lineage | None = None) -> RatingState:
    """The state before the first game; `start` holds the ratings given to engines."""
    return RatingState(rule, {name: Standing(rating, rating) for name, rating in start.items()}, lineage)


def rate(games: Iterable[RatedGame], state: RatingState) -> list[RatingEvent]:
    """Rate games in log order: White's then Black's event for each game, or in batch mode one per engine and event.

    Batch mode takes events in the order of their first games, so tournaments that ran at the same time stay whole.
    """
    rule, standings = state.rule, dict(state.standings)
    if rule.mode == "batch":
        events: dict[str, EventTallies] = {}
        for game in games:
            tallies, half_points = events.setdefault(game.event, {}), game.white_half_points
            won, drawn, lost = tallies.get(pair := _pair(game), (0, 0, 0))
            tallies[pair] = won + (half_points == 2), drawn + (half_points == 1), lost + (half_points == 0)
        return rate_events(events, state)
    written: list[RatingEvent] = []
    for game in games:
        one, other, handicap = _pair(game)
        white = standings.get(one) or state.newcomer(one, standings)
        black = standings.get(other) or state.newcomer(other, standings)
        expected, scored = rule.expected(white.rating, black.rating, handicap), game.white_half_points / 2
        for name, before, surprise in ((one, white, scored - expected[0]), (other, black, 1 - scored - expected[1])):
            standings[name], event = _changed(rule, name, before, surprise, 1, game.event, game.game)
            written.append(event)
    return written


def rate_events(events: Mapping[str, EventTallies], state: RatingState) -> list[RatingEvent]:
    """Rate event after event as a whole, each from the ratings before it, engines by name.

    Sums are exactly rounded, so the order of the games inside an event does not matter to the last bit.
    """
    rule, standings = state.rule, dict(state.standings)
    written: list[RatingEvent] = []
    for event, tallies in events.items():
        names = {name for white, black, _ in tallies for name in (white, black)}
        before = {name: standings.get(name) or state.newcomer(name, standings) for name in names}
        surprises: dict[str, list[float]] = {name: [] for name in names}
        played = dict.fromkeys(names, 0)
        for (white, black, handicap), (won, drawn, lost) in tallies.items():
            games, points = won + drawn + lost, won + drawn / 2
            expected = rule.expected(before[white].rating, before[black].rating, handicap)
            for name, scored, hoped in ((white, points, expected[0]), (black, games - points, expected[1])):
                surprises[name].append(scored - games * hoped)
                played[name] += games
        for name in sorted(names):
            standings[name], one = _changed(rule, name, before[name], fsum(surprises[name]), played[name], event, None)
            written.append(one)
    return written


def _pair(game: RatedGame) -> tuple[str, str, int]:
    if game.white == game.black:
        raise ValueError(f"game {game.game}: {game.white} against itself cannot be rated")
    return game.white, game.black, game.handicap


def _changed(
    rule: _Rule, engine: str, before: Standing, surprise: float, games: int, event: str, game: int | None
) -> tuple[Standing, RatingEvent]:
    """`surprise` is score minus expectation. The event keeps the formula's change; a floor shows in `after` only."""
    rating, peak, played = before
    weight = rule.weight(before, event)
    change = weight * surprise + games * rule.bonus(before, event)
    after = rule.settle(rating + change)
    played += games
    written = RatingEvent(rule.system, engine, event, game, rating, change, after, weight, played)
    return Standing(after, max(peak, after), played), written
