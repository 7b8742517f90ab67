"""What to play next: the encounters that reduce the errors of a rating list most per hour of play.

The next encounter is the one with the largest gain of `design` for the goal `errors`, divided by the expected duration
of its games. After each choice, the covariance is that of the list with these games, so that the next choice counts
them. If rating pools never met, only encounters between two pools are chosen until all pools are connected.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from enginetour.model.errors import UsageRefused
from enginetour.ratings.connectivity import pools
from enginetour.ratings.design import Goal, Posterior, gains, information, posterior
from enginetour.ratings.pairs import Pairs, Vector
from enginetour.ratings.pentanomial import NORMAL_95
from enginetour.ratings.priors import GaussianPrior

MOST_ENGINES = 1000  # engines; the matrices of more take seconds for each choice
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(7)
_SHARES = _SHARES / _SHARES.sum()
_SHORTEST_S = 1e-3  # seconds; the duration of a game that took no time, or of all games if durations are not known
_ERRORS = Goal(error=1.0)  # the size of the error has no effect on the gains
_CHOSEN = 5  # encounters of a suggestion


@dataclass(frozen=True, slots=True)
class Encounter:
    """An encounter to play. Ratings and errors are in Elo; errors are half-widths of 95 % intervals.

    `pools` are the numbers of the two pools that it connects, or None. `gap` is the rating of `one` minus that of
    `other`. `errors` and `errors_after` are those of both engines, relative to the average of all engines; `mean_after`
    is the mean error of all engines. The values after the encounter count this one and the earlier ones. `seconds` is
    the expected duration of its games, or None if it is not known.
    """

    one: str
    other: str
    games: int
    pools: tuple[int, int] | None
    gap: float
    errors: tuple[float, float]
    errors_after: tuple[float, float]
    mean_after: float
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The encounters to play next, the mean error of all engines before them, and the rating pools of the list."""

    encounters: tuple[Encounter, ...]
    engines: int
    mean: float
    pools: tuple[tuple[str, ...], ...]


def suggest_encounters(
    pairs: Pairs,
    *,
    seconds: Mapping[str, float],
    usual: float | None = None,
    games: int = 20,
    among: Collection[str] | None = None,
) -> Suggestion:
    """Choose the encounters that reduce the errors of a list most per hour, the first one first.

    Args:
        pairs: the games of the list.
        seconds: mean duration of a game of each engine; an engine without a value has `usual`.
        usual: mean duration of a game, or None if durations are not known; then the gain per game decides.
        games: number of games of each encounter, even.
        among: engines that can play; None for all.

    Raises:
        UsageRefused: The list has fewer than two engines that can play, or more than `MOST_ENGINES` engines.
    """
    names = pairs.names
    if len(names) > MOST_ENGINES:
        step = "select fewer engines, for example with --engine or --min-games"
        raise UsageRefused(f"the list must have at most {MOST_ENGINES:,} engines (found {len(names):,})", step=step)
    here = np.array([among is None or name in among for name in names], dtype=np.bool_)
    if here.sum() < 2:
        step = "list the engine files with enginetour engines list" if among is not None else "import or play games"
        raise UsageRefused(f"two engines must be able to play (found {here.sum()})", step=step)
    known = posterior(names, pairs.dense(), GaussianPrior())
    found = pools(pairs) + tuple((name,) for name, games in zip(names, pairs.played, strict=True) if not games)
    pool_of = _numbers(names, found)
    own = np.maximum([seconds.get(name, usual or _SHORTEST_S) for name in names], _SHORTEST_S)
    each = games * (own[:, None] + own[None, :]) / 2
    open_ = here[:, None] & here[None, :] & ~np.eye(len(names), dtype=np.bool_)
    before, part, chosen = errors_of(known), pool_of.copy(), list[Encounter]()
    mean = float(before.mean())
    while len(chosen) < _CHOSEN and open_.any():
        apart = open_ & (part[:, None] != part[None, :])
        wanted = apart if apart.any() else open_
        worth = np.where(wanted, gains(known, _ERRORS) / each, -1.0)
        i, j = sorted(divmod(int(worth.argmax()), len(names)), key=lambda at: -known.mode[at])
        known = _with_games(known, i, j, games)
        after = errors_of(known)
        one, other = sorted((int(pool_of[i]) + 1, int(pool_of[j]) + 1))
        joined = (one, other) if part[i] != part[j] else None
        part[part == part[j]] = part[i]
        open_[i, j] = open_[j, i] = False
        chosen.append(
            Encounter(
                names[i],
                names[j],
                games,
                joined,
                float(known.mode[i] - known.mode[j]),
                (float(before[i]), float(before[j])),
                (float(after[i]), float(after[j])),
                float(after.mean()),
                None if usual is None else float(each[i, j]),
            )
        )
        before = after
    return Suggestion(tuple(chosen), len(names), mean, found)


def _numbers(names: tuple[str, ...], found: tuple[tuple[str, ...], ...]) -> Vector:
    """Return the number of the pool of each engine, from 0."""
    number = {name: place for place, pool in enumerate(found) for name in pool}
    return np.array([number[name] for name in names])


def errors_of(known: Posterior) -> Vector:
    """Return the half-width of the 95 % interval of each engine in Elo, relative to the average of all."""
    return np.asarray(NORMAL_95 * np.sqrt(known.variances()))


def _with_games(known: Posterior, i: int, j: int, games: int) -> Posterior:
    """Return the expected posterior after an encounter: its covariance with the expected information of the games.

    The information is the average over the possible differences of the two ratings (Gauss and Hermite), because games
    between engines that are farther apart than expected tell less.
    """
    moved = known.covariance[:, i] - known.covariance[:, j]
    variance = float(moved[i] - moved[j])
    gaps = known.mode[i] - known.mode[j] + variance**0.5 * _NODES
    two = replace(
        known,
        names=(known.names[i], known.names[j]),
        mode=np.stack((gaps, np.zeros_like(gaps)), axis=-1),
        draw=np.full_like(gaps, known.draw),
        advantage=np.full_like(gaps, known.advantage),
    )
    weight = float(_SHARES @ information(two)[:, 0, 1]) * games / 2
    return replace(known, covariance=known.covariance - np.outer(moved, moved) * (weight / (1 + weight * variance)))
