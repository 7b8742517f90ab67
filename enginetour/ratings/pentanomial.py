"""Match statistics (Elo, error, LOS, nElo) from trinomial or pentanomial counts.

Counts are ordered from the worst to the best outcome. Trinomial counts are losses, draws and wins. Pentanomial counts
are pairs with 0, 1/2, 1, 3/2 and 2 points. The two games of a pair share their opening and are not independent, so one
pair is one observation, and errors are calculated from pairs. Source: Van den Bergh's notes on sequential tests
(fishtest).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import log, log10, nan, sqrt
from operator import mul
from statistics import NormalDist

ELO_SCALE = 400.0  # Elo 1978: points for an expected ratio of ten to one
NORMAL_95 = 1.959964  # 97.5 % point of the normal distribution
FEW_GAMES = 20  # observations; with fewer, the true interval is too asymmetric for a normal approximation
EXTREME_SCORE = 0.05  # if a score is this close to 0 or 1, the true interval is too asymmetric, too
_EMPTY = 0.001  # count used for an empty class (Van den Bergh, fishtest), so that logarithms are finite
GAME_CLASSES, PAIR_CLASSES = 3, 5
NELO_UNIT = 800 / log(10)  # nElo per unit of (score - 1/2)/sd of a game: Elo's slope at equality (Van den Bergh)
_ROOT_DONE = 1e-15  # relative change of the multiplier; limit of double precision
_MOST_HALVINGS = 200  # steps; more than the root search ever needs
_BOUND_DONE = 1e-12  # accuracy of an end of an interval, as a score
_NEARLY = 1.5  # the exact error is never smaller than the quick estimate divided by this factor (tested)

Counts = Sequence[float]


@dataclass(frozen=True, slots=True)
class MatchStatistics:
    """The statistics of a match. `elo` and `nelo` are None if they are infinite.

    `low` and `high` are the ends of the 95 % interval in Elo. An end is None if the interval is unlimited. `error` is
    half the width of this interval, or None if `by_profile` is true. `by_profile` is true for few observations, a
    score near 0 or 1, or only one kind of outcome. Then `low`, `high` and `los` are computed from the profile
    likelihood instead of a normal distribution.
    """

    observations: int
    score: float  # share of the possible points, 0 to 1
    elo: float | None
    error: float | None
    low: float | None
    high: float | None
    los: float
    nelo: float | None
    nelo_error: float | None  # 95 %, by the delta method; includes the uncertainty of the estimated variance
    by_profile: bool


def statistics_of(counts: Counts) -> MatchStatistics:
    """Compute Elo with error, likelihood of superiority and nElo of one match. Raise ValueError without games."""
    observations = round(sum(counts))
    if not observations:
        raise ValueError("a match without games has no statistics")
    each, number, chances = games_each(counts), sum(regularized(counts)), shares(counts)
    score, variance = moments(chances)
    deviation = sqrt(variance / number)
    met = [place for place, count in enumerate(counts) if count]
    only_losses, only_wins = met[-1] == 0, met[0] == len(counts) - 1
    los, error, ends = NormalDist().cdf((score - 0.5) / deviation), None, _normal_interval(counts)
    if ends is None:
        low, high, los = _profile(counts, score)
    else:
        low, high = ends
        error = (elo_of(high) - elo_of(low)) / 2
    spreads = (score - 0.5) / sqrt(variance)
    made = sum(count * place for place, count in enumerate(counts)) / (len(counts) - 1) / observations
    return MatchStatistics(
        observations=observations,
        score=made,
        elo=None if only_losses or only_wins else elo_of(made),  # without `_EMPTY` in empty classes
        error=error,
        low=None if only_losses else elo_of(low),
        high=None if only_wins else elo_of(high),
        los=los,
        nelo=None if len(met) == 1 else spreads / sqrt(each) * NELO_UNIT,
        nelo_error=None if len(met) == 1 else NORMAL_95 * NELO_UNIT * sqrt(_spread(chances, spreads) / each / number),
        by_profile=ends is None,
    )


def error_of(counts: Counts) -> float | None:
    """Return half the width of the 95 % interval in Elo, or None if one side got all points.

    For extreme scores and few games the interval is that of the profile likelihood, as in `statistics_of`.
    """
    if not any(counts[:-1]) or not any(counts[1:]):
        return None
    low, high = _normal_interval(counts) or _profile(counts, _mean(counts)[0])[:2]
    return (elo_of(high) - elo_of(low)) / 2


def is_error_at_most(error: float, counts: Counts) -> bool:
    """Return whether `error_of` is at most `error`. The exact error is not computed if an estimate is far too large."""
    score, deviation = _mean(counts)
    slope = ELO_SCALE / log(10) / (score * (1 - score))  # Elo per unit of score
    if NORMAL_95 * deviation * slope > _NEARLY * error:
        return False
    found = error_of(counts)
    return found is not None and found <= error


def score_of(elo: float) -> float:
    """Return the expected score for an Elo difference."""
    return 1 / (1 + 10 ** (-elo / ELO_SCALE))


def elo_of(score: float) -> float:
    """Return the Elo difference for an expected score, which must be above 0 and below 1."""
    return -ELO_SCALE * log10(1 / score - 1)


def games_each(counts: Counts) -> int:
    """Return the number of games per observation: 1 for three counts, 2 for five. Raise ValueError for other counts."""
    if len(counts) not in (GAME_CLASSES, PAIR_CLASSES) or min(counts) < 0:
        raise ValueError(f"expected three or five counts, none below 0, found {list(counts)}")
    return (len(counts) - 1) // 2


def regularized(counts: Counts) -> list[float]:
    """Return the counts, with the small value `_EMPTY` instead of 0 for empty classes."""
    return [count or _EMPTY for count in counts]


def shares(counts: Counts) -> list[float]:
    """Return the share of each class. Empty classes have a small share above 0."""
    regular = regularized(counts)
    number = sum(regular)
    return [count / number for count in regular]


def moments(chances: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the variance of the score of one observation. Scores are between 0 and 1."""
    top = len(chances) - 1
    mean = sum(chance * place for place, chance in enumerate(chances)) / top
    return mean, sum(chance * (place / top - mean) ** 2 for place, chance in enumerate(chances))


