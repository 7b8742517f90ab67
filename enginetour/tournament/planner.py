"""Planner: plan a night from its engines, hours and goal, simulate the formats in processes, write the best one.

The formats and their settings are from `formats.planning`. Here are the engines with their ratings, the expected
seconds of a game, the processes, and the configuration.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, sqrt
from pathlib import Path
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, Any, Literal

from enginetour.engines.registry import of_workspace
from enginetour.formats.planning import (
    Candidate,
    Night,
    Played,
    Proposal,
    best_of_systems,
    fitting,
    parse_goal,
    play_at,
)
from enginetour.formats.simulation import SimulationModel
from enginetour.interop.toml import ConfigDraft
from enginetour.model.errors import UsageRefused, usage_errors
from enginetour.model.game import Entrant
from enginetour.model.timecontrol import TimeControl, expected_seconds
from enginetour.reports.sheet import Sheet, format_count, format_duration
from enginetour.reports.sprt import plan_sheet
from enginetour.store.address import Address, database_of, workspace_of
from enginetour.store.database import database_exists
from enginetour.tournament.config.load import read_current
from enginetour.tournament.config.sections import listed_order
from enginetour.tournament.config.write import chosen_engines, new_names, placeholders, write_draft
from enginetour.tournament.plan import FEWEST, prepare, refuse_few
from enginetour.tournament.simulating import Simulators, Task

if TYPE_CHECKING:
    from enginetour.store.tournaments import Store

_KEPT = ("defaults", "quality", "ratings", "notify", "report")  # sections that a plan does not change
_ERROR = 50.0  # Elo; standard deviation of known ratings whose errors are unknown, as of a list of another year
_SPREAD = SimulationModel().spread
_FIRST = 6  # simulations after which only the best candidate of each format remains
_FIRST_SHARE = 0.4  # largest share of the time for these simulations
# Share of the time after which only the best format is simulated, because its figures are shown as the prediction.
_SECOND_SHARE = 0.6
_MEASURED = 20  # games; with fewer games, the time control tells more about the duration


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What the user has and wants.

    Attributes:
        hours: Hours of the night.
        goal: Text for `formats.planning.parse_goal`.
        entrants: Number of engines, if they are not named.
        engines: Ids of engine files.
        config: A configuration whose entrants and settings are used.
        ratings_of: Name of a rating list; "" to use the ratings of the configuration or the engine files.
        ratings: Whether the formats may use ratings; None if all ratings are known.
        concurrency: Number of concurrent games; None for that of `config`, or 1.
        tc: Time control; None for that of `config`, or 10+0.1.
        spread: Standard deviation of unknown strengths, in Elo; None for the usual one.
        noise: Standard deviation of known ratings around the true strengths, in Elo; None for the errors of the list.
        game_seconds: Expected duration of a game; None for that of measured games, or of the time control.
        seed: Random seed of the simulations.
        database: Where measured games and rating lists are; None for the database of the workspace.
    """

    hours: float
    goal: str
    entrants: int | None = None
    engines: tuple[str, ...] = ()
    config: Path | None = None
    ratings_of: str = ""
    ratings: Literal["known", "unknown"] | None = None
    concurrency: int | None = None
    tc: str | None = None
    spread: float | None = None
    noise: float | None = None
    game_seconds: float | None = None
    seed: int = 1
    database: Address | None = None


@dataclass(frozen=True, slots=True)
class _Lineup:
    """The engines of a night: their part of the configuration, and the time controls of both colors."""

    draft: ConfigDraft
    entrants: tuple[Entrant, ...]
    controls: tuple[TimeControl, ...]
    concurrency: int
    folder: Path
    bundled: bool = False  # whether bundled engines represent engines that are not named


