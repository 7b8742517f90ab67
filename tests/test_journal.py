"""One event, one JSON line, in files that rotate; a failure to write harms nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from enginetour.tournament import events
from enginetour.tournament.events import KEPT, Journal


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


@pytest.fixture
def said() -> list[str]:
    return []


def test_hostile_text_stays_in_its_line(tmp_path: Path, said: list[str]) -> None:
    """Line ends, escapes, bidi marks and halves of surrogate pairs forge no line, and come back as they were."""
    evil = 'x\n{"event":"finished"}\r\x85\u2028\x1b[2J\u202e\ud800"}'
    write = Journal(tmp_path / "t.log.jsonl", said.append)
    write({"event": "incident", "cause": evil})
    write({"event": "game", "decisions": [evil]})
    raw = (tmp_path / "t.log.jsonl").read_bytes()
    assert raw.count(b"\n") == 2
    assert all(32 <= byte < 127 for byte in raw.replace(b"\n", b""))
    assert [line.get("cause", line.get("decisions")) for line in lines(tmp_path / "t.log.jsonl")] == [evil, [evil]]


def test_a_fault_costs_little(tmp_path: Path, said: list[str]) -> None:
    """However much an engine says, its event stays far below a megabyte."""
    write = Journal(tmp_path / "t.log.jsonl", said.append)
    write({"event": "incident", "cause": "\U0001f600" * 5_000_000, "decisions": ["\x00" * 5_000_000]})
    assert (tmp_path / "t.log.jsonl").stat().st_size < 50_000


def test_rotated(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is larger than the limit, the five youngest are kept, and none of their lines is lost."""
    monkeypatch.setattr(events, "ROTATE_BYTES", 100)
    write = Journal(tmp_path / "t.log.jsonl", said.append)
    for number in range(50):
        write({"event": "game", "number": number})
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["t.log.jsonl", *(f"t.log.jsonl.{n}" for n in range(1, KEPT + 1))]
    assert all(0 < file.stat().st_size <= 100 for file in files)
    numbers = [line["number"] for file in [*reversed(files[1:]), files[0]] for line in lines(file)]
    assert numbers == list(range(numbers[0], 50))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"event":"ga', ""),
        ('{"event":"started"}\n{"event":"ga', '{"event":"started"}\n'),
        ('{"event":"started"}\nx\n{"event":"sto', '{"event":"started"}\nx\n'),
        ('{"event":"started"}', '{"event":"started"}\n'),
        ('{"event":"started"}\n', '{"event":"started"}\n'),
        ("", ""),
        ("x" * 100, "x" * 100 + "\n"),
    ],
)
def test_a_torn_line_is_dropped(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    """After a kill in the middle of a line; a whole one that lacks its end gets it, and no other file is cut."""
    monkeypatch.setattr(events, "ROTATE_BYTES", 60)
    path = tmp_path / "t.log.jsonl"
    path.write_text(before)
    Journal(path, said.append).mend()
    assert path.read_text() == after
    path.write_text(before)
    Journal(path, said.append)({"event": "game"})
    assert path.read_text().endswith('{"event":"game"}\n')
    assert len(after) > 40 or path.read_text() == after + '{"event":"game"}\n'


def test_mending_makes_no_file(tmp_path: Path, said: list[str]) -> None:
    """Nor does reading."""
    write = Journal(tmp_path / "t.log.jsonl", said.append)
    write.mend()
    assert list(write.backwards()) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("tail", [1, 7, 40, 1 << 16])
def test_read_from_its_end(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch, tail: int) -> None:
    """The newest event comes first, from all files; what is none is skipped, a torn line and a missing file too."""
    monkeypatch.setattr(events, "ROTATE_BYTES", 100)
    monkeypatch.setattr(events, "TAIL", tail)
    write = Journal(tmp_path / "t.log.jsonl", said.append)
    for number in range(12):
        write({"event": "game", "number": number, "text": "x" * (number % 5)})
    for words in ("nonsense\n", "[1]\n", '{"event":"ga'):
        with write.path.open("a") as sink:
            sink.write(words)
    found = [event["number"] for event in write.backwards()]
    assert found == list(range(11, 11 - len(found), -1))
    assert len(found) > 8
    newest = write.path.read_bytes()
    write.path.unlink()
    assert [event["number"] for event in write.backwards()] == found[newest.count(b"game") :]


@pytest.mark.parametrize("obstacle", ["folder", "link", "pipe", "no folder"])
def test_what_cannot_be_written_harms_nothing(tmp_path: Path, said: list[str], obstacle: str) -> None:
    """It is said once, and the events go on; nothing is followed and nobody is waited for."""
    path = tmp_path / "logs" / "t.log.jsonl"
    if obstacle != "no folder":
        path.parent.mkdir()
    if obstacle == "folder":
        path.mkdir()
    elif obstacle == "link":
        (tmp_path / "mine").write_text("")
        path.symlink_to(tmp_path / "mine")
    elif obstacle == "pipe":
        os.mkfifo(path)
    write = Journal(path, said.append)
    for _ in range(3):
        write({"event": "game"})
    assert len(said) == 1
    assert "the tournament goes on" in said[0]
    assert obstacle != "link" or (tmp_path / "mine").read_text() == ""


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that is cut short is taken back; once there is room events come in again, and a later loss is told."""
    path = tmp_path / "t.log.jsonl"
    write, real = Journal(path, said.append), os.write
    write({"event": "game", "number": 1})
    monkeypatch.setattr(os, "write", lambda sink, raw: real(sink, raw[:5]))
    write({"event": "game", "number": 2})
    monkeypatch.setattr(os, "write", real)
    write({"event": "game", "number": 3})
    assert [line["number"] for line in lines(path)] == [1, 3]
    assert len(said) == 1
