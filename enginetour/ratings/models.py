"""Rating models (logistic, Davidson, Rao-Kupper): probabilities of win, draw and loss for a difference in strength.

x is the rating gap in natural units. W, D and L are the probabilities of White's results. s(x) = 1/(1+e^-x).

model      probabilities                              draw parameter        source
logistic   s(x); a draw is half a win, half a loss    none                  Ordo's estimator
davidson   W : D : L = e^(x/2) : nu : e^(-x/2)        ln nu                 Davidson 1970
raokupper  W = s(x-d), L = s(-x-d), D = 1 - W - L     d > 0                 Rao and Kupper 1967; BayesElo

In all models the log likelihood is concave in the gaps and the parameter together, so Newton's method finds the only
maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cosh, exp, expm1, inf, log
from typing import Protocol

import numpy as np

from enginetour.ratings.pairs import Vector


class _Results(Protocol):
    """Numbers of White's wins, draws and losses, with one row per rating gap."""

    @property
    def wins(self) -> Vector: ...
    @property
    def draws(self) -> Vector: ...
    @property
    def losses(self) -> Vector: ...
    @property
    def games(self) -> Vector: ...
    @property
    def points(self) -> Vector: ...


@dataclass(frozen=True, eq=False)
class ResultColumns:
    """Results in rows that do not belong to the pairs of a pool."""

    wins: Vector
    draws: Vector
    losses: Vector

    @property
    def games(self) -> Vector:
        """Return the number of games in each row."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> Vector:
        """Return White's score in each row."""
        return self.wins + self.draws / 2


@dataclass(frozen=True, eq=False)
class Slopes:
    """The first and the negative second derivatives of the log likelihood.

    Derivatives with respect to the gap are given for each row. Derivatives with respect to the draw parameter alone
    are summed over the rows.
    """

    score: Vector  # first derivative with respect to the gap
    curve: Vector  # negative second derivative with respect to the gap
    cross: Vector  # negative mixed derivative with respect to the gap and the draw parameter
    draw_score: float  # first derivative with respect to the draw parameter
    draw_curve: float  # negative second derivative with respect to the draw parameter


class Model(Protocol):
    """A model of results as a function of rating gaps. `draw` is the draw parameter in natural units, 0 if unused."""

    name: str
    draws: bool  # True if the model has a draw parameter

    def log_likelihood(self, results: _Results, gap: Vector, draw: float) -> float:
        """Return the log likelihood without constant terms, or -inf for an impossible parameter."""

    def slopes(self, results: _Results, gap: Vector, draw: float) -> Slopes:
        """Return the derivatives of the log likelihood."""

    def row_log_likelihoods(self, results: _Results, gap: Vector, draw: float) -> Vector:
        """Return the parts of the log likelihood that depend on the gap, for each row."""

    def guess(self, rate: float) -> float:
        """Return the parameter for which equal engines draw at `rate` (below 1). For 0, return the limit."""

    def published(self, draw: float, unit: float) -> float:
        """Return the parameter as published: nu, or drawElo in points. One natural unit is `unit` points."""

    def natural(self, published: float, unit: float) -> float:
        """Return the parameter in natural units from its published value."""

    def point(self, draw: float) -> float:
        """Return the value of one point of the model in Elo points, for small rating gaps."""


def logistic(gap: Vector) -> Vector:
    """Return s(x), without overflow."""
    with np.errstate(over="ignore"):  # e^-x may overflow to inf, which gives 0
        return np.asarray(1 / (1 + np.exp(-gap)))


def softplus(gap: Vector) -> Vector:
    """Return ln(1+e^x) = -ln s(-x). This is four times as fast as logaddexp."""
    return np.asarray(np.maximum(gap, 0.0) + np.log1p(np.exp(-np.abs(gap))))


class _Logistic:
    """The logistic model. A draw counts as half a win, and the curvature is the same as for games without draws."""

    name = "logistic"
    draws = False

    def log_likelihood(self, results: _Results, gap: Vector, draw: float) -> float:
        return float(self.row_log_likelihoods(results, gap, draw).sum())

    def row_log_likelihoods(self, results: _Results, gap: Vector, draw: float) -> Vector:  # noqa: ARG002
        """Return points * x - games * ln(1+e^x) for each row."""
        return np.asarray(results.points * gap - results.games * softplus(gap))

    def slopes(self, results: _Results, gap: Vector, draw: float) -> Slopes:  # noqa: ARG002
        share = logistic(gap)
        expected = results.games * share
        return Slopes(results.points - expected, expected * (1 - share), np.zeros(len(gap)), 0.0, 0.0)

    def guess(self, rate: float) -> float:  # noqa: ARG002
        return 0.0

    def published(self, draw: float, unit: float) -> float:  # noqa: ARG002
        return draw

    def natural(self, published: float, unit: float) -> float:  # noqa: ARG002
        raise ValueError("the logistic model does not have a draw parameter")

    def point(self, draw: float) -> float:  # noqa: ARG002
        return 1.0


