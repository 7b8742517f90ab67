import numpy as np
import pytest

from enginetour.ratings.likelihood import ModelName, fit
from enginetour.ratings.models import GaussianPrior

COUNTS = {("A", "B"): (5, 3, 2), ("B", "A"): (1, 4, 2), ("B", "C"): (6, 2, 2), ("C", "A"): (1, 3, 5)}


@pytest.mark.parametrize("model", ["logistic", "davidson", "raokupper"])
@pytest.mark.parametrize("more", [{}, {("C", "D"): (1, 0, 1)}])
def test_the_gradient_alone(model: ModelName, more: dict[tuple[str, str], tuple[int, int, int]]) -> None:
    """Without the curvature the same gradient comes out, anywhere, and it is the slope of the height."""
    problem = fit({**COUNTS, **more}, model=model, prior=GaussianPrior(300.0, 0.0), advantage="fit").problem
    at = np.linspace(-0.4, 0.9, len(problem.pairs.names) + 2)
    gradient = problem.gradient(at)
    assert gradient == pytest.approx(problem.slopes(at)[0], rel=1e-12, abs=1e-12)
    for place in problem.free.tolist():
        off = np.zeros(len(at))
        off[place] = 1e-6
        slope = (problem.height(at + off) - problem.height(at - off)) / 2e-6
        assert gradient[place] == pytest.approx(slope, abs=1e-6)


def test_imagined_games_are_in_the_gradient() -> None:
    """Where only an imagined win and loss bound the draws, they pull with the counted games."""
    problem = fit({("A", "B"): (0, 9, 0)}, model="davidson").problem
    assert problem.imagined
    at = np.array([0.3, -0.2, 0.0, 0.7])
    assert problem.gradient(at) == pytest.approx(problem.slopes(at)[0], rel=1e-12)
