"""Which game pair tells most about a goal: posterior of the ratings, expected information, gains and stop rules.

part          formula                                                                    source
posterior     mode and covariance S of Davidson's likelihood with a Gaussian prior       Davidson 1970; Bayes
information   w = expected curvature of the likelihood of two games with both colors     Fisher; `models`
gain          w e'SLSe / (1 + w e'Se) with e = e_i - e_j: the fall of trace(L S)         Fedorov 1972, section 2.7
errors        L = J'J; J subtracts the average of the pool or of `of` (A-optimality)     Fedorov 1972, section 2.9
places, top   L = Laplacian of the pairs in doubt, with weights                          see `_weights`
version       L = cc'; c is the difference between the entrant and the average of `of`   Fedorov 1972
divisions     L = sum of cc'; c is the difference of the averages of two neighbors       Fedorov 1972

Ratings are in Elo and w is in Elo^-2. The formula of the gain is exact for the matrix (S^-1 + w ee')^-1 (Sherman and
Morrison 1950). All functions accept arrays with additional leading dimensions, for example one for each simulated
tournament. They know nothing about formats and use no random numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, pi, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from enginetour.model.errors import did_you_mean
from enginetour.ratings.models import davidson_chances
from enginetour.ratings.pairs import Vector
from enginetour.ratings.pentanomial import ELO_SCALE, NORMAL_95
from enginetour.ratings.priors import DivisionPrior, GaussianPrior

GoalKind = Literal["errors", "places", "top", "version", "divisions"]
Truths = NDArray[np.bool_]

_UNIT = ELO_SCALE / log(10)  # points of the model per natural unit
_STEP_LIMIT = 4.0  # natural units; as in `likelihood`
_NEAR = 0.5  # natural units; after a shorter step, the next steps converge quadratically
_STEP_DONE = 1e-6  # natural units; the error that remains is about its square
_OVERSHOT = 0.5  # share of the first slope along a step; beyond the maximum, a steeper fall halves the step
_ROUNDING = 1e-9  # encounters
_MOST_STEPS = 100  # four are usual, and three after one more encounter
# White's advantage and the draw parameter also have a prior, because the first games do not determine them. It is much
# wider than the differences between engine tournaments (enginetour's choice). At two standard deviations, White's
# advantage is about 100 Elo, and between equals 6 % or 79 % of the games are drawn.
_GAP = 150.0  # Elo; assumed difference between neighboring divisions before the first game (enginetour's choice)
_EM_STEPS = 20
_LEAST_SCATTER = 10.0  # Elo
EXTRA_MEAN = np.array((0.0, 0.0))  # White's advantage, logarithm of Davidson's nu; in natural units
EXTRA_SD = np.array((0.5, 1.0))


class Goal(BaseModel):
    """What a tournament shall find out: exactly one of five goals, which follows from the keys that are given.

    error                the 95 % interval of every entrant is at most ± `error`
    los                  all neighbors in the list are separated, or known to be level
    top                  the first `top` entrants are the true first ones
    entrant and error    the difference between one entrant and the others is known to ± `error`
    divisions and error  the differences between the averages of neighboring divisions are known to ± `error`
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    error: float | None = Field(default=None, gt=0, description="Largest half-width of a 95 % interval, in Elo.")
    of: tuple[str, ...] = Field(
        default=(),
        description="With error: entrants whose average is the zero point of the intervals. Default: all entrants; "
        "with entrant, all other entrants.",
    )
    los: float | None = Field(
        default=None, gt=0.5, lt=1, description="Likelihood that a place or the first places must reach."
    )
    level: float = Field(
        default=5.0,
        ge=0,
        description="With los and without top: neighbors are level if their difference is within this many Elo.",
    )
    top: int | None = Field(default=None, ge=1, description="Number of first places to find out.")
    ordered: bool = Field(default=False, description="With top: also find out the order of the first places.")
    entrant: str | None = Field(default=None, description="With error: entrant to compare with the others.")
    divisions: tuple[tuple[str, ...], ...] = Field(
        default=(),
        description="With error: all entrants in their divisions, from the highest to the lowest. Only entrants of "
        "different divisions meet, until the difference between the averages of each two neighboring divisions is "
        "known.",
    )

    @model_validator(mode="after")
    def _one_goal(self) -> Goal:
        # A stored goal has all keys, so only values that differ from the defaults count.
        given = {key for key, field in type(self).model_fields.items() if getattr(self, key) != field.default}
        if self.error is None and self.los is None:
            raise ValueError("a goal must have error or los. Hint: for example goal = { error = 10 }")
        if self.error is not None and self.los is not None:
            raise ValueError("error and los are different goals. Hint: remove one of them")
        needs = {
            "of": "error",
            "entrant": "error",
            "divisions": "error",
            "top": "los",
            "level": "los",
            "ordered": "top",
        }
        for key, other in needs.items():
            if key in given and getattr(self, other) is None:
                raise ValueError(f"{key} has no effect without {other}. Hint: add {other} or remove {key}")
        if self.top is not None and "level" in given:
            raise ValueError("level has no effect with top. Hint: remove one of them")
        if self.divisions:
            self._check_divisions()
        return self

    def _check_divisions(self) -> None:
        for key in ("of", "entrant"):
            if getattr(self, key):
                raise ValueError(f"{key} and divisions are different goals. Hint: remove one of them")
        if len(self.divisions) < 2 or not all(self.divisions):
            sizes = ", ".join(str(len(division)) for division in self.divisions)
            raise ValueError(f"divisions must be at least two lists of entrants (found lists of {sizes} entrants)")
        names = Counter(name for division in self.divisions for name in division)
        twice = [name for name, times in names.items() if times > 1]
        if twice:
            raise ValueError(f"divisions: {twice[0]!r} is listed twice. Hint: remove one of the two entries")

    @property
    def kind(self) -> GoalKind:
        """Return which of the five goals this is."""
        if self.divisions:
            return "divisions"
        if self.error is not None:
            return "errors" if self.entrant is None else "version"
        return "places" if self.top is None else "top"

    @property
    def wanted(self) -> float:
        """Return the value to reach: the half-width in Elo, or the likelihood."""
        return self.error if self.error is not None else self.los or 0.0

    def check(self, names: Sequence[str]) -> None:
        """Raise ValueError if these entrants cannot have this goal."""
        for name in (*self.of, *(() if self.entrant is None else (self.entrant,))):
            if name not in names:
                raise ValueError(f"goal: {name!r} is not an entrant. Hint: use one of {', '.join(names)}")
        listed = tuple(name for division in self.divisions for name in division)
        for name in listed:
            if name not in names:
                hint = did_you_mean(name, names) or ". Hint: add the entrant, or remove the name"
                raise ValueError(f"goal: divisions contains {name!r}, which is not an entrant{hint}")
        if listed and (rest := [name for name in names if name not in listed]):
            raise ValueError(
                f"goal: the entrant {rest[0]!r} is in no division. Hint: add it to a list of divisions, or remove "
                "the entrant"
            )
        if self.entrant is not None and self.entrant in self.of:
            raise ValueError(f"goal: of contains the entrant {self.entrant!r} itself. Hint: remove it from of")
        if self.top is not None and self.top >= len(names):
            raise ValueError(
                f"goal: top must be below the number of entrants (found {self.top} of {len(names)}). Hint: set top = 1"
            )

    def division_prior(self, sd: float, scatter: float) -> DivisionPrior:
        """Return what is assumed about entrants in divisions before the first game, in Elo (see `DivisionPrior`)."""
        middle = (len(self.divisions) - 1) / 2
        return DivisionPrior(
            self.divisions, tuple(_GAP * (middle - at) for at in range(len(self.divisions))), sd, scatter
        )

    def meets(self, names: Sequence[str]) -> Truths:
        """Return which pairs may play, shape (n, n): all, or with divisions those of different divisions."""
        division = {name: number for number, names in enumerate(self.divisions) for name in names}
        places = np.array([division.get(name, at) for at, name in enumerate(names)])
        return np.asarray(places[:, None] != places)


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """What is known about the ratings: the most likely values and their covariance.

    The level of the ratings is the mean of the prior. Differences do not depend on it. `mode` has the shape (..., n),
    `covariance` (..., n, n), and the other arrays have one value for each leading index.
    """

    names: tuple[str, ...]
    mode: Vector  # Elo
    covariance: Vector  # Elo^2
    advantage: Vector  # White's advantage in Elo
    draw: Vector  # Davidson's nu
    at: Vector  # all unknowns in natural units: ratings, White's advantage, logarithm of nu

    @property
    def point(self) -> Vector:
        """Return the value of one point of the model in Elo (`models.Model.point`)."""
        return np.asarray(2 / (2 + self.draw))

    def differences(self) -> tuple[Vector, Vector]:
        """Return the difference of each pair (row minus column) in Elo, and its variance in Elo^2."""
        return self.mode[..., :, None] - self.mode[..., None, :], _quadratic(self.covariance)

    def list_terms(self, sd: float) -> dict[str, Any]:
        """Return the arguments of `ratinglist.rating_list` for which the list of the same games is this posterior.

        All ratings have the standard deviation `sd` before the first game, in Elo.
        """
        point = float(self.point)
        terms = {"model": "davidson", "advantage": float(self.advantage) / point, "draw": float(self.draw)}
        return {**terms, "prior": GaussianPrior(sd / point)}

    def informed(self, precision: Vector) -> Posterior:
        """Return the posterior with more information about each pair: symmetric, shape (..., n, n), in Elo^-2."""
        if not precision.any():
            return self
        told = np.eye(len(self.names)) + self.covariance @ _laplacian(precision)
        return replace(self, covariance=np.asarray(np.linalg.solve(told, self.covariance)))

    def variances(self) -> Vector:
        """Return the variance of each rating relative to the average of all, in Elo^2."""
        own, rows = np.diagonal(self.covariance, axis1=-2, axis2=-1), self.covariance.mean(axis=-1)
        return np.asarray(np.maximum(own - 2 * rows + rows.mean(axis=-1, keepdims=True), 0.0))


