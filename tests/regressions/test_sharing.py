"""Workers under taskset, as the refusal of `affinity` advises, were said to want more processors than there are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from enginetour.tournament.cluster.machines import Demand, shared
from tests.test_sharing import FOUR, workers


@pytest.mark.parametrize("own", [({0, 1}, {2, 3}), ({0, 1, 2, 3}, {0, 1, 2, 3})])
def test_two_workers_with_half_a_machine_each(own: tuple[set[int], set[int]]) -> None:
    """By an affinity, or by a quota of the same processors: one game more would be too much."""
    for slots, lines in ((2, 0), (3, 1)):
        beside = workers(2, slots)
        for worker, affinity in zip(beside, own, strict=True):
            worker.found = replace(FOUR, processors=2, affinity=frozenset(affinity))
        assert len(list(shared(beside, Demand(())))) == lines


def test_two_workers_of_one_container_have_its_quota_once() -> None:
    """Each is told of the same two processors; they were counted as four. Another container has its own."""
    for groups, lines in ((("box", "box"), 1), (("box", "other"), 0)):
        beside = workers(2, 2)
        for worker, group in zip(beside, groups, strict=True):
            worker.found = replace(FOUR, processors=2, group=group)
        assert len(list(shared(beside, Demand(())))) == lines
