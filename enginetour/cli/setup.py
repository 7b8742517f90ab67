"""Commands for the time before the first game: init, check, systems."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.options import PATH, announce_config, database_option, many_option, path_option, quote_command
from enginetour.cli.printing import echo, is_live_terminal, json_option, output_form, print_json, print_sheet
from enginetour.engines.identity import missing_paths, path_options
from enginetour.engines.machine import allowed_processors, this_machine
from enginetour.engines.process import describe_safeguards
from enginetour.formats.base import SYSTEMS, options_model, own_decisions
from enginetour.interop.files import replace_file, write_new
from enginetour.interop.toml import toml_value
from enginetour.model.errors import (
    InputRefused,
    LeagueFound,
    StoreRefused,
    TourError,
    UsageRefused,
    did_you_mean,
    usage_errors,
)
from enginetour.model.renamed import system_name
from enginetour.model.timecontrol import TimeControl
from enginetour.model.variants import variant_named
from enginetour.reports.sheet import Column, Sheet, format_duration, format_hours
from enginetour.reports.standings import probes_sheet
from enginetour.reports.starts import round_one_lines
from enginetour.store.address import Address, database_of, rows_of_others, stage_name, workspace_of
from enginetour.store.database import database_exists
from enginetour.store.log import TournamentLog
from enginetour.store.replay import fold
from enginetour.store.tournaments import Store
from enginetour.tournament import plan as limits
from enginetour.tournament import probing
from enginetour.tournament.config.load import load
from enginetour.tournament.plan import Plan
from enginetour.tournament.run import as_recorded, grown_settings, refuse_openings_to_come, same_engines

if TYPE_CHECKING:
    from enginetour.engines.machine import Machine
    from enginetour.model.task import ProbeResult


_WRITES = {  # key of a starter configuration -> option that sets the key
    "name": "--name",
    "system": "--format",
    "games_per_pairing": "--games-per-pairing",
    "tc": "--tc",
    "openings": "--openings",
    "variant": "--variant",
    "engine": "--engine",
}


@click.command()
@click.argument("file", metavar="[FILE]", type=PATH, default="tournament.toml")
@click.option("--name", metavar="TEXT", show_default="name of the file", help="Name of the tournament.")
@click.option(
    "--format",
    "system",
    default="bubble",
    show_default=True,
    metavar="NAME",
    help="Tournament format, see `enginetour systems`.",
)
@click.option(
    "--tc",
    default="10+0.1",
    show_default=True,
    metavar="CONTROL",
    help="Time control: seconds+increment such as 10+0.1, or 40/60, nodes=1000 or depth=8.",
)
@many_option(
    "--engine",
    "engines",
    metavar="ID",
    show_default="bundled engines",
    help="Id of an engine (see `engines list`). Name the strongest engine first.",
)
@click.option(
    "--games-per-pairing",
    type=int,
    metavar="N",
    show_default="2, or 1 in a FIDE Swiss",
    help="Games per pairing: 1 or an even number.",
)
@click.option(
    "--openings", metavar="FILE", show_default="bundled book", help="Opening book: PGN, EPD, FEN or Polyglot .bin."
)
@click.option(
    "--variant", default="standard", show_default=True, metavar="NAME", help="Variant: chess960, crazyhouse, ..."
)
@click.option("--from-command", metavar="COMMAND", help="Translate this cutechess-cli or fastchess command.")
@path_option("--from-config", help="Translate this config.json of fastchess.")
@click.pass_context
def init(
    ctx: click.Context,
    file: Path,
    name: str | None,
    system: str,
    tc: str,
    engines: tuple[str, ...],
    games_per_pairing: int | None,
    openings: str | None,
    variant: str,
    from_command: str | None,
    from_config: Path | None,
) -> None:
    """Write a commented configuration to start from.

    FILE is tournament.toml by default. For formats that use ratings, such as
    mcmahon, the ratings of bundled engines are written. For other engines,
    init asks for the ratings; if it cannot, add them to the file.

    --from-command translates a complete command of cutechess-cli or
    fastchess, in quotes, for example "$(cat test.sh)". It lists everything
    that it cannot translate. --from-config translates the config.json that
    fastchess writes; `enginetour import config.json` imports its results.

    Example: enginetour init autumn.toml --engine stockfish --engine fairymax
    """
    if from_command is not None or from_config is not None:
        for line in _translated(ctx, from_command or "", from_config, file, name):
            echo(line, err=True)
        announce_config(file)
        return
    from enginetour.tournament.config.write import (
        chosen_engines,
        known_ratings,
        locate_typed,
        new_names,
        starter_text,
        uses_ratings,
    )

    system = system_name(system)
    if system not in SYSTEMS:
        what = f"unknown format {system!r}{did_you_mean(system, SYSTEMS)}"
        raise UsageRefused(what, place="--format", step="list the formats with enginetour systems")
    with usage_errors("--tc"):
        control = TimeControl.parse(tc)
    with usage_errors("--variant"):
        variant_named(variant)
    if file.exists():
        raise UsageRefused("already exists", place=str(file), step="choose another name")
    folder = file.resolve().parent
    chosen = chosen_engines(engines, system, control, folder)
    if openings is not None and folder != Path.cwd().resolve():  # the user's path is relative to the current directory
        openings = str(Path(openings).expanduser().absolute())
    play = {"variant": variant, "openings": openings}
    ratings: tuple[Mapping[str, str], tuple[str, ...]] = ({}, ())
    if uses_ratings(system):
        ratings = known_ratings(chosen, folder, _asked if is_live_terminal() and sys.stdin.isatty() else None)
    names = new_names(chosen, folder)
    text = starter_text(name or file.stem, system, tc, chosen, games_per_pairing, play, ratings, names)
    text = f"#:schema {os.path.relpath(_schema_file(folder), folder)}\n{text}"  # for editors with Taplo
    try:
        write_new(file, text)
    except FileNotFoundError:
        raise UsageRefused("directory does not exist", place=str(file.parent), step="create it first") from None
    try:
        load(file)
    except Exception as error:
        file.unlink()
        if isinstance(error, TourError):
            locate_typed(error, file, text, _WRITES)
        raise
    if lacking := ratings[1]:
        what = f"{system} needs the rating of every entrant: add rating = ... for {', '.join(lacking)} in {file}"
        echo(f'{what}, or add order = "rating" under [tournament] if the database has games of these engines')
    _write_schema(folder)
    announce_config(file)


def _translated(ctx: click.Context, command: str, config: Path | None, file: Path, name: str | None) -> tuple[str, ...]:
    """Write the configuration of another program's command or file, and return notes. Other options are an error."""
    from enginetour.tournament.config.peers import from_command, from_file

    used = "--from-command" if config is None else "--from-config"
    for option in ctx.command.params:
        given = ctx.get_parameter_source(option.name or "") is click.core.ParameterSource.COMMANDLINE
        if given and option.name not in ("file", "name") and used not in option.opts:
            step = f"omit {option.opts[0]}, and edit the file that enginetour writes"
            raise UsageRefused(f"cannot be combined with {used}", place=option.opts[0], step=step)
    return from_command(command, file, name) if config is None else from_file(config, file, name)


