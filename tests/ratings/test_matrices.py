"""Matrices of a rating list."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from enginetour.model.errors import UsageRefused
from enginetour.ratings import ratinglist
from enginetour.ratings.matrices import Matrix, MatrixName, group_difference, matrix_of
from enginetour.ratings.pairs import Counts, pairs_of
from enginetour.ratings.ratinglist import RatingList, rating_list

FIELD = {("A", "B"): (30, 40, 15), ("B", "A"): (9, 30, 20), ("B", "C"): (20, 40, 25), ("C", "A"): (30, 20, 35)}
POOLS = FIELD | {("X", "Y"): (5, 6, 9)}


def made(kind: MatrixName, counts: Counts, found: RatingList | None = None) -> Matrix:
    return matrix_of(kind, found or rating_list(counts), pairs_of(counts))


@pytest.mark.parametrize("model", ["logistic", "davidson"])
def test_every_cell_is_the_errors_own(model: str) -> None:
    """LOS, difference and its error are those of the pool's errors for the single pair."""
    found = rating_list(FIELD, model=model)  # type: ignore[arg-type]
    basis = found.rows[0].basis
    assert basis is not None
    cells = {kind: made(kind, FIELD, found) for kind in ("los", "diff", "errors")}
    for i, one in enumerate(found.rows):
        for j, other in enumerate(found.rows):
            if i != j:
                places = (basis.fit.names.index(one.name), basis.fit.names.index(other.name))
                error = 1.959964 * basis.errors.difference_sd(*places) * found.point
                assert cells["los"].values[i, j] == pytest.approx(basis.errors.los(*places), abs=1e-9)
                assert cells["diff"].values[i, j] == pytest.approx(one.rating - other.rating)
                assert cells["errors"].values[i, j] == pytest.approx(error)
                assert cells["diff"].errors is not None
                assert cells["diff"].errors[i, j] == pytest.approx(error)
    assert found.rows[0].los == pytest.approx(cells["los"].values[0, 1], abs=1e-9)


def test_the_difference_of_groups() -> None:
    """Groups of one engine differ as the engines do; the mean of a group has the smaller error; pools have none."""
    found = rating_list(POOLS)
    assert group_difference(found, ["A"], ["B"]) == pytest.approx(found.difference("A", "B"))
    ratings = {row.name: row.rating for row in found.rows}
    both = group_difference(found, ["A", "B"], ["C"])
    assert both is not None
    assert both[0] == pytest.approx((ratings["A"] + ratings["B"]) / 2 - ratings["C"])
    assert both[1] < max(found.difference(name, "C")[1] for name in "AB")
    assert group_difference(found, ["A"], ["X"]) is None
    assert group_difference(found, [], ["B"]) is None


def test_likelihoods_of_both_ways_add_up() -> None:
    """LOS of both directions add up to 1, off the diagonal."""
    names = [f"e{number:02}" for number in range(75)]
    counts = dict.fromkeys(zip(names, [*names[1:], names[0]], strict=True), (3, 2, 2))
    values = made("los", counts).values
    off = ~np.eye(75, dtype=bool)
    assert (values + values.T)[off] == pytest.approx(1.0)
    assert np.isnan(values.diagonal()).all()


def test_nothing_is_given_across_pools() -> None:
    """Matrices are blank between pools, except the matrix of scores."""
    for kind in get_args(MatrixName):
        matrix = made(kind, POOLS)
        other = np.not_equal.outer(matrix.pools, matrix.pools)
        assert np.isnan(matrix.values[other]).all()
        assert not np.isnan(matrix.values[~other & ~np.eye(5, dtype=bool)]).any()


def test_groups_rated_apart_still_have_their_score() -> None:
    """Connected components that are rated separately still have their mutual score."""
    counts = {("A", "B"): (3, 2, 3), ("C", "D"): (3, 2, 3), ("A", "C"): (2, 0, 0)}
    found = rating_list(counts, prior="none")
    assert np.isnan(made("los", counts, found).values[0, 2])
    score = made("score", counts, found)
    at = {name: number for number, name in enumerate(score.names)}
    assert score.games is not None
    assert (score.values[at["A"], at["C"]], score.games[at["A"], at["C"]]) == (2, 2)


def test_between_anchors_nothing_is_uncertain() -> None:
    """Between anchors LOS and error are blank, and the difference is given."""
    found = rating_list(FIELD, anchors={"A": 100.0, "B": 50.0})
    at = {row.name: number for number, row in enumerate(found.rows)}
    for kind in ("los", "errors"):
        values = made(kind, FIELD, found).values
        assert np.isnan(values[at["A"], at["B"]])
        assert not np.isnan(values[at["A"], at["C"]])
    assert made("diff", FIELD, found).values[at["A"], at["B"]] == 50


def test_scores_are_those_of_both_colors() -> None:
    """A cell has the points of the row with both colors, and all games."""
    score = made("score", FIELD)
    at = {name: number for number, name in enumerate(score.names)}
    assert score.values[at["A"], at["B"]] == 30 + 20 + 20 + 15
    assert score.values[at["B"], at["A"]] == 144 - 85
    assert score.games is not None
    assert score.games[at["B"], at["A"]] == 144


def test_a_pool_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of errors are limited by the size of the pool; matrices of scores are not."""
    monkeypatch.setattr(ratinglist, "DENSE_ERRORS", 2)
    found = rating_list(FIELD)
    with pytest.raises(UsageRefused, match="too large for a matrix"):
        made("los", FIELD, found)
    assert made("score", FIELD, found).names
