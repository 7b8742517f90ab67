"""Tests of ratings/likelihood."""

from __future__ import annotations

import json
import math
from functools import cache
from math import inf, log10, nan
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from benches.parity import BAYESELO_PRIOR, ORDO_SCALE, Case, digest
from benches.parity import CASES as ParityCASES
from enginetour.ratings import likelihood
from enginetour.ratings.likelihood import WHOLE, Fit, ModelName, NoMaximum, fit, inverse_of
from enginetour.ratings.pairs import Counts, Pairs, Vector, pairs_of
from enginetour.ratings.priors import GaussianPrior, Prior
from enginetour.ratings.ratinglist import rating_list
from enginetour.ratings.uncertainty import ErrorsOnRequest, errors_of

MATCH = {("A", "B"): (30, 40, 15)}
MIXED = {("A", "B"): (4, 3, 2), ("B", "C"): (2, 2, 5), ("C", "A"): (1, 6, 3), ("B", "A"): (1, 0, 2)}


def gap(fitted: Fit, one: str = "A", other: str = "B") -> float:
    return fitted.by_name()[one] - fitted.by_name()[other]


def test_two_engines() -> None:
    """A match of two engines has the closed form 400 log10(50/35), centered on 0."""
    fitted = fit(MATCH)
    assert gap(fitted) == pytest.approx(400 * log10(50 / 35), rel=1e-9)
    assert gap(fitted) == pytest.approx(61.960784, abs=1e-6)
    assert sum(fitted.ratings) == pytest.approx(0, abs=1e-9)
    assert fitted.residual <= 1e-8


def test_scale() -> None:
    """Another scale changes only the unit."""
    assert gap(fit(MATCH, scale=200)) == pytest.approx(gap(fit(MATCH)) / 2, rel=1e-12)


def test_given_advantage() -> None:
    """A given White advantage reduces White's rating."""
    assert gap(fit(MATCH, advantage=35)) == pytest.approx(gap(fit(MATCH)) - 35, abs=1e-9)


def test_fitted_advantage() -> None:
    """If colors alternate, ratings and White's advantage have a closed form."""
    fitted = fit({("A", "B"): (60, 20, 20), ("B", "A"): (30, 30, 40)}, advantage="fit")
    as_white, as_black = 400 * log10(70 / 30), 400 * log10(55 / 45)
    assert gap(fitted) == pytest.approx((as_white + as_black) / 2, abs=1e-7)
    assert fitted.advantage == pytest.approx((as_white - as_black) / 2, abs=1e-7)


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        (MATCH, "cannot be separated"),
        ({("A", "B"): (1, 0, 0), ("B", "A"): (1, 0, 0)}, "no finite maximum-likelihood value"),
    ],
)
def test_advantage_that_cannot_be_told(counts: Counts, why: str) -> None:
    """An advantage that the games do not determine raises an error."""
    with pytest.raises(NoMaximum, match=why):
        fit(counts, advantage="fit")


def test_chain() -> None:
    """A chain of 300 versions is the sum of its links, to 1e-6."""
    rng = Random(5)
    counts, links = {}, [0.0]
    for number in range(300):
        won, drawn = rng.randint(20, 110), rng.randint(10, 70)
        counts[f"v{number:03}", f"v{number + 1:03}"] = (won, drawn, 200 - won - drawn)
        links.append(links[-1] - 400 * log10((won + drawn / 2) / (200 - won - drawn / 2)))
    fitted = fit(counts)
    exact = np.array(links) - np.mean(links)
    assert float(np.abs(fitted.ratings - exact).max()) <= 1e-6
    assert fitted.residual <= 1e-8


def test_steep_chain() -> None:
    """A chain of 40 links of 920 points is fitted although steps are limited."""
    fitted = fit({(f"v{number:02}", f"v{number + 1:02}"): (199, 0, 1) for number in range(40)})
    assert gap(fitted, "v00", "v40") == pytest.approx(40 * 400 * log10(199), abs=1e-6)


def test_anchor() -> None:
    """An anchor keeps its rating and moves the other ratings."""
    free, held = fit(MIXED).by_name(), fit(MIXED, anchors={"B": 2800}).by_name()
    assert held["B"] == 2800
    for name in free:
        assert held[name] - 2800 == pytest.approx(free[name] - free["B"], abs=1e-7)


