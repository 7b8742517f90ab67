"""Engines that begin side by side: none waits for another, and a failure leaves none behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from enginetour.engines.process import kill_living, living
from enginetour.engines.start import open_engines
from enginetour.engines.starting import Launch, Started
from enginetour.model.errors import MachineFailure, StartFailed
from enginetour.model.task import EngineSpec
from enginetour.referee.talk import Link, greet
from tests.playing import sound

# Tells of itself, then speaks no word before the other has told of itself too.
SHY = """\
import os, sys, time
mine, other = sys.argv[1:]
open(mine, "w").close()
while not os.path.exists(other):
    time.sleep(0.001)
for line in sys.stdin:
    print({"uci": "uciok", "isready": "readyok"}.get(line.split()[0], ""), flush=True)
"""
GONE = EngineSpec("gone", ("/no/such/engine",), "uci")


def test_two_greet_at_the_same_time(tmp_path: Path) -> None:
    """Two engines of which neither speaks before the other runs shake hands."""
    script, one, other = tmp_path / "shy.py", tmp_path / "one", tmp_path / "other"
    script.write_text(SHY)
    specs = [
        EngineSpec(mine.name, (sys.executable, "-I", "-S", str(script), str(mine), str(theirs)), "uci", dir="scratch")
        for mine, theirs in ((one, other), (other, one))
    ]
    try:
        assert [greeted.fault for greeted in greet(specs, Link())] == [None, None]
    finally:
        kill_living()


def test_all_are_launched_before_one_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two starts take about as long as one."""
    seen: list[str] = []
    begin, started = Launch.__init__, Launch.started

    def launched(launch: Launch, *words: Any) -> None:
        seen.append("launched")
        begin(launch, *words)

    def awaited(launch: Launch) -> Started:
        seen.append("awaited")
        return started(launch)

    monkeypatch.setattr(Launch, "__init__", launched)
    monkeypatch.setattr(Launch, "started", awaited)
    for engine in open_engines(sound(), sound("cecp")):
        assert not isinstance(engine, StartFailed)
        engine.kill()
    assert seen == ["launched", "launched", "awaited", "awaited"]


@pytest.mark.parametrize("what", ["__init__", "started"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_failure_of_the_machine_leaves_none(
    what: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever start it fails, before or after the others: no engine, launcher, descriptor or scratch folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    usual, calls = getattr(Launch, what), iter(range(1, 3))

    def fails(launch: Launch, *words: object) -> object:
        if next(calls) < number:
            return usual(launch, *words)
        if what == "started":
            launch.drop()
        raise MachineFailure("no room for a process")

    before = sorted(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(Launch, what, fails)
    with pytest.raises(MachineFailure):
        open_engines(sound(), sound())
    assert not living
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert os.listdir(tmp_path) == []
