"""How sure a likelihood list is: covariance, errors, likelihood of superiority, bounds where few games speak.

davidson and raokupper know draws: C = H^-1. In the logistic model draws narrow the errors, so the inverse curvature
is wrapped around the variance games with draws really have (the sandwich C = H^-1 V H^-1), and in all models around
that of opening pairs where they are known. Errors are against the pool's average, or against the anchors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from statistics import NormalDist
from typing import Protocol

import numpy as np

from enginetour.ratings.bounds import CLOSE_OPPONENTS, EXTREME_SCORE, NORMAL_95, profile
from enginetour.ratings.likelihood import Fit
from enginetour.ratings.pairs import Vector
from enginetour.ratings.sandwich import Middle, draw_rate, middle_of

__all__ = ["EXTREME_SCORE", "FEW_GAMES", "NORMAL_95", "Errors", "ErrorsOnRequest", "Uncertain", "errors_of"]

FEW_GAMES = 20  # below it the normal approximation of an error is lopsided


class Uncertain(Protocol):
    """Errors of single engines, all places in the fit's names, all numbers in its points."""

    def sd_of(self, place: int) -> float:
        """Of a rating against the pool's average or the anchors."""

    def los(self, one: int, other: int) -> float:
        """Likelihood that `one` is the stronger of the two."""

    def bounds(self, place: int, wider: float = 1.0) -> tuple[float, float] | None:
        """How far down and up the 95 % profile likelihood reaches from the rating; None without end.

        `wider`: the variance is so many times what the curvature says, for scores that are not extreme.
        """


@dataclass(frozen=True, eq=False)
class Errors:
    """Arrays over the fit's names in natural units; rows of anchors are 0.

    The covariance is `spread` times `response` transposed: most lists ask for a few of its numbers only. `inverse` is
    the plain inverse curvature with advantage and draw parameter held fast, square.
    """

    fit: Fit
    spread: Vector
    response: Vector
    inverse: Vector
    advantage_sd: float | None  # points; None for a given advantage
    draw_rate: float  # expected between equals

    @cached_property
    def covariance(self) -> Vector:
        """All of it, square."""
        made = self.spread @ self.response.T
        return np.asarray(made + made.T) / 2  # the error of a difference has no order

    @cached_property
    def variances(self) -> Vector:
        """The diagonal of the covariance."""
        return np.asarray(np.einsum("ij,ij->i", self.spread, self.response).clip(0.0))

    @cached_property
    def sd(self) -> Vector:
        """Of each rating in points, against the pool's average or the anchors."""
        return np.asarray(np.sqrt(self.variances) * self.fit.unit)

    def sd_of(self, place: int) -> float:
        """One of `sd`."""
        return float(self.sd[place])

    def difference_sd(self, one: int, other: int) -> float:
        """Of the difference of two ratings, in points; places in the fit's names."""
        spread, response = (each[one] - each[other] for each in (self.spread, self.response))
        return sqrt(max(0.0, float(spread @ response))) * self.fit.unit

    def los(self, one: int, other: int) -> float:
        """Likelihood that `one` is the stronger of the two; certain between anchors."""
        return _superiority(self.fit, one, other, self.difference_sd(one, other))

    def bounds(self, place: int, wider: float = 1.0) -> tuple[float, float] | None:
        """How far down and up the 95 % profile likelihood reaches from the rating, in points; None without end."""
        near = _near(self.fit, place)
        narrowed = float(self.variances[place] / self.inverse[place, place])
        return profile(self.fit, near, self.inverse[:, near], narrowed * wider)


@dataclass(frozen=True, eq=False)
class ErrorsOnRequest:
    """The same, one solution of the equations for each number asked: for pools whose square arrays are too large."""

    fit: Fit
    _middle: Middle | None = field(init=False)
    _known: dict[int, float] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_middle", middle_of(self.fit))

    def sd_of(self, place: int) -> float:
        """Of a rating in points."""
        if place not in self._known:
            self._known[place] = self._sd(self._direction(place))
        return self._known[place]

    def difference_sd(self, one: int, other: int) -> float:
        """Of the difference of two ratings, in points."""
        return self._sd(self._direction(one) - self._direction(other))

    @cached_property
    def advantage_sd(self) -> float | None:
        """Of a fitted advantage in points, None for a given one."""
        place = len(self.fit.names)
        if place not in self.fit.problem.free:
            return None
        direction = np.zeros(len(self.fit.at))
        direction[place] = 1.0
        return self._sd(direction)

    def los(self, one: int, other: int) -> float:
        """Likelihood that `one` is the stronger of the two."""
        return _superiority(self.fit, one, other, self.difference_sd(one, other))

    def bounds(self, place: int, wider: float = 1.0) -> tuple[float, float] | None:
        """As `Errors.bounds`, all opponents following linearly."""
        fit, count, direction = self.fit, len(self.fit.names), self._direction(place)
        ratings = fit.problem.free[fit.problem.free < count]
        column = fit.curvature.held(ratings).solve_exactly(direction)[:count]
        if not fit.fixed:
            column = column - column.mean()
        narrowed = (self.sd_of(place) / fit.unit) ** 2 / float(column[place])
        return profile(fit, np.array([place], dtype=np.intp), column[:, None], narrowed * wider)

    def _direction(self, place: int) -> Vector:
        """Against the average, or the anchors."""
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
    """All errors at once: one inversion and a product, 0.9 s for 2 000 engines (measured)."""
    count, free = len(fit.names), fit.problem.free
    extra = free[free >= count]
    size = count + 2 if len(extra) else count  # what is held needs no rows
    inverse = fit.curvature.inverse()[:size, :size]
    if not fit.fixed:
        inverse[:count] -= inverse[:count].mean(axis=0)
    middle = middle_of(fit)
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
    """The engine itself, then the opponents it met most, anchors left out."""
    pairs = fit.pairs
    mine = (pairs.white == place) | (pairs.black == place)
    met = np.bincount(pairs.white[mine] + pairs.black[mine] - place, pairs.games[mine], len(fit.names))
    met[list(fit.fixed)] = 0
    close = np.argsort(-met, kind="stable")[: min(CLOSE_OPPONENTS, int((met > 0).sum()))]
    return [place, *close.tolist()]
