"""Who has White."""

from __future__ import annotations

from enginetour.formats.pairing.field import Board
from enginetour.formats.pairing.gorounds import seated, whites
from tests.pastfields import field_of, rated

FOUR = rated(4, 3, 2, 1)


def test_the_balance_first() -> None:
    """More Whites than Blacks before: Black now, whoever comes first in the pair."""
    field = field_of(FOUR, "A1B C1D")
    assert seated(field, [(0, 3), (2, 1)], "x") == (Board(3, 0), Board(1, 2))


def test_then_the_last_colours_that_differ() -> None:
    """A and C are both level: A had White last, so C has it now; before that they do not look."""
    field = field_of(FOUR, "B1A C1D", "A1D B1C")
    assert seated(field, [(0, 2)], "x") == (Board(2, 0),)


def test_else_the_lot() -> None:
    """Drawn from the seed, the same for both orders of the pair; both colours come up."""
    boards = set()
    for seed in range(20):
        field = field_of(FOUR, seed=seed)
        one, other = seated(field, [(0, 1)], "x"), seated(field, [(1, 0)], "x")
        assert one == other
        boards.add(one)
    assert len(boards) == 2


def test_gopair_counts_whites_alone() -> None:
    """Two Whites and two Blacks are more Whites than none in no game; forfeits are no games."""
    field = field_of(FOUR, "A1B C", "B1A C+D")
    assert whites(field, 0) == 1 and whites(field, 2) == 0
    assert seated(field, [(0, 2)], "x", whites) == (Board(2, 0),)
