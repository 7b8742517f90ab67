"""A slot process whose games take time but have no engines: ``python -m benches.slots_process MEAN_S``.

It is the slot of a run with another function that plays a game: it waits, sends live events, and returns a result.
"""

from __future__ import annotations

import random
import select
import sys
import time

from benches.simulated import PLIES, length, live_moves, live_start, played, thought_moves
from enginetour.model.errors import MachineFailure
from enginetour.model.game import Game
from enginetour.model.task import GameTask
from enginetour.referee import game, slot
from enginetour.referee.link import Link
from enginetour.referee.record import LIVE_INTERVAL_NS, UNWATCHED_INTERVAL_NS
from enginetour.referee.startup import EnginePool

MEAN_S = float(sys.argv[1])
DICE = random.Random()


def play(task: GameTask, link: Link, pool: EnginePool) -> Game:
    """Wait for the length of a game and return its result. Raise MachineFailure if the slot must end."""
    del pool
    moves = thought_moves(DICE.choice(PLIES))
    started, begun = time.time(), time.monotonic()
    lasts = length(DICE, MEAN_S)
    link.tell("start", live_start(task))
    interval_ms = (LIVE_INTERVAL_NS if task.watched else UNWATCHED_INTERVAL_NS) / 1e6
    poll, sent = select.poll(), 0
    if link.control_fd is not None:
        poll.register(link.control_fd, select.POLLIN)
    while (left := begun + lasts - time.monotonic()) > 0:
        poll.poll(max(1.0, min(left * 1e3, interval_ms)))
        if link.stopping() == "now":
            raise MachineFailure("stopped")
        made = int(len(moves) * min(1.0, (time.monotonic() - begun) / lasts))
        if made > sent:
            link.tell("moves", list(live_moves(moves, sent, made)))
            sent = made
    return played(task, moves, {}, started, time.time())


if __name__ == "__main__":
    game.play = play
    slot.main()
