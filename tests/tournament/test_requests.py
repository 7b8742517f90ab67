"""Random and mutated requests to a running tournament: some hundred, and fifty thousand in the night tests."""

from __future__ import annotations

from pathlib import Path

from tests.support.tournaments import Bombarded


def test_no_request_raises_or_is_written(tmp_path: Path) -> None:
    """Each request is answered in one line, the log has only valid ones, and the run ends when requested."""
    bombarded = Bombarded(tmp_path, 400, 5)
    assert bombarded.settle()
    assert bombarded.answers["ok"] >= 20
    assert bombarded.answers["exit 2"] >= 300
