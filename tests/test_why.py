"""Why two are paired or are not, against all rounds there are."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from enginetour.formats.base import SYSTEMS, make_format, options_model
from enginetour.formats.dutch import Dutch, DutchOptions
from enginetour.formats.pairing.field import Board, Field, Member, Paired
from enginetour.formats.pairing.matching import relaxed_matching
from enginetour.formats.rounds import PairingSystem, Reason, RoundsOptions, Weighed
from enginetour.interop.pairers import Separated, next_round
from enginetour.interop.roundfiles import facts, why
from enginetour.reports.standings import why_lines
from tests.pastfields import field_of, rated
from tests.roundplay import after


class Heaviest(PairingSystem):
    """Any weights; those who have met are barred."""

    def weighed(self, field: Field) -> Weighed:
        size = len(field.present)
        weights = np.array([[(7 * i * j + 3 * (i + j)) % 31 for j in range(size)] for i in range(size)])
        barred = np.array([[field.meetings[i].get(j, 0) for j in range(size)] for i in range(size)])
        return Weighed(field.present, weights, barred)

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        return (Reason("chance", int(self.weighed(field).weights[one, other]), 30, "here"),)

    def pair(self, field: Field) -> Paired:
        weighed = self.weighed(field)
        return Paired(tuple(Board(*pair) for pair in relaxed_matching(weighed.weights, weighed.barred).pairs))


def apart(field: Field) -> Separated:
    return Separated(field.members, field.history, field.present, field.rounds, field.win, field.seed)


def all_rounds(there: tuple[int, ...]) -> Any:
    if not there:
        yield ()
        return
    for other in there[1:]:
        for rest in all_rounds(tuple(place for place in there[1:] if place != other)):
            yield ((there[0], other), *rest)


def test_the_cost_of_the_other_decision_is_that_of_all_rounds() -> None:
    """Exact for every pair of a field of eight with a round behind it; the proof's bound is never above it."""
    field = apart(field_of(rated(*range(8)), "A1B C=D E1F G0H"))
    system = Heaviest(RoundsOptions())
    weighed, paired = system.weighed(field), next_round(system, field)
    legal = [pairs for pairs in all_rounds(field.present) if not any(field.met(*pair) for pair in pairs)]
    weight = {pairs: sum(int(weighed.weights[pair]) for pair in pairs) for pairs in legal}
    bounds = 0
    for pair in combinations(field.present, 2):
        found = why(system, field, paired, *pair[::-1])
        others = [weight[pairs] for pairs in legal if (pair in pairs) is not found.together]
        assert found.cost is not None and found.cost.total == max(weight.values())
        assert found.cost.exact == (max(weight.values()) - max(others) if others else None)
        assert (found.instead is None) is not bool(others)
        assert found.instead is None or weight[tuple(sorted(found.instead))] == max(others)
        assert sum(reason.worth for reason in found.reasons) == weighed.weights[pair]
        if found.cost.least is not None:
            assert found.cost.exact is not None and 0 <= found.cost.least <= found.cost.exact
            bounds += found.cost.least > 0
    assert bounds > 5


def test_a_rule_is_followed_again_with_the_other_decision() -> None:
    """The Dutch system has no weight to tell, but a round with any pair that is legal, and one without."""
    field = apart(field_of(rated(*range(2000, 1200, -100)), "A1E F0B C1G H0D", total=5))
    system = Dutch(DutchOptions(rounds=5, initial_colour="white"))
    paired = next_round(system, field)
    for pair in combinations(field.present, 2):
        found = why(system, field, paired, *pair)
        assert found.cost is None and {reason.most for reason in found.reasons} == {1}
        if field.met(*pair):
            assert found.instead is None and "met in round 1" in found.facts
        else:
            assert found.instead is not None and (pair in found.instead) is not found.together


def test_the_facts_of_a_pair() -> None:
    """Scores, colours, family, and that one has the bye."""
    field = apart(field_of(rated(5, 4, 3, families="xx"), "A1C B", "A0B C", total=3))
    scores = ("A has 1 point", "C has 1 point", "one score group")
    system = Dutch(DutchOptions(rounds=3))
    assert facts(system, field, 0, 2) == (*scores, "A had 2 more White", "C had 1 more Black", "met in round 1")
    assert "both of family x" in facts(system, field, 1, 0) and "1 point apart" in facts(system, field, 1, 0)
    found = why(system, field, Paired((Board(0, 1),), (2,)), 0, 2)
    assert found.facts[-1] == "C rests: it has the bye"


SYSTEMS_IN_ROUNDS = [name for name, system in SYSTEMS.items() if system.rounds]