def _schema_file(folder: Path) -> Path:
    return workspace_of(folder) / "results" / "configuration.schema.json"


def _write_schema(folder: Path) -> None:
    from enginetour.tournament.config.reference import json_schema

    with suppress(OSError):  # the schema is not necessary, because only editors read it
        replace_file(_schema_file(folder), [json.dumps(json_schema())])


def _asked(engine: str) -> str:
    answer = click.prompt(f'Rating of {engine} (a number, or a grade such as "6k")', default="", show_default=False)
    return str(answer)


@click.command()
@click.argument("name", metavar="[NAME]", required=False)
@json_option
def systems(name: str | None) -> None:
    """List the tournament formats, or show the settings of one.

    Example: enginetour systems bubble
    """
    if name is None:
        rows = [{"name": one, "summary": s.summary, "source": s.source} for one, s in SYSTEMS.items()]
        if output_form() == "json":
            print_json({"systems": rows})
        else:
            wide = max(len(row["name"]) for row in rows) + 2
            for row in rows:
                for head, words in ((row["name"], row["summary"]), ("", f"source: {row['source']}")):
                    click.echo(click.wrap_text(words, 79, f"{head:<{wide}}", " " * wide))
        for fault in SYSTEMS.faults():
            echo(f"warning: {fault}", err=True)
        return
    name = system_name(name)
    if name not in SYSTEMS:
        what = f"unknown format {name!r}{did_you_mean(name, SYSTEMS)}"
        raise UsageRefused(what, step="list the formats with enginetour systems")
    system, schema = SYSTEMS[name], options_model(name).model_json_schema()
    settings = [
        {"key": key, "default": entry.get("default"), "meaning": entry.get("description", "")}
        for key, entry in schema["properties"].items()
    ]
    own = own_decisions(name)
    if output_form() == "json":
        about = {"name": name, "summary": system.summary, "source": system.source}
        print_json({**about, "settings": settings, "own": own})
        return
    click.echo(f"{name}: {system.summary}\nsource: {system.source}\n")
    for setting in settings:
        default = "(none)" if setting["default"] is None else toml_value(setting["default"])
        click.echo(click.wrap_text(f"{setting['key']} = {default}  {setting['meaning']}", 78, "  ", "      "))
    if own:
        click.echo("\nrules without a setting:")
    for key, decision in own.items():
        click.echo(click.wrap_text(f"{key}: {decision}", 78, "  ", "      "))


