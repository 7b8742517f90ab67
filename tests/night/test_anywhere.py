"""Long tests of the laws of executors."""

from __future__ import annotations

import random

import pytest
from distributed import SpecCluster

from enginetour.testing.formats import ALL
from enginetour.tournament.executor import LocalExecutor
from tests.laws import test_real_places
from tests.laws.test_anywhere import at_once, on_a_cluster, out_of_order

pytestmark = pytest.mark.night


@ALL
def test_troubles_at_length(system: str) -> None:
    """Two hundred tournaments of each system, with games in random order and on a failing cluster."""
    dice = random.Random(7)
    for seed in range(200):
        slots, troubles = dice.randint(1, 6), dice.choice([0, 0.05, 0.3])
        expected = at_once(system, seed)
        assert out_of_order(system, seed, slots, troubles) == expected
        assert on_a_cluster(system, seed, slots, troubles) == expected


@pytest.mark.parametrize("system", ["gauntlet", "swiss", "bubble", "knockout"])
def test_real_games_at_length(cluster: SpecCluster, system: str) -> None:
    """Four tournaments of each system, in slots and on a cluster."""
    for seed in range(4):
        test_real_places.any_place(system, seed, LocalExecutor, 1 + seed % 3)
        test_real_places.any_place(system, seed, test_real_places.maker(cluster), 1 + seed)