@dataclass(frozen=True, slots=True)
class NightPlan:
    """A night with its proposals, best first; `needs` are the hours that formats need which do not fit.

    `late` are the formats without a simulation that has finished in time.
    """

    request: PlanRequest
    lineup: _Lineup
    night: Night
    seconds: float
    measured: int  # games whose durations were measured; 0 if the time control gives the duration
    proposals: tuple[Proposal, ...] = ()
    needs: Mapping[str, float] = field(default_factory=dict)
    late: tuple[str, ...] = ()

    def hours(self, games: float) -> float:
        """Return the hours that a number of games take."""
        return games * self.seconds / 3600 / self.lineup.concurrency

    def title(self) -> str:
        """Return the question in one line."""
        night, slots = self.night, self.lineup.concurrency
        games = "games" if slots > 1 else "game"
        controls = ", ".join(dict.fromkeys(map(str, self.lineup.controls)))
        ratings = f"ratings ± {night.world.noise:g}" if night.rated else f"unknown ratings, ± {night.world.spread:g}"
        return (
            f"{len(night.entrants)} engines, {format_duration(self.request.hours * 3600)}, "
            f"{slots} concurrent {games}, {controls}, {ratings}"
        )

    def to_json(self) -> dict[str, object]:
        """Return what the night has, ready for JSON."""
        night = self.night
        return {
            "entrants": len(night.entrants),
            "hours": self.request.hours,
            "concurrency": self.lineup.concurrency,
            "goal": night.goal.model_dump(mode="json", exclude_defaults=True),
            "ratings": "known" if night.rated else "unknown",
            "spread": None if night.rated else night.world.spread,
            "noise": night.world.noise if night.rated else None,
            "game_seconds": self.seconds,
            "measured_games": self.measured,
            "games": night.games,
            "too_long": dict(self.needs),
            "late": list(self.late),
        }

    def sheet(self) -> Sheet:
        """Return the table of the formats, best first."""
        return plan_sheet(self.title(), self.basis(), self.proposals, self.hours, self.needs, self.late)

    def prediction(self) -> list[str]:
        """Return the figures of the best proposal in a few lines."""
        best = self.proposals[0]
        length = f"{best.games.mean:.0f} games, {format_duration(3600 * self.hours(best.games.mean))}"
        return [f"Expected: {length}, error {best.rms.mean:.1f} Elo (root mean square), tau {best.tau.mean:.2f}."]

    def basis(self) -> str:
        """Return how many games the hours allow, and why."""
        source = f"mean of {format_count(self.measured, 'game')} of the database" if self.measured else "estimated"
        if self.request.game_seconds is not None:
            source = "as given"
        return f"{self.seconds:.3g} s per game ({source}): at most {format_count(self.night.games, 'game')}"


def plan_night(
    request: PlanRequest,
    *,
    processes: int = 1,
    limit: float = 50.0,
    most: int = 200,
    progress: Callable[[float], object] = lambda _: None,
) -> NightPlan:
    """Simulate the formats that suit a night, and return the best settings of each.

    Args:
        request: What the user has and wants.
        processes: Number of processes; 1 for this process only.
        limit: Seconds after which no more simulations are started.
        most: Largest number of simulations of each format.
        progress: Receives the share of the work that is done, from 0 to 1.

    Raises:
        TourError: The request is not valid, or no format fits the hours.
    """
    begun = time.monotonic()
    made = _prepared(request)
    candidates, needed = fitting(made.night)
    needs = {system: made.hours(games) for system, games in needed.items()}
    if not candidates:
        least = min(needs.values())
        what = f"the hours allow {format_count(made.night.games, 'game')}, too few for any format"
        raise UsageRefused(what, place="--hours", step=f"use at least {least:.2g} hours")
    found = Comparison(made.night, candidates, most)
    systems = len({candidate.system for candidate in candidates})
    total, done = min(_FIRST, most) * len(candidates) + systems * max(0, most - _FIRST), 0
    with Simulators(partial(play_at, candidates, made.night), processes) as simulators:
        for tasks, share in found.stages():
            for (index, number), result in simulators.play(tasks, begun + share * limit, begun + limit):
                done += 1
                progress(min(1.0, max(done / total, (time.monotonic() - begun) / limit)))
                if result is not None:
                    found.played.setdefault(index, {})[number] = result
    best = found.ranked()
    if not best:
        raise UsageRefused("no simulation has finished in time", place="plan", step="use fewer hours or engines")
    progress(1.0)
    there = {proposal.candidate.system for proposal in best}
    late = dict.fromkeys(one.system for one in candidates if one.system not in there)
    return replace(made, proposals=tuple(best), needs=needs, late=tuple(late))


