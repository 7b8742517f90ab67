from dataclasses import replace

import numpy as np
import pytest

from enginetour.ratings.likelihood import ModelName, fit
from enginetour.ratings.models import MODELS, GaussianPrior, Tally
from enginetour.ratings.pairs import Dependence, Vector, opening_pairs
from enginetour.ratings.uncertainty import ErrorsOnRequest, draw_rate, errors_of, moments, surprise_of

EVEN = {("A", "B"): (45, 60, 45), ("B", "A"): (45, 60, 45)}
MODEL_NAMES: tuple[ModelName, ...] = ("logistic", "davidson", "raokupper")


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_equals_need_no_model(model: ModelName) -> None:
    """Pair scores that never vary leave what was believed: 20 pairs of 169, for one of 150 the ratings were fitted."""
    fitted = fit(EVEN, model=model)
    found = surprise_of(fitted, opening_pairs({("A", "B"): (0, 0, 150, 0, 0)}, fitted.names))
    assert found.ratio == pytest.approx(20 / 169, rel=1e-9)
    variance = 2 * 0.6 / 4  # of two games of which 40 % are drawn
    assert found.variance == pytest.approx(150 * variance, rel=1e-6)
    assert found.expected == pytest.approx(149 * variance, rel=1e-6)
    spread = surprise_of(fitted, opening_pairs({("A", "B"): (50, 0, 50, 0, 50)}, fitted.names))
    assert spread.seen == pytest.approx(100, rel=1e-9)


@pytest.mark.parametrize("model", ["davidson", "raokupper"])
def test_moments_are_those_of_the_model(model: ModelName) -> None:
    """Mean and variance of a game by the chances whose likelihood the model climbs."""
    fitted = fit({("A", "B"): (30, 40, 15)}, model=model)
    gap, draw = np.array([0.0, 0.8, -2.5]), float(fitted.at[-1])

    def chances(result: tuple[float, float, float]) -> Vector:
        """Up to a factor that all results share."""
        rows = Tally(*(np.full(3, one) for one in result))
        constant = {"davidson": draw, "raokupper": np.log(np.expm1(2 * draw))}[model] * result[1]
        return np.asarray(np.exp(MODELS[model].row_heights(rows, gap, draw) + constant))

    won, drawn, lost = (chances(result) for result in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    assert won + drawn + lost == pytest.approx(1, rel=1e-12)
    mean, variance = moments(fitted, gap)
    assert mean == pytest.approx(won + drawn / 2, rel=1e-12)
    assert variance == pytest.approx(won + drawn / 4 - mean**2, rel=1e-12)
    assert draw_rate(fitted) == pytest.approx(drawn[0], rel=1e-12)


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_paired_errors_shrink_by_the_ratio(model: ModelName) -> None:
    """Where all games are paired variances of ratings have the ratio; White's advantage has what ratings lack to 2."""
    fitted = fit(EVEN, model=model, advantage="fit")
    alone = errors_of(fitted)
    both = errors_of(replace(fitted, dependence=Dependence(0.64, fitted.pairs.games)))
    assert both.sd == pytest.approx(0.8 * alone.sd, rel=1e-9)
    assert both.difference_sd(0, 1) == pytest.approx(0.8 * alone.difference_sd(0, 1), rel=1e-9)
    assert alone.advantage_sd is not None
    assert both.advantage_sd == pytest.approx(alone.advantage_sd * (2 - 0.64) ** 0.5, rel=1e-9)
    half = errors_of(replace(fitted, dependence=Dependence(0.64, fitted.pairs.games / 2)))
    assert half.sd == pytest.approx(0.82**0.5 * alone.sd, rel=1e-9)


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_paired_errors_on_request(model: ModelName) -> None:
    """Asked for one by one they are the same."""
    counts = {**EVEN, ("B", "C"): (10, 5, 20), ("C", "B"): (20, 5, 10), ("C", "A"): (7, 8, 9)}
    fitted = fit(counts, model=model, advantage="fit")
    paired = opening_pairs({("A", "B"): (5, 20, 70, 20, 5), ("B", "C"): (1, 3, 20, 3, 3)}, fitted.names)
    whole = replace(fitted, dependence=Dependence(surprise_of(fitted, paired).ratio, paired.in_rows(fitted.pairs)))
    all_, asked = errors_of(whole), ErrorsOnRequest(whole)
    assert [asked.sd_of(place) for place in range(3)] == pytest.approx(all_.sd, rel=1e-9)
    assert asked.los(0, 2) == pytest.approx(all_.los(0, 2), rel=1e-9)
    assert asked.advantage_sd == pytest.approx(all_.advantage_sd, rel=1e-9)
    assert ErrorsOnRequest(fit(counts, model=model)).advantage_sd is None
    assert all_.sd[0] < 0.99 * errors_of(fitted).sd[0]


def test_no_ratio_makes_a_variance_negative() -> None:
    """Pairs far apart from what was expected of them widen the advantage's error too, it never turns imaginary."""
    counts = {("A", "B"): (0, 0, 1), ("A", "C"): (0, 0, 30), ("A", "D"): (0, 1, 0), ("C", "A"): (0, 0, 30)}
    fitted = fit(counts, prior=GaussianPrior(), advantage="fit")
    wide = errors_of(replace(fitted, dependence=Dependence(4.0, np.array([0.0, 30, 0, 30]))))
    alone = errors_of(fitted).advantage_sd
    assert alone is not None
    assert wide.advantage_sd is not None
    assert wide.advantage_sd > alone
