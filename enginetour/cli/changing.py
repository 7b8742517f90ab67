"""Commands that change a tournament: withdraw, add, replace or void; slots, pause, finish, machines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.options import (
    COUNTED,
    TournamentChoice,
    config_home,
    open_store,
    quote_command,
    tournament_argument,
    tournament_option,
    tournament_options,
)
from enginetour.cli.printing import echo, json_option, output_form, print_json
from enginetour.model.errors import StoreRefused, TourError, UsageRefused
from enginetour.reports.sheet import format_count
from enginetour.store.address import Address, database_of, results_of, slug_of, workspace_of

if TYPE_CHECKING:
    from enginetour.store.dialect import Lock
    from enginetour.store.log import TournamentLog


# Requests to a running tournament through its socket, and the output of the answer.

_NOTICE_S = 2.0  # s of waiting for a run that does not listen, before a message says so
# A run probes its engines before it listens, and writes its ratings and its report after its last game.
PATIENCE_S = 120.0


@contextmanager
def _ask_run(
    database: Address, log: TournamentLog, request: dict[str, Any]
) -> Iterator[tuple[dict[str, Any] | None, Lock]]:
    """Send a request to the running tournament and yield its answer, or None and hold the lock if nothing runs it.

    UsageRefused for a request that is not valid; nothing is sent then.
    A run that begins or ends holds the lock without listening: enginetour waits for it, then raises StoreRefused.
    """
    from enginetour.store.database import lock_of
    from enginetour.tournament.control import ConnectionClosed, ask, socket_path
    from enginetour.tournament.requests import parsed

    asked, slug = parsed(request).model_dump(mode="json"), slug_of(log.name)
    lock = lock_of(database, slug)
    begun, noticed = time.monotonic(), False
    while True:
        answer = None
        with suppress(ConnectionClosed):  # it ended before it answered
            answer = ask(socket_path(database, slug), asked)
        if answer is not None:
            break
        try:
            lock.acquire()
            break
        except StoreRefused:
            waited = time.monotonic() - begun
            if waited >= PATIENCE_S:
                raise
            if waited >= _NOTICE_S and not noticed:
                noticed = True
                echo(f"waiting for the run of {log.title}, which begins or ends at this moment", err=True)
        time.sleep(0.1)
    try:
        yield answer, lock
    finally:
        lock.release()


def _print_answer(answer: Mapping[str, Any]) -> int:
    """Print it; the exit code. A refusal is TourError with that of the run, in JSON it is printed as it is."""
    code = 0 if answer["ok"] else int(answer.get("exit", 1))
    if output_form() == "json":
        print_json(answer)
        return code
    if not answer["ok"]:
        refused = TourError(str(answer["error"]))
        refused.exit_code = code
        raise refused
    for line in [answer["said"]] if isinstance(answer["said"], str) else machine_lines(answer["said"]):
        echo(line)
    return 0


def machine_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Format the machines of a cluster: one line a worker, then what is missing where."""
    for row in rows:
        busy = f", {row['busy']} in the air" if row.get("busy") else ""
        played = f"{format_count(row['played'], 'game')} played{busy}"
        if row["state"] == "gone":
            yield f"{row['machine']}: gone, {played}" + (f" ({row['why']})" if row["why"] else "")
            continue
        speed = f", speed {row['speed']:g}" if row["speed"] else ""
        states = {
            "aside": f"set aside: {row['why']}",
            "drained": "drained",
            "fit": format_count(row["slots"], "slot"),
            "lacking": "gets no games",
        }
        state = states.get(row["state"], "looks what it has")
        yield f"{row['machine']} ({row['processor'] or row['address']}{speed}): {state}, {played}"
        for words in row["lacks"]:
            yield f"  {row['machine']} lacks {words}"


# Commands that add an event to a tournament, through its socket while it runs.


