"""A likelihood list after one more game, from the ratings before it.

One game of thousands hardly bends the likelihood: steps by an inverse curvature of some games ago (the chord method)
shrink a thousandfold each. Where they do not, Newton's method takes over and the inverse is taken anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from enginetour.ratings.curvature import DENSE_ENGINES
from enginetour.ratings.likelihood import RESIDUAL_DONE, STEP_DONE, Fit, Problem, summit
from enginetour.ratings.pairs import Vector

MOST_CHORDS = 6  # a Newton step and its curvature cost as much
SHRINKING = 0.1  # of the last step; slower, the inverse is too old


@dataclass(frozen=True, eq=False)
class Followed:
    """A fit and an inverse curvature near it; None in pools for conjugate gradients."""

    fit: Fit
    inverse: Vector | None

    def after(self, white: str, black: str, white_half_points: int) -> Followed:
        """The same list one game later; this one stays as it is.

        ValueError where the fit must be made anew: an engine it does not know, the first draw of a model that counts
        draws, virtual draws, which change with every game.
        """
        last = self.fit
        pairs = last.pairs.with_game(white, black, white_half_points)
        first_draw = last.problem.model.draws and white_half_points == 1 and not last.pairs.draws.any()
        if last.problem.pairs is not last.pairs or first_draw:
            raise ValueError("this game needs a new fit")
        drawn_only = last.draw_fitted and pairs.draws.sum() == pairs.games.sum()
        problem = replace(last.problem, pairs=pairs, imagined=bool(drawn_only))
        reached = None
        if self.inverse is not None and problem.imagined == last.problem.imagined:
            reached = _chords(problem, last.at, self.inverse)
        if reached is not None:
            return Followed(_moved(last, problem, *reached), self.inverse)
        return follow(_moved(last, *summit(problem, last.at)))


def follow(fit: Fit) -> Followed:
    """From here on game by game."""
    return Followed(fit, fit.curvature.inverse() if len(fit.names) <= DENSE_ENGINES else None)


def _chords(problem: Problem, at: Vector, inverse: Vector) -> tuple[Vector, float, int] | None:
    """The maximum, its residual and the steps; None when the steps shrink too slowly."""
    before = np.inf
    gradient = problem.slopes(at)[0]
    for steps in range(1, MOST_CHORDS + 1):
        step = inverse @ gradient
        moved = float(np.abs(step).max())
        if moved > SHRINKING * before:
            return None
        at, before = at + step, moved
        if problem.level_free:
            at[:-2] -= at[:-2].mean()
        gradient = problem.slopes(at)[0]
        residual = float(np.abs(gradient[problem.free]).max(initial=0.0))
        if moved < STEP_DONE and residual < RESIDUAL_DONE:
            return at, residual, steps
    return None


def _moved(last: Fit, problem: Problem, at: Vector, residual: float, steps: int) -> Fit:
    fixed = list(last.fixed)
    ratings = at[:-2] * last.unit
    ratings[fixed] = last.ratings[fixed]
    return replace(
        last,
        pairs=problem.pairs,
        problem=problem,
        at=at,
        ratings=ratings,
        advantage=float(at[-2]) * last.unit if last.advantage_fitted else last.advantage,
        draw=problem.model.told(float(at[-1]), last.unit) if last.draw_fitted else last.draw,
        residual=residual,
        steps=steps,
    )
