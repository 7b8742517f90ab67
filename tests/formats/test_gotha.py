"""Tests of formats/gotha, against recorded tournaments and general laws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import networkx as nx
import pytest

from enginetour.formats.gotha import Gotha
from enginetour.formats.mcmahon import Gerlach, GerlachOptions, Gotha2005, Gotha2005Options, McMahon, McMahonOptions
from enginetour.formats.pairing.field import CERTIFIED, Field, Kind, Paired, Turn, Unpairable
from enginetour.formats.swiss import SwissCat, SwissCatOptions, SwissGotha, SwissGothaOptions
from tests.support.databases import field_of, random_field, rated, recorded

GO = {"bar": 3, "floor": -20, "zero": -30, "groups": "bands", "handicap": {"threshold": 0}}
MCMAHON = McMahon(McMahonOptions.model_validate({**GO, "base": 2050.0, "chance": "names"}))
SWISS = SwissGotha(SwissGothaOptions(base=2050.0, chance="names"))
RECORDED = pytest.mark.parametrize(("system", "name"), [(MCMAHON, "MM_n14_s1"), (SWISS, "Swiss_odd13_s8")])
KINDS: tuple[tuple[type[Gotha], Any], ...] = (
    (McMahon, McMahonOptions),
    (Gerlach, GerlachOptions),
    (Gotha2005, Gotha2005Options),
    (SwissGotha, SwissGothaOptions),
    (SwissCat, SwissCatOptions),
)
EVERY = pytest.mark.parametrize(("kind", "options"), KINDS, ids=[kind.name for kind, _ in KINDS])


def weight(system: Gotha, field: Field, one: int, other: int) -> int:
    return sum(reason.worth for reason in system.explain(field, one, other))


@RECORDED
def test_every_recorded_weight(system: Gotha, name: str) -> None:
    """The sum of the criteria of each pair is the recorded integer."""
    for field, state in recorded(name):
        for one, row in enumerate(state["weights"]):
            for other, expected in enumerate(row):
                assert weight(system, field, one, other) == expected


@RECORDED
def test_everything_recorded_of_the_groups(system: Gotha, name: str) -> None:
    """Groups, places, floats and color balances are the recorded ones."""
    for field, state in recorded(name):
        lineup = system.lineup(field)
        for at, member in enumerate(field.members):
            found = {
                "group": lineup.group[at],
                "groups": lineup.span.all_groups,
                "size": lineup.size[at],
                "place": lineup.place[at],
                "DU": lineup.up[at],
                "DD": lineup.down[at],
                "bal": lineup.balance[at],
            }
            assert found == state["info"][member.name]


@RECORDED
def test_recorded_rounds_are_heaviest(system: Gotha, name: str) -> None:
    """Rounds have the recorded weight, byes and handicaps."""
    for field, state in recorded(name):
        place = {member.name: at for at, member in enumerate(field.members)}
        paired = system.pair(field)
        theirs = [(place[white], place[black], handicap) for white, black, handicap in state["pairs"]]
        mine = sum(weight(system, field, board.white, board.black) for board in paired.boards)
        assert mine == sum(weight(system, field, white, black) for white, black, _ in theirs)
        assert [field.members[at].name for at in paired.byes] == ([state["bye"]] if state["bye"] else [])
        given = {board.pair: (board.white, board.handicap) for board in paired.boards}
        for white, black, handicap in theirs:
            pair = (min(white, black), max(white, black))
            if pair in given:
                assert given[pair][1] == handicap
                assert not handicap or given[pair][0] == white


def as_heavy_as_networkx(system: Gotha, seed: int, count: int, rounds: int) -> None:
    """Check with networkx that no round of a random tournament is heavier."""
    field = random_field(seed, count, rounds)
    paired = system.pair(field)
    weighed = system.weighed(field)
    assert weighed is not None
    graph = nx.Graph()
    for i, one in enumerate(weighed.members):
        for j, other in enumerate(weighed.members[:i]):
            if not weighed.barred[i, j]:
                assert weighed.weights[i, j] == weight(system, field, one, other)
                graph.add_edge(one, other, weight=int(weighed.weights[i, j]))
    best = nx.max_weight_matching(graph, maxcardinality=True)
    assert (2 * len(best) == len(weighed.members)) == (paired.remarks == ())
    assert paired.guarantee == CERTIFIED
    if not paired.remarks:
        mine = sum(weight(system, field, *board.pair) for board in paired.boards)
        assert mine == sum(graph.edges[pair]["weight"] for pair in best)
    there = sorted(at for board in paired.boards for at in board.pair) + list(paired.byes)
    assert sorted(there) == list(field.present)


@EVERY
def test_rounds_are_as_heavy_as_any(kind: type[Gotha], options: Any) -> None:
    """No round of small random tournaments is heavier."""
    for seed in range(12):
        as_heavy_as_networkx(kind(options()), seed, 6 + seed % 5, seed % 4)


def inside(system: Gotha, field: Field, paired: Paired) -> tuple[list[tuple[int, int]], dict[int, list[int]]]:
    """Return pairs across groups, and the other members by group, best first, without byes."""
    lineup = system.lineup(field)
    group = dict(zip(lineup.member.tolist(), lineup.group.tolist(), strict=True))
    place = dict(zip(lineup.member.tolist(), lineup.place.tolist(), strict=True))
    floats = [board.pair for board in paired.boards if len({group[at] for at in board.pair}) == 2]
    out = {at for pair in floats for at in pair} | set(paired.byes)
    left: dict[int, list[int]] = {}
    for at in sorted(set(group) - out, key=lambda at: place[at]):
        left.setdefault(group[at], []).append(at)
    return floats, left


@pytest.mark.parametrize("seeding", ["fold", "slip", "adjacent", "double-fold"])
def test_groups_are_counted_anew_without_floats(seeding: str) -> None:
    """With renumber, groups without floats are paired by their seeding.

    Without meetings and colors, the ideal pairs of each even group are made.
    """
    given = {"seeding": seeding, "seeding_later": seeding, "games_per_pairing": 2, "scoring": "match"}
    given |= {"float_down": "bottom", "float_up": "top"}
    usual = SwissGotha(SwissGothaOptions.model_validate(given))
    anew = SwissGotha(SwissGothaOptions.model_validate({**given, "renumber": True}))
    changed = 0
    for seed in range(30):
        field = strangers(random_field(seed, 9 + seed % 6, 3))
        before, paired = usual.pair(field), anew.pair(field)
        floats, left = inside(anew, field, paired)
        assert floats == inside(usual, field, before)[0] and paired.byes == before.byes
        assert paired.guarantee.startswith(CERTIFIED)
        found = {board.pair for board in paired.boards} - set(floats)
        wanted = [pair for group in left.values() for pair in ideal(group, seeding)]
        assert found == {(min(pair), max(pair)) for pair in wanted}
        changed += found != {board.pair for board in before.boards} - set(floats)
    assert changed > 5 or seeding != "double-fold"


def strangers(field: Field) -> Field:
    """Return the same scores without meetings."""
    history = tuple(tuple(Turn(Kind.FULL_BYE, points=turn.points) for turn in row) for row in field.history)
    return replace(field, history=history)


def ideal(group: list[int], seeding: str) -> list[tuple[int, int]]:
    """Return the ideal pairs of an even group, best first."""
    half = len(group) // 2
    if seeding == "adjacent":
        return list(zip(group[::2], group[1::2], strict=True))
    if seeding == "double-fold":
        upper, lower = group[:half], group[half:]
        middles = [(upper[half // 2], lower[half // 2])] if half % 2 else []
        return middles + [(row[at], row[-1 - at]) for row in (upper, lower) for at in range(half // 2)]
    lower = group[half:] if seeding == "slip" else group[half:][::-1]
    return list(zip(group[:half], lower, strict=True))


@EVERY
def test_renumbering_keeps_the_law(kind: type[Gotha], options: Any) -> None:
    """With renumber there are no avoidable rematches, and the reasons match the weights."""
    system = kind(options(renumber=True))
    for seed in range(4):
        field = random_field(seed, 6 + seed, seed)
        paired = system.pair(field)
        assert paired.remarks == () and system.weighed(field) is None
        there = sorted(at for board in paired.boards for at in board.pair) + list(paired.byes)
        assert sorted(there) == list(field.present)
        floats, left = inside(system, field, paired)
        for one, other in floats:
            told = system.rules(field, paired, one, other)
            assert f"E{one} floats to E{other}: this is decided before the groups are paired" in told
        for group in left.values():
            worth = {pair: weight(system, field, *pair) for pair in combinations(sorted(group), 2)}
            best = max(sum(map(worth.__getitem__, pairs)) for pairs in all_pairs(sorted(group)) if legal(field, pairs))
            assert best == sum(worth[board.pair] for board in paired.boards if set(board.pair) <= set(group))


def legal(field: Field, pairs: list[tuple[int, int]]) -> bool:
    faced = [{turn.opponent for turn in field.turns(at)} for at in range(len(field.members))]
    return not any(other in faced[one] for one, other in pairs)


def all_pairs(group: list[int]) -> Iterator[list[tuple[int, int]]]:
    """Return all ways to pair an even group."""
    if not group:
        yield []
    for other in group[1:]:
        rest = [at for at in group[1:] if at != other]
        for pairs in all_pairs(rest):
            yield [(group[0], other), *pairs]


@EVERY
def test_no_criterion_exceeds_its_maximum(kind: type[Gotha], options: Any) -> None:
    """No criterion exceeds its maximum, and each has a source."""
    system = kind(options(random=1000))
    field = random_field(5, 9, 3)
    for one in range(9):
        for other in range(one):
            reasons = system.explain(field, one, other)
            assert all(reason.worth <= reason.most and reason.source for reason in reasons)
            assert reasons == system.explain(field, other, one)
            assert len({reason.name for reason in reasons}) == len(reasons)


def test_rematches_come_last() -> None:
    """Only unavoidable rematches are played, the fewest and least recent, with remarks."""
    swiss = SwissGotha(SwissGothaOptions())
    field = field_of(rated(4, 3, 2, 1), "A1B C1D", "A1C B1D", "A1D B1C")
    paired = swiss.pair(field)
    assert {board.pair for board in paired.boards} == {(0, 1), (2, 3)}
    assert "A - B is a rematch of round 1" in paired.remarks[0] and len(paired.remarks) == 2
    with pytest.raises(Unpairable, match="A, B, C, D"):
        SwissGotha(SwissGothaOptions(strict=True)).pair(field)


def test_a_forfeited_pair_may_meet_again_if_so_chosen() -> None:
    """A forfeit counts as a meeting only with forfeit_counts_as_met."""
    field = field_of(rated(2, 1), "A+B")
    assert SwissGotha(SwissGothaOptions()).pair(field).remarks
    assert not SwissGotha(SwissGothaOptions(forfeit_counts_as_met=False)).pair(field).remarks


def test_forbidden_families_meet_only_before_rematches() -> None:
    """Forbidden families meet only if necessary, with a remark, before a rematch."""
    swiss = SwissGotha(SwissGothaOptions(forbid_family=True))
    apart = swiss.pair(field_of(rated(4, 3, 2, 1, families="xyxy")))
    assert {board.pair for board in apart.boards} <= {(0, 1), (0, 3), (1, 2), (2, 3)} and apart.remarks == ()
    told = swiss.pair(field_of(rated(4, 3, 2, 1, families="xxxy"), "A1D B=C")).remarks
    assert len(told) == 1 and "the same family" in told[0]


def test_byes_of_both_presets() -> None:
    """Both bye rules avoid a second bye while others have none."""
    field = field_of(rated(2900, 2500, 2100), "C1B A")
    gotha = SwissGotha(SwissGothaOptions())
    thesis = SwissGotha(SwissGothaOptions(bye="thesis"))
    assert gotha.pair(field).byes == (2,)
    assert thesis.pair(field).byes == (1,)
    assert gotha.pair(field_of(rated(2900, 2500, 2100), "A1B C")).byes == (1,)


def test_who_has_white() -> None:
    """Colors follow balance, then the last color, then the draw."""
    swiss = SwissGotha(SwissGothaOptions())
    field = field_of(rated(4, 3, 2, 1), "A1B D0C")
    assert {board.pair: board.white for board in swiss.pair(field).boards} == {(0, 2): 2, (1, 3): 1}
    later = field_of(rated(4, 3, 2, 1), "A1B C1D", "C1A D1B")  # A and D are level, and A had Black last
    assert {board.pair: board.white for board in swiss.pair(later).boards} == {(0, 3): 0, (1, 2): 1}
    lots = {swiss.pair(field_of(rated(2, 1), seed=seed)).boards[0].white for seed in range(20)}
    assert lots == {0, 1}


def test_matches_of_both_colors_have_no_color_criterion() -> None:
    """With an even number of games there is no color criterion."""
    names = {
        games: [reason.name for reason in SwissGotha(SwissGothaOptions(games_per_pairing=games)).explain(field, 0, 1)]
        for games, field in ((1, field_of(rated(2, 1))), (2, field_of(rated(2, 1), win=4)))
    }
    assert "colours" in names[1] and "colours" not in names[2]


def test_a_seed_is_all_the_chance() -> None:
    """The same seed gives the same pairs, other seeds give others."""
    system = McMahon(McMahonOptions())
    members = rated(*range(2510, 2500, -1))
    rounds = [system.pair(field_of(members, seed=seed)).boards for seed in (1, 1, 2, 3)]
    assert rounds[0] == rounds[1] and len(set(rounds)) == 3


def test_whoever_is_alone_rests() -> None:
    """A single entrant has the bye."""
    swiss = SwissGotha(SwissGothaOptions())
    one = field_of(rated(2, 1))
    assert swiss.pair(Field(one.members, present=(1,))).byes == (1,)
    assert swiss.pair(Field(one.members)).boards == ()
