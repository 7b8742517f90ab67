"""How long a test lasts on average."""

from __future__ import annotations

from math import isfinite

import numpy as np
import pytest

from enginetour.ratings.sequential import Sprt, Walk, assumed_chances, foretold, sample_number, step
from tests.rolling import rolled


@pytest.mark.parametrize("classes", [3, 5])
def test_assumed_chances_are_those_of_equals(classes: int) -> None:
    """They sum to one, mirror each other, and half of the games are drawn."""
    chances = assumed_chances(classes)
    assert sum(chances) == pytest.approx(1)
    assert chances == chances[::-1]
    assert chances == {3: (0.25, 0.5, 0.25), 5: (0.0625, 0.25, 0.375, 0.25, 0.0625)}[classes]


@pytest.mark.parametrize("truth", [-40.0, 0.0, 30.0, 60.0, 120.0])
@pytest.mark.parametrize("classes", [3, 5])
def test_against_simulated_tests(truth: float, classes: int) -> None:
    """Within a tenth and the noise of 150 tests, on either side of the bounds and between them."""
    test, dice = Sprt(0, 60), np.random.default_rng(2)
    chances = test.likeliest(assumed_chances(classes), truth)
    lengths = []
    for _ in range(150):
        walk = Walk((0,) * classes)
        for outcome in rolled(dice, chances):
            walk = step(test, walk, outcome)
            if walk.verdict:
                break
        lengths.append(sum(walk.stopped))
    noise = 3 * float(np.std(lengths)) / 150**0.5
    assert sample_number(test, chances) == pytest.approx(float(np.mean(lengths)), abs=noise + 0.1 * np.mean(lengths))


def test_without_drift_it_is_the_product_of_the_ways_over_the_variance() -> None:
    """The limit is met from both sides, and a mirrored test lasts as long."""
    test = Sprt(-20, 20)
    even = assumed_chances(5)
    straight = sample_number(test, even)
    for aside in (-0.01, 0.01):
        assert sample_number(test, test.likeliest(even, aside)) == pytest.approx(straight, rel=1e-3)
    told = foretold(test, 5)
    assert told["elo0"] == pytest.approx(told["elo1"], rel=1e-6)
    assert told["middle"] == pytest.approx(straight)


def test_what_is_walked_already_is_not_walked_again() -> None:
    """Nearer to the bound the drift leads to, fewer; at a bound none."""
    test = Sprt(0, 60)
    chances = test.likeliest(assumed_chances(5), 60)
    ahead = [sample_number(test, chances, llr) for llr in (-2.0, 0.0, 2.0, 2.9, 3.0)]
    assert ahead == sorted(ahead, reverse=True)
    assert ahead[-1] == 0


def test_far_from_the_bounds_nothing_overflows() -> None:
    """A thousand Elo aside every length is finite."""
    test = Sprt(0, 1)
    for truth in (-900.0, 900.0):
        assert isfinite(sample_number(test, test.likeliest(assumed_chances(5), truth)))
