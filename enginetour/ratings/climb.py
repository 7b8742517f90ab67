"""The climb to the greatest likelihood: what is climbed, Newton's steps, and when there is no summit.

Natural units throughout: points times ln10/scale. Unknowns are the ratings, White's advantage, the draw parameter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from enginetour.model.errors import InputRefused
from enginetour.ratings.curvature import Curvature, curvature
from enginetour.ratings.models import Model, Slopes, Tally
from enginetour.ratings.pairs import Index, Pairs, Vector
from enginetour.ratings.priors import Belief

STEP_LIMIT = 4.0  # natural units, 695 Elo, by which a step may change a gap: from far away Newton overshoots
STEP_DONE = 1e-8  # natural units; Newton has squared its error once more by then
STEP_ROUNDING = 1e-12  # natural units: what double precision leaves of a step in large pools
RESIDUAL_DONE = 1e-9  # points per engine, ten times better than promised
UPHILL = 1e-9  # share of the log likelihood that is rounding
RUNAWAY = 30.0  # natural units: e^30 to one is no White advantage but a missing bound
DRAWISH = 12.0  # natural units of a draw parameter: all but one in 100,000 games of equals are drawn
MOST_STEPS = 1000  # far above any pool that has a maximum
LINE_STEPS = 2  # steps along one line (our choice): from level ratings the first still overshoots
PATIENCE = 15  # steps by conjugate gradients; a mesh takes 9, a chain of 3,000 versions 129
IDENTIFIED = 1e-9  # share of the curvature of advantage and draw parameter that ratings may not explain away
ONE_EACH = Tally(np.ones(1), np.zeros(1), np.ones(1))  # a win and a loss between equals: they bound the draws


class Undetermined(InputRefused):
    """The games have no likelihood maximum at finite ratings."""


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """What pools without a common game say of advantage and draw parameter: a parabola, their ratings following.

    `slope` and `bend` are those of their likelihood at `at`, 0 in what is held; `spread` is the variance of the slope.
    """

    at: Vector
    slope: Vector
    bend: Vector
    spread: Vector

    def height(self, extra: Vector) -> float:
        """Their log likelihood without constants."""
        off = self._off(extra)
        return float(off @ self.slope - off @ self.bend @ off / 2)

    def pull(self, extra: Vector) -> Vector:
        """Its gradient."""
        return np.asarray(self.slope - self.bend @ self._off(extra))

    @property
    def draws(self) -> bool:
        """The draw parameter is among them."""
        return bool(self.bend[1, 1] > 0)

    def _off(self, extra: Vector) -> Vector:
        return np.where(self.bend.any(axis=0), extra, self.at) - self.at


@dataclass(frozen=True, eq=False)
class Problem:
    """What is climbed, likelihood and prior, over the `free` unknowns: ratings, then advantage, then draw parameter."""

    pairs: Pairs
    model: Model
    belief: Belief
    free: Index
    level_free: bool
    imagined: bool  # ONE_EACH counts too
    elsewhere: Elsewhere | None = None

    def without_draws(self) -> Problem:
        """The same with the draw parameter held."""
        return replace(self, free=self.free[self.free <= len(self.pairs.names)])

    def folded(self, at: Vector) -> Problem:
        """The same with one row for both colours: where White has no advantage and enough pairs met in both to gain."""
        count = len(self.pairs.names)
        if at[-2] or count in self.free or len(self.pairs.white) <= count * (count - 1) / 2:
            return self
        return replace(self, pairs=self.pairs.folded)

    def gaps(self, at: Vector) -> Vector:
        """White's gap in each row."""
        return np.asarray(at[self.pairs.white] - at[self.pairs.black] + at[-2])

    def height(self, at: Vector) -> float:
        """Log likelihood plus log prior, without constants."""
        imagined = self.model.height(ONE_EACH, np.zeros(1), at[-1]) if self.imagined else 0.0
        beyond = 0.0 if self.elsewhere is None else self.elsewhere.height(at[-2:])
        return self.model.height(self.pairs, self.gaps(at), at[-1]) + self.belief.height(at[:-2]) + imagined + beyond

    def slopes(self, at: Vector) -> tuple[Vector, Curvature]:
        """Points scored beyond expectation, per engine and for White, the prior's pull with them; the curvature."""
        slopes = self.model.slopes(self.pairs, self.gaps(at), at[-1])
        if self.imagined:
            more = self.model.slopes(ONE_EACH, np.zeros(1), at[-1])
            draw = (slopes.draw_score + more.draw_score, slopes.draw_curve + more.draw_curve)
            slopes = Slopes(slopes.score, slopes.curve, slopes.cross, *draw)
        engines = self.pairs.per_engine(slopes.score, -slopes.score) + self.belief.pull(at[:-2])
        gradient = np.append(engines, (slopes.score.sum(), slopes.draw_score))
        bent = curvature(self.pairs, slopes, self.belief, at[:-2], self.free, level_free=self.level_free)
        if self.elsewhere is not None:
            gradient[-2:] += self.elsewhere.pull(at[-2:])
            bent = replace(bent, beyond=self.elsewhere.bend)
        return gradient, bent

    def gradient(self, at: Vector) -> Vector:
        """What `slopes` gives first, without the curvature."""
        score, draw_score = self.model.scores(self.pairs, self.gaps(at), float(at[-1]))
        if self.imagined:
            draw_score += self.model.scores(ONE_EACH, np.zeros(1), float(at[-1]))[1]
        engines = self.pairs.per_engine(score, -score) + self.belief.pull(at[:-2])
        extra = np.array((score.sum(), draw_score))
        return np.append(engines, extra if self.elsewhere is None else extra + self.elsewhere.pull(at[-2:]))

    def uphill(self, at: Vector, step: Vector, here: float) -> tuple[Vector, float]:
        """The step from height `here`, limited and halved until it leads uphill but for rounding; the new height."""
        bent = max(
            float(np.ptp(step[:-2]) + abs(step[-2])), abs(step[-1]), np.abs(step).max() * bool(self.belief.draws)
        )
        if bent > STEP_LIMIT:  # engines so far apart need not have met
            bent = max(
                np.abs(self.gaps(step)).max(initial=0.0), abs(step[-1]), np.abs(step).max() * bool(self.belief.draws)
            )
        step = step * (STEP_LIMIT / max(float(bent), STEP_LIMIT))
        while not (there := self.height(at + step)) >= here - UPHILL * (1 + abs(here)):
            step = step / 2
        return step, there