def tilted(chances: Sequence[float], values: Sequence[float]) -> list[float]:
    """Return the most likely probabilities p_i, given the shares `chances`, for which the mean of `values` is 0.

    p_i is chances_i/(1 + theta value_i). Every p_i is at most 1, which limits theta to a bracket. Newton's method finds
    theta inside this bracket. Raises ValueError unless `values` contain a number below 0 and a number above 0.
    """
    if not min(values) < 0 < max(values):
        raise ValueError("the average of these values cannot be 0")
    low = max((seen - 1) / value for seen, value in zip(chances, values, strict=True) if value > 0)
    high = min((seen - 1) / value for seen, value in zip(chances, values, strict=True) if value < 0)
    theta = 0.0
    for _ in range(_MOST_HALVINGS):
        shares = [value / (1 + theta * value) for value in values]
        parts = [*map(mul, chances, shares)]
        height, slope = sum(parts), sum(map(mul, parts, shares))
        if height > 0:
            low = theta
        else:
            high = theta
        following = theta + height / slope
        if not low <= following <= high:
            following = (low + high) / 2
        moved, theta = abs(following - theta), following
        if moved <= _ROOT_DONE * (1 + abs(theta)):
            break
    return [seen / (1 + theta * value) for seen, value in zip(chances, values, strict=True)]


def at_score(chances: Sequence[float], score: float) -> list[float]:
    """Return the most likely probabilities, given the shares `chances`, with the mean score `score` (0 < score < 1)."""
    top = len(chances) - 1
    return tilted(chances, [place / top - score for place in range(top + 1)])


def log_ratio(counts: Counts, one: Sequence[float], other: Sequence[float]) -> float:
    """Return the logarithm of the likelihood of the counts under `one` divided by that under `other`."""
    return sum(count * log(p / q) for count, p, q in zip(counts, one, other, strict=True))


