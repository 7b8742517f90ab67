"""The bounds of a list at another confidence than 95 %.

A likelihood bound lies where the log likelihood has fallen by z^2/2. With every game and every belief counted
(1.96/z)^2 times it falls that far by 1.96^2/2, so the bounds at one confidence are the 95 % bounds of that tally.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

from enginetour.ratings.bounds import NORMAL_95
from enginetour.ratings.ground import Ground
from enginetour.ratings.listing import RatingList
from enginetour.ratings.pairs import Pairs
from enginetour.ratings.rows import Row, around_opponents, bounded, bounds_in, grounds_of, half_widths
from enginetour.ratings.uncertainty import ErrorsOnRequest

USUAL = 95.0  # %


def quantile(percent: float) -> float:
    """Standard deviations to either side that hold this share of a normal distribution."""
    return NORMAL_95 if percent == USUAL else NormalDist().inv_cdf((1 + percent / 100) / 2)


def at_confidence(found: RatingList, percent: float) -> RatingList:
    """The list with plus, minus and errors at `percent`; rows made by hand stay as they are."""
    if percent == USUAL:
        return found
    told: dict[str, Row] = {}
    for pool, ground in grounds_of(found.rows).items():
        wider = _stretched(ground, (quantile(percent) / NORMAL_95) ** 2)
        bounds = bounds_in(wider)
        halves = half_widths(wider, bounds)
        around = around_opponents(ground.fit, halves)
        places = {name: place for place, name in enumerate(ground.fit.names)}
        for row in found.rows:
            if row.pool == pool:
                place = places[row.name]
                told[row.name] = bounded(row, ground, bounds[place], float(halves[place]), float(around[place]))
    return replace(found, rows=tuple(told.get(row.name, row) for row in found.rows))


def _stretched(ground: Ground, wider: float) -> Ground:
    """The same with `wider` times the variance: every game and every belief counted 1/wider times."""
    fit = ground.fit
    belief, depends, beyond = fit.problem.belief, fit.dependence, fit.problem.elsewhere
    less = replace(
        fit,
        pairs=_counted(fit.pairs, 1 / wider),
        problem=replace(
            fit.problem,
            pairs=_counted(fit.problem.pairs, 1 / wider),
            belief=replace(belief, weights=belief.weights / wider, draws=belief.draws / wider),
            elsewhere=beyond
            and replace(beyond, slope=beyond.slope / wider, bend=beyond.bend / wider, spread=beyond.spread / wider),
        ),
        dependence=depends and replace(depends, paired=depends.paired / wider),
    )
    errors = ground.errors
    if isinstance(errors, ErrorsOnRequest):
        return replace(ground, errors=ErrorsOnRequest(less))
    spread, inverse = errors.spread * wider, errors.inverse * wider
    return replace(ground, errors=replace(errors, fit=less, spread=spread, inverse=inverse))


def _counted(pairs: Pairs, times: float) -> Pairs:
    return replace(pairs, wins=pairs.wins * times, draws=pairs.draws * times, losses=pairs.losses * times)
