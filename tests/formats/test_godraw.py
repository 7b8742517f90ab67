"""Tests of formats/godraw: guided random draw inside score groups."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.godraw import Draw, GoDraw, GoDrawOptions, Stuck, fell_and_won, lost_last
from enginetour.formats.pairing.field import Dice, Field, Unpairable
from enginetour.formats.pairing.gorounds import Restrictions, group_of, score_groups
from tests.support.databases import field_of, names, random_field, rated


def godraw(**settings_: Any) -> GoDraw:
    return GoDraw(GoDrawOptions(**settings_))


def drawn(field: Field, *, colors: bool = False) -> set[frozenset[tuple[int, int]]]:
    """Return all rounds found in sixty draws, without those that fail."""
    found = set()
    for number in range(60):
        with suppress(Stuck):
            pairs = Draw(field, Restrictions(), colors, Dice(number)).pairs(field.present)
            found.add(frozenset((min(pair), max(pair)) for pair in pairs))
    return found


def test_groups_are_whole_wins() -> None:
    """Half a win belongs to the group below."""
    assert score_groups(field_of(rated(1, 1, 1, 1, 1, 1), "A1B C=D E1F"), range(6)) == [[0, 4], [1, 2, 3, 5]]


def test_without_origins_and_families_all_rounds_come_up() -> None:
    """All three rounds of four equal entrants are drawn."""
    assert len(drawn(field_of(rated(1, 1, 1, 1)))) == 3


def test_origins_meet_each_other() -> None:
    """Entrants of one origin are not paired; the largest origin meets the second largest first."""
    apart = drawn(field_of(rated(*[1] * 4, origins="xxyy")))
    assert apart == {frozenset({(0, 2), (1, 3)}), frozenset({(0, 3), (1, 2)})}
    field = field_of(rated(*[1] * 6, origins="xxxyyz"))
    first = {Draw(field, Restrictions(), colors=False, dice=Dice(number)).pairs(range(6))[0] for number in range(40)}
    assert {one for one, _ in first} == {0, 1, 2} and {other for _, other in first} == {3, 4}


def test_families_meet_each_other_inside_one_origin() -> None:
    """Inside one origin different families meet."""
    assert all((0, 1) not in found for found in drawn(field_of(rated(*[1] * 4, families="ff"))))
    field = field_of(rated(*[1] * 4, families="f f ", origins="xxyy"))
    first = {Draw(field, Restrictions(), colors=False, dice=Dice(number)).pairs(range(4))[0] for number in range(40)}
    assert {pair for pair in first if 0 in pair} == {(0, 3), (3, 0)}


def test_colors_are_wanted() -> None:
    """Entrants that had White meet entrants that had Black, if colors count."""
    field = field_of(rated(1, 1, 1, 1), "A=B C=D")
    assert drawn(field, colors=True) == {frozenset({(0, 3), (1, 2)})}
    assert len(drawn(field)) == 2


def test_who_floats() -> None:
    """A member that lost floats down, to one that floated down and won."""
    field = field_of(rated(*[1] * 6), "A1D B1E C1F", "A1B C1D E1F")
    assert [group_of(field, place) for place in range(6)] == [2, 1, 2, 0, 1, 0]
    assert [lost_last(field, place) for place in range(6)] == [False, True, False, True, False, True]
    third = field_of(rated(*[1] * 6), "A1D B1E C1F", "A1B D1C E1F")
    assert [fell_and_won(third, place) for place in range(6)] == [False] * 6
    fell = field_of(rated(*[1] * 6), "A1D B1E C1F", "A1B C1D E1F", "A1C B1D E1F")
    assert [fell_and_won(fell, place) for place in range(6)] == [False, True, False, False, True, False]
    odd = field_of(rated(*[1] * 6), "A1D B1E C1F", "A1B E1C D1F")
    assert [group_of(odd, place) for place in range(6)] == [2, 1, 1, 1, 1, 0]
    found = {pair for found in drawn(odd) for pair in found}
    assert {pair for pair in found if 0 in pair} == {(0, 2), (0, 4)}  # it has met the others
    assert {pair for pair in found if 5 in pair} == {(1, 5)}  # B lost last; so did C, which has met F


def test_the_bye_is_drawn_first_from_the_last_group() -> None:
    """The bye is drawn from the last group, among those with the fewest byes."""
    field = field_of(rated(*[1] * 5), "A1B C1D E")
    byes = {Draw(field, Restrictions(), False, Dice(number)).bye(field.present) for number in range(40)}
    assert byes == {1, 3}


def test_draws_without_end_are_matched_as_a_whole() -> None:
    """If no draw leads to a round, the whole round is matched."""
    field = field_of(rated(1, 1, 1, 1), "A1C B1D", "A1D B1C")
    paired = godraw(rounds=3, attempts=7).pair(field)
    assert names(field, paired) == "AB CD" and paired.guarantee == "by rule: random draw 1"
    stuck = field_of(rated(1, 1, 1, 1), "A1C B1D", "A=B C=D")
    paired = godraw(rounds=3, attempts=7).pair(stuck)
    assert names(stuck, paired) == "AD BC"
    assert paired.guarantee == "fallback: no valid round in 7 random attempts; maximum weight, certified"
    assert paired.remarks == (
        "no valid round in 7 random attempts: all pairs are matched at once, by the preferences of the draw",
    )


def test_strict() -> None:
    """If all have met, strict stops; otherwise the oldest rematches are noted."""
    field = field_of(rated(1, 1, 1, 1), "A1B C1D", "A1C B1D", "A1D B1C")
    assert [remark[:29] for remark in godraw(rounds=3).pair(field).remarks[1:]] == [
        "A - B is a rematch of round 1",
        "C - D is a rematch of round 1",
    ]
    with pytest.raises(Unpairable, match="rematch of round 1"):
        godraw(rounds=3, strict=True).pair(field)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**9), rounds=st.integers(0, 4))
def test_a_draw_pairs_groups_and_nobody_twice(seed: int, rounds: int) -> None:
    """A draw has no rematch and at most one float per group; the fallback has the nearest groups."""
    field = random_field(seed, 6, rounds)
    system = godraw(attempts=5)
    paired, field = system.pair(field), replace(field, counted=system.scores(field))
    pairs = [board.pair for board in paired.boards]
    assert sorted(place for pair in pairs for place in pair) == list(range(6))

    def gap(pair: tuple[int, int]) -> int:
        return abs(group_of(field, pair[0]) - group_of(field, pair[1]))

    if paired.guarantee.startswith("by rule"):
        assert not any(field.met(*pair) for pair in pairs)
        upper = [max(group_of(field, place) for place in pair) for pair in pairs if gap(pair)]
        assert len(upper) == len(set(upper))
        return
    every = [tuple(zip(order[::2], order[1::2], strict=True)) for order in permutations(range(6))]
    legal = [found for found in every if not any(field.met(*pair) for pair in found)]
    if legal:
        assert sum(gap(pair) ** 2 for pair in pairs) == min(sum(gap(pair) ** 2 for pair in found) for found in legal)
    else:
        assert any("rematch" in remark for remark in paired.remarks)


def test_draws_begin_from_bands() -> None:
    """Bands, bar and floor make the groups of round 1; without them it is a Swiss."""
    field = field_of(rated(2400, 2300, 1000, 900))
    pairs = {
        groups: {names(field, godraw(groups=groups).pair(replace(field, seed=seed))) for seed in range(30)}
        for groups in ("table", 1)
    }
    assert pairs["table"] == {"AB CD"} and pairs[1] >= {"AB CD", "AC BD", "AD BC"}
    unrated = replace(field, members=tuple(replace(one, rating=None) for one in field.members))
    warning = "all entrants start equal, as in a Swiss: no entrant has a rating"
    assert godraw().starting_notes(unrated) == (("warning", warning),)
    assert godraw(bar=23, floor=9, groups="bands").starts(field).wins == (14, 14, 1, 0)


def test_the_same_seed_draws_the_same() -> None:
    """The same seed gives the same round; different seeds give different rounds."""
    members = rated(*[1] * 8)
    found = [names(field_of(members, seed=seed), godraw().pair(field_of(members, seed=seed))) for seed in range(10)]
    assert found == [
        names(field_of(members, seed=seed), godraw().pair(field_of(members, seed=seed))) for seed in range(10)
    ]
    assert len(set(found)) > 1
