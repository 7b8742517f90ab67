"""Tests of formats/accelrat."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.accelrat import AccelRat, AccelRatOptions, Undesirability
from enginetour.formats.pairing.field import Field, Unpairable
from enginetour.formats.pairing.gorounds import current_ratings
from tests.support.databases import field_of, names, random_field, rated


def accelrat(**settings_: Any) -> AccelRat:
    return AccelRat(AccelRatOptions(**settings_))


def test_neighbours_by_rating_meet_first() -> None:
    """Entrants meet the nearest rating from the top; the last without a bye gets the bye."""
    field = field_of(rated(1500, 1800, 1700, 1400, 1750))
    paired = accelrat().pair(field)
    assert names(field, paired) == "BE AC, D"
    assert paired.guarantee == "by rule" and paired.remarks == ()


def test_a_family_is_half_a_stone() -> None:
    """One family counts as 50 rating points."""
    members = rated(1800, 1750, 1715, 1690, families="ff")
    field = field_of(members)
    assert names(field, accelrat().pair(field)) == "AC BD"
    assert names(field, accelrat(family=0.3).pair(field)) == "AB CD"


def test_origins() -> None:
    """One origin counts 0.1, and `mismatch` can keep different origins apart."""
    field = field_of(rated(1800, 1795, 1787, 1700, origins="xxyx"))
    assert names(field, accelrat().pair(field)) == "AC BD"
    assert names(field, accelrat(mismatch=0.5).pair(field)) == "AB CD"


def test_ratings_move_after_each_round() -> None:
    """After two losses an entrant is behind all winners, whatever its entry rating."""
    field = field_of(rated(1500, 1490, 1480, 1470, 1460, 1450), "B1A C1D E1F", "D1A B=E C1F")
    found = current_ratings(field)
    assert sorted(range(6), key=found.__getitem__) == [0, 5, 3, 4, 1, 2]
    assert names(field, accelrat().pair(field)) == "BC DE AF"


def test_a_dead_end_is_solved_as_a_whole_and_said() -> None:
    """At a dead end the round with the smallest sum is played, with a remark."""
    field = field_of(rated(1800, 1790, 1500, 1490), "C=D A1B", "A=C B=D")
    paired = accelrat(rounds=3).pair(field)
    assert names(field, paired) == "AD BC"
    field = field_of(rated(1800, 1790, 1500, 1490), "C=D A+B")
    paired = accelrat(rounds=3).pair(field)
    assert names(field, paired) == "AC BD"
    assert (
        paired.guarantee
        == "fallback: dead end when pairing from the top, so the smallest sum is used; maximum weight, certified"
    )
    assert paired.remarks == (
        "dead end when pairing from the top: the round with the smallest sum of undesirability is used",
    )


def test_rematches_only_where_nothing_else_is_left() -> None:
    """Only unavoidable rematches are played, the oldest; with `strict` there is no round."""
    field = field_of(rated(1800, 1790, 1500, 1490), "A1B C1D", "A1C B1D", "A1D B1C")
    paired = accelrat(rounds=3).pair(field)
    assert names(field, paired) == "AB CD"
    assert paired.remarks[1:] == (
        "A - B is a rematch of round 1 and cannot be avoided",
        "C - D is a rematch of round 1 and cannot be avoided",
    )
    with pytest.raises(Unpairable, match="set strict = false"):
        accelrat(rounds=3, strict=True).pair(field)


def test_the_bye_of_gopair() -> None:
    """The bye of gopair is drawn from the middle of the entrants with a loss."""
    field = field_of(rated(1800, 1790, 1500), "A1B C")
    assert accelrat(rounds=3, bye="gopair").pair(field).byes == (1,)


def test_the_table_is_by_rating() -> None:
    """The table is ordered by rating, not by points."""
    field = field_of(rated(2400, 2300, 1000, 900), "B1A C1D", "A=B C1D")
    table = accelrat(rounds=3).table(field, (0, 1, 2, 3))
    assert [line.name for line in table] == ["B", "A", "C", "D"]
    assert table[2].half_points == 4 and table[0].tiebreaks[0][0] == "RATING"


def test_ratings_and_rounds_are_asked_for() -> None:
    """A missing rating and too many rounds are errors before game 1."""
    with pytest.raises(ValueError, match="no rating: B"):
        accelrat(rounds=1).check((rated(1500)[0], rated(0)[0].__class__("B")))
    with pytest.raises(ValueError, match="at most 3"):
        accelrat(rounds=4).check(rated(1, 2, 3, 4))


def undesirability(field: Field, options: AccelRatOptions) -> Undesirability:
    return Undesirability(field, current_ratings(field), options)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**9), rounds=st.integers(0, 3), mismatch=st.sampled_from([0.0, 0.4]))
def test_each_pair_was_the_best_left_or_the_sum_is_least(seed: int, rounds: int, mismatch: float) -> None:
    """Each pair is the nearest available; the fallback has the smallest sum of all rounds."""
    field = random_field(seed, 6, rounds)
    system = accelrat(mismatch=mismatch)
    paired, far = system.pair(field), undesirability(field, system.options)
    pairs = [board.pair for board in paired.boards]
    if paired.guarantee == "by rule":
        left = set(field.present)
        for pair in pairs:
            top = min(left, key=lambda place: (-far.ratings[place], place))
            assert top in pair
            partner = sum(pair) - top
            left -= {top}
            assert all(far(top, partner) <= far(top, other) for other in left if not field.met(top, other))
            left -= {partner}
        assert not left
        return
    rounds_ = [tuple(zip(order[::2], order[1::2], strict=True)) for order in permutations(field.present)]
    legal = [found for found in rounds_ if not any(field.met(*pair) for pair in found)]
    if legal:
        assert sum(far(*pair) for pair in pairs) == min(sum(far(*pair) for pair in found) for found in legal)
    else:
        assert any("rematch" in remark for remark in paired.remarks)
