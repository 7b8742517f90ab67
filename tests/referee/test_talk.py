"""Tests of referee/talk."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from enginetour.engines.process import kill_running_engines, running_engines
from enginetour.engines.starting import Launch, StartedProcess
from enginetour.model.errors import MachineFailure, StartFailed
from enginetour.model.game import Game, Pairing, Termination
from enginetour.model.task import EngineSpec, GameTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.link import Link
from enginetour.referee.talk import handshake_all, open_engines
from enginetour.tournament.executor import LocalExecutor
from tests.support.engines import sound
from tests.support.tournaments import LONG_S

# A flood of info lines in one game, measured by the time stamps of all four engines of two games.

# It shuffles its knights, notes the time of each `go` and answer, and prints info lines meanwhile.
STAMPING = """\
import os, sys, time
path, lines, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
moves, plies = ["g1f3", "g8f6", "f3g1", "f6g8"], 0
block = b"info depth 9 score cp 13 nodes 12345 pv g1f3\\n" * (lines // 100)
for line in sys.stdin:
    words = line.split()
    if words[0] == "position":
        plies = len(words[words.index("moves") + 1:]) if "moves" in words else 0
    if words[0] == "go":
        heard = due = time.monotonic_ns()
        while block and due < heard + seconds * 1e9:
            rest = block
            while rest:
                rest = rest[os.write(1, rest):]
            due += 10_000_000
            time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        answered = time.monotonic_ns()
        os.write(1, b"bestmove %s\\n" % moves[plies % 4].encode())
        with open(path, "a") as file:
            print(plies, heard, answered, file=file)
    print({"uci": "uciok", "isready": "readyok"}.get(words[0], ""), flush=True)
"""
LINES = 100_000  # per second (reliability spec 6)
FLOOD_S = 0.3  # per move
CLOCK_ERROR_MS = 10.0  # of the engine that floods: the same
DELAY_MS = 5.0  # of moves of other games: the same


@dataclass(frozen=True)
class Stamp:
    """One search by the engine's own clock, CLOCK_MONOTONIC in ns."""

    ply: int
    heard: int
    answered: int


def engine(folder: Path, name: str, lines: int = 0) -> EngineSpec:
    script = folder / "stamping.py"
    script.write_text(STAMPING)
    command = (sys.executable, "-I", "-S", str(script), str(folder / name), str(lines), str(FLOOD_S))
    return EngineSpec(name, command, "uci", dir="scratch")


def task(white: EngineSpec, black: EngineSpec) -> GameTask:
    long = TimeControl.parse("60+1")
    return GameTask(Pairing(white.name, black.name), Side(white, long), Side(black, long))


def stamps(folder: Path, name: str) -> list[Stamp]:
    return [Stamp(*map(int, line.split())) for line in (folder / name).read_text().splitlines()]


def test_a_flood_touches_no_other_game_and_not_its_own_clock(tmp_path: Path) -> None:
    """100 000 lines per second delay neither the other game nor the flooding engine's clock.

    Medians are compared, so that a busy machine does not decide.
    """
    flood = task(engine(tmp_path, "Flood", LINES), engine(tmp_path, "Calm"))
    quiet = task(engine(tmp_path, "Ada"), engine(tmp_path, "Bea"))
    with LocalExecutor(2) as place:
        others = [place.submit(quiet, prefer=0).result(LONG_S)]  # its engines stay, so that the next ones begin at once
        flooded = place.submit(flood, prefer=1)
        while not flooded.done():
            others.append(place.submit(quiet, prefer=0).result(LONG_S))
        first = flooded.result()
    assert isinstance(first, Game)
    assert first.termination is Termination.REPETITION
    for game in others:
        assert isinstance(game, Game)
        assert game.termination is Termination.REPETITION
    floods = stamps(tmp_path, "Flood")
    assert median(stamp.answered - stamp.heard for stamp in floods) >= FLOOD_S * 1e9
    charged = [move.elapsed_ms for move in first.moves[::2]]
    errors = [ms - (stamp.answered - stamp.heard) / 1e6 for ms, stamp in zip(charged, floods, strict=True)]
    assert abs(median(errors)) < CLOCK_ERROR_MS, errors
    begun, ended = floods[0].heard, floods[-1].answered
    said = sorted((stamp for name in ("Ada", "Bea") for stamp in stamps(tmp_path, name)), key=lambda stamp: stamp.heard)
    gaps = [
        (after.heard - before.answered) / 1e6
        for before, after in pairwise(said)
        if after.ply == before.ply + 1 and begun < before.answered < ended
    ]
    assert gaps
    assert median(gaps) < DELAY_MS, gaps


# Engines that start together: none waits for another, and a failure leaves none behind.

# It marks its start, then is silent until the other one has started too.
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
    """Two engines that are silent until the other one runs complete their handshakes."""
    script, one, other = tmp_path / "shy.py", tmp_path / "one", tmp_path / "other"
    script.write_text(SHY)
    specs = [
        EngineSpec(mine.name, (sys.executable, "-I", "-S", str(script), str(mine), str(theirs)), "uci", dir="scratch")
        for mine, theirs in ((one, other), (other, one))
    ]
    try:
        assert [greeted.fault for greeted in handshake_all(specs, Link())] == [None, None]
    finally:
        kill_running_engines()


def test_all_are_launched_before_one_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two starts take about as long as one."""
    seen: list[str] = []
    begin, started = Launch.__init__, Launch.started

    def launched(launch: Launch, *words: Any) -> None:
        seen.append("launched")
        begin(launch, *words)

    def awaited(launch: Launch) -> StartedProcess:
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
    """A failed start leaves no engine, launcher, descriptor or scratch directory."""
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
    assert not running_engines
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert os.listdir(tmp_path) == []
