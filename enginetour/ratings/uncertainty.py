"""How errors of ratings are computed: LOS, covariance, sandwich estimator and profile-likelihood intervals of a list.

The models davidson and raokupper include draws, so the covariance is C = H^-1, the inverse curvature. In the logistic
model draws make errors smaller, so the covariance is the sandwich C = H^-1 V H^-1. V is the variance of games with
draws. If game pairs are known, V includes their variance in all models. Errors are relative to the pool's average or
to the anchors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from statistics import NormalDist

import numpy as np

from enginetour.ratings.likelihood import Curvature, Fit
from enginetour.ratings.models import Model, ResultColumns, davidson_chances, logistic
from enginetour.ratings.pairs import PAIR_POINTS, Index, OpeningPairs, Pairs, PairScoreSpread, Vector
from enginetour.ratings.pentanomial import EXTREME_SCORE, NORMAL_95

# Profile-likelihood intervals are used for few games and extreme scores, where plus and minus differ. The likelihood of
# the engine's own games is exact; all other games are approximated by their curvature. The ratings of its closest
# opponents change independently, and the ratings of the other engines change linearly with them. White's advantage and
# the draw parameter are constant.

_CLOSE_OPPONENTS = 50  # opponents whose ratings change independently in a profile
_LONGEST_STRIDE = 2.0  # natural units (347 Elo); longest step to the end of an interval
_BOUND_DONE = 1e-9  # accuracy of an end of an interval, in natural units and in log likelihood
_MOST_STRIDES = 200  # steps; an interval of more than 400 natural units counts as unlimited


def _profile(
    fit: Fit, near: Sequence[int] | Index, inverse: Vector, narrowed: float, quantile: float
) -> tuple[float, float] | None:
    """Return the distances to both ends of the interval in points (Venzon and Moolgavkar 1988), or None if unlimited.

    `near` contains the engine and then its closest opponents. `inverse` contains their columns of the inverse
    curvature. `narrowed` is the factor by which draws and pairs change the variance. It is not used near 0 or 100 %,
    where the few draws give little information.
    """
    star, direction = _star(fit, np.asarray(near, dtype=np.intp), inverse)
    place = near[0]
    score = fit.pairs.scored[place] / fit.pairs.played[place] if fit.pairs.played[place] else 0.5
    extreme = not EXTREME_SCORE <= score <= 1 - EXTREME_SCORE
    drop = quantile**2 / 2 * (1.0 if extreme else narrowed)
    down, up = (_reach(star, direction, drop, side) for side in (-1.0, 1.0))
    return None if down is None or up is None else (-down * fit.unit, up * fit.unit)


@dataclass(frozen=True, eq=False)
class _Star:
    """The log likelihood near the maximum, as a function of the ratings of an engine and its closest opponents.

    `moves` converts deviations of these ratings (the engine's own rating first) to changes of the rating gaps in the
    engine's games.
    """

    model: Model
    draw: float
    results: ResultColumns
    gaps: Vector
    moves: Vector
    rest: Vector

    def at(self, off: Vector) -> tuple[float, Vector, Vector]:
        """Return the change of the log likelihood, its gradient and its negative Hessian for the deviations `off`."""
        start = self.model.slopes(self.results, self.gaps, self.draw)
        moved = self.gaps + self.moves @ off
        there = self.model.slopes(self.results, moved, self.draw)
        before, after = (self.model.row_log_likelihoods(self.results, gaps, self.draw) for gaps in (self.gaps, moved))
        fall = (after - before - start.score * (moved - self.gaps)).sum()
        gradient = self.moves.T @ (there.score - start.score) - self.rest @ off
        return float(fall - off @ self.rest @ off / 2), gradient, self.rest + (self.moves.T * there.curve) @ self.moves


def _star(fit: Fit, near: Index, inverse: Vector) -> tuple[_Star, Vector]:
    """Return the likelihood around an engine, and the direction of its rating relative to the average or anchors."""
    pairs, place = fit.problem.pairs, int(near[0])
    mine = (pairs.white == place) | (pairs.black == place)
    as_white = pairs.white[mine] == place
    sign = np.where(as_white, 1.0, -1.0)
    others = np.where(as_white, pairs.black[mine], pairs.white[mine])
    own = ResultColumns(
        np.where(as_white, pairs.wins[mine], pairs.losses[mine]),
        pairs.draws[mine],
        np.where(as_white, pairs.losses[mine], pairs.wins[mine]),
    )
    gaps = sign * fit.problem.gaps(fit.at)[mine]
    inside = inverse[near]
    direction = np.zeros(len(near))
    direction[0] = 1.0
    if len(near) == len(fit.names) and not fit.fixed:  # all engines are close, so nothing else fixes the average
        inside = inside + np.trace(inside) / len(near) ** 2
        direction -= 1 / len(near)
    whole = np.linalg.inv(inside)
    moves = -(inverse[others] @ whole)
    known = {int(name): column for column, name in enumerate(near)}
    for row, other in enumerate(others.tolist()):
        if other in known:
            moves[row] = 0.0
            moves[row, known[other]] = -1.0
    moves[:, 0] += 1.0
    model, draw = fit.problem.model, float(fit.at[-1])
    rest = whole - (moves.T * model.slopes(own, gaps, draw).curve) @ moves
    return _Star(model, draw, own, gaps, moves, rest), direction


def _reach(star: _Star, direction: Vector, drop: float, side: float) -> float | None:
    """Return the largest deviation along `direction` at which the log likelihood is lower by `drop`, in natural units.

    `side` is -1 for the lower end or 1 for the upper end. Returns None if there is no such deviation.
    """
    off, stride = np.zeros(len(direction)), np.zeros(len(direction))
    for _ in range(_MOST_STRIDES):
        fall, gradient, hessian = star.at(off)
        try:
            home, away = np.linalg.solve(hessian, np.stack((gradient, direction), axis=1)).T
        except np.linalg.LinAlgError:  # the step was too long: go half of it back
            stride = stride / 2
            off = off - stride
            continue
        room = 2 * (fall + drop + gradient @ home / 2) / (direction @ away)
        stride = home + side * sqrt(max(0.0, float(room))) * away
        if np.abs(stride).max() < _BOUND_DONE and abs(fall + drop) < _BOUND_DONE:
            return float(direction @ off)
        stride = stride * min(1.0, _LONGEST_STRIDE / max(float(np.abs(stride).max()), _LONGEST_STRIDE))
        off = off + stride
    return None


# Sandwich estimator H^-1 V H^-1 (Huber 1967); V is the variance of the results in each model. In the logistic model
# draws reduce it; the draw probability is that of Davidson 1970. For games that share an opening, V is multiplied by
# the variance ratio that was observed in their pair scores.


@dataclass(frozen=True, slots=True, eq=False)
class _Middle:
    """The matrix V of the sandwich: a curvature, plus a term for White's advantage, which pairs change differently."""

    bent: Curvature
    draw_rate: float  # expected share of draws between equals
    advantage: float  # term for White's advantage, added to `bent`; never negative, so that no variance is negative

    def matrix(self) -> Vector:
        matrix = self.bent.matrix()
        matrix[-2, -2] += self.advantage
        return matrix

    def square(self, response: Vector) -> float:
        return float(response @ self.bent.times(response) + self.advantage * response[-2] ** 2)


def sandwich_middle(fit: Fit) -> _Middle | None:
    """Return V, or None if V equals the curvature (models davidson and raokupper without paired games)."""
    depends = fit.dependence
    if fit.model != "logistic" and depends is None:
        return None
    rows = fit.curvature.rows
    if fit.model == "logistic":
        share = logistic(fit.folded_problem.gaps(fit.at))
        rate = _draw_rate_of_equals(fit.folded_problem.pairs, share)
        rows = rows - fit.folded_problem.pairs.games * expected_draws(share, rate) / 4
    else:
        rate = draw_rate(fit)
    beyond = None if fit.problem.elsewhere is None else fit.problem.elsewhere.spread
    if depends is None:
        return _Middle(replace(fit.curvature, rows=rows, beyond=beyond, level_free=False), rate, 0.0)
    games = fit.problem.pairs.games
    own = float(rows @ (depends.paired / games)) * max(0.0, 2 - 2 * depends.ratio)
    wide = depends.widened(games)
    # The ratio multiplies the variance of results but not of draws. The mixed term is multiplied by its square root.
    cross = fit.curvature.cross * np.sqrt(wide)
    return _Middle(replace(fit.curvature, rows=rows * wide, cross=cross, beyond=beyond, level_free=False), rate, own)


def pair_score_spread(fit: Fit, openings: OpeningPairs) -> PairScoreSpread:
    """Return how much the scores of game pairs vary around the scores that the fit expects."""
    number = openings.counts.sum(axis=1)
    if not number.any():
        return PairScoreSpread()
    gap = fit.at[openings.one] - fit.at[openings.other]
    means, variances = moments(fit, gap + np.array([[1.0], [-1.0]]) * fit.at[-2])  # with White, with Black
    off = PAIR_POINTS - means.sum(axis=0)[:, None]
    variance, pairs = float(number @ variances.sum(axis=0)), int(number.sum())
    fitted = _fitted(fit, openings.in_rows(fit.problem.pairs))
    return PairScoreSpread(
        float((openings.counts * off**2).sum()), variance * max(0.0, 1 - fitted / pairs), variance, pairs
    )


def moments(fit: Fit, gap: Vector) -> tuple[Vector, Vector]:
    """Return the mean and the variance of White's score in one game, for each rating gap."""
    if fit.model == "logistic":
        share = logistic(gap)
        return share, share * (1 - share) - expected_draws(share, draw_rate(fit)) / 4
    draw = float(fit.at[-1])
    if fit.model == "davidson":
        won, _, lost = davidson_chances(gap, np.exp(draw))
    else:
        won, lost = logistic(gap - draw), logistic(-gap - draw)
    lead = won - lost
    return (1 + lead) / 2, (won + lost - lead**2) / 4


def draw_rate(fit: Fit) -> float:
    """Return the expected share of draws between equals without White's advantage."""
    if fit.model == "logistic":
        return _draw_rate_of_equals(fit.folded_problem.pairs, logistic(fit.folded_problem.gaps(fit.at)))
    draw = float(fit.at[-1])
    return float(np.exp(draw) / (2 + np.exp(draw)) if fit.model == "davidson" else np.tanh(draw / 2))


def expected_draws(share: Vector, draw_rate: float) -> Vector:
    """Return the draw probability for each expected score (Davidson 1970). `draw_rate` is the value between equals."""
    return _draws(4 * share * (1 - share), draw_rate)


def _draws(even: Vector, draw_rate: float) -> Vector:
    """Return the same as `expected_draws`, as a function of 4 p (1 - p). This argument is 1 between equals."""
    if not draw_rate:
        return np.zeros_like(even)
    bend = (1 - 2 * draw_rate) / draw_rate**2
    draws: Vector = even / (1 + np.sqrt(np.maximum(0.0, 1 + bend * even)))
    return draws


def _draw_rate_of_equals(pairs: Pairs, share: Vector) -> float:
    """Return the draw rate between equals for which the expected number of draws is the observed number.

    It is found with the secant method in a bracket, with the weights of Anderson and Bjorck 1973. The result is at most
    games/(games + 2), as if one win and one loss were added to only draws; otherwise ratings would have no error.
    """
    games, target = float(pairs.games.sum()), float(pairs.draws.sum())
    most, even = games / (games + 2), 4 * share * (1 - share)

    def excess(rate: float) -> float:
        return float(pairs.games @ _draws(even, rate)) - target

    low, high, below, above = 0.0, most, -target, excess(most)
    if target <= 0 or above <= 0:
        return 0.0 if target <= 0 else most
    side = 0
    while high - low > 1e-13:
        rate = (low * above - high * below) / (above - below)
        found = excess(rate)
        if abs(found) <= 1e-12 * games:
            return rate
        fall = found / (above if found > 0 else below)
        less = 1 - fall if fall < 1 else 0.5
        if found > 0:
            high, above, below, side = rate, found, below * less if side > 0 else below, 1
        else:
            low, below, above, side = rate, found, above * less if side < 0 else above, -1
    return (low + high) / 2


def _fitted(fit: Fit, paired: Vector) -> float:
    """Return how many parameters were fitted to the pair scores: the trace of the paired games' share of the curvature.

    The share is computed for all paired games together, which is exact if all games are paired. Priors reduce it.
    """
    bent, rated = fit.problem.slopes(fit.at)[1], fit.problem.free[fit.problem.free < len(fit.names)]
    own = bent.pairs.per_engine(bent.rows, bent.rows)[rated]
    known = float((own / (own + bent.stiff[rated])).sum()) - fit.level_free
    return known * float(bent.rows @ (paired / bent.pairs.games)) / float(bent.rows.sum())


# Errors of a fit: covariance, LOS, and intervals for few games.


@dataclass(frozen=True, eq=False)
class Errors:
    """The errors of a fit in natural units, with one row per name of the fit. The rows of anchors are 0.

    The covariance is the product of `spread` and the transposed `response`. It is only computed on request. `inverse`
    is the square inverse curvature for a constant White advantage and a constant draw parameter.
    """

    fit: Fit
    spread: Vector
    response: Vector
    inverse: Vector
    advantage_sd: float | None  # points; None if the advantage was given
    draw_rate: float  # expected share of draws between equals

    @cached_property
    def covariance(self) -> Vector:
        """Return the square covariance matrix."""
        made = self.spread @ self.response.T
        return np.asarray(made + made.T) / 2  # exactly symmetric, in spite of rounding

    @cached_property
    def variances(self) -> Vector:
        """Return the diagonal of the covariance."""
        return np.asarray(np.einsum("ij,ij->i", self.spread, self.response).clip(0.0))

    @cached_property
    def sd(self) -> Vector:
        """Return the standard deviation of each rating in points, relative to the pool's average or the anchors."""
        return np.asarray(np.sqrt(self.variances) * self.fit.unit)

    def sd_of(self, place: int) -> float:
        """Return the standard deviation of one rating in points."""
        return float(self.sd[place])

    def difference_sd(self, one: int, other: int) -> float:
        """Return the standard deviation of the difference of two ratings in points."""
        spread, response = (each[one] - each[other] for each in (self.spread, self.response))
        return sqrt(max(0.0, float(spread @ response))) * self.fit.unit

    def los(self, one: int, other: int) -> float:
        """Return the likelihood that engine `one` is stronger than engine `other`. It is 0 or 1 between anchors."""
        return _superiority(self.fit, one, other, self.difference_sd(one, other))

    def bounds(self, place: int, wider: float = 1.0, quantile: float = NORMAL_95) -> tuple[float, float] | None:
        """Return the distances to both ends of the profile-likelihood interval in points, or None if it is unlimited.

        `wider` multiplies the variance if the score is not extreme. `quantile` is the confidence in standard
        deviations.
        """
        near = _near(self.fit, place)
        narrowed = float(self.variances[place] / self.inverse[place, place])
        return _profile(self.fit, near, self.inverse[:, near], narrowed * wider, quantile)


@dataclass(frozen=True, eq=False)
class ErrorsOnRequest:
    """Errors that are computed one by one on request, for pools whose square arrays are too large for `Errors`."""

    fit: Fit
    _middle: _Middle | None = field(init=False)
    _known: dict[int, float] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_middle", sandwich_middle(self.fit))

    def sd_of(self, place: int) -> float:
        """Return the standard deviation of one rating in points."""
        if place not in self._known:
            self._known[place] = self._sd(self._direction(place))
        return self._known[place]

    def difference_sd(self, one: int, other: int) -> float:
        """Return the standard deviation of the difference of two ratings in points."""
        return self._sd(self._direction(one) - self._direction(other))

    @cached_property
    def advantage_sd(self) -> float | None:
        """Return the standard deviation of a fitted White advantage in points, or None if the advantage was given."""
        place = len(self.fit.names)
        if place not in self.fit.problem.free:
            return None
        direction = np.zeros(len(self.fit.at))
        direction[place] = 1.0
        return self._sd(direction)

    def los(self, one: int, other: int) -> float:
        """Return the likelihood that engine `one` is stronger than engine `other`."""
        return _superiority(self.fit, one, other, self.difference_sd(one, other))

    def bounds(self, place: int, wider: float = 1.0, quantile: float = NORMAL_95) -> tuple[float, float] | None:
        """Return approximately the profile-likelihood interval of `Errors.bounds`.

        The approximation is that all other ratings change linearly with this rating.
        """
        fit, count, direction = self.fit, len(self.fit.names), self._direction(place)
        ratings = fit.problem.free[fit.problem.free < count]
        column = fit.curvature.held(ratings).solve_exactly(direction)[:count]
        if not fit.fixed:
            column = column - column.mean()
        narrowed = (self.sd_of(place) / fit.unit) ** 2 / float(column[place])
        return _profile(fit, np.array([place], dtype=np.intp), column[:, None], narrowed * wider, quantile)

    def _direction(self, place: int) -> Vector:
        """Return the direction of a rating relative to the average or the anchors."""
        direction = np.zeros(len(self.fit.at))
        direction[place] = 1.0
        if not self.fit.fixed:
            direction[:-2] -= 1 / len(self.fit.names)
        direction[list(self.fit.fixed)] = 0.0
        return direction

    def _sd(self, direction: Vector) -> float:
        response = self.fit.curvature.solve_exactly(direction)
        square = float(direction @ response) if self._middle is None else self._middle.square(response)
        return sqrt(max(0.0, square)) * self.fit.unit


def errors_of(fit: Fit) -> Errors:
    """Compute all errors of a fit: one inversion and one product, 0.9 s for 2,000 engines (measured)."""
    count, free = len(fit.names), fit.problem.free
    extra = free[free >= count]
    size = count + 2 if len(extra) else count  # constant unknowns need no rows
    inverse = fit.curvature.inverse()[:size, :size]
    if not fit.fixed:
        inverse[:count] -= inverse[:count].mean(axis=0)
    middle = sandwich_middle(fit)
    if middle is not None:
        spread, response = inverse @ (middle.matrix() if len(extra) else middle.bent.of_ratings()), inverse
    else:
        spread, response = inverse.copy(), np.eye(size)
        if not fit.fixed:
            spread[:, :count] -= spread[:, :count].mean(axis=1, keepdims=True)
    plain = inverse[:count, :count]
    if not fit.fixed:
        plain = plain - plain.mean(axis=1, keepdims=True)
    if len(extra):
        shared = inverse[np.ix_(np.arange(count), extra)]
        plain = plain - shared @ np.linalg.solve(inverse[np.ix_(extra, extra)], shared.T)
    return Errors(
        fit,
        spread[:count],
        response[:count],
        plain,
        advantage_sd=sqrt(float(spread[count] @ response[count])) * fit.unit if count in extra else None,
        draw_rate=draw_rate(fit) if middle is None else middle.draw_rate,
    )


def _superiority(fit: Fit, one: int, other: int, sd: float) -> float:
    gap = float(fit.ratings[one] - fit.ratings[other])
    return NormalDist().cdf(gap / sd) if sd else (1 + (gap > 0) - (gap < 0)) / 2


def _near(fit: Fit, place: int) -> Sequence[int]:
    """Return the engine and then its most frequent opponents. Anchors are left out."""
    pairs = fit.pairs
    mine = (pairs.white == place) | (pairs.black == place)
    met = np.bincount(pairs.white[mine] + pairs.black[mine] - place, pairs.games[mine], len(fit.names))
    met[list(fit.fixed)] = 0
    close = np.argsort(-met, kind="stable")[: min(_CLOSE_OPPONENTS, int((met > 0).sum()))]
    return [place, *close.tolist()]


# The fit of a pool with its displayed ratings and errors, for matrices and pairings.

_MOST_OVERFITTING = 2.0  # factor (chosen here); with fewer than two games per fitted number the prior dominates


@dataclass(frozen=True, slots=True, eq=False)
class ShownRatings:
    """The ratings as displayed. `point` is the number of displayed points per point of the fit."""

    ratings: Vector
    point: float


@dataclass(frozen=True, slots=True, eq=False)
class FitBasis:
    """The fit of one pool with displayed ratings and errors. Only the engines in `wanted` have errors."""

    fit: Fit
    shown: ShownRatings
    errors: Errors | ErrorsOnRequest
    wanted: frozenset[str]

    @property
    def overfitting(self) -> float:
        """Return the factor that corrects variances, which are too small if many numbers are fitted to few games.

        It is games / (games - fitted numbers) (MacKinnon and White 1985: HC1; for likelihoods Bartlett 1937), but at
        most `_MOST_OVERFITTING`.
        """
        games = float(self.fit.pairs.games.sum())
        fitted = len(self.fit.problem.free) - self.fit.level_free
        return games / max(games - fitted, games / _MOST_OVERFITTING)