def posterior(
    names: Sequence[str], counts: Vector, priors: GaussianPrior | DivisionPrior, start: Posterior | None = None
) -> Posterior:
    """Return mode and covariance of the ratings after these games, by Newton's method.

    `counts` has the shape (..., n, n, 3): White i's wins, draws and losses against Black j. `priors` is in Elo; a mean
    of None counts as 0, which is the same as the average of the pool if all standard deviations are equal. `start` is
    the posterior of nearly the same games. The result does not depend on it. The maximum is that of
    `likelihood.fit` with the model davidson and the same priors.
    """
    problem = _Problem.of(tuple(names), counts, priors)
    at = problem.begin() if start is None or start.names != problem.names else start.at
    at = np.broadcast_to(at, (*counts.shape[:-3], at.shape[-1]))
    gradient, curvature = problem.slopes(at)
    longest = np.array(_STEP_LIMIT)
    for _ in range(_MOST_STEPS):
        near = bool((longest < _NEAR).all())
        step = np.linalg.solve(problem.bent(at, curvature) if near else curvature, gradient[..., None])[..., 0]
        if near and not ((gradient * step).sum(axis=-1) > 0).all():  # a step downhill would be halved without end
            step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        longest = np.abs(step).max(axis=-1, initial=0.0)
        if (longest < _STEP_DONE).all():
            at = at + step
            break
        step *= (_STEP_LIMIT / np.maximum(longest, _STEP_LIMIT))[..., None]
        rise = (gradient * step).sum(axis=-1)
        gradient, curvature = problem.slopes(at + step)
        while (over := (gradient * step).sum(axis=-1) < -_OVERSHOT * rise).any():  # too far beyond the maximum
            step = np.where(over[..., None], step / 2, step)
            rise = np.where(over, rise / 2, rise)
            gradient, curvature = problem.slopes(at + step)
        at = at + step
    count, draw = len(problem.names), np.exp(at[..., -1])
    elo = _elo_per_unit(draw)
    covariance = np.linalg.inv(problem.in_elo(at, curvature))[..., :count, :count] * (elo * elo)[..., None, None]
    return Posterior(problem.names, at[..., :count] * elo[..., None], covariance, at[..., count] * elo, draw, at)


