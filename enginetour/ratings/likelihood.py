"""Ratings of greatest likelihood, by Newton's method, so chains of versions are exact too.

Everything in and out is in points of the scale (400: Elo); inside, points times ln10/scale. White's gap is
R_w + adv - R_b; the models say what follows from it. Points of davidson and raokupper are not Elo points:
`Fit.point` says what one is worth. Names are sorted first: the order of games never shows, not even in the last bit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite, log
from typing import Literal

import numpy as np

from enginetour.errors import InputRefused
from enginetour.ratings.connectivity import groups
from enginetour.ratings.curvature import Curvature, curvature
from enginetour.ratings.models import MODELS, Model, Slopes, Tally
from enginetour.ratings.pairs import Counts, Index, Pairs, Vector, pairs_of
from enginetour.ratings.priors import Belief, GaussianPrior, Prior, VirtualDraws, belief_of, with_virtual_draws

__all__ = ["ELO_SCALE", "Fit", "GaussianPrior", "ModelName", "Undetermined", "fit"]

ModelName = Literal["logistic", "davidson", "raokupper"]

ELO_SCALE = 400.0  # Elo 1978: points between engines at ten to one
STEP_LIMIT = 4.0  # natural units, 695 Elo, by which a step may change a gap: from far away Newton overshoots
STEP_DONE = 1e-8  # natural units; Newton has squared its error once more by then
STEP_ROUNDING = 1e-12  # natural units: what double precision leaves of a step in large pools
RESIDUAL_DONE = 1e-9  # points per engine, ten times better than promised
UPHILL = 1e-9  # share of the log likelihood that is rounding
RUNAWAY = 30.0  # natural units: e^30 to one is no White advantage but a missing bound
DRAWISH = 12.0  # natural units of a draw parameter: all but one in 100,000 games of equals are drawn
MOST_STEPS = 1000  # far above any pool that has a maximum
PATIENCE = 15  # steps by conjugate gradients; a mesh takes 9, a chain of 3,000 versions 129
IDENTIFIED = 1e-9  # share of the curvature of advantage and draw parameter that ratings may not explain away
ONE_EACH = Tally(np.ones(1), np.zeros(1), np.ones(1))  # a win and a loss between equals: they bound the draws


class Undetermined(InputRefused):
    """The games have no likelihood maximum at finite ratings."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What is climbed, likelihood and prior, over the `free` unknowns: ratings, then advantage, then draw parameter."""

    pairs: Pairs
    model: Model
    belief: Belief
    free: Index
    level_free: bool
    imagined: bool  # ONE_EACH counts too

    def without_draws(self) -> Problem:
        """The same with the draw parameter held."""
        return replace(self, free=self.free[self.free <= len(self.pairs.names)])

    def gaps(self, at: Vector) -> Vector:
        """White's gap in each row."""
        return np.asarray(at[self.pairs.white] - at[self.pairs.black] + at[-2])

    def height(self, at: Vector) -> float:
        """Log likelihood plus log prior, without constants."""
        imagined = self.model.height(ONE_EACH, np.zeros(1), at[-1]) if self.imagined else 0.0
        return self.model.height(self.pairs, self.gaps(at), at[-1]) + self.belief.height(at[:-2]) + imagined

    def slopes(self, at: Vector) -> tuple[Vector, Curvature]:
        """Points scored beyond expectation, per engine and for White, the prior's pull with them; the curvature."""
        slopes = self.model.slopes(self.pairs, self.gaps(at), at[-1])
        if self.imagined:
            more = self.model.slopes(ONE_EACH, np.zeros(1), at[-1])
            draw = (slopes.draw_score + more.draw_score, slopes.draw_curve + more.draw_curve)
            slopes = Slopes(slopes.score, slopes.curve, slopes.cross, *draw)
        engines = self.pairs.per_engine(slopes.score, -slopes.score) + self.belief.pull(at[:-2])
        gradient = np.append(engines, (slopes.score.sum(), slopes.draw_score))
        return gradient, curvature(self.pairs, slopes, self.belief, at[:-2], self.free, level_free=self.level_free)

    def uphill(self, at: Vector, step: Vector, here: float) -> tuple[Vector, float]:
        """The step from height `here`, limited and halved until it leads uphill but for rounding; the new height."""
        bent = max(
            np.abs(self.gaps(step)).max(initial=0.0), abs(step[-1]), np.abs(step).max() * bool(self.belief.draws)
        )
        step = step * (STEP_LIMIT / max(float(bent), STEP_LIMIT))
        while not (there := self.height(at + step)) >= here - UPHILL * (1 + abs(here)):
            step = step / 2
        return step, there


