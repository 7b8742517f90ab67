"""Priors of rating lists, and loose anchors.

prior          term added to the log likelihood                                 source
GaussianPrior  -(R - mean)^2/(2 sd^2) for each engine or for loose anchors      Bayes; Ordo's loose anchors
DivisionPrior  the same, with ratings of a division that have a common part     Bayes; only in `design`
PhantomDraws   w draws of every engine against an opponent rated `about`        Mease 2003
VirtualDraws   P/4 (n_ij/n_i + n_ij/n_j) draws in each color for each pair      BayesElo; only for comparison with it

Loose anchors: a Gaussian prior for engines with an approximately known rating fixes the level of the list. The games
can move a loose anchor away from its prior mean. The term is from Ordo's manual.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from enginetour.ratings.incremental import LARGEST
from enginetour.ratings.models import logistic, softplus
from enginetour.ratings.pairs import Pairs, Vector

_Spread = float | Mapping[str, float]

PRIOR_SD = 350.0  # Elo; standard deviation of a rating that is not known, as for a new player in Glickman 1999


@dataclass(frozen=True, slots=True)
class GaussianPrior:
    """A normal distribution of ratings: mean and standard deviation in points of the model, for all engines or by name.

    If `mean` is None, the mean is the pool's average. If `sd` is a mapping, engines that it does not contain have no
    prior.
    """

    sd: _Spread = PRIOR_SD
    mean: _Spread | None = None

    def sd_of(self, name: str) -> float:
        """Return the standard deviation for an engine. It is infinite for an engine without a prior."""
        return self.sd.get(name, inf) if isinstance(self.sd, Mapping) else self.sd

    def mean_of(self, name: str) -> float | None:
        """Return the mean for an engine, or None for the pool's average."""
        return self.mean.get(name, 0.0) if isinstance(self.mean, Mapping) else self.mean

    def center(self, names: Sequence[str]) -> Vector:
        """Return the means for engines; the pool's average counts as 0."""
        return np.array([self.mean_of(name) or 0.0 for name in names])

    def precision(self, names: Sequence[str]) -> Vector:
        """Return the inverse of the covariance for engines."""
        return np.diag(np.array([self.sd_of(name) for name in names]) ** -2.0)


@dataclass(frozen=True, slots=True)
class DivisionPrior:
    """Normal ratings of engines in divisions, in points of the model.

    The level of a division has the standard deviation `sd` around its mean. Its engines have the standard deviation
    `scatter` around this level. Engines in no division count as a division with the mean 0.
    """

    divisions: tuple[tuple[str, ...], ...]
    means: tuple[float, ...]
    sd: float = PRIOR_SD
    scatter: float = PRIOR_SD

    def center(self, names: Sequence[str]) -> Vector:
        """Return the means for engines."""
        return np.array((*self.means, 0.0))[self._places(names)]

    def precision(self, names: Sequence[str]) -> Vector:
        """Return the inverse of the covariance for engines (Sherman and Morrison 1950)."""
        places, level, own = self._places(names), self.sd**2, self.scatter**2
        same = places[:, None] == places
        return np.asarray((np.eye(len(names)) - same * level / (own + level * same.sum(axis=1))) / own)

    def _places(self, names: Sequence[str]) -> NDArray[np.intp]:
        place = {name: number for number, division in enumerate(self.divisions) for name in division}
        return np.array([place.get(name, -1) for name in names], np.intp)


@dataclass(frozen=True, slots=True)
class PhantomDraws:
    """`weight` draws of every engine against an opponent with the constant rating `about`, in points of the model."""

    weight: float = 1.0
    about: float = 0.0


@dataclass(frozen=True, slots=True)
class VirtualDraws:
    """`weight` draws of every engine, distributed over its opponents (the prior of BayesElo)."""

    weight: float = 2.0  # BayesElo's default


