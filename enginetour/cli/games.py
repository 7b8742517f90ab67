"""`enginetour games`: the list, or one game with its moves and incidents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from enginetour.cli.common import (
    COUNTED,
    chosen,
    open_store,
    output_options,
    put,
    refuse_tables,
    say_json,
    show,
    tournament_options,
    width,
)
from enginetour.store.address import Address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from enginetour.reports.sheet import Sheet
    from enginetour.store.games import GameLine, Stored
    from enginetour.store.log import TournamentLog


@click.command()
@click.argument("number", type=COUNTED, required=False)
@tournament_options
@output_options
@click.option("--engine", help="Only games of this engine.")
@click.option("--termination", help="Only games that ended so: time, mate, adjudication, ...")
@click.option("--incidents", is_flag=True, help="Only games with something to see.")
@click.option("--endings", is_flag=True, help="How often each engine won, drew and lost by what, instead of the games.")
@click.option("--replay", is_flag=True, help="Start the engine of game NUMBER's incident and see if it happens again.")
@click.option("--times", type=click.IntRange(1, 1000), default=1, help="With --replay: so often.")
@click.option("--speed", type=click.FloatRange(1, 1000), default=1.0, help="With --replay: shorter pauses, X times.")
@click.option("--last-search", is_flag=True, help="With --replay: only the search in which it happened.")
@click.option("--accept-change", is_flag=True, help="With --replay: though the engine's files have changed.")
def games(
    number: int | None,
    db: Address | None,
    name: str | None,
    edition: int | None,
    as_json: bool,
    as_csv: bool,
    engine: str | None,
    termination: str | None,
    incidents: bool,
    endings: bool,
    replay: bool,
    times: int,
    speed: float,
    last_search: bool,
    accept_change: bool,
) -> None:
    """The games of a tournament, or game NUMBER with moves and incidents.

    With --replay the engine is told again what it was told in the game, built
    anew from its moves and clocks; nothing is written. Earlier games of the
    same process are not played again.

    Example: enginetour games --engine "Fairy-Max" --incidents

    Example: enginetour games 57 --replay --times 10 --speed 5
    """
    if number is not None and (termination or incidents or endings or (engine and not replay)):
        what = "--engine, --termination, --incidents and --endings are for the list of games"
        raise click.UsageError(f"{what}: leave them out, or the number")
    if replay:
        from enginetour.cli.replaying import Wish, replay_incident

        refuse_tables("a replay is told as text or JSON")
        if number is None:
            raise click.UsageError("--replay needs the NUMBER of a game; enginetour games --incidents lists them")
        wish = Wish(times, speed, last_search, accept_change, engine)
        with open_store(db, lasting=True) as store:
            replay_incident(chosen(store, name, edition), number, wish, as_json=as_json)
        return
    if times != 1 or speed != 1.0 or last_search or accept_change:
        raise click.UsageError("--times, --speed, --last-search and --accept-change go with --replay")
    with open_store(db) as store:
        log = chosen(store, name, edition)
        if number is not None:
            refuse_tables("one game is told as text or JSON")
            stored = log.game(number)
            if as_json:
                say_json(_whole(stored))
            else:
                put(_told(stored, log.title, log.known_ratings))
            return
        engine = _known(log, engine, termination)
        lines = log.games(engine=engine, termination=termination, incidents=incidents)
        if not lines:
            click.echo("no such games", err=True)
        if endings:
            from enginetour.reports import games as reports

            sheet = reports.endings(f"endings · {log.title}", list(log.specs), lines)
            show(sheet, as_json=as_json, as_csv=as_csv)
            return
        sheet = games_sheet(f"games · {log.title}", lines)
        show(sheet, as_json=as_json, as_csv=as_csv)


def _known(log: TournamentLog, word: str | None, termination: str | None) -> str | None:
    """The entrant that is meant; UsageRefused for a word that means none, and for an unknown ending."""
    from enginetour.model.errors import UsageRefused, called, near, not_called
    from enginetour.model.game import Termination

    engine = None if word is None else called(word, log.specs)
    if word is not None and engine is None:
        raise UsageRefused(
            f"{word!r} is not in {log.title}{not_called(word, log.specs) or near(word, log.specs)}", place="--engine"
        )
    known = ["adjudication", *Termination]
    if termination is not None and termination not in known:
        what = f"no game ends by {termination!r}{near(termination, [str(one) for one in known])}"
        raise UsageRefused(what, place="--termination")
    return engine


def _row(line: GameLine) -> dict[str, object]:
    from enginetour.reports.standings import moment

    return {
        "number": line.number,
        "white": line.white,
        "black": line.black,
        "result": "*" if line.voided else str(line.outcome),
        "termination": line.termination,
        "cause": line.cause,
        "plies": line.plies,
        "load": line.load,
        "cores": line.cores,
        "busy": line.busy,
        "own_us": line.own_us,
        "handicap": line.handicap,
        "white_tc": line.white_tc,
        "black_tc": line.black_tc,
        "started": moment(line.started),
        "ended": moment(line.ended),
        "incident": bool(line.incidents),
    }


def game_rows(lines: list[GameLine]) -> list[dict[str, object]]:
    """The games as JSON has them."""
    return [_row(line) for line in lines]


def games_sheet(title: str, lines: list[GameLine]) -> Sheet:
    """The games as a table."""
    from enginetour.reports.sheet import Column, Sheet

    columns = (
        Column("number", "#"),
        Column("white", "white", left=True, flexible=True),
        Column("black", "black", left=True, flexible=True),
        Column("result", "result"),
        Column("plies", "plies"),
        *([Column("handicap", "odds", left=True)] if any(line.handicap for line in lines) else []),
        Column("cause", "how", left=True, flexible=True),
        *([Column("busy", "load", left=True)] if any(line.busy for line in lines) else []),
        *([Column("own_us", "referee ms")] if any(line.own_us is not None for line in lines) else []),
        Column("incident", "", left=True),
    )
    shown = tuple(
        {
            "incident": "!" if line.incidents else "",
            "cause": line.how,
            "handicap": _odds(line),
            "own_us": "" if line.own_us is None else f"{line.own_us / 1000:.1f}",
            "busy": f"{line.load:.1f}/{line.cores}" if line.busy else "",
        }
        for line in lines
    )
    return Sheet(title, columns, tuple(game_rows(lines)), shown)


def _odds(line: GameLine) -> str:
    """Who gives how many bands, and both controls: ``White 2: 1.38+0.013 v 10+0.1``."""
    if not line.handicap:
        return ""
    return f"{'White' if line.handicap > 0 else 'Black'} {abs(line.handicap)}: {line.white_tc} v {line.black_tc}"


def _told(stored: Stored, title: str, ratings: Mapping[str, float]) -> str:
    from enginetour.reports import pgn
    from enginetour.reports.games import claim_lines, incident_lines, machine_lines, wrapped

    parts = [pgn.text(stored.game, stored.number, title, ratings=ratings)]
    if stored.voided:
        parts.append("struck out afterwards\n")
    for words in machine_lines(stored.game):
        parts += [f"{line}\n" for line in wrapped("", words, width())]
    parts += [f"{line}\n" for line in claim_lines(stored.game, width())]
    for incident in stored.game.incidents:
        parts += [f"{line}\n" for line in incident_lines(incident, width())]
    return "".join(parts)


def _whole(stored: Stored) -> dict[str, object]:
    from dataclasses import asdict

    from enginetour.reports.standings import moment

    whole = {**asdict(stored.game), "moves": [move._asdict() for move in stored.game.moves]}
    whole["started"], whole["ended"] = moment(stored.game.started), moment(stored.game.ended)
    return {"number": stored.number, "voided": stored.voided, **whole}
