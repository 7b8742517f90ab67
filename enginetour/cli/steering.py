"""Commands that steer a run that goes on, through its socket: slots, machines, pause, unpause, finish."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from enginetour.cli.common import chosen, open_store, tournament_argument, tournament_option
from enginetour.cli.request import answered, tell_answer
from enginetour.model.errors import UsageRefused
from enginetour.store.address import Address


def _steering(command: Callable[..., dict[str, Any]]) -> Any:
    """Add the options that all share; the function makes the request for the run, whose answer is shown.

    UsageRefused if the tournament is not running.
    """

    @wraps(command)
    def steer(db: Address | None, name: str | None, as_json: bool, **given: Any) -> int:
        from enginetour.tournament.config.workspace import database_of

        request = command(**given)
        with open_store(db, lasting=True) as store:
            log = chosen(store, name, None, quiet=as_json)
            with answered(database_of(Path.cwd(), db), log, request) as (answer, _):
                if answer is None:
                    also = ", and has --slots" if request["do"] == "slots" else ""
                    raise UsageRefused(f"{log.title} is not running", step=f"enginetour run starts it{also}")
        return tell_answer(answer, as_json=as_json)

    return tournament_option(click.option("--json", "as_json", is_flag=True, help="Print JSON.")(steer))


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