Prior = GaussianPrior | PhantomDraws | VirtualDraws
_PRIORS: dict[str, type[Prior]] = {"gaussian": GaussianPrior, "draws": PhantomDraws, "virtual": VirtualDraws}
_LARGEST_PRIOR = 1_000_000  # points or draws; fits converge for all values between its inverse and this number (tested)


def parse_prior(text: str) -> Literal["auto", "none"] | Prior:
    """Parse a prior from the command line or configuration. If it is not valid, ValueError lists the allowed values."""
    if text in ("auto", "none"):
        return "auto" if text == "auto" else "none"
    kind, _, number = text.partition("=")
    try:
        size = float(number)
    except ValueError:
        size = nan
    if kind not in _PRIORS or not 1 / _LARGEST_PRIOR <= size <= _LARGEST_PRIOR:
        allowed = f"with a number between {1 / _LARGEST_PRIOR:f} and {_LARGEST_PRIOR:,}"
        raise ValueError(f"{text!r} is not a valid prior; use auto, none, gaussian=SD, draws=W or virtual=P {allowed}")
    return _PRIORS[kind](size)


def describe_prior(prior: Prior, name: str, level: float, point: float) -> str:
    """Describe the prior of an engine whose games do not limit its rating.

    `level` is the average rating of the list. `point` is the number of the list's points per point of the model.
    """
    if isinstance(prior, VirtualDraws):
        return f"virtual draws ({prior.weight:g})"
    if isinstance(prior, PhantomDraws):
        return f"phantom draws ({prior.weight:g})"
    mean, sd = prior.mean_of(name), prior.sd_of(name)
    about = round(level if mean is None else mean, 1) + 0.0  # never "-0"
    return f"the prior ({about:g} ± {sd if point == 1 else round(sd * point, 1):g})"


@dataclass(frozen=True, slots=True, eq=False)
class PoolPrior:
    """The prior of a pool in natural units: a parabola with `weights` around `about`, and `draws` phantom draws.

    `about` and `weights` have one number per engine. If `floating` is true, the center of the parabola is the weighted
    average of the ratings, so that the prior does not depend on their level.
    """

    about: Vector
    weights: Vector
    floating: bool = False
    draws: float = 0.0

    def log_likelihood(self, ratings: Vector) -> float:
        """Return the logarithm of the prior, without constant terms."""
        off = ratings - self.about
        height = -off @ self._weigh(off) / 2
        return float(height - (self.draws * (softplus(off) / 2 + softplus(-off) / 2).sum() if self.draws else 0.0))

    def pull(self, ratings: Vector) -> Vector:
        """Return the gradient of the log prior."""
        off = ratings - self.about
        pull = -self._weigh(off)
        return pull + self.draws * (0.5 - logistic(off)) if self.draws else pull

    def stiffness(self, ratings: Vector) -> Vector:
        """Return the diagonal of the curvature, without the additional term of a floating prior."""
        if not self.draws:
            return self.weights
        share = logistic(ratings - self.about)
        return self.weights + self.draws * share * (1 - share)

    def bound(self) -> NDArray[np.bool_]:
        """Return for each engine whether it has a prior."""
        return np.asarray(self.weights + self.draws > 0)

    def _weigh(self, off: Vector) -> Vector:
        pulled = self.weights * off
        return pulled - self.weights * (pulled.sum() / self.weights.sum()) if self.floating else pulled


def pool_prior(names: tuple[str, ...], prior: Prior | None, unit: float) -> PoolPrior:
    """Return the prior of a pool. Virtual draws are not part of it, because they are added to the counts.

    Raises ValueError if a mean, standard deviation or weight is not possible.
    """
    if isinstance(prior, GaussianPrior):
        sd = np.array([prior.sd_of(name) for name in names], dtype=np.float64) / unit
        mean = np.array([prior.mean_of(name) or 0.0 for name in names], dtype=np.float64) / unit
        if not (sd > 0).all() or not np.isfinite(mean).all():
            raise ValueError("a prior must have finite means and a standard deviation above 0")
        weights = sd**-2
        return PoolPrior(mean, weights, floating=prior.mean is None and bool(weights.any()))
    nothing = np.zeros(len(names))
    if prior is None:
        return PoolPrior(nothing, nothing)
    if not 0 < prior.weight < inf:
        raise ValueError("a prior of draws must have a finite weight above 0")
    if isinstance(prior, VirtualDraws):
        return PoolPrior(nothing, nothing)
    if not isfinite(prior.about):
        raise ValueError("phantom draws must be against a finite rating")
    return PoolPrior(np.full(len(names), prior.about / unit), nothing, draws=prior.weight)


