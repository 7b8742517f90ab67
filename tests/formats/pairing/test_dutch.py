"""Pairs inside one bracket, in cases small enough to see."""

from __future__ import annotations

import pytest

from enginetour.formats.dutch import pair_dutch
from enginetour.formats.pairing.field import WHITE, Board
from tests.support.databases import entered, unmet


def pairs(count: int, *left: str) -> list[str]:
    """What is paired when only these pairs of letters have not met."""
    places = [(ord(pair[0]) - ord("a"), ord(pair[1]) - ord("a")) for pair in left]
    found = pair_dutch(unmet(count, places))
    return ["".join(chr(ord("a") + place) for place in board.pair) for board in found.boards]


def test_the_first_round() -> None:
    """Upper half against lower half in order, colours alternate down the list, the last has the bye."""
    paired = pair_dutch(entered(7, 5), initial_colour=WHITE)
    assert paired.boards == (Board(0, 3), Board(4, 1), Board(2, 5))
    assert paired.byes == (6,)


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ("ae bd cf", "ad bf ce"),  # the first gets the highest opponent it can
        ("ab ce df", "ad be cf"),  # nobody leaves the upper half if nobody has to
        ("ad bc ef", "af bc de"),  # whoever comes up is the highest: d, not e
        ("ae bc df", "ac be df"),  # the same exchange, and the first has the highest opponent
        ("ab cf de gh", "ab ce dg fh"),
        ("ae bf cg dh ij", "ac bg dh ei fj"),  # f for c rather than i for e: the numbers on top are smaller
        ("ad be cf gi hj", "ad be cg fh ij"),  # f and i come up rather than g and h: their numbers add up alike
    ],
)
def test_the_better_of_two(worse: str, better: str) -> None:
    """Where all others have met, of two ways to pair a bracket."""
    assert pairs(2 * len(better.split()), *worse.split(), *better.split()) == better.split()
