"""Ratings after each round."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.field import Field, Kind, Member, Turn
from enginetour.historic.rerating import entry_ratings, in_order, refuse_unrated, remarks_on_unrated, rerated
from tests.pastfields import field_of, random_field, rated


def expected(gap: float) -> float:
    """Elo's expectation on the logistic curve."""
    return float(1 / (1 + 10 ** (-gap / 400)))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**9), draws=st.integers(1, 5))
def test_the_score_equations_hold(seed: int, draws: int) -> None:
    """Points scored are the points expected, virtual draws at the entry rating included, to 1/1000 of a point."""
    field = random_field(seed, 7, 3)
    found = [rating / 1000 for rating in rerated(field, draws)]
    entry = [member.rating or 0.0 for member in field.members]
    for place, rating in enumerate(found):
        met = [turn for turn in field.turns(place) if turn.met and turn.opponent is not None]
        scored = sum(turn.points / 2 for turn in met) + draws / 2
        due = sum(expected(rating - found[turn.opponent or 0]) for turn in met)
        assert scored == pytest.approx(due + draws * expected(rating - entry[place]), abs=2e-5)


def test_before_round_1_nothing_changes() -> None:
    """Entry ratings, in thousandths; byes and forfeits change nothing either."""
    members = rated(2000, 1900.5, 1800)
    assert rerated(field_of(members), 2) == (2_000_000, 1_900_500, 1_800_000)
    assert rerated(field_of(members, "A+B C"), 2) == (2_000_000, 1_900_500, 1_800_000)


def test_a_win_among_equals_by_hand() -> None:
    """One game, two draws each: 1 + 1 = E(2x) + 2 E(x) holds at x = 66.83 points."""
    found = rerated(field_of(rated(1000, 1000), "A1B"), 2)
    gain = (found[0] - 1_000_000) / 1000
    assert found[0] + found[1] == 2_000_000
    assert expected(2 * gain) + 2 * expected(gain) == pytest.approx(2, abs=1e-5)


def test_matches() -> None:
    """Four games won are more than one; scored as one they are one; a match broken off says nothing."""
    members = rated(1000, 1000)
    one, four = (rerated(field_of(members, "A1B", win=win), 2)[0] for win in (2, 8))
    assert one < four
    as_one = Turn(Kind.PLAYED, 1, points=2, games=4), Turn(Kind.PLAYED, 0, points=0, games=4)
    assert rerated(Field(members, (as_one,), (0, 1)), 2)[0] == one
    broken = Turn(Kind.PLAYED, 1, points=6, games=1), Turn(Kind.PLAYED, 0, points=2, games=1)
    assert rerated(Field(members, (broken,), (0, 1), win=8), 2) == (1_000_000, 1_000_000)


def test_who_brings_no_rating() -> None:
    """At the start it is refused by name; later it comes as the average, and that is said."""
    members = (Member("A", 1000.0), Member("B", 1100.0), Member("C"))
    with pytest.raises(ValueError, match="no rating of C: set rating"):
        refuse_unrated(members)
    field = Field(members, (), (0, 1, 2))
    assert entry_ratings(field)[2] == 1_050_000
    assert remarks_on_unrated(field) == ("C brought no rating: the average of the others is taken",)


def test_equal_ratings_stand_in_entry_order() -> None:
    """Best first, the last word is the entry order."""
    assert in_order((5, 9, 5, 7), (2, 0, 1, 3)) == [1, 3, 0, 2]
