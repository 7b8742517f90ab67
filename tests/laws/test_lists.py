"""Laws of rating lists: all numbers are finite, and every rating without a maximum is marked."""

import json
from math import isfinite
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from enginetour.ratings.likelihood import ModelName
from enginetour.ratings.priors import GaussianPrior, PhantomDraws, VirtualDraws
from enginetour.ratings.ratinglist import RatingList, rating_list

NAMES = "ABCDEF"
LAW = settings(max_examples=60, deadline=None)

meetings = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda pair: pair[0] != pair[1])
tallies = st.tuples(*[st.sampled_from([0, 0, 1, 2, 30, 1000])] * 3).filter(any)
tables = st.dictionaries(meetings, tallies, min_size=1, max_size=12)
models: st.SearchStrategy[ModelName] = st.sampled_from(["logistic", "davidson", "raokupper"])
priors = st.sampled_from(
    ["auto", "none", GaussianPrior(350.0), GaussianPrior(50.0, 100.0), PhantomDraws(0.5), VirtualDraws()]
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    """Yield counts and settings of lists; the game pairs are some of the games played with both colors."""
    counts = draw(tables)
    met = sorted({name for pair in counts for name in pair})
    anchors = draw(st.dictionaries(st.sampled_from(met), st.sampled_from([0.0, 150.0]), max_size=2))
    openings = {}
    for one, other in counts:
        if one < other and (other, one) in counts:
            room = min(sum(counts[one, other]), sum(counts[other, one]))
            openings[one, other] = (*([0] * 4), room) if draw(st.booleans()) else (0, 0, room // 2, 0, 0)
    terms = {
        "model": draw(models),
        "prior": draw(priors),
        "anchors": anchors,
        "advantage": draw(st.sampled_from([0.0, 40.0, "fit"])),
        "openings": openings,
    }
    return counts, terms


def listed(counts: Any, terms: dict[str, Any]) -> RatingList:
    return rating_list(counts, **terms)


def two_pools(draws: int, wins: int) -> tuple[Any, dict[str, Any]]:
    """Return a case in which only the second pool has draws, and few of them."""
    counts = {("A", "B"): (0, 0, 1), ("A", "C"): (0, 0, 30 * wins), ("D", "E"): (1, draws, wins)}
    anchors = {"A": 0.0, "C": 0.0}
    return counts, {"model": "raokupper", "prior": "auto", "anchors": anchors, "advantage": 0.0, "openings": {}}


@example(case=two_pools(1, 1))
@example(case=two_pools(2, 1000))
@given(case=cases())
@LAW
def test_numbers_are_numbers(case: tuple[Any, dict[str, Any]]) -> None:
    """All fields are finite, errors are positive, likelihoods are between 0 and 1, and anchors keep their values."""
    made = listed(*case)
    json.dumps(made.to_json(), allow_nan=False)
    for row in made.rows:
        for error in (row.plus, row.minus):
            assert error is None or error > 0
        assert row.los is None or 0 <= row.los <= 1
        assert isfinite(row.rating)
        if row.name in case[1]["anchors"]:
            assert row.rating == case[1]["anchors"][row.name]
    assert made.residual <= 1e-8


@given(case=cases())
@LAW
def test_nothing_is_rated_in_silence(case: tuple[Any, dict[str, Any]]) -> None:
    """An engine with a perfect or zero score is an anchor or is marked, and every engine is listed once."""
    made = listed(*case)
    for row in made.rows:
        if row.score in (0, 1):
            assert any(remark == "anchor" or "depends on" in remark for remark in row.remarks), row
        if row.plus is None:
            assert row.remarks
    there = [row.name for row in made.rows] + [engine.name for engine in made.unrated]
    assert sorted(there) == sorted({name for pair in case[0] for name in pair})


@given(case=cases(), data=st.data())
@LAW
def test_names_and_order_do_not_matter(case: tuple[Any, dict[str, Any]], data: st.DataObject) -> None:
    """The order of games changes no bit, and names change nothing else."""
    counts, terms = case
    made = listed(counts, terms)
    shuffled = dict(data.draw(st.permutations(list(counts.items()))))
    turned = {(other, one): row[::-1] for (one, other), row in reversed(terms["openings"].items())}
    assert listed(shuffled, {**terms, "openings": turned}).to_json() == made.to_json()
    new = dict(zip(NAMES, data.draw(st.permutations(NAMES)), strict=True))
    moved = {(new[white], new[black]): tally for (white, black), tally in counts.items()}
    anchors = {new[name]: rating for name, rating in terms["anchors"].items()}
    openings = {(new[one], new[other]): row for (one, other), row in terms["openings"].items()}
    again = {row.name: row for row in listed(moved, {**terms, "anchors": anchors, "openings": openings}).rows}
    for row in made.rows:
        assert again[new[row.name]].rating == pytest.approx(row.rating, abs=1e-5)
        assert (again[new[row.name]].plus or 0) == pytest.approx(row.plus or 0, rel=1e-5, abs=1e-5)
