"""Tests of ratings/models."""

from math import exp, inf, log

import numpy as np
import pytest

from enginetour.ratings.likelihood import Fit, ModelName, NoMaximum, fit
from enginetour.ratings.models import MODELS, ResultColumns, logistic, softplus
from enginetour.ratings.pairs import Counts
from enginetour.ratings.ratinglist import rating_list

MATCH = {("A", "B"): (30, 40, 15)}
ROWS = ResultColumns(np.array([30.0, 4.0, 0.0]), np.array([40.0, 0.0, 3.0]), np.array([15.0, 9.0, 1.0]))
GAPS = np.array([0.7, -1.3, 3.1])
DRAW = {"logistic": 0.0, "davidson": log(1.4), "raokupper": 0.6}
ALL = pytest.mark.parametrize("name", sorted(MODELS))


def gap(fitted: Fit) -> float:
    return float(fitted.ratings[0] - fitted.ratings[1])


def test_davidson_match() -> None:
    """A match in the Davidson model has a closed form: 400 log10(30/15), nu 40/sqrt(450), 61.978298 as Elo."""
    fitted = fit(MATCH, model="davidson")
    assert gap(fitted) == pytest.approx(120.411998, abs=1e-6)
    assert fitted.draw == pytest.approx(40 / 450**0.5, rel=1e-9)
    assert fitted.draw == pytest.approx(1.885618, abs=5e-7)
    assert gap(fitted) * fitted.point == pytest.approx(61.978298, abs=1e-6)


def test_rao_kupper_match() -> None:
    """A match in the Rao-Kupper model has a closed form, with drawElo and scale as in BayesElo."""
    fitted = fit(MATCH, model="raokupper")
    closed = (log(30 / 55) - log(15 / 70)) / 2 * 400 / log(10)
    assert gap(fitted) == pytest.approx(closed, rel=1e-9)
    assert gap(fitted) == pytest.approx(81.153069, abs=1e-6)
    assert fitted.draw == pytest.approx(186.449643, abs=1e-6)
    assert fitted.point == pytest.approx(0.759464, abs=5e-7)
    assert gap(fitted) * fitted.point == pytest.approx(61.632865, abs=1e-6)


def test_logistic_points_are_elo_points() -> None:
    """The logistic model rejects a draw parameter."""
    fitted = fit(MATCH)
    assert (fitted.draw, fitted.point, fitted.draw_fitted) == (None, 1.0, False)
    with pytest.raises(ValueError, match="does not have a draw parameter"):
        fit(MATCH, draw=97.3)


@pytest.mark.parametrize(("model", "draw"), [("davidson", 0.5), ("raokupper", 97.3)])
def test_a_given_draw_parameter_stays(model: ModelName, draw: float) -> None:
    """A given draw parameter is kept and changes the ratings."""
    fitted = fit(MATCH, model=model, draw=draw)
    assert fitted.draw == pytest.approx(draw, rel=1e-12)
    assert not fitted.draw_fitted
    if model == "raokupper":
        assert abs(gap(fitted) - 81.153069) > 0.1
    with pytest.raises(ValueError, match="draw parameter"):
        fit(MATCH, model=model, draw=inf)


@pytest.mark.parametrize("model", ["davidson", "raokupper"])
def test_without_draws_all_models_agree(model: ModelName) -> None:
    """Without draws all models agree with Bradley and Terry's, and points are Elo points."""
    counts = {("A", "B"): (50, 0, 35), ("B", "C"): (3, 0, 9), ("C", "A"): (5, 0, 5)}
    fitted = fit(counts, model=model)
    assert (fitted.draw, fitted.point, fitted.draw_fitted) == (0.0, 1.0, False)
    assert fitted.ratings == pytest.approx(fit(counts).ratings, abs=1e-7)


@pytest.mark.parametrize("model", ["davidson", "raokupper"])
def test_nothing_but_draws(model: ModelName) -> None:
    """With only draws a win and a loss are added: the parameter is finite, and the engines are equal."""
    fitted = fit({("A", "B"): (0, 98, 0)}, model=model)
    assert fitted.ratings == pytest.approx([0, 0], abs=1e-9)
    natural = float(fitted.at[-1])
    rate = exp(natural) / (2 + exp(natural)) if model == "davidson" else np.tanh(natural / 2)
    assert rate == pytest.approx(0.98, abs=1e-9)


@pytest.mark.parametrize("model", ["davidson", "raokupper"])
@pytest.mark.parametrize(
    "counts", [{("A", "B"): (0, 1, 1)}, {("A", "B"): (0, 4, 6)}, {("A", "B"): (3, 1, 0), ("B", "C"): (2, 5, 0)}]
)
def test_gaps_and_draws_that_grow_together(model: ModelName, counts: Counts) -> None:
    """If gaps and draw parameter could grow without limit, a win and a loss are added."""
    fitted = fit(counts, model=model)
    assert fitted.problem.imagined
    assert np.abs(fitted.ratings).max() < 1500
    assert fitted.residual <= 1e-8
    assert not fit(MATCH, model=model).problem.imagined
    assert "are added" in rating_list(counts, model=model).caption[0]


