"""How strong, after a sequential test stopped: a test that stops on good luck overstates the winner, this does not.

Outcomes are ordered from the earliest H0 over later ones to the latest H1 and the earliest H1. The median-unbiased
estimate is the strength at which an outcome at most as good as the one seen has chance 1/2; the ends of the 95 %
interval those with 97.5 % and 2.5 %. Source: Siegmund 1978 (Biometrika 65, estimation following sequential tests);
Van den Bergh (fishtest). The ratio is taken for a Brownian motion between Wald's bounds, whose drift and spread are
those of one observation's log likelihood ratio when the chances seen are tilted to the strength in question. The
bounds of the walk itself are drawn in by its overshoot, which makes Wald's the right ones here (Siegmund 1985, 8.33).

Far beyond the test the ratio grows by nearly the same with every outcome that still comes: a win by 30 Elo of a test
tells it no more than a draw. When it stopped then says nothing of the strength, and chooses none: the plain figures
hold. They are taken where the ratio shares less than half of the spread of the points (simulated, sixteen tests of
150: intervals held 91 to 100 %; before, from 41 % on, where the loser no longer won a pair), and where all outcomes
were alike, which leaves no spread to share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, exp, log, pi, sqrt

from enginetour.ratings.pentanomial import at_score, moments, regularised, score_of, statistics_of
from enginetour.ratings.sequential import Sprt, Verdict, Walk

FURTHEST = 2000.0  # Elo, a score of 0.99999; beyond it there is no telling
SURE = 0.975  # leaves 2.5 % on either side
HALVINGS = 50  # to 4e-12 Elo
FAINT = 1e-14  # an image that adds less is the last
SHARED = 0.5  # of the spread of the points (our choice: at 0.3 to 0.8 intervals held as well)
TAIL = 30.0  # standard deviations; further out erfc is not a normal double for long (it ends at 38)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Elo after a stop and its 95 % interval, None beyond 2000; `observations` at the stop.

    Median-unbiased, or the `plain` figures where the stop told nothing.
    """

    elo: float | None
    low: float | None
    high: float | None
    observations: int
    plain: bool = False


def estimate(test: Sprt, walk: Walk) -> Estimate | None:
    """The strength as the walk saw it when it stopped; None for a walk that did not."""
    if not walk.verdict:
        return None
    regular = regularised(walk.stopped)
    seen = [count / sum(regular) for count in regular]
    zero, one = test.hypotheses(walk.stopped)
    ratios = [log(q / p) for p, q in zip(zero, one, strict=True)]
    number = sum(walk.stopped)
    if number in walk.stopped or _shared(seen, ratios) < SHARED:
        plain = statistics_of(walk.stopped)
        return Estimate(plain.elo, plain.low, plain.high, number, plain=True)

    def elo_where(chance: float) -> float | None:
        """The Elo at which an outcome at most as good has this chance, which falls with the strength."""
        low, high = -FURTHEST, FURTHEST
        for _ in range(HALVINGS):
            elo = (low + high) / 2
            if at_most(test, walk.verdict, number, at_score(seen, score_of(elo)), ratios) > chance:
                low = elo
            else:
                high = elo
        return None if low == -FURTHEST or high == FURTHEST else low

    return Estimate(elo_where(0.5), elo_where(SURE), elo_where(1 - SURE), number)


def _shared(chances: Sequence[float], ratios: Sequence[float]) -> float:
    """Squared correlation of the ratio and the points of an outcome."""
    top = len(chances) - 1
    mean, variance = moments(chances)
    middle = sum(chance * ratio for chance, ratio in zip(chances, ratios, strict=True))
    spread = sum(chance * (ratio - middle) ** 2 for chance, ratio in zip(chances, ratios, strict=True))
    both = sum(
        chance * (place / top - mean) * (ratio - middle)
        for place, (chance, ratio) in enumerate(zip(chances, ratios, strict=True))
    )
    return both * both / (variance * spread) if variance > 0 and spread > 0 else 0.0


def at_most(test: Sprt, verdict: Verdict, number: int, chances: Sequence[float], ratios: Sequence[float]) -> float:
    """Chance of an outcome at most as good as this verdict after `number` observations.

    `ratios` are the log likelihood ratios of the classes, `chances` how often each comes.
    """
    drift = sum(chance * ratio for chance, ratio in zip(chances, ratios, strict=True))
    variance = sum(chance * (ratio - drift) ** 2 for chance, ratio in zip(chances, ratios, strict=True))
    low, high = test.bounds
    if verdict == "H1":
        return 1 - first_through(high, high - low, drift * number, variance * number)
    return first_through(-low, high - low, -drift * number, variance * number)


def first_through(distance: float, width: float, drift: float, variance: float) -> float:
    """Chance that a Brownian motion with these totals at its end has met the wall in front before the one behind.

    The wall in front is `distance` away, the walls are `width` apart, `drift` is towards the front. Sum over mirror
    images of the inverse Gaussian distribution, in logarithms, because its factors overflow.
    """
    if variance <= 0:
        return float(drift >= distance)
    spread, lean = sqrt(variance), drift / variance
    total, image = 0.0, 0
    while True:
        # Images in turn: 0, -1, 1, -2, 2, ...; those behind count against.
        away = abs(distance + 2 * image * width)
        part = _exp(lean * distance - abs(lean) * away + _log_normal((abs(drift) - away) / spread))
        part += _exp(lean * distance + abs(lean) * away + _log_normal(-(abs(drift) + away) / spread))
        total += part if image >= 0 else -part
        if part < FAINT and image > 0:
            return min(1.0, max(0.0, total))
        image = -image if image < 0 else -image - 1


def _log_normal(x: float) -> float:
    """Logarithm of the normal distribution; far out by its first asymptotic term."""
    return log(erfc(-x / sqrt(2)) / 2) if x > -TAIL else -x * x / 2 - log(-x * sqrt(2 * pi))


def _exp(x: float) -> float:
    return exp(min(x, 0.0))  # a part of a chance; above 0 by rounding only