@click.command()
@click.argument("config", type=PATH)
@database_option
@json_option
@click.option("--notify", is_flag=True, help="Send a test notification through each channel of [notify].")
def check(config: Path, db: Address | None, notify: bool) -> int:
    """Check a configuration or a league, start every engine once, and show the plan.

    Shows the number of games, the longest duration and warnings. For formats
    with rounds, it also shows who starts where and the expected differences
    of round 1. Writes nothing.

    Example: enginetour check configs/debian-bubble.toml
    """
    try:
        plan = limits.prepare(config, db)
    except LeagueFound:
        return _check_league(config, db, notify=notify)
    limits.refuse_few(plan)
    how = _how_to_run(plan)
    for notice in plan.config.notices:
        echo(f"note: {notice}", err=True)
    if notify:
        _try_notify(plan)
    probes = probing.probe_all(plan.sides, hidden=plan.results)
    sheet = probes_sheet(probes)
    if plan.config.play.affinity is True:
        limits.own_cores(plan.sides.values(), plan.config.play.concurrency, plan.config.at("play", "affinity"))
    sides, notes = probing.without_lacking(plan.sides, probes)
    plan = replace(plan, sides=sides)
    machine = this_machine(plan.config.play.speed)
    estimate, paths = _estimate(replace(plan, speed=machine.speed)), path_options(plan.sides.values())
    left_out = plan.book.left_out
    options = {name: dict(side.spec.options) for name, side in sides.items()}
    value = {"engines": sheet.rows, "options": options, "notes": list(notes), "paths": list(paths)}
    value |= {"openings_left_out": asdict(left_out), **estimate}
    print_sheet(sheet, value)
    probing.refuse_unfit(probes, plan.sides)
    if output_form() == "json":
        return 0
    if estimate:
        _print_plan(plan, estimate, probes, machine, how)
    else:
        echo(f"games: not known yet; the run reads the ratings for order = {plan.config.tournament.order} first")
    if usual := plan.config.defaults.model_dump(exclude_unset=True):
        echo(f"defaults of all entrants: {', '.join(f'{key} = {toml_value(each)}' for key, each in usual.items())}")
    for note in notes:
        echo(f"note: {note}")
    if left_out.count:
        echo(f"warning: {left_out}")
    for line in paths:
        echo(f"may open files: {line}")
    echo(describe_safeguards())
    echo(f"ready to run: {quote_command('run', *how, config, db=db)}")
    return 0


