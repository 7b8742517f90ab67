"""The curvature of a likelihood at a point: built and solved densely, or multiplied pair by pair in large pools.

Unknowns are the ratings, then White's advantage, then the draw parameter: N+2 of them, natural units. The ratings'
block is a graph Laplacian, singular along the level when nothing fixes that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from enginetour.ratings.inversion import inverse_of
from enginetour.ratings.models import Slopes
from enginetour.ratings.pairs import Index, Pairs, Vector
from enginetour.ratings.priors import Belief

DENSE_ENGINES = 2000  # above, conjugate gradients: a dense step takes a third of a second there
STEP_TOLERANCE = 1e-4  # of the residual in one Newton step; at 1e-6 the singular system stagnated, 695 Elo off
NEWTON_TOLERANCE = 1e-9  # of the residual in a dense step: Newton takes as many steps as with exact ones (measured)
ITERATED = 300  # unknowns; below, eliminating them is nearly as quick (measured)
ITERATIONS = 40  # a mesh takes a dozen; so many cost a third of the elimination of 1,000 unknowns (measured)
EXACT = 1e-11  # of the residual, in rounds of STEP_TOLERANCE; what double precision leaves
MOST_ROUNDS = 40  # ten times what a mesh needs


@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    """Negative second derivatives of likelihood and prior. `free` unknowns vary, all others are held."""

    pairs: Pairs
    rows: Vector  # of each pair, in its gap
    cross: Vector  # of each pair, gap by draw parameter
    draw: float
    stiff: Vector  # of the prior, on the diagonal
    lifted: Vector | None  # weights of a prior about the pool's average
    free: Index
    level_free: bool
    beyond: Vector | None = None  # of other pools, in advantage and draw parameter

    def matrix(self) -> Vector:
        """Dense, of all unknowns. A free level gets c 11^T/N, c the mean diagonal: solutions then have mean 0."""
        pairs, count = self.pairs, len(self.pairs.names)
        matrix = np.zeros((count + 2, count + 2))
        matrix[:count, :count] = self.of_ratings()
        matrix[count, :count] = matrix[:count, count] = pairs.per_engine(self.rows, -self.rows)
        matrix[count + 1, :count] = matrix[:count, count + 1] = pairs.per_engine(self.cross, -self.cross)
        matrix[count, count] = self.rows.sum()
        matrix[count, count + 1] = matrix[count + 1, count] = self.cross.sum()
        matrix[count + 1, count + 1] = self.draw
        if self.beyond is not None:
            matrix[count:, count:] += self.beyond
        return matrix

    def of_free(self) -> Vector:
        """Dense, of the free unknowns alone."""
        count, free = len(self.pairs.names), self.free
        if not len(free) or free[-1] >= count:
            return self.matrix()[np.ix_(free, free)]
        matrix = self.of_ratings()
        return matrix if len(free) == count else matrix[np.ix_(free, free)]

    def of_ratings(self) -> Vector:
        """The ratings' block."""
        pairs, count = self.pairs, len(self.pairs.names)
        matrix = np.zeros((count, count))
        matrix.ravel()[pairs.white * count + pairs.black] = -self.rows
        matrix += matrix.T
        matrix[np.arange(count), np.arange(count)] = self.stiff - matrix.sum(axis=1)
        if self.lifted is not None:
            matrix -= np.outer(self.lifted, self.lifted / self.lifted.sum())
        if self.level_free:
            matrix += (float(np.trace(matrix)) / count or 1.0) / count
        return matrix

    def times(self, step: Vector) -> Vector:
        """The product with a step, without building the matrix and without the level's share."""
        pairs, count = self.pairs, len(self.pairs.names)
        gap = step[pairs.white] - step[pairs.black] + step[count]
        bent = self.rows * gap + self.cross * step[count + 1]
        ratings = pairs.per_engine(bent, -bent) + self.stiff * step[:count]
        if self.lifted is not None:
            ratings -= self.lifted * (self.lifted @ step[:count] / self.lifted.sum())
        extra = np.array((bent.sum(), self.cross @ gap + self.draw * step[count + 1]))
        return np.append(ratings, extra if self.beyond is None else extra + self.beyond @ step[count:])

    def held(self, kept: Index) -> Curvature:
        """The same with only these unknowns free."""
        return replace(self, free=kept)

    def inverse(self) -> Vector:
        """Dense; zero in the rows and columns of what is held."""
        inverse, count = np.zeros((len(self.stiff) + 2, len(self.stiff) + 2)), len(self.free)
        if count and self.free[-1] == count - 1:  # nothing between them is held: no index is quicker
            inverse[:count, :count] = inverse_of(self.of_free())
        else:
            inverse[np.ix_(self.free, self.free)] = inverse_of(self.of_free())
        return inverse

    def solve(self, right: Vector, *, dense: bool = False) -> Vector:
        """A Newton step: zero where held, of mean 0 where the level is free. LinAlgError when it is singular."""
        if dense or len(self.pairs.names) <= DENSE_ENGINES:
            return self._dense(right, exactly=dense or len(right) < ITERATED)
        step, done = self._by_pairs(right)
        return step if done else self._dense(right)

    def solve_exactly(self, right: Vector) -> Vector:
        """The same to rounding: in large pools by rounds, each on what the last one left."""
        if len(self.pairs.names) <= DENSE_ENGINES:
            return self._dense(right)
        step, goal = np.zeros(len(right)), EXACT * float(np.linalg.norm(self._project(right)))
        for _ in range(MOST_ROUNDS):
            left = self._project(right - self.times(step))
            if float(np.linalg.norm(left)) <= goal:
                return step
            more, done = self._by_pairs(left)
            if not done:
                break
            step = step + more
        return self._dense(right)

    def _dense(self, right: Vector, *, exactly: bool = True) -> Vector:
        """By elimination, or where ITERATIONS of the matrix do for a Newton step, by those."""
        step, matrix, wanted = np.zeros(len(right)), self.of_free(), right[self.free]
        if not exactly and (matrix.diagonal() > 0).all():
            scale = 1 / matrix.diagonal()
            found, done = _conjugate(matrix.__matmul__, lambda way: way, scale, wanted, NEWTON_TOLERANCE, ITERATIONS)
            if done:
                step[self.free] = found
                return step
        step[self.free] = np.linalg.solve(matrix, wanted)
        return step

    def _project(self, vector: Vector) -> Vector:
        """Held unknowns and a free level taken out."""
        out = np.zeros(len(vector))
        out[self.free] = vector[self.free]
        if self.level_free:
            out[:-2] -= out[:-2].mean()
        return out

    def _by_pairs(self, right: Vector) -> tuple[Vector, bool]:
        """Conjugate gradients, products pair by pair; False when a dense solution is cheaper."""
        count, games = len(self.pairs.names), len(self.rows)
        pairs = self.pairs
        diagonal = pairs.per_engine(self.rows, self.rows) + self.stiff
        if self.lifted is not None:
            diagonal -= self.lifted * self.lifted / self.lifted.sum()
        diagonal = np.append(diagonal, (self.rows.sum(), self.draw))
        if self.beyond is not None:
            diagonal[count:] += self.beyond.diagonal()
        scale = np.where(diagonal > 0, 1 / np.where(diagonal > 0, diagonal, 1.0), 0.0)
        rounds = 1 + int(count**3 / (300 * games + 1e6))  # 300: what a pair costs against a dense flop
        return _conjugate(self.times, self._project, scale, self._project(right), STEP_TOLERANCE, rounds)


