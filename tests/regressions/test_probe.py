"""What once made a whole run refuse an engine that was fit."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path
from typing import Any

import pytest

from enginetour.engines import cecp, protocol
from enginetour.engines.process import living
from enginetour.model.errors import InputRefused, MachineFailure
from enginetour.model.task import EngineSpec, Probe, ProbeTask, Side, Terms
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import probe
from enginetour.referee.talk import Link
from enginetour.tournament.config.entrants import refuse_limits
from enginetour.tournament.probing import refuse_unfit
from tests.playing import Protocol, scripted, sound

SOON = (0.01, 0.02)


def moody(folder: Path, protocol: Protocol, fault: str, times: int, **quirks: Any) -> EngineSpec:
    """An engine with a fault in its first processes, and sound from then on; it counts them in the folder."""
    bad, good = scripted(protocol, fault, at=1, **quirks), sound(protocol)
    count = f'n=$(cat {folder}/tries 2>/dev/null || echo 0); echo $((n + 1)) > {folder}/tries; [ "$n" -lt {times} ]'
    script = f"if {count}; then exec {shlex.join(bad.command)}; else exec {shlex.join(good.command)}; fi"
    return EngineSpec("moody", ("/bin/sh", "-c", script), protocol, dir="scratch", quirks=bad.quirks)


def tries(folder: Path) -> int:
    return int((folder / "tries").read_text())


def tried(spec: EngineSpec) -> Probe:
    found = probe.probe(ProbeTask(spec), Link())
    assert not living
    return found


@pytest.mark.parametrize("protocol", ["uci", "cecp"])
@pytest.mark.parametrize("times", [1, 2])
def test_an_engine_that_fails_at_its_first_starts_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: Protocol, times: int
) -> None:
    """As the suspend rule: two more tries; what was wrong stays among the steps."""
    monkeypatch.setattr(probe, "AGAIN_S", SOON)
    found = tried(moody(tmp_path, protocol, "exit-at-start", times))
    assert not found.problems
    assert [what for what, good, _ in found.steps if not good] == ["an earlier try"] * times
    assert tries(tmp_path) == times + 1


def test_after_three_tries_it_is_unfit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No fourth one, and the problem is told once."""
    monkeypatch.setattr(probe, "AGAIN_S", SOON)
    found = tried(moody(tmp_path, "uci", "exit-at-start", 9))
    assert len(found.problems) == 1
    assert tries(tmp_path) == 3


def test_what_would_be_found_again_is_not_tried_again(tmp_path: Path) -> None:
    """A program that says nothing of the protocol in all its time does not speak it."""
    found = tried(moody(tmp_path, "uci", "silent", 9, handshake_timeout=1.0))
    assert found.category == "start-timeout"
    assert tries(tmp_path) == 1


def test_a_stop_ends_the_wait_for_the_next_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody who says stop waits for the five seconds."""

    class Stopped(Link):
        def stopping(self) -> str:  # type: ignore[override]
            return "now" if (tmp_path / "tries").exists() else ""

    link = Stopped()
    link.control_fd, writing = os.pipe()
    os.write(writing, b"!")
    monkeypatch.setattr(probe, "AGAIN_S", (600.0, 600.0))
    begun = time.monotonic()
    with pytest.raises(MachineFailure, match="stopped"):
        probe.probe(ProbeTask(moody(tmp_path, "uci", "exit-at-start", 9)), link)
    assert time.monotonic() - begun < 60
    os.close(link.control_fd)
    os.close(writing)


def test_nodes_that_a_cecp_engine_cannot_be_told_are_refused() -> None:
    """Its file may list them: each game was void then, and every pairing stayed open."""
    spec, nodes, clock = scripted("cecp", name="Ada"), TimeControl.parse("nodes=500"), TimeControl.parse("9")
    told = Probe("Ada", features=(("nps", "1"), ("ping", "1")))
    for side in (Side(spec, nodes, 0), Side(spec, clock, 0, black=Terms(nodes, 0))):
        refuse_unfit({"Ada": told}, {"Ada": side})
        with pytest.raises(InputRefused, match="Ada cannot be limited by nodes: it does not declare nps"):
            refuse_unfit({"Ada": Probe("Ada", features=(("ping", "1"),))}, {"Ada": side})
    refuse_unfit({"Ada": Probe("Ada")}, {"Ada": Side(spec, clock, 0)})
    for beside in ("9,nodes=500", "movetime=1,nodes=500"):
        with pytest.raises(InputRefused, match="no nodes beside a time"):
            refuse_limits(spec, TimeControl.parse(beside), "play.tc")
    refuse_limits(spec, TimeControl.parse("nodes=500,depth=3"), "play.tc")


def test_an_engine_of_protocol_1_may_mind_an_empty_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its complaint of it was taken for features that came late: the whole run was refused, with a wrong hint."""
    monkeypatch.setattr(cecp, "SILENT_NS", 200 * protocol.MS)
    found = tried(scripted("cecp", "minds-empty-lines"))
    assert not found.problems
    assert ("features", True, "a move but no feature line: taken as protocol 1") in found.steps
