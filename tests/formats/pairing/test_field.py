"""Tests of formats/pairing/field."""

from __future__ import annotations

from collections import Counter

import pytest

from enginetour.formats.pairing.field import BLACK, WHITE, Board, Dice, Field, Kind, Member, Turn

THREE = tuple(Member(name) for name in "ABC")
FIRST = (Turn(Kind.PLAYED, 1, WHITE, 2), Turn(Kind.PLAYED, 0, BLACK, 0), Turn(Kind.BYE, points=2))
SECOND = (Turn(Kind.FORFEIT, 2, WHITE, 2), Turn(), Turn(Kind.FORFEIT, 0, BLACK, 0))
FIELD = Field(THREE, (FIRST, SECOND), (0, 1, 2), rounds=3)


def test_points_before_each_round() -> None:
    """Scores are kept for each round, with unplayed ones."""
    assert FIELD.points == ((0, 0, 0), (2, 0, 2), (4, 0, 2))
    assert FIELD.scores == (4, 0, 2)
    assert FIELD.number == 3


def test_a_forfeit_is_no_meeting() -> None:
    """A forfeit is not a meeting, and its color does not count."""
    assert FIELD.met(0, 1) and FIELD.met(1, 0)
    assert not FIELD.met(0, 2)
    assert FIELD.balance(0) == 1
    assert FIELD.byes(2) == 1


def test_looking_back() -> None:
    """The field before an earlier round has its history and its present members."""
    then = FIELD.before(2)
    assert then.history == (FIRST,)
    assert then.present == (0, 2)


def test_a_board_knows_its_pair() -> None:
    """The pair of a board does not depend on its colors."""
    assert Board(2, 1).pair == Board(1, 2).pair == (1, 2)


def test_dice_are_fair_and_the_same_for_ever() -> None:
    """The first numbers are fixed, and all orders of three are equally frequent."""
    dice = Dice("seed", 7)
    assert [dice.below(6) for _ in range(8)] == [0, 2, 5, 0, 2, 4, 3, 1]
    orders = Counter("".join(Dice(throw).shuffled("ABC")) for throw in range(6000))
    assert len(orders) == 6
    assert all(abs(count - 1000) < 150 for count in orders.values())
    with pytest.raises(ValueError, match="at least 1"):
        dice.below(0)
