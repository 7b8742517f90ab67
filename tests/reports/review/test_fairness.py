"""Tests of fairness checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.model.game import Outcome
from enginetour.reports.review.fairness import chi_square_tail, compare_hosts, fairness_of, machine_name
from enginetour.store.games import game_conditions
from enginetour.store.tables import GameConditions
from tests.reports.review.test_tournament import FOUR
from tests.support.databases import reported_played, with_values

# Percentage points of the chi-square distribution: Abramowitz and Stegun, table 26.8.
TABLE = [(3.84146, 1, 0.05), (5.99147, 2, 0.05), (11.3449, 3, 0.01), (18.3070, 10, 0.05), (24.7250, 11, 0.01)]


@pytest.fixture
def games(tmp_path: Path) -> list[GameConditions]:
    """Return sixty games with the same number of each result."""
    store, log = reported_played(tmp_path / "db", FOUR, options={"cycles": 10})
    with store:
        found = list(game_conditions(log))
    results = (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK)
    return [with_values(game, outcome=results[number % 3]) for number, game in enumerate(found)]


@pytest.mark.parametrize(("square", "freedom", "chance"), TABLE)
def test_chances_are_those_of_the_tables(square: float, freedom: int, chance: float) -> None:
    """The tail of the chi-square distribution equals published values."""
    assert chi_square_tail(square, freedom) == pytest.approx(chance, rel=1e-4)


def test_a_machine_is_the_same_at_another_speed() -> None:
    """The name of a machine does not contain its measured speed."""
    assert machine_name("EPYC (io, speed 1.02)") == machine_name("EPYC (io, speed 0.97)") == "EPYC (io)"
    assert machine_name("EPYC") == "EPYC"


def test_machines_that_are_alike_are_told_and_not_warned_of(games: list[GameConditions]) -> None:
    """Equal results on two machines are no warning, and concurrent games on different machines do not crowd one."""
    half = len(games) // 2
    two = [with_values(game, hardware=f"X (host{n // half}, speed 1)") for n, game in enumerate(games)]
    found = compare_hosts(two)
    assert found.games == (("X (host0)", 30), ("X (host1)", 30))
    assert found.chi_square == pytest.approx(0.0)
    assert "p = 1.000" in found.text
    beside = [with_values(game, started_unix=0.0, ended_unix=1.0, cores=half, load_average=None) for game in two]
    assert fairness_of(beside, {}).warnings == ()


def test_machines_that_differ_are_warned_of(games: list[GameConditions]) -> None:
    """Different results on two machines are a warning."""
    uneven = [
        with_values(game, hardware=f"X (host{n % 2}, speed 1)", outcome=(Outcome.WHITE, Outcome.BLACK)[n % 2])
        for n, game in enumerate(games)
    ]
    (warning,) = fairness_of([with_values(game, load_average=None) for game in uneven], {}).warnings
    assert warning.startswith("results differ between machines (games by machine: 30 on X (host0)")


def test_few_games_and_one_machine_say_nothing(games: list[GameConditions]) -> None:
    """Few games or a single machine give no comparison (Cochran's rule)."""
    few = [with_values(game, hardware=f"X (host{n % 2}, speed 1)") for n, game in enumerate(games[:12])]
    assert compare_hosts(few).chance is None
    assert "too few" in compare_hosts(few).text
    assert compare_hosts(games).text == ""