def with_virtual_draws(pairs: Pairs, weight: float) -> Pairs:
    """Return the counts with BayesElo's prior: draws in both colors are added for every pair that played games."""
    count = len(pairs.names)
    low, high = np.minimum(pairs.white, pairs.black), np.maximum(pairs.white, pairs.black)
    met, which = np.unique(low * count + high, return_inverse=True)
    one, other = met // count, met % count
    games = np.bincount(which, pairs.games, len(met))
    virtual = weight / 4 * (games / pairs.played[one] + games / pairs.played[other])
    keys = np.concatenate((pairs.white * count + pairs.black, one * count + other, other * count + one))
    rows, place = np.unique(keys, return_inverse=True)
    nothing = np.zeros(2 * len(met))

    def merged(real: Vector, added: Vector) -> Vector:
        return np.bincount(place, np.append(real, added), len(rows)).astype(np.float64)

    return Pairs(
        pairs.names,
        rows // count,
        rows % count,
        merged(pairs.wins, nothing),
        merged(pairs.draws, np.append(virtual, virtual)),
        merged(pairs.losses, nothing),
    )


_SMALLEST_SD = 1.0  # points of the list; with less, residuals exceed 1e-8 for ratings near 10,000 (tested)
_LOOSE_ANCHOR = re.compile(r"\s*([-+]?[\d.]+)\s*(?:±|\+-|\+/-)\s*([\d.]+)\s*")


class LooseAnchor(NamedTuple):
    """The approximate rating of an engine and the standard deviation of this rating, in points of the list."""

    rating: float
    sd: float

    @property
    def text(self) -> str:
        """Return the anchor as text that `parse_loose_anchor` reads."""
        return f"{self.rating:g} ± {self.sd:g}"


LooseAnchors = Mapping[str, LooseAnchor]


def parse_loose_anchor(text: str) -> LooseAnchor:
    """Parse ``2784+-15`` or ``2784±15``. If the text is not valid, ValueError describes the allowed form."""
    found = _LOOSE_ANCHOR.fullmatch(text)
    try:
        read = LooseAnchor(*map(float, found.groups())) if found else None
    except ValueError:
        read = None
    if read is None or not (-LARGEST <= read.rating <= LARGEST and _SMALLEST_SD <= read.sd <= LARGEST):
        allowed = f"RATING+-SD, for example 2784+-15, with SD between {_SMALLEST_SD:g} and {LARGEST:,}"
        raise ValueError(f"{text!r} is not a valid loose anchor; use {allowed}")
    return read


def loose_anchor_prior(names: Iterable[str], loose: LooseAnchors, sd: float | None = None) -> GaussianPrior | None:
    """Return the prior for the loose anchors among `names`, or None if there are none.

    With `sd`, all other engines get a prior with this standard deviation. Its mean is the mean of the loose anchors,
    weighted by 1/sd^2.
    """
    names = tuple(names)
    own = {name: loose[name] for name in names if name in loose}
    if not own:
        return None
    weight = sum(each.sd**-2 for each in own.values())
    centre = sum(each.rating * each.sd**-2 for each in own.values()) / weight
    others = {} if sd is None else {name: LooseAnchor(centre, sd) for name in names if name not in own}
    believed = {**own, **others}
    return GaussianPrior(
        {name: each.sd for name, each in believed.items()}, {name: each.rating for name, each in believed.items()}
    )