def summit(problem: Problem, at: Vector) -> tuple[Problem, Vector, float, int]:
    """As `climb`, with a win and a loss imagined where draws are bounded by nothing else.

    Without enough decided games gaps and draw parameter may grow together for ever: A drew and lost against B.
    """
    try:
        return problem, *climb(problem, at)
    except Undetermined:
        if problem.imagined or len(problem.pairs.names) + 1 not in problem.free:
            raise
    problem = replace(problem, imagined=True)
    return problem, *climb(problem, at)


def climb(problem: Problem, at: Vector) -> tuple[Vector, float, int]:
    """Newton's method: the maximum, its residual and the steps it took. Undetermined when there is none."""
    count = len(problem.pairs.names)
    fitted = count in problem.free
    height = problem.height(at)
    gradient, bent = problem.slopes(at)
    for steps in range(1, MOST_STEPS + 1):
        try:
            step, height = problem.uphill(at, bent.solve(gradient, dense=steps > PATIENCE), height)
        except np.linalg.LinAlgError:
            break
        at = at + step
        if problem.level_free:
            at[:-2] -= at[:-2].mean()
        if (fitted and abs(at[-2]) > RUNAWAY) or (
            count + 1 in problem.free and not problem.imagined and at[-1] > DRAWISH
        ):
            break
        gradient, bent = problem.slopes(at)
        residual, moved = float(np.abs(gradient[problem.free]).max(initial=0.0)), float(np.abs(step).max())
        if moved < STEP_DONE and (residual < RESIDUAL_DONE or moved < STEP_ROUNDING):
            if not identified(problem, bent):  # so far out that nothing moves any more
                break
            return at, residual, steps
    raise Undetermined(
        "these games put no bound on White's advantage" if fitted else "these games bound no ratings",
        step="give the advantage as a number" if fitted else "use a prior",
    )


def by_scores(problem: Problem, at: Vector) -> Vector:
    """A beginning: everybody as far from the others as its score says, stretched to the likeliest size.

    Five steps of Newton's method from there in a mesh of a thousand engines, eight from equal ratings (measured).
    """
    pairs, count = problem.pairs, len(problem.pairs.names)
    score = (pairs.scored + 0.5) / (pairs.played + 1)
    way = np.zeros(len(at))
    ratings = problem.free[problem.free < count]
    way[ratings] = np.log(score / (1 - score))[ratings]
    if problem.level_free:
        way[:-2] -= way[:-2].mean()
    height = problem.height(at)
    for _ in range(LINE_STEPS):
        gradient, bent = problem.slopes(at)
        bend = float(way @ bent.times(way))
        if not bend > 0:
            break
        step, height = problem.uphill(at, float(gradient @ way) / bend * way, height)
        at = at + step
    return at


def identified(problem: Problem, bent: Curvature) -> bool:
    """What remains of the curvature in advantage and draw parameter when the ratings follow them must be something."""
    extra = problem.free[problem.free >= len(problem.pairs.names)]
    try:
        return told_apart(*followed(problem, bent, extra)[1:])
    except np.linalg.LinAlgError:
        return False


def followed(problem: Problem, bent: Curvature, extra: Index) -> tuple[Vector, Vector, Vector]:
    """How all unknowns move with these ones beyond the ratings, when the free ratings follow.

    With the curvature that remains then, and the one on its diagonal when they do not follow. LinAlgError where they
    cannot.
    """
    count = len(problem.pairs.names)
    inner = bent.held(problem.free[problem.free < count])
    ways, own = np.zeros((len(extra), count + 2)), np.zeros(len(extra))
    rest = np.zeros((len(extra), len(extra)))
    for row, place in enumerate(extra.tolist()):
        ways[row, place] = 1.0
        column = bent.times(ways[row])
        own[row] = column[place]
        ways[row] -= inner.solve_exactly(column)
        rest[row] = bent.times(ways[row])[extra]
    return ways, rest, own


def told_apart(rest: Vector, own: Vector) -> bool:
    """Whether enough of the curvature `own` remains when the ratings follow."""
    if not (own > 0).all():
        return not len(own)
    return bool(np.linalg.eigvalsh(rest / np.sqrt(np.outer(own, own))).min(initial=1.0) > IDENTIFIED)
