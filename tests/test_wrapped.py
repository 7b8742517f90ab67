"""Engines behind a command that passes on what is said, as those of another machine are behind ssh."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.engines import process
from enginetour.engines import protocol as base
from enginetour.engines.process import EngineProcess, living
from enginetour.model.game import Termination
from enginetour.model.task import EngineSpec
from enginetour.referee import relay
from enginetour.referee.talk import Link
from tests.playing import BOTH, Protocol, game, scripted, sound
from tests.test_game import drawn, lost
from tests.touring import BUSY_S, left_running, until

UNDISTURBED_NS = 100_000  # of a write: two more processes pass the answer on, and a sleep is no shorter than asked
RELAYING = str(Path(__file__).parent / "engines" / "relaying.py")


class Looking(Link):
    """What of an engine is running, by its mark, when its game has its first move."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark
        self.seen: list[str] = []

    def tell(self, name: str, payload: object) -> None:
        if name == "moves" and not self.seen:
            self.seen = left_running(self.mark)


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[Path]:
    """What the wrapper and its program can be found by; neither is alive afterwards."""
    yield tmp_path
    assert not living
    until(lambda: not left_running(tmp_path), BUSY_S)


def wrapped(engine: EngineSpec, mark: Path, *words: str) -> EngineSpec:
    """The same behind the wrapper."""
    command = (sys.executable, "-E", "-S", RELAYING, "--mark", str(mark), *words, *engine.command)
    return replace(engine, command=command)


@pytest.fixture
def writing(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """By engine: how long each write took that set it thinking, in ns; its clock starts behind that."""
    go, write = base.Engine.go, EngineProcess.write
    took: dict[str, list[int]] = {}
    last = 0

    def timed_write(process: EngineProcess, data: bytes) -> int:
        nonlocal last
        begun = time.monotonic_ns()
        stamp = write(process, data)
        last = stamp - begun
        return stamp

    def timed_go(engine: base.Engine, ask: base.Ask) -> int:
        stamp = go(engine, ask)
        took.setdefault(engine.spec.name, []).append(last)
        return stamp

    monkeypatch.setattr(relay, "native", None)  # it writes by itself
    monkeypatch.setattr(EngineProcess, "write", timed_write)
    monkeypatch.setattr(base.Engine, "go", timed_go)
    return took


@BOTH
def test_the_way_of_an_answer_is_charged(protocol: Protocol, mark: Path, writing: dict[str, list[int]]) -> None:
    """The clock is that of this side: each move costs what its answer was held back, whatever the engine says.

    Who was preempted in the write before it has not waited that long for the answer, and the clock says so.
    """
    here, looking = replace(sound(protocol), name="here"), Looking(mark)
    played = drawn(game(wrapped(sound(protocol), mark, "--ms", "30"), here, link=looking))
    assert not played.incidents
    assert {"relaying.py" in command for command in looking.seen} == {True, False}
    spent = [move.elapsed_ms for move in played.moves[::2]]
    for charged, own_ns in zip(spent, writing["sound"], strict=True):
        assert charged >= (30 if own_ns < UNDISTURBED_NS else (30 * base.MS - own_ns) // base.MS), own_ns
    assert played.moves[-2].clock_ms == 60_000 - sum(spent)


@BOTH
def test_an_answer_that_is_long_under_way_loses_on_time(protocol: Protocol, mark: Path) -> None:
    """The engine itself has answered at once."""
    engine = wrapped(replace(sound(protocol), name="far"), mark, "--ms", "1000")
    lost(game(engine, sound(protocol), white_tc="0.2"), "far", Termination.TIME)


@pytest.mark.parametrize("apart", [(), ("--apart",)])
@BOTH
def test_a_kill_takes_both(
    protocol: Protocol, apart: tuple[str, ...], mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that hears nothing any more goes with its wrapper, in the wrapper's session or in one of its own."""
    monkeypatch.setattr(base, "OWED_NS", 100 * base.MS)
    monkeypatch.setattr(process, "QUIT_WAIT", 0.2)
    engine = wrapped(scripted(protocol, "deaf", at=1), mark, *apart)
    lost(game(engine, sound(protocol), white_tc="0.2"), "deaf", Termination.TIME)


@pytest.mark.parametrize("apart", [(), ("--apart",)])
@BOTH
def test_a_lost_connection_is_a_crash(protocol: Protocol, apart: tuple[str, ...], mark: Path) -> None:
    """The wrapper ends while a move is owed: its exit code is told, and what it leaves behind does not stay."""
    engine = wrapped(replace(sound(protocol), name="far"), mark, "--breaks", "2", *apart)
    played = lost(game(engine, sound(protocol)), "far", Termination.CRASH)
    assert played.plies == 2
    assert "exit 255" in played.cause
