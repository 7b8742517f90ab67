"""What makes two engine versions the same."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.engines.identity import fingerprint
from enginetour.engines.registry import load, to_spec
from enginetour.interop.files import shipped
from enginetour.model.errors import EngineRefused
from enginetour.model.task import EngineSpec, Quirks


def _engine(folder: Path, content: str = "binary") -> EngineSpec:
    folder.mkdir(exist_ok=True)
    (folder / "engine").write_text(content)
    return EngineSpec("E", (str(folder / "engine"),), "uci")


def test_shape(tmp_path: Path) -> None:
    """A fingerprint is 16 hexadecimal digits and the same each time."""
    spec = _engine(tmp_path)
    assert len(fingerprint(spec)) == 16
    assert int(fingerprint(spec), 16) >= 0
    assert fingerprint(spec) == fingerprint(replace(spec))


def test_what_does_not_count(tmp_path: Path) -> None:
    """Place, name, margins, copies, the order and case of options, and logging leave an engine the same."""
    spec = replace(_engine(tmp_path / "a"), options=(("Hash", "16"), ("Threads", "1")))
    moved = replace(_engine(tmp_path / "b"), options=(("threads", "1"), ("hash", "16"), ("Debug Log File", "x.log")))
    other = replace(moved, name="F", max_copies=1, limits=frozenset({"clock"}), quirks=Quirks(ready_timeout=3.0))
    assert fingerprint(spec) == fingerprint(moved) == fingerprint(other)


def test_what_counts(tmp_path: Path) -> None:
    """Content, arguments, options, protocol, generated files, environment and init lines make another engine."""
    spec = _engine(tmp_path / "a")
    others = [
        _engine(tmp_path / "b", "other"),
        replace(spec, command=(*spec.command, "-x")),
        replace(spec, options=(("Hash", "16"),)),
        replace(spec, options=(("Hash", "32"),)),
        replace(spec, protocol="cecp"),
        replace(spec, files=(("a.ini", "x"),)),
        replace(spec, files=(("a.ini", "y"),)),
        replace(spec, env=(("A", "b"),)),
        replace(spec, quirks=Quirks(init=("random",))),
    ]
    assert len({fingerprint(one) for one in (spec, *others)}) == 1 + len(others)


def test_a_rebuilt_program(tmp_path: Path) -> None:
    """A program replaced under the same name, size and time is another engine."""
    spec = _engine(tmp_path, "one")
    before, stamp = fingerprint(spec), (tmp_path / "engine").stat().st_mtime_ns
    (tmp_path / "new").write_text("two")
    os.utime(tmp_path / "new", ns=(stamp, stamp))
    (tmp_path / "new").rename(tmp_path / "engine")
    assert fingerprint(spec) != before


def test_nets_and_generated_files(tmp_path: Path) -> None:
    """A net counts by its content, wherever it lies; so does a program named in a generated file."""
    spec = _engine(tmp_path / "a")
    nets = []
    for name in ("x.nnue", "y.nnue"):
        (tmp_path / "a" / name).write_text("weights")
        nets.append(replace(spec, options=(("EvalFile", name),)))
        nets.append(replace(spec, options=(("EvalFile", str(tmp_path / "a" / name)),)))
    assert len({fingerprint(one) for one in nets}) == 1
    (tmp_path / "a" / "y.nnue").write_text("other weights")
    assert fingerprint(nets[0]) != fingerprint(nets[2])
    ini = [replace(spec, files=(("e.ini", f"EngineCommand = {tmp_path}/a/{name}\n"),)) for name in ("engine", "x.nnue")]
    assert fingerprint(ini[0]) != fingerprint(ini[1])
    (tmp_path / "copy").write_text("binary")
    assert fingerprint(ini[0]) == fingerprint(replace(spec, files=(("e.ini", f"EngineCommand = {tmp_path}/copy\n"),)))


def test_modules_of_a_script(tmp_path: Path) -> None:
    """A Python script counts with the modules beside it that it imports, near or far; others do not."""
    spec = _engine(tmp_path)
    spec = replace(spec, command=(*spec.command, str(tmp_path / "s.py")))
    (tmp_path / "s.py").write_text("import os\nfrom near import x\n")
    (tmp_path / "near.py").write_text("import far, s\n")
    prints = [fingerprint(spec)]
    for name in ("near.py", "far.py", "other.py"):
        with (tmp_path / name).open("a") as file:
            file.write("import far\n")
        prints.append(fingerprint(spec))
    assert prints[0] != prints[1] != prints[2] == prints[3]


def test_missing_program(tmp_path: Path) -> None:
    """A program that cannot be read is an engine refused."""
    with pytest.raises(EngineRefused, match=r"E: cannot read .*/none: No such file"):
        fingerprint(EngineSpec("E", (str(tmp_path / "none"),), "uci"))


def test_own_levels_differ() -> None:
    """The levels of our own engine are engines of their own."""
    registry = load([shipped("engines")])
    assert len({fingerprint(to_spec(registry.get(f"wren{level}"))) for level in range(1, 9)}) == 8


@pytest.mark.parametrize("option", ["Experience File", "LearnFile", "Hash File", "Persistent Learning"])
def test_an_engine_that_learns_stays_itself(tmp_path: Path, option: str) -> None:
    """It writes into that file after every game: the night would end at the second one."""
    spec = replace(_engine(tmp_path), options=((option, "engine.exp"),))
    (tmp_path / "engine.exp").write_bytes(b"little")
    before = fingerprint(spec)
    (tmp_path / "engine.exp").write_bytes(b"more by now")
    assert fingerprint(spec) == before


@pytest.mark.parametrize("name", ["LogFile", "log_file", "Search Log", "Debug Log File", "DebugFile"])
def test_a_log_is_no_part_of_an_engine(tmp_path: Path, name: str) -> None:
    """LogFile, as Lc0 has it, counted by its content: the run stopped after the engine's first game."""
    spec = _engine(tmp_path)
    assert fingerprint(replace(spec, options=((name, "run.log"),))) == fingerprint(spec)
    flag = replace(spec, command=(*spec.command, f"--{name.replace(' ', '-')}=run.log"))
    before = fingerprint(flag)
    (tmp_path / "run.log").write_text("go nodes 1")
    assert fingerprint(replace(spec, options=((name, "run.log"),))) == fingerprint(spec)
    assert fingerprint(flag) == before
    for other in ("Logic", "Dialogue"):
        assert fingerprint(replace(spec, options=((other, "run.log"),))) != fingerprint(spec)


def test_a_net_behind_a_sign_of_equality(tmp_path: Path) -> None:
    """``--weights=net.pb``: another net under this name passed for the same engine; where it lies is nothing."""
    spec = _engine(tmp_path / "a")
    (tmp_path / "a" / "net.pb").write_text("weights")
    named, moved = (replace(spec, command=(*spec.command, f"--weights={net}")) for net in ("net.pb", tmp_path / "b.pb"))
    (tmp_path / "b.pb").write_text("weights")
    assert fingerprint(named) == fingerprint(moved) != fingerprint(spec)
    (tmp_path / "b.pb").write_text("others")
    assert fingerprint(named) != fingerprint(moved)
