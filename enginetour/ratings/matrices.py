"""Matrices of a rating list: LOS, rating differences, their errors, and scores for each pair of engines.

kind     cell of row and column                               blank
los      likelihood that the row is the stronger one          between anchors
diff     rating of the row less that of the column            never in a pool
errors   error of that difference at the confidence           between anchors
score    points of the row against the column                 where they have not met

The diagonal is blank, and nothing but a score is given between engines that were rated apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import erfc, sqrt
from typing import Literal

import numpy as np

from enginetour.model.errors import UsageRefused
from enginetour.ratings.pairs import Index, Pairs, Vector
from enginetour.ratings.ratinglist import DENSE_ERRORS, RatingList, fit_bases
from enginetour.ratings.uncertainty import NORMAL_95, Errors, FitBasis

MatrixName = Literal["los", "diff", "errors", "score"]

FURTHEST = 8.5  # standard deviations; what lies beyond, 1e-17, no double below 1 can tell from certainty
_STEPS = 512  # points of the table in one standard deviation: its parabolas miss by less than 1e-10
_ROWS_AT_ONCE = 32  # of a matrix of 1,000: what is worked on stays in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """Square over `names`, in the order of the list; nan is blank. `pools` has the number of each engine's pool.

    `errors` go with differences, `games` with scores.
    """

    kind: MatrixName
    names: tuple[str, ...]
    pools: tuple[int, ...]
    values: Vector
    errors: Vector | None = None
    games: Vector | None = None


def matrix_of(kind: MatrixName, found: RatingList, pairs: Pairs | None, quantile: float = NORMAL_95) -> Matrix:
    """The list's engines against each other; `quantile` standard deviations are an error.

    `pairs` has all games, also those between engines rated apart; only scores need it.
    UsageRefused for errors of a pool too large.
    """
    names = tuple(row.name for row in found.rows)
    pools = tuple(row.pool for row in found.rows)
    if kind == "score":
        assert pairs is not None
        points, games = _scores(names, pairs)
        return Matrix(kind, names, pools, points, games=games)
    values = np.full((len(names), len(names)), np.nan)
    errors = values.copy() if kind == "diff" else None
    for pool, ground in fit_bases(found.rows).items():
        inside = np.array([number for number, own in enumerate(pools) if own == pool], dtype=np.intp)
        place = {name: number for number, name in enumerate(ground.fit.names)}
        places = np.array([place[names[number]] for number in inside], dtype=np.intp)
        block = np.ix_(inside, inside)
        if kind == "los":
            values[block] = _superiority(ground, places)
        else:
            spread = _difference_errors(ground, places, quantile)
            values[block] = _differences(ground, places) if kind == "diff" else spread
            if errors is not None:
                errors[block] = spread
    return Matrix(kind, names, pools, values, errors=errors)


def _superiority(ground: FitBasis, places: Index) -> Vector:
    """Likelihood that the row's engine is the stronger one; nan on the diagonal and between anchors."""
    errors, fit = _dense(ground), ground.fit
    cov, ratings = errors.covariance[np.ix_(places, places)], fit.ratings[places] / fit.unit
    own, count = cov.diagonal().copy(), len(places)
    made = np.empty((count, count))
    for start in range(0, count, _ROWS_AT_ONCE):
        rows, rest = slice(start, start + _ROWS_AT_ONCE), slice(start, count)
        with np.errstate(invalid="ignore", divide="ignore"):  # blank cells are 0/0
            spread = np.sqrt(np.maximum(own[rows, None] + own[rest] - 2 * cov[rows, rest], 0.0))
            above = _normal((ratings[rows, None] - ratings[rest]) / spread)
        made[rows, rest] = above
        made[rest, rows] = 1 - above.T
    _blank(made, ground, places)
    return made


def _differences(ground: FitBasis, places: Index) -> Vector:
    ratings = ground.shown.ratings[places]
    made = ratings[:, None] - ratings
    np.fill_diagonal(made, np.nan)
    return np.asarray(made)


def _difference_errors(ground: FitBasis, places: Index, quantile: float) -> Vector:
    errors = _dense(ground)
    cov = errors.covariance[np.ix_(places, places)]
    own = cov.diagonal()
    made = np.sqrt(np.maximum(own[:, None] + own - 2 * cov, 0.0)) * (ground.fit.unit * ground.shown.point * quantile)
    _blank(made, ground, places)
    return np.asarray(made)


def _blank(made: Vector, ground: FitBasis, places: Index) -> None:
    """Nobody compares with itself, and between two anchors nothing is uncertain."""
    fixed = np.isin(places, list(ground.fit.fixed))
    made[np.ix_(fixed, fixed)] = np.nan
    np.fill_diagonal(made, np.nan)


def _scores(names: tuple[str, ...], pairs: Pairs) -> tuple[Vector, Vector]:
    """Points and games of the row against the column; nan and 0 where they have not met."""
    place = {name: number for number, name in enumerate(names)}
    where = np.array([place.get(name, -1) for name in pairs.names], dtype=np.intp)
    white, black = where[pairs.white], where[pairs.black]
    both = (white >= 0) & (black >= 0)
    points, games = np.zeros((2, len(names), len(names)))
    for one, other, won in ((white, black, pairs.points), (black, white, pairs.games - pairs.points)):
        np.add.at(points, (one[both], other[both]), won[both])
        np.add.at(games, (one[both], other[both]), pairs.games[both])
    return np.where(games > 0, points, np.nan), games


def _dense(ground: FitBasis) -> Errors:
    if not isinstance(ground.errors, Errors):
        raise UsageRefused(
            f"a pool of {len(ground.fit.names):,} engines is too large for a matrix of errors, the most is"
            f" {DENSE_ERRORS:,}",
            place="--matrix",
            step="rate fewer engines, or ask for one by --head-to-head",
        )
    return ground.errors


def _normal(number: Vector) -> Vector:
    """Standard normal distribution function to 1e-10: parabolas about the nearest point of a table."""
    value, slope, bend = _table()
    far = np.clip(number, -FURTHEST, FURTHEST)
    far = np.where(np.isnan(far), 0.0, far) * _STEPS + FURTHEST * _STEPS
    near = np.rint(far)
    off, at = (far - near) / _STEPS, near.astype(np.intp)
    return np.asarray(
        np.clip(value[at] + off * (slope[at] + off * bend[at]), 0.0, 1.0)
    )  # rounding leaves 1e-17 below 0


@cache
def _table() -> tuple[Vector, Vector, Vector]:
    """The function, its slope and half its bend at every point."""
    points = np.arange(-FURTHEST * _STEPS, FURTHEST * _STEPS + 1) / _STEPS
    slope = np.exp(-(points**2) / 2) / np.sqrt(2 * np.pi)
    return np.array([erfc(-point / sqrt(2)) / 2 for point in points.tolist()]), slope, -points * slope / 2
