"""Tests of referee/startup: whether engines live on between games (restart = "auto", "on", "off")."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from enginetour.engines.process import running_engines
from enginetour.model.game import Incident, Outcome, Termination
from enginetour.model.task import EngineSpec, Restart, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.startup import EnginePool, Seat
from enginetour.tournament.plan import prepare
from tests.support.engines import Protocol, deaf_at_first, drawn, game, lost, scripted, sound
from tests.support.tournaments import config, tour


def pids() -> set[int]:
    return {process.pid for process in running_engines}


def test_on_is_a_new_process_for_each_game(pool: EnginePool) -> None:
    """ "on" means a new process for each game of that side only."""
    fresh, kept = replace(sound(), restart="on"), sound("cecp")
    drawn(game(fresh, kept, pool=pool))
    assert len(before := pids()) == 1
    drawn(game(fresh, kept, pool=pool))
    assert pids() == before


@pytest.mark.parametrize(("mode", "left"), [("auto", 0), ("off", 2)])
def test_off_keeps_whoever_can_go_on(mode: Restart, left: int, pool: EnginePool) -> None:
    """A broken rule and `reuse=0` end a process with "auto", but not with "off"."""

    def wish(spec: EngineSpec) -> EngineSpec:
        return replace(spec, restart=mode)

    guilty, unwilling = wish(scripted("uci", "illegal")), wish(scripted("cecp", "no-reuse"))
    lost(game(guilty, unwilling, pool=pool), "illegal", Termination.ILLEGAL_MOVE)
    assert len(running_engines) == left


def test_off_cannot_keep_the_dead(pool: EnginePool) -> None:
    """ "off" cannot keep an engine that crashed."""
    lost(game(replace(scripted("uci", "crash"), restart="off"), sound(), pool=pool), "crash", Termination.CRASH)
    assert len(running_engines) == 1


def test_the_entrants_wish_goes_before_the_tournaments(tmp_path: Path) -> None:
    """An entrant's own `restart` replaces that of [play]; another word is rejected at its place."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "", more='\nrestart = "off"')
    plain = path.read_text()
    path.write_text(plain.replace("[play]", '[play]\nrestart = "on"'))
    assert [side.spec.restart for side in prepare(path, None).sides.values()] == ["on", "off"]
    path.write_text(plain.replace('restart = "off"', 'restart = "never"'))
    told = tour(tmp_path, "check", str(path), expect=3).stderr
    assert "restart" in told and "auto" in told and f"{path.name}:" in told


def test_one_that_is_deaf_at_its_first_start_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that misses its input at its first start is started again, with an incident."""
    played = game(sound(), deaf_at_first(tmp_path / "starts", 1, monkeypatch))
    drawn(played)
    (told,) = played.incidents
    assert (told.engine, told.category) == ("deaf-at-first", "restart")
    assert told.cause.startswith(
        "restarted because the old process could not begin a game: no feature line within 20 s"
    )
    assert (tmp_path / "starts").read_text() == ".."


def test_one_that_stays_deaf_is_started_three_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After three silent starts the game is void."""
    starts = tmp_path / "starts"
    played = game(deaf_at_first(starts, 9, monkeypatch), sound())
    assert played.outcome is Outcome.VOID
    assert [told.category for told in played.incidents] == ["start-timeout", "restart", "restart"]
    assert starts.read_text() == "..."


HOLD = "import sys; held = bytearray(1 << 25); print(flush=True); sys.stdin.read()"  # 32 MiB
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD!r}])"


def seat(pid: int) -> Seat:
    """Return a seat with an engine of this process."""
    found = Seat(Side(sound(), TimeControl()), Rules(), white=True)
    found.sit(SimpleNamespace(process=SimpleNamespace(engine_pid=pid)))  # type: ignore[arg-type]  # all that is asked
    return found


def test_children_count_and_the_dead_are_remembered() -> None:
    """Memory is the sum over the process and its children; its end does not change it."""
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
    """A process that is gone before the first look has no memory figure."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert seat(gone.pid).look() is None
    assert seat(os.getpid()).look() is not None


def told(fault: str, protocol: Protocol = "uci", **more: str) -> Incident:
    (found,) = game(scripted(protocol, fault), sound(), doubtful_flag="loss", **more).incidents  # type: ignore[arg-type]
    return found


def test_what_is_measured_beside_a_crash() -> None:
    """A crash is recorded with status, time of `go`, memory, load and the delay of the referee."""
    crash = told("segv")
    assert crash.status == "signal 11 (SIGSEGV)"
    assert f"{(crash.last_go_us or 0) / 1e6:.6f} > go" in "\n".join(crash.traffic)
    assert (crash.memory_kb or 0) > 1000
    assert crash.load_average is not None
    assert crash.referee_us is not None


def test_what_is_measured_beside_a_time_loss() -> None:
    """A time loss has no status; in CECP the time is that of the move or `go`."""
    late = told("hang", "cecp", white_tc="0.2")
    assert (late.status, late.category) == ("", "time")
    stamped = [line for line in late.traffic if line.startswith(f"{(late.last_go_us or 0) / 1e6:.6f} > ")]
    assert stamped[-1].endswith(("go", "g8f6", "f6g8"))
    assert "referee delay up to" in late.cause
