"""Tests of formats/pairing/criteria."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from enginetour.formats.pairing import criteria, draw
from enginetour.formats.pairing.criteria import (
    MILLION,
    Lineup,
    OlderGotha,
    OlderSeeding,
    Span,
    kinship,
    random_by_names,
    random_by_seed,
)
from enginetour.formats.pairing.criteria import lineup_of as line_up
from enginetour.formats.pairing.draw import Seeding, seeding
from enginetour.formats.pairing.field import BLACK, WHITE, Dice, Field, Kind, Member, Turn
from enginetour.formats.pairing.matching import best_matching
from tests.support.databases import field_of, rated

KIN = (("A", "Ant", "x"), ("B", "ant", "X"), ("C", "ANT", "y"), ("D", "cat", "x"), ("E", "bee", "x"))
CHANCE = random_by_seed(Dice("criteria"), 64)


def lineup_of(count: int, *, groups: int = 1) -> Lineup:
    """Return a lineup of `count` members in entry order, distributed over the groups in turn."""
    members = tuple(Member(f"E{at}") for at in range(count))
    points = [[2 * (groups - 1 - at % groups) for at in range(count)]]
    field = Field(members, (), tuple(range(count)))
    return line_up(field, points, Span(groups - 1, groups), range(count))


def worth(criterion: criteria.Criterion, one: int, other: int) -> int:
    return int(criterion.value(np.array([one]), np.array([other]))[0])


def partners(count: int, kind: Seeding) -> list[tuple[int, int]]:
    """Return the pairs of one group by its seeding alone, counted from 1."""
    criterion = seeding(lineup_of(count), kind, CHANCE)
    return [(one + 1, other + 1) for one, other in best_matching(criteria.weigh([criterion], count)).pairs]


def test_the_curve_is_concave() -> None:
    """Two gaps of 1 cost less than one gap of 2."""
    assert criteria.curve(10**11, 0) == 10**11 and criteria.curve(10**11, 1) == 0
    one, two = (10**11 - criteria.curve(10**11, gap / 27) for gap in (1, 2))
    assert 0 < 2 * one < two


@pytest.mark.parametrize(
    ("count", "kind", "pairs"),
    [
        (8, "fold", [(1, 8), (2, 7), (3, 6), (4, 5)]),
        (8, "slip", [(1, 5), (2, 6), (3, 7), (4, 8)]),
        (8, "adjacent", [(1, 2), (3, 4), (5, 6), (7, 8)]),
        (16, "double-fold", [(1, 8), (2, 7), (3, 6), (4, 5), (9, 16), (10, 15), (11, 14), (12, 13)]),
        (6, "double-fold", [(1, 3), (2, 5), (4, 6)]),
    ],
)
def test_seedings_in_one_group(count: int, kind: Seeding, pairs: list[tuple[int, int]]) -> None:
    """The seedings give the published patterns."""
    assert partners(count, kind) == pairs


def test_split_random_crosses_the_halves() -> None:
    """split-random pairs the upper with the lower half, depending on the seed."""
    drawn = partners(20, "split-random")
    assert all(one <= 10 < other for one, other in drawn)
    assert len({tuple(partners(10, "random")), tuple(partners(10, "split-random"))}) == 2


def test_random_seeding_is_uniform() -> None:
    """The three pairings of four are equally frequent."""
    seen: dict[tuple[tuple[int, int], ...], int] = {}
    for seed in range(600):
        criterion = seeding(lineup_of(4), "random", random_by_seed(Dice(seed), 4))
        pairs = best_matching(criteria.weigh([criterion], 4)).pairs
        seen[pairs] = seen.get(pairs, 0) + 1
    assert len(seen) == 3 and min(seen.values()) > 150  # five deviations below 200


def test_chance_is_symmetric_and_spreads() -> None:
    """Random numbers of a pair are symmetric and uniform."""
    i, j = np.triu_indices(64, 1)
    drawn = CHANCE(i, j, 1000)
    assert (drawn == CHANCE(j, i, 1000)).all() and drawn.min() >= 0 and drawn.max() <= 1000
    assert abs(drawn.mean() - 500) < 50
    named = random_by_names(["betaA", "alphaA", "beta2A"])
    assert (named(i[:1], j[:1], 9) == named(j[:1], i[:1], 9)).all()


def test_colors_want_opposite_balances() -> None:
    """Opposite balances have the full value, 0 against 2 half, and others none."""
    members = tuple(map(Member, "ABCDE"))
    rounds = [(1, -1, 0, 1, 0), (1, 0, 0, 1, 0)]
    history = tuple(tuple(Turn(Kind.PLAYED, 0, color, games=1) for color in row) for row in rounds)
    field = Field(members, history, tuple(range(5)))
    lineup = line_up(field, [[0] * 5] * 3, Span(0, 1), range(5))
    assert lineup.balance.tolist() == [2, -1, 0, 2, 0]
    plain = criteria.colors(lineup, None)
    found = [worth(plain, one, other) for one, other in ((0, 1), (0, 2), (1, 2), (0, 3), (2, 4))]
    assert found == [10**6, 5 * 10**5, 0, 0, 0]
    at_odds = criteria.colors(lineup, criteria.stones(np.array([3, 0, 0, 0, 0]), 1, 9))
    assert worth(at_odds, 0, 1) == 0 and worth(at_odds, 3, 1) == 10**6


def test_stones_after_correction() -> None:
    """The first band is not given, and the ceiling limits the handicap."""
    given = criteria.stones(np.array([0, 1, 4, 30]), 1, 9)
    assert [int(given(np.array([0]), np.array([at]))[0]) for at in range(4)] == [0, 0, 3, 9]


def test_floats_go_where_they_are_wanted() -> None:
    """The middle of a group floats best, and groups four apart are no float."""
    lineup = lineup_of(9, groups=3)
    criterion = draw.floats(lineup, draw.by_position(lineup, "middle", "top"))
    best = max(((one, other) for one, other in combinations(range(9), 2)), key=lambda pair: worth(criterion, *pair))
    assert [lineup.place[at] for at in sorted(best, key=lambda at: lineup.group[at])] == [1, 0]
    assert worth(criterion, 0, 3) == 0
    far = lineup_of(5, groups=5)
    criterion = draw.floats(far, draw.by_position(far, "middle", "middle"))
    assert worth(criterion, 0, 3) > 0 == worth(criterion, 0, 4)


def floated() -> tuple[Field, Lineup]:
    """Return a field before round 3: A and B have two wins, F 1.5, E 0.5, C and D none."""
    members = rated(2600, 2500, 2300, 2200, 2450, 2400)
    field = field_of(members, "A1C B1D E=F", "A1D B1E F1C")
    scores = [list(row) for row in field.points]
    return field, line_up(field, scores, Span(2, 3), (0, 1, 4, 5, 2, 3))


def test_floats_are_counted_by_scores_before_the_round() -> None:
    """Floats compare whole wins before the round."""
    _, lineup = floated()
    assert lineup.group.tolist() == [0, 0, 2, 2, 2, 1]
    assert lineup.down.tolist() == [1, 1, 0, 0, 0, 0] and lineup.up.tolist() == [0, 0, 0, 1, 1, 0]


def test_floats_are_undone_and_not_repeated() -> None:
    """A float is worth more if it undoes one, and less if it repeats one."""
    field, lineup = floated()
    plain = draw.by_rule(field, lineup, "compensate", ())
    criterion = draw.floats(lineup, plain, 10)
    assert worth(criterion, 0, 5) == 10  # A went down before, F never came up
    assert worth(criterion, 5, 2) == 20  # neither ever floated
    assert worth(criterion, 0, 3) == 0  # A went down, D came up
    assert worth(draw.floats(lineup, plain, 10, compensate=False), 0, 3) == 20
    other_way = replace(lineup, up=lineup.down, down=lineup.up)
    assert worth(draw.floats(other_way, plain, 10), 0, 3) == 40  # A had gone up, D down: it evens both


def test_rules_of_floats() -> None:
    """Each float rule prefers the right entrants."""
    field, lineup = floated()
    even = draw.by_rule(field, lineup, "sos-even", (9, 5, 3, 1, 2, 4), 20)
    assert even.down.tolist() == [5, 0, 6, 0, 3, 0] and even.up.tolist() == [0, 5, 0, 6, 3, 0]
    godraw = draw.by_rule(field, lineup, "godraw", (), 20)
    assert godraw.down.tolist() == [0, 0, 10, 10, 10, 0] and godraw.up.tolist() == [10, 10, 0, 0, 0, 0]
    probe = draw.by_rule(field, lineup, "information", (), 20)
    assert probe.up.tolist() == [10, 10, 0, 0, 0, 5] and probe.pair is not None
    assert int(probe.pair(np.array([1]), np.array([5]))[0]) == 10  # B is 200 above C, whom F beat
    assert int(probe.pair(np.array([4]), np.array([1]))[0]) == 0  # E is as strong as the strongest B beat
    fide = draw.by_rule(field, lineup, "fide", (), 20)
    assert fide.down.tolist() == [0, 5, 3, 6, 0, 0] and fide.up.tolist() == [5, 0, 3, 0, 6, 0]


def test_kinship_is_a_price_in_groups() -> None:
    """Another origin is worth one group, another family three, a related one half of it."""
    members = tuple(Member(name, None, family, origin) for name, family, origin in KIN)
    field = Field(members, (), tuple(range(5)))
    lineup = line_up(field, [[0] * 5], Span(0, 10), range(5))
    criterion = kinship(field, lineup, 10**11, groups=[["ant", "bee"]])
    loss = [10**11 - criteria.curve(10**11, share) for share in (0.15, 0.41, 0.46, 0.2)]
    found = [worth(criterion, 0, other) for other in (1, 2, 3, 4)]
    assert found == pytest.approx([0, *(loss[place] for place in (0, 1, 3))], abs=1)
    blank = Field((Member("A"), Member("B")), (), (0, 1))
    strangers = kinship(blank, line_up(blank, [[0, 0]], Span(0, 10), (0, 1)), 10**11)
    assert worth(strangers, 0, 1) == pytest.approx(loss[2], abs=1)


def test_categories_and_their_handicap() -> None:
    """Scores of different categories do not count, and similar strengths count more."""
    field = Field(tuple(map(Member, "ABCD")), (), (0, 1, 2, 3))
    lineup = line_up(field, [[0, 2, 0, 2]], Span(1, 2, 1, 2), (1, 0, 3, 2), categories=(0, 0, 1, 1))
    assert lineup.group.tolist() == [1, 0, 3, 2]
    assert worth(criteria.score(lineup), 0, 2) == 0 < worth(criteria.score(lineup), 0, 1)
    assert worth(criteria.category(lineup), 0, 2) == criteria.curve(2 * 10**13, 0.5)
    near = criteria.handicap(np.array([5, 7, 5, 9]), 10)
    assert worth(near, 0, 2) == 2 * 10**13 and worth(near, 1, 3) == criteria.curve(2 * 10**13, 0.2)


def test_floats_between_categories_count_less() -> None:
    """Floats between categories are divided four times by the distance plus one."""
    field = Field(tuple(map(Member, "AB")), (), (0, 1))
    lineup = line_up(field, [[0, 0]], Span(0, 1, 1, 2), (0, 1), categories=(0, 1))
    criterion = draw.floats(lineup, draw.by_rule(field, lineup, "compensate", ()), 1000)
    assert worth(criterion, 0, 1) == 2000 // 16


def older(
    halves: list[int],
    exempt: tuple[int, ...] = (),
    seeding: OlderSeeding = "fold",
    given: int = 0,
    history: tuple[tuple[Turn, ...], ...] = (),
) -> OlderGotha:
    """Return members with these half wins, all of family f but the last, one far above in bands."""
    count = len(halves)
    members = tuple(Member(f"E{at}", None, "f" if at < count - 1 else "g", "o") for at in range(count))
    field = Field(members, history, tuple(range(count)))
    lineup = line_up(
        field, [[0] * count] * len(history) + [halves], Span(max(halves), max(halves) + 1, 2), range(count)
    )
    return OlderGotha(
        field,
        lineup,
        np.zeros((count, count), dtype=np.bool_),
        random_by_seed(Dice("older"), count),
        np.array([at in exempt for at in range(count)]),
        np.array([given + 1] + [0] * (count - 1)),
        1 if given else None,
        seeding,
    )


def points(function: OlderGotha, one: int, other: int) -> dict[str, float]:
    a, b = np.array([one]), np.array([other])
    return {c.name: int(c.value(a, b)[0]) / MILLION for c in function.criteria()}


def test_two_small_gaps_cost_less_than_one_large() -> None:
    """Score gaps have the published values, up to twenty wins."""
    found = [points(older([gap, 0]), 0, 1) for gap in (0, 1, 2, 4, 10, 39, 40, 50)]
    half, last = 48_750 + 609.375, 1_250 + 25_000 * 19.5 * 0.5 / 400
    sums = [row["score"] + row["small gaps"] for row in found]
    assert sums == [50_000, half, 48_687.5, 47_250, 42_187.5, last, 0, 0]
    assert (found[4]["score"], found[4]["small gaps"]) == (37_500, 4_687.5)
    assert points(older([20, 0]), 0, 1)["small gaps"] == 6_250, "the most, at ten points"


def test_a_handicap_counts_beyond_the_stones_that_are_given() -> None:
    """Handicaps count up to forty, beyond the ceiling."""
    found = [points(older([0, 0], given=stones), 0, 1) for stones in (1, 9, 15, 40, 60)]
    assert [row["handicap"] for row in found] == [195_000, 155_000, 125_000, 0, 0]
    assert [row["small handicaps"] for row in found] == [2_437.5, 17_437.5, 23_437.5, 0, 0]


def test_colors_count_even_games_whatever_the_handicap_now() -> None:
    """Opposite balances of even games count, also for a handicap game."""

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
    """The ideal pair has the full value, other scores have none."""
    function = older([0] * 5, seeding=seeding)
    assert tuple(points(function, 0, other)["seeding"] for other in range(1, 5)) == row
    assert points(older([2, 2, 0]), 0, 2)["seeding"] == 0


def test_split_random_across_the_halves() -> None:
    """Pairs across the halves have 90 points or more, others 10 or less."""
    function = older([0] * 6, seeding="split-random")
    assert 90 <= points(function, 0, 3)["seeding"] <= 100 and 0 <= points(function, 0, 2)["seeding"] <= 10


def test_floats_prefer_the_last_of_the_upper_group() -> None:
    """Floats follow the published product of places."""
    function = older([2, 2, 0, 0])
    assert points(function, 1, 3)["position"] == 100 * 2 * 1 / 4
    assert points(function, 0, 3)["position"] == 100 * 2 * 2 / 4
    assert points(function, 0, 3)["compensation"] == 0


def test_secondary_criteria_spare_the_exempt() -> None:
    """Two exempt entrants get the maximum, one gets the mean with the computed value."""
    names = ("handicap", "small handicaps", "origin", "family")
    sums = [
        sum(points(older([0, 0, 0], exempt, given=4), 0, 1)[name] for name in names) for exempt in ((), (0,), (0, 1))
    ]
    computed = 200_000 * 36 / 40 + 100_000 * 4 * 36 / 1600
    assert sums == [computed, (computed + 247_000) / 2, 247_000]
    assert points(older([0, 0, 0]), 0, 2)["family"] == 20_000
