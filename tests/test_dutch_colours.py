"""Colour preferences of the Dutch system, and who of a pair has White."""

from __future__ import annotations

import pytest

from enginetour.formats.pairing.dutch_criteria import Colours, Due, colour_of_first
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE


def of(letters: str) -> Colours:
    return Colours.of([WHITE if letter == "w" else BLACK for letter in letters])


@pytest.mark.parametrize(
    ("played", "wish", "due"),
    [
        ("", NEITHER, Due.NOT),
        ("w", BLACK, Due.STRONG),
        ("wb", WHITE, Due.MILD),
        ("wbw", BLACK, Due.STRONG),
        ("bww", BLACK, Due.ABSOLUTE),  # twice the same
        ("bwbww", BLACK, Due.ABSOLUTE),
        ("wwbb", WHITE, Due.ABSOLUTE),  # twice the same, and no difference
        ("wwbwb", BLACK, Due.STRONG),
        ("wwwb", BLACK, Due.ABSOLUTE),  # two Whites more
    ],
)
def test_what_is_due(played: str, wish: int, due: Due) -> None:
    """The difference first, then the last two games, then the last."""
    assert (of(played).wish, of(played).due) == (wish, due)


@pytest.mark.parametrize(
    ("first", "second", "colour"),
    [
        ("", "", BLACK),  # as its number says
        ("w", "b", BLACK),
        ("", "b", BLACK),  # only one wishes
        ("wb", "", WHITE),
        ("wbw", "bww", WHITE),  # the absolute wish wins
        ("bww", "wbw", BLACK),
        ("bww", "www", WHITE),  # the larger difference wins
        ("wb", "bwb", BLACK),  # strong before mild
        ("bwwb", "wbwb", BLACK),  # the last time the colours differed, the first had White
        ("wwbwb", "wbwwb", WHITE),  # it had Black, and yields
        ("wbw", "wbw", BLACK),  # the first has its wish
    ],
)
def test_who_has_white(first: str, second: str, colour: int) -> None:
    """The rules of colour allocation in their order."""
    assert colour_of_first(of(first), of(second), BLACK) == colour


def test_clashes() -> None:
    """Only two absolute wishes for one colour clash."""
    assert of("bww").clashes(of("www"))
    assert not of("bww").clashes(of("wbb"))
    assert not of("bww").clashes(of("wbw"))
