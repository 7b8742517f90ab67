"""Commands games and export: list, show, replay and export games."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from enginetour.cli.options import (
    COUNTED,
    RealRange,
    TournamentChoice,
    count_option,
    gathered,
    output_path_option,
    path_option,
    refuse_output,
    tournament_argument,
    tournament_options,
)
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
from enginetour.interop.files import replace_file
from enginetour.model.errors import (
    EngineRefused,
    StoreRefused,
    TaskFailed,
    TourError,
    UsageRefused,
    match_name,
    usage_errors,
)
from enginetour.model.game import Pairing
from enginetour.reports.documents import whole_game
from enginetour.reports.games import game_row
from enginetour.reports.sheet import Column, Sheet, json_text, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from enginetour.interop.roundfiles import PlayedTournament
    from enginetour.model.game import Game, GameKey, Incident
    from enginetour.model.task import EngineSpec, ReenactResult, ReenactTask
    from enginetour.store.games import GameLine, StoredGame
    from enginetour.store.log import TournamentLog


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How an incident is replayed."""

    times: int = 1
    speed: float = 1.0
    last_search: bool = False
    accept_change: bool = False


@click.command()
@click.argument("number", metavar="[NUMBER]", type=COUNTED, required=False)
@tournament_options
@output_options
@click.option("--engine", metavar="NAME", help="Only games of this engine.")
@click.option("--termination", metavar="WORD", help="Only games with this ending: time, mate, adjudication, ...")
@click.option("--incidents", is_flag=True, help="Only games with incidents.")
@click.option(
    "--endings", is_flag=True, help="Instead of the games, count the wins, draws and losses of each engine by ending."
)
@click.option(
    "--replay", is_flag=True, help="Send the engine the same input again to reproduce the incident of a game."
)
@gathered(
    (
        count_option("--times", most=1000, default=1, show_default=True, help="Number of replays (with --replay)."),
        click.option(
            "--speed",
            type=RealRange(1, 1000),
            default=1.0,
            show_default=True,
            metavar="X",
            help="Divide the thinking times by X (with --replay).",
        ),
        click.option("--last-search", is_flag=True, help="Repeat only the search of the incident (with --replay)."),
        click.option(
            "--accept-change",
            is_flag=True,
            help="Replay although the engine's files have changed (with --replay).",
        ),
    ),
    "options",
    ReplayOptions,
)
def games(
    number: int | None,
    chosen: TournamentChoice,
    engine: str | None,
    termination: str | None,
    incidents: bool,
    endings: bool,
    replay: bool,
    options: ReplayOptions,
) -> None:
    """List the games of a tournament, or show game NUMBER with its moves.

    With --replay, enginetour starts the engine of the game's incident and
    sends it the same moves and clock times again. It does not repeat earlier
    games of the same engine process, and writes nothing.

    Example: enginetour games --engine "Fairy-Max" --incidents

    Example: enginetour games 57 --replay --times 10 --speed 5
    """
    if number is not None and (termination or incidents or endings or (engine and not replay)):
        what = "--engine, --termination, --incidents and --endings apply only to the list of games"
        raise UsageRefused(f"{what} (found NUMBER {number})", step="omit these options, or omit NUMBER")
    if replay:
        refuse_tables("a replay")
        if number is None:
            step = "find the NUMBER of a game with enginetour games --incidents"
            raise UsageRefused("needs the NUMBER of a game", place="--replay", step=step)
        with chosen.open(lasting=True) as log:
            _replay_incident(log, number, engine, options)
        return
    if options != ReplayOptions():
        raise UsageRefused("--times, --speed, --last-search and --accept-change need --replay", step="add --replay")
    with chosen.open() as log:
        if number is not None:
            refuse_tables("a single game")
            stored = log.game(number)
            if output_form() == "json":
                print_json(whole_game(stored))
            else:
                print_text(_game_text(stored, log))
            return
        if engine is not None:
            from enginetour.tournament.rating import entrant_named

            engine = entrant_named(log, engine)
        if termination is not None:
            from enginetour.store.games import termination_named

            with usage_errors("--termination"):
                termination_named(termination)
        lines = log.games(engine=engine, termination=termination, incidents=incidents)
        if not lines:
            click.echo("no games found", err=True)
        if endings:
            from enginetour.reports.games import endings_sheet

            print_sheet(endings_sheet(f"endings · {log.title}", list(log.specs), lines))
        else:
            print_sheet(_games_sheet(f"games · {log.title}", lines))


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
    """Format time odds, such as ``White 2: 1.38+0.013 v 10+0.1``: side that gives odds, bands, both time controls."""
    if not line.handicap:
        return ""
    return f"{'White' if line.handicap > 0 else 'Black'} {abs(line.handicap)}: {line.white_tc} v {line.black_tc}"