_LEAGUE = (
    Column("tournament", "tournament", left=True),
    Column("engines", "engines"),
    Column("fewest", "fewest games"),
    Column("most", "most games"),
    Column("longest_hours", "at most", form=format_hours),
)


_DIVISION = Column("division", "division", left=True, form=lambda label: label or "reserve")


def _check_league(config: Path, db: Address | None, *, notify: bool) -> int:
    """Check a league file, start the engines once, and show what a run plays, or the next season."""
    from enginetour.reports.league import moves_rows, moves_table
    from enginetour.tournament.league import look_ahead, read_league

    league, database = read_league(config), database_of(config.resolve().parent, db)
    ahead = look_ahead(league, database)
    if notify:
        _try_notify(ahead.plans[0])
    rows, warnings, how = list[dict[str, Any]](), dict[str, None](), list[str]()
    engines, reserves = list[dict[str, Any]](), dict[str, dict[str, Any]]()
    probed: list[Mapping[str, ProbeResult]] = []
    for plan in ahead.plans:
        how = _how_to_run(plan)
        probed.append(probing.probe_all(plan.sides, hidden=plan.results))
        estimate, name = limits.estimate_duration(plan), plan.config.tournament.name
        about = {"tournament": name, "engines": len(plan.entrants)}
        rows.append(about | {column.key: estimate[column.key] for column in _LEAGUE[2:]})
        warnings |= dict.fromkeys(estimate["warnings"])
        label = name.removeprefix(stage_name(league.name, ahead.number, ""))
        playing = {one.name for one in plan.entrants}
        for row in probes_sheet(probed[-1]).rows:
            if row["name"] in playing:
                engines.append({"division": label, **row})
            else:
                reserves[row["name"]] = {"division": "", **row}
    engines += reserves.values()
    title = f"{league.name}, season {ahead.number}"
    later = league.section.after_divisions()
    notes = [f"after the divisions: {later}"] * bool(later) + [f"warning: {text}" for text in warnings]
    moves = moves_rows(ahead.moves, league.section.rules().names)
    value: dict[str, Any] = {"league": league.name, "season": ahead.number, "begun": ahead.exists, "tournaments": rows}
    value |= {"engines": engines, "waiting": [*ahead.waiting], "moves": moves, "warnings": [*warnings]}
    waiting = [f"waiting for a place: {', '.join(ahead.waiting)}"] * bool(ahead.waiting)
    columns = (_DIVISION, *probes_sheet({}).columns)
    print_sheet(Sheet(f"engines · {title}", columns, tuple(engines), notes=tuple(waiting)), value)
    for plan, probes in zip(ahead.plans, probed, strict=True):
        probing.refuse_unfit(probes, plan.sides)
    if output_form() == "json":
        return 0
    print_sheet(Sheet(title, _LEAGUE, tuple(rows), notes=tuple(notes)))
    if moves:
        print_sheet(moves_table(f"moves · {title}", moves))
    if ahead.number > 1 and not ahead.exists:
        echo(f"ready to begin: {quote_command('season', 'next', config, db=db)}")
    else:
        echo(f"ready to run: {quote_command('run', *how, config, db=db)}")
    return 0