def _conjugate(
    times: Callable[[Vector], Vector],
    project: Callable[[Vector], Vector],
    scale: Vector,
    left: Vector,
    tolerance: float,
    rounds: int,
) -> tuple[Vector, bool]:
    """Conjugate gradients by a diagonal (Hestenes and Stiefel 1952); False when so many rounds do not do."""
    goal = tolerance * float(np.linalg.norm(left))
    step, way, size = np.zeros(len(left)), np.zeros(len(left)), 1.0
    for _ in range(rounds):
        if float(np.linalg.norm(left)) <= goal:
            return step, True
        scaled = project(scale * left)
        size, before = float(left @ scaled), size
        way = scaled + (size / before) * way if way.any() else scaled
        turned = project(times(way))
        bend = float(way @ turned)
        if not bend > 0:
            break
        step, left = step + (size / bend) * way, left - (size / bend) * turned
    return step, False


def curvature(
    pairs: Pairs, slopes: Slopes, belief: Belief, ratings: Vector, free: Index, *, level_free: bool
) -> Curvature:
    """Of games and prior at these ratings."""
    lifted = belief.weights if belief.floating else None
    stiff = belief.stiffness(ratings)
    return Curvature(pairs, slopes.curve, slopes.cross, slopes.draw_curve, stiff, lifted, free, level_free)
