"""Maximum-likelihood ratings by Newton's method on the likelihood of all games, and the curvature at the maximum.

All calculations are in natural units: points times ln10/scale. The unknowns are the ratings, White's advantage and
the draw parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite, log
from typing import Literal

import numpy as np

from enginetour.model.errors import InputRefused
from enginetour.ratings.connectivity import groups
from enginetour.ratings.models import MODELS, ONE_EACH, Model, Slopes, drawn_rate
from enginetour.ratings.pairs import Counts, Index, OpeningDependence, Pairs, Vector, pairs_of
from enginetour.ratings.pentanomial import ELO_SCALE
from enginetour.ratings.priors import PoolPrior, Prior, VirtualDraws, pool_prior, with_virtual_draws

# A symmetric positive definite matrix is inverted by block elimination. numpy inverts any matrix by elimination, which
# needs 8/3 n^3 operations. For a symmetric matrix, the Schur complement (Boyd and Vandenberghe 2004, appendix A.5.5)
# needs only 4/3 n^3, all in products of large blocks. For 1,000 unknowns it takes half the time (measured). In a long
# chain of engines, rounding errors add up in the complements, so such a matrix is inverted by plain elimination.

WHOLE = 128  # unknowns; splitting smaller matrices saves no time (measured: 64 to 256 are equally fast)
# The block elimination is not used if a variance, divided by its value with all other unknowns known, is larger than
# this limit. Usual values are 1 to 2. A chain of 300 engines has 200, and the result would lose one digit.
_LOOSE = 20.0


def inverse_of(matrix: Vector) -> Vector:
    """Return the inverse with the accuracy of plain elimination. Raises LinAlgError for a singular matrix."""
    if len(matrix) <= WHOLE:
        return np.asarray(np.linalg.inv(matrix))
    inverse = np.empty(matrix.shape)
    try:
        _invert(matrix, inverse)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.inv(matrix))
    inflated = matrix.diagonal() * inverse.diagonal()
    return inverse if (inflated > 0).all() and inflated.max() <= _LOOSE else np.asarray(np.linalg.inv(matrix))


def _invert(matrix: Vector, out: Vector) -> None:
    if len(matrix) <= WHOLE:
        out[:] = np.linalg.inv(matrix)
        return
    half = len(matrix) // 2
    first, last, beside = out[:half, :half], out[half:, half:], matrix[:half, half:]
    _invert(matrix[:half, :half], first)
    carried = first @ beside
    _invert(matrix[half:, half:] - beside.T @ carried, last)
    shared = carried @ last
    first += shared @ carried.T
    out[:half, half:] = -shared
    out[half:, :half] = -shared.T


# The curvature of a likelihood at a point. In small pools it is a dense matrix. In large pools it is not stored as a
# matrix, but multiplied pair by pair. The N + 2 unknowns are the ratings, White's advantage and the draw parameter, in
# natural units. The block of the ratings is a graph Laplacian, which is singular if nothing fixes the level of the
# ratings.

_DENSE_ENGINES = 2000  # engines; larger pools use conjugate gradients, because a dense step takes a third of a second
_STEP_TOLERANCE = 1e-4  # relative residual of one Newton step; with 1e-6 a singular system stagnated 695 Elo off
_NEWTON_TOLERANCE = 1e-9  # relative residual of a dense step; needs no additional Newton steps (measured)
_ITERATED = 300  # unknowns; with fewer unknowns, elimination is nearly as fast (measured)
_ITERATIONS = 40  # maximum; 12 are usual, and 40 take a third of the time to eliminate 1,000 unknowns (measured)
_EXACT = 1e-11  # relative residual of an exact solution, reached in several rounds; the limit of double precision
_MOST_ROUNDS = 40  # rounds; ten times the usual number


@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    """The negative second derivatives of log likelihood and log prior. Unknowns that are not in `free` are constant."""

    pairs: Pairs
    rows: Vector  # negative second derivative with respect to the gap, for each row of `pairs`
    cross: Vector  # negative mixed derivative with respect to the gap and the draw parameter, for each row of `pairs`
    draw: float  # negative second derivative with respect to the draw parameter
    stiff: Vector  # diagonal of the prior's curvature
    lifted: Vector | None  # weights of a prior around the pool's average; None without such a prior
    free: Index
    level_free: bool
    beyond: Vector | None = None  # curvature of other pools in the advantage and the draw parameter

    def matrix(self) -> Vector:
        """Return the dense matrix of all unknowns.

        If the level of the ratings is free, c 11^T/N is added, where c is the mean of the diagonal. Solutions then have
        the mean 0.
        """
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
        """Return the dense matrix of the free unknowns."""
        count, free = len(self.pairs.names), self.free
        if not len(free) or free[-1] >= count:
            return self.matrix()[np.ix_(free, free)]
        matrix = self.of_ratings()
        return matrix if len(free) == count else matrix[np.ix_(free, free)]

    def of_ratings(self) -> Vector:
        """Return the dense matrix of the ratings."""
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
        """Return the product of the curvature and `step`, without the term for a free level. No matrix is built."""
        pairs, count = self.pairs, len(self.pairs.names)
        gap = step[pairs.white] - step[pairs.black] + step[count]
        bent = self.rows * gap + self.cross * step[count + 1]
        ratings = pairs.per_engine(bent, -bent) + self.stiff * step[:count]
        if self.lifted is not None:
            ratings -= self.lifted * (self.lifted @ step[:count] / self.lifted.sum())
        extra = np.array((bent.sum(), self.cross @ gap + self.draw * step[count + 1]))
        return np.append(ratings, extra if self.beyond is None else extra + self.beyond @ step[count:])

    def held(self, kept: Index) -> Curvature:
        """Return the curvature in which only the unknowns in `kept` are free."""
        return replace(self, free=kept)

    def inverse(self) -> Vector:
        """Return the dense inverse. It contains zeros in the rows and columns of constant unknowns."""
        inverse, count = np.zeros((len(self.stiff) + 2, len(self.stiff) + 2)), len(self.free)
        if count and self.free[-1] == count - 1:  # for consecutive unknowns, slicing is faster than indexing
            inverse[:count, :count] = inverse_of(self.of_free())
        else:
            inverse[np.ix_(self.free, self.free)] = inverse_of(self.of_free())
        return inverse

    def solve(self, right: Vector, *, dense: bool = False) -> Vector:
        """Return a Newton step. It is 0 for constant unknowns, and its mean is 0 if the level is free.

        Raises LinAlgError if the matrix is singular.
        """
        if dense or len(self.pairs.names) <= _DENSE_ENGINES:
            return self._dense(right, exactly=dense or len(right) < _ITERATED)
        step, done = self._by_pairs(right)
        return step if done else self._dense(right)

    def solve_exactly(self, right: Vector) -> Vector:
        """Solve with rounding accuracy. In large pools, each round solves for the residual of the previous round."""
        if len(self.pairs.names) <= _DENSE_ENGINES:
            return self._dense(right)
        step, goal = np.zeros(len(right)), _EXACT * float(np.linalg.norm(self._project(right)))
        for _ in range(_MOST_ROUNDS):
            left = self._project(right - self.times(step))
            if float(np.linalg.norm(left)) <= goal:
                return step
            more, done = self._by_pairs(left)
            if not done:
                break
            step = step + more
        return self._dense(right)

    def _dense(self, right: Vector, *, exactly: bool = True) -> Vector:
        """Solve with conjugate gradients if `_ITERATIONS` steps suffice and `exactly` is false, or by elimination."""
        step, matrix, wanted = np.zeros(len(right)), self.of_free(), right[self.free]
        if not exactly and (matrix.diagonal() > 0).all():
            scale = 1 / matrix.diagonal()
            found, done = _conjugate(matrix.__matmul__, lambda way: way, scale, wanted, _NEWTON_TOLERANCE, _ITERATIONS)
            if done:
                step[self.free] = found
                return step
        step[self.free] = np.linalg.solve(matrix, wanted)
        return step

    def _project(self, vector: Vector) -> Vector:
        """Return `vector` with 0 for constant unknowns. If the level is free, the mean of the ratings becomes 0."""
        out = np.zeros(len(vector))
        out[self.free] = vector[self.free]
        if self.level_free:
            out[:-2] -= out[:-2].mean()
        return out

    def _by_pairs(self, right: Vector) -> tuple[Vector, bool]:
        """Solve with conjugate gradients, pair by pair. Return also False if a dense solution would be faster."""
        count, games = len(self.pairs.names), len(self.rows)
        pairs = self.pairs
        diagonal = pairs.per_engine(self.rows, self.rows) + self.stiff
        if self.lifted is not None:
            diagonal -= self.lifted * self.lifted / self.lifted.sum()
        diagonal = np.append(diagonal, (self.rows.sum(), self.draw))
        if self.beyond is not None:
            diagonal[count:] += self.beyond.diagonal()
        scale = np.where(diagonal > 0, 1 / np.where(diagonal > 0, diagonal, 1.0), 0.0)
        rounds = 1 + int(count**3 / (300 * games + 1e6))  # the work for a pair takes as long as 300 dense operations
        return _conjugate(self.times, self._project, scale, self._project(right), _STEP_TOLERANCE, rounds)


def _conjugate(
    times: Callable[[Vector], Vector],
    project: Callable[[Vector], Vector],
    scale: Vector,
    left: Vector,
    tolerance: float,
    rounds: int,
) -> tuple[Vector, bool]:
    """Solve with preconditioned conjugate gradients (Hestenes and Stiefel 1952).

    Return the solution, and whether `rounds` sufficed to reach the tolerance.
    """
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


# Newton's method: the function to maximize, its steps, and the case without a maximum.

_STEP_LIMIT = 4.0  # natural units (695 Elo); largest change of a gap in one step, because longer steps overshoot
STEP_DONE = 1e-8  # natural units; after such a small step, the remaining error is about its square
_STEP_ROUNDING = 1e-12  # natural units; limit of double precision for a step in large pools
_RESIDUAL_DONE = 1e-9  # points per engine; a tenth of the documented limit
_UPHILL = 1e-9  # a relative decrease of the log likelihood by less than this may be caused by rounding
RUNAWAY = 30.0  # natural units; a larger advantage means that the likelihood has no maximum
MAX_DRAW_PARAMETER = 12.0  # natural units; with this value, all but one in 100,000 games between equals are draws
MOST_STEPS = 1000  # steps; far more than any pool with a maximum needs
_LINE_STEPS = 2  # steps along one line (chosen here); from equal ratings, the first step still overshoots
_PATIENCE = 15  # steps with conjugate gradients; a dense pool needs 9, a chain of 3,000 versions 129
_IDENTIFIED = 1e-9  # minimum share of the curvature of advantage and draw parameter that ratings cannot replace


_GIVE_ADVANTAGE = "give the advantage as a number"


class NoMaximum(InputRefused):
    """Raised if no finite ratings maximize the likelihood of the games."""

    @classmethod
    def not_separable(cls) -> NoMaximum:
        """Return the error for games that different ratings explain as well as a White advantage does."""
        return cls("White's advantage cannot be separated from the ratings", step=_GIVE_ADVANTAGE)

    @classmethod
    def unlimited_advantage(cls) -> NoMaximum:
        """Return the error for a White advantage that the games do not limit."""
        return cls("White's advantage has no finite maximum-likelihood value", step=_GIVE_ADVANTAGE)

    @classmethod
    def of_ratings(cls) -> NoMaximum:
        """Return the error for ratings that the games do not limit."""
        return cls("the ratings have no finite maximum-likelihood values", step="use a prior")


@dataclass(frozen=True, eq=False)
class SharedParameters:
    """The log likelihood of other pools, approximated by a parabola in White's advantage and the draw parameter.

    `slope` and `bend` are the first and the negative second derivatives at `at`, where the ratings always have their
    most likely values. For constant parameters they are 0. `spread` is the variance of the slope.
    """

    at: Vector
    slope: Vector
    bend: Vector
    spread: Vector

    def log_likelihood(self, extra: Vector) -> float:
        """Return the log likelihood of the other pools, without constant terms."""
        off = self._off(extra)
        return float(off @ self.slope - off @ self.bend @ off / 2)

    def pull(self, extra: Vector) -> Vector:
        """Return the gradient of the log likelihood."""
        return np.asarray(self.slope - self.bend @ self._off(extra))

    @property
    def draws(self) -> bool:
        """Return whether the other pools determine the draw parameter."""
        return bool(self.bend[1, 1] > 0)

    def _off(self, extra: Vector) -> Vector:
        off, moving = np.zeros(len(self.at)), self.bend.any(axis=0)  # a constant draw parameter may be -inf
        off[moving] = extra[moving] - self.at[moving]
        return off


@dataclass(frozen=True, eq=False)
class _Problem:
    """The function to maximize over the `free` unknowns: likelihood times prior."""

    pairs: Pairs
    model: Model
    belief: PoolPrior
    free: Index
    level_free: bool
    imagined: bool  # True if ONE_EACH is added to the games
    elsewhere: SharedParameters | None = None

    def without_draws(self) -> _Problem:
        return replace(self, free=self.free[self.free <= len(self.pairs.names)])

    def folded(self, at: Vector) -> _Problem:
        """Return the problem with one row for both colors if White has no advantage and this saves enough rows."""
        count = len(self.pairs.names)
        if at[-2] or count in self.free or len(self.pairs.white) <= count * (count - 1) / 2:
            return self
        return replace(self, pairs=self.pairs.folded)

    def gaps(self, at: Vector) -> Vector:
        return np.asarray(at[self.pairs.white] - at[self.pairs.black] + at[-2])

    def log_likelihood(self, at: Vector) -> float:
        imagined = self.model.log_likelihood(ONE_EACH, np.zeros(1), at[-1]) if self.imagined else 0.0
        beyond = 0.0 if self.elsewhere is None else self.elsewhere.log_likelihood(at[-2:])
        return (
            self.model.log_likelihood(self.pairs, self.gaps(at), at[-1])
            + self.belief.log_likelihood(at[:-2])
            + imagined
            + beyond
        )

    def slopes(self, at: Vector) -> tuple[Vector, Curvature]:
        slopes = self.model.slopes(self.pairs, self.gaps(at), at[-1])
        if self.imagined:
            more = self.model.slopes(ONE_EACH, np.zeros(1), at[-1])
            draw = (slopes.draw_score + more.draw_score, slopes.draw_curve + more.draw_curve)
            slopes = Slopes(slopes.score, slopes.curve, slopes.cross, *draw)
        engines = self.pairs.per_engine(slopes.score, -slopes.score) + self.belief.pull(at[:-2])
        gradient = np.append(engines, (slopes.score.sum(), slopes.draw_score))
        if self.elsewhere is not None:
            gradient[-2:] += self.elsewhere.pull(at[-2:])
        return gradient, Curvature(
            self.pairs,
            slopes.curve,
            slopes.cross,
            slopes.draw_curve,
            self.belief.stiffness(at[:-2]),
            self.belief.weights if self.belief.floating else None,
            self.free,
            self.level_free,
            None if self.elsewhere is None else self.elsewhere.bend,
        )

    def limited_step(self, at: Vector, step: Vector, here: float) -> tuple[Vector, float]:
        """Return a limited step and the new log likelihood. The step is halved until the likelihood does not fall."""
        own = max(abs(step[-1]), np.abs(step).max() * bool(self.belief.draws))
        bent = max(own, np.ptp(step[:-2]) + abs(step[-2]))
        if bent > _STEP_LIMIT:  # the two most distant engines may not have played each other
            bent = max(own, np.abs(self.gaps(step)).max(initial=0.0))
        step = step * (_STEP_LIMIT / max(float(bent), _STEP_LIMIT))
        while not (there := self.log_likelihood(at + step)) >= here - _UPHILL * (1 + abs(here)):
            step = step / 2
        return step, there


def _maximize(problem: _Problem, at: Vector) -> tuple[_Problem, Vector, float]:
    """Run `_newton`. If nothing else limits the draw parameter, add one win and one loss between equal engines.

    If too few games are decided, gaps and draw parameter can increase together without limit, for example if A only
    drew and lost against B.
    """
    try:
        return problem, *_newton(problem, at)
    except NoMaximum:
        if problem.imagined or len(problem.pairs.names) + 1 not in problem.free:
            raise
    problem = replace(problem, imagined=True)
    return problem, *_newton(problem, at)


def _newton(problem: _Problem, at: Vector) -> tuple[Vector, float]:
    """Return the maximum found by Newton's method, and its residual. Raises NoMaximum."""
    count = len(problem.pairs.names)
    fitted = count in problem.free
    height = problem.log_likelihood(at)
    gradient, bent = problem.slopes(at)
    for steps in range(1, MOST_STEPS + 1):
        try:
            step, height = problem.limited_step(at, bent.solve(gradient, dense=steps > _PATIENCE), height)
        except np.linalg.LinAlgError:
            break
        at = at + step
        if problem.level_free:
            at[:-2] -= at[:-2].mean()
        if (fitted and abs(at[-2]) > RUNAWAY) or (
            count + 1 in problem.free and not problem.imagined and at[-1] > MAX_DRAW_PARAMETER
        ):
            break
        gradient, bent = problem.slopes(at)
        residual, moved = float(np.abs(gradient[problem.free]).max(initial=0.0)), float(np.abs(step).max())
        if moved < STEP_DONE and (residual < _RESIDUAL_DONE or moved < _STEP_ROUNDING):
            if not _identified(problem, bent):  # small steps are not a maximum here: very large values hardly change
                break
            return at, residual
    if fitted:
        raise NoMaximum.unlimited_advantage()
    raise NoMaximum.of_ratings()


