"""Compare the Dutch system with a simple implementation, in long tests."""

from __future__ import annotations

import pytest

from tests.laws.test_dutch import agree, agree_on_cards

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]


def test_tournaments_at_length() -> None:
    """A thousand tournaments of up to twenty entrants."""
    for seed in range(1000):
        agree(seed, 20, 9)


def test_cards_at_length() -> None:
    """Twenty thousand brackets of entrants with random cards."""
    for seed in range(20_000):
        agree_on_cards(seed)
