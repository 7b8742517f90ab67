"""Incremental ratings, game by game or event by event: the shared fold of Elo and the Go systems.

A rule says what is expected and how much a surprise weighs; the fold keeps the books. The state is a persistent
value: keep one from before any event, `step` from there, and the floats are those of a full replay, bit by bit.
`rate` keeps its books in a dictionary while it runs, which is three times as quick; the arithmetic is the same code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Literal, NamedTuple, Protocol

from immutables import Map

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
EventTally = tuple[int, int, int]  # White's wins, draws, losses
Met = tuple[str, str, int]  # White, Black, the handicap that White gives
_Tallies = Mapping[Met, EventTally]  # of one event


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
    """All standings after the games so far; in batch mode also the tallies of the event still open.

    With a `lineage` an engine that nobody gave a rating enters with that of its predecessor.
    """

    rule: _Rule
    standings: Map[str, Standing] = field(default_factory=Map)
    event: str | None = None
    pending: Map[Met, EventTally] = field(default_factory=Map)
    lineage: Lineage | None = None

    def standing(self, engine: str) -> Standing:
        """Its books, or those of a new engine."""
        known = self.standings.get(engine)
        return known if known is not None else self.newcomer(engine, self.standings)

    def newcomer(self, engine: str, standings: Mapping[str, Standing]) -> Standing:
        """The books an engine begins with, beside those the others have by then."""
        before = None if self.lineage is None else self.lineage.predecessor(engine, standings)
        entry = self.rule.entry() if before is None else standings[before].rating
        return Standing(entry, entry)

    def ratings(self) -> dict[str, float]:
        """Every engine that was given a rating or has a rated game."""
        return {name: self.standings[name].rating for name in sorted(self.standings)}


def begin(rule: _Rule, start: Mapping[str, float], lineage: Lineage | None = None) -> RatingState:
    """The state before the first game; `start` holds the ratings given to engines."""
    standings = Map({name: Standing(rating, rating) for name, rating in start.items()})
    return RatingState(rule, standings, lineage=lineage)


def step(state: RatingState, game: RatedGame) -> tuple[RatingState, list[RatingEvent]]:
    """One game further. In batch mode a game of another event first closes the open one."""
    if state.rule.mode == "sequential":
        white, black = _rated(state.rule, game, state.standing(game.white), state.standing(game.black))
        standings = state.standings.set(game.white, white[0]).set(game.black, black[0])
        return replace(state, standings=standings), [white[1], black[1]]
    events: list[RatingEvent] = []
    if state.event != game.event:
        state, events = close(state)
    pair = _pair(game)
    pending = state.pending.set(pair, _counted(state.pending.get(pair, (0, 0, 0)), game))
    return replace(state, event=game.event, pending=pending), events


def close(state: RatingState) -> tuple[RatingState, list[RatingEvent]]:
    """Rate the open event as a whole, engines by name; nothing to do in sequential mode.

    Sums are exactly rounded, so the order of the games inside an event does not matter to the last bit.
    """
    closed = replace(state, event=None, pending=Map())
    return rate_event(closed, state.event or "", state.pending)


def rate_event(state: RatingState, event: str, tallies: _Tallies) -> tuple[RatingState, list[RatingEvent]]:
    """Rate the games of an event from the ratings before it, whatever the mode; writes as `close` does."""
    surprises: dict[str, list[float]] = {}
    played: dict[str, int] = {}
    before = {name: state.standing(name) for white, black, _ in tallies for name in (white, black)}
    for (white, black, handicap), (won, drawn, lost) in tallies.items():
        games, points = won + drawn + lost, won + drawn / 2
        expected = state.rule.expected(before[white].rating, before[black].rating, handicap)
        for name, scored, hoped in ((white, points, expected[0]), (black, games - points, expected[1])):
            surprises.setdefault(name, []).append(scored - games * hoped)
            played[name] = played.get(name, 0) + games
    rated = [
        _changed(state.rule, name, before[name], fsum(surprises[name]), played[name], event, None)
        for name in sorted(played)
    ]
    standings = state.standings.update({written.engine: standing for standing, written in rated})
    return replace(state, standings=standings), [written for _, written in rated]


def rate(games: Iterable[RatedGame], state: RatingState) -> tuple[RatingState, list[RatingEvent]]:
    """Fold games given in log order and close the last event.

    Batch mode takes events in the order of their first games, so tournaments that ran at the same time stay whole.
    """
    written: list[RatingEvent] = []
    if state.rule.mode == "batch":
        open_events = {} if state.event is None else {state.event: dict(state.pending)}
        state = replace(state, event=None, pending=Map())
        for event, tallies in _tallied(games, open_events).items():
            state, events = rate_event(state, event, tallies)
            written += events
        return state, written
    rule, standings = state.rule, dict(state.standings)
    for game in games:
        white = standings.get(game.white) or state.newcomer(game.white, standings)
        black = standings.get(game.black) or state.newcomer(game.black, standings)
        (standings[game.white], one), (standings[game.black], other) = _rated(rule, game, white, black)
        written.append(one)
        written.append(other)
    return replace(state, standings=Map(standings)), written


def _tallied(
    games: Iterable[RatedGame], begun: Mapping[str, dict[Met, EventTally]] | None = None
) -> dict[str, dict[Met, EventTally]]:
    """The games of each event added up, events by their first game, after those already `begun`."""
    events = dict(begun or {})
    for game in games:
        pair, tallies = _pair(game), events.setdefault(game.event, {})
        tallies[pair] = _counted(tallies.get(pair, (0, 0, 0)), game)
    return events


def _pair(game: RatedGame) -> Met:
    if game.white == game.black:
        raise ValueError(f"game {game.game}: {game.white} against itself cannot be rated")
    return game.white, game.black, game.handicap


def _counted(tally: EventTally, game: RatedGame) -> EventTally:
    won, drawn, lost = tally
    half_points = game.white_half_points
    return won + (half_points == 2), drawn + (half_points == 1), lost + (half_points == 0)


def _rated(
    rule: _Rule, game: RatedGame, white: Standing, black: Standing
) -> tuple[tuple[Standing, RatingEvent], tuple[Standing, RatingEvent]]:
    """Both sides from their ratings before the game."""
    names = _pair(game)
    expected = rule.expected(white.rating, black.rating, game.handicap)
    scored = game.white_half_points / 2
    return (
        _changed(rule, names[0], white, scored - expected[0], 1, game.event, game.game),
        _changed(rule, names[1], black, 1 - scored - expected[1], 1, game.event, game.game),
    )


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
