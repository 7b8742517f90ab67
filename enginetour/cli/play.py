"""Commands that play: run, demo."""

from __future__ import annotations

import os
from pathlib import Path

import click

from enginetour.cli.common import database_option, is_live_terminal
from enginetour.model.errors import UsageRefused
from enginetour.store.address import Address


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
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
    from enginetour.cli.session import Run
    from enginetour.cli.stopat import stop_time

    until = stop_time(stop_at) if stop_at is not None else None
    live = is_live_terminal() and not plain
    session = Run(config, db, new=new, accept_change=accept_change, live=live, place=place)
    return session.go(slots=slots, force=force, most_games=max_games, until=until, strict=fail_on is not None)


@click.command()
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="Where; default: the workspace's results.")
def demo(folder: Path | None) -> int:
    """Play the quickstart: a small bubble between the engines we ship.

    UCI and CECP engines both play; it takes a minute or two and ends with the
    ladder and the rating list. Each call plays a fresh one.

    Example: enginetour demo
    """
    from enginetour.cli.session import Run
    from enginetour.interop.files import shipped
    from enginetour.tournament.config.workspace import workspace_of

    config = shipped("configs") / "quickstart.toml"
    results = folder if folder is not None else workspace_of(Path.cwd()) / "results"
    database = results / "demo.db"
    if database.exists() and not os.access(database, os.W_OK):
        raise UsageRefused("the demo's database cannot be written", place=str(database), step="choose --dir")
    done = Run(config, database, new=database.exists(), accept_change=True, live=is_live_terminal(), resume_new=True)
    return done.go()
