"""Command plan: compare formats for a number of engines, hours and a goal, and write the best configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import click
from click.core import ParameterSource

from enginetour.cli.options import PATH, count_option, database_option, many_option, quote_command
from enginetour.cli.printing import echo, output_form, output_options, print_sheet, progress_bar
from enginetour.model.errors import UsageRefused
from enginetour.store.address import Address

_HOURS = click.FloatRange(min=0, min_open=True, max=10_000)
_SECONDS = click.FloatRange(min=0, min_open=True, max=86_400)
_ELO = click.FloatRange(min=0, max=10_000)
_STEPS = 100  # of the progress bar
_NOISE = 50.0  # Elo; as for the ratings of a night


@click.command()
@click.argument("config", metavar="[CONFIG]", required=False, type=PATH)
@count_option("--entrants", least=2, most=500, help="Number of engines, if they are not named.")
@many_option("--engine", "engines", metavar="ID", help="Id of an engine (see `engines list`).")
@click.option("--hours", type=_HOURS, metavar="H", help="Hours that the tournament may take.")
@click.option("--league", is_flag=True, help="Simulate seasons of the league in the file CONFIG.")
@count_option("--seasons", most=1000, default=10, show_default=True, help="With --league: number of seasons.")
@count_option("--concurrency", most=1024, show_default="that of CONFIG, or 1", help="Number of concurrent games.")
@click.option("--tc", metavar="CONTROL", show_default="that of CONFIG, or 10+0.1", help="Time control.")
@click.option(
    "--goal",
    default="los=0.95",
    show_default=True,
    metavar="GOAL",
    help="What to find out: top=3 (the first three), los=0.95 (all places), error=10 (all ratings to ±10 Elo) or "
    "entrant=NAME,error=10 (one engine against the others).",
)
@click.option(
    "--ratings",
    type=click.Choice(["known", "unknown"]),
    show_default="known if all engines have ratings",
    help="Whether the formats may use ratings.",
)
@click.option("--list", "ratings_of", metavar="NAME", help="Use the ratings of a rating list.")
@click.option(
    "--spread", type=_ELO, metavar="ELO", show_default="150", help="Standard deviation of unknown strengths, in Elo."
)
@click.option(
    "--noise",
    type=_ELO,
    metavar="ELO",
    show_default="errors of the list, or 50",
    help="Standard deviation of known ratings around the true strength, in Elo.",
)
@click.option(
    "--game-seconds",
    type=_SECONDS,
    metavar="S",
    show_default="from games in the database, or the time control",
    help="Average duration of a game, in seconds.",
)
@count_option("--seed", least=0, default=1, show_default=True, help="Random seed of the simulations.")
@count_option(
    "--fields", most=100_000, default=200, show_default=True, help="Largest number of simulations per format."
)
@count_option("--processes", most=64, default=2, show_default=True, help="Number of processes that simulate.")
@click.option("-o", "--output", type=PATH, metavar="FILE", help="Write the best format as a configuration.")
@database_option
@output_options
def plan(
    config: Path | None,
    entrants: int | None,
    engines: tuple[str, ...],
    hours: float | None,
    league: bool,
    seasons: int,
    concurrency: int | None,
    tc: str | None,
    goal: str,
    ratings: Literal["known", "unknown"] | None,
    ratings_of: str | None,
    spread: float | None,
    noise: float | None,
    game_seconds: float | None,
    seed: int,
    fields: int,
    processes: int,
    output: Path | None,
    db: Address | None,
) -> None:
    """Compare formats for a night, and write the best one.

    Simulates each suitable format with settings that use the hours, and shows
    what it would find out. The best row for the goal comes first. It takes up
    to a minute. With CONFIG, its entrants and settings are used.

    With --league, it simulates seasons of a league instead: hours, how many
    engines stay in their divisions, and how soon a new engine reaches its
    division.

    Example: enginetour plan --entrants 12 --hours 8 --goal top=3 -o night.toml
    """
    from enginetour.tournament.planner import PlanRequest, plan_night, refuse_output, write_plan

    _refuse_unused(league=league)
    if league:
        _plan_league(config, seasons, fields, processes, spread, noise, seed)
        return
    if hours is None:
        raise UsageRefused("is missing", place="--hours", step="give the hours that the tournament may take")
    request = PlanRequest(
        hours=hours,
        goal=goal,
        entrants=entrants,
        engines=engines,
        config=config,
        ratings_of=ratings_of or "",
        ratings=ratings,
        concurrency=concurrency,
        tc=tc,
        spread=spread,
        noise=noise,
        game_seconds=game_seconds,
        seed=seed,
        database=db,
    )
    refuse_output(output)
    with _progress() as show:
        made = plan_night(request, processes=processes, most=fields, progress=show)
    sheet = made.sheet()
    print_sheet(sheet, {"night": made.to_json(), "proposals": [dict(row) for row in sheet.rows]})
    if output is not None:
        write_plan(made, output)
        if output_form() == "text":
            _print_written(output, bundled=made.bundled)


@contextmanager
def _progress() -> Iterator[Callable[[float], None]]:
    """Show a progress bar; yield a function that receives the finished share."""
    with progress_bar(_STEPS, "simulating") as advance:
        shown = 0

        def show(share: float) -> None:
            nonlocal shown
            advance(int(share * _STEPS) - shown)
            shown = int(share * _STEPS)

        yield show


_LIMIT_S = 50.0  # seconds of the simulation of a league
# Options that have no effect on seasons of a league, and those that have an effect on nothing else.
_OF_NIGHTS = (
    *("hours", "entrants", "engines", "concurrency", "tc", "goal", "ratings", "ratings_of", "game_seconds"),
    *("output", "db"),
)
_OF_LEAGUES = ("seasons",)


def _refuse_unused(*, league: bool) -> None:
    """Raise UsageRefused for an option on the command line that would have no effect."""
    context = click.get_current_context()
    for param in context.command.params:
        is_typed = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if is_typed and param.name in (_OF_NIGHTS if league else _OF_LEAGUES):
            what, step = (
                ("is not possible with --league", "remove it") if league else ("needs --league", "add --league")
            )
            raise UsageRefused(what, place=param.opts[-1], step=step)


def _plan_league(
    config: Path | None,
    seasons: int,
    fields: int,
    processes: int,
    spread: float | None,
    noise: float | None,
    seed: int,
) -> None:
    from enginetour.formats.simulation import SimulationModel
    from enginetour.tournament.league import read_league
    from enginetour.tournament.leagueplan import plan_league

    if config is None:
        raise UsageRefused("needs a league file", place="--league", step="run enginetour plan --league LEAGUE.toml")
    usual = SimulationModel(noise=_NOISE)
    world = replace(
        usual, spread=usual.spread if spread is None else spread, noise=usual.noise if noise is None else noise
    )
    made = read_league(config)
    with _progress() as show:
        found = plan_league(
            made,
            seasons=seasons,
            most=fields,
            processes=processes,
            limit=_LIMIT_S,
            world=world,
            seed=seed,
            progress=show,
        )
    about = {"simulations": found.simulations, "seasons": found.seasons, "hours": found.hours}
    extra = {"playoff_games": found.playoff_games, "cross_games": found.cross_games}
    value = {"league": made.name, **about, **extra, "divisions": [dict(row) for row in found.rows]}
    print_sheet(found.sheet(made.name), value)


def _print_written(path: Path, *, bundled: bool) -> None:
    if bundled:
        echo(f"{path} contains bundled engines; to plan with your engines, add --engine ID for each of them")
    echo(f"{path} written; {quote_command('check', path)} checks it, {quote_command('run', path)} starts it")
