"""Command forecast: what is expected of the rest of a tournament."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from enginetour.cli.options import (
    TournamentChoice,
    count_option,
    tournament_argument,
    tournament_options,
)
from enginetour.cli.printing import echo, output_options, print_sheet, progress_bar

if TYPE_CHECKING:
    from pathlib import Path

    from enginetour.formats.forecast import Prospect

_CPU_S = 20.0  # seconds of processor time after which no further simulation starts, unless their number is given


@click.command()
@tournament_argument
@tournament_options
@output_options
@count_option("--concurrency", most=1024, show_default="that of the configuration", help="Number of concurrent games.")
@count_option(
    "--simulations",
    most=100_000,
    show_default="300, or fewer after 20 s of processor time",
    help="Number of simulated tournaments.",
)
def forecast(chosen: TournamentChoice, concurrency: int | None, simulations: int | None) -> None:
    """Simulate the rest of a tournament: games, hours, places, winner.

    Each simulation draws ratings that agree with the games so far and plays
    the remaining games by the rules of the format. TOURNAMENT may also be a
    configuration file whose tournament has not started.

    Example: enginetour forecast

    Example: enginetour forecast autumn-bubble --json

    Example: enginetour forecast night.toml --concurrency 4
    """
    from enginetour.formats.forecast import SIMULATIONS
    from enginetour.reports.forecast import forecast_sheet, limit_cpu, prospect_of

    if chosen.config is not None and not _has_started(chosen):
        prospect = _planned(chosen.config, chosen, concurrency)
    else:
        with chosen.open() as log:
            prospect = prospect_of(log, concurrency)
    count, within = simulations or SIMULATIONS, None if simulations else limit_cpu(_CPU_S)
    shown = 0
    with progress_bar(count, "simulating") as advance:

        def going_on(finished: int) -> bool:
            nonlocal shown
            advance(finished - shown)
            shown = finished
            return within is None or within(finished)

        found = prospect.forecast(count, going_on=going_on).to_json()
    print_sheet(forecast_sheet(found), found)


def _has_started(chosen: TournamentChoice) -> bool:
    from enginetour.store.database import database_exists
    from enginetour.store.tournaments import Store

    if not database_exists(chosen.database):
        return False
    with Store.open(chosen.database, create=False, readonly=True) as store:
        return chosen.name is not None and store.has(chosen.name)


def _planned(path: Path, chosen: TournamentChoice, slots: int | None) -> Prospect:
    from enginetour.tournament.forecasting import prospect_of_plan
    from enginetour.tournament.plan import prepare, refuse_few, refuse_field

    plan = prepare(path, chosen.db)
    refuse_few(plan)
    refuse_field(plan)
    if (order := plan.config.tournament.order) not in (None, "file"):
        echo(f"note: the run starts with order = {order!r}; this forecast has the order of the file", err=True)
    return prospect_of_plan(plan, slots)
