"""Tests of formats/gopair."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from enginetour.formats.gopair import Gopair, GopairOptions, Scores, adjustments, best_pairs, depth
from enginetour.formats.pairing.field import Field
from tests.support.databases import field_of, names, random_field, rated


def gopair(**settings_: Any) -> Gopair:
    return Gopair(GopairOptions.model_validate({"method": "best", "early": "off", **settings_}))


def scores_of(field: Field, *, odds: bool = True) -> Scores:
    return Scores(field, tuple(round(1000 * (member.rating or 0)) for member in field.members), odds)


def shown(scores: Scores, one: int, other: int) -> list[float]:
    return [value / scores.unit for _, value in scores.terms(one, other)]


def test_the_scores_of_the_manual() -> None:
    """Scores of pairs are those of the manual, for HANDICAPS MAX and MIN."""
    field = field_of(rated(1650, 1500, 1400, families="ff"), "A1B C", win=4)
    assert shown(scores_of(field), 0, 1) == [-1.5, -1.5, -2, -16]
    assert shown(scores_of(field), 0, 2) == [-2.5, 0, 0, 0]
    assert shown(scores_of(field, odds=False), 0, 1) == [0, -1.5, 0, -16]


def test_max_looks_at_ratings_and_min_at_wins() -> None:
    """MIN pairs the two winners, MAX avoids their rating gap."""
    field = field_of(rated(2000, 1990, 1010, 1000), "A1C D1B")
    assert names(field, gopair(handicaps="min").pair(field)) == "AD BC"
    assert names(field, gopair(handicaps="max", rerate=False).pair(field)) == "AB CD"


def test_ratings_move_unless_norats() -> None:
    """Results change the ratings unless NORATS or MIN is set."""
    field = field_of(rated(1200, 1100, 1000, 900), "C1A D1B")
    moved, still = gopair(), gopair(rerate=False)
    assert still.explain(field, 0, 2)[0].worth == -2 * 100_000 * 2 * 2
    assert still.explain(field, 0, 2)[0].worth < moved.explain(field, 0, 2)[0].worth <= 0
    assert gopair(handicaps="min").explain(field, 0, 2)[0].worth == 0


def test_how_many_are_spared() -> None:
    """The number of saved opponents falls from 3 to 0 over five rounds."""
    members = rated(4, 3, 2, 1)
    fields = [field_of(members, *["A=B"] * played) for played in range(5)]
    assert [max(0, depth(field, "adjusted") - 1) for field in fields] == [3, 2, 1, 0, 0]
    assert [max(0, depth(field, "literal") - 1) for field in fields] == [1, 0, 0, 0, 0]
    assert [depth(field, "off") for field in fields] == [0] * 5


def test_an_early_round_by_hand() -> None:
    """In the third last round each of the top four adds twice its second score to its best.

    A: B -1, C -2; B: A -1, C -1; C: B -1, D -1; D: C -1, E -1. Of equal scores the earlier entrant in the list counts.
    """
    field = field_of(rated(1500, 1400, 1300, 1200, 1100), total=3)
    scores = scores_of(field)
    added = {pair: value / scores.unit for pair, value in adjustments(scores, range(5), "adjusted").items()}
    assert added == {(0, 1): -4 - 2, (1, 2): -2, (2, 3): -2}


def test_a_score_of_nothing_counts_half_a_point() -> None:
    """A score of 0 counts as -0.5, so 2 * -0.5 is added for the best opponent."""
    field = field_of(rated(1, 1, 1, 1), total=3)
    scores = scores_of(field, odds=False)
    assert adjustments(scores, range(4), "adjusted") == {
        (0, 1): -2 * scores.unit,
        (0, 2): -scores.unit,
        (0, 3): -scores.unit,
    }


def test_early_rounds_keep_the_best_apart() -> None:
    """The adjustment keeps the two strongest apart in round 1."""
    field = field_of(rated(1500, 1400, 1300, 1200, 1100, 1000), total=4)
    assert names(field, gopair(rounds=4).pair(field)).startswith("AB")
    assert "AB" not in names(field, gopair(rounds=4, early="adjusted").pair(field))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**9), rounds=st.integers(0, 4), odds=st.booleans())
def test_no_round_has_a_greater_sum(seed: int, rounds: int, odds: bool) -> None:
    """No other round of six entrants has a larger sum; a large window changes nothing."""
    field = random_field(seed, 6, rounds)
    scores = scores_of(field, odds=odds)
    added = adjustments(scores, field.present, "adjusted")

    def total(pairs: Any) -> int:
        return sum(scores(*pair) + added.get((min(pair), max(pair)), 0) for pair in pairs)

    pairs, guarantee = best_pairs(scores, field.present, "adjusted", None)
    every = (zip(order[::2], order[1::2], strict=True) for order in permutations(range(6)))
    assert total(pairs) == max(map(total, every))
    assert guarantee == "maximum weight, certified"
    assert best_pairs(scores, field.present, "adjusted", 6)[0] == pairs


def test_a_window_sees_the_top_alone() -> None:
    """A window of two pairs rating neighbors, and the whole field has a larger sum."""
    field = field_of(rated(1300, 1200, 1100, 1000), "A=B C=D")
    paired = gopair(window=2, rerate=False).pair(field)
    assert names(field, paired) == "AB CD"
    assert paired.guarantee == "by rule: each pair is taken from the best matching of the first 2 unpaired entrants"
    assert paired.remarks == ("A - B is a rematch of round 1", "C - D is a rematch of round 1")
    assert gopair(rerate=False).pair(field).remarks == ()
    with pytest.raises(ValidationError, match="window must be an even number"):
        gopair(window=3)


def test_marks() -> None:
    """BYE and DROP marks decide the bye and the absences."""
    members = rated(5, 4, 3, 2, 1)
    system = gopair(bye=["D"], drop={"E": [2], "A": []})
    first = system.pair(field_of(members))
    assert first.byes == () and {place for board in first.boards for place in board.pair} == {1, 2, 3, 4}
    second = system.pair(field_of(members, "B=C D=E"))
    assert second.byes == (3,) and [board.pair for board in second.boards] == [(1, 2)]
    assert system.boards_ahead(field_of(members, total=3), 2) == (3, 3)


def test_a_small_field_is_asked_about() -> None:
    """A field with too few opponents needs a choice of `method`."""
    members = rated(*range(8))
    with pytest.raises(ValueError, match=r"found 7 opponents for 8 entrants.*round_robin.*best"):
        gopair(method="ask").check(members)
    for method in ("best", "round_robin"):
        gopair(method=method).check(members)
    gopair(method="ask").check(rated(*range(9)))


def test_round_robin_instead() -> None:
    """The method round_robin uses Berger tables, which entrants cannot join."""
    members = rated(4, 3, 2, 1)
    rounds: list[str] = []
    met: set[tuple[int, int]] = set()
    system = gopair(method="round_robin", rounds=3)
    for _ in range(3):
        field = field_of(members, *rounds)
        met |= {board.pair for board in system.pair(field).boards}
        rounds.append("A=B C=D")
    assert len(met) == 6 and not system.late_entry


def test_names_and_rounds_that_cannot_be() -> None:
    """Unknown names and impossible rounds are errors before game 1."""
    for settings_, said in (
        ({"bye": ["Z"]}, "bye: 'Z' is not an entrant"),
        ({"drop": {"Z": []}}, "drop: 'Z' is not an entrant"),
        ({"drop": {"A": [1], "B": [1]}}, "fewer than two entrants in round 1"),
        ({"method": "round_robin"}, "at most 3"),
    ):
        with pytest.raises(ValueError, match=said):
            gopair(**settings_).check(rated(3, 2, 1))


def test_the_table_splits_equal_points() -> None:
    """Equal points are ordered by SOS, then SODOS; a bye counts the own score."""
    field = field_of(rated(1500, 1400, 1300, 1200, 1100), "A1B C1D E", "A1C E1B D")
    system = gopair()
    told = [(line.rank, line.name, line.tiebreaks) for line in system.table(field, field.present)]
    assert told == [
        (1, "E", (("SOS", 4), ("SODOS", 0))),
        (2, "A", (("SOS", 2), ("SODOS", 4))),
        (3, "C", (("SOS", 6), ("SODOS", 4))),
        (4, "D", (("SOS", 4), ("SODOS", 0))),
        (5, "B", (("SOS", 8), ("SODOS", 0))),
    ]


def test_one_alone_is_not_a_small_field() -> None:
    """A field of one entrant gives no error about its opponents."""
    gopair(method="ask").check(rated(1500))
