"""Commands for games: list, show, export (PGN, CSV, JSON) and replay a game."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from enginetour.cli.options import COUNTED, PATH, TournamentChoice, tournament_argument, tournament_options
from enginetour.cli.printing import (
    echo,
    output_form,
    output_options,
    print_json,
    print_sheet,
    print_text,
    refuse_tables,
    width,
)
from enginetour.interop.files import refuse_valuable, replace_file
from enginetour.model.errors import (
    EngineRefused,
    StoreRefused,
    TaskFailed,
    TourError,
    UsageRefused,
    match_name,
    no_match_hint,
    suggest,
)
from enginetour.model.game import Pairing, Termination
from enginetour.reports.sheet import Column, Sheet, iso_timestamp, json_text, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from enginetour.interop.roundfiles import PlayedTournament
    from enginetour.model.game import Game, GameKey, Incident
    from enginetour.model.task import EngineSpec, ReenactResult, ReenactTask
    from enginetour.store.games import GameLine, StoredGame
    from enginetour.store.log import TournamentLog


# `enginetour games`: list games, or show one with moves and incidents.


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
    chosen: TournamentChoice,
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
        refuse_tables("a replay is told as text or JSON")
        if number is None:
            raise click.UsageError("--replay needs the NUMBER of a game; enginetour games --incidents lists them")
        wish = ReplayOptions(times, speed, last_search, accept_change, engine)
        with chosen.open(lasting=True) as log:
            _replay_incident(log, number, wish)
        return
    if times != 1 or speed != 1.0 or last_search or accept_change:
        raise click.UsageError("--times, --speed, --last-search and --accept-change go with --replay")
    with chosen.open() as log:
        if number is not None:
            refuse_tables("one game is told as text or JSON")
            stored = log.game(number)
            if output_form() == "json":
                print_json(_game_json(stored))
            else:
                print_text(_game_text(stored, log.title, log.known_ratings))
            return
        engine = None if engine is None else entrant_named(log, engine)
        endings_known = ["adjudication", *map(str, Termination)]
        if termination is not None and termination not in endings_known:
            what = f"no game ends by {termination!r}{suggest(termination, endings_known)}"
            raise UsageRefused(what, place="--termination")
        lines = log.games(engine=engine, termination=termination, incidents=incidents)
        if not lines:
            click.echo("no such games", err=True)
        if endings:
            from enginetour.reports.games import endings_sheet

            print_sheet(endings_sheet(f"endings · {log.title}", list(log.specs), lines))
        else:
            print_sheet(_games_sheet(f"games · {log.title}", lines))


def entrant_named(log: TournamentLog, word: str, option: str = "--engine") -> str:
    """Return the entrant that a word of an option means; UsageRefused for none."""
    name = match_name(word, log.specs)
    if name is None:
        hint = no_match_hint(word, log.specs) or suggest(word, log.specs)
        raise UsageRefused(f"{word!r} is not in {log.title}{hint}", place=option)
    return name


def game_row(line: GameLine) -> dict[str, object]:
    """Return a game as JSON has it."""
    return {
        "number": line.number,
        "white": line.white,
        "black": line.black,
        "result": "*" if line.voided else str(line.outcome),
        "termination": line.termination,
        "cause": line.cause,
        "plies": line.plies,
        "load_average": line.load_average,
        "cores": line.cores,
        "busy": line.busy,
        "referee_us": line.referee_us,
        "handicap": line.handicap,
        "white_tc": line.white_tc,
        "black_tc": line.black_tc,
        "started": iso_timestamp(line.started_unix),
        "ended": iso_timestamp(line.ended_unix),
        "incident": bool(line.incidents),
    }


def _games_sheet(title: str, lines: list[GameLine]) -> Sheet:
    columns = (
        Column("number", "#"),
        Column("white", "white", left=True, flexible=True),
        Column("black", "black", left=True, flexible=True),
        Column("result", "result"),
        Column("plies", "plies"),
        *([Column("handicap", "odds", left=True)] if any(line.handicap for line in lines) else []),
        Column("cause", "how", left=True, flexible=True),
        *([Column("busy", "load", left=True)] if any(line.busy for line in lines) else []),
        *([Column("referee_us", "referee ms")] if any(line.referee_us is not None for line in lines) else []),
        Column("incident", "", left=True),
    )
    shown = tuple(
        {
            "incident": "!" if line.incidents else "",
            "cause": line.how,
            "handicap": _odds(line),
            "referee_us": "" if line.referee_us is None else f"{line.referee_us / 1000:.1f}",
            "busy": f"{line.load_average:.1f}/{line.cores}" if line.busy else "",
        }
        for line in lines
    )
    return Sheet(title, columns, tuple(map(game_row, lines)), shown)


def _odds(line: GameLine) -> str:
    """Who gives how many bands, and both controls: ``White 2: 1.38+0.013 v 10+0.1``."""
    if not line.handicap:
        return ""
    return f"{'White' if line.handicap > 0 else 'Black'} {abs(line.handicap)}: {line.white_tc} v {line.black_tc}"


def _game_text(stored: StoredGame, title: str, ratings: Mapping[str, float]) -> str:
    from enginetour.reports.games import claim_lines, incident_lines, machine_lines, wrap_lines
    from enginetour.reports.pgn import game_pgn

    lines = ["struck out afterwards"] if stored.voided else []
    for words in machine_lines(stored.game):
        lines += wrap_lines("", words, width())
    lines += claim_lines(stored.game, width())
    for incident in stored.game.incidents:
        lines += incident_lines(incident, width())
    return game_pgn(stored.game, stored.number, title, ratings=ratings) + "".join(f"{line}\n" for line in lines)


def _game_json(stored: StoredGame) -> dict[str, object]:
    game = stored.game
    times = {"started": iso_timestamp(game.started_unix), "ended": iso_timestamp(game.ended_unix)}
    moves = [move._asdict() for move in game.moves]
    return {"number": stored.number, "voided": stored.voided, **asdict(game), "moves": moves, **times}


# `enginetour export`.


@click.command()
@click.argument("kind", type=click.Choice(["pgn", "epd", "csv", "json", "trf", "tde"]))
@tournament_argument
@tournament_options
@click.option("-o", "--output", type=PATH, help="File to replace, for tde a folder; default: standard output.")
@click.option("--comments", metavar="NAMES", help="Of pgn: what a move tells more, as nodes,nps,pv; or all.")
@click.option("--eco", type=PATH, help="Of pgn: names openings by this file, as eco.pgn.")
def export(kind: str, chosen: TournamentChoice, output: Path | None, comments: str | None, eco: Path | None) -> None:
    """Games and results of a tournament as PGN, CSV or JSON.

    Their final positions as EPD; tournaments in rounds also as TRF (FIDE) or
    TDE files (AGA). The SHA-256 of a PGN or EPD file is told.
    --comments: timeleft, latency, nodes, seldepth, nps, hashfull, tbhits, pv,
    lines (those that keep_lines of the configuration kept).
    --eco: the eco.pgn of pgn-extract, or a table of lichess's chess-openings.

    Example: enginetour export pgn -t autumn-bubble -o games.pgn
    """
    from enginetour.openings.eco import read_opening_names
    from enginetour.reports.pgn import export_epd, export_pgn

    if kind != "pgn" and (comments is not None or eco is not None):
        raise click.UsageError(f"{'--eco' if comments is None else '--comments'} goes with pgn")
    names = read_opening_names(eco, "--eco") if eco is not None else None
    paged = output is None and kind in ("pgn", "epd")  # games are read as they are told
    with chosen.open(lasting=paged) as log:
        if kind == "tde":
            _export_tde(log, output)
            return
        if kind == "trf":
            from enginetour.interop.roundfiles import trf_report

            chunks: Iterable[str] = [trf_report(_played(log)).text()]
        elif kind == "pgn":
            chunks = export_pgn(log, comments=_extras(comments), names=names)
        elif kind == "epd":
            chunks = export_epd(log)
        elif kind == "csv":
            chunks = [_games_sheet(log.title, log.games()).csv()]
        else:
            whole = {"tournament": log.title, "system": log.system, "games": list(map(game_row, log.games()))}
            whole["decisions"] = [note.text for _, note in log.notes()]
            chunks = [json_text(whole), "\n"]
        if output is not None:
            if output.is_dir() or not output.absolute().parent.is_dir():
                raise UsageRefused("not a file in a folder that is there", place=str(output), step="choose another -o")
            refuse_valuable(output, "--output")
            digest = sha256()
            replace_file(output, _digested(chunks, digest))
            told = f", SHA-256 {digest.hexdigest()}" if kind in ("pgn", "epd") else ""
            echo(f"{output} written{told}", err=True)
            return
        for chunk in chunks:
            print_text(chunk)


def _extras(comments: str | None) -> tuple[str, ...]:
    """The names of --comments; UsageRefused for one that is none."""
    from enginetour.reports.pgn import COMMENT_FIELDS

    names = tuple(filter(None, (word.strip() for word in (comments or "").split(","))))
    if names == ("all",):
        return COMMENT_FIELDS
    for name in names:
        if name not in COMMENT_FIELDS:
            what = f"no comment is called {name!r}{suggest(name, COMMENT_FIELDS)}"
            raise UsageRefused(what, place="--comments", step=f"choose of {', '.join(COMMENT_FIELDS)}, or all")
    return names


def _digested(chunks: Iterable[str], digest: Any) -> Iterator[str]:
    for chunk in chunks:
        digest.update(chunk.encode("utf-8"))
        yield chunk


def _played(log: TournamentLog) -> PlayedTournament:
    from enginetour.formats.rounds import Rounds
    from enginetour.interop.roundfiles import TableGame, played_tournament
    from enginetour.store.replay import fold

    format_, state = fold(log)
    if not isinstance(format_, Rounds):
        step = "export pgn, csv or json"
        raise UsageRefused(f"a {log.system} is not paired in rounds", place=log.title, step=step)
    decided = state.schedule  # a game struck out later counts there, one that came in after a withdrawal does not
    found: dict[GameKey, tuple[int, TableGame]] = {}
    for line in log.games():
        key = Pairing(line.white, line.black, line.meeting, line.leg).key
        if decided.played.get(key) is line.outcome:  # of several, as after a void, the latest
            found[key] = line.round, TableGame(line.white, line.outcome, key not in decided.struck)
    games: dict[tuple[int, frozenset[str]], list[TableGame]] = {}
    for key, (number, sat) in found.items():
        games.setdefault((number, frozenset(key[:2])), []).append(sat)
    return played_tournament(log.name, log.system, format_, state, games)


def _export_tde(log: TournamentLog, folder: Path | None) -> None:
    from enginetour.interop.roundfiles import register
    from enginetour.ratings import grades

    if folder is None or not folder.is_dir():
        raise UsageRefused("several files: name a folder that is there", place="-o", step="export tde -o FOLDER")
    by_go = log.config.get("tournament", {}).get("rating_scale") == "go"
    texts = register(_played(log), grades.GO if by_go else grades.AGA)
    for name in texts:
        if (folder / name).exists():
            raise UsageRefused("there is a file already", place=str(folder / name), step="choose another folder")
    for name, text in texts.items():
        replace_file(folder / name, [text])
        echo(f"{folder / name} written", err=True)


# `enginetour games N --replay`: send an engine the same input again to reproduce an incident; nothing is written.

MARGIN_MS = 50  # of an entrant that joined later and whose margin the log does not tell: the default (runner spec 3)


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What was asked for on the command line."""

    times: int
    speed: float
    last_search: bool
    accept_change: bool
    engine: str | None


