"""Who meets whom inside a group of n, numbered 0 .. n-1 by placement.

name           ideal partner of p                    source
fold           n-1-p                                 thesis 2010, Gotha
slip           p + n/2 (translation)                 thesis 2010, Gotha
split-random   somebody of the other half            Gotha
double-fold    fold each half: 16 as 1-8, 2-7, 16-9  thesis 2010, its example
adjacent       the neighbour                         thesis 2010
random         anybody                               thesis 2010

The worth falls with the square of the distance from the ideal partner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from enginetour.formats.pairing.chance import Chance
from enginetour.formats.pairing.lineup import Ints, Lineup
from enginetour.formats.pairing.present import PROGRAM, Criterion

Seeding = Literal["fold", "slip", "split-random", "double-fold", "adjacent", "random"]
SPREAD = 5  # OpenGotha 3.51: across the halves chance takes away up to a fifth


def seeding(lineup: Lineup, kind: Seeding, chance: Chance, most: int = 5 * 10**6) -> Criterion:
    """The worth of a pair inside its group; nothing between groups."""
    group, size, place, member = lineup.group, lineup.size, lineup.place, lineup.member

    def value(one: Ints, other: Ints) -> Ints:
        p, q, n = place[one], place[other], size[one]
        if kind == "random":
            worth = chance(member[one], member[other], most)
        elif kind == "split-random":
            across = (2 * p < n) != (2 * q < n)
            worth = np.where(across, most - chance(member[one], member[other], most // SPREAD), 0)
        else:
            off, of = _DISTANCES[kind](p, q, n)
            worth = most - most * off // of * off // of
        return np.where(group[one] == group[other], worth, 0)

    return Criterion("seeding", most, PROGRAM if kind in ("fold", "slip", "split-random") else "Vuorinen 2010", value)


def _fold(p: Ints, q: Ints, n: Ints) -> tuple[Ints, Ints]:
    last = np.maximum(n - 1, 1)
    return abs(p + q - last), last


def _slip(p: Ints, q: Ints, n: Ints) -> tuple[Ints, Ints]:
    return abs(2 * abs(p - q) - n), n


def _double_fold(p: Ints, q: Ints, n: Ints) -> tuple[Ints, Ints]:
    """Doubled, for halves of odd groups. Across the halves the farther of the two ideals counts."""
    upper = abs(2 * (p + q + 1) - n)
    lower = abs(2 * (p + q + 1) - 3 * n)
    p_above, q_above = 2 * p < n, 2 * q < n
    inside = np.where(p_above, upper, lower)
    return np.where(p_above == q_above, inside, np.maximum(upper, lower)), 2 * n


def _adjacent(p: Ints, q: Ints, n: Ints) -> tuple[Ints, Ints]:
    return abs(abs(p - q) - 1), n


_DISTANCES: dict[str, Callable[[Ints, Ints, Ints], tuple[Ints, Ints]]] = {
    "fold": _fold,
    "slip": _slip,
    "double-fold": _double_fold,
    "adjacent": _adjacent,
}
