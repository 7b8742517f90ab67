"""Every executor gives the same log: inline, in slots, in random order, or on a failing cluster."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from itertools import count
from queue import SimpleQueue
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.base import Format
from enginetour.model.game import Game
from enginetour.model.task import GameTask
from enginetour.testing.formats import ALL, is_decided, outcome_of, tournament
from enginetour.tournament.cluster import executor as module
from enginetour.tournament.cluster.executor import DaskExecutor
from enginetour.tournament.cluster.machines import Demand
from enginetour.tournament.scheduler import RunEnd, Scheduler
from tests.laws.restless import Restless, Verdict
from tests.laws.test_running import Air
from tests.support.tournaments import Heard, Inline, MemoryLog, ended, logged, task_for

LONGEST_SILENCE = 5_000  # polls, about ten seconds


class Hurried(SimpleQueue[Callable[[], None]]):
    """An inbox that waits only briefly, and fails if nothing arrives."""

    silent = 0

    def get(self, block: bool = True, timeout: float | None = None) -> Callable[[], None]:
        self.silent += 1
        assert self.silent < LONGEST_SILENCE, "games were lost: nothing comes any more"
        act = super().get(block, None if timeout is None else timeout / 500)
        self.silent = 0
        return act


def verdict_of(seed: int) -> Verdict:
    """Return the result of deterministic engines."""

    def verdict(task: GameTask) -> Game:
        return ended(task, outcome_of(task.pairing, seed))

    return verdict


def loop_of(format_: Format[Any], entrants: Any, place: Any, slots: int = 1) -> Scheduler:
    clock = count(0, 100)  # seconds; pauses after failures end at the next poll
    log: Any = MemoryLog()
    return Scheduler(
        log,
        format_,
        entrants,
        place,
        task_for,
        slots=slots,
        watcher=Heard(),
        inbox=Hurried(),
        clock=lambda: float(next(clock)),
    )


def truth(loop: Scheduler) -> object:
    """Return the log without the order of ends: games with colors, numbers and results, table, and decisions.

    A match that ends by a verdict can have other games in progress; its decisions are the same.
    """
    log = logged(loop)
    assert isinstance(loop.watcher, Heard)
    games = {(game.pairing, game.outcome, game.replay) for game in log.games.values()}
    assert loop.watcher.numbers == list(range(1, len(games) + 1))
    assert len(games) == len(log.games)
    decisions = tuple(log.notes)
    assert loop.format.notes(loop.state)[-len(decisions) or len(loop.format.notes(loop.state)) :] == decisions
    return decisions if is_decided(loop.state) else (games, loop.format.standings(loop.state), decisions)


def at_once(system: str, seed: int) -> object:
    """Play one game after another in this thread."""
    format_, entrants, _ = tournament(system, seed)
    loop = loop_of(format_, entrants, Inline(verdict_of(seed)))
    assert loop.run() is RunEnd.FINISHED
    return truth(loop)


def out_of_order(system: str, seed: int, slots: int, troubles: float) -> object:
    format_, entrants, _ = tournament(system, seed)
    place = Air(random.Random(seed), troubles, verdict_of(seed))
    loop = loop_of(format_, entrants, place, slots)
    loop._wait = place.land  # type: ignore[method-assign]
    assert loop.run() is RunEnd.FINISHED
    return truth(loop)


def on_a_cluster(system: str, seed: int, slots: int, troubles: float) -> object:
    """Play with the real executor for clusters, except Dask itself.

    Without failures, all games of an encounter must be played on one machine.
    """
    format_, entrants, _ = tournament(system, seed)
    there = Restless(random.Random(seed), troubles, verdict_of(seed))
    with (
        mock.patch.object(module, "Connection", lambda *_: there),
        mock.patch.object(module, "LOOK_S", 0.001),
        closing(DaskExecutor("tcp://h:1", slots, Demand(()))) as place,
    ):

        def tell(text: str) -> None:
            """Let a user give a machine games again."""
            if "gets no more games" in text:
                place.machines.use(text.partition(" gets no more games")[0])

        place.look_round(lambda: None)
        place.open("tag", None, tell)
        loop = loop_of(format_, entrants, place, slots)
        assert loop.run() is RunEnd.FINISHED
    assert troubles or all(len(machines) == 1 for machines in there.homes.values())
    return truth(loop)


SEEDS = st.integers(0, 10**9)
SLOTS = st.integers(1, 6)
TROUBLES = st.sampled_from([0.0, 0.05, 0.3])


@ALL
@settings(max_examples=10)
@given(seed=SEEDS, slots=SLOTS, troubles=TROUBLES)
def test_results_out_of_order_change_no_decision(system: str, seed: int, slots: int, troubles: float) -> None:
    """The log does not depend on the order of ends and on failures of a machine."""
    assert out_of_order(system, seed, slots, troubles) == at_once(system, seed)


@ALL
@settings(max_examples=3)
@given(seed=SEEDS, slots=SLOTS, troubles=TROUBLES)
def test_a_cluster_in_trouble_gives_the_same_log(system: str, seed: int, slots: int, troubles: float) -> None:
    """The log does not depend on failures of workers and scheduler, and on late results."""
    assert on_a_cluster(system, seed, slots, troubles) == at_once(system, seed)
