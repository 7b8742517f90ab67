"""Whatever an engine prints in any state, the game ends with a verdict on no other engine, within bounded memory."""

from __future__ import annotations

import pytest

from tests.support.engines import Protocol, babbled


@pytest.mark.parametrize("protocol", ["uci", "cecp"])
@pytest.mark.parametrize("seed", range(6))
def test_a_babbling_engine(protocol: Protocol, seed: int) -> None:
    """Test some seeds; the night tests use many more."""
    babbled(protocol, seed)
