"""Rating models (logistic, Davidson, Rao-Kupper): probabilities of win, draw and loss for a difference in strength.

x = gap in natural units; W, D, L: White's results in a row of games, n their sum; s(x) = 1/(1+e^-x)

model      probabilities                              draw parameter        source
logistic   s(x); a draw is half a win, half a loss    none                  Ordo's estimator
davidson   W : D : L = e^(x/2) : nu : e^(-x/2)        ln nu                 Davidson 1970
raokupper  W = s(x-d), L = s(-x-d), D the rest        d > 0                 Rao and Kupper 1967; BayesElo

All are concave in gaps and parameter together, so Newton's method finds the only maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cosh, exp, expm1, inf, log
from typing import Protocol

import numpy as np

from enginetour.ratings.pairs import Vector


class _Results(Protocol):
    """Hold counted games, one row per gap."""

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
    """Hold results in rows that do not belong to pairs of a pool."""

    wins: Vector
    draws: Vector
    losses: Vector

    @property
    def games(self) -> Vector:
        """Return the games in each row."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> Vector:
        """Return White's score in each row."""
        return self.wins + self.draws / 2


@dataclass(frozen=True, eq=False)
class Slopes:
    """Hold first and negative second derivatives of the log likelihood: per row in its gap, summed in the parameter."""

    score: Vector
    curve: Vector
    cross: Vector  # by gap and parameter
    draw_score: float
    draw_curve: float


class Model(Protocol):
    """Define a relation between strength and results; `draw` is the draw parameter in natural units, 0 if unused."""

    name: str
    draws: bool  # whether the model has a draw parameter

    def log_likelihood(self, results: _Results, gap: Vector, draw: float) -> float:
        """Return the log likelihood without constants; -inf for an impossible parameter."""

    def slopes(self, results: _Results, gap: Vector, draw: float) -> Slopes:
        """Return the derivatives of the log likelihood."""

    def row_log_likelihoods(self, results: _Results, gap: Vector, draw: float) -> Vector:
        """Return the parts of the log likelihood that depend on the gap, for each row."""

    def guess(self, rate: float) -> float:
        """Return the parameter at which equals draw at this rate (below 1); at 0 the limit without draws."""

    def published(self, draw: float, unit: float) -> float:
        """Return the parameter as published: nu, or drawElo in points (`unit` points per natural unit)."""

    def natural(self, published: float, unit: float) -> float:
        """Return the parameter in natural units from its published value."""

    def point(self, draw: float) -> float:
        """Return the Elo points that one point of the model is worth near equality."""


def logistic(gap: Vector) -> Vector:
    """Return s(x), without overflow."""
    with np.errstate(over="ignore"):  # e^-x may overflow to inf, which gives 0
        return np.asarray(1 / (1 + np.exp(-gap)))


def softplus(gap: Vector) -> Vector:
    """Return ln(1+e^x) = -ln s(-x); four times as fast as logaddexp."""
    return np.asarray(np.maximum(gap, 0.0) + np.log1p(np.exp(-np.abs(gap))))


class _Logistic:
    """Count a draw as half a win; the curvature is that of games without draws."""

    name = "logistic"
    draws = False

    def log_likelihood(self, results: _Results, gap: Vector, draw: float) -> float:
        return float(self.row_log_likelihoods(results, gap, draw).sum())

    def row_log_likelihoods(self, results: _Results, gap: Vector, draw: float) -> Vector:  # noqa: ARG002
        """Points won at gap x, all of them lost at ln(1+e^x)."""
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
    """Use the parameter ln nu, which is -inf without draws."""

    name = "davidson"
    draws = True

    def log_likelihood(self, results: _Results, gap: Vector, draw: float) -> float:
        drawn = float(results.draws.sum())
        return float(self.row_log_likelihoods(results, gap, draw).sum()) + (drawn * draw if drawn else 0.0)

    def row_log_likelihoods(self, results: _Results, gap: Vector, draw: float) -> Vector:
        return np.asarray((results.wins - results.losses) * gap / 2 - results.games * _davidson_sum(gap, draw))

    def slopes(self, results: _Results, gap: Vector, draw: float) -> Slopes:
        """Return the derivatives; `lead` is P(win) - P(loss) of Davidson 1970."""
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
        """Return the slope of the expected score at equality relative to Elo's."""
        return 2 / (2 + exp(draw))


class _RaoKupper:
    """Use the parameter d, the gap below which neither side wins; 0 without draws."""

    name = "raokupper"
    draws = True

    def log_likelihood(self, results: _Results, gap: Vector, draw: float) -> float:
        """A draw counts as a win and a loss, each shifted by d, times e^(2d) - 1."""
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
        """Return the derivatives; the curvature is the observed one, which depends on the results."""
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
        """Return 4t/(1+t)^2 with t = e^-d, the factor of the ratings that BayesElo shows."""
        return 1 / cosh(draw / 2) ** 2


def _davidson_sum(gap: Vector, draw: float) -> Vector:
    """Return ln(e^(x/2) + nu + e^(-x/2))."""
    half = np.abs(gap) / 2
    decided = half + np.log1p(np.exp(-2 * half))
    return np.asarray(decided + softplus(draw - decided)) if draw > -inf else np.asarray(decided)


def _log_expm1(value: float) -> float:
    """Return ln(e^v - 1) for v > 0, without overflow."""
    return value + log(-expm1(-value))


MODELS: dict[str, Model] = {model.name: model for model in (_Logistic(), _Davidson(), _RaoKupper())}

# Added to games that are all drawn, because nothing else limits the draw parameter: a win and a loss between equals.
ONE_EACH = ResultColumns(np.ones(1), np.zeros(1), np.ones(1))


def drawn_rate(games: float, draws: float) -> float:
    """Return the share of draws, below 1: if all games were drawn, `ONE_EACH` counts too."""
    return draws / (games + 2) if draws == games else draws / games
