"""Predictions of `enginetour plan` next to simulated runs of the configuration that it writes, and its time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Literal

from benches.measure import Settings
from enginetour.formats.simulation import SimulationResult, simulate_many
from enginetour.reports.sheet import render
from enginetour.tournament.plan import prepare
from enginetour.tournament.planner import NightPlan, PlanRequest, plan_night, write_plan

RUNS = 200
NIGHTS: tuple[tuple[str, Literal["known", "unknown"], float], ...] = (
    ("top=3", "unknown", 8.0),
    ("los=0.95", "known", 2.0),
    ("error=50", "unknown", 2.0),
)


def planning(settings: Settings) -> Iterator[str]:
    """Plan a night of twelve engines for several goals, and simulate each written configuration with other seeds."""
    for number, (goal, ratings, hours) in enumerate(NIGHTS):
        path = settings.folder / f"night{number}.toml"
        request = PlanRequest(hours, goal, entrants=12, concurrency=2, tc="10+0.1", ratings=ratings)
        begun = time.monotonic()
        made = plan_night(request, processes=2)
        yield f"plan, {hours:g} h, {goal}, ratings {ratings}: {time.monotonic() - begun:.1f} s"
        yield render(made.sheet(), 80)
        write_plan(made, path)
        plan = prepare(path, None)
        again = simulate_many(
            lambda seed, config=plan.config: config.model_copy(  # type: ignore[misc]
                update={"tournament": config.tournament.model_copy(update={"seed": seed})}
            ).make_format(),
            plan.entrants,
            made.night.world,
            count=RUNS,
            seed=1_000_000,
        )
        yield from _compared(made, again)


def _compared(made: NightPlan, again: SimulationResult) -> Iterator[str]:
    best = made.proposals[0]
    for name, predicted in (("games", best.games), ("rms", best.rms)):
        found = again.figures[name]
        yield (
            f"  {best.candidate.system}, {name}: predicted {predicted.mean:.1f} ± {predicted.error:.1f}, {RUNS} runs "
            f"{found.mean:.1f} ± {found.error:.1f}, ratio {predicted.mean / found.mean:.3f}"
        )
