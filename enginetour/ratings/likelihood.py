"""Ratings of greatest likelihood: the logistic model, a draw counting as half a win and half a loss (Ordo's estimator).

P(White scores) = 1/(1+10^(-(R_w + adv - R_b)/scale)). Everything in and out is in points of the scale (400: Elo);
inside, points times ln10/scale. Newton's method on the dense system, so chains of versions are exact too.
Names are sorted first: the order of games never shows, not even in the last bit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np

from enginetour.errors import InputRefused
from enginetour.ratings.connectivity import groups
from enginetour.ratings.pairs import Counts, Pairs, Vector, pairs_of

Spread = float | Mapping[str, float]

ELO_SCALE = 400.0  # Elo 1978: points between engines at ten to one
STEP_LIMIT = 4.0  # natural units, 695 Elo: a Newton step from far away overshoots
STEP_DONE = 1e-8  # natural units; Newton has squared its error once more by then
STEP_ROUNDING = 1e-12  # natural units: what double precision leaves of a step in large pools
RESIDUAL_DONE = 1e-9  # points per engine, ten times better than promised
RUNAWAY = 60.0  # natural units: exp(60) to one is no White advantage but a missing bound
MOST_STEPS = 1000  # far above any pool that has a maximum
IDENTIFIED = 1e-9  # share of the advantage's curvature that ratings may not explain away


class Undetermined(InputRefused):
    """The games have no likelihood maximum at finite ratings."""


@dataclass(frozen=True, slots=True)
class GaussianPrior:
    """What is believed before any game, in points; one for all or by name. Means make loose anchors.

    `mean` None: about the pool's own average, wherever that lies.
    """

    sd: Spread = 350.0
    mean: Spread | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The maximum. Arrays run over `names`; `precision` is the prior's part of the curvature in natural units."""

    pairs: Pairs
    ratings: Vector
    advantage: float
    advantage_fitted: bool
    fixed: frozenset[int]
    precision: Vector
    scale: float
    level_free: bool
    residual: float  # largest distance from the score equations, points per engine
    steps: int

    @property
    def names(self) -> tuple[str, ...]:
        """Sorted."""
        return self.pairs.names

    @property
    def unit(self) -> float:
        """Points of the scale in one natural unit."""
        return self.scale / log(10)

    def by_name(self) -> dict[str, float]:
        """The ratings in points."""
        return dict(zip(self.names, self.ratings.tolist(), strict=True))


def fit(
    counts: Counts | Pairs,
    *,
    prior: GaussianPrior | None = None,
    anchors: Mapping[str, float] | None = None,
    advantage: float | Literal["fit"] = 0.0,
    scale: float = ELO_SCALE,
    names: Collection[str] = (),
) -> Fit:
    """The most likely ratings, centred on 0 unless anchors or a prior with means give the level.

    Undetermined when there is no finite maximum: several groups and no prior, or a White advantage that the
    strengths explain as well or that nothing bounds. `names` adds engines that rest on the prior alone.
    """
    pairs = pairs_of(counts, names)
    anchors = {name: value for name, value in (anchors or {}).items() if name in pairs.names}
    level_free = not anchors and (prior is None or prior.mean is None)
    if prior is None:
        _refuse_unlinked(pairs, anchors)
    unit = scale / log(10)
    count = len(pairs.names)
    fixed = np.array([pairs.names.index(name) for name in anchors], dtype=np.intp)
    about, precision = _prior_terms(pairs.names, prior, unit)
    ratings = about.copy() if anchors == {} else np.full(count, np.mean(list(anchors.values())) / unit)
    ratings[fixed] = np.array(list(anchors.values())) / unit
    adv = 0.0 if advantage == "fit" else advantage / unit
    free = np.append(np.setdiff1d(np.arange(count), fixed), [count] if advantage == "fit" else []).astype(np.intp)

    current = _objective(pairs, ratings, adv, about, precision)
    for steps in range(1, MOST_STEPS + 1):
        gradient = _gradient(pairs, ratings, adv, about, precision)[free]
        hessian = curvature(pairs, expected_points(pairs, ratings, adv)[1], precision, level_free=level_free)
        step = np.zeros(count + 1)
        step[free] = _solve(hessian[np.ix_(free, free)], gradient, fitted=advantage == "fit", first=steps == 1)
        step *= min(1.0, STEP_LIMIT / max(float(np.abs(step).max()), STEP_LIMIT))
        while True:
            moved = _objective(pairs, ratings + step[:-1], adv + step[-1], about, precision)
            if moved >= current - 1e-9 * (1 + abs(current)):  # uphill but for rounding
                break
            step /= 2
        ratings, adv, current = ratings + step[:-1], adv + float(step[-1]), moved
        if level_free:
            ratings -= ratings.mean()
        if abs(adv) > RUNAWAY and advantage == "fit":
            break
        residual = float(np.abs(_gradient(pairs, ratings, adv, about, precision)[free]).max(initial=0.0))
        if np.abs(step).max() < STEP_DONE and (residual < RESIDUAL_DONE or np.abs(step).max() < STEP_ROUNDING):
            return Fit(
                pairs, ratings * unit, adv * unit, advantage == "fit", frozenset(fixed.tolist()), precision,
                scale, level_free, residual, steps,
            )  # fmt: skip
    raise Undetermined("these games put no bound on White's advantage", step="give the advantage as a number")


