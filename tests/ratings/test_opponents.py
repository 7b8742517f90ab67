"""Tests of ratings/opponents."""

from __future__ import annotations

from math import exp, log
from typing import Any

import pytest

from enginetour.ratings.likelihood import ModelName
from enginetour.ratings.opponents import opponent_diversity, opponents_of
from enginetour.ratings.pairs import Counts, pairs_of
from enginetour.ratings.ratinglist import fit_bases, rating_list

FIELD = {("A", "B"): (30, 40, 15), ("B", "A"): (9, 30, 20), ("B", "C"): (20, 40, 25), ("C", "A"): (3, 2, 5)}


def against(counts: Counts, name: str, opponent: str, **terms: Any) -> Any:
    found = rating_list(counts, **terms)
    pairs = pairs_of(counts)
    met = dict(opponents_of(pairs, list(fit_bases(found.rows).values())))
    return next(each for each in met[name] if each.opponent == opponent)


def test_diversity_is_the_number_of_opponents_met_equally_often() -> None:
    """Both colors are one opponent; diversity is the number of opponents with equal shares, otherwise less."""
    opponents, diversity = opponent_diversity(
        pairs_of({("A", "B"): (1, 0, 4), ("B", "A"): (0, 5, 0), ("A", "C"): (10, 0, 0)})
    )
    assert opponents.tolist() == [2, 1, 1]
    assert diversity == pytest.approx([2, 1, 1])
    uneven = opponent_diversity(pairs_of({("A", "B"): (9, 0, 0), ("A", "C"): (1, 0, 0)}))[1]
    assert uneven[0] == pytest.approx(exp(-0.9 * log(0.9) - 0.1 * log(0.1)))


def test_a_pairing_is_told_from_its_own_side() -> None:
    """A matchup adds both colors; gap, error and LOS are those of the list."""
    found = {row.name: row for row in rating_list(FIELD).rows}
    one, other = against(FIELD, "A", "B"), against(FIELD, "B", "A")
    assert (one.games, one.wins, one.draws, one.losses) == (144, 50, 70, 24)
    assert (other.wins, other.losses) == (24, 50)
    assert one.gap == pytest.approx(found["A"].rating - found["B"].rating)
    assert one.gap == pytest.approx(-other.gap)
    assert one.sd == pytest.approx(other.sd)
    assert one.los + other.los == pytest.approx(1)
    assert one.expected + other.expected == pytest.approx(1)
    assert one.performance == pytest.approx(found["B"].rating + 400 * log(one.score / (1 - one.score)) / log(10))


@pytest.mark.parametrize("model", ["logistic", "davidson"])
def test_expectations_add_up_to_the_points(model: ModelName) -> None:
    """The expected points of each engine add up to its points, also with a fitted White advantage."""
    found = rating_list(FIELD, model=model, advantage="fit")
    for name, met in opponents_of(pairs_of(FIELD), list(fit_bases(found.rows).values())):
        row = next(row for row in found.rows if row.name == name)
        expected = sum(each.games * (each.expected or 0.0) for each in met)
        assert expected == pytest.approx(row.games * row.score, abs=1e-6)


def test_expectation_with_bayeselos_draws() -> None:
    """The expected score in the Rao-Kupper model includes half of the draws."""
    met = against({("A", "B"): (30, 40, 15)}, "A", "B", model="raokupper")
    gap, draw = (points * log(10) / 400 for points in (81.153069, 186.449643))  # in the model's own points
    win, loss = 1 / (1 + exp(draw - gap)), 1 / (1 + exp(draw + gap))
    assert met.expected == pytest.approx(win + (1 - win - loss) / 2, abs=1e-8)


def test_engines_rated_apart_have_their_score_only() -> None:
    """Between connected components that are rated separately only the score is given."""
    counts = {("A", "B"): (3, 2, 3), ("C", "D"): (3, 2, 3), ("A", "C"): (2, 0, 0)}
    met = against(counts, "A", "C", prior="none")
    assert (met.games, met.score) == (2, 1.0)
    assert (met.gap, met.sd, met.expected, met.performance, met.los) == (None,) * 5


def test_a_clean_score_has_no_performance_and_anchors_no_error() -> None:
    """Values that cannot be given are None, never infinite or 0."""
    counts = {("A", "B"): (5, 0, 0), ("B", "C"): (3, 2, 3), ("C", "A"): (4, 0, 3)}
    met = against(counts, "A", "B", anchors={"A": 100.0, "B": 50.0})
    assert (met.gap, met.performance, met.sd, met.los) == (50.0, None, None, None)
    assert against(counts, "A", "C", anchors={"A": 100.0, "B": 50.0}).sd > 0
