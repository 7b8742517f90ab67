"""SPRT (sequential probability ratio test): LLR, verdict, expected length, and Elo estimate after a stop.

model       unit of the hypotheses    source
logistic    Elo of the score          Van den Bergh (fishtest): generalized likelihood ratio
normalized  nElo                      Van den Bergh, "normalized Elo": strength in standard deviations of a game
bayesian    BayesElo (trinomial)      Coulom (BayesElo); the draw rate is that of the games played

The bounds of the log likelihood ratio are Wald's (1945). The test is evaluated after each game or pair, so the ratio
usually jumps beyond a bound. Both bounds are therefore moved inwards by the mean observed jump (Siegmund 1985,
corollary 8.33).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import erfc, exp, expm1, isfinite, log, log10, pi, sqrt
from typing import Literal, get_args

from enginetour.ratings.pentanomial import (
    ELO_SCALE,
    GAME_CLASSES,
    NELO_UNIT,
    PAIR_CLASSES,
    Counts,
    MatchStatistics,
    at_score,
    games_each,
    log_ratio,
    moments,
    regularized,
    score_of,
    shares,
    statistics_of,
    tally_match,
    tilted,
)

Model = Literal["logistic", "normalized", "bayesian"]
_Verdict = Literal["", "H0", "H1"]  # "": no verdict yet
MODELS: tuple[Model, ...] = get_args(Model)
UNITS: dict[Model, str] = {"logistic": "Elo", "normalized": "nElo", "bayesian": "BayesElo"}

ERROR = 0.05  # fishtest's alpha and beta
_FURTHEST = 1000.0  # Elo; corresponds to a score of 99.7 %
_FURTHEST_NELO = 200.0  # nElo; 230 cannot be reached from equal classes with pairs: (1 + 2) t sd/2 > 1/2
_STABLE = 1e-12  # change of a probability at which the iteration ends
_NEARLY = 1e-8  # change of a probability below which rounding may prevent further progress
_MOST_ROUNDS = 100  # iterations; five to ten are usual, and each reduces the change by a factor of ten or more


@dataclass(frozen=True, slots=True)
class Sprt:
    """A test of the hypothesis elo1 (H1) against elo0 (H0), with elo0 < elo1. Raises ValueError for invalid numbers.

    `alpha` is the probability of the verdict H1 if elo0 is true. `beta` is the probability of the verdict H0 if elo1 is
    true.
    """

    elo0: float
    elo1: float
    model: Model = "logistic"
    alpha: float = ERROR
    beta: float = ERROR

    def __post_init__(self) -> None:
        if not (0 < self.alpha < 1 and 0 < self.beta < 1 and self.alpha + self.beta < 1):
            found = f"found alpha {self.alpha:g} and beta {self.beta:g}"
            raise ValueError(f"alpha, beta and their sum must be between 0 and 1 ({found})")
        furthest = _FURTHEST_NELO if self.model == "normalized" else _FURTHEST
        if self.model not in MODELS:
            raise ValueError(f"unknown model {self.model!r}; known: {', '.join(MODELS)}")
        if not all(isfinite(bound) and abs(bound) <= furthest for bound in (self.elo0, self.elo1)):
            found = f"found {self.elo0:g} and {self.elo1:g}"
            raise ValueError(
                f"elo0 and elo1 of a {self.model} test must be between -{furthest:g} and {furthest:g} ({found})"
            )
        if not self.elo0 < self.elo1:
            raise ValueError(f"elo0 must be below elo1 (found {self.elo0:g} and {self.elo1:g})")

    @property
    def bounds(self) -> tuple[float, float]:
        """Return Wald's bounds of the log likelihood ratio: H0 is accepted below the first, H1 above the second."""
        return log(self.beta / (1 - self.alpha)), log((1 - self.beta) / self.alpha)

    def hypotheses(self, counts: Counts) -> tuple[list[float], list[float]]:
        """Return the most likely probabilities of the classes under H0 and H1, given the counts."""
        return self.likeliest(counts, self.elo0), self.likeliest(counts, self.elo1)

    def likeliest(self, counts: Counts, elo: float) -> list[float]:
        """Return the most likely probabilities of the classes if the strength is `elo` (in the model's unit)."""
        chances = shares(counts)
        if self.model == "normalized":
            return _at_nelo(chances, elo)
        if self.model == "logistic":
            return at_score(chances, score_of(elo))
        if len(chances) != GAME_CLASSES:
            raise ValueError("the bayesian model supports wins, draws and losses, but not pairs")
        loss, _, win = chances
        draw_elo = ELO_SCALE / 2 * log10((1 - loss) / loss * (1 - win) / win)
        return at_score(chances, (score_of(elo - draw_elo) + 1 - score_of(-elo - draw_elo)) / 2)

    def meaning(self, verdict: _Verdict, name: str) -> str:
        """Return a sentence about the verdict for the engine `name`, or "" without a verdict."""
        unit = UNITS[self.model]
        if verdict == "H1":
            return f"{name} is more than {self.elo0:g} {unit} stronger (error rate {100 * self.alpha:g} %)"
        if verdict == "H0":
            return f"{name} is less than {self.elo1:g} {unit} stronger (error rate {100 * self.beta:g} %)"
        return ""

    def llr(self, counts: Counts) -> float:
        """Return the log likelihood ratio of H1 to H0. The counts begin with the worst class."""
        games_each(counts)
        if not any(counts):
            return 0.0
        zero, one = self.hypotheses(counts)
        return log_ratio(regularized(counts), one, zero)