def _send(chosen: TournamentChoice, request: dict[str, Any]) -> int:
    """Ask the running tournament, else do it ourselves under its lock; a `joining` engine is tried first."""
    from enginetour.store.replay import fold
    from enginetour.tournament.changes import StoppedTournament, TournamentEditor, find_newcomer
    from enginetour.tournament.requests import parsed

    database, db = chosen.database, chosen.db
    workspace = workspace_of(db.resolve().parent if isinstance(db, Path) else config_home())
    results = results_of(config_home(), database)
    with open_store(db, change=True) as store:
        log = TournamentChoice(db, chosen.name).log(store)
        if chosen.edition not in (None, log.edition):
            what = f"only the newest edition of {log.name} can change, number {log.edition}"
            raise UsageRefused(what, place="--edition", step="leave it out")
        if "joining" in request:
            engine, new_name = request.pop("joining")
            request |= _tried(engine, new_name, log, workspace, results)
        with _ask_run(database, log, request) as (answer, lock):
            if answer is None:
                log.require_lock(lock)
                format_, state = fold(log)
                newcomer = partial(find_newcomer, workspace=workspace)
                editor = TournamentEditor(log, format_, StoppedTournament(state), newcomer)
                answer = editor.carry_out(parsed(request))
                if answer["ok"]:
                    other = None if database == database_of(Path.cwd(), None) else database
                    _update_results(results, log, other)
    return _print_answer(answer)


