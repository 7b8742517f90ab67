"""The Gotha function of about 2005: its published figures."""

from __future__ import annotations

import numpy as np
import pytest

from enginetour.criteria.chance import seeded
from enginetour.criteria.lineup import Span, line_up
from enginetour.criteria.older import MILLION, Older, OlderSeeding
from enginetour.criteria.present import stones
from enginetour.field import Dice, Field, Member


def older(halves: list[int], exempt: tuple[int, ...] = (), seeding: OlderSeeding = "fold", given: int = 0) -> Older:
    """Members with so many half wins, all of family f but the last, the first `given` + 1 bands above the others."""
    count = len(halves)
    members = tuple(Member(f"E{at}", None, "f" if at < count - 1 else "g", "o") for at in range(count))
    field = Field(members, (), tuple(range(count)))
    lineup = line_up(field, [halves], Span(max(halves), max(halves) + 1, 2), range(count))
    return Older(
        field,
        lineup,
        np.zeros((count, count), dtype=np.bool_),
        seeded(Dice("older"), count),
        np.array([at in exempt for at in range(count)]),
        stones(np.array([given + 1] + [0] * (count - 1)), 1, 9) if given else None,
        seeding,
    )


def points(function: Older, one: int, other: int) -> dict[str, float]:
    a, b = np.array([one]), np.array([other])
    return {c.name: int(c.value(a, b)[0]) / MILLION for c in function.criteria()}


def test_two_small_gaps_cost_less_than_one_large() -> None:
    """D = 1 gives 48 687.5, D = 2 47 250; beyond twenty half steps nothing falls any more."""
    found = [points(older([gap, 0]), 0, 1) for gap in (0, 1, 2, 25)]
    assert [row["score"] + row["small gaps"] for row in found] == [50_000, 48_687.5, 47_250, 0]


@pytest.mark.parametrize(
    ("seeding", "row"), [("fold", (43.75, 75.0, 93.75, 100.0)), ("slip", (43.75, 93.75, 93.75, 43.75))]
)
def test_seeding_of_equal_scores(seeding: OlderSeeding, row: tuple[float, ...]) -> None:
    """The ideal pair has all 100, and it falls with the square of the distance; other scores have nothing."""
    function = older([0] * 5, seeding=seeding)
    assert tuple(points(function, 0, other)["seeding"] for other in range(1, 5)) == row
    assert points(older([2, 2, 0]), 0, 2)["seeding"] == 0


def test_split_random_across_the_halves() -> None:
    """Ninety and more across, ten and less inside a half."""
    function = older([0] * 6, seeding="split-random")
    assert 90 <= points(function, 0, 3)["seeding"] <= 100 and 0 <= points(function, 0, 2)["seeding"] <= 10


def test_floats_prefer_the_last_of_the_upper_group() -> None:
    """By the published product of places; compensation only where there is something to better."""
    function = older([2, 2, 0, 0])
    assert points(function, 1, 3)["position"] == 100 * 2 * 1 / 4
    assert points(function, 0, 3)["position"] == 100 * 2 * 2 / 4
    assert points(function, 0, 3)["compensation"] == 0


def test_secondary_criteria_spare_the_exempt() -> None:
    """As computed, the mean, or the best possible for nobody, one or two exempt."""
    names = ("handicap", "small handicaps", "origin", "family")
    sums = [
        sum(points(older([0, 0, 0], exempt, given=4), 0, 1)[name] for name in names) for exempt in ((), (0,), (0, 1))
    ]
    computed = 200_000 * 36 / 40 + 100_000 * 4 * 36 / 1600
    assert sums == [computed, (computed + 222_000) / 2, 222_000]
    assert points(older([0, 0, 0]), 0, 2)["family"] == 20_000
