"""Tests of engines/identity."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.engines import identity
from enginetour.engines.identity import EngineFiles, fingerprint, is_path, missing_paths, new_fingerprint, path_options
from enginetour.engines.registry import load, to_spec
from enginetour.interop.files import bundled_directory
from enginetour.model.errors import EngineRefused, InputRefused
from enginetour.model.task import EngineSpec, Quirks, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.testing import PLAYING
from tests.support.databases import STOPS, WITH_NET
from tests.support.tournaments import audit, config, entrant, read, scripted, tour

# What makes two versions of an engine the same.


def _engine(folder: Path, content: str = "binary") -> EngineSpec:
    folder.mkdir(exist_ok=True)
    (folder / "engine").write_text(content)
    return EngineSpec("E", (str(folder / "engine"),), "uci")


def test_shape(tmp_path: Path) -> None:
    """A fingerprint has 16 hexadecimal digits and is the same each time."""
    spec = _engine(tmp_path)
    assert len(fingerprint(spec)) == 16
    assert int(fingerprint(spec), 16) >= 0
    assert fingerprint(spec) == fingerprint(replace(spec))


def test_what_does_not_count(tmp_path: Path) -> None:
    """Place, name, margins, copies, order and case of options, and logging do not change the fingerprint."""
    spec = replace(_engine(tmp_path / "a"), options=(("Hash", "16"), ("Threads", "1")))
    moved = replace(_engine(tmp_path / "b"), options=(("threads", "1"), ("hash", "16"), ("Debug Log File", "x.log")))
    other = replace(moved, name="F", max_copies=1, limits=frozenset({"clock"}), quirks=Quirks(ready_timeout=3.0))
    assert fingerprint(spec) == fingerprint(moved) == fingerprint(other)


def test_what_counts(tmp_path: Path) -> None:
    """Content, arguments, options, protocol, generated files, environment and init lines change the fingerprint."""
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
    """A net counts by its content, wherever it is; so does a program named in a generated file."""
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
    """A Python script counts with the modules next to it that it imports, also indirectly; others do not."""
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
    """A program that cannot be read is rejected."""
    with pytest.raises(EngineRefused, match=r"E: .*/none cannot be read: No such file"):
        fingerprint(EngineSpec("E", (str(tmp_path / "none"),), "uci"))


def test_own_levels_differ() -> None:
    """Each level of Wren is an engine of its own."""
    registry = load([bundled_directory("engines")])
    assert len({fingerprint(to_spec(registry.get(f"wren{level}"))) for level in range(1, 9)}) == 8


@pytest.mark.parametrize("option", ["Experience File", "LearnFile", "Hash File", "Persistent Learning"])
def test_an_engine_that_learns_stays_itself(tmp_path: Path, option: str) -> None:
    """An engine that writes what it learns after every game stays the same engine."""
    spec = replace(_engine(tmp_path), options=((option, "engine.exp"),))
    (tmp_path / "engine.exp").write_bytes(b"little")
    before = fingerprint(spec)
    (tmp_path / "engine.exp").write_bytes(b"more by now")
    assert fingerprint(spec) == before


@pytest.mark.parametrize("name", ["LogFile", "log_file", "Search Log", "Debug Log File", "DebugFile"])
def test_a_log_is_no_part_of_an_engine(tmp_path: Path, name: str) -> None:
    """A log is not part of an engine: LogFile of Lc0 counted by its content, and the run stopped after one game."""
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
    """A net behind an equals sign (``--weights=net.pb``) counts by its content, not by its place."""
    spec = _engine(tmp_path / "a")
    (tmp_path / "a" / "net.pb").write_text("weights")
    named, moved = (replace(spec, command=(*spec.command, f"--weights={net}")) for net in ("net.pb", tmp_path / "b.pb"))
    (tmp_path / "b.pb").write_text("weights")
    assert fingerprint(named) == fingerprint(moved) != fingerprint(spec)
    (tmp_path / "b.pb").write_text("others")
    assert fingerprint(named) != fingerprint(moved)


# Options that may make an engine open files: reported by check and in the event log of a run.

LOUD = f"""
[[entrants]]
name = "loud"
protocol = "uci"
command = {json.dumps([sys.executable, "-I", "-S", PLAYING])}
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
    """An option names a file if its value has a slash, or its name mentions files and its value is not empty."""
    assert is_path(name, value) is found


