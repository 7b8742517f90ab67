"""Tests of ratings/uncertainty."""

from dataclasses import replace
from math import isfinite, log10
from random import Random

import numpy as np
import pytest

from enginetour.ratings.likelihood import Fit, ModelName, fit
from enginetour.ratings.models import MODELS, ResultColumns
from enginetour.ratings.pairs import Counts, OpeningDependence, Vector, opening_pairs
from enginetour.ratings.pentanomial import NORMAL_95
from enginetour.ratings.priors import GaussianPrior, VirtualDraws
from enginetour.ratings.ratinglist import rating_list
from enginetour.ratings.uncertainty import ErrorsOnRequest, draw_rate, errors_of, moments, pair_score_spread

MATCH = {("A", "B"): (30, 40, 15)}


def test_match() -> None:
    """The example match has errors of 27.455981 (difference) and 13.727991, and LOS 0.987988."""
    errors = errors_of(fit(MATCH))
    assert errors.difference_sd(0, 1) == pytest.approx(27.455981, abs=1e-6)
    assert errors.sd == pytest.approx([13.727991, 13.727991], abs=1e-6)
    assert errors.los(0, 1) == pytest.approx(0.987988, abs=5e-7)
    assert errors.los(1, 0) == pytest.approx(1 - errors.los(0, 1), abs=1e-12)


def test_without_draws_nothing_narrows() -> None:
    """Without draws the sandwich is the inverse curvature: 38.285537 for this score in 85 games."""
    errors = errors_of(fit({("A", "B"): (50, 0, 35)}))
    assert errors.difference_sd(0, 1) == pytest.approx(38.285537, abs=1e-6)
    assert errors.draw_rate == 0


def test_against_the_anchor() -> None:
    """An anchor has no error, so the other engine has the error of the difference."""
    errors = errors_of(fit(MATCH, anchors={"A": 3000}))
    assert errors.sd == pytest.approx([0, 27.455981], abs=1e-6)
    assert errors.los(0, 1) == pytest.approx(0.987988, abs=5e-7)


def test_between_anchors_all_is_certain() -> None:
    """Between anchors differences are certain."""
    errors = errors_of(fit(MATCH, anchors={"A": 3000, "B": 2900}))
    assert (errors.los(0, 1), errors.los(1, 0)) == (1, 0)


def test_chain_errors_add_up() -> None:
    """Along a chain the variances of the links add up."""
    counts = {(f"v{number:02}", f"v{number + 1:02}"): (70, 60, 70) for number in range(30)}
    errors = errors_of(fit(counts))
    link = errors_of(fit({("A", "B"): (70, 60, 70)})).difference_sd(0, 1)
    assert errors.difference_sd(0, 30) == pytest.approx(link * 30**0.5, rel=1e-6)


def test_a_prior_alone() -> None:
    """An engine without games has the error of its prior, relative to a fixed level."""
    prior = GaussianPrior(150.0, 0.0)
    errors = errors_of(fit({("A", "B"): (0, 2, 0)}, prior=prior, names=("Z",), anchors={"A": 0.0}))
    assert errors.sd[2] == pytest.approx(150, abs=1e-9)


def test_advantage_has_an_error() -> None:
    """Only a fitted advantage has an error: half the errors of the matches with both colors."""
    counts = {("A", "B"): (40, 30, 30), ("B", "A"): (40, 30, 30)}
    errors = errors_of(fit(counts, advantage="fit"))
    assert errors.advantage_sd == pytest.approx(errors.difference_sd(0, 1), rel=1e-9)
    assert errors_of(fit(counts)).advantage_sd is None


def test_draws_only() -> None:
    """A match of only draws has an error."""
    errors = errors_of(fit({("A", "B"): (0, 100, 0)}))
    assert 1 < errors.sd[0] < errors_of(fit({("A", "B"): (5, 90, 5)})).sd[0]