def scatter(counts: Vector, names: Sequence[str], goal: Goal, sd: float) -> float:
    """Return the standard deviation of ratings around the average of their division, in Elo.

    It is estimated from the games in the divisions, without leading index, by the EM algorithm (Dempster, Laird and
    Rubin 1977). Without games it is `sd`, the standard deviation of the levels of the divisions.
    """
    found, known = sd, None
    places = [np.array([names.index(name) for name in division]) for division in goal.divisions]
    freedom = sum(len(own) - 1 for own in places)
    for _ in range(_EM_STEPS if freedom else 0):
        known = posterior(names, counts, goal.division_prior(sd, found), known)
        total = 0.0
        for own in places:
            off, each = known.mode[own] - known.mode[own].mean(), known.covariance[np.ix_(own, own)]
            total += float(off @ off + np.trace(each) - each.mean() * len(own))
        found = max(_LEAST_SCATTER, sqrt(total / freedom))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """The function to maximize: Davidson's likelihood of dense counts times the priors."""

    names: tuple[str, ...]
    net: Vector  # White's wins minus losses, (..., n, n)
    games: Vector  # (..., n, n)
    drawn: Vector  # (...)
    mean: Vector  # Elo
    precision: Vector  # of the prior, Elo^-2, (n, n)

    @classmethod
    def of(cls, names: tuple[str, ...], counts: Vector, priors: GaussianPrior | DivisionPrior) -> _Problem:
        mean, precision = priors.center(names), priors.precision(names)
        net, games = counts[..., 0] - counts[..., 2], counts.sum(axis=-1)
        drawn = counts[..., 1].sum(axis=(-2, -1))
        return cls(names, net.astype(np.float64), games.astype(np.float64), drawn, mean, precision)

    def begin(self) -> Vector:
        """Return the most likely values before the first game."""
        elo = float(_elo_per_unit(np.exp(EXTRA_MEAN[1])))
        return np.append(self.mean / elo, EXTRA_MEAN)

    def slopes(self, at: Vector) -> tuple[Vector, Vector]:
        """Return the gradient and the negative second derivatives of the logarithm, as `models.Slopes`.

        The priors are in Elo, and the value of a natural unit in Elo depends on nu. It counts as a constant here.
        """
        count, nu = len(self.names), np.exp(at[..., -1])
        gap = at[..., :count, None] - at[..., None, :count] + at[..., count, None, None]
        won, drawn, lost = davidson_chances(gap, nu[..., None, None])
        lead, expected = won - lost, self.games * drawn
        score = (self.net - self.games * lead) / 2
        rows = self.games * ((won + lost) - lead * lead) / 4
        cross = -expected * lead / 2
        elo = _elo_per_unit(nu)[..., None]
        off = at[..., :count] - self.mean / elo
        extra = EXTRA_SD**-2

        gradient = np.empty(at.shape)
        gradient[..., :count] = score.sum(axis=-1) - score.sum(axis=-2) - self._pull(nu[..., None], off)
        gradient[..., count] = score.sum(axis=(-2, -1))
        gradient[..., count + 1] = self.drawn - expected.sum(axis=(-2, -1))
        gradient[..., count:] -= extra * (at[..., count:] - EXTRA_MEAN)

        curvature = np.empty((*at.shape, count + 2))
        white, black = rows.sum(axis=-1), rows.sum(axis=-2)
        weights = elo[..., None] ** 2 * self.precision
        curvature[..., :count, :count] = weights - rows - np.swapaxes(rows, -1, -2)
        diagonal = np.arange(count)
        curvature[..., diagonal, diagonal] += white + black
        curvature[..., :count, count] = curvature[..., count, :count] = white - black
        beside = cross.sum(axis=-1) - cross.sum(axis=-2)
        curvature[..., :count, count + 1] = curvature[..., count + 1, :count] = beside
        curvature[..., count, count] = white.sum(axis=-1) + extra[0]
        curvature[..., count, count + 1] = curvature[..., count + 1, count] = cross.sum(axis=(-2, -1))
        curvature[..., count + 1, count + 1] = (expected * (1 - drawn)).sum(axis=(-2, -1)) + extra[1]
        return gradient, curvature

    def in_elo(self, at: Vector, curvature: Vector) -> Vector:
        """Return the curvature for ratings in Elo, divided by the present value of a natural unit, instead of `at`.

        Results determine ratings in Elo better than in natural units, because nu changes the value of a unit.
        """
        count, nu = len(self.names), np.exp(at[..., -1:])
        turn, found = nu / (2 + nu) * at[..., :count], curvature.copy()  # natural units per unit of ln nu
        found[..., :, -1] += (found[..., :, :count] @ turn[..., None])[..., 0]
        found[..., -1, :] += (turn[..., None, :] @ found[..., :count, :])[..., 0, :]
        fixed = self._pull(nu, turn)  # the prior is in Elo and does not depend on nu
        found[..., :count, -1] -= fixed
        found[..., -1, :count] -= fixed
        found[..., -1, -1] -= (fixed * turn).sum(axis=-1)
        return found

    def bent(self, at: Vector, curvature: Vector) -> Vector:
        """Return the negative derivatives of the gradient, in which the value of a natural unit depends on nu.

        With them, the steps converge quadratically.
        """
        count, nu = len(self.names), np.exp(at[..., -1:])
        found = curvature.copy()
        off = 2 * at[..., :count] - self.mean / _elo_per_unit(nu)
        found[..., :count, -1] -= nu / (2 + nu) * self._pull(nu, off)
        return found

    def _pull(self, nu: Vector, off: Vector) -> Vector:
        """Return the product of the prior's curvature and differences in natural units."""
        return np.asarray((_elo_per_unit(nu)[..., None] ** 2 * self.precision @ off[..., None])[..., 0])


