"""The rows of one pool: shown ratings, errors that are honest in small samples, and what each rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import InitVar, dataclass, replace
from math import isnan, log10
from typing import NamedTuple

import numpy as np

from enginetour.ratings.ground import Ground, Shown
from enginetour.ratings.likelihood import Fit
from enginetour.ratings.opposition import variety
from enginetour.ratings.pairs import Vector
from enginetour.ratings.priors import GaussianPrior, PhantomDraws, Prior, told
from enginetour.ratings.uncertainty import (
    EXTREME_SCORE,
    FEW_GAMES,
    NORMAL_95,
    ErrorsOnRequest,
    errors_of,
)

SHARED = 6  # digits behind the point; closer ratings share a rank
DENSE_ERRORS = 4000  # engines; above, one number of a square array takes 128 MB and all of them minutes
OTHER_POOL = "other pool"  # of a line of an edition that is not measured from the zero point of the edition before
NOT_ASKED, ANCHOR, TOO_FEW = "error on request", "anchor", "too few games"
FEW, EXTREME = "few games: profile bounds", "extreme score: profile bounds"
_OF_BOUNDS = {NOT_ASKED, ANCHOR, TOO_FEW, FEW, EXTREME}


class _Grounded:
    """Room for the ground beside the fields: neither compared nor written out with them, but kept by `replace`."""

    __slots__ = ("ground",)
    ground: Ground | None  # None for a row that was made by hand


@dataclass(frozen=True, slots=True)
class Row(_Grounded):
    """One engine. `plus` and `minus` are the 95 % bounds' distances, None when nothing can be said; ranks per pool.

    `error` is half of what they span. `opponents_error` is the opponents' average error as in Ordo's list: an anchor
    has 0. `diversity` is how many opponents met equally often would be as mixed (exp of the entropy; Ordo's manual).
    """

    rank: int
    name: str
    rating: float
    plus: float | None
    minus: float | None
    games: int
    score: float
    wins: int
    draws: int
    losses: int
    opponents: float
    performance: float | None  # None at 0 or 100 %
    los: float | None  # against the next of the pool
    pool: int  # from 1
    remarks: tuple[str, ...] = ()
    error: float | None = None
    opponents_error: float | None = None  # None where an opponent has none
    opponent_count: int | None = None
    diversity: float | None = None
    ground: InitVar[Ground | None] = None

    def __post_init__(self, ground: Ground | None) -> None:
        object.__setattr__(self, "ground", ground)


del Row.ground  # type: ignore[misc]  # the default of the argument, which would hide the room for it


class Bounds(NamedTuple):
    """Distances down and up from a rating in the fit's points, and what to say about them."""

    minus: float | None
    plus: float | None
    remarks: tuple[str, ...] = ()


class _Told(NamedTuple):
    """The fields of a row that bounds give, in shown points."""

    plus: float | None
    minus: float | None
    error: float | None
    opponents_error: float | None


def shown(fitted: Fit, prior: Prior | None, mean: float | None) -> Shown:
    """Points near equality made Elo points about what stays where it is: the anchor, the average, the prior's mean.

    Where several anchors or means by name hold the scale fast too, the model's own points are shown.
    """
    ratings, point = fitted.ratings, fitted.point
    if not fitted.fixed and (fitted.level_free or mean is not None):
        return Shown((ratings - ratings.mean()) * point + (mean or 0.0), point)
    if isinstance(prior, GaussianPrior) and prior.mean is not None:
        centre = None if fitted.fixed or not isinstance(prior.mean, float | int) else float(prior.mean)
    elif isinstance(prior, PhantomDraws):
        centre = None if fitted.fixed else prior.about
    else:
        centre = float(ratings[next(iter(fitted.fixed))]) if len(fitted.fixed) == 1 else None
    if centre is None or point == 1:
        return Shown(ratings, 1.0)
    return Shown(centre + (ratings - centre) * point, point)


def rows_of(fitted: Fit, prior: Prior | None, pool: int, seen: Shown, asked: Collection[str] | None) -> Iterator[Row]:
    """The pool's rows, best first. In a pool too large for all errors only those `asked` for have some."""
    pairs, ratings = fitted.pairs, seen.ratings
    large = len(fitted.names) > DENSE_ERRORS
    errors = ErrorsOnRequest(fitted) if large else errors_of(fitted)
    wanted = frozenset(asked or ()) if large else frozenset(fitted.names)
    ground = Ground(fitted, seen, errors, wanted)
    bounds = bounds_in(ground)
    halves = half_widths(ground, bounds)
    around = around_opponents(fitted, halves)
    met, diversity = variety(pairs)
    level = float(ratings.mean())
    opponents = pairs.per_engine(pairs.games * ratings[pairs.black], pairs.games * ratings[pairs.white]) / pairs.played
    order = sorted(range(len(ratings)), key=lambda place: (-round(float(ratings[place]), SHARED), place))
    rank, last = 0, None
    for position, place in enumerate(order, 1):
        rating, name = round(float(ratings[place]), SHARED), fitted.names[place]
        rank, last = (rank if rating == last else position), rating
        won, drawn, lost = (int(column[place]) for column in pairs.record)
        score = (won + drawn / 2) / (won + drawn + lost)
        following = order[position] if position < len(order) else None
        compared = following is not None and name in wanted and not fitted.fixed >= {place, following}
        told = _told(ground, bounds[place], float(halves[place]), float(around[place]))
        yield Row(
            rank=rank,
            name=name,
            rating=float(ratings[place]),
            plus=told.plus,
            minus=told.minus,
            games=won + drawn + lost,
            score=score,
            wins=won,
            draws=drawn,
            losses=lost,
            opponents=float(opponents[place]),
            performance=float(opponents[place]) + fitted.scale * log10(score / (1 - score)) if 0 < score < 1 else None,
            los=errors.los(place, following) if compared and following is not None else None,
            pool=pool,
            remarks=(*_rests_on(fitted, prior, place, score, level, seen.point), *bounds[place].remarks),
            error=told.error,
            opponents_error=told.opponents_error,
            opponent_count=int(met[place]),
            diversity=float(diversity[place]),
            ground=ground,
        )


def bounded(row: Row, ground: Ground, bounds: Bounds, half: float, around: float) -> Row:
    """The row with these bounds in place of its own; `half` and `around` are nan where there is none."""
    remarks = (*(each for each in row.remarks if each not in _OF_BOUNDS), *bounds.remarks)
    return replace(row, **_told(ground, bounds, half, around)._asdict(), remarks=remarks, ground=ground)


def _told(ground: Ground, bounds: Bounds, half: float, around: float) -> _Told:
    point = ground.shown.point
    return _Told(
        plus=None if bounds.plus is None else bounds.plus * point,
        minus=None if bounds.minus is None else bounds.minus * point,
        error=None if bounds.plus is None else half,
        opponents_error=None if isnan(around) else around,
    )


def bounds_in(ground: Ground) -> list[Bounds]:
    """Of every engine, in the order of the fit's names."""
    played, scored = ground.fit.pairs.played, ground.fit.pairs.scored
    return [
        _bounds(ground, place, float(games), float(points / games))
        for place, (games, points) in enumerate(zip(played, scored, strict=True))
    ]


def half_widths(ground: Ground, bounds: list[Bounds]) -> Vector:
    """Half of what each engine's bounds span, in shown points: 0 for an anchor, nan where there are none."""
    point, fixed = ground.shown.point, ground.fit.fixed
    halves = [
        np.nan if each.plus is None or each.minus is None else (each.plus + each.minus) / 2 * point for each in bounds
    ]
    return np.array([0.0 if place in fixed else half for place, half in enumerate(halves)])


def around_opponents(fitted: Fit, halves: Vector) -> Vector:
    """The average error of each engine's opponents over its games; nan where one has none."""
    pairs = fitted.pairs
    sums = pairs.per_engine(pairs.games * halves[pairs.black], pairs.games * halves[pairs.white])
    return np.asarray(sums / pairs.played, dtype=np.float64)


def grounds_of(rows: Iterable[Row]) -> dict[int, Ground]:
    """What the pools rest on, by their number."""
    return {row.pool: row.ground for row in rows if row.ground is not None}


def _bounds(ground: Ground, place: int, games: float, score: float) -> Bounds:
    if place in ground.fit.fixed:
        return Bounds(None, None, (ANCHOR,))
    if ground.fit.names[place] not in ground.wanted:
        return Bounds(None, None, (NOT_ASKED,))
    if games >= FEW_GAMES and EXTREME_SCORE <= score <= 1 - EXTREME_SCORE:
        return Bounds(error := NORMAL_95 * ground.errors.sd_of(place), error)
    bounds = ground.errors.bounds(place, ground.overfitting)
    if bounds is None:
        return Bounds(None, None, (TOO_FEW,))
    return Bounds(*bounds, (FEW if games < FEW_GAMES else EXTREME,))


def _rests_on(
    fitted: Fit, prior: Prior | None, place: int, score: float, level: float, point: float
) -> tuple[str, ...]:
    """Named when only the prior holds a rating."""
    if prior is None or 0 < score < 1 or place in fitted.fixed:
        return ()
    return (f"{'unbeaten' if score else 'winless'}: rests on {told(prior, fitted.names[place], level, point)}",)
