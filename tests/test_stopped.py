"""The estimate after a sequential test stopped."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from enginetour.ratings.pentanomial import elo_of
from enginetour.ratings.sequential import Sprt, Walk, estimate, first_through, follow, step
from tests.rolling import rolled


@pytest.mark.parametrize(("distance", "width", "lean"), [(1, 2, 0.0), (1, 5, 0.7), (3, 5, -0.4), (4, 5, 0.01)])
def test_with_all_the_time_it_is_the_gamblers_ruin(distance: float, width: float, lean: float) -> None:
    """(1 - e^(-2k(w-d)))/(1 - e^(-2kw)) with drift k variances, (w-d)/w without; nobody walks for so long."""
    behind = width - distance
    ruin = behind / width if not lean else (1 - exp(-2 * lean * behind)) / (1 - exp(-2 * lean * width))
    if lean < 0:
        ruin = (exp(2 * lean * distance) - exp(2 * lean * width)) / (1 - exp(2 * lean * width))
    assert first_through(distance, width, lean * 1e4, 1e4) == pytest.approx(ruin, abs=1e-11)


@pytest.mark.parametrize(
    ("distance", "width", "drift", "variance"), [(1.0, 2.0, 0.0, 1.0), (1.0, 5.0, 2.0, 4.0), (2.0, 4.0, -3.0, 3.0)]
)
def test_at_any_time_it_is_a_fine_random_walk(distance: float, width: float, drift: float, variance: float) -> None:
    """A walk on 200 places between the walls, counted out."""
    cells = 200
    size = width / cells
    steps = round(variance / size**2)
    up = (1 + drift / steps / size) / 2
    chances = np.zeros(cells + 1)
    chances[cells - round(distance / size)] = 1
    through = 0.0
    for _ in range(steps):
        moved = np.zeros(cells + 1)
        moved[1:] = up * chances[:-1]
        moved[:-1] += (1 - up) * chances[1:]
        through += moved[cells]
        moved[0] = moved[cells] = 0
        chances = moved
    assert first_through(distance, width, drift, variance) == pytest.approx(through, rel=2e-3)


def test_far_from_anything_nothing_overflows() -> None:
    """Certain, impossible, and without spread."""
    assert first_through(1, 2, 1e6, 1.0) == 1
    assert first_through(1, 2, -1e6, 1.0) == 0
    assert first_through(1, 2, 2.0, 0.0) == 1
    assert first_through(1, 2, 0.5, 0.0) == 0


def test_no_stop_no_correction() -> None:
    """A test under way has its plain figures only."""
    test = Sprt(0, 5)
    assert estimate(test, follow(test, [2, 1, 0], 3)) is None


@pytest.mark.parametrize("outcome", [0, 1, 2])
def test_one_kind_of_outcome(outcome: int) -> None:
    """All lost, all drawn, all won: an end that is not there is None, the others are in order."""
    test = Sprt(0, 60)
    walk = Walk((0, 0, 0))
    while not walk.verdict:
        walk = step(test, walk, outcome)
    found = estimate(test, walk)
    assert found is not None
    ends = [end for end in (found.low, found.elo, found.high) if end is not None]
    assert ends == sorted(ends)
    assert found.observations == sum(walk.stopped)


STOPPED = pytest.mark.parametrize(
    ("test", "chances"),
    [
        (Sprt(0, 80), (0.18, 0.5, 0.32)),
        (Sprt(0, 80), (0.25, 0.5, 0.25)),
        (Sprt(0, 100, "bayesian"), (0.18, 0.5, 0.32)),
        (Sprt(0, 80), (0.03, 0.18, 0.4, 0.32, 0.07)),
        (Sprt(0, 160, "normalized"), (0.03, 0.18, 0.4, 0.32, 0.07)),
        (Sprt(0, 30), (0.0, 0.0, 0.39, 0.45, 0.16)),  # far beyond the test: 141 Elo
        (Sprt(0, 30), (0.001, 0.009, 0.4, 0.44, 0.15)),
        (Sprt(-10, 10), (0.15, 0.45, 0.4, 0.0, 0.0)),
    ],
)


@STOPPED
def test_half_of_the_estimates_are_too_high(test: Sprt, chances: tuple[float, ...]) -> None:
    """Median-unbiased, with intervals that hold 95 %, over 120 tests with a fixed seed; the night has a thousand."""
    median_and_cover(test, chances, 120)


def median_and_cover(test: Sprt, chances: tuple[float, ...], tests: int) -> None:
    """Asserts both of so many simulated tests, each within three standard deviations."""
    dice = np.random.default_rng(7)
    truth = elo_of(float(np.arange(len(chances)) @ chances) / (len(chances) - 1))
    above = held = 0
    for _ in range(tests):
        found = estimate(test, _played(test, chances, dice))
        assert found is not None
        above += found.elo is None or found.elo > truth
        held += (found.low is None or found.low <= truth) and (found.high is None or truth <= found.high)
    assert abs(above - tests / 2) <= 1.5 * tests**0.5
    assert held >= 0.95 * tests - 3 * (0.95 * 0.05 * tests) ** 0.5


def test_the_plain_score_after_a_stop_is_too_good_or_too_bad() -> None:
    """Why there is an estimate: of 250 equals that were tested, far fewer than half score above their strength."""
    dice, test, chances = np.random.default_rng(7), Sprt(0, 80), (0.25, 0.5, 0.25)
    counts = [_played(test, chances, dice).stopped for _ in range(250)]
    assert sum(won > lost for lost, _, won in counts) < 100


def _played(test: Sprt, chances: tuple[float, ...], dice: np.random.Generator) -> Walk:
    walk = Walk((0,) * len(chances))
    for outcome in rolled(dice, chances):
        walk = step(test, walk, outcome)
        if walk.verdict:
            break
    return walk
