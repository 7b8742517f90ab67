"""Whatever an engine prints, in whatever state: the game ends with a verdict on nobody else, and memory is bounded."""

from __future__ import annotations

import pytest

from tests.support.engines import Protocol, babbled


@pytest.mark.parametrize("protocol", ["uci", "cecp"])
@pytest.mark.parametrize("seed", range(6))
def test_a_babbling_engine(protocol: Protocol, seed: int) -> None:
    """A few of the dice; many more at night."""
    babbled(protocol, seed)
