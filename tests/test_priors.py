from math import log, log10

import numpy as np
import pytest

from enginetour.ratings.likelihood import fit
from enginetour.ratings.models import GaussianPrior, PhantomDraws, VirtualDraws, belief_of, told, with_virtual_draws
from enginetour.ratings.pairs import pairs_of

MATCH = {("A", "B"): (30, 40, 15)}


def test_phantom_draws_are_draws_against_a_fixed_engine() -> None:
    """One phantom draw an engine rates as one real draw against an anchor at 0 would."""
    phantom = fit({("A", "B"): (3, 0, 0)}, prior=PhantomDraws()).by_name()
    real = fit({("A", "B"): (3, 0, 0), ("A", "0"): (0, 1, 0), ("0", "B"): (0, 1, 0)}, anchors={"0": 0.0}).by_name()
    assert phantom == pytest.approx({"A": real["A"], "B": real["B"]}, abs=1e-7)


def test_phantom_draws_hold_the_level() -> None:
    """They stand at their own rating, and two of them pull twice as hard."""
    one, two, high = (
        fit({("A", "B"): (3, 0, 0)}, prior=prior)
        for prior in (PhantomDraws(), PhantomDraws(2.0), PhantomDraws(1, 2000))
    )
    assert 0 < two.ratings[0] < one.ratings[0]
    assert high.ratings == pytest.approx(one.ratings + 2000, abs=1e-7)
    assert not one.level_free


def test_virtual_draws() -> None:
    """BayesElo's draws: P/4 (n_ij/n_i + n_ij/n_j) in either colour, half of P an engine and colour in all."""
    counts = with_virtual_draws(pairs_of({("A", "B"): (3, 0, 0), ("B", "A"): (0, 0, 1), ("C", "B"): (0, 1, 3)}), 2.0)
    rows = {
        (counts.names[white], counts.names[black]): (won, drawn, lost)
        for white, black, won, drawn, lost in zip(
            counts.white, counts.black, counts.wins, counts.draws, counts.losses, strict=True
        )
    }
    assert rows == {
        ("A", "B"): (3, 0.75, 0),  # 2/4 (4/4 + 4/8)
        ("B", "A"): (0, 0.75, 1),
        ("B", "C"): (0, 0.75, 0),
        ("C", "B"): (0, 1.75, 3),
    }


def test_virtual_draws_bound_a_rating() -> None:
    """An unbeaten engine is rated as if it had drawn once with either colour; its record stays its own."""
    fitted = fit({("A", "B"): (10, 0, 0)}, prior=VirtualDraws())
    assert fitted.ratings[0] - fitted.ratings[1] == pytest.approx(400 * log10(11), abs=1e-7)
    assert fitted.pairs.record[1].tolist() == [0, 0]


@pytest.mark.parametrize(
    "prior", [VirtualDraws(0), PhantomDraws(-1.0), PhantomDraws(1, float("nan")), GaussianPrior(-5)]
)
def test_priors_that_cannot_be(prior: PhantomDraws | VirtualDraws | GaussianPrior) -> None:
    """Weights and spreads are above 0, ratings finite."""
    with pytest.raises(ValueError, match=r"prior|phantom"):
        fit(MATCH, prior=prior)


@pytest.mark.parametrize(
    "prior", [GaussianPrior(200), GaussianPrior({"A": 50.0, "C": 90.0}, 30.0), PhantomDraws(2, 60)]
)
def test_pull_and_stiffness_are_the_derivatives(prior: PhantomDraws | GaussianPrior) -> None:
    """What a prior adds to gradient and curvature are the differences of its height."""
    belief, h = belief_of(("A", "B", "C"), prior, 400 / log(10)), 1e-4
    ratings = np.array([0.5, -0.8, 2.0])
    lift = belief.weights**2 / belief.weights.sum() if belief.floating else np.zeros(3)
    for place in range(3):
        nudge = h * np.eye(3)[place]
        rise = belief.height(ratings + nudge) - belief.height(ratings - nudge)
        assert belief.pull(ratings)[place] == pytest.approx(rise / (2 * h), abs=1e-7)
        bent = (belief.pull(ratings - nudge) - belief.pull(ratings + nudge))[place] / (2 * h)
        assert (belief.stiffness(ratings) - lift)[place] == pytest.approx(bent, abs=1e-7)


def test_what_a_rating_rests_on() -> None:
    """Each prior is told in its own words, spreads in shown points."""
    assert told(GaussianPrior(), "A", 12.04, 1.0) == "the prior (12 ± 350)"
    assert told(GaussianPrior(100, 50), "A", 0, 0.5) == "the prior (50 ± 50)"
    assert told(PhantomDraws(3), "A", 0, 1.0) == "phantom draws (3)"
    assert told(VirtualDraws(), "A", 0, 1.0) == "virtual draws (2)"
