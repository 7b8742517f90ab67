"""Commands that change a tournament (withdraw, add, replace, void) or control a running one (pause, finish, ...)."""

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
from enginetour.model.errors import StoreRefused, TourError, UsageRefused, os_reason
from enginetour.reports.sheet import format_count
from enginetour.store.address import Address, database_of, results_of, slug_of, workspace_of

if TYPE_CHECKING:
    from enginetour.store.dialect import Lock
    from enginetour.store.log import TournamentLog


# Send a request to a running tournament through its socket, and print the answer.

_NOTICE_S = 2.0  # seconds; if a run does not listen for this time, a message reports it
# Seconds to wait for a run: it probes its engines before it listens, and writes its ratings and its report at the end.
PATIENCE_S = 120.0


class _Wait:
    """A wait for a run, with a message if it is long."""

    def __init__(self) -> None:
        self._begin, self._noticed, self.has_begun = time.monotonic(), False, False

    @property
    def is_over(self) -> bool:
        """Return whether the command waits no longer."""
        return time.monotonic() - self._begin >= PATIENCE_S

    def sleep(self, whom: str) -> None:
        """Sleep until the next try."""
        if time.monotonic() - self._begin >= _NOTICE_S and not self._noticed:
            self._noticed = True
            echo(f"waiting for {whom}", err=True)
        self.has_begun = True
        time.sleep(0.1)


@contextmanager
def _ask_run(
    database: Address, log: TournamentLog, request: dict[str, Any]
) -> Iterator[tuple[dict[str, Any] | None, Lock]]:
    """Send a request to the running tournament; yield the answer and the tournament's lock.

    If the tournament is not running, the answer is None and the lock is acquired. A run that is starting or ending has
    the lock but does not listen: wait for it, and raise StoreRefused after `PATIENCE_S`. Raise UsageRefused, and do not
    send the request, if it is not valid.
    """
    from enginetour.store.database import lock_of
    from enginetour.tournament.control import ConnectionClosed, ask, socket_path
    from enginetour.tournament.requests import parsed

    asked, slug = parsed(request).model_dump(mode="json"), slug_of(log.name)
    lock = lock_of(database, log.name)
    wait = _Wait()
    while True:
        answer = None
        with suppress(ConnectionClosed):  # the run ended before it answered
            answer = ask(socket_path(database, slug), asked)
        if answer is not None:
            break
        try:
            lock.acquire()
            break
        except StoreRefused:
            if wait.is_over:
                raise
        wait.sleep(f"the run of {log.title}, which is starting or ending")
    try:
        yield answer, lock
    finally:
        lock.release()


def _combined(answers: Sequence[tuple[str, Mapping[str, Any]]]) -> Mapping[str, Any]:
    """Combine the answers of several tournaments of a league, with their names.

    If some reject the request, the answer is a rejection with their errors, and `said` is the answer of the others.
    """
    if len(answers) == 1:
        return answers[0][1]
    said = "\n".join(f"{name}: {answer['said']}" for name, answer in answers if answer["ok"])
    rejections = [(name, answer) for name, answer in answers if not answer["ok"]]
    if not rejections:
        return {"ok": True, "said": said}
    error = "; ".join(f"{name}: {answer['error']}" for name, answer in rejections)
    return {**rejections[0][1], "error": error, "said": said}


def _print_answer(answer: Mapping[str, Any]) -> int:
    """Print the answer and return the exit code. If the request was rejected, raise TourError, except with --json.

    A rejection by some tournaments of a league is raised after the answer of the others is printed.
    """
    code = 0 if answer["ok"] else int(answer.get("exit", 1))
    if output_form() == "json":
        print_json(answer)
        return code
    said = answer.get("said", "")
    for line in said.splitlines() if isinstance(said, str) else machine_lines(said):
        echo(line)
    if not answer["ok"]:
        error = TourError(str(answer["error"]))
        error.exit_code = code
        raise error
    return 0


