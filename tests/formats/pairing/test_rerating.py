"""Ratings of a field between two rounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Field, Kind, Member, Turn
from enginetour.formats.pairing.rerating import ENTRY_DRAWS, by_gor, by_likelihood, match_scores
from enginetour.model.errors import InputRefused
from tests.support.databases import field_of, random_field, rated


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


def rounds_of(*rounds: tuple[Turn, ...], win: int = 2) -> Field:
    members = tuple(Member(name) for name in "ABCD"[: len(rounds[0])])
    return Field(members, rounds, tuple(range(len(members))), 5, win)


def game(points: int) -> tuple[Turn, Turn]:
    return Turn(Kind.PLAYED, 1, WHITE, points, games=1), Turn(Kind.PLAYED, 0, BLACK, 2 - points, games=1)


def test_nothing_played_changes_nothing() -> None:
    """Entry ratings stay before round 1, and through byes and forfeits."""
    idle = (Turn(Kind.BYE, points=2), Turn(Kind.FORFEIT, 2, WHITE, 2), Turn(Kind.FORFEIT, 1, BLACK, 0))
    for there in (Field(tuple(map(Member, "ABC"))), rounds_of(idle)):
        entry = (1400.0, 1500.0, 1700.0)
        assert by_likelihood(there, entry) == pytest.approx(entry, abs=1e-9)
        assert by_gor(there, entry) == list(entry)


def test_gor_rates_round_by_round() -> None:
    """Each round starts from the ratings the last one left; epsilon 0 adds no points between equals."""
    once = by_gor(rounds_of(game(2)), (1500.0, 1500.0))
    assert once == pytest.approx((1523.5, 1476.5), abs=1e-9)  # con 47
    twice = by_gor(rounds_of(game(2), game(2)), (1500.0, 1500.0))
    assert twice == pytest.approx(by_gor(rounds_of(game(2)), once), abs=1e-9)
    assert twice[0] - once[0] < once[0] - 1500  # the second win was expected more


def test_a_match_counts_its_games() -> None:
    """Half points of two games are a win and a draw; where matches are scored it is one game."""
    row = (Turn(Kind.PLAYED, 1, NEITHER, 3, games=2), Turn(Kind.PLAYED, 0, NEITHER, 1, games=2))
    assert match_scores(rounds_of(row, win=4)) == [[(0, 1, (1, 1, 0))]]
    row = (Turn(Kind.PLAYED, 1, NEITHER, 0, games=2), Turn(Kind.PLAYED, 0, NEITHER, 2, games=2))
    assert match_scores(rounds_of(row)) == [[(0, 1, (0, 0, 1))]]


def test_gor_has_a_floor() -> None:
    """Whoever enters below 100 is refused."""
    with pytest.raises(InputRefused, match="below 100"):
        by_gor(rounds_of(game(2)), (99.0, 1500.0))
