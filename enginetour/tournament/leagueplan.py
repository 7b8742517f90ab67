"""Plan of a league: simulate its seasons in processes, and summarize hours, stability and the way of new engines.

The first season begins in the order of the prior ratings. After it, one new engine joins the league, as strong as the
mean of a division. The other engines do not change.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from math import inf
from statistics import fmean, median
from typing import Any, cast

from enginetour.formats.base import Counts, Format, make_format, options_model
from enginetour.formats.forecast import FixedRest
from enginetour.formats.league import Rules, Season, SeasonResult, first_season, next_season, playoff_pairs
from enginetour.formats.simulation import Population, SimulationModel, middle_80, play_on, population_of
from enginetour.model.errors import UsageRefused
from enginetour.model.game import RESULTS, Entrant
from enginetour.model.timecontrol import TimeControl, expected_seconds
from enginetour.reports.sheet import Column, Sheet, format_duration, percent_format
from enginetour.store.seasons import Kind
from enginetour.tournament.config.league import CrossTable, League, StagePlan
from enginetour.tournament.config.load import Config
from enginetour.tournament.simulating import Simulators

# Simulated seasons.

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


# The plan: simulations in processes, and their summary.


@dataclass(frozen=True, slots=True)
class LeagueForecast:
    """The simulated seasons of a league.

    Attributes:
        rows: for each division: name, games and hours of a season, kept (share of the engines that stay), belong (share
            that is in the right division by strength), the number of seasons until a new engine of its strength plays
            in it (seasons: median, low and high: 80 %), and reached (share of the simulations in which it does).
        simulations: number of simulations.
        seasons: number of seasons of each simulation.
        playoff_games: mean number of games of all playoffs.
        cross_games: mean number of games between divisions in the first season; None if there are none.
        hours: hours of a season; None if a time control has no time limit.
    """

    rows: tuple[Mapping[str, Any], ...]
    simulations: int
    seasons: int
    playoff_games: float
    cross_games: float | None
    hours: float | None

    def sheet(self, name: str) -> Sheet:
        """Return the forecast as a table."""
        hours = "unknown hours" if self.hours is None else format_duration(self.hours * 3600)
        extra = [f"{self.playoff_games:.0f} games of playoffs"] if self.playoff_games else []
        extra += [] if self.cross_games is None else [f"{self.cross_games:.0f} games between divisions"]
        notes = (
            f"a season takes about {hours}" + (f", with {' and '.join(extra)}" if extra else ""),
            f"{self.simulations} simulations of {self.seasons} seasons; a new engine joins after season 1",
            "stay: engines of the division that stay in it; belong: engines that are in the right division by strength",
            "seasons: until a new engine, as strong as the mean of the division, plays in it (median, 80 % interval)",
        )
        return Sheet(f"plan of {name}", _COLUMNS, self.rows, notes=notes)


_COLUMNS = (
    Column("name", "division", left=True),
    Column("games", "games", form=lambda games: f"{games:.0f}"),
    Column("hours", "hours", form=lambda hours: "" if hours is None else f"{hours:.1f}"),
    Column("kept", "stay", form=percent_format(0)),
    Column("belong", "belong", form=percent_format(0)),
    Column("seasons", "seasons"),
    Column("low", "from"),
    Column("high", "to"),
    Column("reached", "reached", form=percent_format(0)),
)


def plan_league(
    league: League,
    *,
    seasons: int,
    most: int,
    processes: int,
    limit: float,
    world: SimulationModel,
    seed: int,
    progress: Callable[[float], None],
) -> LeagueForecast:
    """Simulate a league. Raise UsageRefused for too few engines, or if no simulation has finished in time.

    There are at most `most` simulations, the same number for each division, and none ends later than `limit` seconds
    after the begin. `progress` receives the finished share.
    """
    configs = [_config(league, number) for number in range(len(league.section.divisions))]
    needed = sum(league.section.rules().sizes)
    if len(league.members) < needed:
        what = f"the divisions need {needed} engines (found {len(league.members)})"
        raise UsageRefused(what, place=str(league.path), step="add entrants or reduce sizes")
    tiers = len(configs)
    tasks = [(number, number % tiers) for number in range(max(1, most // tiers) * tiers)]
    found: dict[int, list[SimulatedLeague]] = {tier: [] for tier in range(tiers)}
    begun, deadline = time.monotonic(), time.monotonic() + limit
    simulation = _Simulation(_model(league, configs, seasons), world, seed, deadline)
    with Simulators(simulation.play, processes) as simulators:
        for (_, tier), course in simulators.play(tasks, deadline, deadline):
            if course is not None:
                found[tier].append(course)
            done = sum(map(len, found.values()))
            progress(min(1.0, max(done / len(tasks), (time.monotonic() - begun) / limit)))
    if not all(found.values()):
        what = f"some divisions were not simulated within {limit:.0f} s"
        raise UsageRefused(what, place="plan", step=f"use fewer seasons than --seasons {seasons}")
    return _summary(league, configs, found, seasons)


def _config(league: League, number: int) -> Config:
    division = league.section.divisions[number]
    return league.config(1, StagePlan("division", division.name, number, ()))


def _model(league: League, configs: Sequence[Config], seasons: int) -> LeagueModel:
    """Return the model of the league, with entrants in the order of their ratings and without strengths."""
    section = league.section
    kinds: tuple[Kind, ...] = ("qualifier", "playoff")
    qualifier, playoff = (league.config(1, StagePlan(kind, kind, 0, ())).make_format() for kind in kinds)
    ranked = sorted(league.members, key=lambda name: -league.ratings.get(name, -inf))
    known = league.ratings.keys() >= {*ranked}
    entrants = tuple(Entrant(name, rating=league.ratings.get(name) if known else None) for name in ranked)
    formats = tuple(config.make_format() for config in configs)
    unplayed = Population(entrants, {}, SimulationModel(), "")
    cross = None
    if section.cross is not None:
        cross = partial(_cross_format, section.cross, league.base.play.concurrency, section.seed)
    return LeagueModel(section.rules(), formats, qualifier, playoff, cross, unplayed, seasons)


def _cross_format(
    table: CrossTable, slots: int, seed: int, tables: Sequence[Sequence[str]], results: Counts
) -> tuple[Sequence[str], Format[Any]]:
    names, words = table.matches(tables, results, slots)
    options = {key: value for key, value in words.items() if key != "system"}
    return names, make_format(words["system"], options_model(words["system"]).model_validate(options), seed)


class _Late(Exception):
    """Raised in a simulation after the time limit."""


_CROSSED = 16  # simulations with games between divisions: a choice of games takes longer than all divisions


@dataclass(frozen=True, slots=True)
class _Simulation:
    """What a process needs for its simulations: it is sent once."""

    model: LeagueModel
    world: SimulationModel
    seed: int
    deadline: float

    def play(self, number: int, tier: int) -> SimulatedLeague | None:
        """Simulate one league; return None after the time limit."""
        population = population_of(self.world, self.model.population.entrants, f"{self.seed}:{number}")
        level = fmean(population.strengths.values())
        centered = {name: strength - level for name, strength in population.strengths.items()}
        cross = self.model.cross if number < _CROSSED else None
        model = replace(self.model, population=replace(population, strengths=centered), cross=cross)
        try:
            self._check()
            return model.play(tier, self._check)
        except _Late:
            return None

    def _check(self) -> None:
        if time.monotonic() > self.deadline:
            raise _Late


def _summary(
    league: League, configs: Sequence[Config], found: Mapping[int, Sequence[SimulatedLeague]], seasons: int
) -> LeagueForecast:
    courses = [course for part in found.values() for course in part]
    slots, rows, total = league.base.play.concurrency, [], 0.0
    for tier, config in enumerate(configs):
        games, seconds = fmean(course.games[tier] for course in courses), _seconds(config)
        hours = None if seconds is None else games * seconds / slots / 3600
        total += inf if hours is None else hours
        times = [float(seasons if one.seasons is None else one.seasons) for one in found[tier]]
        low, high = middle_80(times) if len(times) > 1 else (times[0], times[0])
        rows.append({
            "name": config.tournament.name.removeprefix(f"{league.name} S1 "),
            "games": games,
            "hours": hours,
            "kept": fmean(course.kept[tier] for course in courses),
            "belong": fmean(course.belong[tier] for course in courses),
            "seasons": median(times),
            "low": low,
            "high": high,
            "reached": fmean(one.seasons is not None for one in found[tier]),
        })  # fmt: skip
    playoffs = fmean(course.playoffs for course in courses)
    crossed = [course.cross for course in courses if course.cross is not None]
    cross = fmean(crossed) if crossed else None
    kinds: tuple[tuple[Kind, float | None], ...] = (("playoff", playoffs), ("cross", cross))
    for kind, count in kinds:
        if count:
            seconds = _seconds(league.config(1, StagePlan(kind, kind, 0, (), {"system": "roundrobin"})))
            total += inf if seconds is None else count * seconds / slots / 3600
    return LeagueForecast(tuple(rows), len(courses), seasons, playoffs, cross, None if total == inf else total)


def _seconds(config: Config) -> float | None:
    """Return the expected seconds of a game of a division."""
    play = config.play
    return expected_seconds([TimeControl.parse(key or play.tc) for key in (play.white_tc, play.black_tc)])
