"""Fifty databases with damaged specifications, each with real processes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.faults import SPOILT, tried
from tests.support.tournaments import THREE, config, tour

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]


def test_each_is_refused_repaired_and_ended(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`run` and `db repair` print one line each, and SIGTERM ends the run in time before and after."""
    path = config(workspace, THREE, "roundrobin", "cycles = 40", strong=True)
    tour(workspace, "run", path.name, "--max-games", "1", expect=8)
    shutil.copy(workspace / "results" / "enginetour.db", workspace / "whole.db")
    config(workspace, ("wren1", "wren3"), "roundrobin", "cycles = 40", strong=True)
    seconds = [(before, after) for _, before, after in tried(workspace, path, tuple(SPOILT), "Wren 2")]
    assert len(seconds) == 50
    longest = [max(column) for column in zip(*seconds, strict=True)]
    with capsys.disabled():
        print(f"\n50 databases: longest end {longest[0]:.2f} s before the repair, {longest[1]:.2f} s after it")
