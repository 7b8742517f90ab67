"""Commands run and demo: play the tournament or the league of a configuration file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.options import PATH, count_option, database_option, gathered, path_option
from enginetour.cli.printing import is_live_terminal
from enginetour.model.errors import LeagueFound, UsageRefused
from enginetour.store.address import Address, database_of, results_of, workspace_of
from enginetour.tournament.executor import probe_executor

if TYPE_CHECKING:
    from enginetour.cli.session import Run


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a tournament is played, or a season of a league."""

    concurrency: int | None = None  # number of concurrent games; None for that of the configuration
    max_games: int | None = None  # stop after this number of games; None for no limit
    until: float | None = None  # start no new games after this time, in UTC seconds; None for no limit
    accept_change: bool = False  # resume although an engine has changed
    force: bool = False  # allow more concurrent games than processors
    strict: bool = False  # the exit code is 6 if there were incidents
    new: bool = False  # start the next edition of the tournament if the newest edition is finished
    resume_new: bool = False  # resume an unfinished tournament although `new` is set, as the demo does
    live: bool = False  # show a live table instead of one line per game
    cluster: str | None = None  # the Dask cluster of --executor; None to play on this machine


def _run_options(
    stop_at: str | None, fail_on: str | None, plain: bool, executor: str | None, **given: Any
) -> RunOptions:
    return RunOptions(
        until=stop_time(stop_at) if stop_at is not None else None,
        strict=fail_on is not None,
        live=is_live_terminal() and not plain,
        cluster=executor,
        **given,
    )


@click.command()
@click.argument("config", type=PATH)
@database_option
@gathered(
    (
        click.option("--new", is_flag=True, help="Start the next edition of a finished tournament."),
        count_option("--concurrency", show_default="as configured", help="Number of concurrent games."),
        click.option("--executor", metavar="ADDRESS", help="Play on a Dask cluster: dask=tcp://HOST:8786."),
        click.option("--force", is_flag=True, help="Allow more concurrent games than processors."),
        count_option("--max-games", help="Stop after N more games."),
        click.option("--stop-at", metavar="TIME", help="Start no new games after this local time: HH:MM or ISO 8601."),
        click.option("--fail-on", type=click.Choice(["incidents"]), help="Exit with code 6 if there were incidents."),
        click.option(
            "--accept-change",
            is_flag=True,
            help="Resume although the program or options of an engine have changed.",
        ),
        click.option("--plain", is_flag=True, help="Print one line per game instead of a live table."),
    ),
    "options",
    _run_options,
)
def run(config: Path, db: Address | None, options: RunOptions) -> int:
    """Start the tournament or the league of the file CONFIG, or resume it.

    Ctrl-C stops after the games in progress. A second Ctrl-C stops at once;
    the next run replays the interrupted games. After the time of --stop-at,
    enginetour starts no new games and finishes the games in progress. The
    exit code is 8 if games remain.

    Commands for a running tournament, in another terminal: status,
    concurrency N, pause, unpause, finish; with a cluster also machines.

    Example: enginetour run configs/quickstart.toml --stop-at 07:00
    """
    try:
        with _starting(config, db, options) as started:
            return started.go()
    except LeagueFound as found:
        if options.new or options.cluster is not None:
            begin = f"begin the next season with enginetour season next {config}"
            place, step = ("--new", begin) if options.new else ("--executor", "leagues use this machine")
            raise UsageRefused("is not possible for a league", place=place, step=step) from found
    from enginetour.cli.season import play_league

    return play_league(config, db, options)


@click.command()
@path_option(
    "--dir", "directory", metavar="PATH", show_default="results of the workspace", help="Directory for the results."
)
def demo(directory: Path | None) -> int:
    """Play a small bubble tournament between bundled engines.

    UCI and CECP engines play for less than a minute, two games at a time if
    there are two processors. At the end, the bubble history and the rating
    list are printed. Each call plays a new tournament. In the same directory,
    commands such as `report`, `ratings` and `games` read its database, unless
    the directory has another database.

    Example: enginetour demo
    """
    from enginetour.engines.machine import allowed_processors
    from enginetour.interop.files import bundled_directory

    config = bundled_directory("configs") / "quickstart.toml"
    results = directory if directory is not None else workspace_of(Path.cwd()) / "results"
    database = results / "demo.db"
    if database.exists() and not os.access(database, os.W_OK):
        raise UsageRefused("cannot be written", place=str(database), step="choose another directory with --dir")
    new = database.exists()
    count = min(2, allowed_processors().count)
    options = RunOptions(count, accept_change=True, new=new, resume_new=True, live=is_live_terminal())
    with _starting(config, database, options) as started:
        return started.go()


@contextmanager
def _starting(config: Path, db: Address | None, options: RunOptions) -> Iterator[Run]:
    """Start slots and prepare a run. In a first tournament, engines start while the database modules load."""
    directory = config.resolve().parent
    with probe_executor(results_of(directory, database_of(directory, db)), start=True) as executor:
        from enginetour.cli.output import EARLY, SignalState
        from enginetour.tournament.plan import prepare, refuse_few_files
        from enginetour.tournament.probing import begin_probes

        plan, signals = prepare(config, db, resumes=not options.new), SignalState()
        is_first = isinstance(plan.database, Path) and not plan.database.exists()
        here = options.cluster is None
        if here:
            refuse_few_files(options.concurrency or plan.config.play.concurrency)
        signals.last_line = EARLY
        with signals.noting():
            begun = begin_probes(plan.sides, executor) if here and is_first else {}
            from enginetour.cli.session import Run

            yield Run(plan, db, executor, begun, options, signals)


def stop_time(text: str, now: datetime | None = None) -> float:
    """Return the next HH:MM, or an ISO 8601 time, as UTC seconds. A time without a zone is local.

    Raise UsageRefused if the text is not a valid time, or if the time is in the past.
    """
    now = datetime.now().astimezone() if now is None else now
    daily = re.fullmatch(r"\d{1,2}:\d\d", text)
    try:
        if ":" not in text:
            raise ValueError
        then = datetime.fromisoformat(f"{now:%Y-%m-%d}T{text:0>5}" if daily else text)
    except ValueError:
        what = f"must be HH:MM or an ISO 8601 time such as 2026-11-22T07:00 (found {text!r})"
        raise UsageRefused(what, place="--stop-at") from None
    if daily and then <= now.replace(tzinfo=None):
        # No zone: the same time of the local clock on the next day, even if summer time starts or ends in between.
        then += timedelta(days=1)
    if then.timestamp() <= now.timestamp():
        then = then.replace(fold=1)  # at the end of summer time, one hour occurs twice: use its second occurrence
    if then.timestamp() <= now.timestamp():
        raise UsageRefused(f"{text} is in the past", place="--stop-at", step="choose a later time")
    return then.timestamp()
