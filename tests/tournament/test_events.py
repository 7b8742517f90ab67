"""Tests of tournament/events."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from enginetour.model.game import Incident, Note, Outcome
from enginetour.model.task import GameTask
from enginetour.tournament import events
from enginetour.tournament.events import KEPT, EventLog, RunEvents, catch_up
from enginetour.tournament.scheduler import RunEnd, Watcher
from tests.support.databases import add_game, full_game, game, open_log
from tests.support.tournaments import Kept, MemoryLog, config, ended, running, scheduler, tour

# Events of a run.


def played(verdict: Any, **more: Any) -> tuple[Kept, RunEnd]:
    kept = Kept()
    return kept, scheduler(verdict, MemoryLog(), watcher=RunEvents("autumn", (kept,), lambda: 0.5), **more).run()


def test_games_and_their_incidents() -> None:
    """Each game is an event, followed by its incidents; warnings are another event."""
    incidents = (Incident("Ada", "crash", "signal 11", traffic=("x" * 99,)), Incident("Bea", "protocol-warning", "odd"))
    kept, end = played(lambda task: ended(task, incidents=incidents))
    assert end is RunEnd.FINISHED
    assert [event["event"] for event in kept] == ["game", "incident", "warning"] * 6
    assert kept[0]["at"] == "1970-01-01T00:00:00.500Z"
    assert kept[0]["decisions"] == []
    crash = kept[1]
    assert (crash["game"], crash["engine"], crash["category"], crash["cause"]) == (1, "Ada", "crash", "signal 11")
    assert "xxx" not in str(crash)


def test_suspended_engines() -> None:
    """A suspension is an event with its reason, and so is the last failed try."""

    def verdict(task: GameTask) -> Any:
        if "Cid" in task.pairing.pair:
            return ended(task, Outcome.VOID, culprit="Cid", category="start-failure", cause="no such file")
        return ended(task)

    kept, end = played(verdict)
    assert end is RunEnd.BLOCKED
    told = kept.of("suspended")
    assert {(event["engine"], event["cause"]) for event in told} == {("Cid", "no such file")}


def test_a_disk_that_fills_and_is_emptied() -> None:
    """A full disk is one event, and its end another."""
    room = iter([10**9, 10**9, 0, 0, 0, 10**9])
    kept, end = played(ended, free_bytes=lambda: next(room, 10**9))
    assert end is RunEnd.FINISHED
    assert [event["event"] for event in kept if event["event"] not in ("game", "trouble")] == ["disk-low", "resumed"]
    assert "MiB" in kept.of("disk-low")[0]["cause"]


def test_a_machine_that_fails() -> None:
    """Three failures of the machine in a row are three events, then a pause with its reason, then its end."""
    ticks = iter([0.0] * 60)  # time stands still until the pause is seen
    failures = iter([True] * 3)

    def verdict(task: GameTask) -> Any:
        return ended(task, Outcome.VOID, category="host", cause="both ended") if next(failures, False) else ended(task)

    kept, end = played(verdict, clock=lambda: next(ticks, 1e6))
    assert end is RunEnd.FINISHED
    states = kept.of("paused", "resumed")
    assert [event["event"] for event in states] == ["paused", "resumed"]
    assert "in a row" in states[0]["cause"]


def test_nobody_listens() -> None:
    """Without a sink, no event is made."""
    assert scheduler(ended, watcher=RunEvents("autumn", ())).run() is RunEnd.FINISHED
    assert isinstance(RunEvents("autumn", ()), Watcher)


def test_real_play(tmp_path: Path) -> None:
    """A run logs from `started` to `stopped`, and a resumed one to `finished`; a run without games adds no line."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "cycles = 3\ngames_per_pairing = 2")
    (tmp_path / "results").mkdir()
    with running(tmp_path, path, "--max-games", "2") as process:
        process.ended()
    tour(tmp_path, "run", str(path))
    file = tmp_path / "results" / "trial.log.jsonl"
    lines = file.read_text().splitlines()
    busy = ("clocks are unreliable", "no longer wait long")  # from other load on the machine
    found = [event for event in map(json.loads, lines) if not any(words in event["text"] for words in busy)]
    assert [event["event"] for event in found if event["event"] != "warning"] == [
        *("started", "game", "game", "stopped"),
        *("started", "game", "game", "game", "game", "finished"),
    ]
    assert (found[3]["cause"], found[3]["remaining"], found[4]["resumed"]) == ("--max-games", [4, 4], True)
    tour(tmp_path, "run", str(path))
    assert file.read_text().splitlines() == lines


