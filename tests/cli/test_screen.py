"""Output of a running tournament on a screen and for subscribers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enginetour.cli.output import Console
from enginetour.cli.screen import REDRAW_S, Lines, LiveTable
from enginetour.model.game import Game, Outcome, Termination
from enginetour.reports.progress import Progress
from enginetour.tournament import watching
from enginetour.tournament.control import ask, socket_path, subscribe
from enginetour.tournament.scheduler import Watcher
from enginetour.tournament.watching import Broadcast, PgnExport, RunWatcher
from tests.support.tournaments import config, default_signals, ended, running, scripted, task_for, until
from tests.support.tournaments import scheduler as tournaments_scheduler

# The live table of a terminal.


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> tuple[LiveTable, list[float], list[float]]:
    """Return a table, its clock, and the times at which it was drawn."""
    now, drawn = [100.0], list[float]()
    made = LiveTable(Progress("roundrobin", "autumn"), clock=lambda: now[0])
    draw = made.draw

    def noted() -> None:
        drawn.append(now[0])
        draw()

    monkeypatch.setattr(made, "draw", noted)
    return made, now, drawn


def test_quick_games_bring_no_redraw_each(screen: tuple[LiveTable, list[float], list[float]]) -> None:
    """The table is drawn at most twice a second, and the last time with all games."""
    table, now, drawn = screen
    loop = tournaments_scheduler(ended)
    for number in range(1, 25):
        table.game(number, ended(task_for(loop.format.offers(loop.state)[0], 0)), ())
        table.progress(loop)
        now[0] += REDRAW_S / 8
    table.close()
    assert drawn == [100.0, 100.0 + REDRAW_S, 100.0 + 2 * REDRAW_S, now[0]]


def test_trouble_is_shown_at_once(screen: tuple[LiveTable, list[float], list[float]]) -> None:
    """A message is drawn at once."""
    table, now, drawn = screen
    loop = tournaments_scheduler(ended)
    table.progress(loop)
    now[0] += REDRAW_S / 8
    table.trouble("the disk is full")
    table.progress(loop)
    table.close()
    assert drawn[:2] == [100.0, now[0]]
    assert table.messages == ["the disk is full"]


def test_a_long_wait_is_printed_every_five_minutes(capsys: pytest.CaptureFixture[str]) -> None:
    """While the last games wait for a less busy machine, each five minutes bring one line."""
    now = [0.0]
    lines = Lines(Progress("roundrobin", "autumn"), clock=lambda: now[0])
    loop = tournaments_scheduler(ended, clock=lambda: now[0], busy=lambda: "load 15 on 2 processors")
    pairing = loop.format.offers(loop.state)[0]
    for _ in range(3):
        loop.setbacks.record(Game(pairing, Outcome.VOID, Termination.TIME, "doubtful", "", "host"))
    for minute in range(12):
        now[0] = 60.0 * minute
        lines.progress(loop)
    told = capsys.readouterr().out.splitlines()
    waits = "1 game waits until the machine is less busy, for at most"
    assert [line.partition(waits)[2] for line in told] == [" 25 min", " 20 min"]
    assert told[0].startswith("roundrobin · autumn · ")
    loop.paused = True  # as a pause command does: no line is expected
    for minute in range(12, 24):
        now[0] = 60.0 * minute
        lines.progress(loop)
    assert capsys.readouterr().out == ""


def test_a_busy_machine_is_told_above_the_table(
    screen: tuple[LiveTable, list[float], list[float]], capsys: pytest.CaptureFixture[str]
) -> None:
    """The warning of a busy machine is above the table as long as it lasts."""
    table, _, _ = screen
    table.picture.event(0, "crowd", {"crowded": True, "share": 0.31, "load": 15.0, "processors": 2})
    table.trouble(f"warning: {table.picture.banner}")  # the output without a terminal has this line
    assert table.messages == [], "below the table, the line would stay with old figures"
    table.close()
    assert "WARNING: load 15 on 2 processors: clocks are unreliable." in capsys.readouterr().out


def test_a_stop_is_told_in_the_table(tmp_path: Path) -> None:
    """The message of a stop is part of the table, so that the next redraw keeps it."""
    (tmp_path / "results").mkdir()
    engines = scripted("Ada", "uci", "--fault", "hang", "--at", "1") + scripted("Bo", "uci")
    path = config(tmp_path, (), "roundrobin", "", engines, tc="600")
    path.write_text(path.read_text().replace("[play]", "[play]\nopenings = { plies = 0 }"))
    terminal, theirs = os.openpty()
    os.set_blocking(terminal, False)
    seen = bytearray()

    def shows(words: bytes) -> bool:
        with suppress(OSError):  # nothing to read; at the end nobody writes any more
            seen.extend(os.read(terminal, 65536))
        return words in seen

    with subprocess.Popen(
        [sys.executable, "-m", "enginetour", "run", str(path)],
        cwd=tmp_path,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
        stdout=theirs,
        stderr=subprocess.PIPE,
        preexec_fn=default_signals,
    ) as run:
        os.close(theirs)
        try:
            until(lambda: shows(b"now: Ada"))
            run.send_signal(signal.SIGINT)
            until(lambda: shows(b"stopping: games in progress have 60 s to finish; Ctrl-C again stops at once"))
            assert b"games \xc2\xb7 stopping" in seen
            run.send_signal(signal.SIGINT)
            until(lambda: not shows(b"\0") and run.poll() is not None)
            _, said = run.communicate(timeout=60)
        finally:
            run.kill()
    os.close(terminal)
    assert run.returncode == 130
    assert b"stopping" not in said


# A running tournament as subscribers hear it.


class Server:
    """A control server that keeps what is published."""

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
    """Without subscribers or a socket, nothing is published."""
    made, server = heard(0)
    made.event(0, "moves", [{"ply": 1}])
    made.publish({"event": "game"})
    made.progress(scheduler())
    assert server.told == []
    Broadcast(Progress("roundrobin", "autumn")).event(0, "moves", [{"ply": 1}])


def test_who_follows_the_moves() -> None:
    """Subscribers and a live table show the moves of games, but not lines of finished games."""
    picture = Progress("roundrobin", "autumn")
    exports = PgnExport(SimpleNamespace(), Watcher())  # type: ignore[arg-type]  # no game is written

    def follows(listeners: int, screen: Watcher) -> bool:
        console = Console()
        console.screen = screen
        return RunWatcher(picture, exports, console, heard(listeners)[0]).shows_moves()  # type: ignore[arg-type]

    assert follows(1, Lines(picture))
    assert follows(0, LiveTable(picture))
    assert not follows(0, Lines(picture))


def test_progress_is_told_when_it_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is published after a change, and again after some time."""
    now = 0.0
    monkeypatch.setattr(watching, "time", SimpleNamespace(monotonic=lambda: now))
    made, server = heard(1)
    for _ in range(3):
        made.progress(scheduler())
    assert [event["event"] for event in server.told] == ["progress"]
    assert "playing" not in server.told[0]
    made.picture.done = 1
    made.progress(scheduler())
    made.progress(scheduler(paused=True))
    now = watching.BROADCAST_S
    made.progress(scheduler(paused=True))
    assert [(event["games_done"], event["state"]) for event in server.told[1:]] == [
        (1, "running"), (1, "paused"), (1, "paused"),
    ]  # fmt: skip


def test_a_run_is_heard_move_by_move(tmp_path: Path) -> None:
    """A subscriber of a run receives starts, moves, ends, games and progress."""
    path = config(tmp_path, ("wren7", "wren8"), "roundrobin", "cycles = 500", tc="0.5+0.01", strong=True)
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
