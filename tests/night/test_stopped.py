"""The estimate after a sequential test stopped, over many tests."""

from __future__ import annotations

import pytest

from enginetour.ratings.sequential import Sprt
from tests.ratings.test_sequential import STOPPED, median_and_cover

pytestmark = pytest.mark.night


@STOPPED
def test_a_thousand_estimates(test: Sprt, chances: tuple[float, ...]) -> None:
    """Half of them are too high, and the intervals hold 95 %."""
    median_and_cover(test, chances, 1000)