STARTED = '{"event":"started","tournament":"autumn","resumed":false}\n'
GAME = '{"event":"game","tournament":"autumn","number":2}\n'
CRASH = '{"event":"incident","tournament":"autumn","game":2}\n'
ODD = '{"event":"warning","tournament":"autumn","game":2}\n'


@pytest.mark.parametrize(
    ("before", "missing"),
    [
        (None, []),
        ("", []),
        ("nonsense\n", []),
        ('{"event":"game","tournament":"winter","number":1}\n', []),
        ('{"event":"started","tournament":"autumn","resumed":true}\n', []),
        (STARTED, [("game", 1), ("game", 2), ("incident", 2), ("warning", 2), ("game", 3)]),
        (STARTED.replace("}", ',"last_game":2}'), [("game", 3)]),
        (GAME, [("incident", 2), ("warning", 2), ("game", 3)]),
        (GAME + CRASH, [("warning", 2), ("game", 3)]),
        (GAME + CRASH + ODD + '{"event":"finished","tournament":"autumn"}\n', [("game", 3)]),
        (GAME + CRASH + ODD + '{"event":"game","tournament":"autumn","numb', [("game", 3)]),
        (GAME.replace("2", "3"), []),
        (GAME.replace("2", "9"), []),
    ],
)
def test_what_a_log_lacks(tmp_path: Path, before: str | None, missing: list[tuple[str, int]]) -> None:
    """Missing games and incidents are added; a missing or foreign event log starts now."""
    store, log = open_log(tmp_path / "x.db")
    path = tmp_path / "t.log.jsonl"
    if before is not None:
        path.write_text(before)
    with store:
        for number, one in enumerate((game(), full_game(), game(meeting=3)), 1):
            assert add_game(log, one, [Note("park", f"decision {number}")]) == number
        assert catch_up(log, EventLog(path, print), bool) == 3
        found = path.read_text() if before is not None else ""
        assert catch_up(log, EventLog(path, print), bool) == 3
    assert path.exists() is (before is not None)
    assert (path.read_text() if path.exists() else "") == found, "the second time there is nothing to do"
    whole = (before or "")[: (before or "").rfind("\n") + 1]
    assert found.startswith(whole)
    told = [json.loads(line) for line in found[len(whole) :].splitlines()]
    assert [(event["event"], event.get("number") or event.get("game")) for event in told] == missing
    for event in told:
        assert event["event"] != "game" or event["decisions"] == [f"decision {event['number']}"]
        assert event.get("number") != 2 or event["at"] == "2023-11-14T22:15:20.500Z"


def test_a_signal_ends_the_catching_up(tmp_path: Path) -> None:
    """A signal ends this, and the next run adds the games that are still missing."""
    store, log = open_log(tmp_path / "x.db")
    journal = EventLog(tmp_path / "t.log.jsonl", print)
    journal.path.write_text(STARTED)
    with store:
        for meeting in range(1, 5):
            add_game(log, game(meeting=meeting))
        assert catch_up(log, journal, iter([False, False, True]).__next__) == 2
        assert catch_up(log, journal, bool) == 4
    assert [event["number"] for event in journal.backwards() if event["event"] == "game"] == [4, 3, 2, 1]


# The event log file.


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


@pytest.fixture
def said() -> list[str]:
    return []


def test_hostile_text_stays_in_its_line(tmp_path: Path, said: list[str]) -> None:
    """Line ends, escapes, bidirectional marks and half surrogate pairs stay in one line and are read back."""
    evil = 'x\n{"event":"finished"}\r\x85\u2028\x1b[2J\u202e\ud800"}'
    write = EventLog(tmp_path / "t.log.jsonl", said.append)
    write({"event": "incident", "cause": evil})
    write({"event": "game", "decisions": [evil]})
    raw = (tmp_path / "t.log.jsonl").read_bytes()
    assert raw.count(b"\n") == 2
    assert all(32 <= byte < 127 for byte in raw.replace(b"\n", b""))
    assert [line.get("cause", line.get("decisions")) for line in lines(tmp_path / "t.log.jsonl")] == [evil, [evil]]


def test_a_fault_costs_little(tmp_path: Path, said: list[str]) -> None:
    """The event of a game stays far below a megabyte, whatever an engine sends."""
    write = EventLog(tmp_path / "t.log.jsonl", said.append)
    write({"event": "incident", "cause": "\U0001f600" * 5_000_000, "decisions": ["\x00" * 5_000_000]})
    assert (tmp_path / "t.log.jsonl").stat().st_size < 50_000


