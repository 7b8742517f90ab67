"""What the rows of a pool rest on: the fit, how it is shown, its errors. Matrices and pairings ask it for more."""

from __future__ import annotations

from dataclasses import dataclass

from enginetour.ratings.likelihood import Fit
from enginetour.ratings.pairs import Vector
from enginetour.ratings.uncertainty import Errors, ErrorsOnRequest

MOST_OVERFITTING = 2.0  # our choice: below two games a fitted number its prior holds it


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A fit as people read it. `point` is what the fit's points are multiplied with."""

    ratings: Vector
    point: float


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """One pool; only the `wanted` have errors."""

    fit: Fit
    shown: Shown
    errors: Errors | ErrorsOnRequest
    wanted: frozenset[str]

    @property
    def overfitting(self) -> float:
        """By how much few games for many fitted numbers understate a variance.

        Games over the games less the numbers fitted: MacKinnon and White 1985 (HC1); as a factor of the fall of a
        likelihood Bartlett 1937.
        """
        games = float(self.fit.pairs.games.sum())
        fitted = len(self.fit.problem.free) - self.fit.level_free
        return games / max(games - fitted, games / MOST_OVERFITTING)
