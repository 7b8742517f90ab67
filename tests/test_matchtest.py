"""A test over the games of two engines."""

from __future__ import annotations

import itertools
import json

import pytest

from enginetour.ratings.pentanomial import statistics_of
from enginetour.ratings.sequential import Sprt, follow, match_test
from enginetour.reports import sprt
from enginetour.reports.sheet import render

PAIRED = [(number // 2, half_points) for number, half_points in enumerate([2, 1, 0, 2, 1, 1, 2, 2, 1, 0])]


def test_games_that_came_in_pairs_are_tested_by_pairs() -> None:
    """Walk and statistics see pairs; W, D, L count games."""
    found = match_test(Sprt(0, 10), PAIRED)
    assert found.games == (2, 4, 4)
    assert found.pairs == (0, 1, 2, 1, 1)
    assert found.lone == 0
    assert found.walk == follow(Sprt(0, 10), [3, 2, 2, 4, 1], 5)
    assert found.statistics == statistics_of((0, 1, 2, 1, 1))


def test_a_lone_game_waits_for_its_partner() -> None:
    """It counts in W, D, L and nowhere else."""
    found = match_test(Sprt(0, 10), [*PAIRED, ("in the air", 2)])
    assert found.games == (2, 4, 5)
    assert found.pairs == (0, 1, 2, 1, 1)
    assert found.lone == 1


@pytest.mark.parametrize(
    ("test", "half_points"),
    [
        *itertools.product([Sprt(-50, 50), Sprt(-50, 50, "normalized"), Sprt(-10, -5, "bayesian")], (0, 2)),
        *itertools.product([Sprt(5, 10)], (0, 1, 2)),
    ],
)
def test_results_all_alike_have_an_elo_at_the_stop(test: Sprt, half_points: int) -> None:
    """They leave nothing to tilt; the plain figures hold, with at least one end."""
    found = match_test(test, [(number // 2, half_points) for number in range(2000)])
    after = found.after_stop
    assert after is not None and after.plain
    assert after.low is not None or after.high is not None
    assert "Elo, by plain figures" in render(sprt.story("t", ("A", "B"), found))


def test_far_beyond_the_test_the_plain_figures_hold() -> None:
    """Nine lost pairs and a shared one: when the test stopped tells nothing of the strength."""
    found = match_test(Sprt(-50, 50), [(number // 2, 0 if number % 20 else 2) for number in range(40)])
    assert found.after_stop is not None
    plain = statistics_of((9, 0, 1, 0, 0))
    assert (found.after_stop.elo, found.after_stop.low, found.after_stop.high) == (plain.elo, plain.low, plain.high)


def test_games_mostly_alone_are_tested_one_by_one() -> None:
    """A pair among many single games makes no pentanomial."""
    found = match_test(Sprt(0, 10), [("a", 2), ("a", 0), *((number, 1) for number in range(3))])
    assert found.pairs is None
    assert found.lone == 0
    assert found.walk.counts == found.games == (1, 3, 1)


def test_bayesian_walks_over_games() -> None:
    """Its draws are those of games; what is not the test's stays by pairs."""
    found = match_test(Sprt(0, 10, "bayesian"), PAIRED)
    assert found.walk.counts == (2, 4, 4)
    assert not found.walks_by_pairs
    assert found.statistics.observations == 5


def test_no_games_no_test() -> None:
    """Nothing to count is nothing to tell."""
    with pytest.raises(ValueError, match="without games"):
        match_test(Sprt(0, 10), [])


def test_json_has_no_nan() -> None:
    """One win and no more: what cannot be given is null."""
    value = json.loads(json.dumps(match_test(Sprt(0, 5), [("a", 2)]).to_json(), allow_nan=False))
    assert value["wins"] == 1
    assert value["pentanomial"] is None
    assert value["elo"] is None
    assert value["sprt"]["verdict"] is None
    assert value["sprt"]["stopped_after"] is None
    assert value["sprt"]["estimate"] is None
