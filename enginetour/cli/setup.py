"""Commands before the first game: init, check, systems."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.common import (
    database_option,
    is_live_terminal,
    quote_command,
    rows_of_others,
    say,
    say_json,
    show_sheet,
)
from enginetour.engines.machine import allowed_processors
from enginetour.model.errors import InputRefused, StoreRefused, TourError, UsageRefused
from enginetour.store.address import Address
from enginetour.store.database import database_exists
from enginetour.store.log import TournamentLog
from enginetour.store.replay import fold
from enginetour.store.tournaments import Store
from enginetour.tournament import limits
from enginetour.tournament import plan as plans
from enginetour.tournament.limits import refuse_few_files
from enginetour.tournament.plan import Plan
from enginetour.tournament.resume import grown_settings, refuse_openings_to_come, same_engines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from enginetour.engines.machine import Machine
    from enginetour.model.task import ProbeResult


# The commands init, systems and check.

_WRITES = {  # by the key of a starter configuration, the option that says it
    "name": "--name",
    "system": "--format",
    "games_per_pairing": "--games-per-pairing",
    "tc": "--tc",
    "openings": "--openings",
    "variant": "--variant",
    "engine": "--engine",
}


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default="tournament.toml")
@click.option("--name", help="Name of the tournament; default: the file's name.")
@click.option("--format", "system", default="bubble", show_default=True, help="Format, see `enginetour systems`.")
@click.option("--tc", default="10+0.1", show_default=True, help="Time control: 10+0.1, 40/60, nodes=1000, depth=8.")
@click.option(
    "--engine", "engines", multiple=True, metavar="ID", help="An engine of `engines list`; repeat, best first."
)
@click.option("--games-per-pairing", default=2, show_default=True, help="1 or an even number.")
@click.option("--openings", metavar="FILE", help="PGN, EPD, FEN or Polyglot .bin; default: the small suite we ship.")
@click.option("--variant", default="standard", show_default=True, help="chess960, crazyhouse, atomic, ...")
@click.option("--from-command", metavar="COMMAND", help="Say what this cutechess-cli or fastchess command says.")
@click.pass_context
def init(
    ctx: click.Context,
    file: Path,
    name: str | None,
    system: str,
    tc: str,
    engines: tuple[str, ...],
    games_per_pairing: int,
    openings: str | None,
    variant: str,
    from_command: str | None,
) -> None:
    """Write a commented configuration to start from.

    Formats that use ratings (mcmahon and its kin) get those of the bundled
    engines; for other engines it asks for them in a terminal, or leaves a
    line to fill in.

    With --from-command it plays what a command of cutechess-cli or fastchess
    would, given whole and in quotes, or as a script: "$(cat test.sh)"; what
    cannot be said is named.

    Example: enginetour init autumn.toml --engine stockfish --engine fairymax
    """
    if from_command is not None:
        from enginetour.tournament.config.peers import from_command as written

        for option in ctx.command.params:
            given = ctx.get_parameter_source(option.name or "") is click.core.ParameterSource.COMMANDLINE
            if given and option.name not in ("file", "name", "from_command"):
                step = "leave one of them out, or change the file that is written"
                raise UsageRefused("the command says it all", place=f"{option.opts[0]} and --from-command", step=step)
        for line in written(from_command, file, name):
            say(line, err=True)
        say(f"{file} written; {quote_command('check', file)} tells the plan, {quote_command('run', file)} starts it")
        return
    from enginetour.formats.base import SYSTEMS
    from enginetour.model.errors import suggest
    from enginetour.model.timecontrol import TimeControl
    from enginetour.model.variants import variant_named
    from enginetour.tournament.config import load as config
    from enginetour.tournament.config.peers import locate_typed
    from enginetour.tournament.config.write import chosen_engines, known_ratings, new_names, starter_text, uses_ratings

    if system not in SYSTEMS:
        raise UsageRefused(f"unknown format {system!r}{suggest(system, SYSTEMS)}", place="--format")
    try:
        control = TimeControl.parse(tc)
    except ValueError as error:
        raise UsageRefused(str(error), place="--tc") from None
    try:
        variant_named(variant)
    except ValueError as error:
        raise UsageRefused(str(error), place="--variant") from None
    if file.exists():
        raise UsageRefused("there is a file already", place=str(file), step="choose another name")
    chosen = chosen_engines(engines, system, control, file.resolve().parent)
    if openings is not None and file.parent.resolve() != Path.cwd().resolve():  # what is typed begins here
        openings = str(Path(openings).expanduser().absolute())
    play = {"variant": variant, "openings": openings}
    ratings: tuple[Mapping[str, str], tuple[str, ...]] = ({}, ())
    if uses_ratings(system):
        ratings = known_ratings(
            chosen, file.resolve().parent, _asked if is_live_terminal() and sys.stdin.isatty() else None
        )
    names = new_names(chosen, file.resolve().parent)
    text = starter_text(name or file.stem, system, tc, chosen, games_per_pairing, play, ratings, names)
    try:
        with file.open("x", encoding="utf-8") as sink:
            sink.write(text)
    except FileNotFoundError:
        raise UsageRefused("no such folder", place=str(file.parent)) from None
    try:
        config.load(file)
    except Exception as error:
        file.unlink()
        if isinstance(error, TourError):
            locate_typed(error, file, text, _WRITES)
        raise
    if lacking := ratings[1]:
        what = f"{system} uses the rating of every entrant: write rating = ... for {', '.join(lacking)} in {file}"
        say(f'{what}, or order = "rating" under [tournament] if the database has their games')
    say(f"{file} written; {quote_command('check', file)} tells the plan, {quote_command('run', file)} starts it")


def _asked(engine: str) -> str:
    """What the user types as the rating of an engine; Enter leaves it out."""
    answer = click.prompt(f'Rating of {engine} (a number, or a grade such as "6k")', default="", show_default=False)
    return str(answer)


def _told(default: object) -> str:
    """A default as a configuration writes it; there is no word for one that is left out."""
    return "(none)" if default is None else json.dumps(default)


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def systems(name: str | None, as_json: bool) -> None:
    """The formats, or one of them with its settings, defaults and sources.

    Example: enginetour systems bubble
    """
    from enginetour.formats.base import SYSTEMS, options_model, own_decisions
    from enginetour.model.errors import suggest

    if name is None:
        rows = [{"name": s.name, "summary": s.summary, "source": s.source} for s in SYSTEMS.values()]
        if as_json:
            say_json({"systems": rows})
        else:
            wide = max(len(row["name"]) for row in rows) + 2
            for row in rows:
                for head, words in ((row["name"], row["summary"]), ("", f"source: {row['source']}")):
                    click.echo(click.wrap_text(words, 79, f"{head:<{wide}}", " " * wide))
        return
    if name not in SYSTEMS:
        raise UsageRefused(f"unknown format {name!r}{suggest(name, SYSTEMS)}", step="enginetour systems lists them")
    system, schema = SYSTEMS[name], options_model(name).model_json_schema()
    settings = [
        {"key": key, "default": entry.get("default"), "meaning": entry.get("description", "")}
        for key, entry in schema["properties"].items()
    ]
    own = own_decisions(name)
    if as_json:
        told = {"name": system.name, "summary": system.summary, "source": system.source}
        say_json({**told, "settings": settings, "own": own})
        return
    click.echo(f"{system.name}: {system.summary}\nsource: {system.source}\n")
    for setting in settings:
        click.echo(click.wrap_text(
            f"{setting['key']} = {_told(setting['default'])}  {setting['meaning']}", 78, "  ", "      "
        ))  # fmt: skip
    if own:
        click.echo("\nits own, where no setting says more:")
    for key, decision in own.items():
        click.echo(click.wrap_text(f"{key}: {decision}", 78, "  ", "      "))


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@database_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--notify", is_flag=True, help="Send a test notification each way of [notify].")
def check(config: Path, db: Address | None, as_json: bool, notify: bool) -> int:
    """Validate CONFIG, start every engine once, tell the plan. Writes nothing.

    Example: enginetour check configs/debian-bubble.toml
    """
    from enginetour.engines.identity import path_options
    from enginetour.engines.machine import this_machine
    from enginetour.engines.safeguards import describe_safeguards
    from enginetour.reports import standings as text
    from enginetour.tournament import probing
    from enginetour.tournament.limits import own_cores

    plan = plans.prepare(config, db)
    plans.refuse_few(plan)
    how = _how_to_run(plan)
    if notify:
        _try_notify(plan)
    found = probing.probe_all(plan.sides, hidden=plan.results)
    sheet = text.probes_sheet(found)
    if plan.config.play.affinity is True:
        own_cores(plan.sides.values(), plan.config.play.slots, plan.config.at("play", "affinity"))
    speed = this_machine(plan.config.play.speed)
    told, paths = estimate_lines(replace(plan, speed=speed.speed)), path_options(plan.sides.values())
    rows, left_out = [dict(row) for row in sheet.rows], plan.suite.left_out
    value = {"engines": rows, "paths": list(paths), "openings_left_out": asdict(left_out), **told}
    show_sheet(sheet, as_json=as_json, as_csv=False, value=value)
    probing.refuse_unfit(found, plan.sides)
    if not as_json and not told:
        say(f"games: told by run, which takes the ratings of order = {plan.config.tournament.order}")
    elif not as_json:
        _show_plan(plan, told, found, speed)
    if not as_json:
        if left_out.count:
            say(f"warning: {left_out}")
        for line in paths:
            say(f"may open files: {line}")
        say(describe_safeguards())
        say(f"fit to run: {quote_command('run', *how, config, db=db)}")
    return 0


def _show_plan(plan: Plan, told: dict[str, Any], found: Mapping[str, ProbeResult], speed: Machine) -> None:
    """Print the estimate, the openings, the time controls and the warnings of `check`."""
    from enginetour.engines.identity import missing_paths
    from enginetour.reports import standings as text
    from enginetour.tournament import probing
    from enginetour.tournament.limits import silent_ponderers
    from enginetour.tournament.notify import command_fault
    from enginetour.tournament.probing import unsupported_openings

    fewest, most = told["fewest"], told["most"]
    click.echo(f"games: {most}" if fewest == most else f"games: {fewest} to {most}, likely {told['likely']}")
    if told["test"]:
        lengths = ", ".join(f"{truth} {games:.0f}" for truth, games in told["test"].items())
        click.echo(f"games until a verdict, on average: {lengths} (Wald; half of the games drawn)")
    hours, slots = told["longest_hours"], plan.config.play.slots
    if hours is not None:
        at_once = f"{slots} at once" if slots > 1 else "one after another"
        moves = limits.long_game_moves(plan)
        click.echo(f"time: at most {text.format_duration(hours * 3600)}, {at_once}, games of {moves} moves")
    say(f"openings: {told['suite']}")
    if len({*told["controls"].values()}) > 1 or " with " in next(iter(told["controls"].values())):
        click.echo("time controls:")
        for name, control in told["controls"].items():
            click.echo(f"  {name}: {control}")
    for line in (*told["starts"], *told["tables"]):
        say(line)
    unwilling = (silent_ponderers(plan.sides[name], probe.options) for name, probe in found.items())
    if speed.speed is not None:
        say(speed.words)
    unsaid = unsupported_openings(plan.suite, plan.sides, found)
    untold = filter(None, [command_fault(plan.config.notify, plan.config.path.resolve().parent)])
    absent = chain(missing_paths(plan.sides.values()), untold)
    renamed = probing.release_warnings(found, plan.files)
    for warning in (*told["warnings"], *chain.from_iterable(unwilling), *renamed, *unsaid, *absent):
        say(f"warning: {warning}")


def _try_notify(plan: Plan) -> None:
    """One event each way, told on stderr; InputRefused for the first that was not delivered."""
    from enginetour.tournament.events import make_event
    from enginetour.tournament.notify import NotifyFailed, channels

    settings, name = plan.config.notify, plan.config.tournament.name
    if not settings.channels():
        step = 'add [notify] with command = ["..."] or webhook = "https://..."'
        raise UsageRefused("there is nobody to notify", place=plan.config.at("notify"), step=step)
    event = make_event("test", name, time.time(), {}, "notifications arrive")
    for channel, send in channels(settings, plan.config.path.resolve().parent).items():
        try:
            send(event)
        except NotifyFailed as error:
            raise InputRefused(f"not delivered: {error}", place=plan.config.at("notify", channel)) from None
        click.echo(f"notify {channel}: delivered", err=True)


# Checks of a plan against its database.


def _how_to_run(plan: Plan) -> list[str]:
    """The options without which `run` would refuse; what it refuses with any is refused here in its words."""
    slots, name = plan.config.play.slots, plan.config.tournament.name
    refuse_few_files(slots)
    force = ["--force"] if slots > allowed_processors().count and plan.config.play.affinity is not True else []
    if not database_exists(plan.database):
        _refuse_openings(plan, 1)
        return force
    with rows_of_others(plan.database), Store.open(plan.database, create=False, readonly=True) as store:
        if not store.has(name):
            _refuse_openings(plan, store.newest_edition(name) + 1)
            return force
        log = store.tournament(name)
        format_, state = fold(log)
        if not format_.offers(state) and not _grows(plan, log):
            _refuse_openings(plan, log.edition + 1)
            return [*force, "--new"]
        refuse_openings_to_come(plan, log, grown_settings(plan, log), format_, state)
        same_engines(plan, log, accept_change=False, heed=lambda: None)
    return force


def _grows(plan: Plan, log: TournamentLog) -> bool:
    """Whether the file makes what has ended longer; else what it says is for the next edition."""
    try:
        return bool(grown_settings(plan, log))
    except StoreRefused:
        return False


def _refuse_openings(plan: Plan, edition: int) -> None:
    """As `plan.refuse_openings`; nothing for a field that `foretold` has words for."""
    try:
        plans.refuse_field(plan)
    except InputRefused:
        return
    plans.refuse_openings(plan, edition)


def estimate_lines(plan: Plan) -> dict[str, Any]:
    """Estimate the games and hours of a plan; empty if an existing database may supply missing ratings."""
    try:
        return limits.estimate_duration(plan)
    except InputRefused:
        if plan.config.tournament.order in (None, "file") or not database_exists(plan.database):
            raise
        return {}