def test_fitted_draw_rate_explains_the_draws() -> None:
    """With the fitted draw rate of equals, the expected number of draws is the actual one."""
    counts = {("A", "B"): (50, 30, 20), ("B", "C"): (60, 35, 5), ("C", "A"): (2, 8, 90)}
    fitted = fit(counts)
    rate = errors_of(fitted).draw_rate
    names, total = fitted.by_name(), 0.0
    for white, black in counts:
        even = (share := 1 / (1 + 10 ** ((names[black] - names[white]) / 400))) * (1 - share)
        total += 100 * 4 * even / (1 + (1 + 4 * (1 - 2 * rate) / rate**2 * even) ** 0.5)
    assert total == pytest.approx(73, abs=1e-6)


def test_bounds_of_a_match_without_draws() -> None:
    """Two engines with 9 wins and a loss have the profile-likelihood interval of a binomial share."""
    fitted = fit({("A", "B"): (9, 0, 1)})
    down, up = errors_of(fitted).bounds(0) or (0, 0)
    top = 9 * log10(0.9) + log10(0.1)
    for end in (fitted.ratings[0] - down, fitted.ratings[0] + up):
        share = 1 / (1 + 10 ** (-2 * end / 400))
        fall = np.log(10) * (top - 9 * log10(share) - log10(1 - share))
        assert fall == pytest.approx(NORMAL_95**2 / 2, abs=1e-6)
    assert up > down


def test_bounds_come_near_the_errors_in_long_matches() -> None:
    """With many games profile-likelihood intervals equal the normal ones."""
    errors = errors_of(fit({("A", "B"): (3000, 4000, 2800)}))
    assert errors.bounds(0) == pytest.approx([NORMAL_95 * errors.sd[0]] * 2, rel=1e-3)


def height(fitted: Fit, counts: Counts, sd: float) -> float:
    """Return the log likelihood and log prior of a fit, from the definition."""
    names, sum_ = fitted.by_name(), 0.0
    for (white, black), (won, drawn, lost) in counts.items():
        share = 1 / (1 + 10 ** ((names[black] - names[white]) / 400))
        sum_ += (won + drawn / 2) * np.log(share) + (lost + drawn / 2) * np.log(1 - share)
    return float(sum_ - sum(rating**2 for rating in names.values()) / (2 * sd**2))


def test_bounds_in_a_small_pool() -> None:
    """At the end of an interval the best fit of the others has lost 1.92 of log likelihood, to two percent."""
    rng = Random(2)
    names = "ABCDE"
    counts = {
        (one, other): (rng.randint(0, 2), 0, rng.randint(1, 2))
        for i, one in enumerate(names)
        for other in names[i + 1 :]
    }
    prior = GaussianPrior(350.0, 0.0)
    fitted = fit(counts, prior=prior, anchors={"A": 0.0})
    down, up = errors_of(fitted).bounds(2) or (0, 0)
    for distance in (-down, up):
        falls = [
            height(fitted, counts, 350)
            - height(
                fit(counts, prior=prior, anchors={"A": 0.0, "C": fitted.ratings[2] + distance * part}), counts, 350
            )
            for part in (0.98, 1.02)
        ]
        assert falls[0] < NORMAL_95**2 / 2 < falls[1]


def test_unbeaten_bounds_are_lopsided() -> None:
    """The interval of ten wins in ten games is asymmetric."""
    errors = errors_of(fit({("A", "B"): (10, 0, 0)}, prior=GaussianPrior(350.0)))
    down, up = errors.bounds(0) or (0, 0)
    assert up > down > 100


@pytest.mark.parametrize("model", ["davidson", "raokupper"])
def test_models_with_draws_invert_their_curvature(model: ModelName) -> None:
    """Errors of models with draws have a closed form by the delta method."""
    errors = errors_of(fit(MATCH, model=model))
    unit, won, drawn, lost = 400 / np.log(10), 30, 40, 15
    if model == "davidson":
        exact = unit * (1 / won + 1 / lost) ** 0.5
    else:
        up, down = 1 / (won + drawn) + 1 / lost, 1 / (lost + drawn) + 1 / won  # variances of the logits of L and W
        shared = 1 / won / lost * 85 / ((won + drawn) / won * (lost + drawn) / lost)  # minus their covariance
        exact = unit * (up + down + 2 * shared) ** 0.5 / 2
    assert errors.difference_sd(0, 1) == pytest.approx(exact, rel=1e-9)
    assert errors.sd == pytest.approx([exact / 2] * 2, rel=1e-9)


