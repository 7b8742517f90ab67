"""Tests of formats/swiss."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from enginetour.formats.base import RatingHandicap
from enginetour.formats.pairing.field import Field, Member
from enginetour.formats.swiss import SwissCat, SwissCatOptions, SwissGotha, SwissGothaOptions
from tests.support.databases import field_of, rated


def by_category(**settings: Any) -> SwissCat:
    return SwissCat(SwissCatOptions.model_validate(settings))


def test_ratings_are_not_needed() -> None:
    """Without ratings the entry order seeds, and the last has the bye."""
    members = tuple(Member(name) for name in "ABCDE")
    swiss = SwissGotha(SwissGothaOptions())
    swiss.check(members)
    paired = swiss.pair(Field(members, present=(0, 1, 2, 3, 4)))
    assert {board.pair for board in paired.boards} == {(0, 2), (1, 3)} and paired.byes == (4,)


def test_half_groups() -> None:
    """half_groups decides if half wins make own groups."""
    field = field_of(rated(6, 5, 4, 3, 2, 1), "A1D B=E C=F")
    joined, apart = (SwissGotha(SwissGothaOptions(half_groups=on)).lineup(field) for on in (False, True))
    assert joined.group.tolist() == [0, 1, 1, 1, 1, 1] and joined.span.all_groups == 2
    assert apart.group.tolist() == [0, 1, 1, 2, 1, 1] and apart.span.all_groups == 3


def test_categories() -> None:
    """Categories are equal parts by rating, or given by falling limits."""
    field = field_of(rated(2600, 2500, 2500, 2400, 2100, 2000))
    assert by_category().categories(field) == (0, 0, 0, 1, 2, 2)
    assert by_category(categories=2).categories(field) == (0, 0, 0, 1, 1, 1)
    assert by_category(categories=[2450.0, 2050.0]).categories(field) == (0, 0, 0, 1, 1, 2)
    with pytest.raises(ValidationError, match="falling"):
        by_category(categories=[2000.0, 2400.0])
    with pytest.raises(ValueError, match=r"swiss-cat needs a rating for every entrant \(missing: X\)"):
        by_category(rounds=1).check((Member("X"), Member("Y", 1.0)))


def test_categories_meet_only_where_they_must() -> None:
    """Entrants of two categories meet only if both categories are odd."""
    field = field_of(rated(2600, 2590, 2400, 2390, 2380, 2100, 2090, 2080))
    paired = by_category(categories=[2500.0, 2300.0]).pair(field)
    across = [board.pair for board in paired.boards if len({(0, 0, 1, 1, 1, 2, 2, 2)[at] for at in board.pair}) > 1]
    assert len(paired.boards) == 4 and len(across) == 1 and min(across[0]) in (2, 3, 4)


def test_who_is_exempt_counts_as_of_the_top() -> None:
    """Exempt entrants lose no weight by the distance of their scores."""
    cases: dict[str, tuple[int, dict[str, object]]] = {
        "bar": (9, {}),
        "wins": (2, {}),
        "band": (9, {"exempt_band": 22}),
        "nobody": (9, {"exempt_wins": False, "bar": 40}),
    }
    lost = {}
    for name, (rounds, settings) in cases.items():
        field = field_of(rated(2600, 2500, 2300, 2100), "D1C A=B", total=rounds)
        reasons = by_category(**settings).explain(field, 0, 3)
        lost[name] = next(row.most - row.worth for row in reasons if row.name == "handicap")
    assert lost["wins"] == lost["band"] == 0 < lost["nobody"] < lost["bar"]


def test_handicaps_inside_categories() -> None:
    """Handicaps follow McMahon scores by category, and ratings in the plain Swiss."""
    field = field_of(rated(2600, 2100))
    (board,) = by_category(rounds=1, handicap={"ceiling": 9}).pair(field).boards
    assert (board.white, board.handicap) == (0, 4)
    assert isinstance(SwissGothaOptions.model_validate({"handicap": {}}).handicap, RatingHandicap)
