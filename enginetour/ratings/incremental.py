"""Incremental ratings, game by game or event by event: the calculation that Elo and the Go systems share.

A rule defines the expected score and the size of changes. This module applies the rule to the games in their order.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum
from typing import Any, Literal, NamedTuple, Protocol

# Rated games are the input, and rating events are the output. Both are named tuples, because each game makes two events
# and it takes nearly four times as long to create a frozen dataclass.

LARGEST = 1_000_000  # points; far above the ratings of all lists, and a double still resolves 1e-9 points


class RatedGame(NamedTuple):
    """One rated game. `game` increases in the order of the event log; `event` names the tournament edition.

    `handicap` is the number of bands or stones that White gives. It is negative if Black gives them.
    """

    white: str
    black: str
    white_half_points: int  # 0, 1, 2
    game: int
    event: str = ""
    handicap: int = 0


class RatingEvent(NamedTuple):
    """One change of one engine's rating. `game` is None for systems that rate a whole event at once.

    `weight` is the factor K (Elo) or con (EGF) that was used. `games` is the engine's number of rated games after this
    event.
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


# Engine versions: if a list allows it, a new version inherits the rating of its predecessor. The predecessor is the
# newest rated version with the same name. If there is none, it is the newest rated engine of the same family. The
# newest version is the one that entered the database last. A version is rated if it has at least one rated game when
# the new version plays its first game.

# A version starts with a digit, optionally after "v", at the start of a word or after a hyphen or underscore.
_VERSION = re.compile(r"(?<=\S)[\s_-]+[vV]?\d.*", re.DOTALL)


def stem(name: str) -> str:
    """Return a name without its version and the text after it: ``Toga II`` for ``Toga II 1.4 64-bit``."""
    return _VERSION.sub("", name)


class Version(NamedTuple):
    """An engine version: its name in games, its name without the version, and its family ("" without a family)."""

    engine: str
    name: str
    family: str = ""


class _Counted(Protocol):
    @property
    def games(self) -> int:
        """Return the number of rated games."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """The relatives of every engine: first the engines with the same name, then those of its family; newest first."""

    relatives: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]

    def predecessor(self, engine: str, standings: Mapping[str, _Counted]) -> str | None:
        """Return the newest relative that has a rated game in `standings`, or None if no relative has one."""
        for kind in self.relatives.get(engine, ()):
            for relative in kind:
                if relative != engine and relative in standings and standings[relative].games:
                    return relative
        return None


def lineage(versions: Iterable[Version]) -> Lineage:
    """Return the relatives of each version. `versions` are in the order of entry into the database, oldest first."""
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


# Rating of games, one by one or event by event.

Mode = Literal["sequential", "batch"]
EventTallies = dict[tuple[str, str, int], tuple[int, int, int]]
"""Results in one event: (White, Black, handicap that White gives) -> White's (wins, draws, losses)."""


class Standing(NamedTuple):
    """An engine's rating, its highest rating (including the start rating) and its number of rated games."""

    rating: float
    peak: float
    games: int = 0


@dataclass(frozen=True, slots=True)
class Rule(ABC):
    """The formulas of a rating system. Its `settings` have `mode`, `start_value` and `inherit`."""

    settings: Any
    system: str  # name of the system, which every rating event contains

    @property
    def mode(self) -> Mode:
        """Return "sequential" if ratings change after every game, or "batch" if they change after every event."""
        mode: Mode = self.settings.mode
        return mode

    def entry(self) -> float:
        """Return the rating of an engine without a start rating."""
        return float(self.settings.start_value)

    @abstractmethod
    def weight(self, standing: Standing, event: str, /) -> float:
        """Return the factor of a rating change (K or con), in points per game."""

    def bonus(self, _standing: Standing, _event: str, /) -> float:
        """Return the points that every game adds to a rating, independent of the result; here, none."""
        return 0.0

    @abstractmethod
    def expected(self, white: float, black: float, handicap: int, /) -> tuple[float, float]:
        """Return the expected scores of White and Black if White gives this handicap. Their sum need not be 1."""

    def settle(self, rating: float) -> float:
        """Return the rating, limited to the range of the system; here, it has no limits."""
        return rating


@dataclass(frozen=True, slots=True)
class RatingState:
    """The ratings before a game. With a `lineage`, engines without a start rating inherit the predecessor's rating."""

    rule: Rule
    standings: Mapping[str, Standing]
    lineage: Lineage | None = None

    def newcomer(self, engine: str, standings: Mapping[str, Standing]) -> Standing:
        """Return an engine's rating before its first game. `standings` are the ratings of all engines at that time."""
        before = None if self.lineage is None else self.lineage.predecessor(engine, standings)
        entry = self.rule.entry() if before is None else standings[before].rating
        return Standing(entry, entry)


def begin(rule: Rule, start: Mapping[str, float], lineage: Lineage | None = None) -> RatingState:
    """Return the state before the first game. `start` contains the start ratings of engines.

    The `lineage` counts only if new versions inherit ratings.
    """
    relatives = lineage if rule.settings.inherit else None
    return RatingState(rule, {name: Standing(rating, rating) for name, rating in start.items()}, relatives)


def rate(games: Iterable[RatedGame], state: RatingState) -> list[RatingEvent]:
    """Rate games in log order and return the rating events.

    There are two events per game, one for each engine. In batch mode there is one event per engine and tournament.
    Batch mode rates tournaments in the order of their first games, even if they ran at the same time.
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
    """Rate one tournament after another, each as a whole and with the ratings before it.

    The rating events of a tournament are sorted by engine name. Sums are rounded exactly, so the order of games in a
    tournament does not change the result.
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
        raise ValueError(f"game {game.game}: {game.white} plays against itself, so the game cannot be rated")
    return game.white, game.black, game.handicap


def _changed(
    rule: Rule, engine: str, before: Standing, surprise: float, games: int, event: str, game: int | None
) -> tuple[Standing, RatingEvent]:
    """Return the standing after a change, and its event.

    `change` in the event is the result of the formula. `after` is additionally limited to the range of the system.
    """
    rating, peak, played = before
    weight = rule.weight(before, event)
    change = weight * surprise + games * rule.bonus(before, event)
    after = rule.settle(rating + change)
    played += games
    written = RatingEvent(rule.system, engine, event, game, rating, change, after, weight, played)
    return Standing(after, max(peak, after), played), written
