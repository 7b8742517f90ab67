"""What a command asks of a tournament: of its run, through the socket, where it has one; and the answer in words."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from enginetour.cli.common import say, say_json
from enginetour.cli.elsewhere import lines
from enginetour.model.errors import StoreRefused, TourError
from enginetour.store.address import Address

if TYPE_CHECKING:
    from pathlib import Path

    from enginetour.store.dialect import Lock
    from enginetour.store.log import TournamentLog


NOTICE_S = 2.0  # of waiting for a run that does not listen, after which that is told
# A run probes its engines before it listens, and writes its ratings and its report after its last game.
PATIENCE_S = 120.0


@contextmanager
def answered(
    database: Address, log: TournamentLog, request: dict[str, Any]
) -> Iterator[tuple[dict[str, Any] | None, Lock]]:
    """The answer, and the tournament's lock; None where nobody runs it: the lock is ours to the end of this.

    UsageRefused, and nothing is asked, for what is no valid request.
    A run that begins or ends holds the lock without listening: it is waited for, then StoreRefused.
    """
    from enginetour.store.address import slug_of
    from enginetour.store.database import lock_of
    from enginetour.tournament.control import socket_path
    from enginetour.tournament.requests import parsed

    asked = parsed(request).to_json()
    lock = lock_of(database, slug_of(log.name))
    begun, told = time.monotonic(), False
    while (answer := _asked(socket_path(database, slug_of(log.name)), asked)) is None:
        try:
            lock.acquire()
            break
        except StoreRefused:
            waited = time.monotonic() - begun
            if waited >= PATIENCE_S:
                raise
            if waited >= NOTICE_S and not told:
                told = True
                say(f"waiting for the run of {log.title}, which begins or ends at this moment", err=True)
        time.sleep(0.1)
    try:
        yield answer, lock
    finally:
        lock.release()


def _asked(path: Path, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """The answer of the run; None where none listens, or where it ended before it answered."""
    from enginetour.tournament.control import HungUp, ask

    try:
        return ask(path, asked)
    except HungUp:
        return None


def tell_answer(answer: Mapping[str, Any], *, as_json: bool) -> int:
    """Say it; the exit code. A refusal is TourError with that of the run, in JSON it is told as it is."""
    code = 0 if answer["ok"] else int(answer.get("exit", 1))
    if as_json:
        say_json(answer)
        return code
    if not answer["ok"]:
        refused = TourError(str(answer["error"]))
        refused.exit_code = code
        raise refused
    for line in [answer["said"]] if isinstance(answer["said"], str) else lines(answer["said"]):
        say(line)
    return 0
