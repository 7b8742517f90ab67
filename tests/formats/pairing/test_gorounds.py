"""Tests of formats/pairing/gorounds."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Board, Dice, Field, Kind, Member, Turn, Unpairable
from enginetour.formats.pairing.gorounds import (
    ENTRY_DRAWS,
    Restrictions,
    assign_colors,
    best_round,
    by_gor,
    by_likelihood,
    current_ratings,
    entry_ratings,
    gopair_bye,
    match_scores,
    order_by_rating,
    refuse_unrated,
    remarks_on_unrated,
    same_family,
    whites,
)
from enginetour.model.errors import InputRefused
from tests.support.databases import field_of, random_field, rated


def drawn(field: Field, marked: tuple[int, ...] = (), leaving: tuple[int, ...] = ()) -> set[int]:
    """Return all members that get gopair's bye over many draws."""
    ratings = tuple(round(member.rating or 0) for member in field.members)
    return {
        gopair_bye(field, field.present, ratings, Dice(draw), marked=marked, leaving=leaving) for draw in range(200)
    }


def test_gopair_asks_the_middle() -> None:
    """The first and the last by rating do not get the bye; in round 1 losses do not matter."""
    assert drawn(field_of(rated(*range(11)))) == set(range(1, 10))


def test_gopair_asks_for_a_loss() -> None:
    """From round 2 on the bye needs a loss, which can be a forfeit."""
    assert drawn(field_of(rated(5, 4, 3, 2, 1), "A1B C=D E")) == {1}
    assert drawn(field_of(rated(5, 4, 3, 2, 1), "A+B C=D E")) == {1}


def test_gopair_when_nobody_fits() -> None:
    """Conditions are dropped in the order of gopair."""
    assert drawn(field_of(rated(5, 4, 3, 2, 1), "A=B C=D E")) == {0, 1, 2, 3}
    assert drawn(field_of(rated(5, 4, 3, 2, 1), "A=B", "C=D")) == {0, 1, 2, 3}
    field = field_of(rated(5, 4, 3, 2, 1), "A1B C1D E")
    assert drawn(field) == {1, 3} and drawn(field, leaving=(1,)) == {3} and drawn(field, leaving=(1, 3)) == {1, 3}
    ends = field_of(rated(*range(11)), "A1B C1D E1F G1H I1J K", "A1C E1G", "E1A")
    assert drawn(ends) == {2, 6}, "of the losers the two at the ends by rating are left out, the others missed a round"
    ends = field_of(rated(*range(11)), "A1K B=C D=E F=G H=I J")
    assert drawn(ends) == {10}, "a loss is the last condition to be dropped: the only loser is at an end"


def test_marked_ones_are_the_whole_pool() -> None:
    """A marked entrant gets the bye, the one with the fewest missed rounds first."""
    field = field_of(rated(5, 4, 3, 2, 1), "A1B C=D E")
    assert drawn(field, (2, 3)) == {2, 3}
    assert drawn(field, (4,)) == {4}
    assert drawn(field, (3, 4)) == {3}


def test_before_round_1_nothing_changes() -> None:
    """Without games the ratings are the entry ratings."""
    members = rated(2000, 1900.5, 1800)
    assert current_ratings(field_of(members)) == (2_000_000, 1_900_500, 1_800_000)
    assert current_ratings(field_of(members, "A+B C")) == (2_000_000, 1_900_500, 1_800_000)


def test_games_move_them() -> None:
    """A win moves both ratings equally, and more games move them more."""
    one = current_ratings(field_of(rated(1000, 1000), "A1B"))
    four = current_ratings(field_of(rated(1000, 1000), "A1B", win=8))
    assert sum(one) == sum(four) == 2_000_000 and 1_000_000 < one[0] < four[0]


def test_who_brings_no_rating() -> None:
    """A missing rating is an error at the start, and the average later, with a remark."""
    members = (Member("A", 1000.0), Member("B", 1100.0), Member("C"))
    with pytest.raises(ValueError, match=r"no rating: C\. Hint: set rating"):
        refuse_unrated(members)
    field = Field(members, (), (0, 1, 2))
    assert entry_ratings(field)[2] == 1_050_000
    assert remarks_on_unrated(field) == ("C has no rating; the average of the others is used",)


def test_equal_ratings_stand_in_entry_order() -> None:
    """Equal ratings keep the entry order."""
    assert order_by_rating((5, 9, 5, 7), (2, 0, 1, 3)) == [1, 3, 0, 2]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**9), rounds=st.integers(0, 5), family=st.booleans())
def test_fewest_bars_are_broken_then_the_sum_decides(seed: int, rounds: int, family: bool) -> None:
    """No round of six breaks fewer restrictions or has a larger sum."""
    field = random_field(seed, 6, rounds)
    bars = Restrictions(forbid_family=family)

    def worth(one: int, other: int) -> int:
        return (one * other * (seed % 997)) % 31

    def price(pairs: tuple[tuple[int, int], ...]) -> tuple[object, ...]:
        met = sorted((field.meetings[one][other] for one, other in pairs if field.met(one, other)), reverse=True)
        kin = sum(family and same_family(field, *pair) for pair in pairs)
        latest = [met.count(number) for number in range(5, 0, -1)]
        return len(met), latest, kin, -sum(worth(*pair) for pair in pairs)

    pairs, remarks = best_round(field, field.present, worth, bars)
    every = [tuple(zip(order[::2], order[1::2], strict=True)) for order in permutations(range(6))]
    assert price(tuple(pairs)) == min(map(price, every))
    broken = price(tuple(pairs))
    assert len(remarks) == int(str(broken[0])) + int(str(broken[2]))


