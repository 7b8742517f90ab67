"""Laws of all codes of tables in rounds, independent of the entry order."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Field, Kind, Member, Turn
from enginetour.formats.pairing.standings import Scored, code_values, cross, order_by_codes, total
from enginetour.formats.pairing.tiebreaks import CODES, PLACEMENT_CODES, PlacementTerms, Unplayed
from enginetour.model.game import Outcome
from enginetour.reports.standings import pairing_error, pairing_figures, relative_strengths

WITHOUT = (Kind.BYE, Kind.HALF_BYE, Kind.FULL_BYE, Kind.ABSENT)


def some_field(
    dice: random.Random, *, whole: bool = False, games: tuple[int, ...] = (1, 1, 2)
) -> tuple[Field, PlacementTerms]:
    """Make rounds of random pairs and results; `whole`: everyone plays in each round."""
    count, win = 2 * dice.randint(1, 5) if whole else dice.randint(2, 10), 2 * dice.choice(games)
    rounds = dice.randint(0, 6)
    history = []
    for _ in range(rounds):
        order = dice.sample(range(count), count)
        row = [Turn()] * count
        while len(order) > 1:
            one, other, points = order.pop(), order.pop(), dice.randint(0, win)
            handicap = dice.choice([0, 0, 0, 2])
            if whole or dice.random() < 0.7:
                colors = (WHITE, BLACK) if win == 2 else (NEITHER, NEITHER)
                row[one] = Turn(Kind.PLAYED, other, colors[0], points, handicap, win // 2)
                row[other] = Turn(Kind.PLAYED, one, colors[1], win - points, -handicap, win // 2)
            elif dice.random() < 0.5:
                row[one], row[other] = Turn(Kind.FORFEIT, other, points=win), Turn(Kind.FORFEIT, one)
            else:
                for idle in (one, other):
                    kind = dice.choice(WITHOUT)
                    row[idle] = Turn(kind, points={Kind.ABSENT: 0, Kind.HALF_BYE: win // 2}.get(kind, win))
        history.append(tuple(row))
    ratings = [dice.choice([None, dice.randint(-300, 3000)]) for _ in range(count)]
    members = tuple(Member(f"E{place}", rating) for place, rating in enumerate(ratings))
    field = Field(members, tuple(history), tuple(range(count)), rounds + dice.randint(0, 2), win)
    return field, PlacementTerms(
        starts=dice.choice([(), tuple(dice.randint(0, 4) for _ in range(count))]),
        categories=dice.choice([(), tuple(dice.randint(0, 2) for _ in range(count))]),
        cup=frozenset(dice.sample(range(count), dice.randint(0, count))),
        unplayed=dice.choice(get_args(Unplayed)),
        absence=dice.choice(["standings", "pairing-only", "nothing"]),
        whole=dice.random() < 0.5,
        absence_in_sos=dice.random() < 0.5,
    )


def relabelled(field: Field, terms: PlacementTerms, places: list[int]) -> tuple[Field, PlacementTerms]:
    """Change the entry order."""
    new = {old: place for place, old in enumerate(places)}

    def moved(turn: Turn) -> Turn:
        return turn if turn.opponent is None else replace(turn, opponent=new[turn.opponent])

    history = tuple(tuple(moved(row[old]) for old in places) for row in field.history)
    members = tuple(field.members[old] for old in places)
    changed = {
        "starts": tuple(terms.starts[old] for old in places) if terms.starts else (),
        "categories": tuple(terms.categories[old] for old in places) if terms.categories else (),
        "cup": frozenset(new[old] for old in terms.cup),
    }
    return replace(field, members=members, history=history), replace(terms, **changed)  # type: ignore[arg-type]


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_values_follow_whoever_they_belong_to(seed: int) -> None:
    """Values and order follow the entrants after a change of the entry order, except among ties."""
    dice = random.Random(seed)
    field, terms = some_field(dice)
    count = len(field.members)
    places = dice.sample(range(count), count)
    other, moved = relabelled(field, terms, places)
    here, there = code_values(field, list(PLACEMENT_CODES), terms), code_values(other, list(PLACEMENT_CODES), moved)
    for code in PLACEMENT_CODES:
        assert {type(value) for value in here[code]} == {int}
        assert [here[code][old] for old in places] == list(there[code])
    chosen = dice.sample(sorted(PLACEMENT_CODES), 4)
    groups = [
        [(key, {f.members[member].name for member in tied}) for key, tied in order_by_codes(f, chosen, range(count), t)]
        for f, t in ((field, terms), (other, moved))
    ]
    assert groups[0] == groups[1]


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_sums_over_opponents_add_up(seed: int) -> None:
    """If everyone plays each round, SOS, SOSOS and SODOS have the expected sums."""
    field, _ = some_field(random.Random(seed), whole=True)
    field = replace(field, history=tuple(tuple(replace(turn, handicap=0) for turn in row) for row in field.history))
    found = code_values(field, ["PTS", "SOSW", "SOSOSW", "SODOSW", "SOSW-1", "BH-M1", "CUSSW"])
    rounds, scores = len(field.history), field.scores
    assert sum(found["SOSW"]) == rounds * sum(scores)
    assert sum(found["SOSOSW"]) == rounds * sum(found["SOSW"])
    assert sum(found["SODOSW"]) == sum(score * (field.win * rounds - score) for score in scores)
    assert all(found["BH-M1"][m] <= found["SOSW-1"][m] <= found["SOSW"][m] for m in range(len(scores)))
    assert sum(found["CUSSW"]) == sum(map(sum, field.points))


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**9), code=st.sampled_from(sorted({"SB", "DE", "WIN"})))
def test_shared_codes_are_the_same_in_round_robins(seed: int, code: str) -> None:
    """SB, DE and WIN of single games are those of round robin tables."""
    field, _ = some_field(random.Random(seed), whole=True, games=(1,))
    names = [member.name for member in field.members]
    games = [
        Scored(names[place], names[turn.opponent], (Outcome.BLACK, Outcome.DRAW, Outcome.WHITE)[turn.points])
        for row in field.history
        for place, turn in enumerate(row)
        if turn.color == WHITE and turn.opponent is not None
    ]
    met = cross(games)
    scores = zip(names, field.scores, strict=True)
    sums = {name: total(met, name)._replace(half_points=score) for name, score in scores}
    expected = CODES[code](names, met, sums)
    assert dict(zip(names, code_values(field, [code])[code], strict=True)) == expected


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_pairing_figures_follow_whoever_they_belong_to(seed: int) -> None:
    """The pairing report does not depend on the entry order, is the sum of its rounds, and grows with gaps."""
    dice = random.Random(seed)
    field, terms = some_field(dice)
    places = dice.sample(range(len(field.members)), len(field.members))
    other, _ = relabelled(field, terms, places)
    strengths = relative_strengths(field)
    assert [strengths[old] for old in places] == pytest.approx(relative_strengths(other), abs=1e-6)
    for one, same in zip(pairing_figures(field), pairing_figures(other), strict=True):
        assert replace(one, error=same.error) == same
        assert one.error.total == pytest.approx(same.error.total, abs=1e-6)
    doubled = pairing_error(field, [2 * strength for strength in strengths], range(len(field.history)))
    assert doubled.total == pytest.approx(2 * pairing_figures(field)[-1].error.total)
