"""Tests of reports/forecast."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from enginetour.formats.forecast import EntrantForecast, Forecast, Quantiles
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Outcome
from enginetour.model.timecontrol import TimeControl
from enginetour.reports.forecast import estimated_lengths, forecast_lines, forecast_sheet, limit_cpu, prospect_of
from enginetour.reports.sheet import render
from enginetour.store.log import TournamentLog
from enginetour.store.replay import fold
from tests.support.databases import add_game, game, invoke, open_log


def document(**changed: Any) -> dict[str, Any]:
    """Return the document of a forecast."""
    entrants = (
        EntrantForecast("Fruit", 0.62, {1: 0.62, 2: 0.3, 3: 0.08}, 0.0),
        EntrantForecast("Toga", 0.38, {1: 0.38, 2: 0.6, 3: 0.02}, 0.25),
    )
    made = Forecast(
        "autumn", "bubble", 57, 2, 300, Quantiles(33, 46, 1061), Quantiles(600, 1800, 7200), entrants, "drops out"
    )
    return made.to_json() | changed


def test_a_forecast_as_a_table() -> None:
    """The table has the chances of each entrant, and notes on the remaining games and hours."""
    text = render(forecast_sheet(document()), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()[:4]] == [
        ["forecast · autumn · after 57 games"],
        ["engine", "wins", "places", "most likely places", "drops out next"],
        ["Fruit", "62%", "1-2", "1: 62%, 2: 30%, 3: 8%", "0%"],
        ["Toga", "38%", "1-2", "2: 60%, 1: 38%, 3: 2%", "25%"],
    ]
    assert "remaining: 46 games (33 to 1,061), 30 min (10 min to 2 h 00 min)" in text


def test_a_forecast_in_two_lines() -> None:
    """The lines of `status` show what remains, who wins and who drops out next; for a test, its verdict."""
    assert forecast_lines(document()) == [
        "forecast after 57 games: 46 games (33 to 1,061), 30 min (10 min to 2 h 00 min)",
        "wins: Fruit 62%, Toga 38% · drops out next: Toga 25%",
    ]
    tested = document(verdicts={"H0": 0.25, "H1": 0.75}, remaining_hours=None, games_done=1)
    assert forecast_lines(tested) == ["forecast after 1 game: 46 games (33 to 1,061)", "verdict: H0 25%, H1 75%"]


def test_lengths_from_time_controls() -> None:
    """A game of two engines takes the sum of their halves; a limit by nodes or depth says nothing about time."""
    quick, slow = TimeControl.parse("10+0.1"), TimeControl.parse("movetime=1")
    found = estimated_lengths({"A": [quick, quick], "B": [slow, slow]})
    assert found is not None
    assert found.means == {"A": pytest.approx(2 * 0.8 * 18), "B": pytest.approx(2 * 0.8 * 80)}
    assert estimated_lengths({"A": [quick], "B": [TimeControl.parse("nodes=1000")]}) is None
    assert estimated_lengths({"A": [TimeControl.parse("hourglass=10")]}) is None


def test_a_time_limit_ends_a_forecast_after_the_fewest_simulations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without time, only the smallest number of simulations is made, unless they take three times as long."""
    spent = iter([0.0, 1.5, 1.5, 2.9, 3.1])
    monkeypatch.setattr(time, "process_time", lambda: next(spent))
    within = limit_cpu(1.0, fewest=5)
    assert [within(done) for done in (4, 5, 4, 4)] == [True, False, True, False]


# Forecasts of stored tournaments.


def played(log: TournamentLog, count: int) -> None:
    """Play games of the round robin, in which Fruit wins and all other games are drawn."""
    format_, state = fold(log)
    for offer in format_.offers(state)[:count]:
        white, black = Outcome.WHITE, Outcome.BLACK
        outcome = white if offer.white == "Fruit" else black if offer.black == "Fruit" else Outcome.DRAW
        add_game(log, replace(game(), pairing=offer, outcome=outcome))


def test_the_prospect_of_a_stored_tournament(tmp_path: Path) -> None:
    """Results, ratings and durations come from the log; a stronger engine is expected to win."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        played(log, 8)
        found = prospect_of(log, 3)
        assert (found.tournament, found.system, found.games_done, found.slots) == ("autumn", "roundrobin", 8, 3)
        made = found.forecast(20)
        assert made.entrants[0].name == "Fruit"
        assert (made.games.p10, made.games.p90) == (4, 4)


def test_the_command_prints_a_table_and_a_document(tmp_path: Path) -> None:
    """The table is readable at 80 columns, and --json has the version of all documents."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        played(log, 1)
    told = invoke(tmp_path, "forecast", "autumn", "--simulations", 20)
    assert told.exit_code == 0, told.output
    assert "forecast · autumn · after 1 game" in told.output
    found = invoke(tmp_path, "forecast", "--json", "--simulations", 20, "--concurrency", 4)
    assert '"schema": 1' in found.stdout
    assert '"concurrency": 4' in found.stdout
    status = invoke(tmp_path, "status", "autumn").output
    assert "forecast after 1 game: 11 games" in status


def test_an_ended_tournament_has_no_forecast(tmp_path: Path) -> None:
    """The error is one line with a next step."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        played(log, 12)
        with pytest.raises(UsageRefused, match="has ended, so there is nothing to forecast"):
            prospect_of(log)
    told = invoke(tmp_path, "forecast", "autumn")
    assert str(told.exception) == (
        "autumn: has ended, so there is nothing to forecast. Hint: see enginetour standings autumn."
    )
