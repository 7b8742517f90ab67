"""Engines replaced while a run goes on, or between two: noticed before their next game."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.engines import identity
from enginetour.engines.identity import Files, new_fingerprint
from enginetour.model.errors import InputRefused
from enginetour.model.task import EngineSpec
from tests.forked import scripted
from tests.test_refused_runs import STOPS, WITH_NET
from tests.touring import audit, config, entrant, tour

# When its first game begins it touches its own file, at the second one it becomes another engine.
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
    """An engine with a net, and the fingerprint of both."""
    (folder / "engine").write_text("binary")
    (folder / "net").write_text("weights")
    spec = EngineSpec("E", (str(folder / "engine"),), "uci", options=(("EvalFile", str(folder / "net")),))
    return replace(spec, fingerprint=identity.fingerprint(spec))


def test_what_stays_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first look a game costs a `stat` of each file and no more."""
    spec, files = known(tmp_path), Files("trial")
    files.refuse_changed(spec)
    monkeypatch.setattr("enginetour.engines.identity.taken", None)  # calling it would fail
    files.refuse_changed(spec, spec)


def test_a_net_that_is_gone_is_named(tmp_path: Path) -> None:
    """The option then counts as a mere word; "changed" alone would send its owner to look at the program."""
    spec, files = known(tmp_path), Files("trial")
    files.refuse_changed(spec)
    (tmp_path / "net").unlink()
    with pytest.raises(InputRefused, match=rf"changed since the last game: E \({tmp_path}/net is gone\)"):
        files.refuse_changed(spec)


@pytest.mark.parametrize("name", ["engine", "net"])
def test_a_file_with_other_bytes_is_another_engine(tmp_path: Path, name: str) -> None:
    """The program as well as a net, though size and times of the old file were put on the new one."""
    spec, files = known(tmp_path), Files("trial")
    files.refuse_changed(spec)
    path = tmp_path / name
    before = path.stat()
    path.write_text(path.read_text().upper())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(InputRefused, match=r"trial: changed since the last game: E \(binary, net or options\)"):
        files.refuse_changed(spec)
    assert new_fingerprint(spec) == identity.fingerprint(spec) != spec.fingerprint


def test_a_touched_or_copied_file_is_the_same_engine(tmp_path: Path) -> None:
    """Another time or inode with the same bytes goes on."""
    spec, files = known(tmp_path), Files("trial")
    files.refuse_changed(spec)
    os.utime(tmp_path / "engine")
    files.refuse_changed(spec)
    (tmp_path / "copy").write_text("weights")
    (tmp_path / "copy").rename(tmp_path / "net")
    files.refuse_changed(spec)
    assert new_fingerprint(spec) is None


def test_a_program_that_is_gone_is_told_by_its_start(tmp_path: Path) -> None:
    """While a compiler writes there may be none: that is a failed start; what comes in its place is looked at."""
    spec, files = known(tmp_path), Files("trial")
    files.refuse_changed(spec)
    (tmp_path / "engine").unlink()
    files.refuse_changed(spec)
    assert new_fingerprint(spec) is None
    (tmp_path / "engine").write_text("another")
    with pytest.raises(InputRefused, match="changed since the last game: E"):
        files.refuse_changed(spec)


def test_an_engine_replaced_before_the_first_game(tmp_path: Path) -> None:
    """The fingerprint was taken before the engines were tried; what happened since is seen as well."""
    spec = known(tmp_path)
    (tmp_path / "engine").write_text("another")
    with pytest.raises(InputRefused, match="changed since the last game: E"):
        Files("trial").refuse_changed(spec)


def odd_one(folder: Path) -> Path:
    """A round robin of four games between Ada and Netty, who is rebuilt meanwhile."""
    head, loop, rest = WITH_NET.partition(LOOP)
    (folder / "netty.py").write_text(HEAD + head + loop + BEGINS + rest)
    own = entrant("Netty", [sys.executable, "-I", str(folder / "netty.py")])
    return config(folder, (), "roundrobin", "cycles = 4", own + scripted("Ada", "uci"), tc="60+1")


def test_an_engine_rebuilt_while_a_run_goes_on_stops_it(tmp_path: Path) -> None:
    """A touch is nothing; the game in which it was replaced counts and none begins after: exit 3, as at a resume."""
    path = odd_one(tmp_path)
    told = tour(tmp_path, "run", str(path), expect=3)
    assert STOPS in told.stderr
    assert told.stderr.count("changed since") == 1
    assert audit(tmp_path) == 2
    tour(tmp_path, "run", str(path), "--accept-change")
    assert audit(tmp_path) == 4


def test_an_engine_that_is_not_in_the_file_any_more_is_looked_at_too(tmp_path: Path) -> None:
    """It plays on as the log knows it: replaced between two runs it is refused, accepted it is a new version."""
    path = odd_one(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    head, _, _ = path.read_text().partition("\n[[entrants]]")
    path.write_text(head + scripted("Ada", "uci"))
    (tmp_path / "netty.py").write_text(WITH_NET)
    assert STOPS in tour(tmp_path, "run", str(path), expect=3).stderr
    tour(tmp_path, "run", str(path), "--accept-change", "--max-games", "1", expect=8)
    assert audit(tmp_path) == 2


def test_an_engine_of_unknown_content_has_not_changed(tmp_path: Path) -> None:
    """Of a tournament that kept no fingerprint there is nothing to compare with."""
    assert new_fingerprint(replace(known(tmp_path), fingerprint="")) is None
