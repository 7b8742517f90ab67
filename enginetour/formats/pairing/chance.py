"""A random number for every pair of a round: the same on every machine, and for a whole matrix at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from enginetour.formats.pairing.field import Dice
from enginetour.formats.pairing.lineup import Ints

Chance = Callable[[Ints, Ints, int], Ints]
"""(places in the entry order, places, top) -> a number from 0 to top, both included, for each pair."""

WIDE = 1 << 63
GAMMA, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # Steele, Lea, Flood 2014: SplitMix
RECORDED_FACTOR = 1_234_567  # OpenGotha 3.51, as its recorded tournaments show


def seeded(dice: Dice, members: int) -> Chance:
    """By one throw of the dice and a mixing function of the pair. `top` stays below 2**32."""
    key = np.uint64(dice.below(WIDE))

    def number(one: Ints, other: Ints, top: int) -> Ints:
        pair = np.minimum(one, other) * np.int64(members) + np.maximum(one, other) + 1
        mixed = pair.astype(np.uint64) * np.uint64(GAMMA) + key
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(FIRST)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(SECOND)
        mixed ^= mixed >> np.uint64(31)
        return (((mixed >> np.uint64(32)) * np.uint64(top + 1)) >> np.uint64(32)).astype(np.int64)

    return number


def by_names(names: Sequence[str]) -> Chance:
    """As OpenGotha draws it, from the two names alone, first names behind them: to compare with its tournaments."""
    plain = np.array([sum(map(ord, name)) for name in names], dtype=np.int64)
    risen = np.array([sum(ord(c) * at for at, c in enumerate(name, 1)) for name in names], dtype=np.int64)
    length = np.array([len(name) for name in names], dtype=np.int64)
    ranks = {name: at for at, name in enumerate(sorted(set(names)))}
    rank = np.array([ranks[name] for name in names], dtype=np.int64)

    def number(one: Ints, other: Ints, top: int) -> Ints:
        first, second = np.minimum(one, other), np.maximum(one, other)
        ordered = rank[first] <= rank[second]
        small, large = np.where(ordered, first, second), np.where(ordered, second, first)
        total = risen[small] + risen[large] + length[small] * plain[large]
        value = total * RECORDED_FACTOR % (top + 1)
        return np.where(ordered, value, top - value)

    return number
