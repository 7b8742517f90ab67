"""Commands run and demo: play the tournament of a configuration."""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta
from pathlib import Path

import click

from enginetour.cli.options import PATH, database_option
from enginetour.cli.printing import is_live_terminal
from enginetour.model.errors import UsageRefused
from enginetour.store.address import Address, database_of, results_of, workspace_of
from enginetour.tournament.executor import LocalExecutor, probe_executor

# The commands run and demo.


@click.command()
@click.argument("config", type=PATH)
@database_option
@click.option("--new", is_flag=True, help="Start the next edition of a finished tournament.")
@click.option("--slots", type=click.IntRange(min=1), help="Games at once; default: the configuration's.")
@click.option("--place", metavar="PLACE", help="Play on a Dask cluster: dask=tcp://HOST:8786.")
@click.option("--force", is_flag=True, help="Allow more slots than processors.")
@click.option("--max-games", type=click.IntRange(min=1), help="Stop after N more games.")
@click.option("--stop-at", metavar="TIME", help="Start no game after this local time: HH:MM, or ISO.")
@click.option("--fail-on", type=click.Choice(["incidents"]), help="Exit 6 if there were any.")
@click.option("--accept-change", is_flag=True, help="Go on although an engine's binary or options changed.")
@click.option("--plain", is_flag=True, help="One line a game, no live table.")
def run(
    config: Path,
    db: Address | None,
    new: bool,
    slots: int | None,
    place: str | None,
    force: bool,
    max_games: int | None,
    stop_at: str | None,
    fail_on: str | None,
    accept_change: bool,
    plain: bool,
) -> int:
    """Start the tournament of CONFIG, or go on with it: the same command.

    Ctrl-C once lets the running games end, twice drops them. Nothing that was
    announced is lost; games in the air are played again from their start.
    At the time of --stop-at the running games end as they do; exit 8 if there
    is more to play. While it runs, from another terminal: enginetour slots N,
    pause, unpause, finish, status, and machines on a cluster.

    Example: enginetour run configs/quickstart.toml --stop-at 07:00
    """
    until = stop_time(stop_at) if stop_at is not None else None
    live = is_live_terminal() and not plain
    with _executor(config, db) as executor:
        from enginetour.cli.session import Run  # here: the store loads while the first slot starts

        session = Run(config, db, executor, new=new, accept_change=accept_change, live=live, place=place)
        return session.go(slots=slots, force=force, most_games=max_games, until=until, strict=fail_on is not None)


@click.command()
@click.option("--dir", "folder", type=PATH, help="Where; default: the workspace's results.")
def demo(folder: Path | None) -> int:
    """Play the quickstart: a small bubble between the engines we ship.

    UCI and CECP engines both play; it takes a minute or two and ends with the
    ladder and the rating list. Each call plays a fresh one.

    Example: enginetour demo
    """
    from enginetour.interop.files import bundled_directory

    config = bundled_directory("configs") / "quickstart.toml"
    results = folder if folder is not None else workspace_of(Path.cwd()) / "results"
    database = results / "demo.db"
    if database.exists() and not os.access(database, os.W_OK):
        raise UsageRefused("the demo's database cannot be written", place=str(database), step="choose --dir")
    with _executor(config, database) as executor:
        from enginetour.cli.session import Run

        new = database.exists()
        session = Run(config, database, executor, new=new, accept_change=True, live=is_live_terminal(), resume_new=True)
        return session.go()


def _executor(config: Path, db: Address | None) -> LocalExecutor:
    folder = config.resolve().parent
    return probe_executor(results_of(folder, database_of(folder, db)), start=True)


# `run --stop-at`: local time after which no game starts.


def stop_time(words: str, now: datetime | None = None) -> float:
    """UTC seconds of the next HH:MM, or of an ISO time (local unless it says otherwise); UsageRefused if it is past."""
    now = datetime.now().astimezone() if now is None else now
    daily = re.fullmatch(r"\d{1,2}:\d\d", words)
    try:
        if ":" not in words:
            raise ValueError
        then = datetime.fromisoformat(f"{now:%Y-%m-%d}T{words:0>5}" if daily else words)
    except ValueError:
        what = f"takes HH:MM or an ISO time such as 2026-11-22T07:00, found {words!r}"
        raise UsageRefused(what, place="--stop-at") from None
    if daily and then <= now.replace(tzinfo=None):
        then += timedelta(days=1)  # without a zone it is a time on the wall, however long that night is
    if then.timestamp() <= now.timestamp():
        then = then.replace(fold=1)  # the hour that the wall shows twice in autumn: its second time is to come
    if then.timestamp() <= now.timestamp():
        raise UsageRefused(f"{words} is past", place="--stop-at", step="name a time to come")
    return then.timestamp()
