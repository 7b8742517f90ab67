"""A run as a row of events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from enginetour.model.game import Incident, Note, Outcome
from enginetour.model.task import GameTask
from enginetour.tournament.events import Happenings, Journal, catch_up
from enginetour.tournament.scheduler import End, Watcher
from tests.storing import add_game, full_game, game, open_log
from tests.test_scheduler import MemoryLog, ended, scheduler
from tests.touring import config, running, tour


class Kept(list[Any]):
    """A sink that keeps what it is told."""

    def __call__(self, event: Any) -> None:
        self.append(event)

    def of(self, *kinds: str) -> list[Any]:
        return [event for event in self if event["event"] in kinds]


def played(verdict: Any, **more: Any) -> tuple[Kept, End]:
    kept = Kept()
    return kept, scheduler(verdict, MemoryLog(), watcher=Happenings("autumn", (kept,), lambda: 0.5), **more).run()


def test_games_and_their_incidents() -> None:
    """Every game is told, then what was wrong in it; a warning is no incident."""
    incidents = (Incident("Ada", "crash", "signal 11", traffic=("x" * 99,)), Incident("Bea", "protocol-warning", "odd"))
    kept, end = played(lambda task: ended(task, incidents=incidents))
    assert end is End.FINISHED
    assert [event["event"] for event in kept] == ["game", "incident", "warning"] * 6
    assert kept[0]["at"] == "1970-01-01T00:00:00.500Z"
    assert kept[0]["decisions"] == []
    crash = kept[1]
    assert (crash["game"], crash["engine"], crash["category"], crash["cause"]) == (1, "Ada", "crash", "signal 11")
    assert "xxx" not in str(crash)


def test_suspended_engines() -> None:
    """An engine that does not start is told with its reason when it is set aside, and again after its last try."""

    def verdict(task: GameTask) -> Any:
        if "Cid" in task.pairing.pair:
            return ended(task, Outcome.VOID, culprit="Cid", category="start-failure", cause="no such file")
        return ended(task)

    kept, end = played(verdict)
    assert end is End.BLOCKED
    told = kept.of("suspended")
    assert {(event["engine"], event["cause"]) for event in told} == {("Cid", "no such file")}


def test_a_disk_that_fills_and_is_emptied() -> None:
    """Low and then resumed: once each, however long it took."""
    room = iter([10**9, 10**9, 0, 0, 0, 10**9])
    kept, end = played(ended, free_bytes=lambda: next(room, 10**9))
    assert end is End.FINISHED
    assert [event["event"] for event in kept if event["event"] not in ("game", "trouble")] == ["disk-low", "resumed"]
    assert "MiB" in kept.of("disk-low")[0]["cause"]


def test_a_machine_that_fails() -> None:
    """Three failures in a row are troubles, then a pause with its reason, then games begin again."""
    ticks = iter([0.0] * 60)  # time stands still until the pause has been seen
    failures = iter([True] * 3)

    def verdict(task: GameTask) -> Any:
        return ended(task, Outcome.VOID, category="host", cause="both ended") if next(failures, False) else ended(task)

    kept, end = played(verdict, clock=lambda: next(ticks, 1e6))
    assert end is End.FINISHED
    states = kept.of("paused", "resumed")
    assert [event["event"] for event in states] == ["paused", "resumed"]
    assert "in a row" in states[0]["cause"]


def test_nobody_listens() -> None:
    """Without a sink nothing is made of it."""
    assert scheduler(ended, watcher=Happenings("autumn", ())).run() is End.FINISHED
    assert isinstance(Happenings("autumn", ()), Watcher)


def test_real_play(tmp_path: Path) -> None:
    """From started to stopped and, resumed, to finished; a run with nothing to play adds no line."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "cycles = 3\ngames_per_pairing = 2")
    (tmp_path / "results").mkdir()
    with running(tmp_path, path, "--max-games", "2") as process:
        process.communicate()
    tour(tmp_path, "run", str(path))
    file = tmp_path / "results" / "trial.log.jsonl"
    lines = file.read_text().splitlines()
    busy = ("clocks are unreliable", "no longer wait long")  # a machine that is busy with other tests
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
    """Games behind the last one, and what was wrong in them; a log that was taken away, or of another, begins now."""
    store, log = open_log(tmp_path / "x.db")
    path = tmp_path / "t.log.jsonl"
    if before is not None:
        path.write_text(before)
    with store:
        for number, one in enumerate((game(), full_game(), game(meeting=3)), 1):
            assert add_game(log, one, [Note("park", f"decision {number}")]) == number
        assert catch_up(log, Journal(path, print), bool) == 3
        found = path.read_text() if before is not None else ""
        assert catch_up(log, Journal(path, print), bool) == 3
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
    """The next run adds the games that are still missing."""
    store, log = open_log(tmp_path / "x.db")
    journal = Journal(tmp_path / "t.log.jsonl", print)
    journal.path.write_text(STARTED)
    with store:
        for meeting in range(1, 5):
            add_game(log, game(meeting=meeting))
        assert catch_up(log, journal, iter([False, False, True]).__next__) == 2
        assert catch_up(log, journal, bool) == 4
    assert [event["number"] for event in journal.backwards() if event["event"] == "game"] == [4, 3, 2, 1]
