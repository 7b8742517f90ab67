"""Commands that steer a run that goes on, through its socket: slots, machines, pause, unpause, finish."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.common import chosen, database_option, open_store, say, say_json
from enginetour.cli.elsewhere import lines
from enginetour.errors import StoreRefused, TourError, UsageRefused
from enginetour.serveraddress import Address

if TYPE_CHECKING:
    from enginetour.store.log import TournamentLog

PATIENCE_S = 5.0  # a run that begins or ends holds the lock for a moment without listening


def _steer(db: Address | None, name: str | None, request: dict[str, Any], *, as_json: bool) -> int:
    """Ask the run, and tell what it said."""
    from enginetour.workspace import database_of

    with open_store(db, lasting=True) as store:
        reply = _answer(database_of(Path.cwd(), db), chosen(store, name, None, quiet=as_json), request)
    if as_json:
        say_json(reply)
        return 0 if reply["ok"] else int(reply.get("exit", 1))
    if not reply["ok"]:
        refused = TourError(str(reply["error"]))
        refused.exit_code = int(reply.get("exit", 1))
        raise refused
    for line in [reply["said"]] if isinstance(reply["said"], str) else lines(reply["said"]):
        say(line)
    return 0


def _answer(database: Address, log: TournamentLog, request: dict[str, Any]) -> dict[str, Any]:
    """What the run says; UsageRefused where nobody runs the tournament."""
    from enginetour.control import ask, socket_path
    from enginetour.store.grounds import lock_of
    from enginetour.store.slugs import slug_of

    lock = lock_of(database, slug_of(log.name))
    deadline = time.monotonic() + PATIENCE_S
    while True:
        answer = ask(socket_path(database, slug_of(log.name)), request)
        if answer is not None:
            return answer
        try:
            lock.acquire()
        except StoreRefused:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.1)
        else:
            lock.release()
            raise UsageRefused(f"{log.title} is not running", step="enginetour run starts it, and has --slots")


def _steering(command: Any) -> Any:
    """The options all of them share."""
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)
    command = click.option("-t", "--tournament", "name", help="Tournament; default: the newest.")(command)
    return database_option(command)


@click.command()
@click.argument("number", metavar="N", type=click.IntRange(1, 1024))
@click.option("--force", is_flag=True, help="Allow more slots than processors.")
@_steering
def slots(number: int, force: bool, db: Address | None, name: str | None, as_json: bool) -> int:
    """Play N games at once from now on in a tournament that is running.

    Fewer take effect as games end, more at once. The next run has again as
    many as its configuration or --slots says.

    Example: enginetour slots 4
    """
    return _steer(db, name, {"do": "slots", "slots": number, "force": force}, as_json=as_json)


@click.command()
@click.option("--drain", metavar="NAME", help="No new games for this machine; those in the air end.")
@click.option("--use", metavar="NAME", help="Games again for one that was drained or set aside.")
@_steering
def machines(drain: str | None, use: str | None, db: Address | None, name: str | None, as_json: bool) -> int:
    """The machines of a run on a cluster: slots, speed, games, what they lack.

    A machine is called by the name its worker was given (dask worker --name),
    else by its host. One that failed three games in a row is set aside.

    Example: enginetour machines --drain kallisto
    """
    request = {"do": "machines", "drain": drain, "use": use}
    return _steer(db, name, {key: value for key, value in request.items() if value is not None}, as_json=as_json)


@click.command()
@_steering
def pause(db: Address | None, name: str | None, as_json: bool) -> int:
    """Let no game begin in a tournament that is running, until `unpause`.

    Games in the air end as they do; the run waits and nothing is lost.

    Example: enginetour pause -t autumn-bubble
    """
    return _steer(db, name, {"do": "pause"}, as_json=as_json)


@click.command()
@_steering
def unpause(db: Address | None, name: str | None, as_json: bool) -> int:
    """Let games begin again after `pause`.

    Example: enginetour unpause -t autumn-bubble
    """
    return _steer(db, name, {"do": "unpause"}, as_json=as_json)


@click.command()
@_steering
def finish(db: Address | None, name: str | None, as_json: bool) -> int:
    """Let the games in the air end, then the run; it exits with 8.

    As Ctrl-C, but however long they take; `run` goes on where it ended.

    Example: enginetour finish
    """
    return _steer(db, name, {"do": "finish"}, as_json=as_json)
