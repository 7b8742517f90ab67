"""Tests of formats/pairing/mcmahon."""

from __future__ import annotations

import pytest

from enginetour.formats.pairing.field import Field, Kind, Member, Turn
from enginetour.formats.pairing.mcmahon import (
    band,
    band_starts,
    bar_of,
    first_round_members,
    floor_of,
    group_starts,
    groups_wanted,
    mcmahon_points,
    merge_bands,
    spread_limits,
)

GO = 2050.0  # 1 dan, so that bands are grades of the Go scale


def test_bands_are_grades() -> None:
    """A grade has 100 points and is rounded down, also below the base."""
    assert [band(rating, GO) for rating in (2050, 2149, 2150, 2049, 1949)] == [0, 0, 1, -1, -2]
    assert band(30.0, 0.0, 15.0) == 2


def test_bar_and_floor_limit_the_bands() -> None:
    """Bar, floor, zero and corrections work as in Gotha."""
    starts = band_starts((8, 3, 0, -25, 8), bar=3, floor=-20, zero=-30, corrections=(0, 0, 0, 0, 2))
    assert starts.wins == (33, 33, 30, 10, 35) and (starts.top, starts.bottom) == (33, 10)


def test_the_smaller_of_two_groups_starts_at_the_bar() -> None:
    """The bar is the smaller of two groups: enough entrants, or 300 points."""
    ratings = [3000.0 - 40 * place for place in range(30)]
    bands = [band(rating) for rating in ratings]
    assert bar_of(ratings, bands, 3) == 27  # the eighth has 2720, and 2720 is 280 behind
    assert bar_of(ratings, bands, 8) == 27  # the sixteenth has 2400: that group is larger
    close = [3000.0 - 10 * place for place in range(30)]
    assert bar_of(close, [band(rating) for rating in close], 5) == 29  # all 30 are within 300, the tenth has 2910
    assert bar_of(ratings[:5], bands[:5], 8) == 28
    assert floor_of(ratings, bands, 3) == 21  # within 300 of 1840
    assert floor_of([-rating for rating in ratings], [-grade for grade in bands], 3) == -27


@pytest.mark.parametrize(
    ("entrants", "rounds", "groups"),
    [(5, 5, 3), (20, 5, 3), (21, 5, 5), (30, 9, 3), (60, 5, 8), (900, 5, 20), (9, 50, 1)],
)
def test_groups_follow_the_table(entrants: int, rounds: int, groups: int) -> None:
    """The number of groups follows the table, scaled by the rounds."""
    assert groups_wanted(entrants, rounds) == groups


def test_small_neighbours_are_merged() -> None:
    """The smallest neighboring groups are merged first, the outer of equal ones."""
    bands = [0] * 4 + [1] * 2 + [2] * 3 + [7] * 2 + [9]
    assert merge_bands(bands, 9) == (0, 1, 2, 7)
    assert merge_bands(bands, 3) == (0, 1, 7)
    assert merge_bands(bands, 1) == (0,)
    assert merge_bands([5], 4) == (5,)
    assert merge_bands([1, 1, 2, 2, 3, 3, 4, 4], 3) == (1, 3, 4)
    assert merge_bands([0] * 2 + [1] * 2 + [2] * 9 + [3], 3) == (0, 1, 2)  # one alone is merged before the table counts


def test_bar_and_floor_leave_the_groups_that_are_wanted() -> None:
    """Bar and floor move only as far as needed, the larger end first."""
    bands = [0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4]
    assert spread_limits(bands, 3, 1, fewest=3, rises=True, falls=True) == (3, 1)
    assert spread_limits(bands, 3, 1, fewest=4, rises=True, falls=True) == (4, 1)
    assert spread_limits(bands, 3, 1, fewest=5, rises=True, falls=True) == (4, 0)
    assert spread_limits(bands, 3, 1, fewest=5, rises=False, falls=True) == (3, 0)
    assert spread_limits(bands, 3, 1, fewest=9, rises=True, falls=True) == (4, 0)
    assert spread_limits([0, 2, 8, 9], 8, 2, fewest=9, rises=True, falls=True) == (8, 2)


def test_newcomers_go_into_the_groups_there_are() -> None:
    """Late entrants join the existing groups."""
    starts = group_starts((0, 3, 6), (-2, 0, 2, 3, 5, 9), (0,) * 6)
    assert starts.wins == (0, 0, 0, 1, 1, 2) and starts.top == 2


def test_founders_stay_the_same() -> None:
    """Limits depend on the members of round 1 only."""
    members = tuple(map(Member, "ABC"))
    assert first_round_members(Field(members, present=(0, 2))) == (0, 2)
    row = (Turn(Kind.BYE, points=2), Turn(), Turn(Kind.FORFEIT, 0))
    assert first_round_members(Field(members, (row,), (0, 1, 2))) == (0, 2)


def test_points_count_from_the_start() -> None:
    """Scores add starts, points and half wins for absences, rounded down."""
    members = tuple(map(Member, "ABC"))
    played, absent, bye = Turn(Kind.PLAYED, 1, points=3), Turn(), Turn(Kind.BYE, points=4)
    field = Field(members, ((played, absent, bye), (absent, absent, played)), (0, 1, 2), win=4)
    assert mcmahon_points(field, (2, 1, 0)) == ((8, 4, 0), (11, 4, 4), (11, 8, 7))
    assert mcmahon_points(field, (2, 1, 0), whole=False)[-1] == (13, 8, 7)
    assert mcmahon_points(field, (2, 1, 0), absence=False)[-1] == (11, 4, 7)
