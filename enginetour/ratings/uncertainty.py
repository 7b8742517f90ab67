"""How sure a likelihood list is: covariance, errors, likelihood of superiority, bounds where few games speak.

Draws narrow the errors, so the inverse curvature is wrapped around the variance games with draws really have (the
sandwich C = H^-1 V H^-1). Errors are against the pool's average, or against the anchors where there are some.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from statistics import NormalDist

import numpy as np

from enginetour.ratings.likelihood import Fit, curvature, expected_points
from enginetour.ratings.pairs import Pairs, Vector

NORMAL_95 = 1.959964  # 97.5 % point of the normal distribution
FEW_GAMES = 20  # below it the normal approximation of an error is lopsided
EXTREME_SCORE = 0.05  # of the score, from either end: the same
CLOSE_OPPONENTS = 50  # re-rated one by one in a bound; further ones follow them linearly
LONGEST_STRIDE = 2.0  # natural units in one step to a bound, 347 Elo
BOUND_DONE = 1e-9  # natural units, and log likelihood
MOST_STRIDES = 200  # a bound further away than 400 natural units is none


@dataclass(frozen=True, eq=False)
class Errors:
    """Square arrays over the fit's names in natural units; rows of anchors are 0.

    `covariance` has the sandwich, `inverse` is the plain inverse curvature with the advantage held fast.
    """

    fit: Fit
    covariance: Vector
    inverse: Vector
    advantage_sd: float | None  # points; None for a given advantage
    draw_rate: float  # expected between equals

    @cached_property
    def sd(self) -> Vector:
        """Of each rating in points, against the pool's average or the anchors."""
        return np.asarray(np.sqrt(np.diag(self.covariance).clip(0.0)) * self.fit.unit, dtype=np.float64)

    def difference_sd(self, one: int, other: int) -> float:
        """Of the difference of two ratings, in points; places in the fit's names."""
        cov = self.covariance
        return sqrt(max(0.0, cov[one, one] + cov[other, other] - 2 * cov[one, other])) * self.fit.unit

    def los(self, one: int, other: int) -> float:
        """Likelihood that `one` is the stronger of the two; certain between anchors."""
        gap, sd = float(self.fit.ratings[one] - self.fit.ratings[other]), self.difference_sd(one, other)
        return NormalDist().cdf(gap / sd) if sd else (1 + (gap > 0) - (gap < 0)) / 2

    def bounds(self, place: int) -> tuple[float, float] | None:
        """How far down and up the 95 % profile likelihood reaches from the rating, in points; None without end."""
        return _profile(self, place)


def errors_of(fit: Fit) -> Errors:
    """All errors at once: one inversion and two products, about a second for 2 000 engines."""
    pairs, count = fit.pairs, len(fit.names)
    adv = fit.advantage / fit.unit
    chance, weights = expected_points(pairs, fit.ratings / fit.unit, adv)
    hessian = curvature(pairs, weights, fit.precision, level_free=fit.level_free)
    free = [place for place in range(count + fit.advantage_fitted) if place not in fit.fixed]
    inverse = np.zeros_like(hessian)
    inverse[np.ix_(free, free)] = np.linalg.inv(hessian[np.ix_(free, free)])

    draw_rate = draw_rate_of_equals(pairs, chance)
    spread = pairs.games * (chance * (1 - chance) - expected_draws(chance, draw_rate) / 4)
    variance = curvature(pairs, spread, fit.precision, level_free=False)
    if not fit.fixed:
        inverse[:count] -= inverse[:count].mean(axis=0)
    covariance = inverse @ variance @ inverse.T
    plain = inverse[:count, :count]
    if not fit.fixed:
        plain = plain - plain.mean(axis=1, keepdims=True)
    if fit.advantage_fitted:
        plain = plain - np.outer(inverse[:count, count], inverse[:count, count]) / inverse[count, count]
    advantage_sd = sqrt(covariance[count, count]) * fit.unit if fit.advantage_fitted else None
    return Errors(fit, covariance[:count, :count], plain, advantage_sd, draw_rate)


def expected_draws(chance: Vector, draw_rate: float) -> Vector:
    """Draw probability at each expected score, by the relation of Davidson 1970; `draw_rate` is that of equals."""
    even = chance * (1 - chance)
    if not draw_rate:
        return np.zeros_like(even)
    bend = (1 - 2 * draw_rate) / draw_rate**2
    draws: Vector = 4 * even / (1 + np.sqrt(np.maximum(0.0, 1 + 4 * bend * even)))
    return draws


def draw_rate_of_equals(pairs: Pairs, chance: Vector) -> float:
    """The rate at which the expected number of draws is the one counted; bisection with secants (Illinois).

    Where every game was drawn a win and a loss are imagined: else all ratings would be certain.
    """
    games, target = float(pairs.games.sum()), float(pairs.draws.sum())
    if target == games:
        target = games * games / (games + 2)

    def excess(rate: float) -> float:
        return float(pairs.games @ expected_draws(chance, rate)) - target

    low, high, below, above = 0.0, 1.0, -target, excess(1.0)
    if target <= 0 or above <= 0:
        return 0.0 if target <= 0 else 1.0
    side = 0
    while high - low > 1e-13:
        rate = (low * above - high * below) / (above - below)
        found = excess(rate)
        if abs(found) <= 1e-12 * games:
            return rate
        if found > 0:
            high, above, below, side = rate, found, below / 2 if side > 0 else below, 1
        else:
            low, below, above, side = rate, found, above / 2 if side < 0 else above, -1
    return (low + high) / 2


