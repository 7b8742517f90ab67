"""Why two are paired or are not, against all rounds there are."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from enginetour.field import Board, Field, Member, Paired
from enginetour.formats.dutch import Dutch, DutchOptions
from enginetour.formats.pairing_system import PairingSystem, Reason, RoundsOptions, Weighed
from enginetour.interop.foreign import Separated, next_round
from enginetour.interop.why import facts, why
from enginetour.matching import relaxed_matching
from tests.pastfields import field_of, rated


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
    assert facts(field, 0, 2) == (*scores, "A had 2 more White", "C had 1 more Black", "met in round 1")
    assert "both of family x" in facts(field, 1, 0) and "1 point apart" in facts(field, 1, 0)
    found = why(Dutch(DutchOptions(rounds=3)), field, Paired((Board(0, 1),), (2,)), 0, 2)
    assert found.facts[-1] == "C rests: it has the bye"


def test_nobody_can_be_explained_who_is_not_there() -> None:
    """It is told who."""
    field = Separated((Member("A"), Member("B"), Member("C")), (), (0, 1))
    with pytest.raises(ValueError, match="C is not there in round 1"):
        why(Heaviest(RoundsOptions()), field, Paired((Board(0, 1),)), 0, 2)