@pytest.mark.parametrize("name", [*SYSTEMS_IN_ROUNDS, "gopair:round_robin"])
@pytest.mark.parametrize("count", [7, 8])
def test_every_system_answers_in_its_own_terms(name: str, count: int) -> None:
    """For every pair of a third round, paired or not, resting, dropped or out: criteria or the rule that decided."""
    system_name, _, method = name.partition(":")
    settings: dict[str, Any] = {"games_per_pairing": 1} | ({"method": method} if method else {})
    if "rounds" in options_model(system_name).model_fields:
        settings["rounds"] = 4
    made: Any = make_format(system_name, options_model(system_name)(**settings))
    system: PairingSystem = made.system
    members = rated(*range(2000, 2000 - 60 * count, -60), families="xxyy", origins="pqpqpqp")
    field = Field(members, (), tuple(range(count)), 4)
    for turn in range(3):
        paired = next_round(system, apart(field))
        if turn == 2:
            break
        field = after(field, paired, random.Random(turn), draws=0.0)
    for pair in combinations(field.present, 2):
        found = why(system, apart(field), paired, *pair)
        told = why_lines(found, field)
        assert found.rules or found.reasons
        assert all(line.strip() for line in told)
        for place in set(pair) & set(paired.byes):
            assert any(
                (field.members[place].name in rule and " rests" in rule) or " passes" in rule for rule in found.rules
            )


def test_the_words_of_the_rules() -> None:
    """Of a cup, a double elimination, AccelRat, EPM, GoDraw and the tables of gopair."""
    field = Field(rated(2000, 1900, 1800, 1700), (), (0, 1, 2, 3), 3)

    def rules(name: str, one: int, other: int, **settings: Any) -> str:
        made: Any = make_format(name, options_model(name)(**settings))
        return " | ".join(made.system.rules(field, made.system.pair(field), one, other))

    assert "A is seed 1 | D is seed 4 | leaves 1 and 2 of the tree: they can meet in its round 1, the semi-final" in (
        rules("cup", 0, 3)
    )
    assert "its round 2, the final" in rules("cup", 0, 1)
    assert "A has lost 0 of the 2 matches it may" in rules("double-elimination", 0, 3)
    assert rules("accelrat", 0, 2) == (
        "step 1 from the top: A took B, undesirability 1.00 | step 2 from the top: C took D, undesirability 1.00"
    )
    assert rules("accelrat", 0, 1) == "step 1 from the top: A took B, undesirability 1.00"
    assert "in the list of A, B is " in rules("epm", 0, 1)
    assert rules("godraw", 0, 1).startswith("both are of the group of MMS 1")
    table = rules("gopair", 0, 3, method="round_robin", rounds=3)
    assert table == "Berger tables of 4: seats 1 and 4 meet in round 1"


@pytest.mark.parametrize("name", ["gopair", "accelrat"])
def test_what_counts_against_a_pair_is_told_as_a_number(name: str) -> None:
    """A gap of 100 points is no yes and no no; gopair's round has a weight, so the other decision has a cost."""
    field = apart(Field(rated(2000, 1900, 1800, 1700), (), (0, 1, 2, 3), 2))
    made: Any = make_format(name, options_model(name)(rounds=2))
    found = why(made.system, field, next_round(made.system, field), 0, 3)
    row = next(line for line in why_lines(found, field) if "rating gap" in line)
    assert "  -" in row and "at most" not in row
    if name == "gopair":
        weighed = made.system.weighed(field)
        assert found.cost is not None and found.cost.exact is not None and found.cost.exact > 0
        assert (
            sum(reason.worth for reason in found.reasons)
            == weighed.weights[weighed.members.index(0), weighed.members.index(3)]
        )
        assert found.instead is not None and (0, 3) in found.instead


@pytest.mark.parametrize("name", ["swiss-gotha", "epm", "godraw", "dutch"])
def test_the_answer_fits_eighty_columns(name: str) -> None:
    """A source that all criteria share stands once above them, the pairs of the other round one on a line."""
    members = tuple(Member(f"Engine of a rather long name {number}", 2000.0 - number) for number in range(8))
    field = apart(Field(members, (), tuple(range(8)), 3))
    made: Any = make_format(name, options_model(name)(rounds=3))
    found = why(made.system, field, next_round(made.system, field), 0, 7)
    told = why_lines(found, field)
    assert max(map(len, told)) < 80
    assert sum("OpenGotha" in line or "about 2005" in line for line in told) <= 1
    changed = set(found.instead or ()) - {board.pair for board in found.paired.boards}
    assert changed and changed == {
        (one, other)
        for one in range(8)
        for other in range(8)
        if f"  {members[one].name} - {members[other].name}" in told
    }


def test_nobody_can_be_explained_who_is_not_there() -> None:
    """It is told who."""
    field = Separated((Member("A"), Member("B"), Member("C")), (), (0, 1))
    with pytest.raises(ValueError, match="C is not there in round 1"):
        why(Heaviest(RoundsOptions()), field, Paired((Board(0, 1),)), 0, 2)