def information(posterior: Posterior) -> Vector:
    """Return the expected Fisher information of one game pair of each two entrants, in Elo^-2, shape (..., n, n).

    It is the expected curvature of the likelihood of two games with both colors, at the most likely difference. The
    diagonal is 0.
    """
    elo = _elo_per_unit(posterior.draw)[..., None, None]
    gap = (posterior.mode[..., :, None] - posterior.mode[..., None, :]) / elo
    lead = posterior.advantage[..., None, None] / elo
    nu = posterior.draw[..., None, None]
    found = (_curve(gap + lead, nu) + _curve(gap - lead, nu)) / (elo * elo)
    diagonal = np.arange(len(posterior.names))
    found[..., diagonal, diagonal] = 0.0
    return found


def gains(posterior: Posterior, goal: Goal) -> Vector:
    """Return how much one more game pair of each two entrants is expected to reduce the variance of the goal.

    The variance is trace(L S), with the weights L of the goal and the covariance S.

    Returns:
        An array of the shape (..., n, n) with a zero diagonal: in Elo^2 for the goals with an error, and without unit
        for places and top, where L is in Elo^-2.
    """
    each = information(posterior)
    return np.asarray(each * _quadratic(_weighed(posterior, goal)) / (1 + each * _quadratic(posterior.covariance)))


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """A posterior and the gains for large fields, updated after each encounter in O(n^2) steps.

    The information of a game is that of the last exact posterior. The weights L of the goal are, too, except with few
    differences that must be known (of one entrant, or of divisions). An update is one step of Newton's method for two
    ratings and the covariance of Sherman and Morrison 1950.
    """

    posterior: Posterior
    goal: Goal
    each: Vector  # information of one game pair, Elo^-2
    weighed: Vector  # S L S

    @classmethod
    def of(cls, posterior: Posterior, goal: Goal) -> Sketch:
        """Return the sketch of an exact posterior, in O(n^3) steps."""
        return cls(posterior, goal, information(posterior), _weighed(posterior, goal))

    def with_games(self, white: Sequence[int], black: Sequence[int], net: Sequence[int]) -> Sketch:
        """Return the sketch after more games of two entrants.

        `white` and `black` are the places of the entrants in each game, and `net` is 1, 0 or -1 for White's win, a draw
        or a loss.
        """
        known, one, other = self.posterior, white[0], black[0]
        elo = _elo_per_unit(known.draw)
        turn = np.where(np.array(white) == one, 1.0, -1.0)
        gap = (turn * (known.mode[one] - known.mode[other]) + known.advantage) / elo
        won, _, lost = davidson_chances(gap, known.draw)
        told = float((((won + lost) - (won - lost) ** 2) / 4).sum() / elo**2)
        slope = float((turn * (np.array(net) - (won - lost)) / 2).sum() / elo)
        way, weight = (
            known.covariance[:, one] - known.covariance[:, other],
            self.weighed[:, one] - self.weighed[:, other],
        )
        wider = 1 + told * float(way[one] - way[other])
        share, square = told / wider, float(weight[one] - weight[other])
        covariance = known.covariance - share * np.outer(way, way)
        both = np.outer(way, weight - share * square / 2 * way)
        mode = known.mode + way * (slope / wider)
        return self._moved(replace(known, mode=mode, covariance=covariance), self.weighed - share * (both + both.T))

    def expected(self, pending: Vector) -> Sketch:
        """Return the sketch with the expected information of game pairs in progress, a symmetric array."""
        one, other = np.nonzero(np.triu(pending))
        if not len(one):
            return self
        known, weighed = self.posterior, self.weighed
        ways, weights = known.covariance[:, one] - known.covariance[:, other], weighed[:, one] - weighed[:, other]
        told = self.each[one, other] * pending[one, other]
        half = ways @ np.linalg.inv(np.diag(1 / told) + ways[one] - ways[other])
        both = half @ (weights - half @ (weights[one] - weights[other]) / 2).T
        return self._moved(replace(known, covariance=known.covariance - half @ ways.T), weighed - both - both.T)

    def _moved(self, posterior: Posterior, weighed: Vector) -> Sketch:
        """Return the sketch with another posterior; `weighed` has the old weights."""
        few = self.goal.kind in ("version", "divisions")
        return replace(self, posterior=posterior, weighed=_weighed(posterior, self.goal) if few else weighed)

    def gains(self) -> Vector:
        """Return the gains as the function `gains`."""
        wider = 1 + self.each * _quadratic(self.posterior.covariance)
        return np.asarray(self.each * _quadratic(self.weighed) / wider)


