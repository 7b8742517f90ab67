"""The contents of the site of a league: seasons, tournaments, engines, and one rating list of all divisions."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from itertools import pairwise
from typing import Any

from enginetour.formats.league import Move
from enginetour.model.errors import UsageRefused
from enginetour.model.game import StandingsRow
from enginetour.ratings.matrices import group_difference
from enginetour.ratings.ratinglist import RatingList, rating_list
from enginetour.reports.forecast import FEWEST, prospect_at
from enginetour.reports.league import division_rows
from enginetour.reports.review.engines import page_slugs
from enginetour.store.games import TournamentReader
from enginetour.store.replay import fold
from enginetour.store.seasons import SeasonBook, Stage, StageResult, seasons_of
from enginetour.store.selection import Pentanomial, pentanomials_of_tournament
from enginetour.store.tournaments import Store

# What is known about each tournament. It only changes with its log, so a site keeps it for the next time.

_SIMULATIONS = 50  # of a forecast: the site of a large league shall be written within 3 s after each hundred games
_SIMULATED = 20_000  # games; if they are simulated one by one, all simulations together play at most this number


class Facts:
    """Results of tournaments, ready for JSON. `known` has those of an earlier site, which are used if they still hold.

    `found` maps the slug of each tournament that was read to its key and its facts.
    """

    def __init__(self, known: Mapping[str, Any] = {}) -> None:
        self._known = known
        self.found: dict[str, tuple[str, dict[str, Any]]] = {}

    def of(self, log: TournamentReader) -> dict[str, Any]:
        """Return the facts of a tournament."""
        if log.slug not in self.found:
            key = f"{log.id} {log.created_unix} {log.last_position}"
            old = self._known.get(log.slug)
            # The facts always are what a JSON reader makes of them, so that it does not matter where they come from.
            facts = old[1] if old and old[0] == key else json.loads(json.dumps(_facts_of(log)))
            self.found[log.slug] = key, facts
        return self.found[log.slug][1]

    def result(self, log: TournamentReader) -> StageResult:
        """Return the result of a tournament of a season."""
        found = self.of(log)
        rows = (
            StandingsRow(rank, name, points, games, status, tuple((code, value) for code, value in breaks), unplayed)
            for rank, name, points, games, status, breaks, unplayed in found["standings"]
        )
        remaining = tuple(found["remaining"])
        return StageResult(tuple(rows), found["finished"], remaining, found["counted"], found["verdict"])


def _facts_of(log: TournamentReader) -> dict[str, Any]:
    format_, state = fold(log)
    result = StageResult.of(log, format_, state)
    forecast = None
    count = _SIMULATIONS
    if format_.rest(state) is None:
        count = min(count, _SIMULATED // max(1, result.remaining[1]))
    if not result.is_finished and count >= FEWEST:
        with suppress(UsageRefused):
            forecast = prospect_at(log, format_, state).forecast(count).to_json()
    return {
        "standings": [astuple(row) for row in result.standings],
        "finished": result.is_finished,
        "remaining": result.remaining,
        "verdict": result.verdict,
        "counted": result.games,
        "games": log.last_number,
        "last_at": log.last_at,
        "counts": [[*pair, *counts] for pair, counts in sorted(log.pair_counts().items())],
        "pentanomials": [[*pair, list(counts)] for pair, counts in pentanomials_of_tournament(log).items()],
        "forecast": forecast,
    }


# The league.

Results = tuple[int, int, int]
"""Numbers of games that an engine won, drew and lost."""


@dataclass(frozen=True, slots=True)
class Played:
    """A tournament of a season that has begun, with its facts."""

    season: int
    stage: Stage
    log: TournamentReader
    facts: Mapping[str, Any]

    @property
    def address(self) -> str:
        """The address of its page."""
        return f"tournaments/{self.log.slug}.html"

    def counts(self) -> dict[tuple[str, str], Results]:
        """Return wins, draws and losses of White by (White, Black)."""
        return {(white, black): (wins, draws, losses) for white, black, wins, draws, losses in self.facts["counts"]}

    def cross_results(self) -> dict[str, dict[str, Results]]:
        """Return wins, draws and losses of each engine against each opponent."""
        found: dict[str, dict[str, Results]] = defaultdict(dict)
        for (white, black), (wins, draws, losses) in self.counts().items():
            for one, other, own in ((white, black, (wins, draws, losses)), (black, white, (losses, draws, wins))):
                found[one][other] = sum_results(found[one].get(other, (0, 0, 0)), own)
        return found


def sum_results(one: Results, other: Results) -> Results:
    """Add two results."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an engine in a season."""

    season: int
    name: str
    stage: Stage  # the tournament of its division
    rank: int | None  # place in the division; None if it left
    overall: int | None  # place in the league, counted from the top of the first division; None if it left
    points: float
    games: int
    zone: str  # promotion, relegation or a playoff, "" for none; or why it leaves


