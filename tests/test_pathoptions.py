"""Options that may make an engine open files: told by check and in the journal of a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from enginetour.engines.identity import absent_paths, is_path, path_options
from enginetour.model.task import EngineSpec, Side
from enginetour.model.timecontrol import TimeControl
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


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("EvalFile=/no/net.nnue", "there is no /no/net.nnue"),
        ("SyzygyPath=HERE:/no/tables", "there is no /no/tables"),
        ("SyzygyPath=/no/a:/no/b", "there is no /no/a and no /no/b"),
        ("BookFile=books/small.bin", "there is no books/small.bin"),
        *(("EvalFile=HERE", ""), ("EvalFile=nets/a.nnue", ""), ("EvalFile=nn-1c0000000000.nnue", "")),
        *(("Debug Log File=/no/log.txt", ""), ("Experience File=/no/exp.bin", ""), ("Url=http://a/b", "")),
    ],
)
def test_what_is_not_there(tmp_path: Path, option: str, told: str) -> None:
    """Stockfish ends at its first move without its net: check called it fit, and it lost every game without a word."""
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "a.nnue").touch()
    name, value = option.replace("HERE", str(tmp_path)).split("=", 1)
    spec = EngineSpec("A", (str(tmp_path / "a"),), "uci", options=((name, value),))
    found = list(absent_paths([Side(spec, TimeControl.parse("1+1"))]))
    assert found == ([f"A: {name} = {value}: {told}"] if told else [])


def test_run_and_check_warn_of_it(tmp_path: Path) -> None:
    """Both, before the first game."""
    reader = tmp_path / "reader.py"
    reader.write_text(Path(SCRIPT).read_text().replace("option name Log ", "option name BookFile "))
    loud = LOUD.replace(SCRIPT, str(reader)).replace('Log = "out.log"', 'BookFile = "/no.bin"')
    path = config(tmp_path, ("wren1",), "roundrobin", "", loud)
    for command in ("check", "run"):
        done = tour(tmp_path, command, str(path))
        assert "warning: loud: BookFile = /no.bin: there is no /no.bin\n" in done.stdout + done.stderr


def test_check_and_journal_tell_them(tmp_path: Path) -> None:
    """Before the first game, in words and as JSON; nothing is said of engines without such options."""
    path = config(tmp_path, ("wren1",), "roundrobin", "", LOUD)
    assert "may open files: loud: Log = out.log\n" in tour(tmp_path, "check", str(path)).stdout
    assert read(tmp_path, "check", str(path))["paths"] == ["loud: Log = out.log"]
    tour(tmp_path, "run", str(path))
    first = (tmp_path / "results" / "trial.log.jsonl").read_text().splitlines()[0]
    assert json.loads(first)["paths"] == ["loud: Log = out.log"]
