"""Tests of tournament/forecasting."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enginetour.reports.progress import Progress
from enginetour.store.address import parse_address
from enginetour.tournament import forecasting
from enginetour.tournament.forecasting import (
    FIRST_CPU_S,
    INTERVAL_S,
    REST,
    ForecastProcess,
    ForecastRefresher,
    lower_priority,
    prospect_of_plan,
)
from enginetour.tournament.plan import prepare
from tests.support.databases import add_game, game, open_log
from tests.support.tournaments import config

RUN: Any = SimpleNamespace(slots=2, stopping="")


class Scene:
    """A refresher with a clock and processes of the test."""

    def __init__(self, place: str = "x.db") -> None:
        self.now = 1000.0
        self.started: list[tuple[list[str], dict[str, str]]] = []
        self.answers: list[tuple[dict[str, Any] | None, float] | None] = []
        self.published: list[Mapping[str, Any]] = []
        self.closed = 0
        self.picture = Progress("bubble", "autumn")
        self.refresher = ForecastRefresher(
            self.picture,
            ("autumn", 2),
            parse_address(place),
            self.published.append,
            start=self.start,
            clock=lambda: self.now,
        )

    def start(self, arguments: Sequence[str], variables: Mapping[str, str]) -> SimpleNamespace:
        self.started.append(([*arguments], dict(variables)))
        return SimpleNamespace(result=lambda: self.answers.pop(0), close=self.close)

    def close(self) -> None:
        self.closed += 1

    def turn(self, seconds: float = 0.0) -> int:
        """Let time pass and a turn of the loop happen; return the number of forecasts that have started."""
        self.now += seconds
        self.refresher.progress(RUN)
        return len(self.started)


FIRST_S = REST * FIRST_CPU_S


def test_forecasts_use_half_a_percent_of_a_processor() -> None:
    """A forecast starts when 0.5 % of the time of the run pay for it and for all earlier ones."""
    scene = Scene()
    assert [scene.turn(seconds) for seconds in (0, FIRST_S - 1, 1)] == [0, 0, 1]
    assert scene.started[0][0] == [
        *("forecast", "--json", "--tournament=autumn", "--edition=2", "--concurrency=2"),
    ]
    scene.answers = [None, ({"schema": 1, "simulations": 300}, 3.0)]
    assert scene.turn(1) == 1
    assert scene.published == []
    scene.turn(1)
    assert scene.picture.forecast == {"simulations": 300}
    assert scene.published == [{"event": "forecast", "simulations": 300}]
    scene.picture.done += 1
    begin_of_second = REST * 6.0
    assert [scene.turn(seconds) for seconds in (begin_of_second - FIRST_S - 3, 2)] == [1, 2]
    scene.answers = [({"schema": 1}, 3.0)]
    scene.turn(1)
    scene.picture.done += 1
    assert [scene.turn(seconds) for seconds in (REST * 3.0 - 3, 3)] == [2, 3]


def test_cheap_forecasts_are_half_a_minute_apart() -> None:
    """A forecast that costs nearly nothing is not repeated earlier."""
    scene = Scene()
    scene.turn(FIRST_S)
    scene.answers = [({"schema": 1}, 0.1)]
    scene.turn(1)
    scene.picture.done += 1
    assert [scene.turn(seconds) for seconds in (INTERVAL_S - 1, 1)] == [1, 2]


def test_a_forecast_is_not_repeated_without_new_games() -> None:
    """In a pause, nothing is computed."""
    scene = Scene()
    scene.turn(FIRST_S)
    scene.answers = [({"schema": 1}, 0.1)]
    scene.turn(1)
    assert [scene.turn(100), scene.turn(100)] == [1, 1]
    scene.picture.done += 1
    assert scene.turn(100) == 2


def test_a_failed_forecast_keeps_the_last_one_and_the_run() -> None:
    """A process that fails or cannot be started does not disturb the games."""
    scene = Scene()
    scene.turn(FIRST_S)
    scene.answers = [(None, 0.1)]
    scene.turn(1)
    assert (scene.picture.forecast, scene.published) == (None, [])
    scene.picture.done += 1

    def full(*_: object) -> None:
        raise OSError(11, "too many processes")

    scene.refresher._start = full
    scene.turn(FIRST_S)
    scene.refresher._start = scene.start
    scene.picture.done += 1
    assert scene.turn(INTERVAL_S) == 2


def test_the_password_of_a_database_is_not_an_argument() -> None:
    """Other users see arguments of a process, but not its environment."""
    scene = Scene("postgresql://me:secret@host/db")
    scene.turn(FIRST_S)
    arguments, variables = scene.started[0]
    assert "secret" not in " ".join(arguments)
    assert variables == {"ENGINETOUR_DB": "postgresql://me:secret@host/db"}


def test_a_process_ends_with_its_run() -> None:
    """Closing ends a forecast in progress, once."""
    scene = Scene()
    scene.turn(FIRST_S)
    scene.refresher.close()
    scene.refresher.close()
    assert scene.closed == 1


def test_a_process_computes_the_forecast_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process prints the document. On a busy machine, it would take minutes with its usual priority."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game())
    lowered: list[int] = []
    monkeypatch.setattr(forecasting, "lower_priority", lowered.append)
    process = ForecastProcess(
        ["forecast", "--json", "--tournament=autumn", "--simulations=5"], {"ENGINETOUR_DB": str(tmp_path / "x.db")}
    )
    assert lowered == [process._process.pid]
    while (ended := process.result()) is None:
        time.sleep(0.02)
    found, cpu_s = ended
    assert found is not None
    assert (found["schema"], found["tournament"], found["games_done"], found["simulations"]) == (1, "autumn", 1, 5)
    assert cpu_s > 0


def test_a_process_gets_the_lowest_priority() -> None:
    """A process that has already ended is not an error."""
    with subprocess.Popen(["sleep", "60"]) as process:
        lower_priority(process.pid)
        assert os.getpriority(os.PRIO_PROCESS, process.pid) == 19
        process.kill()
    lower_priority(process.pid)


def test_a_plan_has_a_prospect_before_its_first_game(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Games last as long as the time control suggests, and nothing is written."""
    monkeypatch.chdir(workspace)
    plan = prepare(config(workspace, ("wren1", "wren2", "wren3"), "roundrobin", "", tc="1+0.01"), None)
    made = prospect_of_plan(plan, 2).forecast(20)
    assert (made.games.p50, made.slots, made.games_done) == (3, 2, 0)
    assert made.seconds is not None
    assert 0 < made.seconds.p10 < made.seconds.p90
    assert not [*(workspace / "results").iterdir()]
