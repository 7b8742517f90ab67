"""What a command asks of a tournament: of its run, through the socket, where it has one; and the answer in words."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from enginetour.cli.common import say, say_json
from enginetour.cli.elsewhere import lines
from enginetour.errors import StoreRefused, TourError
from enginetour.serveraddress import Address

if TYPE_CHECKING:
    from enginetour.store.ground import Lock
    from enginetour.store.log import TournamentLog

PATIENCE_S = 5.0  # about what a large tournament needs for its last ratings


@contextmanager
def answered(
    database: Address, log: TournamentLog, request: dict[str, Any]
) -> Iterator[tuple[dict[str, Any] | None, Lock]]:
    """The answer, and the tournament's lock; None where nobody runs it: the lock is ours to the end of this.

    UsageRefused, and nothing is asked, for what is no valid request.
    A run that begins or ends holds the lock for a moment without listening: it is waited for, then StoreRefused.
    """
    from enginetour.control import ask, socket_path
    from enginetour.requests import parsed
    from enginetour.store.grounds import lock_of
    from enginetour.store.slugs import slug_of

    asked = parsed(request).to_json()
    lock = lock_of(database, slug_of(log.name))
    deadline = time.monotonic() + PATIENCE_S
    while (answer := ask(socket_path(database, slug_of(log.name)), asked)) is None:
        try:
            lock.acquire()
            break
        except StoreRefused:
            if time.monotonic() >= deadline:
                raise
        time.sleep(0.1)
    try:
        yield answer, lock
    finally:
        lock.release()


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
