"""Long tests of the laws of all formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.testing.formats import ALL, any_order, promises
from tests.laws.test_running import one_life

pytestmark = pytest.mark.night


@ALL
def test_promises_at_length(system: str) -> None:
    """A thousand tournaments of each system."""
    for seed in range(1000):
        promises(system, seed)


@ALL
def test_orders_at_length(system: str) -> None:
    """Four hundred tournaments of each system, each with two orders of ending games."""
    for seed in range(400):
        any_order(system, seed)


@ALL
def test_lives_at_length(system: str, tmp_path: Path) -> None:
    """A hundred interrupted tournaments of each system."""
    for seed in range(100):
        one_life(tmp_path, system, seed)
        for left in tmp_path.iterdir():
            left.unlink()
