"""Sequential tests: the ratio, the bounds, the walk."""

from __future__ import annotations

from itertools import product
from math import log, sqrt

import numpy as np
import pytest

from enginetour.ratings.pentanomial import moments, regularised
from enginetour.ratings.sequential import MODELS, Sprt, Walk, follow, reach, step
from tests.rolling import rolled

GAMES, PAIRS = (900, 2100, 1000), (30, 440, 1100, 500, 30)


@pytest.mark.parametrize(
    ("counts", "bounds", "model", "llr"),
    [
        (GAMES, (0, 5), "logistic", 2.158362),
        (GAMES, (0, 5), "normalized", 1.674015),
        (GAMES, (0, 5), "bayesian", 1.736696),
        (PAIRS, (0, 4), "logistic", 1.467315),
        (PAIRS, (0, 4), "normalized", 1.024096),
    ],
)
def test_published_ratios(counts: tuple[int, ...], bounds: tuple[float, float], model: str, llr: float) -> None:
    """Every example, to 1e-6."""
    test = Sprt(*bounds, model=model)  # type: ignore[arg-type]
    assert test.llr(counts) == pytest.approx(llr, abs=1e-6)


def test_walds_bounds() -> None:
    """Equal errors and unequal ones."""
    assert Sprt(0, 5).bounds == pytest.approx((-2.944439, 2.944439), abs=1e-6)
    assert Sprt(0, 5, alpha=0.02, beta=0.1).bounds == pytest.approx((-2.282382, 3.806662), abs=1e-6)


def test_the_ratio_holds_in_extremes() -> None:
    """4250 wins in 4250 games, 0 against 10 nElo: 120.5, where the closed form of long tests says 0.13."""
    test = Sprt(0, 10, "normalized")
    assert test.llr((0, 0, 4250)) == pytest.approx(120.5, abs=0.05)


def _highest_likelihood(counts: tuple[int, ...], test: Sprt, bound: float) -> float:
    """The trinomial likelihood climbed over the share of draws by golden section: no multipliers, the same top."""
    seen = regularised(counts)
    score, spread = 1 / (1 + 10 ** (-bound / 400)), bound * log(10) / 800
    most_draws = 2 * min(score, 1 - score) if test.model == "logistic" else 1 / (1 + spread**2)

    def height(draw: float) -> float:
        off = score - 0.5
        if test.model == "normalized":  # off = spread sd, sd^2 = (1 - draw)/4 - off^2
            off = spread * sqrt((1 - draw) / 4 / (1 + spread**2))
        chances = (0.5 - off - draw / 2, draw, 0.5 + off - draw / 2)
        return sum(count * log(chance) for count, chance in zip(seen, chances, strict=True))

    low, high, ratio = 1e-12, most_draws * (1 - 1e-12), (sqrt(5) - 1) / 2
    for _ in range(100):
        one, other = high - ratio * (high - low), low + ratio * (high - low)
        if height(one) < height(other):
            low = one
        else:
            high = other
    return height((low + high) / 2)


@pytest.mark.parametrize("model", ["logistic", "normalized"])
@pytest.mark.parametrize("counts", [(900, 2100, 1000), (3, 10, 40), (700, 20, 100), (0, 30, 2)])
def test_against_a_climb_without_multipliers(counts: tuple[int, ...], model: str) -> None:
    """The ratio of two heights found by plain search, to 1e-7."""
    test = Sprt(-3, 12, model=model)  # type: ignore[arg-type]
    expected = _highest_likelihood(counts, test, 12) - _highest_likelihood(counts, test, -3)
    assert test.llr(counts) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("counts", [GAMES, PAIRS, (0, 0, 4250), (0, 3, 0, 0, 0), (0, 0, 7, 0, 0), (1, 0, 1)])