def test_rotated(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is larger than the limit, and the five newest files keep all their lines."""
    monkeypatch.setattr(events, "ROTATE_BYTES", 100)
    write = EventLog(tmp_path / "t.log.jsonl", said.append)
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
    """An incomplete last line is removed, a complete one without a line end is kept, and no other file is changed."""
    monkeypatch.setattr(events, "ROTATE_BYTES", 60)
    path = tmp_path / "t.log.jsonl"
    path.write_text(before)
    EventLog(path, said.append).mend()
    assert path.read_text() == after
    path.write_text(before)
    EventLog(path, said.append)({"event": "game"})
    assert path.read_text().endswith('{"event":"game"}\n')
    assert len(after) > 40 or path.read_text() == after + '{"event":"game"}\n'


def test_mending_makes_no_file(tmp_path: Path, said: list[str]) -> None:
    """Repairing or reading does not create a file."""
    write = EventLog(tmp_path / "t.log.jsonl", said.append)
    write.mend()
    assert list(write.backwards()) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("tail", [1, 7, 40, 1 << 16])
def test_read_from_its_end(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch, tail: int) -> None:
    """Events are read newest first from all files; invalid lines, incomplete lines and missing files are skipped."""
    monkeypatch.setattr(events, "ROTATE_BYTES", 100)
    monkeypatch.setattr(events, "TAIL", tail)
    write = EventLog(tmp_path / "t.log.jsonl", said.append)
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
    """A failure to write is reported once; links are not followed, and pipes are not waited for."""
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
    write = EventLog(path, said.append)
    for _ in range(3):
        write({"event": "game"})
    assert len(said) == 1
    assert "the tournament continues" in said[0]
    assert obstacle != "link" or (tmp_path / "mine").read_text() == ""


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A partly written line is removed; later events are written, and a later failure is reported."""
    path = tmp_path / "t.log.jsonl"
    write, real = EventLog(path, said.append), os.write
    write({"event": "game", "number": 1})
    monkeypatch.setattr(os, "write", lambda sink, raw: real(sink, raw[:5]))
    write({"event": "game", "number": 2})
    monkeypatch.setattr(os, "write", real)
    write({"event": "game", "number": 3})
    assert [line["number"] for line in lines(path)] == [1, 3]
    assert len(said) == 1


# engine_log: the engine logs of all games.


def traffic(folder: Path) -> list[list[str]]:
    return [path.read_text().splitlines() for path in sorted((folder / "results" / "trial.traffic").glob("*.log"))]


def test_each_game_has_its_own(tmp_path: Path) -> None:
    """Each game has its own engine log in order of time, also with reused processes."""
    (tmp_path / "results").mkdir()
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    assert not traffic(tmp_path)
    path.write_text(path.read_text().replace("[play]\n", "[play]\nengine_log = true\n"))
    tour(tmp_path, "run", str(path))
    ((title, *lines),) = traffic(tmp_path)
    assert title.startswith("# game 2: Wren 2 - Wren 1, ")
    stamps = [float(line.split()[0]) for line in lines]
    assert stamps == sorted(stamps)
    assert stamps[0] >= 0
    pgn = (tmp_path / "results" / "trial.pgn").read_text()
    plies = int(pgn.rpartition('[PlyCount "')[2].partition('"')[0])
    openers = int(pgn.rpartition('[OpeningPlies "')[2].partition('"')[0])
    answers = [line for line in lines if " < bestmove " in line or " < move " in line]
    assert len(answers) == plies - openers
    assert {line.split()[1] for line in answers} == {"White", "Black"}


def test_engines_that_live_on(tmp_path: Path) -> None:
    """The log of a game does not contain lines of the game before."""
    (tmp_path / "results").mkdir()
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2", tc="depth=1", play="engine_log = true")
    tour(tmp_path, "run", str(path))
    for lines in traffic(tmp_path):  # it may also have been probed before
        begun = [line.split(" > ")[1] for line in lines if line.endswith(("> ucinewgame", "> new"))]
        assert sorted(begun) == ["new", "ucinewgame"]


def test_a_folder_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    """A directory that cannot be written is reported, and the games are in the database."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "trial.traffic").write_text("no folder")
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2", play="engine_log = true")
    done = tour(tmp_path, "run", str(path))
    assert "engine log of game 1 not written" in done.stdout + done.stderr
    assert (tmp_path / "results" / "trial.pgn").read_text().count("[Event ") == 2