def pair_half_points(games: Iterable[tuple[Hashable, int]]) -> list[int]:
    """Return the half points (0 to 4) of every complete pair, in the order in which the pairs were completed.

    A game is (key that the two games of a pair share, half points of one side). A third game with the same key starts
    another pair.
    """
    waiting: dict[Hashable, int] = {}
    found = []
    for key, half_points in games:
        if key in waiting:
            found.append(waiting.pop(key) + half_points)
        else:
            waiting[key] = half_points
    return found


def class_counts(outcomes: Iterable[int], classes: int) -> tuple[int, ...]:
    """Return how often each outcome occurred, from the worst outcome (0) to the best (`classes` - 1)."""
    counts = [0] * classes
    for outcome in outcomes:
        counts[outcome] += 1
    return tuple(counts)


def tally_match(
    games: Sequence[tuple[Hashable, int]],
) -> tuple[tuple[int, ...], tuple[int, ...] | None, list[int]]:
    """Return counts of games, counts of pairs, and the half points of complete pairs.

    `games` have the same form as in `pair_half_points`. The counts of pairs are None unless at least half of the games
    are in complete pairs.
    """
    couples = pair_half_points(games)
    won = class_counts([half_points for _, half_points in games], GAME_CLASSES)
    by_pairs = 4 * len(couples) >= len(games) > 0
    return won, class_counts(couples, PAIR_CLASSES) if by_pairs else None, couples


def _mean(counts: Counts) -> tuple[float, float]:
    """Return the mean score (0 to 1) of an observation and the standard deviation of this mean."""
    score, variance = moments(shares(counts))
    return score, sqrt(variance / sum(regularized(counts)))


def _normal_interval(counts: Counts) -> tuple[float, float] | None:
    """Return the 95 % interval of the score from a normal distribution, or None if this is too inaccurate."""
    score, deviation = _mean(counts)
    low, high = score - NORMAL_95 * deviation, score + NORMAL_95 * deviation
    one_kind = sum(count > 0 for count in counts) == 1
    few, extreme = round(sum(counts)) < FEW_GAMES, not EXTREME_SCORE <= score <= 1 - EXTREME_SCORE
    return None if few or one_kind or extreme or not 0 < low < high < 1 else (low, high)


def _spread(chances: Sequence[float], spreads: float) -> float:
    """Return the variance of one observation's influence on the value (score - 1/2)/sd, which is given as `spreads`."""
    mean, variance = moments(chances)
    off = [(place / (len(chances) - 1) - mean) / sqrt(variance) for place in range(len(chances))]
    return sum(chance * (x - spreads * (x * x - 1) / 2) ** 2 for chance, x in zip(chances, off, strict=True))


def _profile(counts: Counts, score: float) -> tuple[float, float, float]:
    """Return the 95 % interval of the score (low, high) and the LOS, both from likelihood ratios (Wilks 1938)."""
    regular, chances = regularized(counts), shares(counts)

    def far(mean: float) -> float:
        """Return the distance between the observed score and `mean` in standard deviations."""
        return sqrt(2 * max(0.0, log_ratio(regular, chances, at_score(chances, mean))))

    def end(outside: float) -> float:
        """Find one end of the interval with the Illinois variant of regula falsi (Dowell and Jarratt 1971)."""
        inside, below, above, went = score, -NORMAL_95, nan, 0  # at the far end the likelihood may be 0
        while abs(outside - inside) > _BOUND_DONE:
            middle = inside - below * (outside - inside) / (above - below)
            if not min(inside, outside) < middle < max(inside, outside):
                middle = (inside + outside) / 2
            if not 0 < middle < 1:
                break
            height = far(middle) - NORMAL_95
            if height < 0:
                inside, below, above, went = middle, height, above / (1 + (went < 0)), -1
            else:
                outside, above, below, went = middle, height, below / (1 + (went > 0)), 1
        return inside

    sign = 1 if score > 0.5 else -1
    return end(0.0), end(1.0), NormalDist().cdf(sign * far(0.5))
