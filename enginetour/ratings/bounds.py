"""Bounds of a rating by its profile likelihood, for few games and extreme scores where plus and minus differ.

An engine's own games count exactly, all others by their curvature; its closest opponents move on their own, the
others follow linearly. Advantage and draw parameter are held fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from enginetour.ratings.likelihood import Fit
from enginetour.ratings.models import Model, Tally
from enginetour.ratings.pairs import Index, Vector

NORMAL_95 = 1.959964  # 97.5 % point of the normal distribution
EXTREME_SCORE = 0.05  # of the score, from either end: the normal approximation is lopsided
CLOSE_OPPONENTS = 50  # re-rated one by one in a bound; further ones follow them linearly
LONGEST_STRIDE = 2.0  # natural units in one step to a bound, 347 Elo
BOUND_DONE = 1e-9  # natural units, and log likelihood
MOST_STRIDES = 200  # a bound further away than 400 natural units is none


def profile(fit: Fit, near: Sequence[int] | Index, inverse: Vector, narrowed: float) -> tuple[float, float] | None:
    """Distances down and up in points, by the steps of Venzon and Moolgavkar 1988; None without end.

    `near`: the engine, then its closest opponents; `inverse`: their columns of the inverse curvature. Draws narrow
    the bounds as they narrow the errors, but for an engine near 0 or 100 %, whose own few draws say little.
    """
    star, direction = _star(fit, np.asarray(near, dtype=np.intp), inverse)
    place = near[0]
    score = fit.pairs.scored[place] / fit.pairs.played[place] if fit.pairs.played[place] else 0.5
    extreme = not EXTREME_SCORE <= score <= 1 - EXTREME_SCORE
    drop = NORMAL_95**2 / 2 * (1.0 if extreme else narrowed)
    down, up = (_reach(star, direction, drop, side) for side in (-1.0, 1.0))
    return None if down is None or up is None else (-down * fit.unit, up * fit.unit)


@dataclass(frozen=True, eq=False)
class _Star:
    """The log likelihood near the maximum.

    `moves` turns the deviations of the close ones (the engine first) into those of both ends of its games.
    """

    model: Model
    draw: float
    results: Tally
    gaps: Vector
    moves: Vector
    rest: Vector

    def at(self, off: Vector) -> tuple[float, Vector, Vector]:
        """Fall of the log likelihood, its gradient and negative Hessian at deviations `off`."""
        start = self.model.slopes(self.results, self.gaps, self.draw)
        moved = self.gaps + self.moves @ off
        there = self.model.slopes(self.results, moved, self.draw)
        heights = (self.model.row_heights(self.results, gaps, self.draw) for gaps in (self.gaps, moved))
        before, after = heights
        fall = (after - before - start.score * (moved - self.gaps)).sum()
        gradient = self.moves.T @ (there.score - start.score) - self.rest @ off
        return float(fall - off @ self.rest @ off / 2), gradient, self.rest + (self.moves.T * there.curve) @ self.moves


def _star(fit: Fit, near: Index, inverse: Vector) -> tuple[_Star, Vector]:
    """The engine's games seen from its side, and the direction of its rating against the average or anchor."""
    pairs, place = fit.problem.pairs, int(near[0])
    mine = (pairs.white == place) | (pairs.black == place)
    as_white = pairs.white[mine] == place
    sign = np.where(as_white, 1.0, -1.0)
    others = np.where(as_white, pairs.black[mine], pairs.white[mine])
    own = Tally(
        np.where(as_white, pairs.wins[mine], pairs.losses[mine]),
        pairs.draws[mine],
        np.where(as_white, pairs.losses[mine], pairs.wins[mine]),
    )
    gaps = sign * fit.problem.gaps(fit.at)[mine]
    inside = inverse[near]
    direction = np.zeros(len(near))
    direction[0] = 1.0
    if len(near) == len(fit.names) and not fit.fixed:  # everybody is close: the average must be held by hand
        inside = inside + np.trace(inside) / len(near) ** 2
        direction -= 1 / len(near)
    whole = np.linalg.inv(inside)
    moves = -(inverse[others] @ whole)
    known = {int(name): column for column, name in enumerate(near)}
    for row, other in enumerate(others.tolist()):
        if other in known:
            moves[row] = 0.0
            moves[row, known[other]] = -1.0
    moves[:, 0] += 1.0
    model, draw = fit.problem.model, float(fit.at[-1])
    rest = whole - (moves.T * model.slopes(own, gaps, draw).curve) @ moves
    return _Star(model, draw, own, gaps, moves, rest), direction


def _reach(star: _Star, direction: Vector, drop: float, side: float) -> float | None:
    """Furthest deviation along `direction` where the likelihood has fallen by `drop`; natural units."""
    off, stride = np.zeros(len(direction)), np.zeros(len(direction))
    for _ in range(MOST_STRIDES):
        fall, gradient, hessian = star.at(off)
        try:
            home, away = np.linalg.solve(hessian, np.stack((gradient, direction), axis=1)).T
        except np.linalg.LinAlgError:  # so far out that no result would surprise: halfway back
            stride = stride / 2
            off = off - stride
            continue
        room = 2 * (fall + drop + gradient @ home / 2) / (direction @ away)
        stride = home + side * sqrt(max(0.0, float(room))) * away
        if np.abs(stride).max() < BOUND_DONE and abs(fall + drop) < BOUND_DONE:
            return float(direction @ off)
        stride = stride * min(1.0, LONGEST_STRIDE / max(float(np.abs(stride).max()), LONGEST_STRIDE))
        off = off + stride
    return None
