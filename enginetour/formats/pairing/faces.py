"""Weights of any number of digits in machine words: one matching after another, each on the last one's face.

The heaviest perfect matchings are a face of the matching polytope: by complementary slackness they are those that use
pairs without slack only and fill every odd set that has z > 0. How many sets hold both ends of a pair is a weight that
fills them all, and a small one; the next digits go below it. Source: Edmonds 1965.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from enginetour.formats.pairing.certificate import Certificate
from enginetour.formats.pairing.costs import WORD_SPREAD, Allowed, Numbers, allowed_pairs
from enginetour.formats.pairing.matching import best_matching

WIDEST = WORD_SPREAD >> 10  # of the sums of one digit: a thousand odd sets around a pair still fit above it


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """Perfect matchings of `allowed` pairs with the most pairs `inside`; `mates` is one of them.

    `inside[i, j]` counts odd sets around both. Vertices count from 0.
    """

    allowed: Allowed
    inside: Numbers
    mates: tuple[int, ...]

    @classmethod
    def of(cls, allowed: Allowed) -> Face:
        """All perfect matchings of allowed pairs; matching.Unpairable if there is none."""
        nothing = np.zeros(allowed.shape, dtype=np.int64)
        return cls(allowed_pairs(nothing, ~allowed), nothing, best_matching(nothing, ~allowed).mates)

    def best(self, digits: Iterable[Numbers]) -> Face:
        """Those that are heaviest by the first digit, among them those by the second, and so on.

        A digit is a symmetric int64 matrix; ValueError if its values are too far apart for a sum of half of them
        with other digits. Digits are packed into one weight while a machine word has room.
        """
        face, weight, span = self, self.inside, int(self.inside.max(initial=0))
        for digit in digits:
            room = face._room(digit)
            if room and weight is not face.inside and (span + 1) * room[1] >= WORD_SPREAD:
                face = face._heaviest(weight)
                weight, span = face.inside, int(face.inside.max(initial=0))
                room = face._room(digit)
            if room:
                least, most = room
                weight = weight * most + (digit - least)
                span = (span + 1) * most
        return face if weight is face.inside else face._heaviest(weight)

    def within(self, allowed: Allowed) -> Face:
        """Those that use these pairs only; ValueError unless `mates` does."""
        if not allowed[range(len(self.mates)), self.mates].all():
            raise ValueError("the matching at hand uses pairs outside")
        return replace(self, allowed=self.allowed & allowed)

    def part(self, vertices: list[int], mates: tuple[int, ...]) -> Face:
        """What is left when all others are matched as in `mates`, a member; vertices are renumbered in this order."""
        place = {vertex: number for number, vertex in enumerate(vertices)}
        some = np.ix_(vertices, vertices)
        return Face(self.allowed[some], self.inside[some], tuple(place[mates[vertex]] for vertex in vertices))

    def _room(self, digit: Numbers) -> tuple[int, int] | None:
        """The least value on allowed pairs and a base no sum above it reaches; None if all are the same."""
        values = digit[self.allowed]
        if not len(values) or values.min() == values.max():
            return None
        least = int(values.min())
        base = len(digit) // 2 * (int(values.max()) - least) + 1
        if base > WIDEST:
            raise ValueError(f"the sums of one digit reach {base - 1}, more than {WIDEST}: split it")
        return least, base

    def _heaviest(self, weight: Numbers) -> Face:
        """The members of most weight, which counts `inside` above all else."""
        mates = np.array(self.mates)
        highest = np.where(self.allowed, weight, np.iinfo(np.int64).min).max(axis=1, initial=np.iinfo(np.int64).min)
        if (2 * weight[range(len(mates)), mates] == highest + highest[mates]).all():
            slack = highest[:, None] + highest - 2 * weight  # each end's best pair: duals that prove it at once
            return replace(self, allowed=self.allowed & (slack == 0), inside=np.zeros_like(weight))
        found = best_matching(weight, ~self.allowed)
        tight, inside = _tight(weight, found.proof)
        return Face(self.allowed & tight, inside, found.mates)


def _tight(weight: Numbers, proof: Certificate) -> tuple[Allowed, Numbers]:
    """Which pairs have no slack, and how many odd sets hold both ends of a pair."""
    y = np.array(proof.y, dtype=np.int64)
    slack = y[:, None] + y - 2 * weight
    inside = np.zeros(weight.shape, dtype=np.int64)
    for odd in proof.sets:
        if odd.z:
            some = np.ix_(odd.vertices, odd.vertices)
            slack[some] += 2 * odd.z
            inside[some] += 1
    return slack == 0, inside