def _update_results(results: Path, log: TournamentLog, database: Address | None) -> None:
    """Bring the PGN that a run left up to the log; name what else is out of date. The change itself is made already.

    Before the first game nothing can be out of date. What cannot be written is reported on stderr. `database` is the
    address that a suggested command must name.
    """
    from enginetour.cli.report import has_report
    from enginetour.reports.pgn import PgnFile

    path = results / f"{log.slug}.pgn"
    try:
        if path.exists():
            PgnFile(path, log, tell=lambda words: echo(f"warning: {words}", err=True)).mend()
    except (OSError, TourError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        echo(f"warning: {path} not written ({why}); the store has the change, the next run brings it", err=True)
    with suppress(OSError):  # of a folder that may not be looked into
        if has_report(results, log):
            where = [] if database is None else ["--db", database]
            again = quote_command("report", *where, "-t", log.name)
            echo(f"the report of {log.title} does not know of this yet; {again} writes it anew", err=True)


def _change(command: Callable[..., dict[str, Any]]) -> Any:
    """Add the options that all four share; the function makes the request, which is sent with the reason."""

    @click.option("--why", default="", help="The reason, kept in the log.")
    @json_option
    @wraps(command)
    def sent(chosen: TournamentChoice, why: str, **given: Any) -> int:
        return _send(chosen, {**command(**given), "why": why})

    return tournament_options(sent)


@click.command()
@click.argument("engine")
@_change
def withdraw(engine: str) -> dict[str, Any]:
    """Take ENGINE out; its unplayed games are off, those played stay in the ratings.

    In a round robin or gauntlet they leave the table of the others, who have not all met it.

    Example: enginetour withdraw "Fairy-Max" --why "crashes every second game"
    """
    return {"do": "withdraw", "engine": engine}


@click.command()
@click.argument("engine")
@click.option("--name", "new_name", help="Its name in the tournament; default: the engine file's.")
@_change
def add(engine: str, new_name: str | None) -> dict[str, Any]:
    """Let ENGINE (an id of `engines list`) join; a bubble lets it enter next.

    A program without an engine file gets one first: enginetour engines add.

    Example: enginetour add stockfish -t autumn-bubble
    """
    return {"do": "add", "joining": (engine, new_name)}


@click.command()
@click.argument("old")
@click.argument("engine")
@click.option("--name", "new_name", help="Its name in the tournament; default: the engine file's.")
@_change
def replace(old: str, engine: str, new_name: str | None) -> dict[str, Any]:
    """Withdraw OLD and let ENGINE take its place in the starting list.

    Example: enginetour replace "My engine 1.0" my-engine --name "My engine 1.1"
    """
    return {"do": "replace", "engine": old, "joining": (engine, new_name)}


@click.command()
@click.argument("game", type=COUNTED)
@_change
def void(game: int) -> dict[str, Any]:
    """Strike out game number GAME; before its round is decided it is played again.

    Example: enginetour void 57 --why "the machine was swapping"
    """
    return {"do": "void", "game": game}


def _tried(engine: str, name: str | None, log: TournamentLog, workspace: Path, results: Path) -> dict[str, Any]:
    """What a request says of an engine file that joins, once its engine has shown that it can play the tournament."""
    from enginetour.engines.registry import of_workspace
    from enginetour.tournament.changes import default_side, find_newcomer
    from enginetour.tournament.probing import probe_all, refuse_unfit, release_warnings

    entrant, spec = find_newcomer(engine, name, workspace)
    sides = {entrant.name: default_side(log, spec)}
    probes = probe_all(sides, hidden=results)
    refuse_unfit(probes, sides)
    for words in release_warnings(probes, {entrant.name: of_workspace(workspace).get(engine)}):
        echo(f"warning: {words}", err=True)
    return {"id": engine, "name": name, "fingerprint": spec.fingerprint}


# Commands that control a running tournament through its socket.


def _steering(command: Callable[..., dict[str, Any]]) -> Any:
    """Add the options that all share; the function makes the request for the run, whose answer is shown.

    UsageRefused if the tournament is not running.
    """

    @wraps(command)
    def steer(chosen: TournamentChoice, **given: Any) -> int:
        request = command(**given)
        quiet = output_form() == "json"
        with chosen.open(lasting=True, quiet=quiet) as log, _ask_run(chosen.database, log, request) as (answer, _):
            if answer is None:
                also = ", and has --slots" if request["do"] == "slots" else ""
                raise UsageRefused(f"{log.title} is not running", step=f"enginetour run starts it{also}")
        return _print_answer(answer)

    return tournament_option(json_option(steer))


@click.command()
@click.argument("number", metavar="N", type=click.IntRange(1, 1024))
@click.option("--force", is_flag=True, help="Allow more slots than processors.")
@_steering
def slots(number: int, force: bool) -> dict[str, Any]:
    """Play N games at once from now on in a tournament that is running.

    Fewer take effect as games end, more at once. The next run has again as
    many as its configuration or --slots says.

    Example: enginetour slots 4
    """
    return {"do": "slots", "slots": number, "force": force}


@click.command()
@click.option("--drain", metavar="NAME", help="No new games for this machine; those in the air end.")
@click.option("--use", metavar="NAME", help="Games again for one that was drained or set aside.")
@_steering
def machines(drain: str | None, use: str | None) -> dict[str, Any]:
    """The machines of a run on a cluster: slots, speed, games, what they lack.

    A machine is called by the name its worker was given (dask worker --name),
    else by its host. One that failed three games in a row is set aside.

    Example: enginetour machines --drain kallisto
    """
    request = {"do": "machines", "drain": drain, "use": use}
    return {key: value for key, value in request.items() if value is not None}


@click.command()
@tournament_argument
@_steering
def pause() -> dict[str, Any]:
    """Let no game begin in a tournament that is running, until `unpause`.

    Games in the air end as they do; the run waits and nothing is lost.

    Example: enginetour pause -t autumn-bubble
    """
    return {"do": "pause"}


@click.command()
@tournament_argument
@_steering
def unpause() -> dict[str, Any]:
    """Let games begin again after `pause`.

    Example: enginetour unpause -t autumn-bubble
    """
    return {"do": "unpause"}


@click.command()
@tournament_argument
@_steering
def finish() -> dict[str, Any]:
    """Let the games in the air end, then the run; it exits with 8.

    As Ctrl-C, but however long they take; `run` goes on where it ended.

    Example: enginetour finish
    """
    return {"do": "finish"}
