import math
from typing import Any

import pytest
from pydantic import ValidationError

from enginetour.ratings.elo import EloSettings, expected_score
from enginetour.ratings.incremental import RatedGame, RatingEvent, Version, lineage
from enginetour.ratings.systems import SYSTEMS

rate = SYSTEMS["elo"].rate

THREE = (RatedGame("A", "B", 2, 1), RatedGame("A", "C", 1, 2), RatedGame("A", "D", 0, 3))
FIELD = {"A": 2000.0, "B": 2100.0, "C": 2000.0, "D": 1900.0}


def last(events: list[RatingEvent], name: str) -> RatingEvent:
    return [event for event in events if event.engine == name][-1]


@pytest.mark.parametrize(("gap", "score"), [(100, 0.640065), (200, 0.759747), (400, 10 / 11), (0, 0.5)])
def test_expected_score(gap: float, score: float) -> None:
    """The expected score is Elo's logistic curve, ten to one at 400 points."""
    assert expected_score(gap) == pytest.approx(score, abs=5e-7)


@pytest.mark.parametrize(("half_points", "after"), [(2, 1818.233926), (1, 1806.233926)])
def test_one_game(half_points: int, after: float) -> None:
    """1800 against 2000 with K 24 changes by the published amounts, and the opponent by the opposite."""
    settings = EloSettings(k=24)
    white, black = rate([RatedGame("A", "B", half_points, 7, "x")], settings, {"A": 1800, "B": 2000})
    assert white.after == pytest.approx(after, abs=1e-6)
    assert white.change == pytest.approx(-black.change, abs=1e-12)
    assert (white.system, white.event, white.game, white.weight, white.games) == ("elo", "x", 7, 24, 1)


def test_modes() -> None:
    """A win, a draw and a loss against equals cancel in batch mode, but not one after another."""
    batch = rate(THREE, EloSettings(k=20, mode="batch"), FIELD)
    assert last(batch, "A").after == 2000.0
    assert (last(batch, "A").game, last(batch, "A").games, len(batch)) == (None, 3, 4)
    sequential = rate(THREE, EloSettings(k=20), FIELD)
    assert last(sequential, "A").after == pytest.approx(1999.305357, abs=1e-6)
    assert len(sequential) == 6


def test_advantage_is_whites() -> None:
    """The advantage increases only White's expected score."""
    white, black = rate([RatedGame("A", "B", 1, 1)], EloSettings(adv=100, k=10), {})
    assert white.change == pytest.approx(10 * (0.5 - 0.640065), abs=1e-5)
    assert black.change == pytest.approx(-white.change, abs=1e-12)


def test_clip_only_when_asked() -> None:
    """A rating difference counts in full unless a clip is set."""
    games, start = [RatedGame("A", "B", 2, 1)], {"A": 1000.0, "B": 0.0}
    assert rate(games, EloSettings(k=10, clip=400), start)[0].change == pytest.approx(10 / 11)
    assert rate(games, EloSettings(k=10), start)[0].change == pytest.approx(10 / (1 + 10**2.5))


def test_k_by_games() -> None:
    """K changes after the configured number of rated games."""
    games = [RatedGame("A", "B", 1, number) for number in range(1, 5)]
    events = rate(games, EloSettings(k_policy="by-games", k_new=32, new_games=2, k=8), {})
    assert [event.weight for event in events if event.engine == "A"] == [32, 32, 8, 8]


def test_k_of_fide() -> None:
    """K is 40 below 30 games, then 20, and 10 once 2400 was reached."""
    games = [RatedGame("low", "top", 2, number) for number in range(1, 33)]
    events = rate(games, EloSettings(k_policy="fide"), {"low": 1500, "top": 2405})
    assert [event.weight for event in events if event.engine == "low"] == [40] * 30 + [20] * 2
    assert last(events, "top").after < 2400
    assert last(events, "top").weight == 10


def test_newcomer_enters_at_the_start_value() -> None:
    """An engine without a rating gets the start value; others keep their rating."""
    white, black = rate([RatedGame("A", "B", 1, 1)], EloSettings(start_value=1500), {"B": 1600})
    assert (white.before, black.before) == (1500, 1600)


def test_batch_keeps_events_whole() -> None:
    """Two events that ran at the same time are rated separately, in the order of their first games."""
    mixed = [RatedGame("A", "B", 2, 1, "x"), RatedGame("A", "B", 2, 2, "y"), RatedGame("A", "B", 2, 3, "x")]
    events = rate(mixed, EloSettings(mode="batch"), {})
    assert [(event.event, event.engine, event.games) for event in events] == [
        ("x", "A", 2), ("x", "B", 2), ("y", "A", 3), ("y", "B", 3),
    ]  # fmt: skip


def test_no_game_against_oneself() -> None:
    """A game of an engine against itself raises an error."""
    with pytest.raises(ValueError, match="against itself"):
        rate([RatedGame("A", "A", 1, 1)], EloSettings(), {})


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"k": math.nan}, {"mode": "daily"}, {"K": 10}, {"clip": -1}, {"k": "24"}, {"k": 1e6}]
)
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    """Settings with K = 0, an unknown mode or an unknown key are invalid."""
    with pytest.raises(ValidationError):
        EloSettings(**wrong)


def test_ratings_that_are_too_far_apart() -> None:
    """A very large rating difference gives a certain result without an overflow."""
    for start in ({"A": 1e6}, {"B": 1e6}):
        white, black = rate([RatedGame("A", "B", 1, 1)], EloSettings(), start)
        assert abs(white.change) == abs(black.change) == 8


def test_a_new_version_inherits_only_when_asked() -> None:
    """A new version starts with the current rating of its predecessor only if inherit is set and it has no rating."""
    games = [RatedGame("A1", "B", 2, 1), RatedGame("A2", "B", 1, 2), RatedGame("A1", "B", 0, 3)]
    family = lineage([Version("A1", "A"), Version("B", "B"), Version("A2", "A")])
    first, _, second, *_ = rate(games, EloSettings(inherit=True), {}, family)
    assert (first.before, first.after, second.before) == (0, 8, 8)
    assert rate(games, EloSettings(), {}, family)[2].before == 0
    assert rate(games, EloSettings(inherit=True), {"A2": 30.0}, family)[2].before == 30
