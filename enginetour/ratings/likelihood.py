"""Ratings of greatest likelihood: the logistic model, a draw counting as half a win and half a loss (Ordo's estimator).

P(White scores) = 1/(1+10^(-(R_w + adv - R_b)/scale)). Everything in and out is in points of the scale (400: Elo);
inside, points times ln10/scale. Newton's method on the dense system, so chains of versions are exact too.
Names are sorted first: the order of games never shows, not even in the last bit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf, isfinite, log
from typing import Literal

import numpy as np

from enginetour.errors import InputRefused
from enginetour.ratings.connectivity import groups
from enginetour.ratings.pairs import Counts, Index, Pairs, Vector, pairs_of

Spread = float | Mapping[str, float]

ELO_SCALE = 400.0  # Elo 1978: points between engines at ten to one
STEP_LIMIT = 4.0  # natural units, 695 Elo: a Newton step from far away overshoots
STEP_DONE = 1e-8  # natural units; Newton has squared its error once more by then
STEP_ROUNDING = 1e-12  # natural units: what double precision leaves of a step in large pools
RESIDUAL_DONE = 1e-9  # points per engine, ten times better than promised
UPHILL = 1e-9  # share of the log likelihood that is rounding
RUNAWAY = 30.0  # natural units: e^30 to one is no White advantage but a missing bound
MOST_STEPS = 1000  # far above any pool that has a maximum
IDENTIFIED = 1e-9  # share of the advantage's curvature that ratings may not explain away


class Undetermined(InputRefused):
    """The games have no likelihood maximum at finite ratings."""


@dataclass(frozen=True, slots=True)
class GaussianPrior:
    """What is believed before any game, in points; one for all or by name. Means make loose anchors.

    `mean` None: about the pool's own average, wherever that lies. Of a name not in `sd` nothing is believed.
    """

    sd: Spread = 350.0
    mean: Spread | None = None

    def sd_of(self, name: str) -> float:
        """Infinite where nothing is believed."""
        return self.sd.get(name, inf) if isinstance(self.sd, Mapping) else self.sd

    def mean_of(self, name: str) -> float | None:
        """None: the pool's average."""
        return self.mean.get(name, 0.0) if isinstance(self.mean, Mapping) else self.mean


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


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """What is climbed, likelihood and prior, over the `free` unknowns: ratings, then the advantage."""

    pairs: Pairs
    about: Vector
    precision: Vector
    free: Index
    level_free: bool

    def height(self, at: Vector) -> float:
        """Log likelihood plus log prior, without constants."""
        pairs, ratings = self.pairs, at[:-1]
        gap = ratings[pairs.white] - ratings[pairs.black] + at[-1]
        off = ratings - self.about
        return float(pairs.points @ gap - pairs.games @ np.logaddexp(0, gap) - off @ self.precision @ off / 2)

    def gradient(self, at: Vector) -> Vector:
        """Points scored beyond expectation, per engine and for White; the prior pulls in the same unit."""
        pairs = self.pairs
        surprise = pairs.points - pairs.games * expected_points(pairs, at[:-1], at[-1])[0]
        pull = self.precision @ (self.about - at[:-1])
        return np.append(pairs.per_engine(surprise, -surprise) + pull, surprise.sum())[self.free]

    def newton(self, at: Vector, here: float) -> tuple[Vector, float]:
        """The step from height `here`, limited and halved until it leads uphill but for rounding; the new height."""
        weights = expected_points(self.pairs, at[:-1], at[-1])[1]
        hessian = curvature(self.pairs, weights, self.precision, level_free=self.level_free)
        step = np.zeros(len(at))
        step[self.free] = np.linalg.solve(hessian[np.ix_(self.free, self.free)], self.gradient(at))
        step *= STEP_LIMIT / max(float(np.abs(step).max()), STEP_LIMIT)
        while (there := self.height(at + step)) < here - UPHILL * (1 + abs(here)):
            step /= 2
        return step, there


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
    ValueError for numbers that are not finite.
    """
    pairs = pairs_of(counts, names)
    held = {name: value for name, value in sorted((anchors or {}).items()) if name in pairs.names}
    fitted = advantage == "fit"
    given = 0.0 if advantage == "fit" else advantage
    if not all(map(isfinite, (given, *held.values()))) or not 0 < scale < inf:
        raise ValueError("anchors, advantage and scale are finite numbers, the scale above 0")
    unit, count = scale / log(10), len(pairs.names)
    about, precision = _prior_terms(pairs.names, prior, unit)
    _refuse_unlinked(pairs, {*held, *(name for name, own in zip(pairs.names, np.diag(precision), strict=True) if own)})
    fixed = np.searchsorted(pairs.names, list(held)) if held else np.zeros(0, dtype=np.intp)
    free = np.append(np.setdiff1d(np.arange(count), fixed), [count] if fitted else []).astype(np.intp)
    problem = _Problem(pairs, about, precision, free, not held and (prior is None or prior.mean is None))
    at = np.append(about if not held else np.full(count, np.mean(list(held.values())) / unit), given / unit)
    at[fixed] = [value / unit for value in held.values()]
    if fitted:
        _refuse_hidden_advantage(problem, at)
    height = problem.height(at)
    for steps in range(1, MOST_STEPS + 1):
        try:
            step, height = problem.newton(at, height)
        except np.linalg.LinAlgError:
            break
        at = at + step
        if problem.level_free:
            at[:-1] -= at[:-1].mean()
        if fitted and abs(at[-1]) > RUNAWAY:
            break
        residual, moved = float(np.abs(problem.gradient(at)).max(initial=0.0)), float(np.abs(step).max())
        if moved < STEP_DONE and (residual < RESIDUAL_DONE or moved < STEP_ROUNDING):
            ratings = at[:-1] * unit
            ratings[fixed] = list(held.values())  # to the last bit, whatever the unit did to them
            return Fit(
                pairs=pairs,
                ratings=ratings,
                advantage=float(at[-1]) * unit if fitted else given,
                advantage_fitted=fitted,
                fixed=frozenset(fixed.tolist()),
                precision=precision,
                scale=scale,
                level_free=problem.level_free,
                residual=residual,
                steps=steps,
            )
    raise Undetermined(
        "these games put no bound on White's advantage" if fitted else "these games bound no ratings",
        step="give the advantage as a number" if fitted else "use a prior",
    )


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


def _prior_terms(names: tuple[str, ...], prior: GaussianPrior | None, unit: float) -> tuple[Vector, Vector]:
    """Means and precision matrix in natural units; about a floating mean the precision is blind to the level."""
    if prior is None:
        return np.zeros(len(names)), np.zeros((len(names), len(names)))
    sd = np.array([prior.sd_of(name) for name in names], dtype=np.float64) / unit
    mean = np.array([prior.mean_of(name) or 0.0 for name in names], dtype=np.float64) / unit
    if not (sd > 0).all() or not np.isfinite(mean).all():
        raise ValueError("a prior has finite means and a spread above 0")
    weights = sd**-2
    precision = np.diag(weights)
    if prior.mean is None and weights.any():
        precision -= np.outer(weights, weights / weights.sum())
    return mean, precision


def _refuse_unlinked(pairs: Pairs, believed: Collection[str]) -> None:
    """Finite ratings on one level need one group; anchors and engines with a prior count as linked."""
    met = {name for name, games in zip(pairs.names, pairs.played, strict=True) if games}
    if met <= set(believed):
        found = 1 + len(set(pairs.names) - met - set(believed))
    else:
        found = len(groups(pairs, believed)) + len(set(pairs.names) - met - set(believed))
    if found > 1:
        raise Undetermined(f"no finite ratings: {found} groups that do not reach each other", step="use a prior")


def _refuse_hidden_advantage(problem: _Problem, at: Vector) -> None:
    """What remains of the advantage's curvature when the ratings follow it must be something."""
    pairs, free = problem.pairs, problem.free
    hessian = curvature(
        pairs, expected_points(pairs, at[:-1], at[-1])[1], problem.precision, level_free=problem.level_free
    )[np.ix_(free, free)]
    column, own = hessian[:-1, -1], hessian[-1, -1]
    if own - column @ np.linalg.solve(hessian[:-1, :-1], column) <= IDENTIFIED * own:
        raise Undetermined(
            "White's advantage does not show apart from the strengths", step="give the advantage as a number"
        )
