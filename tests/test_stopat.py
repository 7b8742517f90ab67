"""A time after which no game begins."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from unittest import mock
from zoneinfo import ZoneInfo

import pytest

from enginetour.cli import run
from enginetour.cli.run import StopAt, stop_time
from enginetour.model.errors import UsageRefused
from enginetour.tournament.scheduler import End
from tests.forked import Forked
from tests.test_scheduler import Heard, ended, scheduler
from tests.touring import audit, config, read, tour

EVENING = datetime(2026, 11, 21, 22, 30, tzinfo=ZoneInfo("Europe/Prague"))


@pytest.mark.parametrize(
    "words, hours",
    [
        ("07:00", 8.5),
        ("7:00", 8.5),
        ("22:30", 24),
        ("23:00", 0.5),
        ("2026-11-22T07:00", 8.5),
        ("2026-11-22 07:00:00", 8.5),
        ("2026-11-22T06:00Z", 8.5),
        ("2026-11-22T07:00+02:00", 7.5),
    ],
)
def test_local_unless_it_says_otherwise(monkeypatch: pytest.MonkeyPatch, words: str, hours: float) -> None:
    """HH:MM is the next one of the local clock, an ISO time is what it says."""
    monkeypatch.setenv("TZ", "Europe/Prague")
    time.tzset()
    try:
        assert stop_time(words, EVENING) == (EVENING + timedelta(hours=hours)).timestamp()
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


@pytest.mark.parametrize(
    "words", ["7", "25:00", "07:60", "", "2026-11-22", "tomorrow", "07:00+02:00", "2026-11-20T07:00"]
)
def test_refused(words: str) -> None:
    """What is no time, or none to come, in one line."""
    with pytest.raises(UsageRefused) as refused:
        stop_time(words, EVENING)
    assert "--stop-at" in str(refused.value)


def test_the_night_the_clocks_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """07:00 is seven on the wall, also when the night is an hour longer."""
    monkeypatch.setenv("TZ", "Europe/Prague")
    time.tzset()
    try:
        before = datetime(2026, 10, 24, 22, 0).astimezone()
        assert stop_time("07:00", before) - before.timestamp() == 10 * 3600
        within = datetime(2026, 10, 25, 2, 45, fold=1).astimezone()
        assert stop_time("02:50", within) - within.timestamp() == 5 * 60
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def test_no_game_begins_then() -> None:
    """Once the clock says so the games in the air are the last, and it is said once."""
    said = Heard()
    stop = StopAt(3.0, said, clock=iter([1.0, 2.0, 3.0, 4.0, 5.0]).__next__)
    loop = scheduler(ended, watcher=stop)
    assert loop.run() is End.STOPPED
    assert len(loop.place.tasks) == 2  # type: ignore[attr-defined]
    assert [words.endswith("may end") for words in said.words] == [True]


def test_it_is_the_clock_on_the_wall() -> None:
    """A time that is past stops the loop at once, one to come does not."""
    now = time.time()
    for at, end in ((now - 1, End.STOPPED), (now + 3600, End.FINISHED)):
        assert scheduler(ended, watcher=StopAt(at, Heard())).run() is end


def on_our_clock(late: Path) -> None:
    """In the new process: it is time once there is this file."""
    clock = partial(StopAt, clock=lambda: math.inf if late.exists() else 0.0)
    mock.patch.object(run, "StopAt", clock).start()


def test_real_play(tmp_path: Path) -> None:
    """`status` tells the time from outside; what is left is exit 8, and the same command goes on."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "cycles = 500")
    (tmp_path / "results").mkdir()
    then = datetime.now().astimezone() + timedelta(hours=1)
    words = ["run", str(path), "--stop-at", then.isoformat()]
    run = Forked(tmp_path, words, tmp_path / "errors", partial(on_our_clock, tmp_path / "late"))
    run.first_game()
    told = read(tmp_path, "status")
    assert (told["state"], told["stop_at"]) == ("running", f"{then.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
    assert " · stops " in tour(tmp_path, "status").stdout
    (tmp_path / "late").touch()
    code, _, said = run.ended()
    assert code == 8
    assert "as asked: no new games" in said
    assert 0 < audit(tmp_path) < 500
    assert "stop_at" not in read(tmp_path, "status")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
