"""Compare rounds of the Gotha systems with networkx, in long tests."""

from __future__ import annotations

from typing import Any

import pytest

from enginetour.formats.gotha import Gotha
from tests.formats.test_gotha import EVERY, as_heavy_as_networkx

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]


@EVERY
def test_a_thousand_small_states(kind: type[Gotha], options: Any) -> None:
    """A thousand states of each system, with four to thirteen entrants after up to four rounds."""
    system = kind(options())
    for seed in range(1000):
        as_heavy_as_networkx(system, seed, 4 + seed % 10, seed % 5)