def test_several_anchors() -> None:
    """Between two anchors the expected points are the actual points."""
    fitted = fit(MIXED, anchors={"A": 100, "C": 20})
    own = fitted.by_name()["B"]
    hoped = 12 / (1 + 10 ** ((100 - own) / 400)) + 9 / (1 + 10 ** ((20 - own) / 400))
    assert (fitted.by_name()["A"], fitted.by_name()["C"]) == (100, 20)
    assert hoped == pytest.approx((2 + 3 / 2 + 1) + (2 + 1), abs=1e-8)


def test_anchors_link_groups() -> None:
    """Two anchors are connected without games between them."""
    counts = {("A", "B"): (1, 1, 1), ("C", "D"): (1, 1, 1)}
    assert fit(counts, anchors={"A": 0, "C": 500}).by_name() == pytest.approx({"A": 0, "B": 0, "C": 500, "D": 500})


@pytest.mark.parametrize(
    "counts",
    [
        {("A", "B"): (1, 0, 0)},
        {("A", "B"): (1, 1, 1), ("C", "D"): (1, 1, 1)},
        {("A", "B"): (1, 1, 1), ("B", "C"): (1, 0, 0)},
    ],
)
def test_no_finite_maximum(counts: Counts) -> None:
    """Several connected components raise an error without a prior, and are rated with one."""
    with pytest.raises(NoMaximum, match="connected components"):
        fit(counts)
    assert np.isfinite(fit(counts, prior=GaussianPrior()).ratings).all()


def test_prior_on_one_game() -> None:
    """With one win the score deviation equals the gradient of the prior on both sides."""
    fitted = fit({("A", "B"): (1, 0, 0)}, prior=GaussianPrior(350, 0.0))
    own = fitted.by_name()["A"]
    surprise = 1 - 1 / (1 + 10 ** (-2 * own / 400))
    assert surprise == pytest.approx(own / 350**2 * 400 / np.log(10), abs=1e-10)


def test_floating_prior_is_the_centred_one() -> None:
    """A prior around the pool's mean gives the ratings of a prior around 0, at any level."""
    centred, floating = fit(MIXED, prior=GaussianPrior(100, 0.0)), fit(MIXED, prior=GaussianPrior(100))
    assert floating.ratings == pytest.approx(centred.ratings, abs=1e-8)
    held = fit(MIXED, prior=GaussianPrior(100), anchors={"A": 3000.0})
    assert np.ptp(held.ratings) < np.ptp(fit(MIXED).ratings)
    assert abs(held.ratings.mean() - 3000) < 100


def test_loose_anchors() -> None:
    """Of priors by name a narrow one holds, a wide one yields, and none has no effect."""
    prior = GaussianPrior({"A": 1e-3, "C": 1e4}, {"A": 2000.0, "C": 0.0})
    believed, free = fit(MIXED, prior=prior).by_name(), fit(MIXED).by_name()
    assert believed["A"] == pytest.approx(2000, abs=1e-3)
    assert believed["B"] - believed["A"] == pytest.approx(free["B"] - free["A"], abs=0.5)


def test_engines_without_games() -> None:
    """An engine with only a prior gets the prior's mean."""
    prior = GaussianPrior({"A": 50.0, "B": 50.0, "Z": 50.0}, {"A": 0.0, "B": 0.0, "Z": 77.0})
    assert fit(MATCH, prior=prior, names=("Z",)).by_name()["Z"] == pytest.approx(77, abs=1e-9)
    with pytest.raises(NoMaximum):
        fit(MATCH, names=("Z",))


@pytest.mark.parametrize("wrong", [{("A", "A"): (1, 0, 0)}, {("A", "B"): (1, -1, 0)}])
def test_what_cannot_be_counts(wrong: Counts) -> None:
    """Games of an engine against itself and negative counts raise an error."""
    with pytest.raises(ValueError, match="counts"):
        pairs_of(wrong)


def test_numbers_must_be_finite() -> None:
    """Infinite anchors, a zero scale and priors without spread raise an error."""
    with pytest.raises(ValueError, match="finite"):
        fit(MATCH, anchors={"A": inf})
    with pytest.raises(ValueError, match="finite"):
        fit(MATCH, advantage=nan)
    with pytest.raises(ValueError, match="scale"):
        fit(MATCH, scale=0)
    with pytest.raises(ValueError, match="standard deviation above 0"):
        fit(MATCH, prior=GaussianPrior(0))