class Comparison:
    """The candidates, and their simulated nights by index and number. The luck of a night is the same for all."""

    def __init__(self, night: Night, candidates: Sequence[Candidate], most: int) -> None:
        self.played: dict[int, dict[int, Played]] = {}
        self._night, self._candidates, self._most = night, candidates, most
        self._kept = [*range(len(candidates))]
        self._begun: set[Task] = set()

    def ranked(self) -> list[Proposal]:
        """Return the best candidate of each format, best first."""
        nights = ((self._candidates[at], self.played[at]) for at in self._kept if at in self.played)
        return best_of_systems(
            [Proposal.of(each, self._night, [played[number] for number in sorted(played)]) for each, played in nights]
        )

    def stages(self) -> Iterator[tuple[Iterator[Task], float]]:
        """Yield the tasks of each stage, and the share of the time at whose end no task of the stage is begun.

        First all candidates are simulated, then the best one of each format, then the best one of all at that time.
        """
        yield self._tasks(range(min(_FIRST, self._most))), _FIRST_SHARE
        self._kept = self._best()
        yield self._tasks(range(self._most)), _SECOND_SHARE
        yield self._promising(), 1.0

    def _best(self) -> list[int]:
        return [self._candidates.index(proposal.candidate) for proposal in self.ranked()]

    def _tasks(self, numbers: Iterable[int]) -> Iterator[Task]:
        for task in ((at, number) for number in numbers for at in self._kept):
            if task not in self._begun:
                self._begun.add(task)
                yield task

    def _promising(self) -> Iterator[Task]:
        """Yield tasks of the candidate that is best when they begin, until it has all of them."""
        while best := self._best():
            task = next((task for number in range(self._most) if (task := (best[0], number)) not in self._begun), None)
            if task is None:
                return
            self._begun.add(task)
            yield task


# Engines, ratings, and the duration of a game.


def _prepared(request: PlanRequest) -> NightPlan:
    sources = {"--entrants": request.entrants, "--engine": request.engines, "CONFIG": request.config}
    given = [name for name, value in sources.items() if value]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        step = "for example --entrants 12, --engine stockfish --engine toga2, or a configuration"
        raise UsageRefused(f"needs exactly one of --entrants, --engine and CONFIG (found {found})", step=step)
    if request.entrants and request.ratings_of:
        raise UsageRefused("has no effect without the names of engines", place="--list", step="use --engine or CONFIG")
    with _store(request) as store:
        lineup = _of_config(request) if request.config is not None else _of_engines(request)
        if len(lineup.entrants) < FEWEST:
            raise UsageRefused(f"a plan needs at least two engines (found {len(lineup.entrants)})", step="name more")
        lineup, world = _rated(request, lineup, store)
        goal = parse_goal(request.goal, [entrant.name for entrant in lineup.entrants])
        seconds, measured = _game_seconds(request, lineup, store)
    games = int(request.hours * 3600 * lineup.concurrency / seconds)
    if games < 1:
        what = f"the hours are too short for one game, which takes about {format_duration(seconds)}"
        raise UsageRefused(what, place="--hours", step="use more hours or a shorter time control")
    night = Night(lineup.entrants, world, games, goal, request.seed, lineup.concurrency)
    return NightPlan(request, lineup, night, seconds, measured)


@contextmanager
def _store(request: PlanRequest) -> Iterator[Store | None]:
    """Yield the database, or None if it does not exist and is not needed."""
    from enginetour.store.tournaments import Store

    folder = Path.cwd() if request.config is None else request.config.resolve().parent
    address = database_of(folder, request.database)
    if not database_exists(address) and not request.ratings_of and request.database is None:
        yield None
        return
    with Store.open(address, create=False, readonly=True) as store:
        yield store


