"""Deterministic engines give the same log in this process, in slots and on a cluster."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import product
from typing import Any

import pytest
from distributed import SpecCluster
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.base import make_format, options_model
from enginetour.interop.files import bundled_directory
from enginetour.model.game import Entrant, Game, Opening, Pairing
from enginetour.model.task import EngineSpec, GameTask, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.game import play
from enginetour.referee.link import Link
from enginetour.referee.startup import EnginePool
from enginetour.testing.formats import settings_of
from enginetour.tournament.cluster.executor import DaskExecutor
from enginetour.tournament.cluster.machines import Demand
from enginetour.tournament.executor import LocalExecutor
from enginetour.tournament.scheduler import RunEnd
from tests.laws.test_anywhere import loop_of
from tests.support.tournaments import Inline, logged

FIRST = tuple(
    product(("a2a3", "d2d4", "g1f3"), ("a7a5", "d7d5", "g8f6"))
)  # openings that make the games of each encounter different
DEPTH = TimeControl.parse("depth=1")
SHORT = Rules(max_moves=12)  # longer games would show nothing more
WRENS = ("2", "3", "4")  # levels that are deterministic at a given depth


def side(name: str) -> Side:
    command = (sys.executable, str(bundled_directory("engines") / "wren.py"), name)
    return Side(EngineSpec(name, command, "uci", dir="scratch"), DEPTH)


def task_for(pairing: Pairing, replay: int) -> GameTask:
    opening = Opening(moves=FIRST[pairing.encounter % len(FIRST)])
    return GameTask(pairing, side(pairing.white), side(pairing.black), opening, SHORT, replay)


def here(task: GameTask, pool: EnginePool) -> Game:
    return play(task, Link(), pool)


def told(system: str, seed: int, place: Any, slots: int) -> object:
    """Return games with all moves, table and decisions."""
    dice = random.Random(seed)
    entrants = tuple(Entrant(name) for name in WRENS)
    chosen = options_model(system).model_validate({**settings_of(system, dice, len(entrants)), "games_per_pairing": 2})
    loop = loop_of(make_format(system, chosen), entrants, place, slots)
    loop.task_for = task_for
    assert loop.run() is RunEnd.FINISHED
    log = logged(loop)
    games = {
        (game.pairing, game.outcome, game.termination, tuple(move.uci for move in game.moves))
        for game in log.games.values()
    }
    assert len(games) == len(log.games)
    return games, loop.format.standings(loop.state), log.notes


def any_place(system: str, seed: int, make: Callable[[int], Any], slots: int) -> None:
    """Check that the games of an executor are those of this process."""
    pool = EnginePool()
    try:
        expected = told(system, seed, Inline(lambda task: here(task, pool)), 1)
    finally:
        pool.close_all()
    with closing(make(slots)) as place:
        assert told(system, seed, place, slots) == expected


def maker(cluster: SpecCluster) -> Callable[[int], DaskExecutor]:
    """Return a function that makes executors for a cluster."""

    def make(slots: int) -> DaskExecutor:
        place = DaskExecutor(cluster.scheduler_address, slots, Demand(()))
        place.look_round(lambda: None)
        return place

    return make


SYSTEMS = st.sampled_from(["gauntlet", "swiss", "bubble", "knockout"])
SEEDS = st.integers(0, 10**9)


@settings(max_examples=2)
@given(system=SYSTEMS, seed=SEEDS, slots=st.integers(1, 3))
def test_slots_give_the_same_log(system: str, seed: int, slots: int) -> None:
    """The log does not depend on the number of slots."""
    any_place(system, seed, LocalExecutor, slots)


# The cluster is in this process, and a thread of Dask may use `random` while Hypothesis draws a value.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@settings(max_examples=2)
@given(system=SYSTEMS, seed=SEEDS, slots=st.integers(1, 4))
def test_a_cluster_gives_the_same_log(cluster: SpecCluster, system: str, seed: int, slots: int) -> None:
    """Machines of a cluster give the same log."""
    any_place(system, seed, maker(cluster), slots)
