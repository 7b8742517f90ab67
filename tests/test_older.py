"""The Gotha function of about 2005: its published figures."""

from __future__ import annotations

import numpy as np
import pytest

from enginetour.formats.pairing.criteria import MILLION, Older, OlderSeeding, Span, line_up, seeded
from enginetour.formats.pairing.field import BLACK, WHITE, Dice, Field, Kind, Member, Turn


def older(
    halves: list[int],
    exempt: tuple[int, ...] = (),
    seeding: OlderSeeding = "fold",
    given: int = 0,
    history: tuple[tuple[Turn, ...], ...] = (),
) -> Older:
    """Members with so many half wins, all of family f but the last, the first `given` + 1 bands above the others."""
    count = len(halves)
    members = tuple(Member(f"E{at}", None, "f" if at < count - 1 else "g", "o") for at in range(count))
    field = Field(members, history, tuple(range(count)))
    lineup = line_up(
        field, [[0] * count] * len(history) + [halves], Span(max(halves), max(halves) + 1, 2), range(count)
    )
    return Older(
        field,
        lineup,
        np.zeros((count, count), dtype=np.bool_),
        seeded(Dice("older"), count),
        np.array([at in exempt for at in range(count)]),
        np.array([given + 1] + [0] * (count - 1)),
        1 if given else None,
        seeding,
    )


def points(function: Older, one: int, other: int) -> dict[str, float]:
    a, b = np.array([one]), np.array([other])
    return {c.name: int(c.value(a, b)[0]) / MILLION for c in function.criteria()}


def test_two_small_gaps_cost_less_than_one_large() -> None:
    """One point apart is 48 687.5, two points are 47 250; beyond twenty points nothing falls any more."""
    found = [points(older([gap, 0]), 0, 1) for gap in (0, 1, 2, 4, 10, 39, 40, 50)]
    half, last = 48_750 + 609.375, 1_250 + 25_000 * 19.5 * 0.5 / 400
    sums = [row["score"] + row["small gaps"] for row in found]
    assert sums == [50_000, half, 48_687.5, 47_250, 42_187.5, last, 0, 0]
    assert (found[4]["score"], found[4]["small gaps"]) == (37_500, 4_687.5)
    assert points(older([20, 0]), 0, 1)["small gaps"] == 6_250, "the most, at ten points"


def test_a_handicap_counts_beyond_the_stones_that_are_given() -> None:
    """Fifteen stones weigh as fifteen, not as the nine that are given, forty and more as forty."""
    found = [points(older([0, 0], given=stones), 0, 1) for stones in (1, 9, 15, 40, 60)]
    assert [row["handicap"] for row in found] == [195_000, 155_000, 125_000, 0, 0]
    assert [row["small handicaps"] for row in found] == [2_437.5, 17_437.5, 23_437.5, 0, 0]


def test_colors_count_even_games_whatever_the_handicap_now() -> None:
    """More Whites against more Blacks is worth 100 at odds, too; games at odds do not count in the balance."""

    def history(stones: int) -> tuple[tuple[Turn, ...], ...]:
        return (
            (
                Turn(Kind.PLAYED, 2, WHITE, 2, stones, 1),
                Turn(Kind.PLAYED, 3, BLACK, 0, 0, 1),
                Turn(Kind.PLAYED, 0, BLACK, 0, -stones, 1),
                Turn(Kind.PLAYED, 1, WHITE, 2, 0, 1),
            ),
        )

    given = [points(older([0] * 4, given=g, history=history(0)), 0, 1)["colours"] for g in (0, 5)]
    assert given == [100, 100]
    assert points(older([0] * 4, history=history(3)), 0, 1)["colours"] == 0


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
    """As computed for none exempt, the maximum of each criterion for two, the mean of both for one."""
    names = ("handicap", "small handicaps", "origin", "family")
    sums = [
        sum(points(older([0, 0, 0], exempt, given=4), 0, 1)[name] for name in names) for exempt in ((), (0,), (0, 1))
    ]
    computed = 200_000 * 36 / 40 + 100_000 * 4 * 36 / 1600
    assert sums == [computed, (computed + 247_000) / 2, 247_000]
    assert points(older([0, 0, 0]), 0, 2)["family"] == 20_000