def permitted(
    encounters: Vector, able: Truths | None = None, *, opponents: int = 3, fewest: int = 0, share: float = 0.25
) -> Truths:
    """Return the pairs that may play next, shape (..., n, n), so that no list consists of a single matchup.

    Args:
        encounters: Number of encounters of each pair, finished and in progress, shape (..., n, n), symmetric.
        able: The pairs that may play at all, in the same shape; None for all pairs.
        opponents: Number of different opponents that each entrant meets before any pair meets again.
        fewest: Number of encounters of each entrant before entrants with that number meet each other again.
        share: Largest share of one pair in the encounters of an entrant, rounded up to an encounter, or twice the even
            share if that is larger.

    Returns:
        True for each pair that may play. If the limits leave no pair, all pairs may play.
    """
    distinct = ~np.eye(encounters.shape[-1], dtype=np.bool_) if able is None else able
    total, met, others = encounters.sum(axis=-1), (encounters > 0).sum(axis=-1), distinct.sum(axis=-1)
    most = np.ceil(np.maximum(share, 2 / np.maximum(others, 1)) * (total + 1) - _ROUNDING)
    low = np.minimum(most[..., :, None], most[..., None, :])
    lonely, late = met < np.minimum(opponents, others), total < fewest
    shared = distinct & (encounters + 1 <= low)
    found = distinct
    for allowed in (
        shared,
        shared & (late[..., :, None] | late[..., None, :]),
        distinct & (encounters == 0) & (lonely[..., :, None] | lonely[..., None, :]),
    ):
        found = np.where(allowed.any(axis=(-2, -1), keepdims=True), allowed, found)
    return np.asarray(found)


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """How far a goal is reached.

    `reached` and `done` have one value for each leading index. `reached` is a half-width in Elo (goals with an error)
    or a likelihood (places, top). `doubt` has the shape (..., n, n) and is symmetric: a pair that is not yet separated,
    a pair of two divisions whose difference is not known yet, or on the diagonal an entrant whose interval is too wide.
    """

    reached: Vector
    done: Truths
    doubt: Truths


