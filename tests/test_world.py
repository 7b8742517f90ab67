"""Simulated engines: their strengths, what is believed of them, and how their games end."""

from __future__ import annotations

from statistics import fmean, median, pstdev

import pytest

from enginetour.formats.simulation import World, cast, drawn
from enginetour.model.game import Entrant, Outcome, Pairing


def test_chances_between_equals() -> None:
    """Without White's advantage 45 % are drawn and the rest is halved; far apart nothing is drawn."""
    level = World(white=0.0)
    assert level.chances(0, 0) == pytest.approx((0.275, 0.45, 0.275))
    won, drawn_, lost = World().chances(100, 0)
    assert won + drawn_ / 2 == pytest.approx(1 / (1 + 10 ** (-120 / 400)))
    assert won + drawn_ + lost == pytest.approx(1)
    assert level.chances(4000, 0)[1] == pytest.approx(0, abs=1e-9)


def test_a_population_is_as_wide_as_its_world() -> None:
    """2,000 engines: spread and noise within five standard errors, the best believed first, the median at the level."""
    world = World(spread=150, noise=90)
    crowd = drawn(world, 2000, "crowd")
    truth = [crowd.strengths[entrant.name] for entrant in crowd.entrants]
    ratings = [entrant.rating or 0.0 for entrant in crowd.entrants]
    assert pstdev(truth) == pytest.approx(150, abs=5 * 150 / 4000**0.5)
    assert pstdev(r - t for r, t in zip(ratings, truth, strict=True)) == pytest.approx(90, abs=5 * 90 / 4000**0.5)
    assert ratings == sorted(ratings, reverse=True)
    assert median(ratings) == pytest.approx(2000)


def test_games_end_as_often_as_they_should() -> None:
    """Over 4,000 meetings of one pair the shares are the chances, within five standard errors."""
    pair = cast(World(noise=0.0), (Entrant("A", rating=1600.0), Entrant("B", rating=1500.0)), "pair")
    ends = [pair.outcome(Pairing("A", "B", meeting)) for meeting in range(1, 4001)]
    for outcome, chance in zip(
        (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK), pair.world.chances(1600, 1500), strict=True
    ):
        assert fmean(end is outcome for end in ends) == pytest.approx(chance, abs=5 * (chance / 4000) ** 0.5)


def test_luck_belongs_to_the_pair() -> None:
    """The same game ends the same whenever it is played; without White's advantage also with colours reversed."""
    field = drawn(World(white=0.0), 8, "luck")
    for meeting in range(1, 40):
        once = field.outcome(Pairing("E1", "E2", meeting))
        again = field.outcome(Pairing("E2", "E1", meeting))
        assert once.half_points(white=True) == again.half_points(white=False)


def test_odds_cost_the_giver_what_a_doubling_of_time_is_assumed_to_be_worth() -> None:
    """A band takes 100 points up to five doublings of 70; a table of divisors is asked instead of the formula."""
    rated = (Entrant("A", rating=1600.0), Entrant("B", rating=1500.0))
    pair = cast(World(noise=0.0), rated, "odds")
    leads = [pair.lead(Pairing("A", "B", handicap=bands)) for bands in (0, 1, 3, 9)]
    assert leads == pytest.approx([100, 0, -200, 100 - 350])
    assert pair.lead(Pairing("B", "A", handicap=-1)) == pytest.approx(0)
    doubled = cast(World(noise=0.0, odds=(2.0, 4.0)), rated, "odds")
    assert doubled.lead(Pairing("A", "B", handicap=2)) == pytest.approx(100 - 140)
    ends = [pair.outcome(Pairing("A", "B", meeting, handicap=3)) for meeting in range(1, 2001)]
    share = fmean(end.half_points(white=True) / 2 for end in ends)
    won, drawn_, _ = pair.world.chances(-200, 0)
    assert share == pytest.approx(won + drawn_ / 2, abs=5 * 0.5 / 2000**0.5)


def test_rated_entrants_are_as_strong_as_rated() -> None:
    """Without noise exactly; with one unrated among them all are drawn, in the order they stand."""
    rated = (Entrant("A", rating=1600.0), Entrant("B", rating=1500.0))
    assert cast(World(noise=0.0), rated, "x").strengths == {"A": 1600.0, "B": 1500.0}
    assert cast(World(noise=50.0), rated, "x").strengths["A"] != 1600.0
    some = cast(World(noise=0.0), (*rated, Entrant("C")), "x")
    assert some.strengths["A"] > some.strengths["B"] > some.strengths["C"]
    assert some.entrants[0].rating == 1600.0