@pytest.mark.parametrize("model", ["davidson", "raokupper"])
def test_expected_draws_between_equals(model: ModelName) -> None:
    """The reported draw rate is the model's between equals, which is the actual one for games of equals."""
    assert errors_of(fit({("A", "B"): (30, 40, 30)}, model=model)).draw_rate == pytest.approx(0.4, abs=1e-9)


@pytest.mark.parametrize("model", ["davidson", "raokupper"])
def test_bounds_of_models_with_draws(model: ModelName) -> None:
    """At the end of an interval the likelihood has fallen by 1.92; intervals of long matches are normal."""
    made = fit({("A", "B"): (6, 3, 2)}, model=model)
    errors = errors_of(made)
    drop = NORMAL_95**2 / 2 * errors.covariance[0, 0] / errors.inverse[0, 0]
    down, up = errors.bounds(0) or (0, 0)
    for end in (-down, up):
        at = made.at + np.array([end, -end, 0, 0]) / made.unit
        assert made.problem.log_likelihood(made.at) - made.problem.log_likelihood(at) == pytest.approx(drop, abs=1e-6)
    assert up > down
    many = errors_of(fit({("A", "B"): (3000, 4000, 2800)}, model=model))
    assert many.bounds(0) == pytest.approx([NORMAL_95 * many.sd[0]] * 2, rel=1e-3)


@pytest.mark.parametrize("model", ["logistic", "davidson", "raokupper"])
def test_bounds_far_out_come_back(model: ModelName) -> None:
    """If the search goes too far it returns, with an interval or None."""
    counts = {("E", "C"): (15, 56, 58), ("D", "A"): (100, 0, 0), ("C", "A"): (1, 0, 0)}
    made = rating_list(counts, model=model, prior=VirtualDraws(2.0), advantage=30.0)
    told = {row.name: (row.plus, row.remarks[-1:]) for row in made.rows}
    assert {name for name, (plus, _) in told.items() if plus is None} == {"A"}  # one lost game holds it
    assert told["A"][1] == ("too few games",)
    assert all(isfinite(plus) and plus > 10 for plus, _ in told.values() if plus is not None)


def test_draws_alone_are_not_certain() -> None:
    """An engine with only a few draws has an interval, even if White's advantage is fitted."""
    counts = {("D", "C"): (0, 2, 0), ("C", "E"): (0, 1, 1), ("E", "D"): (0, 1, 0)}
    for row in rating_list(counts, advantage="fit").rows:
        assert (row.plus or 0) > 50


EVEN = {("A", "B"): (45, 60, 45), ("B", "A"): (45, 60, 45)}
MODEL_NAMES: tuple[ModelName, ...] = ("logistic", "davidson", "raokupper")


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_equals_need_no_model(model: ModelName) -> None:
    """Pair scores that never vary give the ratio of the prior pairs alone."""
    fitted = fit(EVEN, model=model)
    found = pair_score_spread(fitted, opening_pairs({("A", "B"): (0, 0, 150, 0, 0)}, fitted.names))
    assert found.ratio == pytest.approx(20 / 169, rel=1e-9)
    variance = 2 * 0.6 / 4  # two games with 40 % draws
    assert found.variance == pytest.approx(150 * variance, rel=1e-6)
    assert found.expected == pytest.approx(149 * variance, rel=1e-6)
    spread = pair_score_spread(fitted, opening_pairs({("A", "B"): (50, 0, 50, 0, 50)}, fitted.names))
    assert spread.seen == pytest.approx(100, rel=1e-9)


