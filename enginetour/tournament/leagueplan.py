"""Plan of a league: simulate its seasons in processes, and summarize hours, stability and the way of new engines."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from statistics import fmean, median
from typing import Any

from enginetour.formats.base import Counts, Format, make_format, options_model
from enginetour.formats.leagueplan import LeagueModel, SimulatedLeague
from enginetour.formats.simulation import Population, SimulationModel, middle_80, population_of
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Entrant
from enginetour.model.timecontrol import TimeControl, expected_seconds
from enginetour.reports.sheet import Column, Sheet, format_duration, percent_format
from enginetour.store.seasons import Kind
from enginetour.tournament.config.league import CrossTable, League, PlayoffTable, StagePlan
from enginetour.tournament.config.load import Config


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
    """Simulate a league.

    Args:
        league: the league file.
        seasons: number of seasons of a simulation.
        most: largest number of simulations; each division gets the same number.
        processes: number of processes.
        limit: seconds after which simulations end.
        world: spread and noise of the strengths of engines.
        seed: random seed.
        progress: receives the finished share.

    Raises:
        UsageRefused: There are too few engines, or no simulation has finished in time.
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
    for tier, course in _simulated(simulation, tasks, processes):
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
    return league.config(1, StagePlan("division", division.name, number, (), division.format))


def _model(league: League, configs: Sequence[Config], seasons: int) -> LeagueModel:
    """Return the model of the league, with entrants in the order of their ratings and without strengths."""
    section = league.section
    tables = {"qualifier": section.qualifier.format, "playoff": (section.playoff or PlayoffTable()).format()}
    qualifier, playoff = (
        league.config(1, StagePlan(kind, kind, 0, (), tables[kind])).make_format() for kind in ("qualifier", "playoff")
    )
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


_SENT: list[_Simulation] = []  # in a process of the pool


def _receive(simulation: _Simulation) -> None:
    _SENT.append(simulation)


def _play_sent(number: int, tier: int) -> SimulatedLeague | None:
    return _SENT[0].play(number, tier)


def _simulated(
    simulation: _Simulation, tasks: Sequence[tuple[int, int]], processes: int
) -> Iterator[tuple[int, SimulatedLeague | None]]:
    """Yield the courses of simulations with their divisions; None if one was not finished in time."""
    if processes == 1:
        for number, tier in tasks:
            yield tier, simulation.play(number, tier)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=_receive, initargs=(simulation,)) as pool:
        waiting = {pool.submit(_play_sent, number, tier): tier for number, tier in tasks}
        while waiting:
            for future in wait(waiting, timeout=0.2, return_when="FIRST_COMPLETED").done:
                yield waiting.pop(future), future.result()


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