@dataclass(frozen=True, slots=True)
class Walk:
    """The state of a running test: counts, log likelihood ratio, and the ratio's jumps beyond its previous extremes.

    `lowest` and `highest` are the extremes of the ratio so far. `down` and `up` are the sums of the squared steps to
    new extremes. `verdict` is the first verdict, and `stopped` contains the counts at that time. Later games change
    neither of them.
    """

    counts: tuple[int, ...]
    llr: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0
    down: float = 0.0
    up: float = 0.0
    verdict: _Verdict = ""
    stopped: tuple[int, ...] = ()

    @property
    def overshoot(self) -> tuple[float, float]:
        """Return the mean jump beyond the lower and the upper bound: E(h^2)/2E(h) for the steps h to new extremes."""
        return (
            self.down / -self.lowest / 2 if self.lowest else 0.0,
            self.up / self.highest / 2 if self.highest else 0.0,
        )


def step(test: Sprt, walk: Walk, outcome: int) -> Walk:
    """Return the state after another game (0 loss, 1 draw, 2 win) or pair (half points, 0 to 4)."""
    counts = tuple(count + (place == outcome) for place, count in enumerate(walk.counts))
    if counts == walk.counts:
        raise ValueError(f"an outcome must be between 0 and {len(counts) - 1}, found {outcome}")
    llr = test.llr(counts)
    if walk.verdict:
        return replace(walk, counts=counts, llr=llr)
    fall, rise = min(0.0, llr - walk.lowest), max(0.0, llr - walk.highest)
    after = replace(
        walk,
        counts=counts,
        llr=llr,
        lowest=min(llr, walk.lowest),
        highest=max(llr, walk.highest),
        down=walk.down + fall * fall,
        up=walk.up + rise * rise,
    )
    low, high = corrected_bounds(test, after)
    if low < llr < high:
        return after
    return replace(after, verdict="H1" if llr >= high else "H0", stopped=counts)


def corrected_bounds(test: Sprt, walk: Walk) -> tuple[float, float]:
    """Return Wald's bounds, moved inwards by the mean jump. The test ends at these bounds."""
    (low, high), (below, above) = test.bounds, walk.overshoot
    return low + below, high - above


def _follow(test: Sprt, outcomes: Iterable[int], classes: int) -> Walk:
    walk = Walk((0,) * classes)
    games_each(walk.counts)
    for outcome in outcomes:
        walk = step(test, walk, outcome)
    return walk


def _at_nelo(chances: list[float], nelo: float) -> list[float]:
    """Return the most likely probabilities for which (mean - 1/2)/sd corresponds to `nelo`.

    They are found by repeated linearization.
    """
    top = len(chances) - 1
    target = nelo / NELO_UNIT * sqrt(games_each(chances))
    found, moved = [1 / len(chances)] * len(chances), 1.0
    for _ in range(_MOST_ROUNDS):
        mean, variance = moments(found)
        sd = sqrt(variance)
        values = [a - 0.5 - target * sd * (1 + ((a - mean) / sd) ** 2) / 2 for a in (i / top for i in range(top + 1))]
        before, found = found, tilted(chances, values)
        last, moved = moved, max(abs(new - old) for new, old in zip(found, before, strict=True))
        if moved < _STABLE or last <= moved < _NEARLY:
            break
    return found