def expected_points(pairs: Pairs, ratings: Vector, adv: float) -> tuple[Vector, Vector]:
    """White's expected score in one game of each pair, and the curvature of all its games; natural units."""
    chance = 1 / (1 + np.exp(-np.clip(ratings[pairs.white] - ratings[pairs.black] + adv, -700, 700)))
    return chance, pairs.games * chance * (1 - chance)


def curvature(pairs: Pairs, weights: Vector, precision: Vector, *, level_free: bool) -> Vector:
    """Graph Laplacian of the weights, (N+1) square: the ratings, then the advantage; plus the prior's precision.

    A level that nothing fixes gets c 11^T/N, c the mean diagonal: the solution then has mean 0.
    """
    count = len(pairs.names)
    matrix = np.zeros((count + 1, count + 1))
    matrix[pairs.white, pairs.black] = -weights
    matrix[pairs.black, pairs.white] -= weights
    matrix[np.arange(count), np.arange(count)] = pairs.per_engine(weights, weights)
    matrix[:count, :count] += precision
    matrix[count, :count] = matrix[:count, count] = pairs.per_engine(weights, -weights)
    matrix[count, count] = weights.sum()
    if level_free:
        matrix[:count, :count] += (float(np.trace(matrix[:count, :count])) / count or 1.0) / count
    return matrix


def _gradient(pairs: Pairs, ratings: Vector, adv: float, about: Vector, precision: Vector) -> Vector:
    """Points scored beyond expectation, per engine and for White; the prior pulls in the same unit."""
    surprise = pairs.points - pairs.games * expected_points(pairs, ratings, adv)[0]
    pull = precision @ (about - ratings)
    return np.append(pairs.per_engine(surprise, -surprise) + pull, surprise.sum())


def _objective(pairs: Pairs, ratings: Vector, adv: float, about: Vector, precision: Vector) -> float:
    """Log likelihood plus log prior, without constants."""
    gap = ratings[pairs.white] - ratings[pairs.black] + adv
    off = ratings - about
    return float(pairs.points @ gap - pairs.games @ np.logaddexp(0, gap) - off @ precision @ off / 2)


def _prior_terms(names: tuple[str, ...], prior: GaussianPrior | None, unit: float) -> tuple[Vector, Vector]:
    """Means and precision matrix in natural units; about a floating mean the precision is blind to the level."""
    count = len(names)
    if prior is None:
        return np.zeros(count), np.zeros((count, count))
    sd, mean = (
        np.array([spread[name] if isinstance(spread, Mapping) else spread for name in names], dtype=np.float64) / unit
        for spread in (prior.sd, 0.0 if prior.mean is None else prior.mean)
    )
    weights = sd**-2
    precision = np.diag(weights)
    if prior.mean is None and count:
        precision -= np.outer(weights, weights / weights.sum())
    return mean, precision


def _solve(hessian: Vector, gradient: Vector, *, fitted: bool, first: bool) -> Vector:
    """The Newton step. Undetermined when the advantage does not show apart from the strengths."""
    if not len(gradient):
        return gradient
    if fitted and first:
        column = hessian[:-1, -1]
        left = hessian[-1, -1] - column @ np.linalg.solve(hessian[:-1, :-1], column)
        if left <= IDENTIFIED * hessian[-1, -1]:
            raise Undetermined(
                "White's advantage does not show apart from the strengths", step="give the advantage as a number"
            )
    return np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)


def _refuse_unlinked(pairs: Pairs, anchors: Collection[str]) -> None:
    """Without a prior, finite ratings on one level need one group; fixed anchors count as linked."""
    met = {name for name, games in zip(pairs.names, pairs.played, strict=True) if games}
    found = len(groups(pairs, anchors)) + len(set(pairs.names) - met - set(anchors))
    if found > 1:
        raise Undetermined(f"no finite ratings: {found} groups that do not reach each other", step="use a prior")