def _of_engines(request: PlanRequest) -> _Lineup:
    """Return the named engines, or bundled engines in their place."""
    folder = Path.cwd()
    with usage_errors("--tc"):
        control = TimeControl.parse(request.tc or "10+0.1")
    sections: list[dict[str, Any]]
    if request.engines:
        chosen = chosen_engines(request.engines, "", control, folder)
        registry = of_workspace(workspace_of(folder))
        entries = [registry.get(engine) for engine in chosen]
        names = [new or entry.name for new, entry in zip(new_names(chosen, folder), entries, strict=True)]
        sections = [{"engine": engine, "name": name} for engine, name in zip(chosen, names, strict=True)]
        entrants = tuple(
            Entrant(name, rating=entry.rating, family=entry.family) for name, entry in zip(names, entries, strict=True)
        )
    else:
        sections = placeholders(request.entrants or 0)
        entrants = tuple(Entrant(str(section["name"])) for section in sections)
    slots = request.concurrency or 1
    draft = ConfigDraft({}, {}, tuple(sections), {"tc": str(control), "concurrency": slots})
    return _Lineup(draft, entrants, (control,), slots, folder, bundled=not request.engines)


def _of_config(request: PlanRequest) -> _Lineup:
    """Return the entrants of a configuration; options of the command have priority over its settings."""
    path = request.config
    assert path is not None
    plan = prepare(path, request.database)
    refuse_few(plan)
    table, _, _ = read_current(path)
    slots = request.concurrency or plan.config.play.concurrency
    controls = tuple(tc for side in plan.sides.values() for tc in side.controls)
    play = {**table.get("play", {}), "concurrency": slots}
    if request.tc is not None:
        with usage_errors("--tc"):
            controls = (TimeControl.parse(request.tc),)
        play["tc"] = str(controls[0])
    more = {name: section for name, section in table.items() if name in _KEPT}
    draft = ConfigDraft(table["tournament"], {}, tuple(table["entrants"]), play, more=more)
    return _Lineup(draft, plan.entrants, controls, slots, path.resolve().parent)


def _rated(request: PlanRequest, lineup: _Lineup, store: Store | None) -> tuple[_Lineup, SimulationModel]:
    """Return the engines with the ratings that the formats may use, and the simulated engines."""
    if request.ratings == "unknown":
        _refuse_idle(request)
        plain = tuple(replace(entrant, rating=None) for entrant in lineup.entrants)
        return replace(lineup, entrants=plain), _world(request, inf)
    noise = _ERROR if request.noise is None else request.noise
    order = listed_order(lineup.draft.tournament.get("order"))
    name, number = (request.ratings_of, None) if request.ratings_of or order is None else order
    if name and store is not None:
        lineup, errors = _by_list(lineup, store, name, number, in_file=request.config is not None)
        noise = round(sqrt(fmean(error * error for error in errors)), 1) if request.noise is None and errors else noise
    elif lineup.bundled and request.ratings == "known":
        lineup = _spread_out(lineup, _SPREAD if request.spread is None else request.spread)
    lacking = [entrant.name for entrant in lineup.entrants if entrant.rating is None]
    if lacking and request.ratings == "known":
        what = f"the rating of {lacking[0]} is not known"
        step = "add rating = ... to its engine file or the configuration, name a list with --list, or omit --ratings"
        raise UsageRefused(what, place="--ratings known", step=step)
    if lacking:
        _refuse_idle(request)
        return replace(lineup, entrants=tuple(replace(one, rating=None) for one in lineup.entrants)), _world(
            request, inf
        )
    if request.spread is not None and not lineup.bundled:
        what = "has no effect, because all engines have ratings"
        raise UsageRefused(what, place="--spread", step="omit --spread, or add --ratings unknown")
    if request.config is None:
        ordered = sorted(
            zip(lineup.entrants, lineup.draft.entrants, strict=True), key=lambda one: -(one[0].rating or 0)
        )
        sections = tuple({**section, "rating": round(entrant.rating or 0, 1)} for entrant, section in ordered)
        draft = replace(lineup.draft, entrants=sections, tournament={"rating_scale": "elo"})
        lineup = replace(lineup, entrants=tuple(entrant for entrant, _ in ordered), draft=draft)
    return lineup, _world(request, noise)


def _refuse_idle(request: PlanRequest) -> None:
    """Raise UsageRefused for options that have no effect if ratings are unknown."""
    for option, value in (("--noise", request.noise), ("--list", request.ratings_of or None)):
        if value is not None:
            raise UsageRefused("has no effect with unknown ratings", place=option, step=f"omit {option}")


