"""Commands simulate, plan and forecast: simulate tournaments without engines.

`simulate` compares numbers of games and the accuracy of lists, `plan` chooses a format for a night, and `forecast`
plays the rest of a tournament.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from enginetour.cli.options import (
    PATH,
    RealRange,
    TournamentChoice,
    announce_config,
    count_option,
    database_option,
    many_option,
    output_path_option,
    path_option,
    refuse_unused,
    tournament_argument,
    tournament_options,
)
from enginetour.cli.printing import echo, output_form, output_options, print_json, print_sheet, progress_bar
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Entrant, GameFinished, Note
from enginetour.store.address import Address

if TYPE_CHECKING:
    from enginetour.formats.forecast import Prospect
    from enginetour.formats.simulation import SimulationModel


def _elo_option(name: str, default: str, what: str) -> Callable[[Any], Any]:
    words = f"Standard deviation of {what}, in Elo."
    kind = RealRange(min=0, max=10_000)
    return click.option(name, type=kind, metavar="ELO", show_default=default, help=words)


# `enginetour simulate`.

_COMMA = r",(?![^\[\]]*\])"  # matches a comma between systems, but not a comma in the list of a setting


@click.command()
@click.argument("config", metavar="[CONFIG]", required=False, type=PATH)
@path_option("--case", help="Print the trace of a bubble case (JSON).")
@click.option(
    "--compare",
    "systems",
    metavar="NAME,NAME",
    help="Compare formats with the same random entrants; NAME:key=value changes a setting.",
)
@count_option("--entrants", least=2, most=2000, show_default="32", help="Number of entrants (with --compare).")
@count_option("--rounds", most=1000, show_default="6", help="Number of rounds (with --compare).")
@count_option("--fields", most=1_000_000, show_default="200", help="Number of simulated tournaments.")
@_elo_option("--spread", "150", "random strengths")
@_elo_option("--noise", "150, or 0 for a CONFIG with ratings", "ratings around the true strength")
@count_option("--seed", least=0, show_default="1", help="Random seed.")
@database_option
@output_options
def simulate(
    config: Path | None,
    case: Path | None,
    systems: str | None,
    entrants: int | None,
    rounds: int | None,
    fields: int | None,
    spread: float | None,
    noise: float | None,
    seed: int | None,
    db: Address | None,
) -> None:
    """Simulate formats without engines: games and accuracy of the list.

    With CONFIG, the format of that file is simulated. The strengths are the
    ratings of its entrants, or random values. --compare simulates several
    formats.

    Example: enginetour simulate --compare swiss-gotha,mcmahon --noise 400
    """
    chosen = [word for word, value in (("CONFIG", config), ("--case", case), ("--compare", systems)) if value]
    if len(chosen) != 1:
        found = " and ".join(chosen) or "none"
        step = "see enginetour simulate --help"
        raise UsageRefused(f"needs exactly one of CONFIG, --case and --compare (found {found})", step=step)
    form = output_form()
    if not systems:
        refuse_unused(chosen[0], {"--entrants": entrants, "--rounds": rounds})
    if case is not None:
        unused = {"--fields": fields, "--spread": spread, "--noise": noise, "--seed": seed, "--csv": form == "csv"}
        refuse_unused("--case", {**unused, "--format": form not in ("text", "csv", "json")})
    count, start = fields or 200, 1 if seed is None else seed
    if case is not None:
        _case(case)
    elif systems is not None:
        world = _world(spread, 150.0 if noise is None else noise)
        _compare(systems, world, entrants or 32, rounds or 6, count, start)
    elif config is not None:
        _config(config, db, spread, noise, count, start)


def _world(spread: float | None, noise: float) -> SimulationModel:
    from enginetour.formats.simulation import SimulationModel

    return SimulationModel(noise=noise) if spread is None else SimulationModel(spread=spread, noise=noise)


@contextmanager
def _progress(count: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar of `count` steps; yield a function that receives the number of finished steps."""
    with progress_bar(count, "simulating") as advance:
        shown = 0

        def show(finished: int) -> None:
            nonlocal shown
            advance(finished - shown)
            shown = finished

        yield show


