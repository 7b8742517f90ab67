"""The whole round at once: the pairs of the greatest sum, and what had to be allowed for there to be a round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from enginetour.formats.pairing.field import Field, Unpairable
from enginetour.formats.pairing.matching import Matching, relaxed_matching
from enginetour.formats.pairing.shortage import Unpairable as NoMatching

CERTIFIED = "maximum weight, certified"
Pairs = list[tuple[int, int]]
Worth = Callable[[int, int], int]
"""(member, member) -> what the pair adds to the sum; the same both ways."""


@dataclass(frozen=True, slots=True)
class Bars:
    """What may not be: rematches, and families among themselves; unless nothing else is possible and not `strict`."""

    strict: bool = False
    forbid_family: bool = False

    def allow(self, field: Field, one: int, other: int) -> bool:
        """The pair breaks neither bar."""
        return not field.met(one, other) and not (self.forbid_family and same_family(field, one, other))


def same_family(field: Field, one: int, other: int) -> bool:
    """Of one author or code; an empty name is no family."""
    family = field.members[one].family.casefold()
    return family != "" and family == field.members[other].family.casefold()


def same_origin(field: Field, one: int, other: int) -> bool:
    """Of one other grouping; an empty name is none."""
    origin = field.members[one].origin.casefold()
    return origin != "" and origin == field.members[other].origin.casefold()


def whole_round(field: Field, there: Sequence[int], worth: Worth, bars: Bars) -> tuple[Pairs, tuple[str, ...]]:
    """The heaviest round of those there, and remarks on bars it had to break.

    Families give way first, then rematches: as few as possible, then the least recent. Pairs keep the order of `there`.
    Unpairable if `strict` and a bar would have to give way.
    """
    count = len(there)
    if not count:
        return [], ()
    weights, kin, again = ([[0] * count for _ in there] for _ in range(3))
    for row, one in enumerate(there):
        for column, other in enumerate(there[:row]):
            weights[row][column] = weights[column][row] = worth(one, other)
            kin[row][column] = kin[column][row] = int(bars.forbid_family and same_family(field, one, other))
            again[row][column] = again[column][row] = field.meetings[one].get(other, 0)
    found = _matched(weights, kin, again, bars)
    pairs = [(there[one], there[other]) for one, other in found.pairs]
    remarks = tuple(remark for pair in pairs for remark in broken(field, *pair, bars))
    if bars.strict and remarks:
        raise Unpairable("; ".join(remarks) + "; strict = false allows it")
    return pairs, remarks


def _matched(weights: list[list[int]], kin: list[list[int]], again: list[list[int]], bars: Bars) -> Matching:
    met = [[bool(number) for number in row] for row in again]
    try:
        return relaxed_matching(weights, kin, met)
    except NoMatching:
        flat = [weight for row in weights for weight in row]
        unit = len(weights) * (max(flat) - min(flat) + 1) if bars.forbid_family else 0
        lowered = [
            [weight - unit * own for weight, own in zip(row, bar, strict=True)]
            for row, bar in zip(weights, kin, strict=True)
        ]
        return relaxed_matching(lowered, again)


def rematch(field: Field, one: int, other: int) -> str:
    """Who meets again, and when they last did."""
    names = f"{field.members[one].name} - {field.members[other].name}"
    return f"{names} is a rematch of round {field.meetings[one][other]}"


def broken(field: Field, one: int, other: int, bars: Bars) -> tuple[str, ...]:
    """A sentence for each bar this pair breaks."""
    remarks = []
    if field.met(one, other):
        remarks.append(f"{rematch(field, one, other)}: none without it")
    if bars.forbid_family and same_family(field, one, other):
        names = f"{field.members[one].name} - {field.members[other].name}"
        remarks.append(f"{names} are of one family: none without it")
    return tuple(remarks)
