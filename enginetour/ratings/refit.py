"""A likelihood list after one more game, from the ratings before it.

One game of thousands hardly bends the likelihood: steps by an inverse curvature of the ratings of some games ago (the
chord method) shrink a thousandfold each. Every game is brought into the inverse (Sherman and Morrison 1950). Where
steps shrink too slowly Newton's method takes over and the inverse is taken anew.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np

from enginetour.ratings.climb import RESIDUAL_DONE, STEP_ROUNDING, Problem, summit
from enginetour.ratings.curvature import DENSE_ENGINES
from enginetour.ratings.likelihood import Fit
from enginetour.ratings.models import Tally
from enginetour.ratings.pairs import Pairs, Vector

MOST_CHORDS = 20  # a Newton step and a new inverse cost five times as much
SHRINKING = 0.5  # of the last step; slower, the inverse is too old
WORN = 1e-10  # natural units, 2e-8 Elo: a smaller step that does not shrink is rounding, not an old inverse


@dataclass(frozen=True, eq=False)
class Followed:
    """A fit and an inverse curvature near it; None in pools for conjugate gradients.

    `folded`: the fit's pairs with one row for both colours, a third quicker to step over; None where colours matter.
    """

    fit: Fit
    inverse: Vector | None
    folded: Pairs | None

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
        if self.inverse is not None and problem.imagined == last.problem.imagined:
            folded = None if self.folded is None else _folded_with_game(self.folded, white, black, white_half_points)
            inverse, pull = _with_game(problem, last.at, self.inverse, white, black, white_half_points)
            reached = _chords(replace(problem, pairs=folded or pairs), last.at, inverse, pull)
            if reached is not None:
                return Followed(_moved(last, problem, *reached), inverse, folded)
        return follow(_moved(last, *summit(problem, last.at)))


def follow(fit: Fit) -> Followed:
    """From here on game by game."""
    colours_matter = fit.advantage_fitted or fit.advantage != 0
    if len(fit.names) > DENSE_ENGINES:
        return Followed(fit, None, None)
    return Followed(fit, fit.curvature.inverse(), None if colours_matter else fit.pairs.folded)


def _folded_with_game(folded: Pairs, white: str, black: str, white_half_points: int) -> Pairs:
    """The game turned to the side that has a row."""
    if white > black:
        return folded.with_game(black, white, 2 - white_half_points)
    return folded.with_game(white, black, white_half_points)


def _with_game(
    problem: Problem, at: Vector, inverse: Vector, white: str, black: str, white_half_points: int
) -> tuple[Vector, Vector]:
    """The inverse curvature with the game in it, and the game's gradient: all there is at the maximum before it."""
    names = problem.pairs.names
    ends = [bisect_left(names, white), bisect_left(names, black)]
    ahead = np.zeros(len(at))
    ahead[[*ends, -2]] = 1.0, -1.0, 1.0
    results = (np.array([float(white_half_points == points)]) for points in (2, 1, 0))
    slopes = problem.model.slopes(Tally(*results), np.array([ahead[:-1] @ at[:-1]]), float(at[-1]))
    pull = ahead * slopes.score[0]
    pull[-1] = slopes.draw_score
    away, bend = inverse @ ahead, float(slopes.curve[0])
    fresh = np.outer(away * (bend / (1 + bend * float(ahead @ away))), away)
    return np.subtract(inverse, fresh, out=fresh), pull


def _chords(problem: Problem, at: Vector, inverse: Vector, gradient: Vector) -> tuple[Vector, float, int] | None:
    """The maximum, its residual and the steps; None when the steps shrink too slowly.

    Done when the step ahead would be rounding: chords shrink by a factor only, so the last step's size is no bound.
    """
    step = inverse @ gradient
    moved = float(np.abs(step).max())
    for steps in range(1, MOST_CHORDS + 1):
        at, before = at + step, moved
        if problem.level_free:
            at[:-2] -= at[:-2].mean()
        gradient = problem.gradient(at)
        step = inverse @ gradient
        moved = float(np.abs(step).max())
        if moved < STEP_ROUNDING or SHRINKING * before < moved < WORN:
            residual = float(np.abs(gradient[problem.free]).max(initial=0.0))
            return (at, residual, steps) if residual < RESIDUAL_DONE else None
        if moved > SHRINKING * before:
            return None
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
        dependence=None,  # which games were paired is not followed
    )
