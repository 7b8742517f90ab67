"""Who rests in an odd field."""

from __future__ import annotations

from enginetour.field import Dice, Field
from enginetour.historic.byes import gopair_bye
from tests.pastfields import field_of, rated


def drawn(field: Field, marked: tuple[int, ...] = ()) -> set[int]:
    """Everybody who can get gopair's bye, over many draws."""
    ratings = tuple(round(member.rating or 0) for member in field.members)
    return {gopair_bye(field, field.present, ratings, Dice(draw), marked) for draw in range(200)}


def test_gopair_asks_the_middle() -> None:
    """Of eleven the first and the last by rating are left out; in round 1 losses are not asked."""
    assert drawn(field_of(rated(*range(11)))) == set(range(1, 10))


def test_gopair_asks_for_a_loss() -> None:
    """From round 2 on; a loss by forfeit is one, a draw is none."""
    assert drawn(field_of(rated(5, 4, 3, 2, 1), "A1B C=D E")) == {1}
    assert drawn(field_of(rated(5, 4, 3, 2, 1), "A+B C=D E")) == {1}


def test_gopair_when_nobody_fits() -> None:
    """Without losses whoever missed no round; then whoever missed fewest; the ends by rating only at last."""
    assert drawn(field_of(rated(5, 4, 3, 2, 1), "A=B C=D E")) == {0, 1, 2, 3}
    assert drawn(field_of(rated(5, 4, 3, 2, 1), "A=B", "C=D")) == {0, 1, 2, 3}
    ends = field_of(rated(*range(11)), *"BCDEFGHIJ")
    assert drawn(ends) == {0, 10}


def test_marked_ones_come_first() -> None:
    """But never before somebody has had fewer byes."""
    field = field_of(rated(5, 4, 3, 2, 1), "A1B C=D E")
    assert drawn(field, (2, 3)) == {2, 3}
    assert drawn(field, (4,)) == {1}