def progress(posterior: Posterior, goal: Goal) -> Progress:
    """Return how far the goal is reached after the finished games, and what is still in doubt.

    The likelihoods of several pairs are multiplied (top). The differences that decide the first places depend on each
    other positively, so the product is not above the likelihood that all are separated (Slepian 1962).
    """
    count = len(posterior.names)
    if goal.error is not None:
        ways = _contrasts(posterior.names, goal)
        variances = ((ways @ posterior.covariance) * ways).sum(axis=-1)
        widths = NORMAL_95 * np.sqrt(np.maximum(variances, 0.0))
        wide = widths > goal.wanted
        if goal.divisions:
            upper, lower = np.maximum(ways, 0.0), np.maximum(-ways, 0.0)
            across = upper.T @ (wide[..., :, None] * lower)
            doubt = across + np.swapaxes(across, -1, -2) > 0
            return Progress(widths.max(axis=-1), ~wide.any(axis=-1), doubt)
        doubt = np.zeros((*widths.shape[:-1], count, count), dtype=np.bool_)
        at = np.arange(count) if goal.entrant is None else np.array([posterior.names.index(goal.entrant)])
        doubt[..., at, at] = wide
        return Progress(widths.max(axis=-1), ~wide.any(axis=-1), doubt)
    difference, variance = posterior.differences()
    pairs = _deciding_pairs(posterior, goal)
    sure = np.where(pairs, _normal(np.abs(difference) / np.sqrt(variance + ~pairs)), 1.0)
    if goal.kind == "top":
        reached = np.exp(np.log(sure).sum(axis=(-2, -1)) / 2)  # each pair is there twice
    else:
        sure = np.maximum(sure, np.where(pairs, _level(difference, variance + ~pairs, goal.level), 1.0))
        reached = sure.min(axis=(-2, -1))
    done = reached >= goal.wanted
    worst = sure <= sure.min(axis=(-2, -1), keepdims=True)
    return Progress(reached, done, pairs & ((sure < goal.wanted) | worst) & ~done[..., None, None])


