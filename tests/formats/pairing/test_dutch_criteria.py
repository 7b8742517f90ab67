"""Tests of formats/pairing/dutch_criteria."""

from __future__ import annotations

from dataclasses import replace

import pytest

from enginetour.formats.dutch import pair_dutch
from enginetour.formats.pairing.dutch_criteria import (
    Colors,
    Float,
    PreferenceStrength,
    color_of_first,
    entered,
    player_cards,
    virtual_points,
)
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Board, Field, Kind, Turn
from tests.support import databases


def of(letters: str) -> Colors:
    return Colors.of([WHITE if letter == "w" else BLACK for letter in letters])


@pytest.mark.parametrize(
    ("played", "wish", "due"),
    [
        ("", NEITHER, PreferenceStrength.NOT),
        ("w", BLACK, PreferenceStrength.STRONG),
        ("wb", WHITE, PreferenceStrength.MILD),
        ("wbw", BLACK, PreferenceStrength.STRONG),
        ("bww", BLACK, PreferenceStrength.ABSOLUTE),  # twice the same
        ("bwbww", BLACK, PreferenceStrength.ABSOLUTE),
        ("wwbb", WHITE, PreferenceStrength.ABSOLUTE),  # twice the same, and no difference
        ("wwbwb", BLACK, PreferenceStrength.STRONG),
        ("wwwb", BLACK, PreferenceStrength.ABSOLUTE),  # two Whites more
    ],
)
def test_what_is_due(played: str, wish: int, due: PreferenceStrength) -> None:
    """The preference follows the difference, then the last two games, then the last game."""
    assert (of(played).wish, of(played).due) == (wish, due)


@pytest.mark.parametrize(
    ("first", "second", "color"),
    [
        ("", "", BLACK),  # as its number says
        ("w", "b", BLACK),
        ("", "b", BLACK),  # only one wishes
        ("wb", "", WHITE),
        ("wbw", "bww", WHITE),  # the absolute wish wins
        ("bww", "wbw", BLACK),
        ("bww", "www", WHITE),  # the larger difference wins
        ("wb", "bwb", BLACK),  # strong before mild
        ("bwwb", "wbwb", BLACK),  # the last time the colors differed, the first had White
        ("wwbwb", "wbwwb", WHITE),  # it had Black, and yields
        ("wbw", "wbw", BLACK),  # the first has its wish
    ],
)
def test_who_has_white(first: str, second: str, color: int) -> None:
    """The rules of color allocation apply in order."""
    assert color_of_first(of(first), of(second), BLACK) == color


def test_clashes() -> None:
    """Only two absolute preferences for one color clash."""
    assert of("bww").clashes(of("www"))
    assert not of("bww").clashes(of("wbb"))
    assert not of("bww").clashes(of("wbw"))


WON, LOST = Turn(Kind.PLAYED, 1, WHITE, 2, games=1), Turn(Kind.PLAYED, 0, BLACK, 0, games=1)
BYE, ABSENT = Turn(Kind.BYE, points=2), Turn()


def field(*rows: tuple[Turn, ...], rounds: int = 9) -> Field:
    return replace(databases.entered(len(rows[0]), rounds), history=rows)


def test_floats() -> None:
    """Floats of the last two rounds are down against lower scores or unplayed points, up against higher scores."""
    won = (Turn(Kind.PLAYED, 2, WHITE, 2), BYE, Turn(Kind.PLAYED, 0, BLACK, 0))
    uneven = (Turn(Kind.PLAYED, 2, BLACK, 1), ABSENT, Turn(Kind.PLAYED, 0, WHITE, 1))
    floats = {card.place: card.floats for card in player_cards(field(won, uneven))}
    assert floats == {
        0: (Float.DOWN, Float.NONE),
        1: (Float.NONE, Float.DOWN),
        2: (Float.UP, Float.NONE),
    }