@dataclass(frozen=True, eq=False)
class Fit:
    """The maximum. Arrays run over `names`; `at` holds all unknowns in natural units."""

    pairs: Pairs
    problem: Problem
    at: Vector
    ratings: Vector
    advantage: float
    advantage_fitted: bool
    draw: float | None  # nu, or drawElo; None where the model has none
    draw_fitted: bool
    fixed: frozenset[int]
    scale: float
    residual: float  # largest distance from the score equations, points per engine
    steps: int

    @property
    def names(self) -> tuple[str, ...]:
        """Sorted."""
        return self.pairs.names

    @property
    def model(self) -> str:
        """Its name."""
        return self.problem.model.name

    @property
    def level_free(self) -> bool:
        """Neither anchors nor a prior say where the ratings lie."""
        return self.problem.level_free

    @property
    def unit(self) -> float:
        """Points of the scale in one natural unit."""
        return self.scale / log(10)

    @property
    def point(self) -> float:
        """Elo points that one point of the ratings is worth near equality."""
        return self.problem.model.point(float(self.at[-1]))

    @cached_property
    def curvature(self) -> Curvature:
        """At the maximum."""
        return self.problem.slopes(self.at)[1]

    def by_name(self) -> dict[str, float]:
        """The ratings in points."""
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
) -> Fit:
    """The most likely ratings, centred on 0 unless anchors or a prior with means give the level.

    `draw` is nu or drawElo in points. `names` adds engines that rest on the prior alone; `start` is a fit of nearly
    the same games to begin from. Undetermined when there is no finite maximum: several groups and no prior, or a
    White advantage that the strengths explain as well or that nothing bounds. ValueError for numbers that cannot be.
    """
    pairs, chosen = pairs_of(counts, names), MODELS[model]
    held = {name: value for name, value in sorted((anchors or {}).items()) if name in pairs.names}
    fitted = advantage == "fit"
    given = 0.0 if advantage == "fit" else advantage
    if not all(map(isfinite, (given, *held.values()))) or not 0 < scale < inf:
        raise ValueError("anchors, advantage and scale are finite numbers, the scale above 0")
    if draw != "fit" and not 0 < draw < inf:
        raise ValueError("a draw parameter is a finite number above 0")
    unit, count = scale / log(10), len(pairs.names)
    counted = with_virtual_draws(pairs, prior.weight) if isinstance(prior, VirtualDraws) else pairs
    belief = belief_of(pairs.names, prior, unit)
    _refuse_unlinked(counted, {*held, *(name for name, own in zip(pairs.names, belief.bound(), strict=True) if own)})
    games, drawn = float(counted.games.sum()), float(counted.draws.sum())
    draw_fitted = chosen.draws and draw == "fit" and drawn > 0
    fixed = np.searchsorted(pairs.names, list(held)) if held else np.zeros(0, dtype=np.intp)
    extra = [count] * fitted + [count + 1] * draw_fitted
    free = np.append(np.setdiff1d(np.arange(count), fixed), extra).astype(np.intp)
    level_free = not held and not belief.draws and (belief.floating or not belief.weights.any())
    problem = Problem(counted, chosen, belief, free, level_free, draw_fitted and drawn == games)
    rate = games / (games + 2) if drawn == games else drawn / games  # as ONE_EACH has it
    at = np.append(belief.about, (given / unit, chosen.guess(rate) if draw == "fit" else chosen.taken(draw, unit)))
    if held:
        at[:count] = np.mean(list(held.values())) / unit
    if start is not None:
        at = _begun(at, pairs.names, start, free, model)
    at[fixed] = [value / unit for value in held.values()]
    if fitted and not _identified(ahead := problem.without_draws(), ahead.slopes(at)[1]):
        raise Undetermined(
            "White's advantage does not show apart from the strengths", step="give the advantage as a number"
        )
    problem, at, residual, steps = summit(problem, at)
    ratings = at[:count] * unit
    ratings[fixed] = list(held.values())  # to the last bit, whatever the unit did to them
    return Fit(
        pairs=pairs,
        problem=problem,
        at=at,
        ratings=ratings,
        advantage=float(at[-2]) * unit if fitted else given,
        advantage_fitted=fitted,
        draw=chosen.told(float(at[-1]), unit) if chosen.draws else None,
        draw_fitted=draw_fitted,
        fixed=frozenset(fixed.tolist()),
        scale=scale,
        residual=residual,
        steps=steps,
    )