@dataclass(frozen=True, eq=False)
class _Star:
    """The log likelihood near the maximum: an engine's own games exactly, all others by their curvature.

    `moves` turns the deviations of the close ones (the engine first) into those of both ends of its games.
    """

    points: Vector
    games: Vector
    gaps: Vector
    moves: Vector
    rest: Vector

    def at(self, off: Vector) -> tuple[float, Vector, Vector]:
        """Fall of the log likelihood, its gradient and negative Hessian at deviations `off`."""
        start = 1 / (1 + np.exp(-self.gaps))
        moved = self.gaps + self.moves @ off
        chance = 1 / (1 + np.exp(-np.clip(moved, -700, 700)))
        fall = self.games @ (np.logaddexp(0, self.gaps) + start * (moved - self.gaps) - np.logaddexp(0, moved))
        gradient = self.moves.T @ (self.games * (start - chance)) - self.rest @ off
        weights = self.games * chance * (1 - chance)
        return float(fall - off @ self.rest @ off / 2), gradient, self.rest + (self.moves.T * weights) @ self.moves


def _star(errors: Errors, place: int) -> tuple[_Star, Vector]:
    """The engine's games seen from its side, and the direction of its rating against the average or anchor."""
    fit, pairs = errors.fit, errors.fit.pairs
    mine = (pairs.white == place) | (pairs.black == place)
    as_white = pairs.white[mine] == place
    sign = np.where(as_white, 1.0, -1.0)
    others = np.where(as_white, pairs.black[mine], pairs.white[mine])
    games = pairs.games[mine]
    gaps = sign * (fit.ratings[pairs.white[mine]] - fit.ratings[pairs.black[mine]] + fit.advantage) / fit.unit
    met = np.bincount(others, games, len(fit.names))
    met[list(fit.fixed)] = 0
    close = np.argsort(-met, kind="stable")[: min(CLOSE_OPPONENTS, int((met > 0).sum()))]
    near = np.append([place], close).astype(np.intp)
    inside = errors.inverse[np.ix_(near, near)]
    direction = np.zeros(len(near))
    direction[0] = 1.0
    if len(near) == len(fit.names) and not fit.fixed:  # everybody is close: the average must be held by hand
        inside = inside + np.trace(inside) / len(near) ** 2
        direction -= 1 / len(near)
    whole = np.linalg.inv(inside)
    moves = -(errors.inverse[np.ix_(others, near)] @ whole)
    known = {int(name): column for column, name in enumerate(near)}
    for row, other in enumerate(others.tolist()):
        if other in known:
            moves[row] = 0.0
            moves[row, known[other]] = -1.0
    moves[:, 0] += 1.0
    chance = 1 / (1 + np.exp(-gaps))
    rest = whole - (moves.T * (games * chance * (1 - chance))) @ moves
    return _Star(pairs.points[mine], games, gaps, moves, rest), direction


def _profile(errors: Errors, place: int) -> tuple[float, float] | None:
    """Both ends, by the steps of Venzon and Moolgavkar 1988.

    Draws narrow the bounds as they narrow the errors; but for an engine near 0 or 100 %, whose own few
    draws say little.
    """
    fit = errors.fit
    star, direction = _star(errors, place)
    score = fit.pairs.scored[place] / fit.pairs.played[place] if fit.pairs.played[place] else 0.5
    extreme = not EXTREME_SCORE <= score <= 1 - EXTREME_SCORE
    narrowed = 1.0 if extreme else float(errors.covariance[place, place] / errors.inverse[place, place])
    drop = NORMAL_95**2 / 2 * narrowed
    down, up = (_reach(star, direction, drop, side) for side in (-1.0, 1.0))
    return None if down is None or up is None else (-down * fit.unit, up * fit.unit)


def _reach(star: _Star, direction: Vector, drop: float, side: float) -> float | None:
    """Furthest deviation along `direction` where the likelihood has fallen by `drop`; natural units."""
    off = np.zeros(len(direction))
    for _ in range(MOST_STRIDES):
        fall, gradient, hessian = star.at(off)
        home, away = np.linalg.solve(hessian, np.stack((gradient, direction), axis=1)).T
        room = 2 * (fall + drop + gradient @ home / 2) / (direction @ away)
        stride = home + side * sqrt(max(0.0, float(room))) * away
        if np.abs(stride).max() < BOUND_DONE and abs(fall + drop) < BOUND_DONE:
            return float(direction @ off)
        off += stride * min(1.0, LONGEST_STRIDE / max(float(np.abs(stride).max()), LONGEST_STRIDE))
    return None