def test_strict_says_what_it_would_have_to_allow() -> None:
    """The error of strict names the pairs and the setting."""
    field = field_of(rated(2, 1, families="ff"), "A1B")
    with pytest.raises(Unpairable, match=r"A - B is a rematch of round 1.*the same family.*strict = false"):
        best_round(field, field.present, lambda *_: 0, Restrictions(strict=True, forbid_family=True))


def test_nobody_is_a_round_too() -> None:
    """An empty field has an empty round."""
    assert best_round(field_of(()), (), lambda *_: 0, Restrictions()) == ([], ())


FOUR = rated(4, 3, 2, 1)


def test_the_balance_first() -> None:
    """The entrant with more Whites gets Black."""
    field = field_of(FOUR, "A1B C1D")
    assert assign_colors(field, [(0, 3), (2, 1)], "x") == (Board(3, 0), Board(1, 2))


def test_then_the_last_colors_that_differ() -> None:
    """With equal balance, the last different colors decide."""
    field = field_of(FOUR, "B1A C1D", "A1D B1C")
    assert assign_colors(field, [(0, 2)], "x") == (Board(2, 0),)


def test_else_the_lot() -> None:
    """Otherwise the color is random from the seed, independent of the order of the pair."""
    boards = set()
    for seed in range(20):
        field = field_of(FOUR, seed=seed)
        one, other = assign_colors(field, [(0, 1)], "x"), assign_colors(field, [(1, 0)], "x")
        assert one == other
        boards.add(one)
    assert len(boards) == 2


def test_gopair_counts_whites_alone() -> None:
    """gopair counts games with White only, without forfeits."""
    field = field_of(FOUR, "A1B C", "B1A C+D")
    assert whites(field, 0) == 1 and whites(field, 2) == 0
    assert assign_colors(field, [(0, 2)], "x", whites) == (Board(2, 0),)


def expected(gap: float) -> float:
    """Return the expected score by the logistic curve."""
    return float(1 / (1 + 10 ** (-gap / 400)))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_the_score_equations_hold(seed: int) -> None:
    """Points scored equal points expected, with virtual draws."""
    field = random_field(seed, 7, 3)
    entry = [member.rating or 0.0 for member in field.members]
    found = by_likelihood(field, entry)
    for place, rating in enumerate(found):
        met = [turn for turn in field.turns(place) if turn.met and turn.opponent is not None]
        scored = sum(turn.points / 2 for turn in met) + ENTRY_DRAWS / 2
        due = sum(expected(rating - found[turn.opponent or 0]) for turn in met)
        assert scored == pytest.approx(due + ENTRY_DRAWS * expected(rating - entry[place]), abs=1e-6)


def test_a_win_among_equals_by_hand() -> None:
    """One win with two draws each moves a rating by 91.73 points."""
    gain, loss = by_likelihood(field_of(rated(1000, 1000), "A1B"), [0.0, 0.0])
    assert (gain, loss) == pytest.approx((91.7315, -91.7315), abs=1e-4)
    assert expected(2 * gain) + 2 * expected(gain) == pytest.approx(2)


def rounds_of(*rounds: tuple[Turn, ...], win: int = 2) -> Field:
    members = tuple(Member(name) for name in "ABCD"[: len(rounds[0])])
    return Field(members, rounds, tuple(range(len(members))), 5, win)


def game(points: int) -> tuple[Turn, Turn]:
    return Turn(Kind.PLAYED, 1, WHITE, points, games=1), Turn(Kind.PLAYED, 0, BLACK, 2 - points, games=1)


def test_nothing_played_changes_nothing() -> None:
    """Byes and forfeits do not change ratings."""
    idle = (Turn(Kind.BYE, points=2), Turn(Kind.FORFEIT, 2, WHITE, 2), Turn(Kind.FORFEIT, 1, BLACK, 0))
    for there in (Field(tuple(map(Member, "ABC"))), rounds_of(idle)):
        entry = (1400.0, 1500.0, 1700.0)
        assert by_likelihood(there, entry) == pytest.approx(entry, abs=1e-9)
        assert by_gor(there, entry) == list(entry)


def test_gor_rates_round_by_round() -> None:
    """Each round starts from the ratings after the one before."""
    once = by_gor(rounds_of(game(2)), (1500.0, 1500.0))
    assert once == pytest.approx((1523.5, 1476.5), abs=1e-9)  # con 47
    twice = by_gor(rounds_of(game(2), game(2)), (1500.0, 1500.0))
    assert twice == pytest.approx(by_gor(rounds_of(game(2)), once), abs=1e-9)
    assert twice[0] - once[0] < once[0] - 1500  # the second win was expected more


def test_a_match_counts_its_games() -> None:
    """Half points of two games count as a win and a draw; a scored match is one game."""
    row = (Turn(Kind.PLAYED, 1, NEITHER, 3, games=2), Turn(Kind.PLAYED, 0, NEITHER, 1, games=2))
    assert match_scores(rounds_of(row, win=4)) == [[(0, 1, (1, 1, 0))]]
    row = (Turn(Kind.PLAYED, 1, NEITHER, 0, games=2), Turn(Kind.PLAYED, 0, NEITHER, 2, games=2))
    assert match_scores(rounds_of(row)) == [[(0, 1, (0, 0, 1))]]


def test_gor_has_a_floor() -> None:
    """An entry rating below 100 is an error."""
    with pytest.raises(InputRefused, match="at least 100"):
        by_gor(rounds_of(game(2)), (99.0, 1500.0))
