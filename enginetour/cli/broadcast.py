"""A running tournament as whoever subscribed to its socket hears it: the live page, and anybody else.

event      fields beside `event`
start      slot, white, black, opening, variant, fen, moves (UCI, of the opening), clocks (ms), tc, at
move       slot, ply, uci, san, score, depth, nodes, pv, elapsed_ms, clock_ms, clocks, at (UTC seconds, of the slot)
end        slot, outcome, cause
progress   what `status --json` has but for the games in the air: games_done, remaining, eta, state, slots, ...
others     those of the journal, with `at` as text

Moves may be missing where the machine was too busy to pass them on; `ply` shows it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from enginetour.cli import tell
from enginetour.reports.progress import Progress
from enginetour.tournament.control import ControlServer
from enginetour.tournament.scheduler import Scheduler, Watcher

PROGRESS_S = 10.0  # between two tellings of an estimate although nothing else has changed


class Broadcast(Watcher):
    """Publishes what there is to hear; costs nothing while nobody has subscribed."""

    def __init__(self, picture: Progress) -> None:
        self.picture = picture
        self.server: ControlServer | None = None  # from the moment there is a socket
        self._told: tuple[object, ...] = ()

    def event(self, slot: int, name: str, payload: Any) -> None:
        """A live event of a slot; called from the thread of the slots."""
        if self.server is not None and self.server.listeners:
            self.server.publish({"event": name, "slot": slot, **payload})

    def publish(self, event: Mapping[str, Any]) -> None:
        """One event to all."""
        if self.server is not None and self.server.listeners:
            self.server.publish(event)

    def progress(self, scheduler: Scheduler) -> None:
        """How far it is, when that changed or was not told for a while; the picture was brought up to date before."""
        if self.server is None or not self.server.listeners:
            self._told = ()
            return
        picture = self.picture
        state = state_of(scheduler)
        now = (
            state,
            picture.done,
            picture.remaining,
            picture.slots,
            bool(picture.banner),
            time.monotonic() // PROGRESS_S,
        )
        if now == self._told:
            return
        self._told = now
        found = {key: value for key, value in tell.status(picture, state).items() if key != "playing"}
        self.publish({"event": "progress", **found, "slots": scheduler.slots})


def state_of(scheduler: Scheduler) -> str:
    """In the words of `status`: running, paused, stopping."""
    return "stopping" if scheduler.stopping else "paused" if scheduler.paused else "running"
