"""The criteria of the present-day Gotha function, each with its maximum; a pair's weight is their sum.

name        what it wants                                         source
base        a pair at all                                         OpenGotha 3.51, as its recorded tournaments show;
not met     two who have not met                                  so all of these
random      nothing: a draw among equals
colours     one who had more Whites against one who had more Blacks
category    the same category
score       near score groups; two gaps of 1 cost less than one of 2
handicap    few stones between them

Seeding, floats and kinship have modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from enginetour.formats.pairing.chance import Chance
from enginetour.formats.pairing.lineup import Flags, Ints, Lineup

PROGRAM = "OpenGotha 3.51"
STRIP = 128  # rows of the matrix weighed at once: what they need stays in the processor's cache
Value = Callable[[Ints, Ints], Ints]
"""(numbers in the lineup, numbers) -> the worth of each pair; symmetric, the two arrays are broadcast."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One reason to pair two. `most` is what the best pair of it is worth, in units of the weight."""

    name: str
    most: int
    source: str
    value: Value


def curve(most: int, share: float) -> int:
    """From `most` at 0 to nothing at 1, concave: small differences are cheap. Source: OpenGotha 3.51."""
    return int(most * (1 - share) * (1 + 0.5 * share))


def weigh(criteria: Sequence[Criterion], count: int) -> Ints:
    """The weight of every pair of a lineup of `count`, as a symmetric matrix; the diagonal means nothing."""
    weights = np.zeros((count, count), dtype=np.int64)
    numbers = np.arange(count, dtype=np.int64)
    for first in range(0, count, STRIP):
        rows, columns = numbers[first : first + STRIP, None], numbers[None, first:]
        strip = weights[first : first + STRIP, first:]
        for criterion in criteria:
            strip += criterion.value(rows, columns)
        weights[first + STRIP :, first : first + STRIP] = strip[:, STRIP:].T
    return weights


def base() -> Criterion:
    """Every pair is possible."""
    return Criterion("base", 1, PROGRAM, lambda one, other: np.ones(np.broadcast_shapes(one.shape, other.shape), int))


def not_met(met: Flags) -> Criterion:
    """`met` is a symmetric matrix over the lineup."""
    most = 5 * 10**14
    return Criterion("not met", most, PROGRAM, lambda one, other: np.where(met[one, other], 0, most))


def random(lineup: Lineup, chance: Chance, most: int) -> Criterion:
    """A number from 0 to `most`."""
    member = lineup.member
    return Criterion("random", most, "ours", lambda one, other: chance(member[one], member[other], most))


def colours(lineup: Lineup, stones: Value | None, most: int = 10**6) -> Criterion:
    """Balances of opposite signs; half as much if one is 0 and the other 2 or more away from it.

    With a handicap the weaker has Black in any case, so there is nothing to want.
    """
    balance = lineup.balance

    def value(one: Ints, other: Ints) -> Ints:
        a, b = balance[one], balance[other]
        worth = np.where(a * b < 0, most, 0) + np.where((a * b == 0) & (abs(a + b) >= 2), most // 2, 0)
        return worth if stones is None else np.where(stones(one, other) == 0, worth, 0)

    return Criterion("colours", most, PROGRAM, value)


def category(lineup: Lineup, most: int = 2 * 10**13) -> Criterion:
    """Falls along the curve with the distance of the categories."""
    kinds = lineup.span.categories
    by_gap = np.array([curve(most, gap / kinds) for gap in range(kinds)], dtype=np.int64)
    of = lineup.category
    return Criterion("category", most, PROGRAM, lambda one, other: by_gap[abs(of[one] - of[other])])


def score(lineup: Lineup, most: int = 10**11) -> Criterion:
    """Falls along the curve with the distance of the groups, inside a category."""
    groups = lineup.span.all_groups
    reach = max(groups, int(np.ptp(lineup.group)) + 1 if len(lineup) else 1)
    by_gap = np.array([curve(most, gap / groups) for gap in range(reach)], dtype=np.int64)
    group, kind = lineup.group, lineup.category

    def value(one: Ints, other: Ints) -> Ints:
        worth: Ints = by_gap[abs(group[one] - group[other])]
        return worth if lineup.span.categories == 1 else np.where(kind[one] == kind[other], worth, 0)

    return Criterion("score", most, PROGRAM, value)


def handicap(strength: Ints, span: int, most: int = 2 * 10**13) -> Criterion:
    """Falls along the curve with the distance of `strength`, in bands of which there are `span`."""
    reach = int(np.ptp(strength)) + 1 if len(strength) else 1
    by_gap = np.array([curve(most, gap / span) for gap in range(reach)], dtype=np.int64)
    return Criterion("handicap", most, PROGRAM, lambda one, other: by_gap[abs(strength[one] - strength[other])])


def stones(strength: Ints, correction: int, ceiling: int) -> Value:
    """The handicap of a pair, in bands: what is left of the difference after the correction, up to the ceiling."""
    return lambda one, other: np.clip(abs(strength[one] - strength[other]) - correction, 0, ceiling)
