"""The variance that results really have: the middle of the sandwich H^-1 V H^-1 (Huber 1967), model by model.

In the logistic model draws narrow it; its draw probability follows Davidson 1970. Games that share an opening
narrow or widen it by the ratio that their pair scores show.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from enginetour.ratings.curvature import Curvature
from enginetour.ratings.likelihood import Fit
from enginetour.ratings.models import chance
from enginetour.ratings.openingpairs import PAIR_POINTS, OpeningPairs, Surprise
from enginetour.ratings.pairs import Pairs, Vector


@dataclass(frozen=True, slots=True, eq=False)
class Middle:
    """V: built like a curvature, but for White's advantage, which adds up what ratings cancel."""

    bent: Curvature
    draw_rate: float  # between equals
    advantage: float  # more than `bent` has in the advantage's own place; never less, so that no variance is negative

    def matrix(self) -> Vector:
        """Dense, of all unknowns."""
        matrix = self.bent.matrix()
        matrix[-2, -2] += self.advantage
        return matrix

    def square(self, response: Vector) -> float:
        """The quadratic form, without building the matrix."""
        return float(response @ self.bent.times(response) + self.advantage * response[-2] ** 2)


def middle_of(fit: Fit) -> Middle | None:
    """None where it is the curvature itself: davidson and raokupper know draws, and no games are paired."""
    depends = fit.dependence
    if fit.model != "logistic" and depends is None:
        return None
    rows = fit.curvature.rows
    if fit.model == "logistic":
        share = chance(fit.lean.gaps(fit.at))
        rate = draw_rate_of_equals(fit.lean.pairs, share)
        rows = rows - fit.lean.pairs.games * expected_draws(share, rate) / 4
    else:
        rate = draw_rate(fit)
    beyond = None if fit.problem.elsewhere is None else fit.problem.elsewhere.spread
    if depends is None:
        return Middle(replace(fit.curvature, rows=rows, beyond=beyond, level_free=False), rate, 0.0)
    games = fit.problem.pairs.games
    own = float(rows @ (depends.paired / games)) * max(0.0, 2 - 2 * depends.ratio)
    wide = depends.widened(games)
    # What results say of the gap scatters by the ratio, what they say of draws does not: between the two its root.
    cross = fit.curvature.cross * np.sqrt(wide)
    return Middle(replace(fit.curvature, rows=rows * wide, cross=cross, beyond=beyond, level_free=False), rate, own)


def surprise_of(fit: Fit, openings: OpeningPairs) -> Surprise:
    """How the scores of a fit's opening pairs spread about their expectation."""
    number = openings.counts.sum(axis=1)
    if not number.any():
        return Surprise()
    gap = fit.at[openings.one] - fit.at[openings.other]
    means, variances = moments(fit, gap + np.array([[1.0], [-1.0]]) * fit.at[-2])  # with White, with Black
    off = PAIR_POINTS - means.sum(axis=0)[:, None]
    variance, pairs = float(number @ variances.sum(axis=0)), int(number.sum())
    fitted = _fitted(fit, openings.in_rows(fit.problem.pairs))
    return Surprise(float((openings.counts * off**2).sum()), variance * max(0.0, 1 - fitted / pairs), variance, pairs)


def moments(fit: Fit, gap: Vector) -> tuple[Vector, Vector]:
    """Mean and variance of White's score in one game at each gap."""
    if fit.model == "logistic":
        share = chance(gap)
        return share, share * (1 - share) - expected_draws(share, draw_rate(fit)) / 4
    draw = float(fit.at[-1])
    if fit.model == "davidson":
        half = np.exp(np.stack((gap, -gap)) / 2)
        won, lost = half / (half.sum(axis=0) + np.exp(draw))
    else:
        won, lost = chance(gap - draw), chance(-gap - draw)
    lead = won - lost
    return (1 + lead) / 2, (won + lost - lead**2) / 4


def draw_rate(fit: Fit) -> float:
    """Between equals without White's advantage."""
    if fit.model == "logistic":
        return draw_rate_of_equals(fit.lean.pairs, chance(fit.lean.gaps(fit.at)))
    draw = float(fit.at[-1])
    return float(np.exp(draw) / (2 + np.exp(draw)) if fit.model == "davidson" else np.tanh(draw / 2))


def expected_draws(share: Vector, draw_rate: float) -> Vector:
    """Draw probability at each expected score, by the relation of Davidson 1970; `draw_rate` is that of equals."""
    return _draws(4 * share * (1 - share), draw_rate)


def _draws(even: Vector, draw_rate: float) -> Vector:
    """`expected_draws` from how even a game is: 1 between equals."""
    if not draw_rate:
        return np.zeros_like(even)
    bend = (1 - 2 * draw_rate) / draw_rate**2
    draws: Vector = even / (1 + np.sqrt(np.maximum(0.0, 1 + bend * even)))
    return draws


def draw_rate_of_equals(pairs: Pairs, share: Vector) -> float:
    """The rate at which the expected number of draws is the one counted, by secants in a bracket.

    An end that stays is weighed down as by Anderson and Bjorck 1973.
    At most that of nothing but draws, a win and a loss imagined: else ratings would be certain.
    """
    games, target = float(pairs.games.sum()), float(pairs.draws.sum())
    most, even = games / (games + 2), 4 * share * (1 - share)

    def excess(rate: float) -> float:
        return float(pairs.games @ _draws(even, rate)) - target

    low, high, below, above = 0.0, most, -target, excess(most)
    if target <= 0 or above <= 0:
        return 0.0 if target <= 0 else most
    side = 0
    while high - low > 1e-13:
        rate = (low * above - high * below) / (above - below)
        found = excess(rate)
        if abs(found) <= 1e-12 * games:
            return rate
        if found > 0:
            high, above, below, side = rate, found, below * _less(found / above) if side > 0 else below, 1
        else:
            low, below, above, side = rate, found, above * _less(found / below) if side < 0 else above, -1
    return (low + high) / 2


def _less(fall: float) -> float:
    """What an end of the bracket that stays is weighed down by, when the other one fell to this share."""
    return 1 - fall if fall < 1 else 0.5


def _fitted(fit: Fit, paired: Vector) -> float:
    """How many pair scores the ratings were fitted to: the trace of the paired games' share of the curvature.

    Reckoned by the share all paired games have together, which is exact when all are; a prior takes its own share.
    """
    bent, rated = fit.problem.slopes(fit.at)[1], fit.problem.free[fit.problem.free < len(fit.names)]
    own = bent.pairs.per_engine(bent.rows, bent.rows)[rated]
    known = float((own / (own + bent.stiff[rated])).sum()) - fit.level_free
    return known * float(bent.rows @ (paired / bent.pairs.games)) / float(bent.rows.sum())
