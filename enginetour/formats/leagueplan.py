"""Simulated seasons of a league: how stable its divisions are, and how soon a new engine reaches its division.

The first season begins in the order of the prior ratings. After it, one new engine joins the league, as strong as the
mean of a division. The other engines do not change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from statistics import fmean
from typing import Any, cast

from enginetour.formats.base import Counts, Format
from enginetour.formats.forecast import FixedRest
from enginetour.formats.league import Rules, Season, SeasonResult, first_season, next_season, playoff_pairs
from enginetour.formats.simulation import Population, play_on
from enginetour.model.game import RESULTS, Entrant

NEWCOMER = "new engine"


@dataclass(frozen=True, slots=True)
class SimulatedLeague:
    """The course of a simulated league.

    Attributes:
        games: games of each division, as means over the seasons.
        playoffs: games of all playoffs, as mean over the seasons.
        cross: games between divisions in the first season; None if they are not simulated.
        kept: for each division, the share of its engines that stay in it for the next season.
        belong: for each division, the share of its engines that belong in it by their true strengths, as mean over the
            seasons.
        seasons: number of seasons in which the new engine played until it first played in its division, with that
            season; None if it did not reach it.
    """

    games: tuple[float, ...]
    playoffs: float
    cross: int | None
    kept: tuple[float, ...]
    belong: tuple[float, ...]
    seasons: int | None


@dataclass(frozen=True)
class LeagueModel:
    """What is simulated.

    Attributes:
        rules: the rules of the league.
        formats: the format of each division.
        qualifier: the format of the qualifier.
        playoff: the format of a playoff match, whose first entrant is the lower engine.
        cross: returns the entrants and the format of the matches between divisions, from the tables of the divisions
            and their results; None if there are none. They do not decide places.
        population: the engines with their true strengths; entrants are in the order of their prior ratings.
        seasons: number of seasons.
    """

    rules: Rules
    formats: tuple[Format[Any], ...]
    qualifier: Format[Any]
    playoff: Format[Any]
    cross: Callable[[Sequence[Sequence[str]], Counts], tuple[Sequence[str], Format[Any]]] | None
    population: Population
    seasons: int

    def play(self, tier: int, check: Callable[[], None] = lambda: None) -> SimulatedLeague:
        """Simulate seasons with a new engine for a division. An exception that `check` raises ends the simulation."""
        rules, names = self.rules, [entrant.name for entrant in self.population.entrants]
        season = first_season(replace(rules, new="bottom"), names)
        strengths = dict(self.population.strengths)
        strengths[NEWCOMER] = fmean(strengths[name] for name in season.divisions[tier])
        games: list[list[int]] = [[] for _ in rules.sizes]
        playoffs, cross, reached = list[int](), None, None
        kept, belong = ([list[float]() for _ in rules.sizes] for _ in range(2))
        for number in range(1, self.seasons + 1):
            play = _Play(self, strengths, number, check)
            if season.qualifier:
                season = season.settled(play.table(self.qualifier, season.qualifier)[0])
            if reached is None and any(NEWCOMER in division for division in season.divisions[: tier + 1]):
                reached = number - 1
            for place, best in enumerate(self._by_strength(season, strengths)):
                belong[place].append(len(best.intersection(season.divisions[place])) / len(best))
            tables, results = list[tuple[str, ...]](), dict[tuple[str, str], tuple[int, int, int]]()
            for place, (format_, engines) in enumerate(zip(self.formats, season.divisions, strict=True)):
                table, found = play.table(format_, engines)
                tables.append(table)
                results |= found
                games[place].append(sum(map(sum, found.values())))
            if self.cross is not None and number == 1:
                paired, format_ = self.cross(tables, results)
                cross = sum(map(sum, play.played(format_, paired)[1].values()))
            matches = {border: play.matches(tables, border) for border in range(len(tables) - 1)}
            playoffs.append(play.extra)
            present = [*names, NEWCOMER]
            ratings = {name: strengths[name] for name in present}
            following = next_season(rules, season, SeasonResult(tuple(tables), matches), present, ratings=ratings)
            for place, (before, after) in enumerate(zip(season.divisions, following.divisions, strict=True)):
                kept[place].append(len(set(before) & set(after)) / len(before))
            season = following
        means = [tuple(map(fmean, each)) for each in (games, kept, belong)]
        return SimulatedLeague(means[0], fmean(playoffs), cross, means[1], means[2], reached)

    def _by_strength(self, season: Season, strengths: Mapping[str, float]) -> Iterator[set[str]]:
        """Yield the engines of each division if the divisions were sorted by strength."""
        names = sorted((name for division in season.divisions for name in division), key=lambda name: -strengths[name])
        for size in self.rules.sizes:
            yield set(names[:size])
            del names[:size]


@lru_cache(maxsize=64)
def _fixed_games(format_: Any, count: int) -> FixedRest | None:
    """Return the games between entrants named by their places in the starting list.

    Return None if results change the games. `format_` is a format.
    """
    if getattr(getattr(format_, "options", None), "handicap", None) is not None:  # it depends on the ratings
        return None
    rest = format_.rest(format_.start(tuple(Entrant(str(place)) for place in range(count))))
    return None if rest is None else FixedRest.of(rest)


class _Play:
    """Plays the tournaments of one simulated season; `extra` counts the games of playoffs."""

    def __init__(
        self, model: LeagueModel, strengths: Mapping[str, float], number: int, check: Callable[[], None]
    ) -> None:
        self.model, self.strengths, self.number, self.check = model, strengths, number, check
        self.extra = 0

    def played(self, format_: Format[Any], engines: Sequence[str]) -> tuple[Any, Counts]:
        """Play a tournament game by game; return its last state and its results."""
        base = self.model.population
        entrants = tuple(Entrant(name, rating=base.world.level + self.strengths[name]) for name in engines)
        there = Population(entrants, self.strengths, base.world, f"{base.seed}:{self.number}")
        rounds, state = play_on(format_, format_.start(entrants), there, self.check)
        counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        for pairing, outcome in chain(*rounds):
            counts[pairing.white, pairing.black][RESULTS.index(outcome)] += 1
        return state, {pair: (found[0], found[1], found[2]) for pair, found in counts.items()}

    def table(self, format_: Format[Any], engines: Sequence[str]) -> tuple[tuple[str, ...], Counts]:
        """Return the table of a tournament, best first, and the results of its games.

        If no result changes the games, the results of equal games are drawn together. This is much faster for thousands
        of games.
        """
        base, fixed = self.model.population, _fixed_games(cast("Any", format_), len(engines))
        if fixed is not None:
            self.check()
            strengths = {str(place): self.strengths[name] for place, name in enumerate(engines)}
            seed = f"{base.seed}:{self.number}:{','.join(engines)}"
            results = fixed.results(Population((), strengths, base.world, seed))
            lines = fixed.rest.table(results)
            named = {(engines[int(white)], engines[int(black)]): counts for (white, black), counts in results.items()}
            return tuple(engines[int(line.name)] for line in lines), named
        state, counts = self.played(format_, engines)
        return tuple(line.name for line in format_.standings(state)), counts

    def matches(self, tables: Sequence[Sequence[str]], border: int) -> list[tuple[str, str, bool]]:
        """Play the playoffs at a border."""
        found, format_ = list[tuple[str, str, bool]](), self.model.playoff
        for upper, lower in playoff_pairs(self.model.rules, tables, border):
            state, counts = self.played(format_, (lower, upper))
            self.extra += sum(map(sum, counts.values()))
            points = {line.name: line.half_points for line in format_.standings(state)}
            walk = getattr(state, "walk", None)
            found.append((upper, lower, state.verdict == "H1" if walk else points[lower] > points[upper]))
        return found
