from random import Random
from unittest.mock import patch

import numpy as np
import pytest

from enginetour.ratings import likelihood
from enginetour.ratings.likelihood import Fit, ModelName, fit
from enginetour.ratings.models import GaussianPrior, Prior
from enginetour.ratings.pairs import Counts
from enginetour.ratings.uncertainty import ErrorsOnRequest, errors_of


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
    """Multiplied pair by pair or as a matrix, it is the same curvature; the level alone is the matrix's own."""
    bent = fitted(model, prior, anchors).curvature
    step = np.random.default_rng(1).normal(size=len(bent.stiff) + 2)
    step[:-2] -= step[:-2].mean()
    assert bent.times(step) == pytest.approx(bent.matrix() @ step, abs=1e-9)
    assert bent.matrix() == pytest.approx(bent.matrix().T, abs=0)


@CASES
def test_large_pools_fit_the_same(
    model: ModelName, prior: Prior | None, anchors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By conjugate gradients the maximum is that of the dense fit, to 1e-7 Elo and to the promised residual."""
    dense = fitted(model, prior, anchors)
    monkeypatch.setattr(likelihood, "DENSE_ENGINES", 10)
    sparse = fitted(model, prior, anchors)
    assert sparse.ratings == pytest.approx(dense.ratings, abs=1e-7)
    assert (sparse.advantage, sparse.draw) == pytest.approx((dense.advantage, dense.draw), abs=1e-7)
    assert sparse.residual <= 1e-8


@CASES
def test_errors_on_request_are_the_errors(
    model: ModelName, prior: Prior | None, anchors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One solution for each number gives what the square arrays give."""
    made = fitted(model, prior, anchors)
    errors = errors_of(made)
    monkeypatch.setattr(likelihood, "DENSE_ENGINES", 10)
    asked = ErrorsOnRequest(made)
    for place in (0, 3, 17):
        assert asked.sd_of(place) == pytest.approx(errors.sd_of(place), abs=1e-6)
        assert asked.los(place, 30) == pytest.approx(errors.los(place, 30), abs=1e-8)
    assert asked.difference_sd(4, 9) == pytest.approx(errors.difference_sd(4, 9), abs=1e-6)
    assert asked.bounds(17) == pytest.approx(errors.bounds(17), rel=0.02)


def test_exact_solutions_in_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of conjugate gradients reach the dense solution on the singular system of a free level."""
    bent = fit(mesh()).curvature
    right = np.zeros(len(bent.stiff) + 2)
    right[[0, 5]] = 1.0, -1.0
    dense = bent.solve_exactly(right)
    monkeypatch.setattr(likelihood, "DENSE_ENGINES", 10)
    assert bent.solve_exactly(right) == pytest.approx(dense, abs=1e-10)


def test_a_long_chain_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where conjugate gradients crawl the dense solution finishes: a chain is still the sum of its links."""
    monkeypatch.setattr(likelihood, "DENSE_ENGINES", 10)
    chain = {(f"v{number:03}", f"v{number + 1:03}"): (110 - number % 50, 40, 50 + number % 50) for number in range(150)}
    made = fit(chain)
    links = [np.log10((w + 20) / (lost + 20)) * 400 for w, _, lost in chain.values()]
    assert made.ratings[0] - made.ratings[-1] == pytest.approx(sum(links), abs=1e-6)


def test_many_unknowns_by_iteration() -> None:
    """A Newton step in a mesh large enough to iterate is the one by elimination."""
    dice = np.random.default_rng(1)
    ends = {(int(one), int(other)) for one, other in dice.integers(0, 320, (4000, 2)) if one != other}
    fitted = fit({(f"{one:03}", f"{other:03}"): (1, 1, 1) for one, other in ends})
    right = np.append(dice.normal(size=320), (0.0, 0.0))
    right[:-2] -= right[:-2].mean()
    with patch.object(np.linalg, "solve", side_effect=AssertionError("eliminated")):
        step = fitted.curvature.solve(right)
    assert step == pytest.approx(fitted.curvature.solve_exactly(right), abs=1e-9)


def test_a_chain_is_eliminated() -> None:
    """Where iterations would not end, the step is exact all the same."""
    links = {(f"{place:03}", f"{place + 1:03}"): (5, 6, 7) for place in range(320)}
    fitted = fit(links)
    right = np.append(np.linspace(-1, 1, 321), (0.0, 0.0))
    assert fitted.curvature.solve(right) == pytest.approx(fitted.curvature.solve_exactly(right), rel=1e-12)
