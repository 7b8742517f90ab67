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

from enginetour.ratings.climb import Elsewhere, Problem, Undetermined, by_scores, identified, summit
from enginetour.ratings.connectivity import groups
from enginetour.ratings.curvature import Curvature
from enginetour.ratings.models import MODELS
from enginetour.ratings.openingpairs import Dependence
from enginetour.ratings.pairs import Counts, Index, Pairs, Vector, pairs_of
from enginetour.ratings.priors import GaussianPrior, Prior, VirtualDraws, belief_of, with_virtual_draws

__all__ = ["ELO_SCALE", "Fit", "GaussianPrior", "ModelName", "Undetermined", "fit"]

ModelName = Literal["logistic", "davidson", "raokupper"]

ELO_SCALE = 400.0  # Elo 1978: points between engines at ten to one


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
    dependence: Dependence | None = None  # of games that share an opening; None: all are taken as independent

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
    def lean(self) -> Problem:
        """The problem in the fewest rows: colours are told apart only where an advantage or opening pairs need it."""
        return self.problem if self.dependence is not None else self.problem.folded(self.at)

    @cached_property
    def curvature(self) -> Curvature:
        """At the maximum, of the rows of `lean`."""
        return self.lean.slopes(self.at)[1]

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
    elsewhere: Elsewhere | None = None,
) -> Fit:
    """The most likely ratings, centred on 0 unless anchors or a prior with means give the level.

    `draw` is nu or drawElo in points. `names` adds engines that rest on the prior alone; `start` is a fit of nearly
    the same games to begin from, `elsewhere` what other pools say of White's advantage and draws. Undetermined when
    there is no finite maximum: several groups and no prior, or a White advantage that the strengths explain as well
    or that nothing bounds. ValueError for numbers that cannot be.
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
    draw_fitted = chosen.draws and draw == "fit" and (drawn > 0 or (elsewhere is not None and elsewhere.draws))
    fixed = np.searchsorted(pairs.names, list(held)) if held else np.zeros(0, dtype=np.intp)
    extra = [count] * fitted + [count + 1] * draw_fitted
    free = np.append(np.delete(np.arange(count), fixed), extra).astype(np.intp)
    level_free = not held and not belief.draws and (belief.floating or not belief.weights.any())
    imagined = draw_fitted and drawn == games and elsewhere is None
    problem = Problem(counted, chosen, belief, free, level_free, imagined, elsewhere)
    rate = games / (games + 2) if drawn == games else drawn / games  # as ONE_EACH has it
    at = np.append(belief.about, (given / unit, chosen.guess(rate) if draw == "fit" else chosen.taken(draw, unit)))
    if held:
        at[:count] = np.mean(list(held.values())) / unit
    elif (believed := belief.weights > 0).any():  # who nothing is believed of begins among the others, not at 0
        at[:count][~believed] = np.average(belief.about[believed], weights=belief.weights[believed])
    if start is not None:
        at = _begun(at, pairs.names, start, free, model)
    at[fixed] = [value / unit for value in held.values()]
    if elsewhere is not None:
        at[-2:] = elsewhere.at
    if fitted and not identified(ahead := problem.without_draws(), ahead.slopes(at)[1]):
        raise Undetermined(
            "White's advantage does not show apart from the strengths", step="give the advantage as a number"
        )
    climbed = problem.folded(at)
    climbed, at, residual, steps = summit(climbed, by_scores(climbed, at) if start is None else at)
    problem = replace(climbed, pairs=counted)
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