def _replay_incident(log: TournamentLog, number: int, wish: ReplayOptions) -> None:
    from enginetour.tournament.executor import LocalExecutor

    game = log.game(number).game
    incident = _incident(game, wish.engine, number)
    task = _task(log, number, game, incident, wish)
    if output_form() != "json":
        _announce(incident, task, wish)
    found: list[ReenactResult] = []
    with LocalExecutor(1) as place:
        for turn in range(1, wish.times + 1):
            try:
                one = cast("ReenactResult", place.submit(task).result())
            except TaskFailed as failure:
                raise TourError(f"the replay failed: {failure}", step=failure.step) from None
            found.append(one)
            if output_form() != "json":
                click.echo(f"{turn}: {_verdict(incident, one)}")
    again = sum(is_reproduced(incident, one) for one in found)
    if output_form() == "json":
        runs = [{"again": is_reproduced(incident, one), **asdict(one)} for one in found]
        print_json(
            {"game": number, "engine": incident.engine, "category": incident.category, "again": again, "runs": runs}
        )
    else:
        click.echo(f"it happened again in {again} of {wish.times}")


def is_reproduced(incident: Incident, found: ReenactResult) -> bool:
    """Whether it is the same crash by its signal or exit code, the same illegal move, or else the same category."""
    if found.category == "crash" or incident.category == "crash":
        # Incidents without a status of their own have it behind the last colon but one of a sentence.
        cause = incident.cause
        status = cause.partition("disconnects: ")[2] or cause.rpartition(": ")[2]
        return bool(found.status) and found.status in (incident.status, status)
    if found.category == incident.category == "illegal-move":
        return f": {found.text or repr(found.text)} in " in incident.cause
    return found.category == incident.category


