"""Matrices of a rating list: LOS, rating differences, their errors, and scores for each pair of engines.

kind     value of a cell                                              the cell is blank
los      likelihood that the row's engine is stronger                 between anchors
diff     row's rating minus column's rating                           never in a pool
errors   error of this difference at the requested confidence         between anchors
score    points of the row's engine against the column's engine       if they have not played each other

The diagonal is blank. Between engines of different rating pools only scores are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, sqrt
from typing import Literal

import numpy as np

from enginetour.model.errors import UsageRefused
from enginetour.ratings.pairs import Index, Pairs, Vector
from enginetour.ratings.pentanomial import NORMAL_95
from enginetour.ratings.ratinglist import DENSE_ERRORS, RatingList, fit_bases
from enginetour.ratings.uncertainty import Errors, FitBasis

MatrixName = Literal["los", "diff", "errors", "score"]


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """A square matrix with a row and a column for each of `names`, in the order of the list. A blank cell is nan.

    `pools` contains the pool number of each engine. `errors` is only set for differences, and `games` only for scores.
    """

    kind: MatrixName
    names: tuple[str, ...]
    pools: tuple[int, ...]
    values: Vector
    errors: Vector | None = None
    games: Vector | None = None


def matrix_of(kind: MatrixName, found: RatingList, pairs: Pairs | None, quantile: float = NORMAL_95) -> Matrix:
    """Compute one matrix of the list. An error is `quantile` standard deviations.

    `pairs` contains all games, also between engines of different pools. It is only needed for scores. Raises
    UsageRefused if a pool is too large for errors.
    """
    names = tuple(row.name for row in found.rows)
    pools = tuple(row.pool for row in found.rows)
    if kind == "score":
        assert pairs is not None
        points, games = _scores(names, pairs)
        return Matrix(kind, names, pools, points, games=games)
    values = np.full((len(names), len(names)), np.nan)
    errors = values.copy() if kind == "diff" else None
    for pool, basis in fit_bases(found.rows).items():
        inside = np.array([number for number, own in enumerate(pools) if own == pool], dtype=np.intp)
        place = {name: number for number, name in enumerate(basis.fit.names)}
        places = np.array([place[names[number]] for number in inside], dtype=np.intp)
        block = np.ix_(inside, inside)
        if kind == "los":
            values[block] = _los(basis, places)
        else:
            spread = _difference_errors(basis, places, quantile)
            values[block] = _differences(basis, places) if kind == "diff" else spread
            if errors is not None:
                errors[block] = spread
    return Matrix(kind, names, pools, values, errors=errors)


def group_difference(found: RatingList, one: Sequence[str], other: Sequence[str]) -> tuple[float, float] | None:
    """Return the mean rating of one group of rated engines minus that of another, and its 95 % error.

    Return None if a group is empty, if the games do not connect the groups, or if their pool is too large for errors.
    """
    pools = {row.name: row.pool for row in found.rows}
    if not one or not other or len({pools[name] for name in (*one, *other)}) > 1:
        return None
    basis = fit_bases(found.rows).get(pools[one[0]])
    if basis is None or not isinstance(basis.errors, Errors):
        return None
    ways = np.zeros(len(basis.fit.names))
    for names, sign in ((one, 1.0), (other, -1.0)):
        for name in names:
            ways[basis.fit.names.index(name)] += sign / len(names)
    variance = max(0.0, float(ways @ basis.errors.covariance @ ways))
    return float(ways @ basis.shown.ratings), sqrt(variance) * basis.fit.unit * basis.shown.point * NORMAL_95


def _los(basis: FitBasis, places: Index) -> Vector:
    """Return the likelihood that the row's engine is stronger. It is nan on the diagonal and between anchors."""
    spread, ratings = _spread(basis, places), basis.fit.ratings[places] / basis.fit.unit
    above = np.triu_indices(len(places), 1)
    with np.errstate(invalid="ignore", divide="ignore"):  # blank cells are 0/0
        gaps = (ratings[:, None] - ratings)[above] / spread[above]
    made = np.full(spread.shape, np.nan)
    made[above] = [erfc(-gap / sqrt(2)) / 2 for gap in gaps.tolist()]
    made.T[above] = 1 - made[above]
    _blank(made, basis, places)
    return made


def _differences(basis: FitBasis, places: Index) -> Vector:
    ratings = basis.shown.ratings[places]
    made = ratings[:, None] - ratings
    np.fill_diagonal(made, np.nan)
    return np.asarray(made)


def _difference_errors(basis: FitBasis, places: Index, quantile: float) -> Vector:
    made = _spread(basis, places) * (basis.fit.unit * basis.shown.point * quantile)
    _blank(made, basis, places)
    return np.asarray(made)


def _spread(basis: FitBasis, places: Index) -> Vector:
    """Return the standard deviation of each difference in natural units. Raise UsageRefused for a too large pool."""
    if not isinstance(basis.errors, Errors):
        raise UsageRefused(
            f"a pool of {len(basis.fit.names):,} engines is too large for a matrix of errors "
            f"(maximum {DENSE_ERRORS:,} engines)",
            place="--matrix",
            step="rate fewer engines, or show one engine with --head-to-head",
        )
    cov = basis.errors.covariance[np.ix_(places, places)]
    own = cov.diagonal()
    return np.asarray(np.sqrt(np.maximum(own[:, None] + own - 2 * cov, 0.0)))


def _blank(made: Vector, basis: FitBasis, places: Index) -> None:
    fixed = np.isin(places, list(basis.fit.fixed))
    made[np.ix_(fixed, fixed)] = np.nan
    np.fill_diagonal(made, np.nan)


def _scores(names: tuple[str, ...], pairs: Pairs) -> tuple[Vector, Vector]:
    place = {name: number for number, name in enumerate(names)}
    where = np.array([place.get(name, -1) for name in pairs.names], dtype=np.intp)
    white, black = where[pairs.white], where[pairs.black]
    both = (white >= 0) & (black >= 0)
    points, games = np.zeros((2, len(names), len(names)))
    for one, other, won in ((white, black, pairs.points), (black, white, pairs.games - pairs.points)):
        np.add.at(points, (one[both], other[both]), won[both])
        np.add.at(games, (one[both], other[both]), pairs.games[both])
    return np.where(games > 0, points, np.nan), games
