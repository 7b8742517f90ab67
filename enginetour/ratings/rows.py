"""The rows of one pool: shown ratings, errors that are honest in small samples, and what each rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import log10

from enginetour.ratings.likelihood import Fit
from enginetour.ratings.pairs import Vector
from enginetour.ratings.priors import GaussianPrior, PhantomDraws, Prior, told
from enginetour.ratings.uncertainty import (
    EXTREME_SCORE,
    FEW_GAMES,
    NORMAL_95,
    ErrorsOnRequest,
    Uncertain,
    errors_of,
)

SHARED = 6  # digits behind the point; closer ratings share a rank
DENSE_ERRORS = 4000  # engines; above, one number of a square array takes 128 MB and all of them minutes
NOT_ASKED = "error on request"


@dataclass(frozen=True, slots=True)
class Row:
    """One engine. `plus` and `minus` are the 95 % bounds' distances, None when nothing can be said; ranks per pool."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A fit as people read it. `point` is what the fit's points are multiplied with."""

    ratings: Vector
    point: float


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
    errors: Uncertain = ErrorsOnRequest(fitted) if large else errors_of(fitted)
    wanted = set(asked or ()) if large else set(fitted.names)
    level = float(ratings.mean())
    opponents = pairs.per_engine(pairs.games * ratings[pairs.black], pairs.games * ratings[pairs.white]) / pairs.played
    order = sorted(range(len(ratings)), key=lambda place: (-round(float(ratings[place]), SHARED), place))
    rank, last = 0, None
    for position, place in enumerate(order, 1):
        rating, name = round(float(ratings[place]), SHARED), fitted.names[place]
        rank, last = (rank if rating == last else position), rating
        won, drawn, lost = (int(column[place]) for column in pairs.record)
        games = won + drawn + lost
        score = (won + drawn / 2) / games
        minus, plus, remarks = _bounds(errors, fitted, place, games, score, wanted=name in wanted)
        following = order[position] if position < len(order) else None
        compared = following is not None and name in wanted and not fitted.fixed >= {place, following}
        yield Row(
            rank=rank,
            name=name,
            rating=float(ratings[place]),
            plus=None if plus is None else plus * seen.point,
            minus=None if minus is None else minus * seen.point,
            games=games,
            score=score,
            wins=won,
            draws=drawn,
            losses=lost,
            opponents=float(opponents[place]),
            performance=float(opponents[place]) + fitted.scale * log10(score / (1 - score)) if 0 < score < 1 else None,
            los=errors.los(place, following) if compared and following is not None else None,
            pool=pool,
            remarks=(*_rests_on(fitted, prior, place, score, level, seen.point), *remarks),
        )


def _bounds(
    errors: Uncertain, fitted: Fit, place: int, games: int, score: float, *, wanted: bool
) -> tuple[float | None, float | None, tuple[str, ...]]:
    """Distances down and up, and what to say about them."""
    if place in fitted.fixed:
        return None, None, ("anchor",)
    if not wanted:
        return None, None, (NOT_ASKED,)
    if games >= FEW_GAMES and EXTREME_SCORE <= score <= 1 - EXTREME_SCORE:
        return (error := NORMAL_95 * errors.sd_of(place)), error, ()
    bounds = errors.bounds(place)
    if bounds is None:
        return None, None, ("too few games",)
    return *bounds, ("few games: profile bounds" if games < FEW_GAMES else "extreme score: profile bounds",)


def _rests_on(
    fitted: Fit, prior: Prior | None, place: int, score: float, level: float, point: float
) -> tuple[str, ...]:
    """Named when only the prior holds a rating."""
    if prior is None or 0 < score < 1 or place in fitted.fixed:
        return ()
    return (f"{'unbeaten' if score else 'winless'}: rests on {told(prior, fitted.names[place], level, point)}",)