def _world(request: PlanRequest, noise: float) -> SimulationModel:
    return SimulationModel(spread=_SPREAD if request.spread is None else request.spread, noise=noise)


def _by_list(
    lineup: _Lineup, store: Store, name: str, number: int | None, *, in_file: bool
) -> tuple[_Lineup, list[float]]:
    """Return the entrants with the ratings of a list, and their standard errors.

    The order of the entrants of a configuration file becomes that of the list.
    """
    from enginetour.store.editions import current_edition, lines_by_name, rating_errors, read_edition

    made = read_edition(store, name, number) if in_file else current_edition(store, name)
    lines = lines_by_name(store, made)
    there = {entrant.name: lines[entrant.name] for entrant in lineup.entrants if entrant.name in lines}
    if lacking := [entrant.name for entrant in lineup.entrants if entrant.name not in there]:
        what = f"{lacking[0]} is not in the list {name!r}"
        raise UsageRefused(what, place="--list", step="omit this engine, or omit --list")
    rated = [replace(entrant, rating=there[entrant.name].rating) for entrant in lineup.entrants]
    errors = [*rating_errors(there).values()]
    if not in_file:
        return replace(lineup, entrants=tuple(rated)), errors
    rated.sort(key=lambda entrant: -(entrant.rating or 0.0))
    order = {"order": f"list:{name}" if number is None else f"list:{name}#{number}"}
    draft = replace(lineup.draft, tournament={**lineup.draft.tournament, **order})
    return replace(lineup, entrants=tuple(rated), draft=draft), errors


def _spread_out(lineup: _Lineup, spread: float) -> _Lineup:
    """Return the entrants with ratings at the quantiles of a normal distribution."""
    count, level, normal = len(lineup.entrants), SimulationModel().level, NormalDist()
    entrants = tuple(
        replace(entrant, rating=level - spread * normal.inv_cdf((place + 0.5) / count))
        for place, entrant in enumerate(lineup.entrants)
    )
    return replace(lineup, entrants=entrants)


def _game_seconds(request: PlanRequest, lineup: _Lineup, store: Store | None) -> tuple[float, int]:
    """Return the expected seconds of a game, and the number of games that they were measured with."""
    if request.game_seconds is not None:
        return request.game_seconds, 0
    if store is not None:
        from enginetour.store.tournaments import mean_seconds

        names = () if lineup.bundled else tuple(entrant.name for entrant in lineup.entrants)
        seconds, games = mean_seconds(store, sorted({*map(str, lineup.controls)}), names)
        if games >= _MEASURED:
            return seconds, games
    expected = expected_seconds(lineup.controls)
    if expected is None:
        what = f"the duration of a game with {lineup.controls[0]} is unknown"
        raise UsageRefused(what, place="--tc", step="use a clock or movetime, or add --game-seconds")
    return expected, 0


# The configuration of a proposal.


def refuse_output(path: Path | None) -> None:
    """Raise UsageRefused if the configuration cannot be written, before the simulations start."""
    if path is not None and path.exists():
        raise UsageRefused("already exists", place=str(path), step="choose another name")
    if path is not None and not path.parent.is_dir():
        raise UsageRefused("directory does not exist", place=str(path.parent), step="create it first")


def write_plan(plan: NightPlan, path: Path) -> None:
    """Write the best proposal as a configuration. Raise UsageRefused if the file exists."""
    best, lineup = plan.proposals[0], plan.lineup
    tournament = {"name": path.stem, **{key: value for key, value in lineup.draft.tournament.items() if key != "name"}}
    remarks = [f"Made by enginetour plan: {plan.title()}.", *plan.prediction()]
    if lineup.bundled:
        remarks.append("Bundled engines stand in for yours: replace the entrants.")
    settings = {"system": best.candidate.system, **best.candidate.settings}
    if best.candidate.system == "adaptive":  # it also ends in time if games are longer than expected
        settings["hours"] = plan.request.hours * lineup.concurrency
    draft = replace(
        lineup.draft,
        tournament=tournament,
        format=settings,
        remarks=tuple(remarks),
    )
    if path.resolve().parent != lineup.folder.resolve():
        draft = draft.anchored(lineup.folder)
    write_draft(draft, path)
