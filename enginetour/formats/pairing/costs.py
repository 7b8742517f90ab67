"""Weights as the search wants them: doubled, turned into costs, forbidden pairs far away.

Machine words are used while nothing can overflow them, Python's integers otherwise; the algorithms are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[Any]  # int64, or object holding Python ints
Allowed = NDArray[np.bool_]
WORD_SPREAD = (
    1 << 50
)  # heaviest minus lightest weight in machine words (pairing spec 7); duals then have 5 bits to grow
WORD_FAR = 1 << 60  # twice this and a dual still fit a word
HEADROOM = 5  # bits between the largest dual and `far`: sums of four duals and a cost stay apart from it
SPARE = 8  # bits of `far` above n times the spread, in Python's integers: duals are at most a few times that


class TooWide(Exception):
    """A dual variable left the room that machine words give it: search again in Python's integers."""


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """`matrix` is 2 * (heaviest - weight), even and at least 0, and `far` where a pair is forbidden."""

    matrix: Numbers
    far: int
    heaviest: int

    @property
    def limit(self) -> int:
        """The largest dual variable, either sign."""
        return self.far >> HEADROOM

    def filled(self, value: int) -> Numbers:
        """One number per vertex, of the matrix's kind."""
        return np.full(len(self.matrix), value, dtype=self.matrix.dtype)

    def within(self, duals: Numbers) -> None:
        """TooWide if one of them is beyond the limit."""
        if len(duals) and max(int(duals.max()), -int(duals.min())) > self.limit:
            raise TooWide


def integers(weights: ArrayLike) -> Numbers:
    """A square symmetric matrix as int64, or as objects when a machine word is too small; ValueError otherwise."""
    matrix = np.asarray(weights)
    if matrix.size == 0:
        matrix = np.zeros((0, 0), dtype=np.int64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"weights are a square matrix, not of shape {matrix.shape}")
    if matrix.dtype.kind == "O":
        if not all(type(weight) is int for weight in matrix.flat):
            raise ValueError("weights are Python integers; scale fractions and convert numpy scalars first")
    elif matrix.dtype.kind == "u":
        matrix = matrix.astype(object)
    elif matrix.dtype.kind == "i":
        matrix = matrix.astype(np.int64, copy=False)
    else:
        raise ValueError(f"weights are integers, not {matrix.dtype}; scale them first")
    return matrix


def allowed_pairs(weights: Numbers, forbidden: ArrayLike | None) -> Allowed:
    """Off the diagonal and not forbidden; ValueError unless this and the weights of such pairs are symmetric."""
    if forbidden is None:
        allowed = np.ones(weights.shape, dtype=np.bool_)
    else:
        given = np.asarray(forbidden)
        if given.shape != weights.shape or given.dtype != np.bool_:
            raise ValueError(f"forbidden pairs are a boolean matrix of shape {weights.shape}")
        allowed = ~given
    np.fill_diagonal(allowed, val=False)
    if (allowed != allowed.T).any() or ((weights != weights.T) & allowed).any():
        raise ValueError("weights and forbidden pairs are symmetric: a pair has no first")
    return allowed


def costs_of(weights: Numbers, allowed: Allowed, *, wide: bool = False) -> Costs:
    """In machine words if the weights' spread permits and not `wide`, else in Python's integers."""
    if not allowed.any():
        return Costs(np.full(weights.shape, WORD_FAR, dtype=np.int64), WORD_FAR, 0)
    known = weights[np.unravel_index(allowed.argmax(), allowed.shape)]
    lightest = int(np.min(weights, where=allowed, initial=known))
    heaviest = int(np.max(weights, where=allowed, initial=known))
    spread = heaviest - lightest
    if not wide and spread < WORD_SPREAD:
        # the difference may wrap round at forbidden pairs only, and there it is not taken
        matrix = np.where(allowed, heaviest - weights, WORD_FAR // 2).astype(np.int64, copy=False)
        matrix *= 2
        return Costs(matrix, WORD_FAR, heaviest)
    far = 1 << (spread.bit_length() + len(weights).bit_length() + SPARE + HEADROOM)
    wider = 2 * (heaviest - weights.astype(object))
    wider[~allowed] = far
    return Costs(wider, far, heaviest)
