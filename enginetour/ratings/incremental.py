"""Ratings that change game by game or event by event: one fold for Elo and the GoR family.

A rule says what is expected and how much a surprise weighs; the fold keeps the books. The state is a persistent
value: keep one from before any event, `step` from there, and the floats are those of a full replay, bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from math import fsum
from typing import Literal, Protocol

from immutables import Map

from enginetour.ratings.base import RatedGame, RatingEvent

Mode = Literal["sequential", "batch"]
Tally = tuple[int, int, int]  # White's wins, draws, losses


@dataclass(frozen=True, slots=True)
class Standing:
    """What an engine brings to its next game. `peak` includes the rating it entered with."""

    rating: float
    peak: float
    games: int = 0


class Rule(Protocol):
    """The arithmetic of one rating system."""

    @property
    def system(self) -> str:
        """Name written into every rating event."""
        ...

    @property
    def mode(self) -> Mode:
        """After every game, or after every event from the ratings before it."""
        ...

    def entry(self) -> float:
        """Rating of an engine nobody gave one."""
        ...

    def weight(self, standing: Standing, event: str, /) -> float:
        """Points for one game won against all expectation (K, con)."""
        ...

    def bonus(self, standing: Standing, event: str, /) -> float:
        """Points for every game, whatever its result."""
        ...

    def expected(self, white: float, black: float) -> tuple[float, float]:
        """Expected scores of White and Black; they need not sum to 1."""
        ...

    def settle(self, rating: float) -> float:
        """The rating as it is kept: floors and the like."""
        ...


@dataclass(frozen=True, slots=True)
class RatingState:
    """All standings after the games so far; in batch mode also the tallies of the event still open."""

    rule: Rule
    standings: Map[str, Standing] = field(default_factory=Map)
    event: str | None = None
    pending: Map[tuple[str, str], Tally] = field(default_factory=Map)

    def standing(self, engine: str) -> Standing:
        """Its books, or those of a new engine."""
        known = self.standings.get(engine)
        return known if known is not None else Standing(entry := self.rule.entry(), entry)

    def ratings(self) -> dict[str, float]:
        """Every engine that was given a rating or has a rated game."""
        return {name: self.standings[name].rating for name in sorted(self.standings)}


def begin(rule: Rule, start: Mapping[str, float]) -> RatingState:
    """The state before the first game; `start` holds the ratings given to engines."""
    return RatingState(rule, Map({name: Standing(rating, rating) for name, rating in start.items()}))


def step(state: RatingState, game: RatedGame) -> tuple[RatingState, list[RatingEvent]]:
    """One game further. In batch mode a game of another event first closes the open one."""
    if game.white == game.black:
        raise ValueError(f"game {game.game}: {game.white} against itself cannot be rated")
    if state.rule.mode == "sequential":
        return _rate_game(state, game)
    events: list[RatingEvent] = []
    if state.event != game.event:
        state, events = close(state)
    won, drawn, lost = state.pending.get((game.white, game.black), (0, 0, 0))
    tally = (
        won + (game.white_half_points == 2),
        drawn + (game.white_half_points == 1),
        lost + (game.white_half_points == 0),
    )
    return replace(state, event=game.event, pending=state.pending.set((game.white, game.black), tally)), events


def close(state: RatingState) -> tuple[RatingState, list[RatingEvent]]:
    """Rate the open event as a whole, engines by name; nothing to do in sequential mode.

    Sums are exactly rounded, so the order of the games inside an event does not matter to the last bit.
    """
    surprises: dict[str, list[float]] = {}
    played: dict[str, int] = {}
    for (white, black), (won, drawn, lost) in state.pending.items():
        games, points = won + drawn + lost, won + drawn / 2
        expected = state.rule.expected(state.standing(white).rating, state.standing(black).rating)
        for name, scored, hoped in ((white, points, expected[0]), (black, games - points, expected[1])):
            surprises.setdefault(name, []).append(scored - games * hoped)
            played[name] = played.get(name, 0) + games
    rated = [
        _changed(state, name, fsum(surprises[name]), played[name], state.event or "", None) for name in sorted(played)
    ]
    standings = state.standings.update({event.engine: standing for standing, event in rated})
    return RatingState(state.rule, standings), [event for _, event in rated]


def rate(games: Iterable[RatedGame], state: RatingState) -> tuple[RatingState, list[RatingEvent]]:
    """Fold games given in log order and close the last event.

    Batch mode takes events in the order of their first games, so tournaments that ran at the same time stay whole.
    """
    written: list[RatingEvent] = []
    for game in by_event(games) if state.rule.mode == "batch" else games:
        state, events = step(state, game)
        written += events
    state, events = close(state)
    return state, written + events


def by_event(games: Iterable[RatedGame]) -> Iterator[RatedGame]:
    """The games of each event together, events by their first game."""
    events: dict[str, list[RatedGame]] = {}
    for game in games:
        events.setdefault(game.event, []).append(game)
    return chain.from_iterable(events.values())


def _rate_game(state: RatingState, game: RatedGame) -> tuple[RatingState, list[RatingEvent]]:
    """Both sides from their ratings before the game."""
    expected = state.rule.expected(state.standing(game.white).rating, state.standing(game.black).rating)
    scored = game.white_half_points / 2
    white, white_event = _changed(state, game.white, scored - expected[0], 1, game.event, game.game)
    black, black_event = _changed(state, game.black, 1 - scored - expected[1], 1, game.event, game.game)
    standings = state.standings.set(game.white, white).set(game.black, black)
    return replace(state, standings=standings), [white_event, black_event]


def _changed(
    state: RatingState, engine: str, surprise: float, games: int, event: str, game: int | None
) -> tuple[Standing, RatingEvent]:
    """`surprise` is score minus expectation. The event keeps the formula's change; a floor shows in `after` only."""
    before = state.standing(engine)
    weight = state.rule.weight(before, event)
    change = weight * surprise + games * state.rule.bonus(before, event)
    after = state.rule.settle(before.rating + change)
    standing = Standing(after, max(before.peak, after), before.games + games)
    return standing, RatingEvent(
        state.rule.system, engine, event, game, before.rating, change, after, weight, standing.games
    )
