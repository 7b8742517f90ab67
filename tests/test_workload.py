"""How busy the machine was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from enginetour.engines import machine
from enginetour.engines.machine import Workload


@pytest.fixture
def stat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "STAT", tmp_path / "stat")
    return tmp_path / "stat"


def test_steal_is_a_share_of_the_time_since(stat: Path) -> None:
    """Guest time is in user time already and not counted twice; what passed before does not matter."""
    stat.write_text("cpu  100 0 50 800 0 0 0 900 70 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    seen = Workload()
    stat.write_text("cpu  160 0 60 820 0 0 0 910 90 0\n")
    assert seen.steal() == 0.1


@pytest.mark.parametrize("text", [None, "", "cpu  1 2 3 4\n", "intr 1 2 3 4 5 6 7 8 9\n", "cpu  1 1 1 1 1 1 1 1\n"])
def test_what_the_kernel_does_not_tell(stat: Path, text: str | None) -> None:
    """No file, an older kernel, another system, no time passed: None, never a made-up number."""
    if text is not None:
        stat.write_text(text)
    assert Workload().steal() is None


def test_the_larger_load_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A load that ends with the game, or begins in it, was there."""
    for loads in ([2.5, 0.5], [0.5, 2.5]):
        monkeypatch.setattr(os, "getloadavg", lambda loads=loads: (loads.pop(), 0.0, 0.0))
        assert Workload().load() == 2.5


def test_no_load_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """getloadavg fails where /proc is hidden."""

    def hidden() -> tuple[float, float, float]:
        raise OSError

    monkeypatch.setattr(os, "getloadavg", hidden)
    assert Workload().load() is None
