"""Leagues: play a season, show it, and begin the next one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginetour.cli.options import COUNTED, PATH, database_option, open_store, quote_command, refuse_group_options
from enginetour.cli.output import END_CODES, INCIDENTS_CODE, STOPPED_CODE, Console, SignalState, attended
from enginetour.cli.printing import echo, output_form, output_options, print_sheet, print_text, width
from enginetour.model.errors import UsageRefused
from enginetour.reports.sheet import render
from enginetour.store.address import Address, database_of

if TYPE_CHECKING:
    from enginetour.cli.run import RunOptions
    from enginetour.tournament.league import LeagueRun

_PROGRESS_GAMES = 10  # games between two lines about the progress
# Events of a tournament that are printed.
_RESULTS = frozenset({"game", "finished"})
_MESSAGES = frozenset({"started", "incident", "resumed", "trouble", "stopped"})  # a "trouble" precedes other events


def play_league(path: Path, db: Address | None, options: RunOptions) -> int:
    """Start or resume the newest season of the league of a file, and return the exit code."""
    from enginetour.tournament.league import LeagueRun, read_league

    database = database_of(path.resolve().parent, db)
    console, signals = Console(), SignalState()

    def tell(text: str) -> None:
        console.try_to(lambda: echo(text, err=True))

    games, incidents = count(1), list[str]()

    def show(event: Mapping[str, object]) -> None:
        text = str(event["text"])
        if event["event"] == "incident":
            incidents.append(text)
        if event["event"] in _RESULTS:
            console.try_to(lambda: echo(text))
            if event["event"] == "game" and next(games) % _PROGRESS_GAMES == 0:
                console.try_to(lambda: echo(run.progress()))
        elif event["event"] in _MESSAGES:
            tell(text)

    run = LeagueRun(
        read_league(path),
        database,
        show,
        tell,
        options.concurrency,
        options.max_games,
        options.until,
        accept_change=options.accept_change,
        force=options.force,
    )
    again = quote_command("run", path, db=db)
    signals.last_line = f"stopped; {again} resumes it"

    def stop() -> None:
        grace = run.league.base.play.grace
        now = signals.is_hard() or grace == 0
        run.stop(now=now, has_grace=True, cause=signals.name)
        if not now:
            tell(f"stopping: games in progress have {grace:g} s to finish; Ctrl-C again stops at once")

    signals.act = stop
    with attended(signals):
        code = _play(run, console, signals, quote_command("season", "next", path, db=db), again)
    return INCIDENTS_CODE if options.strict and incidents and code in (0, STOPPED_CODE) else code


def _play(run: LeagueRun, console: Console, signals: SignalState, following: str, again: str) -> int:
    from enginetour.tournament.scheduler import RunEnd

    end = run.play()
    if not signals.is_hard():
        console.try_to(lambda: _print_season(run.database, run.league.name))
    if end is RunEnd.FINISHED:
        console.echo(f"the season has ended; {following} begins the next one")
        return 0
    if end is RunEnd.BLOCKED:
        withdraw = quote_command("withdraw", "-t", "TOURNAMENT", "ENGINE")
        console.echo(f"repair the engine that cannot play, or withdraw it with {withdraw}")
    console.echo(f"the season has not ended; {again} resumes it")
    return signals.code if signals else END_CODES.get(end, STOPPED_CODE)


def _print_season(database: Address, league: str) -> None:
    from enginetour.reports.league import season_sheet
    from enginetour.store.seasons import newest_season
    from enginetour.store.tournaments import existing_store

    with existing_store(database) as store:
        if store is not None and (book := newest_season(store, league)) is not None:
            click.echo(f"\n{render(season_sheet(book), width())}", nl=False)


# Commands.


@click.group(invoke_without_command=True)
@database_option
@output_options
@click.pass_context
def season(ctx: click.Context, db: Address | None) -> None:
    """Show the newest season of a league, or begin the next one.

    Example: enginetour season next league.toml
    """
    if ctx.invoked_subcommand is not None:
        refuse_group_options(ctx)
        return
    _show(db, None, None)


@season.command(name="show")
@click.argument("number", type=COUNTED, required=False)
@click.option("--league", metavar="NAME", show_default="that with the newest season", help="Name of the league.")
@database_option
@output_options
def show_season(number: int | None, league: str | None, db: Address | None) -> None:
    """Show a season: tables with zones, games to come, and moves.

    Without NUMBER, the newest season is shown.

    Example: enginetour season show 1
    """
    _show(db, number, league)


def _show(db: Address | None, number: int | None, league: str | None) -> None:
    from enginetour.reports.league import moves_sheet, season_json, season_sheet
    from enginetour.store.seasons import SeasonBook, league_of, seasons_of

    with open_store(db) as store:
        name = league_of(store, league)
        found = seasons_of(store, name)
        if number is not None and number > len(found):
            raise UsageRefused(f"season {number} of {name} does not exist", step=f"use 1 to {len(found)}")
        book = SeasonBook(store, found[(number or len(found)) - 1])
        print_sheet(season_sheet(book), season_json(book))
        if output_form() == "text" and book.stored.season.moves:
            print_text("\n" + render(moves_sheet(book.stored), width()))


@season.command(name="next")
@click.argument("config", type=PATH)
@database_option
def next_season(config: Path, db: Address | None) -> None:
    """Write the next season of the league in the file CONFIG.

    The divisions follow from the results of the season that has ended. The
    command shows who moves and why. `enginetour run` plays the new season.

    Example: enginetour season next league.toml
    """
    from enginetour.reports.league import moves_sheet
    from enginetour.store.seasons import seasons_of
    from enginetour.store.tournaments import Store
    from enginetour.tournament.league import begin_season, read_league

    league = read_league(config)
    database = database_of(config.resolve().parent, db)
    number = begin_season(league, database, lambda text: echo(text, err=True))
    with Store.open(database, create=False, readonly=True) as store:
        made = seasons_of(store, league.name)[-1]
    print_text(render(moves_sheet(made), width()))
    echo(f"season {number} of {league.name} is ready; {quote_command('run', config, db=db)} plays it")