def _compare(systems: str, world: SimulationModel, entrants: int, rounds: int, count: int, seed: int) -> None:
    from enginetour.formats.simulation import compare, parse_system
    from enginetour.reports import sprt as sheets

    contenders = [parse_system(words.strip(), rounds) for words in re.split(_COMMA, systems)]
    with progress_bar(count, "simulating") as advance:
        found = compare(contenders, world, entrants=entrants, count=count, seed=seed, progress=advance)
    if output_form() in ("json", "csv"):
        print_sheet(sheets.comparison_rows(found))
        return
    of = f"{count} fields of {entrants} engines, {rounds} rounds"
    title = f"{of}, strengths ± {world.spread:g}, noise {world.noise:g}"
    print_sheet(sheets.comparison_sheet(title, found))


def _config(path: Path, db: Address | None, spread: float | None, noise: float | None, count: int, seed: int) -> None:
    from enginetour.formats.base import make_format
    from enginetour.formats.simulation import simulate_many
    from enginetour.reports import sprt as sheets
    from enginetour.tournament.plan import estimate_duration, prepare, refuse_few

    plan = prepare(path, db)
    refuse_few(plan)
    config = plan.config
    unrated = [entrant.name for entrant in plan.entrants if entrant.rating is None]
    if spread is not None and not unrated:
        raise UsageRefused("has no effect, because all entrants have ratings", place="--spread", step="omit --spread")
    world = replace(_world(spread, (150.0 if unrated else 0.0) if noise is None else noise), odds=config.play.odds)
    with progress_bar(count, "simulating") as advance:
        found = simulate_many(
            lambda number: make_format(config.system, config.format_options, number),
            plan.entrants,
            world,
            count=count,
            seed=seed,
            progress=advance,
        )
    estimate = estimate_duration(plan)
    longest = estimate["longest_hours"]
    hours = None if longest is None else longest * found.figures["games"].mean / estimate["most"]
    if output_form() in ("json", "csv"):
        sheet = sheets.rehearsal_row(found, hours)
        print_sheet(sheet, dict(sheet.rows[0]))
        return
    strengths = f"random strengths ± {world.spread:g} in the order of the file" if unrated else "strengths as rated"
    title = f"{config.tournament.name}: {count} simulations, {strengths}, noise {world.noise:g}"
    print_sheet(sheets.rehearsal_sheet(title, found, hours))
    if unrated and len(unrated) < len(plan.entrants):
        echo(f"{len(unrated)} entrants have no rating ({unrated[0]} ...), so all strengths are random", err=True)


def _case(case: Path) -> None:
    from enginetour.interop.bubblecase import LARGEST_FILE, trace_bubble
    from enginetour.interop.files import read_input

    notes = decisions(read_input(case, LARGEST_FILE), str(case))
    if output_form() == "json":
        print_json(trace_bubble(notes))
        return
    echo("rules are the steps of H.G. Muller's article (2007): 1 start, 4 return from parking,")
    echo("5 next engine of the list, 8 return from parking after the end of the list")
    step = 0
    for note in notes:
        fields: dict[str, Any] = dict(note.fields)
        lead = f"{fields['step']:>3}" if fields["step"] != step else ""
        step = fields["step"]
        for line in _decision_lines(note, fields):
            echo(f"{lead:>3}  {line}")
            lead = ""
    echo(f"ranking, best first: {', '.join(reversed(trace_bubble(notes)['ranking']))}")


def _decision_lines(note: Note, fields: Mapping[str, Any]) -> list[str]:
    """Format one decision of a bubble: an entry with its rule, or an exit with the table that decided it."""
    if "table" in fields:
        table = ", ".join(f"{name} {half / 2:g}" for name, half, _ in fields["table"]) or "the section is empty"
        parked = ", ".join(fields["parked"]) or "none"
        return [table, f"{note.text} ({fields['reason']}), {fields['games_total']} games", f"parked: {parked}"]
    entries = fields.get("entered") or [fields["replacement"]] if note.kind in ("enter", "unpark", "withdraw") else []
    rules = "".join(f" (rule {rule})" for rule in sorted({entry["rule"] for entry in entries if entry}))
    return [note.text + rules]


