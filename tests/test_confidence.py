"""Bounds at other confidences than 95 %."""

from __future__ import annotations

from dataclasses import replace

import pytest

from enginetour.ratings import ratinglist
from enginetour.ratings.ratinglist import FEW, TOO_FEW, at_confidence, quantile, rating_list
from tests.listing_games import row

MANY = {("A", "B"): (30, 40, 15), ("B", "C"): (20, 40, 25), ("C", "A"): (30, 20, 35)}
FEWER = {("A", "B"): (5, 1, 2), ("B", "C"): (3, 2, 3), ("C", "A"): (1, 1, 4)}
CLEAN = {("A", "B"): (12, 0, 0), ("B", "C"): (9, 2, 10), ("C", "B"): (9, 2, 10), ("A", "C"): (12, 1, 0)}


def test_known_quantiles() -> None:
    """1.644854, 1.959964, 2.575829."""
    assert [quantile(percent) for percent in (90, 95, 99)] == pytest.approx([1.644854, 1.959964, 2.575829], abs=1e-6)


def test_normal_errors_grow_with_the_quantile() -> None:
    """Plus, minus, half the interval and the opponents' error alike; ratings and LOS stay."""
    usual, wide = rating_list(MANY), at_confidence(rating_list(MANY), 99)
    ratio = quantile(99) / quantile(95)
    for before, after in zip(usual.rows, wide.rows, strict=True):
        for key in ("plus", "minus", "error", "opponents_error"):
            assert getattr(after, key) == pytest.approx(getattr(before, key) * ratio)
        assert replace(after, plus=0, minus=0, error=0, opponents_error=0) == replace(
            before, plus=0, minus=0, error=0, opponents_error=0
        )


def test_a_profile_bound_is_where_the_likelihood_has_fallen_so_far() -> None:
    """A perfect anchor and one engine without draws: the bound solves its own likelihood, at every confidence.

    One number was fitted to nine games: the fall is 9/8 of that of a sample without end.
    """
    from math import exp, log

    won, lost, unit = 7, 2, 400 / log(10)

    def height(points: float) -> float:
        share = 1 / (1 + exp(-points / unit))
        return won * log(share) + lost * log(1 - share)

    for percent in (68.0, 90.0, 99.0):
        found = row(at_confidence(rating_list({("A", "B"): (won, 0, lost)}, anchors={"B": 0.0}), percent), "A")
        assert FEW in found.remarks
        assert found.plus is not None and found.minus is not None
        assert found.error == pytest.approx((found.plus + found.minus) / 2)
        for end in (found.rating + found.plus, found.rating - found.minus):
            assert height(found.rating) - height(end) == pytest.approx(9 / 8 * quantile(percent) ** 2 / 2, rel=1e-6)


@pytest.mark.parametrize("counts", [FEWER, CLEAN])
def test_more_confidence_is_never_narrower(counts: dict[tuple[str, str], tuple[int, int, int]]) -> None:
    """Profile bounds too; where there is no end any more the row says so."""
    found = rating_list(counts)
    last = {each.name: (0.0, 0.0) for each in found.rows}
    for percent in (50.0, 80.0, 95.0, 99.0, 99.9):
        for each in at_confidence(found, percent).rows:
            if each.plus is None or each.minus is None:
                assert TOO_FEW in each.remarks
                continue
            assert each.plus > last[each.name][0] and each.minus > last[each.name][1]
            last[each.name] = each.plus, each.minus


def test_the_opponents_error_is_ordos() -> None:
    """The average of the opponents' errors over the games; an anchor has none to add."""
    found = rating_list(MANY, anchors={"B": 0.0})
    a, c = row(found, "A"), row(found, "C")
    assert a.error is not None and c.error is not None
    assert row(found, "B").opponents_error == pytest.approx((a.error + c.error) / 2)
    assert a.opponents_error == pytest.approx(c.error / 2)
    assert row(found, "B").error is None


def test_large_pools_have_the_same_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """One solution of the equations for each number asked gives what the square arrays give, opening pairs included."""
    both = MANY | {("B", "A"): (15, 40, 30)}
    openings = {("A", "B"): (1, 5, 15, 14, 5)}
    wide = at_confidence(rating_list(both, openings=openings), 99)
    monkeypatch.setattr(ratinglist, "DENSE_ERRORS", 1)
    asked = at_confidence(rating_list(both, openings=openings, errors_for={"A", "B"}), 99)
    for name in "AB":
        assert row(asked, name).plus == pytest.approx(row(wide, name).plus)
    assert row(asked, "C").plus is None
    assert row(asked, "A").opponents_error is None