def _start_by_scores(problem: _Problem, at: Vector) -> Vector:
    """Return a starting point: ratings from the scores, multiplied by the most likely factor.

    With it, Newton's method needs five steps instead of eight for a thousand well-connected engines (measured).
    """
    pairs, count = problem.pairs, len(problem.pairs.names)
    score = (pairs.scored + 0.5) / (pairs.played + 1)
    way = np.zeros(len(at))
    ratings = problem.free[problem.free < count]
    way[ratings] = np.log(score / (1 - score))[ratings]
    if problem.level_free:
        way[:-2] -= way[:-2].mean()
    height = problem.log_likelihood(at)
    for _ in range(_LINE_STEPS):
        gradient, bent = problem.slopes(at)
        bend = float(way @ bent.times(way))
        if not bend > 0:
            break
        step, height = problem.limited_step(at, float(gradient @ way) / bend * way, height)
        at = at + step
    return at


def _identified(problem: _Problem, bent: Curvature) -> bool:
    """Return whether the games determine the advantage and the draw parameter if the ratings can change with them."""
    extra = problem.free[problem.free >= len(problem.pairs.names)]
    try:
        return is_identified(*eliminate_ratings(problem, bent, extra)[1:])
    except np.linalg.LinAlgError:
        return False


def eliminate_ratings(problem: _Problem, bent: Curvature, extra: Index) -> tuple[Vector, Vector, Vector]:
    """Return how all unknowns change with each of the unknowns `extra` if the free ratings are always the best ones.

    Return also the curvature that remains for `extra`, and the diagonal of the curvature with constant ratings. Raises
    LinAlgError if the best ratings cannot be computed.
    """
    count = len(problem.pairs.names)
    inner = bent.held(problem.free[problem.free < count])
    ways, own = np.zeros((len(extra), count + 2)), np.zeros(len(extra))
    rest = np.zeros((len(extra), len(extra)))
    for row, place in enumerate(extra.tolist()):
        ways[row, place] = 1.0
        column = bent.times(ways[row])
        own[row] = column[place]
        ways[row] -= inner.solve_exactly(column)
        rest[row] = bent.times(ways[row])[extra]
    return ways, rest, own


