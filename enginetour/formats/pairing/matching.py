"""Exact heaviest perfect matching on a complete graph, with a proof that is checked on every call.

>>> best_matching([[0, 3, 1, 1], [3, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]]).pairs
((0, 1), (2, 3))

Vertices count from 0. An odd field brings a vertex for the bye: its weights say whom a rest suits.
Same weights, same matching: all arithmetic is in integers and the lowest index goes first; which of several heaviest
matchings comes out is otherwise not laid down, so a rule for equals belongs in the weights' lowest digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from enginetour.formats.pairing.assignment import jump_start
from enginetour.formats.pairing.certificate import Certificate, OddSet, ProofFailed, check
from enginetour.formats.pairing.costs import Allowed, Costs, Numbers, TooWide, allowed_pairs, costs_of, integers
from enginetour.formats.pairing.search import Search
from enginetour.formats.pairing.shortage import Unpairable, shortage


@dataclass(frozen=True, slots=True)
class Matching:
    """The mate of every vertex, the total weight, and why no other matching is heavier."""

    mates: tuple[int, ...]
    weight: int
    proof: Certificate

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Each pair once, the lower vertex first, ascending."""
        return tuple((one, other) for one, other in enumerate(self.mates) if one < other)


def best_matching(weights: ArrayLike, forbidden: ArrayLike | None = None) -> Matching:
    """A heaviest perfect matching of a symmetric n x n integer matrix; the diagonal is not looked at.

    `forbidden` is a symmetric boolean matrix; weights may have any sign and, as Python ints (dtype object), any size.
    Unpairable if no perfect matching is allowed, ValueError
    if the matrices are not what is said here, ProofFailed if the answer is not proved.
    """
    matrix = integers(weights)
    allowed = allowed_pairs(matrix, forbidden)
    try:
        found = _search(costs_of(matrix, allowed))
    except TooWide:
        found = _search(costs_of(matrix, allowed, wide=True))
    if found is None:
        lacking = shortage(allowed)
        if lacking is None:
            raise ProofFailed("no perfect matching was found though one exists", step="please report this bug of ours")
        raise Unpairable(lacking)
    mates, proof = found
    return Matching(mates, check(matrix, allowed, mates, proof), proof)


def relaxed_matching(weights: ArrayLike, barred: ArrayLike, forbidden: ArrayLike | None = None) -> Matching:
    """The heaviest without barred pairs or, if there is none, with what cannot be avoided of them.

    `barred[i, j]` is 0 for a pair that is free and else how much it is barred, above 0: for rematches the round of
    the last meeting. Unavoidable are first as few as possible, then as few of the highest number, of the next ...
    (the least recent ones), then the weights decide. The proof is then of these ranked weights, while `weight` stays
    the sum of those given. Unpairable if the forbidden pairs alone prevent it.
    """
    matrix, bars = integers(weights), integers(barred)
    if bars.shape != matrix.shape or (bars < 0).any():
        raise ValueError(f"bars are a matrix of shape {matrix.shape} with nothing below 0")
    never = np.zeros(matrix.shape, dtype=np.bool_) if forbidden is None else np.asarray(forbidden)
    try:
        return best_matching(matrix, never | (bars > 0))
    except Unpairable:
        allowed = allowed_pairs(matrix, never)
        ranked = _ranked(matrix, bars, allowed)
        found = best_matching(ranked, never)
    return Matching(found.mates, sum(int(matrix[i, j]) for i, j in found.pairs), found.proof)


def _ranked(weights: Numbers, bars: Numbers, allowed: Allowed) -> Numbers:
    """Weights below digits that count bars: all of them in the highest, then those of each level, high to low."""
    most = len(weights) // 2
    known = weights[np.unravel_index(allowed.argmax(), allowed.shape)] if allowed.any() else 0
    spread = int(np.max(weights, where=allowed, initial=known)) - int(np.min(weights, where=allowed, initial=known))
    unit = most * spread + 1
    price = {0: 0}
    for level in sorted({int(bar) for bar in bars[allowed]} - {0}):
        price[level] = unit
        unit *= most + 1
    full = {level: below + unit if level else 0 for level, below in price.items()}
    charged = [[full.get(int(bar), 0) for bar in row] for row in bars]
    out: Numbers = weights.astype(object) - np.array(charged, dtype=object)
    return out


def _search(costs: Costs) -> tuple[tuple[int, ...], Certificate] | None:
    """Mates and proof of a cheapest perfect matching; None if there is none."""
    count = len(costs.matrix)
    start = jump_start(costs) if count else (costs.filled(0), [])
    if start is None or count % 2:
        return None
    search = Search(costs, *start)
    for root in range(count):
        if search.nest.mate[root] < 0:
            if not search.extend(root):
                return None
            search.end()
    y = tuple(int(dual) + costs.heaviest for dual in search.y)
    sets = [OddSet(tuple(sorted(b.members.tolist())), int(b.z)) for b in search.nest.shrunk.values() if b.z]
    return tuple(search.nest.mate), Certificate(y, tuple(sorted(sets, key=lambda odd: odd.vertices)))
