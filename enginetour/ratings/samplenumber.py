"""How long a sequential test lasts on average: Wald's average sample number, from any point of its walk.

The ratio is taken for a Brownian motion between Wald's bounds, as in `stopped`: drift and spread are those of one
observation's log likelihood ratio. Source: Wald 1947 (Sequential Analysis, chapter 3); without drift its limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1, log

from enginetour.ratings.pentanomial import GAME_CLASSES
from enginetour.ratings.sequential import Sprt

DRAWS_ASSUMED = 0.5  # share of draws before the first game (our choice; 0.3 to 0.9 between engines)
STRAIGHT = 1e-6  # drift times width over variance; below it the path counts as one without drift


def assumed_chances(classes: int) -> tuple[float, ...]:
    """Equals of whom half of the games are drawn; in pairs the two games are taken for independent."""
    won = (1 - DRAWS_ASSUMED) / 2
    game = (won, DRAWS_ASSUMED, won)
    if classes == GAME_CLASSES:
        return game
    return tuple(sum(game[i] * game[k - i] for i in range(3) if 0 <= k - i < 3) for k in range(classes))


def sample_number(test: Sprt, chances: Sequence[float], llr: float = 0.0) -> float:
    """Mean number of observations until a verdict when each class comes with these chances, the ratio being `llr`."""
    zero, one = test.hypotheses(chances)
    ratios = [log(q / p) for p, q in zip(zero, one, strict=True)]
    drift = sum(chance * ratio for chance, ratio in zip(chances, ratios, strict=True))
    variance = sum(chance * (ratio - drift) ** 2 for chance, ratio in zip(chances, ratios, strict=True))
    low, high = (bound - llr for bound in test.bounds)
    if not low < 0 < high:
        return 0.0
    if drift < 0:  # the mirror image, whose exponents cannot overflow
        drift, low, high = -drift, -high, -low
    steep = 2 * drift / variance
    if steep * (high - low) < STRAIGHT:
        return -low * high / variance
    through = expm1(steep * low) / expm1(steep * (low - high))
    return (high * through + low * (1 - through)) / drift


def foretold(test: Sprt, classes: int) -> dict[str, float]:
    """Mean observations before the first is seen, when elo0, the middle or elo1 is true, draws as assumed."""
    equals = assumed_chances(classes)
    middle = (test.elo0 + test.elo1) / 2
    truths = {"elo0": test.elo0, "middle": middle, "elo1": test.elo1}
    return {name: sample_number(test, test.likeliest(equals, elo)) for name, elo in truths.items()}
