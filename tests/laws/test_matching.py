"""Laws of matching: the weight is that of networkx and of an exhaustive search."""

from functools import cache
from typing import Any
from unittest.mock import patch

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from enginetour.formats.pairing.blossom import jump_start
from enginetour.formats.pairing.matching import Matching, Unpairable, best_matching

LAW = settings(max_examples=150, deadline=None)
Case = tuple[NDArray[Any], NDArray[np.bool_]]
KINDS = {
    "ties": st.integers(0, 2),
    "signs": st.integers(-40, 40),
    "equal": st.just(7),
    "steps": st.builds(lambda a, b, c: (a << 40) + (b << 20) + c, *[st.integers(0, 3)] * 3),
    "huge": st.integers(-(10**80), 10**80),
}


@st.composite
def cases(draw: st.DrawFn, largest: int = 8) -> Case:
    """Yield weights of up to 2 * `largest` vertices with forbidden pairs: none, some, most, or a bipartite graph."""
    count = 2 * draw(st.integers(0, largest))
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    share = draw(st.sampled_from([0, 3, 7]))
    halves = draw(st.booleans())
    weights, forbidden = np.zeros((count, count), dtype=object), np.zeros((count, count), dtype=np.bool_)
    size = count * (count - 1) // 2
    drawn = iter(draw(st.lists(kind, min_size=size, max_size=size)))
    out = iter(draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)))
    for one in range(count):
        for other in range(one):
            weights[one, other] = weights[other, one] = next(drawn)
            barred = next(out) < share or (halves and (one - other) % 2 == 0)
            forbidden[one, other] = forbidden[other, one] = barred
    return weights, forbidden


def found(case: Case, *, cold: bool = False) -> Matching | None:
    """Return enginetour's matching, in machine integers if possible; `cold`: without initial matches."""
    weights, forbidden = case
    if max((abs(weight) for weight in weights.flat), default=0) < 2**60:
        weights = weights.astype(np.int64)
    start = (lambda costs: (costs.filled(0), [-1] * len(weights))) if cold else jump_start
    try:
        with patch("enginetour.formats.pairing.matching.jump_start", start):
            return best_matching(weights, forbidden)
    except Unpairable:
        return None


@given(case=cases(), cold=st.booleans())
@LAW
def test_as_heavy_as_networkx(case: Case, cold: bool) -> None:
    """The weight is that of networkx, and there is no matching if networkx finds none."""
    weights, forbidden = case
    graph = nx.empty_graph(len(weights))
    graph.add_weighted_edges_from((i, j, weights[i, j]) for i, j in np.argwhere(~forbidden).tolist() if i < j)
    pairs = nx.max_weight_matching(graph, maxcardinality=True)
    ours = found(case, cold=cold)
    assert (ours is None) == (2 * len(pairs) < len(weights))
    assert ours is None or ours.weight == sum(weights[i, j] for i, j in pairs)


@given(case=cases(largest=4), cold=st.booleans())
@LAW
def test_as_heavy_as_brute_force(case: Case, cold: bool) -> None:
    """No matching of up to eight vertices has a larger weight."""
    weights, forbidden = case

    @cache
    def best(left: tuple[int, ...]) -> int | None:
        if not left:
            return 0
        one, *rest = left
        ways = [(other, best(tuple(v for v in rest if v != other))) for other in rest if not forbidden[one, other]]
        return max((int(weights[one, other]) + more for other, more in ways if more is not None), default=None)

    ours = found(case, cold=cold)
    assert (ours and ours.weight) == best(tuple(range(len(weights))))


@given(case=cases(), data=st.data())
@LAW
def test_numbering_does_not_matter(case: Case, data: st.DataObject) -> None:
    """The order of vertices does not change the weight."""
    weights, forbidden = case
    order = np.array(data.draw(st.permutations(range(len(weights)))), dtype=np.intp)
    turned = found((weights[np.ix_(order, order)], forbidden[np.ix_(order, order)]))
    ours = found(case)
    assert (ours and ours.weight) == (turned and turned.weight)


@given(case=cases(), step=st.integers(-(2**40), 2**40), factor=st.integers(1, 9))
@LAW
def test_level_and_unit_do_not_matter(case: Case, step: int, factor: int) -> None:
    """A constant on all weights changes the weight of the matching by n / 2 times the constant."""
    ours, moved = found(case), found((case[0] * factor + step, case[1]))
    assert (ours is None) == (moved is None)
    assert ours is None or moved is None or moved.weight == ours.weight * factor + step * len(case[0]) // 2
