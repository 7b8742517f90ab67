"""Ratings as they stand before a round."""

from __future__ import annotations

import pytest

from enginetour.formats.pairing.field import Field, Member
from enginetour.formats.pairing.gorounds import (
    current_ratings,
    entry_ratings,
    in_order,
    refuse_unrated,
    remarks_on_unrated,
)
from tests.pastfields import field_of, rated


def test_before_round_1_nothing_changes() -> None:
    """Entry ratings to the last thousandth; byes and forfeits alone change nothing either."""
    members = rated(2000, 1900.5, 1800)
    assert current_ratings(field_of(members)) == (2_000_000, 1_900_500, 1_800_000)
    assert current_ratings(field_of(members, "A+B C")) == (2_000_000, 1_900_500, 1_800_000)


def test_games_move_them() -> None:
    """The winner as far up as the loser down; four games of a match are more than one."""
    one = current_ratings(field_of(rated(1000, 1000), "A1B"))
    four = current_ratings(field_of(rated(1000, 1000), "A1B", win=8))
    assert sum(one) == sum(four) == 2_000_000 and 1_000_000 < one[0] < four[0]


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
