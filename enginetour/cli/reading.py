"""Commands that read a tournament: status, standings, crosstable, ladder."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.common import (
    choose_tournament,
    markup,
    open_store,
    output_options,
    print_text,
    say_json,
    show_sheet,
    tournament_argument,
    tournament_options,
    width,
    wrap_sentences,
)
from enginetour.model.errors import UsageRefused
from enginetour.store.address import Address

if TYPE_CHECKING:
    from enginetour.formats.base import Format
    from enginetour.formats.pairing.tiebreaks import Unplayed
    from enginetour.reports.sheet import Sheet
    from enginetour.store.log import TournamentLog


@click.command()
@tournament_argument
@tournament_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--watch", is_flag=True, help="Again every two seconds, until Ctrl-C.")
def status(db: Address | None, name: str | None, edition: int | None, as_json: bool, watch: bool) -> None:
    """How far a tournament is: games, estimate, what is being played.

    Example: enginetour status --json
    """
    import time

    from enginetour.reports.progress import format_status as status_words

    while True:
        found, name, edition = _status(db, name, edition)  # a later look is at the same one, whatever has come since
        if as_json:
            say_json(found)
        else:
            click.echo(wrap_sentences(status_words(found)))
        if not watch or found["state"] not in ("running", "stopping", "paused"):
            return
        time.sleep(2.0)


def _status(db: Address | None, name: str | None, edition: int | None) -> tuple[dict[str, object], str, int]:
    """What there is to tell, and of which tournament and edition."""
    from enginetour.cli.screen import status as told
    from enginetour.reports.games import count_endings as endings_counted
    from enginetour.reports.progress import Progress
    from enginetour.store.address import slug_of
    from enginetour.store.replay import fold
    from enginetour.tournament.config.workspace import database_of
    from enginetour.tournament.control import ask, socket_path

    database = database_of(Path.cwd(), db)
    with open_store(db, lasting=True) as store:
        log = choose_tournament(store, name, edition)
        answer = ask(socket_path(database, slug_of(log.name)), {"do": "status"})
        if answer is not None and answer.get("tournament") == log.title:
            return {key: value for key, value in answer.items() if key != "ok"}, log.name, log.edition
        with store.database.snapshot():  # not before: a run that ends in this moment has ended in it
            format_, state = fold(log)
            picture = Progress(system=log.system, name=log.title)
            picture.stand(format_, state)
            picture.endings = endings_counted(log.games(counting=True))
            picture.done = picture.endings.total()
            picture.incidents = {"": sum(not incident.is_warning for _, incident in log.incidents())}
            return told(picture, "stopped" if format_.offers(state) else "finished"), log.name, log.edition


@click.command()
@tournament_argument
@tournament_options
@output_options
@click.option("--pairing-report", is_flag=True, help="How the rounds were paired instead of the table.")
@click.option(
    "--engines", is_flag=True, help="How each engine worked instead of the table: depth, nps, time, warnings."
)
@click.option("--placement", metavar="CODES", help="Order of the table of a file, such as PTS,BH-C1,SB.")
@click.option(
    "--unplayed",
    type=click.Choice(["own", "start", "zero", "fide", "fide-2023", "fide-2009"]),
    help="What rounds without a game count in the tie-breaks of a file.  [default: fide for a TRF]",
)
def standings(
    db: Address | None,
    name: str | None,
    edition: int | None,
    as_json: bool,
    as_csv: bool,
    pairing_report: bool,
    engines: bool,
    placement: str | None,
    unplayed: Unplayed | None,
) -> None:
    """The table, with tie-breaks where the format has them.

    TOURNAMENT may also be a file of another program: TRF, OpenGotha XML, H9,
    register.tde. Tie-breaks are those of the file. --unplayed names FIDE's
    rules for rounds without a game: of 2026 (fide), 2023, or 2009 to 2023.

    Example: enginetour standings club.trf --unplayed fide-2023

    Example: enginetour standings -t autumn-bubble --csv

    Example: enginetour standings --engines
    """
    from enginetour.reports import standings as text
    from enginetour.store.replay import fold

    if engines and pairing_report:
        raise click.UsageError("--engines and --pairing-report are two tables: ask for one")
    if name is not None and _is_outside(name):
        idle = {"--db": db, "--edition": edition, "--pairing-report": pairing_report, "--engines": engines}
        for word in (word for word, given in idle.items() if given):
            raise UsageRefused(f"{word} does nothing with the file of another program", step="leave one of them out")
        _show_report(Path(name), placement, unplayed, as_json=as_json, as_csv=as_csv)
        return
    for word, given in (("--placement", placement), ("--unplayed", unplayed)):
        if given is not None:
            step = "a configuration sets it under [format]"
            raise UsageRefused(f"{word} is for the file of another program", step=step)
    with open_store(db) as store:
        log = choose_tournament(store, name, edition)
        if engines:
            _show_engines(log, as_json=as_json, as_csv=as_csv)
            return
        format_, state = fold(log)
        if pairing_report:
            sheet = _pairing_report(log, format_, state)
            show_sheet(sheet, as_json=as_json, as_csv=as_csv, value={"rounds": [dict(row) for row in sheet.rows]})
            return
        sheet = text.standings_sheet(f"standings · {log.title}", format_.standings(state), log.odds_by_entrant())
        value = {"table": [dict(row) for row in sheet.rows], "finished": not format_.offers(state)}
        show_sheet(sheet, as_json=as_json, as_csv=as_csv, value=value)


def _is_outside(name: str) -> bool:
    """A file of another program, or a folder with a register of the AGA."""
    path = Path(name)
    if path.is_dir():
        return (path / "register.tde").is_file()
    return path.suffix.lower() in (".trf", ".xml", ".h9", ".tde") and (os.sep in name or path.is_file())


def _show_report(file: Path, placement: str | None, unplayed: Unplayed | None, *, as_json: bool, as_csv: bool) -> None:
    from enginetour.cli.pairing import open_tournament_file
    from enginetour.reports import standings as text

    codes = None if placement is None else tuple(code.strip().upper() for code in placement.split(",") if code.strip())
    found = open_tournament_file(file).table(codes, unplayed)
    sheet = text.standings_sheet(f"standings · {found.title}", found.placed)
    sheet = replace(sheet, notes=(*sheet.notes, *found.notes))
    value = {"table": [dict(row) for row in sheet.rows], "finished": found.finished, "notes": list(found.notes)}
    show_sheet(sheet, as_json=as_json, as_csv=as_csv, value=value)


def _names(log: TournamentLog) -> list[str]:
    """In the order of the starting list, then who joined later."""
    return list(dict.fromkeys([*(entrant.name for entrant in log.entrants), *log.specs]))


def _show_engines(log: TournamentLog, *, as_json: bool, as_csv: bool) -> None:
    from enginetour.reports.games import averages_sheet as averages
    from enginetour.store.games import side_records

    sheet = averages(f"engines · {log.title}", _names(log), side_records(log))
    show_sheet(sheet, as_json=as_json, as_csv=as_csv, value={"engines": [dict(row) for row in sheet.rows]})


def _pairing_report(log: TournamentLog, format_: Format[Any], state: Any) -> Sheet:
    from enginetour.formats.rounds import Rounds
    from enginetour.reports.review.tournament import pairing_field as field_of
    from enginetour.reports.standings import pairing_figures, pairing_report

    if not isinstance(format_, Rounds):
        step = "enginetour standings, or ladder for a bubble"
        raise UsageRefused(f"a {log.system} is not paired in rounds", place=log.title, step=step)
    figures = pairing_figures(*field_of(format_, state))
    return pairing_report(f"pairing report · {log.title}", figures, format_.notes(state))


@click.command()
@tournament_argument
@tournament_options
@output_options
@click.option("--pairs", is_flag=True, help="Every two that met: W, D, L and Ptnml(0-2), pairs of games by points.")
def crosstable(
    db: Address | None, name: str | None, edition: int | None, as_json: bool, as_csv: bool, pairs: bool
) -> None:
    """Who did what against whom: 1 won, = drawn, 0 lost, from the row's view.

    Example: enginetour crosstable

    Example: enginetour crosstable --pairs --csv
    """
    from enginetour.cli import screen as tell

    with open_store(db) as store:
        if pairs:
            _show_pairs(choose_tournament(store, name, edition), as_json=as_json, as_csv=as_csv)
            return
        sheet, value = tell.crosstable(choose_tournament(store, name, edition))
        show_sheet(sheet, as_json=as_json, as_csv=as_csv, value=value)


def _show_pairs(log: TournamentLog, *, as_json: bool, as_csv: bool) -> None:
    from enginetour.reports.games import pairings_sheet as pairings
    from enginetour.store.selection import pentanomials_of_tournament

    sheet = pairings(f"pairings · {log.title}", _names(log), log.pair_counts(), pentanomials_of_tournament(log))
    show_sheet(sheet, as_json=as_json, as_csv=as_csv, value={"pairings": [dict(row) for row in sheet.rows]})


@click.command()
@tournament_argument
@tournament_options
@output_options
@click.option("--step", "step", type=click.IntRange(min=1), help="Round robin N in full: crosstable, parking, ranking.")
def ladder(
    db: Address | None, name: str | None, edition: int | None, as_json: bool, as_csv: bool, step: int | None
) -> None:
    """The bubble's story: sections, who was parked, who dropped out, and why.

    Example: enginetour ladder --step 3
    """
    from enginetour.cli import screen as tell
    from enginetour.reports import ladder as ladders
    from enginetour.reports.review.tournament import rating_order
    from enginetour.store.replay import fold

    with open_store(db) as store:
        log = choose_tournament(store, name, edition)
        if log.system != "bubble":
            raise UsageRefused(
                f"{log.title} is a {log.system}, only a bubble has a ladder", step="enginetour standings"
            )
        if step is not None:
            told, sheet, lines = tell.round_robin(log, step)
            if as_json or as_csv or markup():
                show_sheet(sheet, as_json=as_json, as_csv=as_csv, value={"tournament": log.title, **told})
            else:
                print_text(ladders.round_robin_text(f"ladder · {log.title}", told, sheet, lines, width()))
            return
        if not (as_json or as_csv or markup()):
            print_text(tell.format_history(log))
            return
        format_, state = fold(log)
        placed = format_.standings(state)
        if not as_json:
            sheet = ladders.ladder_sheet(f"ladder · {log.title}", format_.notes(state), placed)
            show_sheet(sheet, as_json=False, as_csv=as_csv)
            return
        ranking = [{"rank": line.rank, "name": line.name, "status": line.status} for line in placed]
        say_json({
            "steps": ladders.ladder_steps(format_.notes(state)),
            "ranking": ranking,
            "rating_order": list(rating_order(log, placed)),
            "finished": not format_.offers(state),
        })  # fmt: skip
