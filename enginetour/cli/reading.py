"""Commands that show a tournament: status, standings, crosstable, bubble."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.options import TournamentChoice, count_option, tournament_argument, tournament_options
from enginetour.cli.printing import json_option, output_form, output_options, print_json, print_sheet, print_text, width
from enginetour.formats.pairing.standings import Scored, cross, table
from enginetour.model.errors import UsageRefused
from enginetour.model.game import GameFinished, GameKey, GameVoided, Note, StandingsRow
from enginetour.reports import documents
from enginetour.reports.bubble import bubble_sheet, bubble_steps, round_robin_text
from enginetour.reports.games import averages_sheet, pairings_sheet
from enginetour.reports.standings import (
    crosstable_sheet,
    pairing_figures,
    pairing_report,
    standings_sheet,
    tiebreak_values,
)
from enginetour.store.address import slug_of

if TYPE_CHECKING:
    from enginetour.formats.base import Format
    from enginetour.formats.pairing.tiebreaks import Unplayed
    from enginetour.reports.sheet import Sheet
    from enginetour.store.log import TournamentLog


@click.command()
@tournament_argument
@tournament_options
@json_option
@click.option("--watch", is_flag=True, help="Repeat every 2 s until the run ends.")
def status(chosen: TournamentChoice, watch: bool) -> None:
    """Show the progress, games in progress and estimated end of a tournament.

    During round 1 of a tournament in rounds, status also shows who starts
    where: groups, bar, floor, virtual points and expected differences. If
    tournaments of a league are running, status shows all of them. With --json
    it shows the last one, and the names of the others in also_running.

    Example: enginetour status --json
    """
    from enginetour.reports.progress import format_status

    while True:
        found, choices = zip(*_status(chosen), strict=True)
        if len(choices) == 1:
            (chosen,) = choices  # with --watch, the same edition again
        if output_form() == "json":
            others = [each["tournament"] for each in found[:-1]]
            print_json(found[-1] | ({"also_running": others} if others else {}))
        else:
            click.echo("\n\n".join(wrap_sentences(format_status(each)) for each in found))
        if not watch or all(each["state"] not in ("running", "stopping", "paused") for each in found):
            return
        time.sleep(2.0)


def wrap_sentences(text: str) -> str:
    """Wrap long lines at word boundaries if stdout is a terminal; otherwise return the text unchanged."""
    if not sys.stdout.isatty():
        return text
    wrapper = textwrap.TextWrapper(width(), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(wrapper.fill, text.splitlines()))


_FORECAST_CPU_S = 0.5  # processor time for the forecast of a stopped tournament


def _status(chosen: TournamentChoice) -> list[tuple[dict[str, object], TournamentChoice]]:
    """Return the status of each tournament, and the choice of the edition that it describes."""
    running = []
    for status, named in chosen.ask_running({"do": "status"}):
        if "tournament" in status:
            edition = str(status["tournament"]).removeprefix(f"{named.name} #")
            running.append((_without_ok(status), replace(named, edition=int(edition) if edition.isdecimal() else 1)))
    return running or [_recorded_status(chosen)]


def _recorded_status(chosen: TournamentChoice) -> tuple[dict[str, object], TournamentChoice]:
    """Return the status from the database, or from a run that has begun since."""
    from enginetour.reports.forecast import FEWEST, limit_cpu, prospect_at
    from enginetour.reports.progress import recorded_progress, status_json
    from enginetour.store.replay import fold
    from enginetour.tournament.control import ask, socket_path

    with chosen.open(lasting=True) as log:
        same = replace(chosen, name=log.name, edition=log.edition)
        answer = ask(socket_path(chosen.database, slug_of(log.name)), {"do": "status"})
        if answer is not None and answer.get("tournament") == log.title:
            return _without_ok(answer), same
        with log.database.snapshot():  # after the request, so that it includes all games of a run that has just ended
            format_, state = fold(log)
            progress = recorded_progress(log, format_, state)
            if not format_.offers(state):
                return status_json(progress, "finished"), same
            with suppress(UsageRefused):  # there are too many games
                found = prospect_at(log, format_, state).forecast(going_on=limit_cpu(_FORECAST_CPU_S, fewest=0))
                progress.forecast = found.to_json() if found.simulations >= FEWEST else None
            return status_json(progress, "stopped"), same


def _without_ok(answer: Mapping[str, Any]) -> dict[str, object]:
    return {key: value for key, value in answer.items() if key != "ok"}


@click.command()
@tournament_argument
@tournament_options
@output_options
@click.option("--pairing-report", is_flag=True, help="Instead of the table, show how the rounds were paired.")
@click.option("--engines", is_flag=True, help="Instead of the table, show each engine's depth, nps, time and warnings.")
@click.option(
    "--placement", metavar="CODES", help="Tie-breaks for the table of a file, in order, for example PTS,BH-C1,SB."
)
@click.option(
    "--unplayed",
    type=click.Choice(["own", "start", "zero", "fide", "fide-2023", "fide-2009"]),
    show_default="fide for TRF files, else own",
    help="Rule for unplayed rounds in the tie-breaks of a file.",
)
def standings(
    chosen: TournamentChoice, pairing_report: bool, engines: bool, placement: str | None, unplayed: Unplayed | None
) -> None:
    """Show the table, with tie-breaks if the format has them.

    TOURNAMENT may also be a file of another program: TRF, OpenGotha XML, H9
    or register.tde. Its tie-breaks are taken from the file. --unplayed
    selects how unplayed rounds count in them: own score, starting score,
    zero, or the FIDE rules of 2026 (fide), 2023 or 2009.

    Example: enginetour standings club.trf --unplayed fide-2023

    Example: enginetour standings -t autumn-bubble --csv

    Example: enginetour standings --engines
    """
    from enginetour.store.replay import fold

    if engines and pairing_report:
        raise UsageRefused("cannot be combined with --pairing-report", place="--engines", step="use only one of them")
    if chosen.name is not None and _is_outside(chosen.name):
        idle = {"--db": chosen.db, "--edition": chosen.edition, "--pairing-report": pairing_report}
        for option in (option for option, given in {**idle, "--engines": engines}.items() if given):
            raise UsageRefused("has no effect on a file of another program", place=option, step=f"omit {option}")
        _print_file(Path(chosen.name), placement, unplayed)
        return
    for option, value in (("--placement", placement), ("--unplayed", unplayed)):
        if value is not None:
            step = "set it under [format] in the configuration"
            raise UsageRefused("is only for a file of another program", place=option, step=step)
    with chosen.open() as log:
        if engines:
            from enginetour.store.games import side_records

            sheet = averages_sheet(f"engines · {log.title}", _names(log), side_records(log))
            print_sheet(sheet, {"engines": sheet.rows})
            return
        format_, state = fold(log)
        if pairing_report:
            sheet = _pairing_report(log, format_, state)
            print_sheet(sheet, {"rounds": sheet.rows})
            return
        print_sheet(*documents.standings(log, format_, state))


def _is_outside(name: str) -> bool:
    """Return whether a name is a file of another program, or a directory with a register.tde."""
    path = Path(name)
    if path.is_dir():
        return (path / "register.tde").is_file()
    return path.suffix.lower() in (".trf", ".xml", ".h9", ".tde") and (os.sep in name or path.is_file())


def _print_file(file: Path, placement: str | None, unplayed: Unplayed | None) -> None:
    from enginetour.cli.pairing import open_tournament_file

    codes = None if placement is None else tuple(code.strip().upper() for code in placement.split(",") if code.strip())
    found = open_tournament_file(file).table(codes, unplayed)
    sheet = standings_sheet(f"standings · {found.title}", found.placed)
    value = {"table": sheet.rows, "finished": found.finished, "notes": found.notes}
    print_sheet(replace(sheet, notes=(*sheet.notes, *found.notes)), value)


def _names(log: TournamentLog) -> list[str]:
    """Return the entrants in the order of the starting list, then those that joined later."""
    return list(dict.fromkeys([*(entrant.name for entrant in log.entrants), *log.specs]))


def _pairing_report(log: TournamentLog, format_: Format[Any], state: Any) -> Sheet:
    from enginetour.formats.rounds import Rounds
    from enginetour.reports.review.tournament import pairing_field

    if not isinstance(format_, Rounds):
        step = "use enginetour standings, or enginetour bubble for a bubble"
        raise UsageRefused(f"the format {log.system} is not paired in rounds", place=log.title, step=step)
    figures = pairing_figures(*pairing_field(format_, state))
    return pairing_report(f"pairing report · {log.title}", figures, format_.notes(state))


@click.command()
@tournament_argument
@tournament_options
@output_options
@click.option("--pairs", is_flag=True, help="List wins, draws, losses and Ptnml(0-2) of each pair of opponents.")
def crosstable(chosen: TournamentChoice, pairs: bool) -> None:
    """Show the head-to-head results of all entrants.

    1 is a win of the engine in the row, = a draw, 0 a loss. With --pairs,
    Ptnml(0-2) counts the game pairs with 0, 0.5, 1, 1.5 and 2 points.

    Example: enginetour crosstable

    Example: enginetour crosstable --pairs --csv
    """
    from enginetour.store.replay import fold

    with chosen.open() as log:
        if not pairs:
            print_sheet(*documents.crosstable(log, *fold(log)))
            return
        from enginetour.store.selection import pentanomials_of_tournament

        counts, met = log.pair_counts(), pentanomials_of_tournament(log)
        sheet = pairings_sheet(f"pairings · {log.title}", _names(log), counts, met)
        print_sheet(sheet, {"pairings": sheet.rows})


@click.command()
@tournament_argument
@tournament_options
@output_options
@count_option("--step", help="Show crosstable, parked engines and ranking of round robin N.")
def bubble(chosen: TournamentChoice, step: int | None) -> None:
    """Show the bubble history: each decision and its reason.

    Lists which engine entered the section, was parked or dropped out.

    Example: enginetour bubble --step 3
    """
    from enginetour.cli.screen import format_history
    from enginetour.store.lists import rating_order
    from enginetour.store.replay import fold

    with chosen.open() as log:
        if log.system != "bubble":
            what = f"only the format bubble has a bubble history (found {log.system})"
            raise UsageRefused(what, place=log.title, step="use enginetour standings")
        form, title = output_form(), f"bubble history · {log.title}"
        if step is not None:
            found, sheet, placed = _round_robin(log, step)
            if form == "text":
                print_text(round_robin_text(title, found, sheet, placed, width()))
            else:
                print_sheet(sheet, {"tournament": log.title, **found})
            return
        if form == "text":
            print_text(format_history(log))
            return
        format_, state = fold(log)
        notes, placed = format_.notes(state), format_.standings(state)
        if form != "json":
            print_sheet(bubble_sheet(title, notes, placed))
            return
        print_json({
            "steps": bubble_steps(notes),
            "ranking": _ranking(placed),
            "rating_order": list(rating_order(log, placed)),
            "finished": not format_.offers(state),
        })  # fmt: skip


def _ranking(placed: Sequence[StandingsRow]) -> list[dict[str, object]]:
    return [{"rank": line.rank, "name": line.name, "status": line.status} for line in placed]


def _round_robin(log: TournamentLog, number: int) -> tuple[dict[str, Any], Sheet, tuple[StandingsRow, ...]]:
    """Return step, crosstable and ranking of round robin `number`, at its decision or, if it is undecided, now."""
    from enginetour.store.replay import format_of

    format_, games = format_of(log), dict[GameKey, Scored]()
    state = format_.start(log.entrants)
    for event in log.events():
        if (found := _step(format_.notes(state), number)) and found["decision"]:
            break
        state = format_.step(state, event)
        if isinstance(event, GameFinished):
            games[event.pairing.key] = Scored(event.pairing.white, event.pairing.black, event.outcome)
        elif isinstance(event, GameVoided) and event.pairing.key in {p.key for p in format_.offers(state)}:
            games.pop(event.pairing.key, None)  # a game that was voided after the decision still counts in the table
    step = _step(format_.notes(state), number)
    if step is None:
        last = bubble_steps(format_.notes(state))[-1]["step"]
        raise UsageRefused(f"must be between 1 and {last} (found {number})", place="--step")
    placed = format_.standings(state)
    active = [line.name for line in placed if line.status == "active"]
    lines = _deciding(step) if step["decision"] else table(active, cross(games.values()), ("SB",))
    names = [line.name for line in lines]
    cells = documents.cross_cells(names, games.values())
    step["table"] = [
        {
            "engine": line.name,
            "points": line.half_points / 2,
            "sonneborn_berger": tiebreak_values(line)["SB"],
            "against": documents.against(line.name, names, cells),
        }
        for line in lines
    ]
    step["parked"] = [line.name for line in reversed(placed) if line.status == "parked"]
    step["ranking"] = _ranking(placed)
    return step, crosstable_sheet(f"round robin {number}", names, cells, lines, ("SB",)), placed


def _step(notes: Sequence[Note], number: int) -> dict[str, Any] | None:
    return next((step for step in bubble_steps(notes) if step["step"] == number), None)


def _deciding(step: dict[str, Any]) -> tuple[StandingsRow, ...]:
    """Return the lines of the table that decided the round robin."""

    def line(rank: int, row: Mapping[str, Any]) -> StandingsRow:
        sonneborn = ("SB", round(row["sonneborn_berger"] * 4))
        return StandingsRow(rank, row["engine"], round(row["points"] * 2), 0, "", (sonneborn,))

    return tuple(line(rank, row) for rank, row in enumerate(step["table"], 1))
