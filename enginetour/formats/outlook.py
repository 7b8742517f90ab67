"""What a goal costs: games until it is reached, estimated before and during an adaptive tournament, and its texts.

The estimates use the expected information of games between the ratings that are known now (`ratings/design.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log10, pi, sqrt
from statistics import NormalDist

import numpy as np

from enginetour.formats.pairing.schedule import MOST_GAMES
from enginetour.ratings.design import Goal, Posterior, Progress, Truths, information, progress
from enginetour.ratings.pairs import Vector
from enginetour.ratings.pentanomial import NORMAL_95

_SCATTER = 150.0  # Elo; assumed standard deviation of ratings that are not known (as in `simulation`)
_NORMAL = NormalDist()
_PAIR = 2  # games of a pair, the unit of `design`
_MEDIAN = 0.455  # median of the square of a standard normal variable
_HALVINGS = 8  # the number of games is known to less than one part in 256
_STEPS = 12  # points of the expected progress


@dataclass(frozen=True, slots=True)
class Outlook:
    """The goal as a text and its value (`shown` is its text) after `games` counted games.

    `left` is the expected number of games until the goal is reached, and `expected` has the values on the way by the
    number of games. `round_robin` is the number of games that are needed for the same value if all pairs that may meet
    (with `divisions`, those of different divisions) play equally often; None if it is not known.
    """

    goal: str
    shown: str
    games: int
    value: float
    wanted: float
    left: int
    expected: tuple[tuple[int, float], ...]
    round_robin: int | None
    divisions: bool = False


def outlook(goal: Goal, known: Posterior, course: Progress, before: Posterior, games: int) -> Outlook:
    """Return how far a goal is reached after `games` games, what is expected, and what a round robin would need.

    `before` is what was known before the first game. The round robin plays all pairs that may meet equally often and
    has the ratings that are known now.
    """
    value, each, able = float(course.reached), information(known), goal.meets(known.names)
    start, all_pairs = replace(known, covariance=before.covariance), _evenly(able, each)

    def robin(number: float) -> float:
        return float(progress(start.informed(number * all_pairs), goal).reached)

    left = expected_games(goal, known, course)
    way = _evenly(able if goal.kind in ("errors", "version") else course.doubt, each)
    steps = [] if not left else [left * step / _STEPS for step in range(1, _STEPS + 1)]
    ahead = [(games, value), *((games + n, float(progress(known.informed(n * way), goal).reached)) for n in steps)]
    return Outlook(
        goal=describe_goal(goal),
        shown=describe_value(goal, course),
        games=games,
        value=value,
        wanted=goal.wanted,
        left=left,
        expected=tuple((round(number), found) for number, found in ahead) if steps else (),
        round_robin=_games_for(value, robin, falls=goal.error is not None) if games else None,
        divisions=bool(goal.divisions),
    )


def expected_games(goal: Goal, known: Posterior, course: Progress) -> int:
    """Return an estimate of the games that the goal still needs after the counted games."""
    if bool(course.done):
        return 0
    each = information(known)
    if goal.error is not None:
        width, more = float(course.reached), len(known.names)
        pairs = course.doubt if goal.divisions else goal.meets(known.names)
        balanced = known.informed(more * _evenly(pairs, each))
        gained = float(progress(balanced, goal).reached) ** -2 - width**-2
        return round(more * (goal.error**-2 - width**-2) / max(gained, 1e-12))
    sure = _NORMAL.inv_cdf(goal.los or 0.5)
    difference, variance = known.differences()
    doubt = np.triu(course.doubt, 1)
    likely = difference[doubt] ** 2 + variance[doubt] * _MEDIAN  # the median of the squared true difference
    wanted = np.maximum(likely / sure**2, (goal.level / NORMAL_95) ** 2 if goal.top is None else 0.0)
    lacking = np.maximum(1 / wanted - 1 / variance[doubt], 0.0) / each[doubt]
    return round(_PAIR * float(lacking.sum()))


def doubts(goal: Goal, before: Posterior, games: int, prior_error: float | None, floor: int = 0) -> Iterator[str]:
    """Yield a sentence if this number of games cannot be expected to reach the goal, with what they reach.

    `before` is what is known before the first game, `prior_error` the standard error of given ratings, and `floor` the
    number of games that all entrants play in any case. The estimate assumes that every pair that may meet plays equally
    often, or for one entrant that it plays all games. Ratings that are not known are assumed to scatter by 150 Elo. For
    the first places, the sentence has the likelihood if the entrants next to the boundary play all games but these.
    """
    names, each = before.names, information(before)
    plans = [games * _evenly(goal.meets(names))]
    if goal.entrant is not None:
        at, star = names.index(goal.entrant), np.zeros(each.shape)
        star[at] = star[:, at] = games / _PAIR / (len(names) - 1)
        plans.append(star)
    after = [before.informed(plan * each) for plan in plans]
    if goal.error is not None:
        reach = min(float(progress(one, goal).reached) for one in after)
        if reach > goal.error:
            needed = games * (reach / goal.error) ** 2
            yield (
                f"{games} games reach about ± {reach:.0f} Elo, but the goal is ± {goal.error:g} Elo, which needs "
                f"about {_about(needed)} games"
            )
        return
    error, pairs = _error(after[0]), 1 if goal.top is not None else len(names) - 1
    undecided = _undecided(goal, before, error, prior_error)
    assumed = f"if the ratings scatter by {_SCATTER:g} Elo, " if prior_error is None else ""
    if undecided > pairs / 2 and goal.top is not None:
        first = before.informed(min(games, floor) * _evenly(goal.meets(names), each))
        alone = max(0, games - floor) / (goal.top if goal.ordered else 1)  # games at each boundary
        pair = _mean(each) / _PAIR * alone / 4  # information about the difference of two entrants, half of them each
        likely = 1 - _undecided(goal, before, min(error, (_error(first) ** -2 + pair) ** -0.5), prior_error)
        yield (
            f"{games} games {'may' if likely > 0.5 else 'will probably'} not reach the goal: {assumed}they decide the "
            f"first {goal.top} with a likelihood of about {100 * max(0.0, likely):.0f} %"
        )
    elif undecided >= 1:
        yield (
            f"{games} games will probably not reach the goal: {assumed}they leave about {undecided:.0f} of {pairs} "
            "neighbors in the list undecided"
        )


def _mean(pairs: Vector) -> float:
    """Return the mean of the values of all pairs."""
    return float(pairs[~np.eye(len(pairs), dtype=np.bool_)].mean())


def _error(known: Posterior) -> float:
    """Return the typical standard error of the difference between two entrants."""
    return sqrt(_mean(known.differences()[1]))


def _undecided(goal: Goal, before: Posterior, error: float, prior_error: float | None) -> float:
    """Return the expected number of neighbors (or of boundaries below the first places) that stay undecided.

    `error` is the standard error of a difference between two entrants.
    """
    count, sure = len(before.names), _NORMAL.inv_cdf(goal.los or 0.5)
    if goal.top is None and error * NORMAL_95 <= goal.level:
        return 0.0
    width = sure * error
    if prior_error is not None:
        modes = sorted(map(float, before.mode), reverse=True)
        gaps = [above - below for above, below in pairwise(modes)]
        gaps = gaps if goal.top is None else gaps[: goal.top] if goal.ordered else gaps[goal.top - 1 : goal.top]
        scatter = sqrt(2) * prior_error
        normals = [NormalDist(gap, scatter) for gap in gaps]
        return sum(one.cdf(width) - one.cdf(-width) for one in normals)
    if goal.top is None:  # pairs with a difference below `width`, of entrants with independent normal ratings
        return min(count - 1, count * (count - 1) / 2 * width / (_SCATTER * sqrt(pi)))
    bounds = range(1, goal.top + 1) if goal.ordered else (goal.top,)
    found = 0.0
    for place in bounds:  # the gap at a place is about exponential; its mean is 1 / (count * density)
        density = _NORMAL.pdf(_NORMAL.inv_cdf(place / count)) / _SCATTER
        found += 1 - float(np.exp(-width * count * density))
    return found


def describe_goal(goal: Goal) -> str:
    """Return the goal as a clause."""
    if goal.divisions:
        return f"the differences of neighboring divisions are known to ± {goal.error:g} Elo"
    if goal.entrant is not None:
        return f"the difference of {goal.entrant} to the others is known to ± {goal.error:g} Elo"
    if goal.error is not None:
        return f"every rating is known to ± {goal.error:g} Elo"
    sure = f"a likelihood of {100 * (goal.los or 0):g} %"
    if goal.top is not None:
        order = " in their order" if goal.ordered else ""
        return f"the first {goal.top}{order} are known with {sure}"
    return f"all neighbors in the list are separated or level (within {goal.level:g} Elo) with {sure}"


def describe_value(goal: Goal, course: Progress) -> str:
    """Return how far a goal is reached as a half-width or a likelihood."""
    value = float(course.reached)
    return f"± {value:.1f} Elo" if goal.error is not None else f"likelihood {100 * value:.1f} %"


def _evenly(pairs: Truths, each: Vector | float = 1.0) -> Vector:
    """Return the information per game if these pairs play equally often; `each` is that of a game pair."""
    pairs = pairs & ~np.eye(len(pairs), dtype=np.bool_)
    return np.asarray(np.where(pairs, each, 0.0) / max(1, pairs.sum()))


def _games_for(value: float, reach: Callable[[float], float], *, falls: bool) -> int | None:
    """Return the number of games after which `reach`, which falls or rises, has a value; None for too many games."""
    low, high = 0.0, 2.0
    while (reach(high) > value) if falls else (reach(high) < value):
        low, high = high, 2 * high
        if high > MOST_GAMES:
            return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if (reach(middle) > value) if falls else (reach(middle) < value):
            low = middle
        else:
            high = middle
    return round(high)


def _about(games: float) -> str:
    """Format a number of games with two significant digits."""
    digits = max(0, int(log10(max(games, 1))) - 1)
    return f"{round(games, -digits):,.0f}"