class _Davidson:
    """The model of Davidson. Its parameter is ln nu, which is -inf without draws."""

    name = "davidson"
    draws = True

    def log_likelihood(self, results: _Results, gap: Vector, draw: float) -> float:
        drawn = float(results.draws.sum())
        return float(self.row_log_likelihoods(results, gap, draw).sum()) + (drawn * draw if drawn else 0.0)

    def row_log_likelihoods(self, results: _Results, gap: Vector, draw: float) -> Vector:
        return np.asarray((results.wins - results.losses) * gap / 2 - results.games * _davidson_sum(gap, draw))

    def slopes(self, results: _Results, gap: Vector, draw: float) -> Slopes:
        """Return the derivatives. `lead` is P(win) - P(loss) of Davidson 1970."""
        games, whole = results.games, _davidson_sum(gap, draw)
        won, lost, drawn = np.exp(gap / 2 - whole), np.exp(-gap / 2 - whole), np.exp(draw - whole)
        lead, expected = won - lost, games * drawn
        return Slopes(
            score=(results.wins - results.losses - games * lead) / 2,
            curve=games * ((won + lost) - lead * lead) / 4,
            cross=-expected * lead / 2,
            draw_score=float((results.draws - expected).sum()),
            draw_curve=float((expected * (1 - drawn)).sum()),
        )

    def guess(self, rate: float) -> float:
        return log(2 * rate / (1 - rate)) if rate else -inf

    def published(self, draw: float, unit: float) -> float:  # noqa: ARG002
        return exp(draw)

    def natural(self, published: float, unit: float) -> float:  # noqa: ARG002
        return log(published)

    def point(self, draw: float) -> float:
        """Return the slope of the expected score between equal engines, divided by the slope of Elo's formula."""
        return 2 / (2 + exp(draw))


class _RaoKupper:
    """The model of Rao and Kupper. Its parameter is d, the gap below which neither side wins. It is 0 without draws."""

    name = "raokupper"
    draws = True

    def log_likelihood(self, results: _Results, gap: Vector, draw: float) -> float:
        """Return the log likelihood. A draw counts as a win and a loss, both shifted by d, times e^(2d) - 1."""
        drawn = float(results.draws.sum())
        if draw < 0 or (drawn and draw == 0):
            return -inf
        return float(self.row_log_likelihoods(results, gap, draw).sum()) + (
            drawn * _log_expm1(2 * draw) if drawn else 0.0
        )

    def row_log_likelihoods(self, results: _Results, gap: Vector, draw: float) -> Vector:
        ahead, behind = results.wins + results.draws, results.losses + results.draws
        return np.asarray(-ahead * softplus(draw - gap) - behind * softplus(draw + gap))

    def slopes(self, results: _Results, gap: Vector, draw: float) -> Slopes:
        """Return the derivatives. The curvature is the observed curvature, which depends on the results."""
        ahead, behind = results.wins + results.draws, results.losses + results.draws
        above, below = logistic(gap - draw), logistic(-gap - draw)
        up, down = ahead * (1 - above), behind * (1 - below)
        bent_up, bent_down = up * above, down * below
        drawn = float(results.draws.sum())
        shrunk = -expm1(-2 * draw) if drawn else 1.0  # 1 - e^(-2d)
        return Slopes(
            score=up - down,
            curve=bent_up + bent_down,
            cross=bent_down - bent_up,
            draw_score=2 * drawn / shrunk - float((up + down).sum()),
            draw_curve=float((bent_up + bent_down).sum()) + 4 * drawn * exp(-2 * draw) / shrunk**2,
        )

    def guess(self, rate: float) -> float:
        return log((1 + rate) / (1 - rate))

    def published(self, draw: float, unit: float) -> float:
        return draw * unit

    def natural(self, published: float, unit: float) -> float:
        return published / unit

    def point(self, draw: float) -> float:
        """Return 4t/(1+t)^2 with t = e^-d. BayesElo multiplies the displayed ratings by this factor."""
        return 1 / cosh(draw / 2) ** 2


def davidson_chances(gap: Vector, nu: Vector | float) -> tuple[Vector, Vector, Vector]:
    """Return the probabilities of win, draw and loss (Davidson 1970) for gaps of at most 1,400 natural units."""
    ahead = np.exp(gap / 2)
    behind = 1 / ahead
    whole = ahead + behind + nu
    return ahead / whole, nu / whole, behind / whole


def _davidson_sum(gap: Vector, draw: float) -> Vector:
    """Return ln(e^(x/2) + nu + e^(-x/2))."""
    half = np.abs(gap) / 2
    decided = half + np.log1p(np.exp(-2 * half))
    return np.asarray(decided + softplus(draw - decided)) if draw > -inf else np.asarray(decided)


def _log_expm1(value: float) -> float:
    """Return ln(e^v - 1) for v > 0, without overflow."""
    return value + log(-expm1(-value))


MODELS: dict[str, Model] = {model.name: model for model in (_Logistic(), _Davidson(), _RaoKupper())}

# A win and a loss between equal engines. They are added if all games are drawn, because the draw parameter would have
# no limit otherwise.
ONE_EACH = ResultColumns(np.ones(1), np.zeros(1), np.ones(1))


def drawn_rate(games: float, draws: float) -> float:
    """Return the share of draws. It is less than 1, because `ONE_EACH` is added if all games were drawn."""
    return draws / (games + 2) if draws == games else draws / games