def _verdict(incident: Incident, found: ReenactResult) -> str:
    verdict = "again" if is_reproduced(incident, found) else "otherwise" if found.category else "not again"
    place = f" (at ply {found.ply}, then at {incident.ply})" if found.ply != incident.ply else ""
    return safe_text(f"{verdict}: {found.words}{place}")


def _incident(game: Game, engine: str | None, number: int) -> Incident:
    """The last one that cost somebody a game."""
    engine = None if engine is None else match_name(engine, game.pairing.pair) or engine
    grave = [one for one in game.incidents if one.is_repeatable]
    named = [one for one in grave if engine is None or one.engine == engine]
    if not named:
        who = f" of {engine}" if engine is not None else ""
        what = f"game {number} has no incident{who} that an engine could repeat"
        raise UsageRefused(what, step="enginetour games --incidents lists those that have one")
    return named[-1]


def _task(log: TournamentLog, number: int, game: Game, incident: Incident, wish: ReplayOptions) -> ReenactTask:
    from enginetour.model.task import GameTask, ReenactTask, Rules, Side
    from enginetour.model.timecontrol import TimeControl
    from enginetour.store.games import spec_in_game

    specs = {name: spec_in_game(log, number, name) for name in game.pairing.pair}
    sides: dict[str, Side] = {}
    for name, tc in ((game.pairing.white, game.white_tc), (game.pairing.black, game.black_tc)):
        spec = specs[name]
        if spec is None:
            raise StoreRefused(f"does not know how {name} was started", place=log.title)
        terms = log.config.get("sides", {}).get(name, {})
        if name == game.pairing.black:
            terms = terms.get("black", terms)
        sides[name] = Side(spec, TimeControl.parse(tc), terms.get("margin_ms", MARGIN_MS))
    engine = incident.engine
    sides[engine] = replace(sides[engine], spec=_fit(sides[engine].spec, accept_change=wish.accept_change))
    rules = Rules(hang_limit=log.config["play"].get("hang_limit", Rules().hang_limit))
    white, black = sides[game.pairing.white], sides[game.pairing.black]
    booked = sum(1 for _ in takewhile(lambda move: move.book, game.moves))  # both sides' own books may go on longer
    opening = replace(game.opening, moves=tuple(move.uci for move in game.moves[:booked])) if booked else game.opening
    return ReenactTask(
        GameTask(game.pairing, white, black, opening, rules),
        white=engine == game.pairing.white,
        moves=tuple((move.uci, None if move.book else move.elapsed_ms) for move in game.moves[booked:]),
        last_only=wish.last_search,
        speed=wish.speed,
    )


def _fit(spec: EngineSpec, *, accept_change: bool) -> EngineSpec:
    """EngineRefused when its program is gone, or is another than in the game."""
    from enginetour.engines.identity import fingerprint

    now = fingerprint(spec)
    if spec.fingerprint and now != spec.fingerprint and not accept_change:
        what = f"its files have changed since the game ({spec.fingerprint} then, {now} now)"
        raise EngineRefused(what, place=spec.name, step="put them back, or --accept-change replays with what is there")
    return spec


def _announce(incident: Incident, task: ReenactTask, wish: ReplayOptions) -> None:
    click.echo(safe_text(f"{incident.engine}, {incident.category} at ply {incident.ply}: {incident.cause}"))
    if wish.last_search:
        how = "the last search alone, from its position, with the clocks as they stood"
    else:
        seconds = sum(elapsed or 0 for _, elapsed in task.moves) / 1000 / wish.speed
        how = f"handshake, options, new game, then {len(task.moves)} plies, about {seconds:.0f} s each time"
    click.echo(f"built again from the moves of the game: {how}")