def _print_plan(
    plan: Plan, estimate: dict[str, Any], probes: Mapping[str, ProbeResult], machine: Machine, how: Sequence[str]
) -> None:
    from enginetour.tournament.notify import command_fault

    fewest, most = estimate["fewest"], estimate["most"]
    click.echo(f"games: {most}" if fewest == most else f"games: {fewest} to {most}, likely {estimate['likely']}")
    if estimate["test"]:
        lengths = ", ".join(f"{truth} {games:.0f}" for truth, games in estimate["test"].items())
        click.echo(f"average games until the test ends: {lengths} (Wald's formula, with half of the games drawn)")
    hours, slots = estimate["longest_hours"], plan.config.play.concurrency
    if hours is not None:
        at_once = f"{slots} concurrent games" if slots > 1 else "one game at a time"
        moves = limits.long_game_moves(plan)
        click.echo(f"time: at most {format_duration(hours * 3600)}, {at_once}, games of {moves} moves")
    echo(f"openings: {estimate['opening_book']}")
    controls = estimate["controls"]
    if len({*controls.values()}) > 1 or " with " in next(iter(controls.values())):
        click.echo("time controls:")
        for name, control in controls.items():
            click.echo(f"  {name}: {control}")
    for line in (*estimate["starts"], *_round_one(plan, estimate["round_1"], how), *estimate["tables"]):
        echo(line)
    if machine.speed is not None:
        echo(machine.words)
    fault = command_fault(plan.config.notify, plan.config.path.resolve().parent)
    for warning in chain(
        estimate["warnings"],
        *(limits.silent_ponderers(plan.sides[name], probe.options) for name, probe in probes.items()),
        probing.release_warnings(probes, plan.files),
        probing.unsupported_openings(plan.book, plan.sides, probes),
        missing_paths(plan.sides.values()),
        [fault] if fault else [],
    ):
        echo(f"warning: {warning}")


def _round_one(plan: Plan, starts: Mapping[str, Any] | None, how: Sequence[str]) -> Iterator[str]:
    """Yield sentences on round 1, or on its order if the run reads the order from the database.

    `how` are the options of `run`; a later edition is ordered by rating unless the configuration sets the order.
    """
    order = plan.config.tournament.order or ("rating" if "--new" in how else "file")
    if starts is None:
        return
    if order != "file":
        yield f"round 1: the run pairs it when it starts, because its order is {order}"
    else:
        yield from round_one_lines(starts)


def _try_notify(plan: Plan) -> None:
    """Send a test event through each channel and report it on stderr. Raise InputRefused at the first failure."""
    from enginetour.tournament.events import make_event
    from enginetour.tournament.notify import NotifyFailed, channels

    settings, name = plan.config.notify, plan.config.tournament.name
    if not settings.channels():
        step = 'add [notify] with command = ["..."] or webhook = "https://..."'
        raise UsageRefused("no notification channel is configured", place=plan.config.at("notify"), step=step)
    event = make_event("test", name, time.time(), {}, "test notification")
    for channel, send in channels(settings, plan.config.path.resolve().parent).items():
        try:
            send(event)
        except NotifyFailed as error:
            raise InputRefused(f"not delivered: {error}", place=plan.config.at("notify", channel)) from None
        click.echo(f"notify {channel}: delivered", err=True)


def _how_to_run(plan: Plan) -> list[str]:
    """Return the options that `run` needs for this plan. If no options can help, raise the error that `run` raises."""
    slots, name = plan.config.play.concurrency, plan.config.tournament.name
    limits.refuse_few_files(slots)
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
        same_engines(as_recorded(plan, log), log, accept_change=False)
    return force


def _grows(plan: Plan, log: TournamentLog) -> bool:
    """Return whether the configuration extends the finished tournament; otherwise it describes the next edition."""
    try:
        return bool(grown_settings(plan, log))
    except StoreRefused:
        return False


def _refuse_openings(plan: Plan, edition: int) -> None:
    """Call `plan.refuse_openings`, unless the entrants are not valid for the format; the estimate reports that."""
    try:
        limits.refuse_field(plan)
    except InputRefused:
        return
    limits.refuse_openings(plan, edition)


def _estimate(plan: Plan) -> dict[str, Any]:
    """Return the games and hours of a plan, or {} if a rating is missing that may be in the database."""
    try:
        return limits.estimate_duration(plan)
    except InputRefused:
        if plan.config.tournament.order in (None, "file") or not database_exists(plan.database):
            raise
        return {}
