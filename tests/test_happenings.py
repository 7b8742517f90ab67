"""A run as a row of events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from enginetour.happenings import Happenings
from enginetour.model import Incident, Outcome
from enginetour.scheduler import End, Watcher
from enginetour.task import GameTask
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
