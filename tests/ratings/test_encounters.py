"""Tests of ratings/encounters."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest

from enginetour.model.errors import UsageRefused
from enginetour.ratings.design import information, posterior
from enginetour.ratings.encounters import MOST_ENGINES, suggest_encounters
from enginetour.ratings.pairs import Counts, Vector, pairs_of
from enginetour.ratings.pentanomial import NORMAL_95
from enginetour.ratings.priors import GaussianPrior

COUNTS: Counts = {
    ("A", "B"): (30, 20, 10),
    ("B", "C"): (8, 6, 6),
    ("C", "D"): (3, 1, 2),
    ("A", "D"): (9, 1, 0),
    ("D", "E"): (1, 1, 0),
}


def errors(extra: dict[tuple[str, str], int], *, average: bool = True) -> Vector:
    """Return the error of each engine after more games, from the inverse of the whole information matrix.

    The information of a game is the average over many differences of the ratings, or that at the likeliest difference.
    """
    pairs = pairs_of(COUNTS)
    counts = np.zeros((5, 5, 3))
    counts[pairs.white, pairs.black] = np.stack((pairs.wins, pairs.draws, pairs.losses), axis=-1)
    known = posterior(pairs.names, counts, GaussianPrior(350.0))
    whole = np.linalg.inv(known.covariance)
    quantiles = np.array([NormalDist().inv_cdf((k + 0.5) / 999) for k in range(999)])
    for (one, other), games in extra.items():
        i, j = pairs.names.index(one), pairs.names.index(other)
        e = np.zeros(5)
        e[i], e[j] = 1, -1
        gaps = known.mode[i] - known.mode[j] + (e @ np.linalg.inv(whole) @ e) ** 0.5 * quantiles
        mode = np.stack((gaps, 0 * gaps), axis=-1)
        alike = {"draw": 0 * gaps + known.draw, "advantage": 0 * gaps + known.advantage}
        told = information(replace(known, names=(one, other), mode=mode, **alike))[:, 0, 1].mean()
        whole += games / 2 * (told if average else information(known)[i, j]) * np.outer(e, e)
    centered = np.eye(5) - 1 / 5
    return np.asarray(NORMAL_95 * np.sqrt((centered @ np.linalg.inv(whole) @ centered).diagonal()))


def test_the_first_encounter_reduces_the_variance_most_per_hour() -> None:
    """Of all pairs, the first one leaves the smallest variance; an engine whose games take long is not chosen."""
    found = suggest_encounters(pairs_of(COUNTS), seconds=dict.fromkeys("ABCDE", 60.0), usual=60.0, games=2)
    first = found.encounters[0]
    best = min(combinations("ABCDE", 2), key=lambda pair: float((errors({pair: 2}, average=False) ** 2).sum()))
    assert {first.one, first.other} == set(best) and "E" in best
    assert first.seconds == 120 and first.pools is None and found.pools == (tuple("ABCDE"),)
    slow = suggest_encounters(pairs_of(COUNTS), seconds=dict.fromkeys("ABCD", 60.0) | {"E": 60_000.0}, usual=60.0)
    assert "E" not in {name for one in slow.encounters for name in (one.one, one.other)}


def test_expected_effects_are_those_of_the_inverse() -> None:
    """The mean error after each encounter counts it and the earlier ones; every error falls."""
    found = suggest_encounters(pairs_of(COUNTS), seconds={}, games=20)
    assert found.mean == pytest.approx(errors({}).mean())
    extra: dict[tuple[str, str], int] = {}
    for one in found.encounters:
        extra[one.one, one.other] = 20
        assert one.mean_after == pytest.approx(errors(extra).mean(), rel=1e-4)
        assert one.errors_after[0] < one.errors[0] and one.errors_after[1] < one.errors[1]
        assert one.seconds is None and one.gap >= 0
    assert len(found.encounters) == 5 == len({frozenset((one.one, one.other)) for one in found.encounters})


def test_pools_that_never_met_are_connected_first() -> None:
    """Three pools need two encounters; these come first although other engines have larger errors."""
    counts = {**COUNTS, ("X", "Y"): (400, 300, 380), ("P", "Q"): (10, 10, 12)}
    found = suggest_encounters(pairs_of(counts), seconds={}, games=100)
    assert [len(pool) for pool in found.pools] == [5, 2, 2]
    first, second, *others = found.encounters
    assert first.pools is not None and second.pools is not None
    assert {*first.pools, *second.pools} == {1, 2, 3} and all(one.pools is None for one in others)
    assert first.mean_after < found.mean / 1.2


def test_only_engines_that_can_play() -> None:
    """With `among`, other engines are not chosen, and there may be fewer encounters."""
    found = suggest_encounters(pairs_of(COUNTS), seconds={}, among=("A", "C", "D"))
    assert {frozenset((one.one, one.other)) for one in found.encounters} == set(map(frozenset, combinations("ACD", 2)))
    with pytest.raises(UsageRefused, match=r"two engines must be able to play \(found 1\)"):
        suggest_encounters(pairs_of(COUNTS), seconds={}, among=("A",))
    with pytest.raises(UsageRefused, match=f"at most {MOST_ENGINES:,} engines"):
        suggest_encounters(pairs_of({}, [f"E{number}" for number in range(MOST_ENGINES + 1)]), seconds={})