@pytest.mark.parametrize("model", ["davidson", "raokupper"])
def test_moments_are_those_of_the_model(model: ModelName) -> None:
    """Mean and variance of a game agree with the probabilities of the model."""
    fitted = fit({("A", "B"): (30, 40, 15)}, model=model)
    gap, draw = np.array([0.0, 0.8, -2.5]), float(fitted.at[-1])

    def chances(result: tuple[float, float, float]) -> Vector:
        """Return the probability up to a factor that all results share."""
        rows = ResultColumns(*(np.full(3, one) for one in result))
        constant = {"davidson": draw, "raokupper": np.log(np.expm1(2 * draw))}[model] * result[1]
        return np.asarray(np.exp(MODELS[model].row_log_likelihoods(rows, gap, draw) + constant))

    won, drawn, lost = (chances(result) for result in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    assert won + drawn + lost == pytest.approx(1, rel=1e-12)
    mean, variance = moments(fitted, gap)
    assert mean == pytest.approx(won + drawn / 2, rel=1e-12)
    assert variance == pytest.approx(won + drawn / 4 - mean**2, rel=1e-12)
    assert draw_rate(fitted) == pytest.approx(drawn[0], rel=1e-12)


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_paired_errors_shrink_by_the_ratio(model: ModelName) -> None:
    """If all games are paired, variances of ratings have the ratio, and that of White's advantage 2 minus the ratio."""
    fitted = fit(EVEN, model=model, advantage="fit")
    alone = errors_of(fitted)
    both = errors_of(replace(fitted, dependence=OpeningDependence(0.64, fitted.pairs.games)))
    assert both.sd == pytest.approx(0.8 * alone.sd, rel=1e-9)
    assert both.difference_sd(0, 1) == pytest.approx(0.8 * alone.difference_sd(0, 1), rel=1e-9)
    assert alone.advantage_sd is not None
    assert both.advantage_sd == pytest.approx(alone.advantage_sd * (2 - 0.64) ** 0.5, rel=1e-9)
    half = errors_of(replace(fitted, dependence=OpeningDependence(0.64, fitted.pairs.games / 2)))
    assert half.sd == pytest.approx(0.82**0.5 * alone.sd, rel=1e-9)


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_paired_errors_on_request(model: ModelName) -> None:
    """Errors computed one by one equal those from square arrays."""
    counts = {**EVEN, ("B", "C"): (10, 5, 20), ("C", "B"): (20, 5, 10), ("C", "A"): (7, 8, 9)}
    fitted = fit(counts, model=model, advantage="fit")
    paired = opening_pairs({("A", "B"): (5, 20, 70, 20, 5), ("B", "C"): (1, 3, 20, 3, 3)}, fitted.names)
    whole = replace(
        fitted, dependence=OpeningDependence(pair_score_spread(fitted, paired).ratio, paired.in_rows(fitted.pairs))
    )
    all_, asked = errors_of(whole), ErrorsOnRequest(whole)
    assert [asked.sd_of(place) for place in range(3)] == pytest.approx(all_.sd, rel=1e-9)
    assert asked.los(0, 2) == pytest.approx(all_.los(0, 2), rel=1e-9)
    assert asked.advantage_sd == pytest.approx(all_.advantage_sd, rel=1e-9)
    assert ErrorsOnRequest(fit(counts, model=model)).advantage_sd is None
    assert all_.sd[0] < 0.99 * errors_of(fitted).sd[0]


def test_no_ratio_makes_a_variance_negative() -> None:
    """Pair scores far from their expectation increase the advantage's error and never make it negative."""
    counts = {("A", "B"): (0, 0, 1), ("A", "C"): (0, 0, 30), ("A", "D"): (0, 1, 0), ("C", "A"): (0, 0, 30)}
    fitted = fit(counts, prior=GaussianPrior(), advantage="fit")
    wide = errors_of(replace(fitted, dependence=OpeningDependence(4.0, np.array([0.0, 30, 0, 30]))))
    alone = errors_of(fitted).advantage_sd
    assert alone is not None
    assert wide.advantage_sd is not None
    assert wide.advantage_sd > alone