def machine_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Format the machines of a cluster: one line per worker, and one line for each requirement that is not met."""
    for row in rows:
        busy = f", {row['busy']} in progress" if row.get("busy") else ""
        played = f"{format_count(row['played'], 'game')} played{busy}"
        if row["state"] == "gone":
            yield f"{row['machine']}: disconnected, {played}" + (f" ({row['why']})" if row["why"] else "")
            continue
        speed = f", speed {row['speed']:g}" if row["speed"] else ""
        states = {
            "aside": f"not used: {row['why']}",
            "drained": "drained",
            "fit": format_count(row["slots"], "slot"),
            "lacking": "gets no games",
        }
        state = states.get(row["state"], "being inspected")
        yield f"{row['machine']} ({row['processor'] or row['address']}{speed}): {state}, {played}"
        for lacking in row["lacks"]:
            yield f"  {row['machine']} lacks {lacking}"


# Commands that change a tournament: the run does it, or this process if the tournament is not running.


def _send(chosen: TournamentChoice, request: dict[str, Any]) -> int:
    """Send the request to the running tournament. If it is not running, carry out the request in this process.

    If the request adds an engine (key `joining`), the engine is probed first.
    """
    from enginetour.store.replay import fold
    from enginetour.tournament.changes import StoppedTournament, TournamentEditor, find_newcomer
    from enginetour.tournament.requests import parsed

    database, db = chosen.database, chosen.db
    workspace = workspace_of(db.resolve().parent if isinstance(db, Path) else config_home())
    results = results_of(config_home(), database)
    with open_store(db, change=True) as store:
        log = TournamentChoice(db, chosen.name).log(store)
        if chosen.edition not in (None, log.edition):
            what = f"must be {log.edition}, the newest edition of {log.name} (found {chosen.edition})"
            raise UsageRefused(what, place="--edition", step="omit --edition")
        if "joining" in request:
            engine, new_name = request.pop("joining")
            request |= _probed(engine, new_name, log, workspace, results)
        with _ask_run(database, log, request) as (answer, lock):
            if answer is None:
                log.require_lock(lock)
                format_, state = fold(log)
                newcomer = partial(find_newcomer, workspace=workspace, log=log)
                editor = TournamentEditor(log, format_, StoppedTournament(state), newcomer)
                answer = editor.carry_out(parsed(request))
                if answer["ok"]:
                    other = None if database == database_of(Path.cwd(), None) else database
                    _update_results(results, log, other)
    return _print_answer(answer)


def _update_results(results: Path, log: TournamentLog, database: Address | None) -> None:
    """Update the PGN file of a tournament that was changed, and print which other files are out of date.

    The change is already in the database, so a file that cannot be written causes only a warning. `database` is the
    address for the --db option of a suggested command, or None if the command does not need this option.
    """
    from enginetour.reports.pgn import PgnFile
    from enginetour.tournament.recorded import has_report

    path = results / f"{log.slug}.pgn"
    try:
        if path.exists():
            PgnFile(path, log, tell=lambda text: echo(f"warning: {text}", err=True)).mend()
    except (OSError, TourError) as error:
        why = os_reason(error) if isinstance(error, OSError) else error
        echo(
            f"warning: {path} cannot be written ({why}); the database has the change, and the next run writes the file",
            err=True,
        )
    with suppress(OSError):  # if the directory is not readable
        if has_report(results, log):
            where = [] if database is None else ["--db", database]
            again = quote_command("report", *where, "-t", log.name)
            echo(f"the report of {log.title} does not show this change. Hint: {again} writes it again.", err=True)


def _change(command: Callable[..., dict[str, Any]]) -> Any:
    """Add the options of the commands that change a tournament.

    `command` returns a request, which is sent together with the reason.
    """

    @click.option("--why", default="", metavar="TEXT", help="Reason for the change, recorded in the log.")
    @json_option
    @wraps(command)
    def sent(chosen: TournamentChoice, why: str, **given: Any) -> int:
        return _send(chosen, {**command(**given), "why": why})

    return tournament_options(sent)


@click.command()
@click.argument("engine")
@_change
def withdraw(engine: str) -> dict[str, Any]:
    """Withdraw ENGINE from the tournament.

    Its remaining games are not played. Its finished games stay in the
    ratings. In a round robin or gauntlet they no longer count in the table,
    because not all opponents have played the engine.

    Example: enginetour withdraw "Fairy-Max" --why "crashes every second game"
    """
    return {"do": "withdraw", "engine": engine}


@click.command()
@click.argument("engine")
@click.option("--name", "new_name", show_default="name in the engine file", help="Name in the tournament.")
@_change
def add(engine: str, new_name: str | None) -> dict[str, Any]:
    """Add ENGINE, an id of `engines list`, to a tournament.

    In a bubble it enters the section next. If the program does not have an
    engine file yet, write one first with enginetour engines add.

    Example: enginetour add stockfish -t autumn-bubble
    """
    return {"do": "add", "joining": (engine, new_name)}


@click.command()
@click.argument("old")
@click.argument("engine")
@click.option("--name", "new_name", show_default="name in the engine file", help="Name of ENGINE in the tournament.")
@_change
def replace(old: str, engine: str, new_name: str | None) -> dict[str, Any]:
    """Withdraw OLD, and add ENGINE at its place in the starting list.

    Example: enginetour replace "My engine 1.0" my-engine --name "My engine 1.1"
    """
    return {"do": "replace", "engine": old, "joining": (engine, new_name)}


@click.command()
@click.argument("game", type=COUNTED)
@_change
def void(game: int) -> dict[str, Any]:
    """Void game number GAME. It is played again if its round is not decided yet.

    Example: enginetour void 57 --why "the machine was swapping"
    """
    return {"do": "void", "game": game}


def _probed(engine: str, name: str | None, log: TournamentLog, workspace: Path, results: Path) -> dict[str, Any]:
    """Probe whether the engine can play the tournament, and return the keys of the request that identify the engine.

    Options of ``[defaults]`` that the engine does not have are left out, as at the start of the tournament.
    """
    from enginetour.engines.registry import of_workspace
    from enginetour.tournament.changes import default_side, find_newcomer
    from enginetour.tournament.probing import probe_all, refuse_unfit, release_warnings, without_lacking

    entrant, spec = find_newcomer(engine, name, workspace, log)
    sides = {entrant.name: default_side(log, spec)}
    probes = probe_all(sides, hidden=results)
    refuse_unfit(probes, sides)
    for warning in release_warnings(probes, {entrant.name: of_workspace(workspace).get(engine)}):
        echo(f"warning: {warning}", err=True)
    kept, notes = without_lacking(sides, probes)
    for note in notes:
        echo(f"note: {note}", err=True)
    found = kept[entrant.name].spec
    lacking = [option for option, _ in spec.options if option not in dict(found.options)]
    request = {"id": engine, "name": name, "fingerprint": found.fingerprint}
    return request | ({"lacking": lacking} if lacking else {})  # a run of an older version does not know the key


# Commands that control a running tournament.


_FOR_EACH = ("pause", "unpause", "finish")  # requests that are sent to all running tournaments of a league


def _control(command: Callable[..., dict[str, Any]]) -> Any:
    """Add the options of the commands that control a running tournament.

    `command` returns a request, whose answer is printed. Raise UsageRefused if the tournament is not running.
    """

    @wraps(command)
    def send(chosen: TournamentChoice, **given: Any) -> int:
        from enginetour.tournament.requests import parsed

        request = parsed(command(**given)).model_dump(mode="json")
        quiet = output_form() == "json"
        once = request["do"] not in _FOR_EACH
        wait = _Wait()
        while not (answers := chosen.ask_running(request, once=once, quiet=quiet)):
            with open_store(chosen.db, lasting=True) as store:
                from enginetour.store.seasons import running_league  # imported here: a run answers without the database

                log = chosen.log(store, quiet=quiet or wait.has_begun)
                with _ask_run(chosen.database, log, request) as (answer, _):
                    if answer is not None:
                        return _print_answer(answer)
                league = running_league(store, log.name)
            if not league or chosen.name is not None:
                option = " --concurrency N" if request["do"] == "slots" else ""
                step = (
                    f"omit -t, because {league} is running"
                    if league
                    else f"start it with enginetour run CONFIG{option}"
                )
                raise UsageRefused(f"{log.title} is not running", step=step)
            if wait.is_over:
                raise StoreRefused(f"{league} has not started its next tournament", step="check it: enginetour status")
            wait.sleep(f"{league}, which is starting its next tournament")
        return _print_answer(_combined([(named.name or "", answer) for answer, named in answers]))

    return tournament_option(json_option(send))


@click.command()
@click.argument("number", metavar="N", type=click.IntRange(1, 1024))
@click.option("--force", is_flag=True, help="Allow more concurrent games than processors.")
@_control
def concurrency(number: int, force: bool) -> dict[str, Any]:
    """Set the number of concurrent games of a running tournament to N.

    A higher number takes effect at once, a lower number when games end. The
    next run uses the number of its configuration or of its --concurrency. In
    a league, N is for all tournaments together.

    Example: enginetour concurrency 4
    """
    return {"do": "slots", "slots": number, "force": force}


@click.command()
@click.option("--drain", metavar="NAME", help="Start no new games on this machine.")
@click.option("--use", metavar="NAME", help="Start games on this machine again.")
@_control
def machines(drain: str | None, use: str | None) -> dict[str, Any]:
    """List or drain the machines of a run on a cluster.

    Shows slots, speed, games and missing requirements. A machine is named
    after its worker (dask worker --name) or, without such a name, after its
    host. A machine that failed in three games in a row is no longer used.

    Example: enginetour machines --drain kallisto
    """
    request = {"do": "machines", "drain": drain, "use": use}
    return {key: value for key, value in request.items() if value is not None}


@click.command()
@tournament_argument
@_control
def pause() -> dict[str, Any]:
    """Pause a running tournament: start no new games until `unpause`.

    enginetour finishes the games in progress and then waits. Without a name,
    all running tournaments of a league pause.

    Example: enginetour pause -t autumn-bubble
    """
    return {"do": "pause"}


@click.command()
@tournament_argument
@_control
def unpause() -> dict[str, Any]:
    """Start games again after `pause`, without a name in a whole league.

    Example: enginetour unpause -t autumn-bubble
    """
    return {"do": "unpause"}


@click.command()
@tournament_argument
@_control
def finish() -> dict[str, Any]:
    """Stop a running tournament after the games in progress.

    There is no time limit for these games, unlike after Ctrl-C. The run exits
    with code 8. `run` resumes the tournament. In a league, all running
    tournaments stop.

    Example: enginetour finish
    """
    return {"do": "finish"}