def _game_text(stored: StoredGame, log: TournamentLog) -> str:
    from enginetour.reports.games import claim_lines, incident_lines, machine_lines, wrap_lines
    from enginetour.reports.pgn import common_tags, game_pgn

    lines = ["voided afterwards"] if stored.voided else []
    for line in machine_lines(stored.game):
        lines += wrap_lines("", line, width())
    lines += claim_lines(stored.game, width())
    for incident in stored.game.incidents:
        lines += incident_lines(incident, width())
    text = game_pgn(stored.game, stored.number, log.title, **common_tags(log))
    return text + "".join(f"{line}\n" for line in lines)


@click.command()
@click.argument("kind", metavar="FORMAT", type=click.Choice(["pgn", "epd", "csv", "json", "trf", "tde"]))
@tournament_argument
@tournament_options
@output_path_option("File to write or replace; for tde, a directory.", metavar="PATH", show_default="standard output")
@click.option(
    "--comments", metavar="NAMES", help="Search data in the comments of moves (pgn only): nodes,nps,pv or all."
)
@path_option("--eco", help="Opening names from this file (pgn only), such as eco.pgn.")
def export(kind: str, chosen: TournamentChoice, output: Path | None, comments: str | None, eco: Path | None) -> None:
    """Export games and results of a tournament.

    FORMAT is pgn, csv or json; epd for the final positions; trf (FIDE) or tde
    (AGA) for a tournament in rounds. For a PGN or EPD file, its SHA-256 is
    printed.

    --comments takes timeleft, latency, nodes, seldepth, nps, hashfull,
    tbhits, pv and lines (which need keep_lines in the configuration). --eco
    takes the eco.pgn of pgn-extract or a table of Lichess's chess-openings.

    Example: enginetour export pgn -t autumn-bubble -o games.pgn
    """
    from enginetour.openings.eco import read_opening_names
    from enginetour.reports.pgn import export_epd, export_pgn

    if kind != "pgn" and (comments is not None or eco is not None):
        option = "--eco" if comments is None else "--comments"
        raise UsageRefused(f"is only for pgn (found {kind})", place=option, step=f"omit {option}")
    names = read_opening_names(eco, "--eco") if eco is not None else None
    paged = output is None and kind in ("pgn", "epd")  # games are read while they are printed
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
            refuse_output(output)
            digest = sha256()
            replace_file(output, _digested(chunks, digest))
            suffix = f", SHA-256 {digest.hexdigest()}" if kind in ("pgn", "epd") else ""
            echo(f"{output} written{suffix}", err=True)
            return
        for chunk in chunks:
            print_text(chunk)


def _extras(comments: str | None) -> tuple[str, ...]:
    """Return the names given with --comments. Raise UsageRefused if a name is unknown."""
    from enginetour.reports.pgn import COMMENT_FIELDS

    names = tuple(filter(None, (word.strip() for word in (comments or "").split(","))))
    if names == ("all",):
        return COMMENT_FIELDS
    for name in names:
        if name not in COMMENT_FIELDS:
            what = f"must be 'all' or some of {', '.join(COMMENT_FIELDS)} (found {name!r})"
            raise UsageRefused(what, place="--comments")
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
        step = "export pgn, csv or json instead"
        raise UsageRefused(f"the format {log.system} is not paired in rounds", place=log.title, step=step)
    decided = state.schedule  # includes games that were voided later, but not games that ended after a withdrawal
    found: dict[GameKey, tuple[int, TableGame]] = {}
    for line in log.games():
        key = Pairing(line.white, line.black, line.meeting, line.leg).key
        if decided.played.get(key) is line.outcome:  # the latest game of a pairing; a voided game is an earlier one
            found[key] = line.round, TableGame(line.white, line.outcome, key not in decided.void)
    games: dict[tuple[int, frozenset[str]], list[TableGame]] = {}
    for key, (number, sat) in found.items():
        games.setdefault((number, frozenset(key[:2])), []).append(sat)
    return played_tournament(log.name, log.system, format_, state, games)


def _export_tde(log: TournamentLog, folder: Path | None) -> None:
    from enginetour.interop.roundfiles import register
    from enginetour.ratings import grades

    if folder is None or not folder.is_dir():
        found = "none" if folder is None else folder
        step = "use enginetour export tde -o DIRECTORY"
        raise UsageRefused(f"tde writes several files and needs an existing directory (found {found})", step=step)
    by_go = log.config.get("tournament", {}).get("rating_scale") == "go"
    texts = register(_played(log), grades.GO if by_go else grades.AGA)
    for name in texts:
        if (folder / name).exists():
            raise UsageRefused("already exists", place=str(folder / name), step="choose another directory")
    for name, text in texts.items():
        replace_file(folder / name, [text])
        echo(f"{folder / name} written", err=True)


# `enginetour games N --replay`: send an engine the same input again to reproduce an incident.

# Default time margin in ms (runner spec 3) for entrants that joined later, whose margin is not in the log.
MARGIN_MS = 50