def _contrasts(names: tuple[str, ...], goal: Goal) -> Vector:
    """Return the rows whose products with the ratings must be known: (k, n)."""
    count = len(names)
    if goal.divisions:
        shares = np.array([[(name in division) / len(division) for name in names] for division in goal.divisions])
        return np.asarray(shares[:-1] - shares[1:])
    others = goal.of or tuple(name for name in names if name != goal.entrant)
    zero = np.isin(names, others) / len(others)
    if goal.entrant is not None:
        return np.asarray(np.eye(count)[[names.index(goal.entrant)]] - zero)
    return np.asarray(np.eye(count) - zero)


def _deciding_pairs(posterior: Posterior, goal: Goal) -> Truths:
    """Return the pairs whose order decides about the goal (symmetric): neighbors, or first entrants and all others."""
    place = np.argsort(np.argsort(-posterior.mode, axis=-1, kind="stable"), axis=-1, kind="stable")
    one, other = place[..., :, None], place[..., None, :]
    if goal.top is None:
        return np.asarray(np.abs(one - other) == 1)
    across = (one < goal.top) != (other < goal.top)
    return (
        np.asarray(across | ((np.abs(one - other) == 1) & (one < goal.top) & (other < goal.top)))
        if goal.ordered
        else across
    )


def _weighed(posterior: Posterior, goal: Goal) -> Vector:
    """Return S L S, shape (..., n, n), with the covariance S and the weights L of the goal.

    For goals with an error, L is the sum of ww' over the differences w'r whose intervals are still too wide, or over
    all if none is. It takes O(k n^2) steps for k differences, otherwise O(n^3).
    """
    covariance = posterior.covariance
    if goal.error is None:
        return np.asarray(covariance @ _weights(posterior, goal) @ covariance)
    ways = _contrasts(posterior.names, goal)
    reach = covariance @ ways.T
    wide = NORMAL_95 * np.sqrt((ways.T * reach).sum(axis=-2)) > goal.wanted
    wide |= ~wide.any(axis=-1, keepdims=True)
    return np.asarray((reach * wide[..., None, :]) @ np.swapaxes(reach, -1, -2))