def decisions(source: str | bytes | Mapping[str, object], place: str = "case") -> tuple[Note, ...]:
    """Play a bubble case and return its decisions.

    `source` is JSON text or the parsed value. Raise InputRefused with `place` and the invalid field.
    """
    from enginetour.formats.bubble import Bubble
    from enginetour.interop.bubblecase import read_case

    case = read_case(source, place)
    bubble = Bubble(case.options, due=case.withdrawals)
    state = bubble.start(tuple(Entrant(name) for name in reversed(case.ranking)))
    while games := bubble.offers(state):
        state = bubble.step(state, GameFinished(games[0], case.outcome(games[0])))
    return tuple(bubble.notes(state))


# `enginetour plan`.

_HOURS = RealRange(min=0, min_open=True, max=10_000)
_SECONDS = RealRange(min=0, min_open=True, max=86_400)
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
@click.option("--list", "ratings_of", default="", metavar="NAME", help="Use the ratings of a rating list.")
@_elo_option("--spread", "150", "unknown strengths")
@_elo_option("--noise", "errors of the list, or 50", "known ratings around the true strength")
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
@output_path_option("Write the best format as a configuration.")
@database_option
@output_options
def plan(
    config: Path | None,
    hours: float | None,
    league: bool,
    seasons: int,
    fields: int,
    processes: int,
    output: Path | None,
    db: Address | None,
    **wanted: Any,
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
        spread, noise = wanted["spread"], wanted["noise"]
        _plan_league(config, seasons, fields, processes, spread, noise, wanted["seed"])
        return
    if hours is None:
        raise UsageRefused("is missing", place="--hours", step="give the hours that the tournament may take")
    request = PlanRequest(hours, config=config, database=db, **wanted)
    refuse_output(output)
    with _progress(_STEPS) as show:
        made = plan_night(request, processes=processes, most=fields, progress=lambda share: show(int(share * _STEPS)))
    sheet = made.sheet()
    print_sheet(sheet, {"night": made.to_json(), "proposals": [dict(row) for row in sheet.rows]})
    if output is not None:
        write_plan(made, output)
        if output_form() == "text":
            if made.lineup.bundled:
                about = "contains bundled engines; to plan with your engines, add --engine ID for each of them"
                echo(f"{output} {about}")
            announce_config(output)


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
    from enginetour.tournament.league import read_league
    from enginetour.tournament.leagueplan import plan_league

    if config is None:
        raise UsageRefused("needs a league file", place="--league", step="run enginetour plan --league LEAGUE.toml")
    made = read_league(config)
    with _progress(_STEPS) as show:
        found = plan_league(
            made,
            seasons=seasons,
            most=fields,
            processes=processes,
            limit=_LIMIT_S,
            world=_world(spread, _NOISE if noise is None else noise),
            seed=seed,
            progress=lambda share: show(int(share * _STEPS)),
        )
    about = {"simulations": found.simulations, "seasons": found.seasons, "hours": found.hours}
    extra = {"playoff_games": found.playoff_games, "cross_games": found.cross_games}
    value = {"league": made.name, **about, **extra, "divisions": [dict(row) for row in found.rows]}
    print_sheet(found.sheet(made.name), value)


# `enginetour forecast`.

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
    with _progress(count) as show:

        def going_on(finished: int) -> bool:
            show(finished)
            return within is None or within(finished)

        found = prospect.forecast(count, going_on=going_on).to_json()
    print_sheet(forecast_sheet(found), found)


def _has_started(chosen: TournamentChoice) -> bool:
    from enginetour.store.tournaments import newest_log

    with newest_log(chosen.database, chosen.name or "") as log:
        return log is not None


def _planned(path: Path, chosen: TournamentChoice, slots: int | None) -> Prospect:
    from enginetour.tournament.forecasting import prospect_of_plan
    from enginetour.tournament.plan import prepare, refuse_few, refuse_field

    plan = prepare(path, chosen.db)
    refuse_few(plan)
    refuse_field(plan)
    if (order := plan.config.tournament.order) not in (None, "file"):
        echo(f"note: the run starts with order = {order!r}; this forecast has the order of the file", err=True)
    return prospect_of_plan(plan, slots)