def summit(problem: Problem, at: Vector) -> tuple[Problem, Vector, float, int]:
    """As `climb`, with a win and a loss imagined where draws are bounded by nothing else.

    Without enough decided games gaps and draw parameter may grow together for ever: A drew and lost against B.
    """
    try:
        return problem, *climb(problem, at)
    except Undetermined:
        if problem.imagined or len(problem.pairs.names) + 1 not in problem.free:
            raise
    problem = replace(problem, imagined=True)
    return problem, *climb(problem, at)


def climb(problem: Problem, at: Vector) -> tuple[Vector, float, int]:
    """Newton's method: the maximum, its residual and the steps it took. Undetermined when there is none."""
    count = len(problem.pairs.names)
    fitted = count in problem.free
    height = problem.height(at)
    gradient, bent = problem.slopes(at)
    for steps in range(1, MOST_STEPS + 1):
        try:
            step, height = problem.uphill(at, bent.solve(gradient, dense=steps > PATIENCE), height)
        except np.linalg.LinAlgError:
            break
        at = at + step
        if problem.level_free:
            at[:-2] -= at[:-2].mean()
        if (fitted and abs(at[-2]) > RUNAWAY) or (count + 1 in problem.free and at[-1] > DRAWISH):
            break
        gradient, bent = problem.slopes(at)
        residual, moved = float(np.abs(gradient[problem.free]).max(initial=0.0)), float(np.abs(step).max())
        if moved < STEP_DONE and (residual < RESIDUAL_DONE or moved < STEP_ROUNDING):
            if not _identified(problem, bent):  # so far out that nothing moves any more
                break
            return at, residual, steps
    raise Undetermined(
        "these games put no bound on White's advantage" if fitted else "these games bound no ratings",
        step="give the advantage as a number" if fitted else "use a prior",
    )


def _begun(at: Vector, names: tuple[str, ...], start: Fit, free: Index, model: str) -> Vector:
    """An earlier maximum as the beginning; engines it does not know keep theirs."""
    known = dict(zip(start.names, start.at[:-2].tolist(), strict=True))
    begun = at.copy()
    begun[:-2] = [known.get(name, own) for name, own in zip(names, at[:-2].tolist(), strict=True)]
    if start.advantage_fitted and len(names) in free:
        begun[-2] = start.at[-2]
    if start.draw_fitted and len(names) + 1 in free and start.model == model:
        begun[-1] = start.at[-1]
    return begun


def _refuse_unlinked(pairs: Pairs, believed: Collection[str]) -> None:
    """Finite ratings on one level need one group; anchors and engines with a prior count as linked."""
    met = {name for name, games in zip(pairs.names, pairs.played, strict=True) if games}
    if met <= set(believed):
        found = 1 + len(set(pairs.names) - met - set(believed))
    else:
        found = len(groups(pairs, believed)) + len(set(pairs.names) - met - set(believed))
    if found > 1:
        raise Undetermined(f"no finite ratings: {found} groups that do not reach each other", step="use a prior")


def _identified(problem: Problem, bent: Curvature) -> bool:
    """What remains of the curvature in advantage and draw parameter when the ratings follow them must be something."""
    count = len(problem.pairs.names)
    extra, inner = problem.free[problem.free >= count], bent.held(problem.free[problem.free < count])
    rest = np.zeros((len(extra), len(extra)))
    own = np.zeros(len(extra))
    for row, place in enumerate(extra.tolist()):
        unit = np.zeros(count + 2)
        unit[place] = 1.0
        column = bent.times(unit)
        own[row] = column[place]
        try:
            followed = unit - inner.solve_exactly(column)
        except np.linalg.LinAlgError:
            return False
        rest[row] = bent.times(followed)[extra]
    if not (own > 0).all():
        return not len(extra)
    return bool(np.linalg.eigvalsh(rest / np.sqrt(np.outer(own, own))).min(initial=1.0) > IDENTIFIED)
