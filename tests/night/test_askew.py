"""Fifty thousand random and mutated requests to a running tournament."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tournaments import Bombarded

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]

REQUESTS = 50_000


def test_no_request_raises_or_is_written(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run survives all requests and ends when requested."""
    told = Bombarded(workspace, REQUESTS, 11).settle()
    with capsys.disabled():
        print(f"\n{told}")
