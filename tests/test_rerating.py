"""Ratings of a field between two rounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.ratings.rerating import ENTRY_DRAWS, by_likelihood
from tests.pastfields import field_of, random_field, rated


def expected(gap: float) -> float:
    """Elo's expectation on the logistic curve."""
    return float(1 / (1 + 10 ** (-gap / 400)))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_the_score_equations_hold(seed: int) -> None:
    """Points scored are the points expected, virtual draws at the entry rating included."""
    field = random_field(seed, 7, 3)
    entry = [member.rating or 0.0 for member in field.members]
    found = by_likelihood(field, entry)
    for place, rating in enumerate(found):
        met = [turn for turn in field.turns(place) if turn.met and turn.opponent is not None]
        scored = sum(turn.points / 2 for turn in met) + ENTRY_DRAWS / 2
        due = sum(expected(rating - found[turn.opponent or 0]) for turn in met)
        assert scored == pytest.approx(due + ENTRY_DRAWS * expected(rating - entry[place]), abs=1e-6)


def test_a_win_among_equals_by_hand() -> None:
    """One game, two draws each: 1 + 1 = E(2x) + 2 E(x) holds at x = 91.73 points."""
    gain, loss = by_likelihood(field_of(rated(1000, 1000), "A1B"), [0.0, 0.0])
    assert (gain, loss) == pytest.approx((91.7315, -91.7315), abs=1e-4)
    assert expected(2 * gain) + 2 * expected(gain) == pytest.approx(2)