# Expected length: Wald's average sample number, from any state of the test. The ratio is approximated by a Brownian
# motion between Wald's bounds, as in `estimate`. Its drift and variance are the mean and variance of one observation's
# log likelihood ratio. Source: Wald 1947 (Sequential Analysis, chapter 3); without drift, the limit of his formula.

_DRAWS_ASSUMED = 0.5  # assumed share of draws before the first game (chosen here; engines draw 0.3 to 0.9)
_STRAIGHT = 1e-6  # limit of 2 drift (distance of the bounds)/variance; below it the drift counts as 0


def assumed_chances(classes: int) -> tuple[float, ...]:
    """Return the probabilities of the classes for two equal engines with 50 % draws and independent games."""
    won = (1 - _DRAWS_ASSUMED) / 2
    game = (won, _DRAWS_ASSUMED, won)
    if classes == GAME_CLASSES:
        return game
    return tuple(sum(game[i] * game[k - i] for i in range(3) if 0 <= k - i < 3) for k in range(classes))


def _drift(chances: Sequence[float], ratios: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the variance of the log likelihood ratio of one observation."""
    drift = sum(chance * ratio for chance, ratio in zip(chances, ratios, strict=True))
    return drift, sum(chance * (ratio - drift) ** 2 for chance, ratio in zip(chances, ratios, strict=True))


def _ratios(test: Sprt, counts: Counts) -> list[float]:
    """Return the log likelihood ratio of one observation in each class, given the counts."""
    return [log(q / p) for p, q in zip(*test.hypotheses(counts), strict=True)]


def sample_number(test: Sprt, chances: Sequence[float], llr: float = 0.0) -> float:
    """Return the mean number of observations until a verdict if the ratio is `llr` now.

    `chances` are the true probabilities of the classes.
    """
    drift, variance = _drift(chances, _ratios(test, chances))
    low, high = (bound - llr for bound in test.bounds)
    if not low < 0 < high:
        return 0.0
    if drift < 0:  # use the mirror image, whose exponents cannot overflow
        drift, low, high = -drift, -high, -low
    steep = 2 * drift / variance
    if steep * (high - low) < _STRAIGHT:
        return -low * high / variance
    through = expm1(steep * low) / expm1(steep * (low - high))
    return (high * through + low * (1 - through)) / drift


def expected_lengths(test: Sprt, classes: int) -> dict[str, float]:
    """Return the mean number of observations of a whole test if the true strength is elo0, the middle, or elo1."""
    equals = assumed_chances(classes)
    middle = (test.elo0 + test.elo1) / 2
    truths = {"elo0": test.elo0, "middle": middle, "elo1": test.elo1}
    return {name: sample_number(test, test.likeliest(equals, elo)) for name, elo in truths.items()}


# Elo estimate after a stop. The plain estimate is too high for the winner, so a median-unbiased estimate is used. The
# possible outcomes of a test are ordered from the earliest H0 to the latest H0, then from the latest H1 to the earliest
# H1. The estimate is the strength for which the observed outcome or a worse one has the probability 1/2. At the ends of
# the 95 % interval this probability is 97.5 % and 2.5 %. Source: Siegmund 1978 (Biometrika 65, estimation following
# sequential tests); Van den Bergh (fishtest). The ratio is approximated by a Brownian motion between Wald's bounds. Its
# drift and variance are computed from the observed probabilities, tilted to the strength in question. Wald's bounds are
# correct here, because the test's own bounds were moved inwards (Siegmund 1985, 8.33).
#
# If the true strength is far beyond the hypotheses, every outcome changes the ratio by nearly the same amount, and the
# time of the stop contains no information about the strength. The plain estimate is therefore used if the squared
# correlation of ratio and points is below one half, or if all outcomes are equal. In simulations (sixteen tests of 150)
# the intervals with this rule contained the true strength in 91 to 100 % of the tests. Without the rule it was only
# 41 % in the worst case, where the loser hardly won a pair.

_FURTHEST_ESTIMATE = 2000.0  # Elo; corresponds to a score of 0.99999; larger values cannot be estimated
_SURE = 0.975  # probability at the lower end of the 95 % interval; 2.5 % remain on either side
_HALVINGS = 50  # bisections; they reach an accuracy of 4e-12 Elo
_FAINT = 1e-14  # the sum over mirror images ends at a smaller contribution
_SHARED = 0.5  # squared correlation (chosen here; with 0.3 to 0.8 the intervals were as reliable)
_TAIL = 30.0  # standard deviations; erfc falls below the normal doubles at 38


@dataclass(frozen=True, slots=True)
class _Estimate:
    """The Elo estimate after a stop, its 95 % interval, and the number of observations at the stop.

    Values beyond 2000 Elo are None. The estimate is median-unbiased unless `plain` is true. `plain` is true if the time
    of the stop contains no information.
    """

    elo: float | None
    low: float | None
    high: float | None
    observations: int
    plain: bool = False


def estimate(test: Sprt, walk: Walk) -> _Estimate | None:
    """Return the estimate of the strength when the test stopped, or None if it did not stop."""
    if not walk.verdict:
        return None
    seen, ratios = shares(walk.stopped), _ratios(test, walk.stopped)
    number = sum(walk.stopped)
    if number in walk.stopped or _shared(seen, ratios) < _SHARED:
        plain = statistics_of(walk.stopped)
        return _Estimate(plain.elo, plain.low, plain.high, number, plain=True)

    def elo_where(chance: float) -> float | None:
        """Return the Elo for which the observed outcome or a worse one has the probability `chance`."""
        low, high = -_FURTHEST_ESTIMATE, _FURTHEST_ESTIMATE
        for _ in range(_HALVINGS):
            elo = (low + high) / 2
            if _at_most(test, walk.verdict, number, at_score(seen, score_of(elo)), ratios) > chance:
                low = elo
            else:
                high = elo
        return None if low == -_FURTHEST_ESTIMATE or high == _FURTHEST_ESTIMATE else low

    return _Estimate(elo_where(0.5), elo_where(_SURE), elo_where(1 - _SURE), number)


def _shared(chances: Sequence[float], ratios: Sequence[float]) -> float:
    """Return the squared correlation of the log likelihood ratio and the points of one observation."""
    top = len(chances) - 1
    mean, variance = moments(chances)
    middle, spread = _drift(chances, ratios)
    both = sum(
        chance * (place / top - mean) * (ratio - middle)
        for place, (chance, ratio) in enumerate(zip(chances, ratios, strict=True))
    )
    return both * both / (variance * spread) if variance > 0 and spread > 0 else 0.0


def _at_most(test: Sprt, verdict: _Verdict, number: int, chances: Sequence[float], ratios: Sequence[float]) -> float:
    """Return the probability of this verdict after `number` observations or of any worse outcome."""
    drift, variance = _drift(chances, ratios)
    low, high = test.bounds
    if verdict == "H1":
        return 1 - _first_through(high, high - low, drift * number, variance * number)
    return _first_through(-low, high - low, -drift * number, variance * number)


def _first_through(distance: float, width: float, drift: float, variance: float) -> float:
    """Return the probability that a Brownian motion reaches the front wall before the back wall and before its end.

    The front wall is at the distance `distance`, and the distance between the walls is `width`. A positive `drift`
    points to the front wall. The result is a sum of inverse Gaussian distributions over mirror images. It is computed
    with logarithms, because the factors would overflow.
    """
    if variance <= 0:
        return float(drift >= distance)
    spread, lean = sqrt(variance), drift / variance
    total, image = 0.0, 0
    while True:
        # The order of the images is 0, -1, 1, -2, 2, ...; images with negative numbers are subtracted.
        away = abs(distance + 2 * image * width)
        part = _exp(lean * distance - abs(lean) * away + _log_normal((abs(drift) - away) / spread))
        part += _exp(lean * distance + abs(lean) * away + _log_normal(-(abs(drift) + away) / spread))
        total += part if image >= 0 else -part
        if part < _FAINT and image > 0:
            return min(1.0, max(0.0, total))
        image = -image if image < 0 else -image - 1


def _log_normal(x: float) -> float:
    """Return the logarithm of the normal distribution function. In the far tail it is the first asymptotic term."""
    return log(erfc(-x / sqrt(2)) / 2) if x > -_TAIL else -x * x / 2 - log(-x * sqrt(2 * pi))


def _exp(x: float) -> float:
    return exp(min(x, 0.0))  # the result is part of a probability, so x can only be above 0 by rounding


# The test of two engines from their games: counts, ratio, verdict and strength.

OPEN_GAMES = 1_000_000  # maximum number of games if none is given; a test stops much earlier


@dataclass(frozen=True, slots=True)
class MatchTest:
    """The result of a test of one engine against another engine.

    `games` counts losses, draws and wins of the first engine; it is None if only counts of pairs are known. `pairs`
    counts its game pairs from the worst to the best outcome; it is None if the games are not in pairs. The bayesian
    model always tests single games, but the statistics still use pairs.
    """

    test: Sprt
    games: tuple[int, ...] | None
    pairs: tuple[int, ...] | None
    walk: Walk
    statistics: MatchStatistics
    after_stop: _Estimate | None

    @classmethod
    def of_counts(cls, test: Sprt, games: tuple[int, ...] | None, pairs: tuple[int, ...] | None) -> MatchTest:
        """Evaluate the test on counts without an order, and return its result. Either counts may be None.

        The order of the results is not known, so the bounds are Wald's, and Elo is not corrected for an early stop. The
        test uses pairs if the model supports them. Raises ValueError without results, for contradictory counts, and for
        the bayesian model without counts of games.
        """
        if games is not None and pairs is not None:
            lone = sum(games) - 2 * sum(pairs)
            points = sum(place * count for place, count in enumerate(games))
            in_pairs = sum(place * count for place, count in enumerate(pairs))
            if not 0 <= points - in_pairs <= 2 * lone:
                raise ValueError("the counts of games and of game pairs contradict each other")
        counts = games if test.model == "bayesian" else pairs or games
        if counts is None:
            needed = "wins, draws and losses" if test.model == "bayesian" else "games or game pairs"
            raise ValueError(f"the {test.model} model needs counts of {needed}")
        found = statistics_of(pairs or counts)
        llr, (low, high) = test.llr(counts), test.bounds
        verdict: _Verdict = "H1" if llr >= high else "H0" if llr <= low else ""
        walk = Walk(counts, llr, verdict=verdict, stopped=counts if verdict else ())
        return cls(test, games, pairs, walk, found, None)

    @property
    def lone(self) -> int:
        """Return the number of games that do not belong to a complete pair, or 0 if games are not in pairs at all."""
        return 0 if self.pairs is None or self.games is None else sum(self.games) - 2 * sum(self.pairs)

    @property
    def walks_by_pairs(self) -> bool:
        """Return True if the test was evaluated after each pair, or False if after each game."""
        return len(self.walk.counts) == PAIR_CLASSES

    def to_json(self) -> dict[str, object]:
        """Return the result as a dictionary for json.dumps. Unknown values are None."""
        (losses, draws, wins), after = self.games or (None,) * GAME_CLASSES, self.after_stop
        return {
            "games": 2 * sum(self.pairs or ()) if self.games is None else sum(self.games),
            "wins": wins,
            "draws": draws,
            "losses": losses,
            "pentanomial": None if self.pairs is None else list(self.pairs),
            "lone_games": self.lone,
            **asdict(self.statistics),
            "sprt": {
                **asdict(self.test),
                "by": "pairs" if self.walks_by_pairs else "games",
                "llr": self.walk.llr,
                "bounds": list(self.test.bounds),
                "decides_at": list(corrected_bounds(self.test, self.walk)),
                "verdict": self.walk.verdict or None,
                "stopped_after": sum(self.walk.stopped) or None,
                "estimate": after and {"elo": after.elo, "low": after.low, "high": after.high},
            },
        }


def match_test(test: Sprt, games: Sequence[tuple[Hashable, int]]) -> MatchTest:
    """Run the test on games in their order and return its result.

    A game is (key that the two games of a pair share, half points of the first engine). The test uses pairs if at least
    half of the games are in pairs and the model supports them. Raises ValueError without games.
    """
    won, pairs, couples = tally_match(games)
    if pairs is not None and test.model != "bayesian":
        walk = _follow(test, couples, PAIR_CLASSES)
    else:
        walk = _follow(test, [half_points for _, half_points in games], GAME_CLASSES)
    return MatchTest(test, won, pairs, walk, statistics_of(pairs or won), estimate(test, walk))
