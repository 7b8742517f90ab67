"""Options that may make an engine open files: told by check and in the journal of a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from enginetour.pathoptions import is_path, path_options
from enginetour.task import EngineSpec, Side
from enginetour.timecontrol import TimeControl
from tests.playing import SCRIPT
from tests.touring import config, read, tour

LOUD = f"""
[[entrants]]
name = "loud"
protocol = "uci"
command = {json.dumps([sys.executable, SCRIPT])}
options = {{ Log = "out.log", Hash = 2 }}
"""


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        *(("Debug Log File", "out.txt", True), ("SyzygyPath", "C:\\tb", True), ("LogDir", "x", True)),
        *(("Write Debug Log", "true", True), ("Write Debug Log", "false", False), ("BookFile", "<empty>", False)),
        *(("Style", "../../etc/passwd", True), ("Hash", "64", False), ("Style", "Normal", False), ("Path", "", False)),
    ],
)
def test_what_looks_like_a_path(name: str, value: str, found: bool) -> None:
    """A slash in the value, or a name that speaks of files and a value that says something."""
    assert is_path(name, value) is found


def test_each_is_named_with_its_engine() -> None:
    """Those that are given and those that are offered, in the order of the entrants."""
    first = EngineSpec("A", ("/a",), "uci", options=(("Hash", "1"), ("EvalFile", "net")), offered=(("TbPath", "/tb"),))
    sides = [Side(spec, TimeControl.parse("1+1")) for spec in (first, EngineSpec("B", ("/b",), "uci"))]
    assert path_options(sides) == ("A: EvalFile = net", "A: TbPath = /tb")


def test_check_and_journal_tell_them(tmp_path: Path) -> None:
    """Before the first game, in words and as JSON; nothing is said of engines without such options."""
    path = config(tmp_path, ("wren1",), "roundrobin", "", LOUD)
    assert "may open files: loud: Log = out.log\n" in tour(tmp_path, "check", str(path)).stdout
    assert read(tmp_path, "check", str(path))["paths"] == ["loud: Log = out.log"]
    tour(tmp_path, "run", str(path))
    first = (tmp_path / "results" / "trial.log.jsonl").read_text().splitlines()[0]
    assert json.loads(first)["paths"] == ["loud: Log = out.log"]