def test_columns() -> None:
    """Columns hold each engine's record, and a part of them only the games inside it."""
    pairs = pairs_of(MIXED)
    assert [column.tolist() for column in pairs.record] == [[9, 5, 6], [9, 5, 8], [4, 11, 5]]
    assert dict(zip(pairs.names, pairs.played.tolist(), strict=True)) == {"A": 22, "B": 21, "C": 19}
    inner = pairs.within(("A", "B"))
    assert isinstance(inner, Pairs)
    assert (inner.names, inner.played.tolist(), inner.scored.tolist()) == (("A", "B"), [12, 12], [7.5, 4.5])


def test_old_prior_weighs_like_games() -> None:
    """With far more games than prior the effect of the prior vanishes."""
    few = gap(fit(MATCH, prior=GaussianPrior(100)))
    many = gap(fit({("A", "B"): (3000, 4000, 1500)}, prior=GaussianPrior(100)))
    assert few + 4 < many < gap(fit(MATCH)) < many + 1


def test_both_colors_in_one_row() -> None:
    """Folding swaps wins and losses if White is the later name."""
    pairs = fit({("A", "B"): (1, 2, 3), ("B", "A"): (10, 20, 30), ("C", "B"): (0, 1, 4)}).pairs.folded
    rows = np.stack((pairs.white, pairs.black, pairs.wins, pairs.draws, pairs.losses), axis=1).tolist()
    assert rows == [[0, 1, 31, 22, 13], [1, 2, 4, 1, 0]]


COUNTS = {("A", "B"): (5, 3, 2), ("B", "A"): (1, 4, 2), ("B", "C"): (6, 2, 2), ("C", "A"): (1, 3, 5)}


@pytest.mark.parametrize("model", ["logistic", "davidson", "raokupper"])
@pytest.mark.parametrize("counts", [COUNTS, {**COUNTS, ("C", "D"): (1, 0, 1)}, {("A", "B"): (0, 9, 0)}])
def test_the_gradient_is_the_slope_of_the_height(model: ModelName, counts: Counts) -> None:
    """The gradient is the derivative of the likelihood everywhere, also with the added win and loss."""
    drawn = len(counts) == 1
    terms: dict[str, Any] = {} if drawn else {"prior": GaussianPrior(300.0, 0.0), "advantage": "fit"}
    problem = fit(counts, model=model, **terms).problem
    assert problem.imagined == (drawn and model != "logistic")
    at = np.append(np.linspace(-0.4, 0.4, len(problem.pairs.names)), (0.1, 0.7))
    gradient, _ = problem.slopes(at)
    for place in problem.free.tolist():
        off = np.zeros(len(at))
        off[place] = 1e-6
        slope = (problem.log_likelihood(at + off) - problem.log_likelihood(at - off)) / 2e-6
        assert gradient[place] == pytest.approx(slope, abs=1e-6)


def mesh(engines: int = 60, games: int = 1200) -> Counts:
    dice = Random(3)
    counts: dict[tuple[str, str], tuple[int, int, int]] = {}
    for _ in range(games):
        white, black = dice.sample(range(engines), 2)
        pair = (f"v{white:02}", f"v{black:02}")
        place = min(2, int(dice.random() * 2.2 + (white - black) / engines + 0.4)) if dice.random() > 0.1 else 1
        tally = list(counts.get(pair, (0, 0, 0)))
        tally[max(0, place)] += 1
        counts[pair] = (tally[0], tally[1], tally[2])
    return counts


CASES = pytest.mark.parametrize(
    ("model", "prior", "anchors"),
    [
        ("logistic", None, {}),
        ("davidson", None, {"v03": 100.0}),
        ("raokupper", None, {}),
        ("logistic", GaussianPrior(120.0), {"v00": 0.0, "v01": -10.0}),
        ("davidson", GaussianPrior(120.0), {}),
        ("raokupper", GaussianPrior(120.0, 5.0), {}),
    ],
)


def fitted(model: ModelName, prior: Prior | None, anchors: dict[str, float]) -> Fit:
    return fit(mesh(), model=model, prior=prior, anchors=anchors, advantage="fit")


@CASES
def test_products_are_those_of_the_matrix(model: ModelName, prior: Prior | None, anchors: dict[str, float]) -> None:
    """Products pair by pair and with the matrix agree, except for the term of a free level."""
    bent = fitted(model, prior, anchors).curvature
    step = np.random.default_rng(1).normal(size=len(bent.stiff) + 2)
    step[:-2] -= step[:-2].mean()
    assert bent.times(step) == pytest.approx(bent.matrix() @ step, abs=1e-9)
    assert bent.matrix() == pytest.approx(bent.matrix().T, abs=0)