def test_hypotheses_fulfil_their_bounds(counts: tuple[int, ...]) -> None:
    """Chances sum to one; the score, or the score in spreads, is that of the bound."""
    pairs = 2 if len(counts) == 5 else 1
    for test in (Sprt(-10, 30), Sprt(-10, 30, "normalized")):
        for chances, bound in zip(test.hypotheses(counts), (-10, 30), strict=True):
            assert sum(chances) == pytest.approx(1, abs=1e-9)
            mean, variance = moments(chances)
            if test.model == "logistic":
                assert mean == pytest.approx(1 / (1 + 10 ** (-bound / 400)), abs=1e-9)
            else:
                assert (mean - 0.5) / (pairs * variance) ** 0.5 * 800 / log(10) == pytest.approx(bound, abs=1e-6)


def test_bayesian_knows_no_pairs() -> None:
    """Its draws are those of games."""
    with pytest.raises(ValueError, match="no pairs"):
        Sprt(0, 5, "bayesian").llr(PAIRS)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((5, 5), "below the second"),
        ((5, 0), "below the second"),
        ((0, float("nan")), "lie between"),
        ((0, 1e6), "lie between"),
        ((0, 300, "normalized"), "between -200 and 200"),
        ((0, 5, "pentanomial"), "known: logistic"),
        ((0, 5, "logistic", 0.6, 0.6), "alpha and beta"),
        ((0, 5, "logistic", 0.0, 0.05), "alpha and beta"),
    ],
)
def test_bounds_that_cannot_be_tested(words: tuple[object, ...], told: str) -> None:
    """Refused in words, before any game."""
    with pytest.raises(ValueError, match=told):
        Sprt(*words)  # type: ignore[arg-type]


def test_nothing_played_says_nothing() -> None:
    """No game, no evidence; an outcome that is none is refused."""
    assert Sprt(0, 5).llr((0, 0, 0)) == 0
    with pytest.raises(ValueError, match="from 0 to 2"):
        step(Sprt(0, 5), Walk((0, 0, 0)), 3)


@pytest.mark.parametrize(("outcome", "verdict"), [(2, "H1"), (1, "H0"), (0, "H0")])
def test_a_verdict_is_the_first_one(outcome: int, verdict: str) -> None:
    """What is played after the stop changes the ratio, never the verdict."""
    test = Sprt(0, 40)
    walk = Walk((0, 0, 0))
    while not walk.verdict:
        walk = step(test, walk, outcome)
    assert walk.verdict == verdict
    assert walk.stopped == walk.counts
    later = walk
    for _ in range(sum(walk.counts) * 3):
        later = step(test, later, 0 if verdict == "H1" else 2)
    assert later.verdict == verdict
    assert later.stopped == walk.stopped
    assert later.overshoot == walk.overshoot
    assert later.llr == test.llr(later.counts)


def test_overshoot_is_that_of_the_steps() -> None:
    """Of equal steps h to new records the mean overshoot is h/2 (Siegmund 1985); the bounds are drawn in by it."""
    test = Sprt(0, 5)
    walk = follow(test, [2] * 50, 3)
    steps = np.diff([test.llr((0, 0, number)) for number in range(51)])
    assert walk.overshoot == pytest.approx((0.0, (steps**2).sum() / steps.sum() / 2))
    low, high = reach(test, walk)
    assert low == test.bounds[0]
    assert high == pytest.approx(test.bounds[1] - walk.overshoot[1])


@pytest.mark.parametrize(("model", "classes"), [(m, c) for m, c in product(MODELS, (3, 5)) if (m, c) != (MODELS[2], 5)])
def test_error_rates(model: str, classes: int) -> None:
    """Where elo0 is true H1 is rare: at most 5 % and chance, in 200 short tests with a fixed seed."""
    dice = np.random.default_rng(11)
    even = [0.25, 0.5, 0.25] if classes == 3 else [0.06, 0.24, 0.4, 0.24, 0.06]
    test, wrong = Sprt(0, 160, model=model), 0  # type: ignore[arg-type]
    for _ in range(200):
        walk = Walk((0,) * classes)
        for outcome in rolled(dice, even):
            walk = step(test, walk, outcome)
            if walk.verdict:
                break
        wrong += walk.verdict == "H1"
    assert wrong <= 18  # 10 expected, 2.6 standard deviations
