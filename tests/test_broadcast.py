"""A running tournament as subscribers hear it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enginetour.cli import screen
from enginetour.cli.screen import Broadcast
from enginetour.reports.progress import Progress
from enginetour.tournament.control import ask, socket_path, subscribe
from tests.touring import config, running


class Server:
    """A socket's server that keeps what it is told."""

    def __init__(self, listeners: int) -> None:
        self.listeners = listeners
        self.told: list[Any] = []

    def publish(self, event: Any) -> None:
        self.told.append(dict(event))


def scheduler(**more: Any) -> Any:
    return SimpleNamespace(**{"stopping": "", "paused": False, "slots": 1, **more})


def heard(listeners: int) -> tuple[Broadcast, Server]:
    made, server = Broadcast(Progress("roundrobin", "autumn")), Server(listeners)
    made.server = server  # type: ignore[assignment]
    return made, server


def test_nobody_listening_costs_nothing() -> None:
    """Without a subscriber nothing is published, and without a socket neither."""
    made, server = heard(0)
    made.event(0, "move", {"ply": 1})
    made.publish({"event": "game"})
    made.progress(scheduler())
    assert server.told == []
    Broadcast(Progress("roundrobin", "autumn")).event(0, "move", {"ply": 1})


def test_progress_is_told_when_it_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once while nothing happens, again after a game, a pause, and a while."""
    now = 0.0
    monkeypatch.setattr(screen, "time", SimpleNamespace(monotonic=lambda: now))
    made, server = heard(1)
    for _ in range(3):
        made.progress(scheduler())
    assert [event["event"] for event in server.told] == ["progress"]
    assert "playing" not in server.told[0]
    made.picture.done = 1
    made.progress(scheduler())
    made.progress(scheduler(paused=True))
    now = screen.BROADCAST_S
    made.progress(scheduler(paused=True))
    assert [(event["games_done"], event["state"]) for event in server.told[1:]] == [
        (1, "running"), (1, "paused"), (1, "paused"),
    ]  # fmt: skip


def test_a_run_is_heard_move_by_move(tmp_path: Path) -> None:
    """Start, moves with scores, clocks and stamp, end, the game of the journal, progress: over the socket of a run."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "cycles = 500\ngames_per_pairing = 2", tc="5+0.05")
    with running(tmp_path, path):
        place = socket_path(tmp_path / "results" / "enginetour.db", "trial")
        events = subscribe(place)
        assert events is not None
        seen: dict[str, Any] = {}
        while not {"start", "move", "end", "game", "progress"} <= seen.keys():
            event = next(events)
            seen[event["event"]] = event
        status = ask(place, {"do": "status"})
    assert {"slot", "ply", "uci", "score", "depth", "nodes", "pv", "clocks", "at"} <= seen["move"].keys()
    assert {"white", "black", "variant", "fen", "moves", "tc", "clocks", "at"} <= seen["start"].keys()
    assert (seen["game"]["tournament"], seen["progress"]["tournament"]) == ("trial", "trial")
    assert status is not None
    assert all(len(game["moves"]) == game.get("ply", len(game["moves"])) for game in status["playing"])
