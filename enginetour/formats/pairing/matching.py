"""Maximum-weight perfect matching with a checked proof, or the reason why there is none.

Source: Tutte 1947, Berge 1958. For a set of vertices (barrier), count the odd components that remain without it and
subtract the size of the set. The largest such number equals the smallest number of vertices that a matching leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from enginetour.formats.pairing.blossom import (
    WORD_SPREAD,
    Allowed,
    Costs,
    Numbers,
    Search,
    TooWide,
    allowed_pairs,
    costs_of,
    integers,
    jump_start,
)
from enginetour.model.errors import InputRefused, TourError

# Certificate that no perfect matching is heavier, and an independent check of it.
#
# Take any numbers y and any odd sets with z >= 0 such that slack = y[i] + y[j] + 2 * (z of sets around both) - 2 *
# weight is not negative on allowed pairs. Then every perfect matching weighs at most half of sum(y) + sum(z * (size -
# 1)), because it has at most (size - 1) / 2 pairs inside a set. A matching of exactly this weight is therefore a
# heaviest one. Source: Edmonds 1965.

_STRIP = 128  # rows checked at once; a strip of 5000 columns fits into the processor's cache
_WORD_DUAL = 1 << 60  # two such duals, and twice a weight below 2^60, fit into a machine word


class ProofFailed(TourError):
    """The proof of a pairing is not valid; this is an internal error, and the round is not paired."""


@dataclass(frozen=True, slots=True)
class OddSet:
    """Vertices in ascending order, with at most (size - 1) / 2 pairs among them, and the dual value of this limit."""

    vertices: tuple[int, ...]
    z: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """Dual variables, integers in half units of weight: one y per vertex, of any sign, and odd sets with z > 0."""

    y: tuple[int, ...]
    sets: tuple[OddSet, ...]

    def slack(self, one: int, other: int, weight: int) -> int:
        """Return twice the minimum loss of total weight if this pair is forced; 0 for pairs of the matching."""
        around = sum(s.z for s in self.sets if one in s.vertices and other in s.vertices)
        return self.y[one] + self.y[other] + 2 * around - 2 * weight

    @property
    def bound(self) -> int:
        """Return twice the upper bound of the weight of a perfect matching."""
        return sum(self.y) + sum(s.z * (len(s.vertices) - 1) for s in self.sets)


def check(weights: Numbers, allowed: Allowed, mates: Sequence[int], proof: Certificate) -> int:
    """Return the weight of a perfect matching of allowed pairs after checking the proof that none is heavier.

    Raises ProofFailed if the matching or its proof is not valid.
    """
    count = len(weights)
    if len(mates) != count or len(proof.y) != count:
        raise _failed(f"{len(mates)} mates and {len(proof.y)} duals for {count} entrants")
    if any(not 0 <= other < count or mates[other] != one or not allowed[one, other] for one, other in enumerate(mates)):
        raise _failed("the pairs are not a perfect matching of allowed pairs")
    for odd in proof.sets:
        inside = odd.vertices
        if len(inside) % 2 == 0 or odd.z < 0 or len(set(inside)) < len(inside) or not set(inside) <= set(range(count)):
            raise _failed(f"a set of {len(inside)} entrants with z = {odd.z} is not valid")
    doubled = sum(int(weights[one, other]) for one, other in enumerate(mates))
    if doubled != proof.bound:
        raise _failed(f"twice the weight is {doubled}, the bound {proof.bound}")
    if (worst := _least_slack(weights, allowed, proof)) < 0:
        raise _failed(f"a pair has slack {worst}")
    return doubled // 2


def _least_slack(weights: Numbers, allowed: Allowed, proof: Certificate) -> int:
    """Return the least slack of all allowed pairs, or 0 if none is negative."""
    sums = sum(odd.z for odd in proof.sets) + max(map(abs, proof.y), default=0)
    small = weights.dtype != object and max(sums, _size(weights, allowed)) < _WORD_DUAL
    kind = np.int64 if small else object
    y = np.array(proof.y, dtype=kind)
    touching: dict[int, list[tuple[NDArray[np.intp], NDArray[np.intp], int]]] = {}
    for odd in proof.sets:
        vertices = np.array(odd.vertices)
        strips = vertices // _STRIP
        for strip in set(strips.tolist()):
            touching.setdefault(strip, []).append((vertices[strips == strip] % _STRIP, vertices, 2 * odd.z))
    least = 0
    for start in range(0, len(y), _STRIP):
        rows = slice(start, start + _STRIP)
        slack = y[rows, None] + y - 2 * weights[rows].astype(kind, copy=False)
        for near, vertices, twice in touching.get(start // _STRIP, ()):
            slack[near[:, None], vertices] += twice
        least = min(least, int(np.min(slack, where=allowed[rows], initial=0)))
    return least


def _size(weights: Numbers, allowed: Allowed) -> int:
    """Return the largest absolute weight of an allowed pair."""
    return max(int(np.max(weights, where=allowed, initial=0)), -int(np.min(weights, where=allowed, initial=0)))


def _failed(what: str) -> ProofFailed:
    return ProofFailed(f"the proof of a pairing is not valid: {what}", step="report this internal error")


_SHOWN = 8  # number of vertices in a message; the shortage has all of them


@dataclass(frozen=True, slots=True)
class Shortage:
    """Proof that no perfect matching exists: without the `barrier`, each odd part can only be paired inside itself.

    Each part needs one vertex of the barrier, so at least `left_over` vertices stay unpaired. There is a matching that
    leaves out exactly this number.
    """

    barrier: tuple[int, ...]
    parts: tuple[tuple[int, ...], ...]

    @property
    def left_over(self) -> int:
        """Return the smallest number of vertices that a matching leaves out."""
        return len(self.parts) - len(self.barrier)


class Unpairable(InputRefused):
    """No perfect matching of allowed pairs exists; in the message, vertices are numbered from 1."""

    def __init__(self, shortage: Shortage) -> None:
        self.shortage = shortage
        named = sorted(vertex for part in shortage.parts for vertex in part)
        who = ", ".join(str(vertex + 1) for vertex in named[:_SHOWN]) + (" ..." if len(named) > _SHOWN else "")
        parts, barrier = len(shortage.parts), len(shortage.barrier)
        what = f"not all entrants can be paired: {shortage.left_over} would be left over, because entrants {who} "
        what += f"form {parts} groups of odd size" if parts > 1 else "form a group of odd size"
        what += f" with too few opponents outside ({barrier})" if barrier else " without opponents outside"
        super().__init__(what, step="allow more pairs")


def shortage(allowed: Allowed) -> Shortage | None:
    """Return the checked barrier of a largest matching of allowed pairs; None if a perfect matching exists."""
    count = len(allowed)
    costs = costs_of(np.zeros((count, count), dtype=np.int64), allowed)
    search = Search(costs, costs.filled(0), _greedy(allowed))
    barrier: list[int] = []
    parts: list[tuple[int, ...]] = []
    left = 0
    for root in range(count):
        if search.nest.mate[root] >= 0:
            continue
        if not search.extend(root):
            inner, outer = search.tree()
            barrier += inner
            parts += [tuple(sorted(part.tolist())) for part in outer]
            search.closed |= search.state > 0
            left += 1
        search.end()
    if not left:
        return None
    found = Shortage(tuple(sorted(barrier)), tuple(sorted(parts)))
    check_shortage(allowed, found, left)
    return found


def check_shortage(allowed: Allowed, found: Shortage, left: int) -> None:
    """Raise ProofFailed if the shortage is not a valid proof.

    The parts must be odd and not connected, and their number must be the size of the barrier plus `left`.
    """
    of = np.full(len(allowed), -1)
    for number, part in enumerate(found.parts):
        of[list(part)] = number
    named = [*found.barrier, *(vertex for part in found.parts for vertex in part)]
    inside = of >= 0
    outside = np.ones(len(allowed), dtype=np.bool_)
    outside[list(found.barrier)] = False
    crossing = allowed[np.ix_(inside, outside)] & (of[inside, None] != of[outside])
    if (
        found.left_over != left
        or len(set(named)) < len(named)
        or crossing.any()
        or any(len(part) % 2 == 0 for part in found.parts)
    ):
        raise ProofFailed("the proof that no pairing exists is not valid", step="report this internal error")


def _greedy(allowed: Allowed) -> list[int]:
    """Return mates for the start of a search; each vertex is matched with the lowest unmatched one, if possible."""
    mate = [-1] * len(allowed)
    alone = np.ones(len(allowed), dtype=np.bool_)
    for vertex, row in enumerate(allowed):
        if alone[vertex] and (row & alone).any():
            other = int((row & alone).argmax())
            mate[vertex], mate[other] = other, vertex
            alone[[vertex, other]] = False
    return mate


# Exact heaviest perfect matching on a complete graph, with a proof that is checked on every call.
#
# >>> best_matching([[0, 3, 1, 1], [3, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]]).pairs
# ((0, 1), (2, 3))
#
# Vertices are numbered from 0. If the number of entrants is odd, there must be a vertex for the bye; its weights are
# the suitability of each entrant for the bye. The same weights give the same matching, because the arithmetic uses
# integers and the lowest index comes first. If there are several heaviest matchings, it is not defined which one is
# found, so a rule for equal matchings must be part of the lowest digits of the weights.


@dataclass(frozen=True, slots=True)
class Matching:
    """The mate of each vertex, the total weight, and the proof that no other matching is heavier."""

    mates: tuple[int, ...]
    weight: int
    proof: Certificate

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Return each pair once, in ascending order and with the lower vertex first."""
        return tuple((one, other) for one, other in enumerate(self.mates) if one < other)


