"""Idle time of slots in a bubble, with simulated lengths of games: `python -m benches.idling [FIELD] [SLOTS]`.

"legs apart": both games of an encounter can be played at the same time. "one slot": they are played in one slot, one
after the other. "with lookahead": as "one slot", with games that are started early, as in a run. The lengths have a
coefficient of variation of 0.5 (bubble spec 6). Results do not depend on them.
"""

from __future__ import annotations

import heapq
import random
import sys
from collections.abc import Iterator
from typing import Any

from enginetour.formats.base import make_format, options_model
from enginetour.model.game import RESULTS, Entrant, GameFinished, Outcome, Pairing

SHAPE = 4.0  # of a gamma distribution, whose coefficient of variation is 1 / sqrt(4)


def played(field: int, slots: int, games: int, seed: int, *, apart: bool, lookahead: bool) -> tuple[int, float, float]:
    """Simulate a bubble; return the number of games, the sum of their lengths, and the length of the tournament."""
    options = {"size": 10, "min_matches": 15, "unpark_threshold": 5, "games_per_pairing": games}
    format_ = make_format("bubble", options_model("bubble").model_validate(options))
    state = format_.start(tuple(Entrant(f"E{number}") for number in range(field)))
    flying: list[tuple[float, Any, Pairing]] = []
    now = worked = 0.0
    count = 0

    def length(pairing: Pairing) -> float:
        return random.Random(f"{seed} {pairing.key}").gammavariate(SHAPE, 1 / SHAPE)

    def outcome(pairing: Pairing) -> Outcome:
        return random.Random(f"{seed} result {pairing.key}").choice(RESULTS)

    def wanted() -> Iterator[Pairing]:
        yield from format_.offers(state)
        if lookahead:
            yield from format_.ahead(state)

    while True:
        busy = {key for _, key, _ in flying}
        if len(flying) < slots:
            for pairing in wanted():
                encounters = {key[:3] for key in busy}
                if len(flying) >= slots:
                    break
                if pairing.key in busy or (not apart and pairing.key[:3] in encounters):
                    continue
                heapq.heappush(flying, (now + length(pairing), pairing.key, pairing))
                busy.add(pairing.key)
        if not flying:
            return count, worked, now
        now, _, ended = heapq.heappop(flying)
        worked += length(ended)
        count += 1
        state = format_.step(state, GameFinished(ended, outcome(ended)))


def main(field: int = 20, slots: int = 4, seeds: int = 10) -> None:
    """Print a table of idle time and speed-up."""
    print(f"bubble 10/15/5 of {field}, {slots} slots, {seeds} tournaments")
    for games in (1, 2):
        for name, apart, lookahead in (
            ("legs apart", True, False),
            ("one slot", False, False),
            ("with lookahead", False, True),
        ):
            runs = [played(field, slots, games, seed, apart=apart, lookahead=lookahead) for seed in range(seeds)]
            work, whole = sum(run[1] for run in runs), sum(run[2] for run in runs)
            idle = 1 - work / whole / slots
            mean = sum(run[0] for run in runs) / seeds
            print(
                f"{games} games per match, {name:14}: {mean:5.0f} games, idle {idle:5.1%}, speed-up {work / whole:.2f}"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
