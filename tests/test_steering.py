"""What people ask of a run that goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from enginetour.model.errors import UsageRefused
from enginetour.tournament.changes import Helm
from enginetour.tournament.requests import parsed
from enginetour.tournament.scheduler import End
from tests.test_scheduler import airborne, settle
from tests.touring import audit, config, read, running, tour


def helm(seats: int = 99) -> tuple[Helm, list[str]]:
    told: list[str] = []

    def refuse(slots: int, force: bool) -> None:
        if slots > 4 and not force:
            raise UsageRefused("too many")

    return Helm(airborne(seats)[0], refuse, told.append, lambda text: told.append(f"noted: {text}")), told


def asked(steer: Helm, request: dict[str, Any]) -> dict[str, Any] | None:
    """As the socket hands it on."""
    return steer.carry_out(parsed(request))


def said(found: dict[str, Any] | None) -> str:
    assert found is not None
    return str(found["said" if found["ok"] else "error"])


def test_slots_are_refused_before_anything_changes() -> None:
    """No number, too many for the machine: the reason, and all stays; forced ones are taken, fewer always."""
    steer, told = helm()
    for wish in (0, 1025, "3", None, True, 2.0):
        with pytest.raises(UsageRefused, match="slots: slots: input should be"):
            asked(steer, {"do": "slots", "slots": wish})
    assert said(asked(steer, {"do": "slots", "slots": 5})) == "too many"
    assert (steer.scheduler.slots, told) == (2, [])
    assert said(asked(steer, {"do": "slots", "slots": 5, "force": True})) == "5 slots instead of 2"
    assert said(asked(steer, {"do": "slots", "slots": 1})) == "1 slot instead of 5; 1 more until games end"
    assert steer.scheduler.slots == 1
    assert told == ["5 slots instead of 2, as asked", "1 slot instead of 5, as asked"]


def test_two_people_at_once() -> None:
    """Who asks for what is so already is told that, and nothing is said or done twice."""
    steer, told = helm()
    assert "2 in the air" in said(asked(steer, {"do": "pause"}))
    assert said(asked(steer, {"do": "pause"})) == "paused already"
    assert "begin again" in said(asked(steer, {"do": "unpause"}))
    assert said(asked(steer, {"do": "unpause"})) == "not paused"
    assert said(asked(steer, {"do": "slots", "slots": 2})) == "2 slots, as before"
    assert len(told) == 2
    for _ in range(2):
        assert said(asked(steer, {"do": "finish"})).startswith("stopping")
    stopping = "stopping as asked: no game begins, those in the air may end"
    assert told[2:] == [stopping, f"noted: {stopping}"]
    for late in ("pause", "unpause", "slots"):
        assert "is stopping" in said(asked(steer, {"do": late} | ({"slots": 3} if late == "slots" else {})))
    assert asked(steer, {"do": "withdraw", "engine": "Wren 1"}) is None


def test_a_pause_takes_back_what_waits_for_a_seat() -> None:
    """A cluster with fewer seats than slots began three more games in a pause, which said that none would begin."""
    steer, told = helm(seats=1)
    loop, begun = steer.scheduler, steer.scheduler.playing()
    assert "1 in the air may end" in said(asked(steer, {"do": "pause"}))
    settle(loop)
    assert loop.playing() == begun[:1]
    asked(steer, {"do": "unpause"})
    settle(loop)
    assert loop.playing() == begun
    assert told == ["paused as asked: no game begins until enginetour unpause", "the pause is over, as asked"]


def test_finish_ends_a_pause() -> None:
    """A paused run ends when its games have, and is to be resumed."""
    steer, _ = helm()
    asked(steer, {"do": "pause"})
    asked(steer, {"do": "finish"})
    for future in list(steer.scheduler.flying):
        steer.scheduler.place.end(steer.scheduler.place.futures.index(future))  # type: ignore[attr-defined]
    settle(steer.scheduler)
    assert steer.scheduler.run() is End.STOPPED


@pytest.mark.parametrize("command", [("slots", "2"), ("pause",), ("unpause",), ("finish",)])
def test_nobody_runs_it(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Told in one line with the next step, before anything changes."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    tour(tmp_path, "run", str(path), "--max-games", "1")
    done = tour(tmp_path, *command, expect=2)
    assert "trial is not running" in done.stderr
    assert ("has --slots" in done.stderr) == (command[0] == "slots")


def test_a_run_is_steered(tmp_path: Path) -> None:
    """More slots, a pause, its end and a tidy stop of one running process; status, screen and journal tell of it."""
    path = config(tmp_path, ("wren1", "wren2", "wren3"), "roundrobin", "cycles = 500")
    with running(tmp_path, path) as process:
        tour(tmp_path, "slots", "5", "--force")
        assert read(tmp_path, "pause")["ok"]
        found = read(tmp_path, "status")
        assert (found["state"], found["slots"]) == ("paused", 5)
        assert "paused" in tour(tmp_path, "status").stdout
        tour(tmp_path, "slots", "1")
        tour(tmp_path, "unpause")
        assert read(tmp_path, "status")["state"] == "running"
        assert "stopping" in tour(tmp_path, "finish").stdout
        assert process.stdout is not None
        process.stdout.read()
        assert process.wait(60) == 8
    assert audit(tmp_path) >= 1
    journal = [json.loads(line) for line in (tmp_path / "results" / "trial.log.jsonl").read_text().splitlines()]
    beside = ("game", "incident", "warning")
    busy = ("clocks are unreliable", "no longer wait long")  # a machine that is busy with other tests
    kinds = [one["event"] for one in journal if one["event"] not in beside and not any(w in one["text"] for w in busy)]
    assert kinds[0] == "started" and kinds[-1] == "stopped"
    orders = ["asked", "paused", "resumed", "slots", "slots"]  # one event each, and none of them a trouble
    assert sorted(kinds[1:-1]) == orders
    (pause,) = (event["cause"] for event in journal if event["event"] == "paused")
    assert pause == "paused as asked: games begin again after enginetour unpause"


def test_too_much_at_once_is_told_and_played(tmp_path: Path) -> None:
    """More slots than processors are refused without --force; with it a warning says how many are wanted."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    assert "lower slots, or say --force" in tour(tmp_path, "run", str(path), "--slots", "999", expect=2).stderr
    done = tour(tmp_path, "run", str(path), "--slots", "200", "--force", "--max-games", "1")
    assert "warning: games want 200 processors at once by slots, threads; this machine has" in done.stderr
