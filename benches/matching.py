"""Time of certified matchings, compared with networkx for the same weights and with one operation on all weights."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from benches.measure import Settings, in_turn, line
from enginetour.formats.pairing.matching import best_matching

SPREAD = 200.0  # Elo; standard deviation of the strengths, as in the rating benchmark
ROUNDS = 5  # rounds before the matching
LARGER = 10  # factor for the number of engines in lines without networkx
Field = tuple[NDArray[np.int64], NDArray[np.bool_]]


def matching(settings: Settings) -> Iterator[str]:
    """Measure two kinds of weights: score groups with seeding, and the entropy of the expected result."""
    for name, kind in (("score groups", groups), ("entropy", entropy)):
        weights, met = kind(settings.engines)
        edges = [(i, j, int(weights[i, j])) for i, j in np.argwhere(~met).tolist() if i < j]
        graph = nx.Graph()
        graph.add_weighted_edges_from(edges)
        mine, theirs = in_turn(
            settings.rounds,
            partial(best_matching, weights, met),
            partial(nx.max_weight_matching, graph, maxcardinality=True),
        )
        yield line(f"matching of {settings.engines} by {name}", mine, theirs, "networkx")
        large = kind(settings.engines * LARGER)
        mine, once = in_turn(
            settings.rounds,
            partial(best_matching, *large),
            partial(np.multiply, large[0], 2),
        )
        yield line(f"matching of {settings.engines * LARGER} by {name}", mine, once, "doubling all weights")


def groups(count: int) -> Field:
    """Make weights for similar scores by a concave curve up to 10**11, and seeding inside a score group."""
    ratings, met, dice = field(count)
    score = dice.binomial(ROUNDS, 0.5, count)
    share = abs(score[:, None] - score) / (ROUNDS + 1)
    weights = (1e11 * (1 - share) * (1 + 0.5 * share)).astype(np.int64)
    place, size = np.zeros(count, dtype=np.int64), np.bincount(score, minlength=ROUNDS + 1)[score]
    for value in range(ROUNDS + 1):
        inside = np.flatnonzero(score == value)
        place[inside[np.argsort(-ratings[inside], kind="stable")]] = np.arange(len(inside))
    off = abs(2 * abs(place[:, None] - place) - size)
    seeding = 5_000_000 - 5_000_000 * off // size * off // size
    return weights + np.where(score[:, None] == score, seeding, 0), met


def entropy(count: int) -> Field:
    """Make weights from the entropy of the expected result in bits, in units of 10**-12."""
    ratings, met, _ = field(count)
    expected = 1 / (1 + 10 ** (abs(ratings[:, None] - ratings) / 400))
    bits = -expected * np.log2(expected) - (1 - expected) * np.log2(1 - expected)
    return np.round(bits * 1e12).astype(np.int64), met


def field(count: int) -> tuple[NDArray[np.float64], NDArray[np.bool_], np.random.Generator]:
    """Return random ratings, the pairs that have met, and the random generator."""
    dice = np.random.default_rng(count)
    ratings = dice.normal(0, SPREAD, count)
    met = np.zeros((count, count), dtype=np.bool_)
    for _ in range(min(ROUNDS, count // 4)):
        order = dice.permutation(count)
        one, other = order[: count // 2], order[count // 2 : count // 2 * 2]
        met[one, other] = met[other, one] = True
    return ratings, met, dice
