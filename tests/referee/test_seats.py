"""How much memory an engine was seen to hold."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

from enginetour.model.game import Incident
from enginetour.model.task import Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.seats import Seat
from tests.support.engines import Protocol, game, scripted, sound

HOLD = "import sys; held = bytearray(1 << 25); print(flush=True); sys.stdin.read()"  # 32 MiB
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD!r}])"


def seat(pid: int) -> Seat:
    """One at which an engine with this process sits."""
    found = Seat(Side(sound(), TimeControl()), Rules(), white=True)
    found.sit(SimpleNamespace(process=SimpleNamespace(engine_pid=pid)))  # type: ignore[arg-type]  # all that is asked
    return found


def test_children_count_and_the_dead_are_remembered() -> None:
    """The sum over the process and what it started; its end does not change what was seen."""
    command = [sys.executable, "-c", CHILD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        footprint = seat(process.pid)
        alive = footprint.look()
        process.communicate(b"")
    assert alive is not None
    assert alive > 32 << 10
    assert footprint.look() == alive


def test_who_was_never_seen_has_none() -> None:
    """A process that is gone before the first look."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert seat(gone.pid).look() is None
    assert seat(os.getpid()).look() is not None


def told(fault: str, protocol: Protocol = "uci", **more: str) -> Incident:
    (found,) = game(scripted(protocol, fault), sound(), doubtful_flag="loss", **more).incidents  # type: ignore[arg-type]
    return found


def test_what_is_measured_beside_a_crash() -> None:
    """How it ended, when it was asked, memory, load and the referee's own share."""
    crash = told("segv")
    assert crash.status == "signal 11 (SIGSEGV)"
    assert f"{(crash.asked_us or 0) / 1e6:.6f} > go" in "\n".join(crash.traffic)
    assert (crash.memory_kb or 0) > 1000
    assert crash.load is not None
    assert crash.own_us is not None


def test_what_is_measured_beside_a_time_loss() -> None:
    """It lives, so it has no status; in CECP the line that set it thinking is the move or `go`."""
    late = told("hang", "cecp", white_tc="0.2")
    assert (late.status, late.category) == ("", "time")
    stamped = [line for line in late.traffic if line.startswith(f"{(late.asked_us or 0) / 1e6:.6f} > ")]
    assert stamped[-1].endswith(("go", "g8f6", "f6g8"))
    assert "referee's own share up to" in late.cause