@dataclass(frozen=True, slots=True)
class SeasonReview:
    """A season: its book, its tournaments that have begun, and the places of all divisions, best first."""

    number: int
    book: SeasonBook
    played: tuple[Played, ...]
    places: tuple[Place, ...]

    @property
    def address(self) -> str:
        """The address of its page."""
        return f"seasons/{self.number}.html"

    @property
    def is_finished(self) -> bool:
        """Return whether no game remains."""
        return not self.book.playable()

    @property
    def games(self) -> int:
        """The number of games so far, with void games."""
        return sum(one.facts["games"] for one in self.played)

    @property
    def moves(self) -> tuple[Move, ...]:
        """How the season followed from the season before."""
        return self.book.stored.season.moves

    def move_of(self, name: str) -> Move | None:
        """Return how an engine came to its division, or None if it stayed there."""
        return next((move for move in self.moves if move.engine == name), None)


@dataclass(frozen=True, slots=True)
class Gap:
    """The difference between two neighboring divisions: of their mean ratings, in Elo, with half its 95 % interval."""

    upper: str
    lower: str
    difference: float
    error: float


@dataclass(frozen=True, slots=True)
class LeagueReview:
    """Everything on the pages of a league except its games. Seasons are oldest first.

    `slugs` maps each engine to the name of its page. `ratings` is None before the first game.
    """

    name: str
    seasons: tuple[SeasonReview, ...]
    ratings: RatingList | None
    gaps: tuple[Gap, ...]
    slugs: Mapping[str, str]

    @property
    def newest(self) -> SeasonReview:
        """The newest season."""
        return self.seasons[-1]

    @property
    def played(self) -> list[Played]:
        """All tournaments that have begun, those of the newest season first."""
        return [one for season in reversed(self.seasons) for one in season.played]

    @property
    def places(self) -> dict[str, list[Place]]:
        """The places of each engine, the oldest first."""
        found: dict[str, list[Place]] = {name: [] for name in self.slugs}
        for season in self.seasons:
            for place in season.places:
                found[place.name].append(place)
        return found


def league_review(store: Store, name: str, facts: Facts) -> LeagueReview:
    """Read everything that the site of a league shows."""
    seasons = tuple(
        _season(SeasonBook(store, stored, facts.result), stored.number, facts) for stored in seasons_of(store, name)
    )
    everything = [one for season in seasons for one in season.played]
    engines = [name for season in seasons for name in season.book.stored.season.engines]
    engines += [row[1] for one in everything for row in one.facts["standings"]]
    engines += [place.name for season in seasons for place in season.places]
    ratings = _ratings(everything)
    return LeagueReview(name, seasons, ratings, tuple(_gaps(ratings, seasons[-1])), page_slugs(engines))


def _season(book: SeasonBook, number: int, facts: Facts) -> SeasonReview:
    played = tuple(
        Played(number, stage, stage.log, facts.of(stage.log)) for stage in book.stages() if stage.log is not None
    )
    places, overall = list[Place](), 0
    for stage in book.divisions:
        for row in division_rows(book, stage):
            overall += row["rank"] is not None
            rank = row["rank"]
            here = None if rank is None else overall
            places.append(Place(number, row["name"], stage, rank, here, row["points"], row["games"], row["zone"]))
    return SeasonReview(number, book, played, tuple(places))


def _ratings(played: Iterable[Played]) -> RatingList | None:
    """Rate the even games of all tournaments together by maximum likelihood."""
    counts: dict[tuple[str, str], Results] = {}
    openings: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for one in played:
        for pair, results in one.counts().items():
            counts[pair] = sum_results(counts.get(pair, (0, 0, 0)), results)
        for first, second, found in one.facts["pentanomials"]:
            openings[first, second].update(dict(enumerate(found)))
    if not any(map(sum, counts.values())):
        return None
    sums: dict[tuple[str, str], Pentanomial] = {
        pair: (found[0], found[1], found[2], found[3], found[4]) for pair, found in openings.items()
    }
    return rating_list(counts, openings=sums)


def _gaps(ratings: RatingList | None, season: SeasonReview) -> Iterable[Gap]:
    """Yield the differences of neighboring divisions that the games connect."""
    if ratings is None:
        return
    rated = {row.name for row in ratings.rows}
    divisions = [(stage.label, [name for name in stage.ranked if name in rated]) for stage in season.book.divisions]
    for (upper, above), (lower, below) in pairwise(divisions):
        if (found := group_difference(ratings, above, below)) is not None:
            yield Gap(upper, lower, *found)