def best_matching(weights: ArrayLike, forbidden: ArrayLike | None = None) -> Matching:
    """Return a heaviest perfect matching of a symmetric n x n integer matrix; the diagonal is ignored.

    `forbidden` is a symmetric boolean matrix. Weights can have any sign and, as Python integers (dtype object), any
    size. Raises Unpairable if no perfect matching is allowed, ValueError for invalid matrices, and ProofFailed if the
    proof of the result is not valid.
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
            raise ProofFailed("no perfect matching was found, but one exists", step="report this internal error")
        raise Unpairable(lacking)
    mates, proof = found
    return Matching(mates, check(matrix, allowed, mates, proof), proof)


def relaxed_matching(weights: ArrayLike, barred: ArrayLike, forbidden: ArrayLike | None = None) -> Matching:
    """Return the heaviest matching without barred pairs or, if there is none, with as few of them as possible.

    `barred[i, j]` is 0 for a free pair and a positive level for a barred pair, such as the latest round in which the
    pair met. First the number of barred pairs is minimized, then the number of pairs with the highest level, then with
    the next level, and so on. Then the weights decide. The proof is for weights that express this order, but `weight`
    is the sum of the given weights. Raises Unpairable if the forbidden pairs alone prevent a matching.
    """
    matrix, bars = integers(weights), integers(barred)
    if bars.shape != matrix.shape or (bars < 0).any():
        raise ValueError(f"barred must be a matrix of shape {matrix.shape} without negative values")
    never = np.zeros(matrix.shape, dtype=np.bool_) if forbidden is None else np.asarray(forbidden)
    try:
        return best_matching(matrix, never | (bars > 0))
    except Unpairable:
        allowed = allowed_pairs(matrix, never)
        ranked = _ranked(matrix, bars, allowed)
        found = best_matching(ranked, never)
    return Matching(found.mates, sum(int(matrix[i, j]) for i, j in found.pairs), found.proof)


def _ranked(weights: Numbers, bars: Numbers, allowed: Allowed) -> Numbers:
    """Return weights with additional higher digits that count barred pairs.

    The highest digit counts all barred pairs, the next one those of the highest level, and so on.
    """
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
    """Return the mates and the proof of a perfect matching with the lowest cost, or None if there is none."""
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


# Weights with any number of digits in machine words: several matchings are computed one after another, each on the face
# of the previous one.
#
# The heaviest perfect matchings are a face of the matching polytope. By complementary slackness, they are the matchings
# that use only pairs without slack and fill each odd set with z > 0. The number of sets around both ends of a pair is a
# small weight that fills all of them; the next digits are added below it. Source: Edmonds 1965.

# largest sum of one digit; above it there is room to count a thousand odd sets around a pair
WIDEST = WORD_SPREAD >> 10


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """All perfect matchings of `allowed` pairs with the largest sum of `inside`; `mates` is one of them.

    `inside[i, j]` is the number of odd sets that contain both i and j. Vertices are numbered from 0.
    """

    allowed: Allowed
    inside: Numbers
    mates: tuple[int, ...]

    @classmethod
    def of(cls, allowed: Allowed) -> Face:
        """Return the face of all perfect matchings of allowed pairs. Raises matching.Unpairable if there is none."""
        nothing = np.zeros(allowed.shape, dtype=np.int64)
        return cls(allowed_pairs(nothing, ~allowed), nothing, best_matching(nothing, ~allowed).mates)

    def best(self, digits: Iterable[Numbers]) -> Face:
        """Return the matchings that are heaviest by the first digit, and among them by the second digit, and so on.

        A digit is a symmetric int64 matrix. Digits are combined into one weight as long as it fits into a machine word.
        Raises ValueError if the range of a digit's sums is too large for this.
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
        """Return the matchings that use only these pairs. Raises ValueError if `mates` is not one of them."""
        if not allowed[range(len(self.mates)), self.mates].all():
            raise ValueError("the current matching uses pairs that are not allowed")
        return replace(self, allowed=self.allowed & allowed)

    def part(self, vertices: list[int], mates: tuple[int, ...]) -> Face:
        """Return the face of these vertices, if all others are matched as in `mates`; the vertices are renumbered."""
        place = {vertex: number for number, vertex in enumerate(vertices)}
        some = np.ix_(vertices, vertices)
        return Face(self.allowed[some], self.inside[some], tuple(place[mates[vertex]] for vertex in vertices))

    def _room(self, digit: Numbers) -> tuple[int, int] | None:
        """Return the least value of allowed pairs and a base above all sums, or None if all values are equal."""
        values = digit[self.allowed]
        if not len(values) or values.min() == values.max():
            return None
        least = int(values.min())
        base = len(digit) // 2 * (int(values.max()) - least) + 1
        if base > WIDEST:
            raise ValueError(
                f"the sums of one digit must be at most {WIDEST} (found {base - 1}). Hint: split the digit"
            )
        return least, base

    def _heaviest(self, weight: Numbers) -> Face:
        """Return the matchings with the largest weight; `inside` is in the highest digit of the weight."""
        mates = np.array(self.mates)
        highest = np.where(self.allowed, weight, np.iinfo(np.int64).min).max(axis=1, initial=np.iinfo(np.int64).min)
        if (2 * weight[range(len(mates)), mates] == highest + highest[mates]).all():
            # the weights of each vertex's best pair are duals that prove the matching, so no search is needed
            slack = highest[:, None] + highest - 2 * weight
            return replace(self, allowed=self.allowed & (slack == 0), inside=np.zeros_like(weight))
        found = best_matching(weight, ~self.allowed)
        tight, inside = _tight(weight, found.proof)
        return Face(self.allowed & tight, inside, found.mates)


def _tight(weight: Numbers, proof: Certificate) -> tuple[Allowed, Numbers]:
    """Return the pairs without slack, and for each pair the number of odd sets that contain both ends."""
    y = np.array(proof.y, dtype=np.int64)
    slack = y[:, None] + y - 2 * weight
    inside = np.zeros(weight.shape, dtype=np.int64)
    for odd in proof.sets:
        if odd.z:
            some = np.ix_(odd.vertices, odd.vertices)
            slack[some] += 2 * odd.z
            inside[some] += 1
    return slack == 0, inside
