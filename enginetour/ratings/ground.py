"""What the rows of a pool rest on: the fit, how it is shown, its errors. Matrices and pairings ask it for more."""

from __future__ import annotations

from dataclasses import dataclass

from enginetour.ratings.likelihood import Fit
from enginetour.ratings.pairs import Vector
from enginetour.ratings.uncertainty import Errors, ErrorsOnRequest


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