def test_each_is_named_with_its_engine() -> None:
    """Set and offered options are listed with their engine, in the order of the entrants."""
    first = EngineSpec("A", ("/a",), "uci", options=(("Hash", "1"), ("EvalFile", "net")), offered=(("TbPath", "/tb"),))
    sides = [Side(spec, TimeControl.parse("1+1")) for spec in (first, EngineSpec("B", ("/b",), "uci"))]
    assert path_options(sides) == ("A: EvalFile = net", "A: TbPath = /tb")


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("EvalFile=/no/net.nnue", "not found: /no/net.nnue"),
        ("SyzygyPath=HERE:/no/tables", "not found: /no/tables"),
        ("SyzygyPath=/no/a:/no/b", "not found: /no/a, /no/b"),
        ("BookFile=books/small.bin", "not found: books/small.bin"),
        *(("EvalFile=HERE", ""), ("EvalFile=nets/a.nnue", ""), ("EvalFile=nn-1c0000000000.nnue", "")),
        *(("Debug Log File=/no/log.txt", ""), ("Experience File=/no/exp.bin", ""), ("Url=http://a/b", "")),
    ],
)
def test_what_is_not_there(tmp_path: Path, option: str, told: str) -> None:
    """Missing files of options are reported: Stockfish ends at its first move without its net."""
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "a.nnue").touch()
    name, value = option.replace("HERE", str(tmp_path)).split("=", 1)
    spec = EngineSpec("A", (str(tmp_path / "a"),), "uci", options=((name, value),))
    found = list(missing_paths([Side(spec, TimeControl.parse("1+1"))]))
    assert found == ([f"A: {name} = {value}: {told}"] if told else [])


def test_run_and_check_warn_of_it(tmp_path: Path) -> None:
    """`run` and `check` warn before the first game."""
    reader = tmp_path / "reader.py"
    text = Path(PLAYING).with_name("scripted.py").read_text()
    reader.write_text(text.replace("option name Log ", "option name BookFile "))
    loud = LOUD.replace(PLAYING, str(reader)).replace('Log = "out.log"', 'BookFile = "/no.bin"')
    path = config(tmp_path, ("wren1",), "roundrobin", "", loud)
    for command in ("check", "run"):
        done = tour(tmp_path, command, str(path))
        assert "warning: loud: BookFile = /no.bin: not found: /no.bin\n" in done.stdout + done.stderr


def test_check_and_journal_tell_them(tmp_path: Path) -> None:
    """`check` and the event log list such options before the first game; engines without them are not mentioned."""
    path = config(tmp_path, ("wren1",), "roundrobin", "", LOUD)
    assert "may open files: loud: Log = out.log\n" in tour(tmp_path, "check", str(path)).stdout
    assert read(tmp_path, "check", str(path))["paths"] == ["loud: Log = out.log"]
    tour(tmp_path, "run", str(path))
    first = (tmp_path / "results" / "trial.log.jsonl").read_text().splitlines()[0]
    assert json.loads(first)["paths"] == ["loud: Log = out.log"]


# Engines replaced during a run or between two runs: noticed before their next game.

# It touches its own file in its first game, and becomes another engine in the second one.
HEAD = """\
import os
from pathlib import Path
own = Path(__file__)
mark = own.with_name("mark")  # nothing names it: a file that is an argument counts
"""
LOOP = "for line in sys.stdin:\n    words = line.split()\n"
BEGINS = """\
    if words[0] == "ucinewgame":
        number = int(mark.read_text()) + 1 if mark.exists() else 1
        mark.write_text(str(number))
        if number == 1:
            os.utime(own)
        if number == 2:
            own.write_text(own.read_text() + "# another")
"""


def known(folder: Path) -> EngineSpec:
    """Return an engine with a net, and the fingerprint of both."""
    (folder / "engine").write_text("binary")
    (folder / "net").write_text("weights")
    spec = EngineSpec("E", (str(folder / "engine"),), "uci", options=(("EvalFile", str(folder / "net")),))
    return replace(spec, fingerprint=identity.fingerprint(spec))


