"""The estimate after a stopped sequential test, in many tests."""

from __future__ import annotations

import pytest

from enginetour.ratings.sequential import Sprt
from tests.ratings.test_sequential import STOPPED, median_and_cover

pytestmark = pytest.mark.night


@STOPPED
def test_a_thousand_estimates(test: Sprt, chances: tuple[float, ...]) -> None:
    """Half of the estimates are too high, and the intervals have a coverage of 95 %."""
    median_and_cover(test, chances, 1000)