def test_what_bars_the_bye() -> None:
    """A bye, a forfeit win or a full-point bye excludes from the bye; half a point does not (C2)."""
    forfeits = (Turn(Kind.FORFEIT, 1, points=2), Turn(Kind.FORFEIT, 0))
    row = (*forfeits, BYE, Turn(Kind.FULL_BYE, points=2), Turn(Kind.HALF_BYE, points=1), ABSENT)
    assert [card.place for card in player_cards(field(row)) if card.barred] == [0, 2, 3]
    less = (Turn(Kind.BYE, points=1), Turn(Kind.BYE), ABSENT)
    assert [card.place for card in player_cards(field(less)) if card.barred] == [0, 1]


def test_floats_where_a_loss_is_worth_points() -> None:
    """An unplayed round is a float down with more points than a loss, a bye always (1.4.3)."""
    row = (Turn(Kind.HALF_BYE, points=1), Turn(points=1), Turn(Kind.BYE), Turn(Kind.FULL_BYE, points=2), ABSENT)
    worth = replace(field(row), loss=1)
    for given, floats in ((worth, ["", "", "D", "D", ""]), (field(row), ["D", "D", "D", "D", ""])):
        assert [card.floats[0] for card in sorted(player_cards(given), key=lambda c: c.place)] == floats


def test_virtual_points_of_a_file() -> None:
    """Virtual points of a file count for the pairing of their rounds."""
    given = replace(field((WON, replace(LOST, opponent=0))), virtual=((0, 2), (4, 0)))
    first, second = player_cards(given, 5)
    assert (first.place, first.score, second.score) == (0, 6, 0)
    assert (first.floats[0], second.floats[0]) == (Float.UP, Float.DOWN)
    assert virtual_points(given, 3, 5) == [0, 0]


def test_more_than_half_of_all_points_before_the_last_round() -> None:
    """An entrant with more than half of all points before the last round is a top scorer."""
    row, drawn = (WON, LOST), (replace(WON, points=1), replace(LOST, points=1))
    assert [card.top for card in player_cards(field(row, drawn, rounds=3))] == [True, False]
    assert [card.top for card in player_cards(field(row, drawn, rounds=4))] == [False, False]
    assert [card.top for card in player_cards(field(row, row[::-1], rounds=3))] == [False, False]


def test_baku_points() -> None:
    """Of nine rounds, three have a virtual point and two half a point, for the upper half."""
    first = databases.entered(10, 9)
    assert virtual_points(first, 3, 5) == [2] * 6 + [0] * 4
    assert virtual_points(first, 4, 5) == virtual_points(first, 5, 5) == [1] * 6 + [0] * 4
    assert virtual_points(first, 6, 5) == virtual_points(first, 1, 0) == [0] * 10
    assert virtual_points(replace(first, win=8), 1, 5)[0] == 8
    row = (*[BYE] * 8, ABSENT, ABSENT)
    assert virtual_points(replace(first, history=(row,)), 2, 5) == [2] * 4 + [0] * 6  # the last two came later


def test_baku_points_stay_with_who_has_them() -> None:
    """Half-point byes in round 1 do not change the two halves."""
    before = replace(databases.entered(8, 9), present=(0, 2, 3, 4, 5, 6))
    half = Turn(Kind.HALF_BYE, points=1)
    after = replace(before, history=((BYE, half, *[BYE] * 5, half),), present=tuple(range(8)))
    assert virtual_points(before, 1, 5) == virtual_points(after, 1, 5) == [2] * 5 + [0] * 3


def test_late_entrants_shift_the_parity_of_numbers() -> None:
    """Without a preference, the number among the entrants so far decides."""
    late = replace(databases.entered(5, 9), present=(0, 3, 4, 2))
    assert entered(late) == [0, 2, 3, 4]
    assert pair_dutch(replace(late, present=(0, 2, 3, 4))).boards == (Board(0, 3), Board(4, 2))
    come = field((*[ABSENT] * 4, BYE), (ABSENT, BYE, *[ABSENT] * 3))
    assert entered(replace(come, present=(0, 3))) == [0, 1, 3, 4]


def test_colors_left_out() -> None:
    """If matches have both colors there are no preferences."""
    assert [card.colors.wish for card in player_cards(field((WON, LOST)))] == [BLACK, WHITE]
    assert [card.colors.wish for card in player_cards(field((WON, LOST)), color_blind=True)] == [0, 0]