def _weights(posterior: Posterior, goal: Goal) -> Vector:
    """Return L of the goals without an error, shape (..., n, n). Pairs that are separated have no weight.

    places   exp(-z^2/2) / v: fall of the expected likelihood of the wrong order
    top      z exp(-z^2/2) / v: rise of the likelihood of the right order, for a constant difference

    z is the difference in standard deviations and v its variance. The first formula follows from the density of the
    difference at 0: more games move the difference d ~ N(m, v) to m' ~ N(m, u), and the slope with respect to u is
    exp(-m^2/(2u)) / sqrt(u (v - u)), up to a factor. It is used with u = v, as if the games to come told everything.
    In simulations, the first formula needs fewer games for places and the second one fewer games until a goal `top`
    is reached.
    """
    variance = _quadratic(posterior.covariance)
    difference = posterior.mode[..., :, None] - posterior.mode[..., None, :]
    pairs = ~np.eye(len(posterior.names), dtype=np.bool_)  # any two entrants can still become neighbors
    if goal.kind == "top":
        pairs = _deciding_pairs(posterior, goal)
    variance = np.where(pairs, variance, 1.0)
    distance = np.abs(difference) / np.sqrt(variance)
    slope = np.exp(-distance * distance / 2) / variance
    if goal.kind == "top":
        slope *= distance
    else:
        sure = np.maximum(_normal(distance), _level(difference, variance, goal.level))
        slope *= sure < goal.wanted
    return _laplacian(np.where(pairs, slope, 0.0))


def _laplacian(weights: Vector) -> Vector:
    """Return the sum of weight x ee' over all pairs of a symmetric array with a zero diagonal."""
    found = -weights
    diagonal = np.arange(weights.shape[-1])
    found[..., diagonal, diagonal] = weights.sum(axis=-1)
    return found


def _quadratic(matrix: Vector) -> Vector:
    """Return e'Me for each pair, e = e_i - e_j."""
    own = np.diagonal(matrix, axis1=-2, axis2=-1)
    return np.asarray(np.maximum(own[..., :, None] + own[..., None, :] - 2 * matrix, 0.0))


def _curve(gap: Vector, nu: Vector) -> Vector:
    won, _, lost = davidson_chances(gap, nu)
    return np.asarray(((won + lost) - (won - lost) ** 2) / 4)


def _elo_per_unit(nu: Vector) -> Vector:
    """Return the value of one natural unit in Elo, for small differences."""
    return np.asarray(_UNIT * 2 / (2 + nu))


def _normal(value: Vector) -> Vector:
    """Return the normal distribution function with an error below 1e-7 (Abramowitz and Stegun 1964, 26.2.17)."""
    size = np.abs(value)
    part = 1 / (1 + 0.2316419 * size)
    tail = np.zeros_like(part)
    for factor in (1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530):
        tail = (tail + factor) * part
    tail *= np.exp(-size * size / 2) / sqrt(2 * pi)
    return np.asarray(np.where(value < 0, tail, 1 - tail))


def _level(difference: Vector, variance: Vector, level: float) -> Vector:
    """Return the likelihood that a difference is within `level`."""
    sd = np.sqrt(variance)
    return np.asarray(_normal((level - difference) / sd) - _normal((-level - difference) / sd))