def is_identified(rest: Vector, own: Vector) -> bool:
    """Return whether the curvature `rest` is large enough in comparison with the curvature `own`.

    Both are returned by `eliminate_ratings`: `rest` with the best ratings, `own` with constant ratings.
    """
    if not (own > 0).all():
        return not len(own)
    return bool(np.linalg.eigvalsh(rest / np.sqrt(np.outer(own, own))).min(initial=1.0) > _IDENTIFIED)


# The most likely ratings, by Newton's method, which is also exact for chains of versions. Input and output are in
# points of the scale (for Elo it is 400), and internal values are in natural units. White's gap is R_w + advantage -
# R_b. The points of the models davidson and raokupper are not Elo points; `Fit.point` is the value of one such point.
# Names are sorted first, so that the order of games does not change even the last bit.

ModelName = Literal["logistic", "davidson", "raokupper"]


@dataclass(frozen=True, eq=False)
class Fit:
    """The maximum. The values of arrays are in the order of `names`. `at` contains all unknowns in natural units."""

    pairs: Pairs
    problem: _Problem
    at: Vector
    ratings: Vector
    advantage: float
    advantage_fitted: bool
    draw: float | None  # draw parameter nu or drawElo; None if the model has none
    draw_fitted: bool
    fixed: frozenset[int]
    scale: float
    residual: float  # largest deviation from the score equations, in points per engine
    dependence: OpeningDependence | None = None  # dependence of paired games; None if all games are independent

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the engines, sorted."""
        return self.pairs.names

    @property
    def model(self) -> str:
        """Return the name of the model."""
        return self.problem.model.name

    @property
    def level_free(self) -> bool:
        """True if neither anchors nor a prior fix the level of the ratings."""
        return self.problem.level_free

    @property
    def unit(self) -> float:
        """Return the number of points of the scale per natural unit."""
        return self.scale / log(10)

    @property
    def point(self) -> float:
        """Return the value of one point of the ratings in Elo points, for small rating gaps."""
        return self.problem.model.point(float(self.at[-1]))

    @cached_property
    def folded_problem(self) -> _Problem:
        """Return the problem with both colors of a pair in one row, unless they must be separate."""
        return self.problem if self.dependence is not None else self.problem.folded(self.at)

    @cached_property
    def curvature(self) -> Curvature:
        """Return the curvature at the maximum, for the rows of `folded_problem`."""
        return self.folded_problem.slopes(self.at)[1]

    def by_name(self) -> dict[str, float]:
        """Return the ratings by name, in points."""
        return dict(zip(self.names, self.ratings.tolist(), strict=True))


def fit(
    counts: Counts | Pairs,
    *,
    model: ModelName = "logistic",
    prior: Prior | None = None,
    anchors: Mapping[str, float] | None = None,
    advantage: float | Literal["fit"] = 0.0,
    draw: float | Literal["fit"] = "fit",
    scale: float = ELO_SCALE,
    names: Collection[str] = (),
    start: Fit | None = None,
    elsewhere: SharedParameters | None = None,
) -> Fit:
    """Return the most likely ratings. Their average is 0 unless anchors or a prior with means fix the level.

    `draw` is nu, or drawElo in points. `names` adds engines without games, whose ratings depend only on the prior.
    `start` is a fit of nearly the same games that is used as a starting point. `elsewhere` is the information of other
    pools about White's advantage and draws. Raises NoMaximum if there is no finite maximum. The reasons are several
    connected components without a prior, or a White advantage that the games do not determine. Raises ValueError for
    invalid numbers.
    """
    pairs, chosen = pairs_of(counts, names), MODELS[model]
    held = {name: value for name, value in sorted((anchors or {}).items()) if name in pairs.names}
    fitted = advantage == "fit"
    given = 0.0 if advantage == "fit" else advantage
    if not all(map(isfinite, (given, *held.values()))) or not 0 < scale < inf:
        raise ValueError("anchors, advantage and scale must be finite numbers, and the scale above 0")
    if draw != "fit" and not 0 < draw < inf:
        raise ValueError("the draw parameter must be a finite number above 0")
    unit, count = scale / log(10), len(pairs.names)
    counted = with_virtual_draws(pairs, prior.weight) if isinstance(prior, VirtualDraws) else pairs
    belief = pool_prior(pairs.names, prior, unit)
    _check_connected(counted, {*held, *(name for name, own in zip(pairs.names, belief.bound(), strict=True) if own)})
    games, drawn = float(counted.games.sum()), float(counted.draws.sum())
    draw_fitted = chosen.draws and draw == "fit" and (drawn > 0 or (elsewhere is not None and elsewhere.draws))
    fixed = np.searchsorted(pairs.names, list(held)) if held else np.zeros(0, dtype=np.intp)
    extra = [count] * fitted + [count + 1] * draw_fitted
    free = np.append(np.delete(np.arange(count), fixed), extra).astype(np.intp)
    level_free = not held and not belief.draws and (belief.floating or not belief.weights.any())
    imagined = draw_fitted and drawn == games and elsewhere is None
    problem = _Problem(counted, chosen, belief, free, level_free, imagined, elsewhere)
    drawing = chosen.guess(drawn_rate(games, drawn)) if draw == "fit" else chosen.natural(draw, unit)
    at = np.append(belief.about, (given / unit, drawing))
    if held:
        at[:count] = np.mean(list(held.values())) / unit
    elif (believed := belief.weights > 0).any():  # engines without a prior start at the mean of the priors
        at[:count][~believed] = np.average(belief.about[believed], weights=belief.weights[believed])
    if start is not None:
        at = _warm_start(at, pairs.names, start, free, model)
    at[fixed] = [value / unit for value in held.values()]
    if elsewhere is not None:
        at[-2:] = elsewhere.at
    if fitted and not _identified(ahead := problem.without_draws(), ahead.slopes(at)[1]):
        raise NoMaximum.not_separable()
    climbed = problem.folded(at)
    climbed, at, residual = _maximize(climbed, _start_by_scores(climbed, at) if start is None else at)
    problem = replace(climbed, pairs=counted)
    ratings = at[:count] * unit
    ratings[fixed] = list(held.values())  # these are exact, because they were not converted with `unit`
    return Fit(
        pairs=pairs,
        problem=problem,
        at=at,
        ratings=ratings,
        advantage=float(at[-2]) * unit if fitted else given,
        advantage_fitted=fitted,
        draw=chosen.published(float(at[-1]), unit) if chosen.draws else None,
        draw_fitted=draw_fitted,
        fixed=frozenset(fixed.tolist()),
        scale=scale,
        residual=residual,
    )


def _warm_start(at: Vector, names: tuple[str, ...], start: Fit, free: Index, model: str) -> Vector:
    known = dict(zip(start.names, start.at[:-2].tolist(), strict=True))
    begun = at.copy()
    begun[:-2] = [known.get(name, own) for name, own in zip(names, at[:-2].tolist(), strict=True)]
    if start.advantage_fitted and len(names) in free:
        begun[-2] = start.at[-2]
    if start.draw_fitted and len(names) + 1 in free and start.model == model:
        begun[-1] = start.at[-1]
    return begun


def _check_connected(pairs: Pairs, believed: Collection[str]) -> None:
    """Raise NoMaximum unless all engines are connected. Anchors and engines with a prior count as connected."""
    met = {name for name, games in zip(pairs.names, pairs.played, strict=True) if games}
    linked = 1 if met <= set(believed) else len(groups(pairs, believed))
    found = linked + len(set(pairs.names) - met - set(believed))
    if found > 1:
        raise NoMaximum(f"no finite ratings: the games form {found} connected components", step="use a prior")