def test_what_stays_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first look, a game costs only a `stat` of each file."""
    spec, files = known(tmp_path), EngineFiles("trial")
    files.refuse_changed(spec)
    monkeypatch.setattr("enginetour.engines.identity.take_fingerprint", None)  # calling it would fail
    files.refuse_changed(spec, spec)


def test_a_net_that_is_gone_is_named(tmp_path: Path) -> None:
    """A missing net is named, because "changed" alone would suggest the program."""
    spec, files = known(tmp_path), EngineFiles("trial")
    files.refuse_changed(spec)
    (tmp_path / "net").unlink()
    with pytest.raises(InputRefused, match=rf"changed since the last game: E \({tmp_path}/net not found\)"):
        files.refuse_changed(spec)


@pytest.mark.parametrize("name", ["engine", "net"])
def test_a_file_with_other_bytes_is_another_engine(tmp_path: Path, name: str) -> None:
    """A program or net with other bytes is another engine, even with the size and times of the old file."""
    spec, files = known(tmp_path), EngineFiles("trial")
    files.refuse_changed(spec)
    path = tmp_path / name
    before = path.stat()
    path.write_text(path.read_text().upper())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(InputRefused, match=r"trial: changed since the last game: E \(binary, net or options\)"):
        files.refuse_changed(spec)
    assert new_fingerprint(spec) == identity.fingerprint(spec) != spec.fingerprint


def test_a_touched_or_copied_file_is_the_same_engine(tmp_path: Path) -> None:
    """Another time or inode with the same bytes does not stop a run."""
    spec, files = known(tmp_path), EngineFiles("trial")
    files.refuse_changed(spec)
    os.utime(tmp_path / "engine")
    files.refuse_changed(spec)
    (tmp_path / "copy").write_text("weights")
    (tmp_path / "copy").rename(tmp_path / "net")
    files.refuse_changed(spec)
    assert new_fingerprint(spec) is None


def test_a_program_that_is_gone_is_told_by_its_start(tmp_path: Path) -> None:
    """A missing program, as during a build, is a failed start; the new file is checked."""
    spec, files = known(tmp_path), EngineFiles("trial")
    files.refuse_changed(spec)
    (tmp_path / "engine").unlink()
    files.refuse_changed(spec)
    assert new_fingerprint(spec) is None
    (tmp_path / "engine").write_text("another")
    with pytest.raises(InputRefused, match="changed since the last game: E"):
        files.refuse_changed(spec)


def test_an_engine_replaced_before_the_first_game(tmp_path: Path) -> None:
    """A change after the fingerprint and before the first game is noticed."""
    spec = known(tmp_path)
    (tmp_path / "engine").write_text("another")
    with pytest.raises(InputRefused, match="changed since the last game: E"):
        EngineFiles("trial").refuse_changed(spec)


def odd_one(folder: Path) -> Path:
    """Return a round robin of four games between Ada and Netty, which is rebuilt meanwhile."""
    head, loop, rest = WITH_NET.partition(LOOP)
    (folder / "netty.py").write_text(HEAD + head + loop + BEGINS + rest)
    own = entrant("Netty", [sys.executable, "-I", str(folder / "netty.py")])
    return config(folder, (), "roundrobin", "cycles = 4", own + scripted("Ada", "uci"), tc="60+1")


def test_an_engine_rebuilt_while_a_run_goes_on_stops_it(tmp_path: Path) -> None:
    """A touch changes nothing; after a replacement the current game counts and none begins: exit 3, as for a resume."""
    path = odd_one(tmp_path)
    told = tour(tmp_path, "run", str(path), expect=3)
    assert STOPS in told.stderr
    assert told.stderr.count("changed since") == 1
    assert audit(tmp_path) == 2
    tour(tmp_path, "run", str(path), "--accept-change")
    assert audit(tmp_path) == 4


def test_an_engine_that_is_not_in_the_file_any_more_is_looked_at_too(tmp_path: Path) -> None:
    """An engine that is no longer in the configuration is checked too; an accepted change is a new version."""
    path = odd_one(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    head, _, _ = path.read_text().partition("\n[[entrants]]")
    path.write_text(head + scripted("Ada", "uci"))
    (tmp_path / "netty.py").write_text(WITH_NET)
    assert STOPS in tour(tmp_path, "run", str(path), expect=3).stderr
    tour(tmp_path, "run", str(path), "--accept-change", "--max-games", "1", expect=8)
    assert audit(tmp_path) == 2


def test_an_engine_of_unknown_content_has_not_changed(tmp_path: Path) -> None:
    """A tournament without stored fingerprints has nothing to compare."""
    assert new_fingerprint(replace(known(tmp_path), fingerprint="")) is None
