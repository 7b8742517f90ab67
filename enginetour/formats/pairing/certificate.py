"""The proof that no perfect matching is heavier, and the check that believes nothing of how it was found.

For any numbers y and any odd sets with z >= 0 such that slack = y[i] + y[j] + 2 * (z of sets around both) - 2 * weight
is nowhere below 0 on allowed pairs, every perfect matching weighs at most half of sum(y) + sum(z * (size - 1)): it has
at most (size - 1) / 2 pairs inside a set. A matching that weighs just that is a heaviest one. Source: Edmonds 1965.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enginetour.formats.pairing.costs import Allowed, Numbers
from enginetour.model.errors import TourError

STRIP = 128  # rows checked at once: a strip of 5000 columns stays in the cache
WORD_DUAL = 1 << 60  # two of them, and twice a weight below 2^60, fit a machine word


class ProofFailed(TourError):
    """A pairing was found but its proof does not hold: our failure, and nothing is paired."""


@dataclass(frozen=True, slots=True)
class OddSet:
    """Vertices (ascending) that hold at most (size - 1) / 2 pairs among themselves, and what that limit is worth."""

    vertices: tuple[int, ...]
    z: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """Dual variables, integers in half units of weight: one y per vertex, of any sign, and odd sets with z > 0."""

    y: tuple[int, ...]
    sets: tuple[OddSet, ...]

    def slack(self, one: int, other: int, weight: int) -> int:
        """Forcing the pair of that weight costs at least half of this in total weight; 0 for pairs of the matching."""
        around = sum(s.z for s in self.sets if one in s.vertices and other in s.vertices)
        return self.y[one] + self.y[other] + 2 * around - 2 * weight

    @property
    def bound(self) -> int:
        """Twice the weight that no perfect matching exceeds."""
        return sum(self.y) + sum(s.z * (len(s.vertices) - 1) for s in self.sets)


def check(weights: Numbers, allowed: Allowed, mates: Sequence[int], proof: Certificate) -> int:
    """The weight of a perfect matching of allowed pairs that is proved heaviest; ProofFailed if anything is wrong."""
    count = len(weights)
    if len(mates) != count or len(proof.y) != count:
        raise _failed(f"{len(mates)} mates and {len(proof.y)} duals for {count} entrants")
    if any(not 0 <= other < count or mates[other] != one or not allowed[one, other] for one, other in enumerate(mates)):
        raise _failed("the pairs are not a perfect matching of allowed pairs")
    for odd in proof.sets:
        inside = odd.vertices
        if len(inside) % 2 == 0 or odd.z < 0 or len(set(inside)) < len(inside) or not set(inside) <= set(range(count)):
            raise _failed(f"a set of {len(inside)} entrants with z = {odd.z} proves nothing")
    doubled = sum(int(weights[one, other]) for one, other in enumerate(mates))
    if doubled != proof.bound:
        raise _failed(f"twice the weight is {doubled}, the bound {proof.bound}")
    if (worst := _least_slack(weights, allowed, proof)) < 0:
        raise _failed(f"a pair has slack {worst}")
    return doubled // 2


def _least_slack(weights: Numbers, allowed: Allowed, proof: Certificate) -> int:
    """Over all allowed pairs, 0 if there are none."""
    sums = sum(odd.z for odd in proof.sets) + max(map(abs, proof.y), default=0)
    small = weights.dtype != object and max(sums, _size(weights, allowed)) < WORD_DUAL
    kind = np.int64 if small else object
    y = np.array(proof.y, dtype=kind)
    touching: dict[int, list[tuple[NDArray[np.intp], NDArray[np.intp], int]]] = {}
    for odd in proof.sets:
        vertices = np.array(odd.vertices)
        strips = vertices // STRIP
        for strip in set(strips.tolist()):
            touching.setdefault(strip, []).append((vertices[strips == strip] % STRIP, vertices, 2 * odd.z))
    least = 0
    for start in range(0, len(y), STRIP):
        rows = slice(start, start + STRIP)
        slack = y[rows, None] + y - 2 * weights[rows].astype(kind, copy=False)
        for near, vertices, twice in touching.get(start // STRIP, ()):
            slack[near[:, None], vertices] += twice
        least = min(least, int(np.min(slack, where=allowed[rows], initial=0)))
    return least


def _size(weights: Numbers, allowed: Allowed) -> int:
    """The largest weight of an allowed pair, either sign."""
    return max(int(np.max(weights, where=allowed, initial=0)), -int(np.min(weights, where=allowed, initial=0)))


def _failed(what: str) -> ProofFailed:
    return ProofFailed(f"the proof of a pairing failed: {what}", step="this is a bug of ours: please report it")