@CASES
def test_large_pools_fit_the_same(
    model: ModelName, prior: Prior | None, anchors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conjugate gradients find the maximum of the dense fit, to 1e-7 Elo and the promised residual."""
    dense = fitted(model, prior, anchors)
    monkeypatch.setattr(likelihood, "_DENSE_ENGINES", 10)
    sparse = fitted(model, prior, anchors)
    assert sparse.ratings == pytest.approx(dense.ratings, abs=1e-7)
    assert (sparse.advantage, sparse.draw) == pytest.approx((dense.advantage, dense.draw), abs=1e-7)
    assert sparse.residual <= 1e-8


@CASES
def test_errors_on_request_are_the_errors(
    model: ModelName, prior: Prior | None, anchors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors computed one by one equal those from the square arrays."""
    made = fitted(model, prior, anchors)
    errors = errors_of(made)
    monkeypatch.setattr(likelihood, "_DENSE_ENGINES", 10)
    asked = ErrorsOnRequest(made)
    for place in (0, 3, 17):
        assert asked.sd_of(place) == pytest.approx(errors.sd_of(place), abs=1e-6)
        assert asked.los(place, 30) == pytest.approx(errors.los(place, 30), abs=1e-8)
    assert asked.difference_sd(4, 9) == pytest.approx(errors.difference_sd(4, 9), abs=1e-6)
    assert asked.bounds(17) == pytest.approx(errors.bounds(17), rel=0.02)


def test_exact_solutions_in_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of conjugate gradients reach the dense solution of the singular system of a free level."""
    bent = fit(mesh()).curvature
    right = np.zeros(len(bent.stiff) + 2)
    right[[0, 5]] = 1.0, -1.0
    dense = bent.solve_exactly(right)
    monkeypatch.setattr(likelihood, "_DENSE_ENGINES", 10)
    assert bent.solve_exactly(right) == pytest.approx(dense, abs=1e-10)


def test_a_long_chain_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """If conjugate gradients are too slow, the dense solution finishes: a chain is the sum of its links."""
    monkeypatch.setattr(likelihood, "_DENSE_ENGINES", 10)
    chain = {(f"v{number:03}", f"v{number + 1:03}"): (110 - number % 50, 40, 50 + number % 50) for number in range(150)}
    made = fit(chain)
    links = [np.log10((w + 20) / (lost + 20)) * 400 for w, _, lost in chain.values()]
    assert made.ratings[0] - made.ratings[-1] == pytest.approx(sum(links), abs=1e-6)


def test_many_unknowns_by_iteration() -> None:
    """A Newton step by iteration equals the one by elimination."""
    dice = np.random.default_rng(1)
    ends = {(int(one), int(other)) for one, other in dice.integers(0, 320, (4000, 2)) if one != other}
    fitted = fit({(f"{one:03}", f"{other:03}"): (1, 1, 1) for one, other in ends})
    right = np.append(dice.normal(size=320), (0.0, 0.0))
    right[:-2] -= right[:-2].mean()
    with patch.object(np.linalg, "solve", side_effect=AssertionError("eliminated")):
        step = fitted.curvature.solve(right)
    assert step == pytest.approx(fitted.curvature.solve_exactly(right), abs=1e-9)


def test_a_chain_is_eliminated() -> None:
    """If the iteration does not converge, the step is exact nevertheless."""
    links = {(f"{place:03}", f"{place + 1:03}"): (5, 6, 7) for place in range(320)}
    fitted = fit(links)
    right = np.append(np.linspace(-1, 1, 321), (0.0, 0.0))
    assert fitted.curvature.solve(right) == pytest.approx(fitted.curvature.solve_exactly(right), rel=1e-12)


# The inverse by halves is as exact as elimination, and uses elimination if it would not be.

SIZE = 2 * WHOLE + 3  # two levels of halves, the first uneven


def laplacian(weights: Vector) -> Vector:
    """Return the curvature of a pool with a free level, from symmetric weights of pairs."""
    matrix = np.diag(weights.sum(axis=1)) - weights
    return np.asarray(matrix + matrix.trace() / len(matrix) ** 2)


def inversion_mesh(size: int) -> Vector:
    """Return the curvature of a pool in which all engines met, unevenly often."""
    weights = np.random.default_rng(size).random((size, size))
    weights = np.triu(weights, 1)
    return laplacian(weights + weights.T)


def chain(size: int, weight: float) -> Vector:
    """Return the curvature of a chain, in which engines met only their neighbors."""
    return laplacian(weight * (np.eye(size, k=1) + np.eye(size, k=-1)))


@pytest.mark.parametrize("size", [1, WHOLE, WHOLE + 1, SIZE])
def test_mesh_as_by_elimination(size: int) -> None:
    """In a well-connected pool both methods agree except for rounding."""
    matrix = inversion_mesh(size) if size > 1 else np.array([[4.0]])
    eliminated = np.linalg.inv(matrix)
    assert np.abs(inverse_of(matrix) - eliminated).max() <= 1e-13 * np.abs(eliminated).max()


def test_halves_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A well-connected pool is inverted by halves."""
    sizes: list[int] = []
    eliminate = np.linalg.inv

    def noted(matrix: Vector) -> Vector:
        sizes.append(len(matrix))
        return np.asarray(eliminate(matrix))

    monkeypatch.setattr(np.linalg, "inv", noted)
    inverse_of(inversion_mesh(SIZE))
    assert max(sizes) <= WHOLE


def test_chain_keeps_its_digits() -> None:
    """Along a chain variances add up: the variance of 699 links is 699 times that of one."""
    inverse = inverse_of(chain(700, 25.0))
    ends = inverse[0, 0] + inverse[-1, -1] - 2 * inverse[0, -1]
    assert ends == pytest.approx(699 / 25, rel=1e-11)


def test_singular() -> None:
    """A singular matrix raises an error, large or small."""
    with pytest.raises(np.linalg.LinAlgError):
        inverse_of(np.zeros((SIZE, SIZE)))
    with pytest.raises(np.linalg.LinAlgError):
        inverse_of(np.zeros((2, 2)))


WHITE_WITHIN = 0.005  # Ordo prints White's advantage with two decimals

every_case = pytest.mark.parametrize("case", ParityCASES, ids=lambda case: f"{case.peer}-{case.name}")


@cache
def told(case_name: str) -> dict[str, Any]:
    case = next(case for case in ParityCASES if case.path.stem == case_name)
    found: dict[str, Any] = json.loads(case.path.read_text("utf-8"))
    return found


@every_case
def test_games_are_those_of_the_golden_numbers(case: Case) -> None:
    """The games are those for which the golden numbers were made."""
    assert digest(case.corpus) == told(case.path.stem)["games"]


@every_case
def test_every_rating_is_the_peers(case: Case) -> None:
    """With the same settings every rating is that of the peer, to the peer's precision."""
    theirs, found = told(case.path.stem), case.ours()
    ratings = {row.name: row.rating for row in found.rows}
    assert ratings.keys() == theirs["ratings"].keys()
    assert max(abs(ratings[name] - rating) for name, rating in theirs["ratings"].items()) <= case.within
    if "white_advantage" in theirs:
        assert found.white_advantage == pytest.approx(theirs["white_advantage"], abs=WHITE_WITHIN)


@every_case
def test_no_ratings_are_likelier(case: Case) -> None:
    """If ratings differ, the games are at least as likely with enginetour's: the peer stopped early."""
    fitted = fitted_like(case)
    theirs = np.array([told(case.path.stem)["ratings"][name] for name in fitted.names])
    there = fitted.at.copy()
    there[:-2] = theirs / (fitted.unit * fitted.point)
    assert fitted.problem.log_likelihood(fitted.at) >= fitted.problem.log_likelihood(there) - 1e-9 * abs(
        fitted.problem.log_likelihood(there)
    )
    assert fitted.residual <= 1e-8


def fitted_like(case: Case) -> Fit:
    terms = {name: value for name, value in case.terms.items() if name != "mean"}
    if case.peer == "ordo":
        return fit(case.corpus.counts(), **{"scale": ORDO_SCALE, **terms})
    return fit(case.corpus.counts(), model="raokupper", prior=BAYESELO_PRIOR, **terms)


@pytest.mark.parametrize("model", ["davidson", "raokupper"])
def test_paired_draws_have_errors(model: ModelName) -> None:
    """Game pairs that were all drawn have errors; a variance was negative once."""
    counts = {("A", "B"): (0, 1000, 0), ("B", "A"): (0, 1000, 30)}
    found = rating_list(counts, model=model, openings={("A", "B"): (0, 0, 500, 0, 0)})
    for row in found.rows:
        assert row.plus is not None and row.minus is not None
        assert math.isfinite(row.plus) and row.plus > 0 and row.minus > 0