def _replay_incident(log: TournamentLog, number: int, engine: str | None, options: ReplayOptions) -> None:
    from enginetour.tournament.executor import LocalExecutor

    game = log.game(number).game
    incident = _incident(game, engine, number)
    task = _task(log, number, game, incident, options)
    if output_form() != "json":
        _announce(incident, task, options)
    found: list[ReenactResult] = []
    with LocalExecutor(1) as executor:
        for turn in range(1, options.times + 1):
            try:
                one = cast("ReenactResult", executor.submit(task).result())
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
        click.echo(f"reproduced in {again} of {options.times} replays")


def is_reproduced(incident: Incident, found: ReenactResult) -> bool:
    """Return whether a replay gave the same crash (signal or exit code), the same illegal move or the same category."""
    if found.category == "crash" or incident.category == "crash":
        # An incident without a status contains it in its cause, after "disconnects: " or after the last colon.
        cause = incident.cause
        status = cause.partition("disconnects: ")[2] or cause.rpartition(": ")[2]
        return bool(found.status) and found.status in (incident.status, status)
    if found.category == incident.category == "illegal-move":
        return f": {found.text or repr(found.text)} in " in incident.cause
    return found.category == incident.category


def _verdict(incident: Incident, found: ReenactResult) -> str:
    different = "different incident" if found.category else "not reproduced"
    verdict = "reproduced" if is_reproduced(incident, found) else different
    place = f" (at ply {found.ply}; in the game, it was at ply {incident.ply})" if found.ply != incident.ply else ""
    return safe_text(f"{verdict}: {found.words}{place}")


def _incident(game: Game, engine: str | None, number: int) -> Incident:
    """Return the last incident of the game that a replay can reproduce."""
    engine = None if engine is None else match_name(engine, game.pairing.pair) or engine
    grave = [one for one in game.incidents if one.is_repeatable]
    named = [one for one in grave if engine is None or one.engine == engine]
    if not named:
        who = f" of {engine}" if engine is not None else ""
        what = f"game {number} has no incident{who} that can be replayed"
        raise UsageRefused(what, step="list the games with incidents: enginetour games --incidents")
    return named[-1]


def _task(log: TournamentLog, number: int, game: Game, incident: Incident, options: ReplayOptions) -> ReenactTask:
    from enginetour.model.task import GameTask, ReenactTask, Rules, Side
    from enginetour.model.timecontrol import TimeControl
    from enginetour.store.games import spec_in_game

    specs = {name: spec_in_game(log, number, name) for name in game.pairing.pair}
    sides: dict[str, Side] = {}
    for name, tc in ((game.pairing.white, game.white_tc), (game.pairing.black, game.black_tc)):
        spec = specs[name]
        if spec is None:
            raise StoreRefused(f"has no valid specification of the engine {name}", place=log.title)
        terms = log.config.get("sides", {}).get(name, {})
        if name == game.pairing.black:
            terms = terms.get("black", terms)
        sides[name] = Side(spec, TimeControl.parse(tc), terms.get("margin_ms", MARGIN_MS))
    engine = incident.engine
    sides[engine] = replace(sides[engine], spec=_checked(sides[engine].spec, accept_change=options.accept_change))
    rules = Rules(hang_limit=log.config["play"].get("hang_limit", Rules().hang_limit))
    white, black = sides[game.pairing.white], sides[game.pairing.black]
    # Book moves before the first search; the own book of the other engine may continue after it.
    booked = sum(1 for _ in takewhile(lambda move: move.book, game.moves))
    opening = replace(game.opening, moves=tuple(move.uci for move in game.moves[:booked])) if booked else game.opening
    return ReenactTask(
        GameTask(game.pairing, white, black, opening, rules),
        white=engine == game.pairing.white,
        moves=tuple((move.uci, None if move.book else move.elapsed_ms) for move in game.moves[booked:]),
        last_only=options.last_search,
        speed=options.speed,
    )


def _checked(spec: EngineSpec, *, accept_change: bool) -> EngineSpec:
    """Return `spec`. Raise EngineRefused if the program does not exist, or has changed and `accept_change` is false."""
    from enginetour.engines.identity import fingerprint

    now = fingerprint(spec)
    if spec.fingerprint and now != spec.fingerprint and not accept_change:
        what = f"the engine's files have changed since the game (fingerprint {spec.fingerprint} then, {now} now)"
        step = "restore the files, or use the present ones with --accept-change"
        raise EngineRefused(what, place=spec.name, step=step)
    return spec


def _announce(incident: Incident, task: ReenactTask, options: ReplayOptions) -> None:
    click.echo(safe_text(f"{incident.engine}, {incident.category} at ply {incident.ply}: {incident.cause}"))
    if options.last_search:
        how = "only the last search, with its position and clock times"
    else:
        seconds = sum(elapsed or 0 for _, elapsed in task.moves) / 1000 / options.speed
        how = f"handshake, options, new game, then {len(task.moves)} plies, about {seconds:.0f} s"
    click.echo(f"each replay: {how}")