@pytest.mark.parametrize("model", ["davidson", "raokupper"])
def test_white_and_draws_together(model: ModelName) -> None:
    """A model recovers ratings, White's advantage and draw parameter from games that it generated."""
    true, white = {"A": 120.0, "B": -40.0, "C": -80.0}, 25.0
    parameter, unit = DRAW[model], 400 / log(10)
    counts = {}
    for one in true:
        for other in set(true) - {one}:
            x = (true[one] - true[other] + white) / unit
            if model == "davidson":
                shares = np.exp([x / 2, parameter, -x / 2])
                won, drawn, lost = shares / shares.sum()
            else:
                won, lost = 1 / (1 + exp(parameter - x)), 1 / (1 + exp(parameter + x))
                drawn = 1 - won - lost
            counts[one, other] = (1e6 * won, 1e6 * drawn, 1e6 * lost)
    fitted = fit(counts, model=model, advantage="fit")
    assert fitted.by_name() == pytest.approx(true, abs=1e-6)
    assert fitted.advantage == pytest.approx(white, abs=1e-6)
    assert fitted.at[-1] == pytest.approx(parameter, abs=1e-9)


@ALL
def test_slopes_are_the_derivatives(name: str) -> None:
    """Scores and curvatures are the first and second derivatives of the likelihood."""
    model, draw, h = MODELS[name], DRAW[name], 1e-5
    slopes = model.slopes(ROWS, GAPS, draw)
    for each in range(3):
        nudge = h * np.eye(3)[each]
        up, down = (model.slopes(ROWS, GAPS + sign * nudge, draw) for sign in (1, -1))
        rise = model.log_likelihood(ROWS, GAPS + nudge, draw) - model.log_likelihood(ROWS, GAPS - nudge, draw)
        assert slopes.score[each] == pytest.approx(rise / (2 * h), abs=1e-6)
        assert slopes.curve[each] == pytest.approx((down.score[each] - up.score[each]) / (2 * h), abs=1e-6)
        assert slopes.cross[each] == pytest.approx((down.draw_score - up.draw_score) / (2 * h), abs=1e-6)
    up, down = (model.slopes(ROWS, GAPS, draw + sign * h) for sign in (1, -1))
    rise = model.log_likelihood(ROWS, GAPS, draw + h) - model.log_likelihood(ROWS, GAPS, draw - h)
    assert slopes.draw_score == pytest.approx(rise / (2 * h), abs=1e-6)
    assert slopes.draw_curve == pytest.approx((down.draw_score - up.draw_score) / (2 * h), abs=1e-6)


@ALL
def test_row_heights_are_the_height_in_the_gap(name: str) -> None:
    """The likelihood of rows differs from the total only by a term that is independent of the gap."""
    model, draw = MODELS[name], DRAW[name]
    rows = model.row_log_likelihoods(ROWS, GAPS, draw).sum() - model.row_log_likelihoods(ROWS, GAPS / 2, draw).sum()
    whole = model.log_likelihood(ROWS, GAPS, draw) - model.log_likelihood(ROWS, GAPS / 2, draw)
    assert rows == pytest.approx(whole, rel=1e-12)


@ALL
def test_far_out_nothing_overflows(name: str) -> None:
    """Gaps of thousands of natural units give finite, symmetric values."""
    model, draw = MODELS[name], DRAW[name]
    far = np.array([3000.0, -3000.0, 900.0])
    slopes = model.slopes(ROWS, far, draw)
    assert np.isfinite(model.log_likelihood(ROWS, far, draw))
    assert np.isfinite([slopes.score, slopes.curve, slopes.cross]).all()
    mirrored = model.slopes(ResultColumns(ROWS.losses, ROWS.draws, ROWS.wins), -GAPS, draw)
    assert mirrored.score == pytest.approx(-model.slopes(ROWS, GAPS, draw).score, abs=1e-12)


@ALL
def test_guess_is_the_draw_rate_of_equals(name: str) -> None:
    """With the guessed parameter equals draw at the given rate."""
    model = MODELS[name]
    natural = model.guess(0.4)
    if name == "davidson":
        assert exp(natural) / (2 + exp(natural)) == pytest.approx(0.4)
    elif name == "raokupper":
        assert 1 - 2 / (1 + exp(natural)) == pytest.approx(0.4)
    if model.draws:
        assert model.natural(model.published(natural, 100.0), 100.0) == pytest.approx(natural)


def test_logistic_curve_and_its_integral() -> None:
    """The logistic function and softplus are correct where a plain exponential would overflow."""
    assert logistic(np.array([0.0, 800.0, -800.0])) == pytest.approx([0.5, 1, 0], abs=1e-12)
    assert softplus(np.array([0.0, 800.0, -800.0])) == pytest.approx([log(2), 800, 0], abs=1e-12)


@pytest.mark.parametrize(
    "counts",
    [
        {("A", "B"): (7, 9, 0), ("B", "A"): (4, 0, 0)},
        {("B", "A"): (15, 0, 105), ("A", "B"): (129, 0, 0)},
        {("B", "A"): (0, 0, 1), ("C", "B"): (0, 0, 1), ("A", "C"): (89, 0, 129)},
    ],
)
@pytest.mark.parametrize("model", ["logistic", "davidson", "raokupper"])
def test_an_advantage_without_bound_is_not_believed(counts: Counts, model: ModelName) -> None:
    """If an engine lost nothing as White, White's advantage is unlimited and raises an error."""
    with pytest.raises(NoMaximum):
        fit(counts, model=model, advantage="fit")
    made = rating_list(counts, model=model, advantage="fit")
    assert made.white_advantage == 0
    assert all(row.plus is None or 0 < row.plus < 3000 for row in made.rows)
