"""Courses for tests: an engine with faults, and patience that is short because it answers at once or never."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from enginetour.engines import cecp
from enginetour.engines.process import living
from enginetour.engines.protocol import MS
from enginetour.model.task import EngineSpec, Quirks
from enginetour.referee import probe
from enginetour.referee.compliance import cecp as cecp_module
from enginetour.referee.compliance import common, course, exam, uci
from enginetour.referee.compliance.course import examine
from enginetour.referee.compliance.exam import Compliance, ComplianceTask
from enginetour.referee.talk import Link
from tests.playing import Protocol

EXAMINEE = str(Path(__file__).parent / "engines" / "examinee.py")


def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not come from this engine at once never comes; where it must, there is room for a busy machine."""
    for name, seconds in (("PATIENCE_S", 2.0), ("SHORT_PATIENCE_S", 0.3)):
        monkeypatch.setattr(common, name, seconds)
    for module in (exam, uci, cecp_module, common):
        monkeypatch.setattr(module, "THOUGHT_S", 0.02, raising=False)
        monkeypatch.setattr(module, "QUIET_S", 0.1, raising=False)
    monkeypatch.setattr(probe, "AGAIN_S", ())
    monkeypatch.setattr(course, "TRIES", 1)
    monkeypatch.setattr(common, "ANSWER_S", 0.5)
    monkeypatch.setattr(cecp_module, "ANSWER_S", 0.5)
    monkeypatch.setattr(uci, "ANSWER_S", 0.5)
    monkeypatch.setattr(uci, "MOVE_S", 0.5)
    monkeypatch.setattr(uci, "OWED_S", 0.5)
    monkeypatch.setattr(cecp_module, "OWED_S", 0.5)
    monkeypatch.setattr(common, "QUIT_WAIT", 0.5)
    monkeypatch.setattr(common, "TERM_WAIT", 0.5)


def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is to come from a sound engine has all the time that a busy machine may take."""
    monkeypatch.setattr(cecp, "SILENT_NS", 20_000 * MS)
    for module in (common, cecp_module, uci):
        monkeypatch.setattr(module, "ANSWER_S", 20.0)
    for module in (cecp_module, uci):
        monkeypatch.setattr(module, "OWED_S", 20.0)
    monkeypatch.setattr(uci, "MOVE_S", 20.0)
    monkeypatch.setattr(common, "PATIENCE_S", 20.0)
    monkeypatch.setattr(common, "QUIT_WAIT", 20.0)
    monkeypatch.setattr(common, "TERM_WAIT", 20.0)


def taken(
    protocol: Protocol, fault: str, *only: str, limits: tuple[str, ...] = (), program: str = "", **quirks: object
) -> Compliance:
    """A course, or some of its steps; nothing of the engine is alive afterwards."""
    command: tuple[str, ...] = (sys.executable, "-E", EXAMINEE, "--protocol", protocol, "--fault", fault)
    if program:
        command = (program,)
    spec = EngineSpec(
        fault or "sound",
        command,
        protocol,
        dir="scratch",
        limits=frozenset(limits or ("clock", "movetime", "depth", *(["nodes"] if protocol == "uci" else []))),
        quirks=Quirks(**{"handshake_timeout": 20.0, "ready_timeout": 20.0, **quirks}),  # type: ignore[arg-type]
    )
    found = examine(ComplianceTask(spec, only), Link())
    assert not living
    return found
