"""Who rests in an odd field."""

from __future__ import annotations

from enginetour.formats.pairing.field import Dice, Field
from enginetour.formats.pairing.gorounds import gopair_bye
from tests.pastfields import field_of, rated


def drawn(field: Field, marked: tuple[int, ...] = (), leaving: tuple[int, ...] = ()) -> set[int]:
    """Everybody who can get gopair's bye, over many draws."""
    ratings = tuple(round(member.rating or 0) for member in field.members)
    return {
        gopair_bye(field, field.present, ratings, Dice(draw), marked=marked, leaving=leaving) for draw in range(200)
    }


def test_gopair_asks_the_middle() -> None:
    """Of eleven the first and the last by rating are left out; in round 1 losses are not asked."""
    assert drawn(field_of(rated(*range(11)))) == set(range(1, 10))


def test_gopair_asks_for_a_loss() -> None:
    """From round 2 on; a loss by forfeit is one, a draw is none."""
    assert drawn(field_of(rated(5, 4, 3, 2, 1), "A1B C=D E")) == {1}
    assert drawn(field_of(rated(5, 4, 3, 2, 1), "A+B C=D E")) == {1}


def test_gopair_when_nobody_fits() -> None:
    """The conditions are dropped in the order of gopair: to stay, no missed round, the middle, a loss."""
    assert drawn(field_of(rated(5, 4, 3, 2, 1), "A=B C=D E")) == {0, 1, 2, 3}
    assert drawn(field_of(rated(5, 4, 3, 2, 1), "A=B", "C=D")) == {0, 1, 2, 3}
    field = field_of(rated(5, 4, 3, 2, 1), "A1B C1D E")
    assert drawn(field) == {1, 3} and drawn(field, leaving=(1,)) == {3} and drawn(field, leaving=(1, 3)) == {1, 3}
    ends = field_of(rated(*range(11)), "A1B C1D E1F G1H I1J K", "A1C E1G", "E1A")
    assert drawn(ends) == {2, 6}, "of the losers the two at the ends by rating are left out, the others missed a round"
    ends = field_of(rated(*range(11)), "A1K B=C D=E F=G H=I J")
    assert drawn(ends) == {10}, "a loss is the last condition to be dropped: the only loser is at an end"


def test_marked_ones_are_the_whole_pool() -> None:
    """A marked entrant has the bye even if it had one before; of several, one that missed the fewest rounds."""
    field = field_of(rated(5, 4, 3, 2, 1), "A1B C=D E")
    assert drawn(field, (2, 3)) == {2, 3}
    assert drawn(field, (4,)) == {4}
    assert drawn(field, (3, 4)) == {3}
