"""SPRT (sequential probability ratio test): LLR, verdict, expected length, and Elo estimate after a stop.

model       hypotheses are        source
logistic    Elo of the score      generalized likelihood ratio, Van den Bergh (fishtest)
normalized  nElo                  Van den Bergh, "normalized Elo": strength in standard deviations of a game
bayesian    BayesElo, trinomial   Coulom (BayesElo), with the draw rate of the games played

The bounds on the log likelihood ratio are Wald's (1945). The test is evaluated after each game or pair, so the ratio
jumps over its bound. The bounds are therefore moved inwards by the mean jump that was observed (Siegmund 1985,
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
_FURTHEST = 1000.0  # Elo; this is a score of 99.7 %
_FURTHEST_NELO = 200.0  # from equal classes 230 cannot be reached with pairs: (1 + 2) t sd/2 > 1/2
_STABLE = 1e-12  # of a probability
_NEARLY = 1e-8  # of a probability; rounding may prevent a smaller change
_MOST_ROUNDS = 100  # five to ten are usual; each reduces the change by a factor of ten or more


@dataclass(frozen=True, slots=True)
class Sprt:
    """Define a test of elo1 (H1) against elo0 (H0), with elo0 < elo1. Raises ValueError for impossible numbers.

    `alpha` is the probability of H1 when elo0 is true, `beta` that of H0 when elo1 is true.
    """

    elo0: float
    elo1: float
    model: Model = "logistic"
    alpha: float = ERROR
    beta: float = ERROR

    def __post_init__(self) -> None:
        furthest = _FURTHEST_NELO if self.model == "normalized" else _FURTHEST
        if self.model not in MODELS:
            raise ValueError(f"unknown model {self.model!r}; known: {', '.join(MODELS)}")
        if not all(isfinite(bound) and abs(bound) <= furthest for bound in (self.elo0, self.elo1)):
            raise ValueError(f"bounds of a {self.model} test must be between -{furthest:g} and {furthest:g}")
        if not self.elo0 < self.elo1:
            raise ValueError(f"the first bound must be below the second, found {self.elo0:g} and {self.elo1:g}")
        if not (0 < self.alpha < 1 and 0 < self.beta < 1 and self.alpha + self.beta < 1):
            raise ValueError("alpha, beta and their sum must be between 0 and 1")

    @property
    def bounds(self) -> tuple[float, float]:
        """Return Wald's bounds: H0 below the first, H1 above the second."""
        return log(self.beta / (1 - self.alpha)), log((1 - self.beta) / self.alpha)

    def hypotheses(self, counts: Counts) -> tuple[list[float], list[float]]:
        """Return the most likely probabilities of the classes under H0 and H1, given the counts."""
        return self.likeliest(counts, self.elo0), self.likeliest(counts, self.elo1)

    def likeliest(self, counts: Counts, elo: float) -> list[float]:
        """Return the most likely probabilities of the classes at strength `elo` (in the model's unit)."""
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
        """Describe a verdict about the engine `name`; "" without a verdict."""
        unit = UNITS[self.model]
        if verdict == "H1":
            return f"{name} is more than {self.elo0:g} {unit} stronger (error rate {100 * self.alpha:g} %)"
        if verdict == "H0":
            return f"{name} is less than {self.elo1:g} {unit} stronger (error rate {100 * self.beta:g} %)"
        return ""

    def llr(self, counts: Counts) -> float:
        """Return the log likelihood ratio of H1 to H0, given counts that begin with the worst class."""
        games_each(counts)
        if not any(counts):
            return 0.0
        zero, one = self.hypotheses(counts)
        return log_ratio(regularized(counts), one, zero)


@dataclass(frozen=True, slots=True)
class Walk:
    """Hold the state of a running test: counts, ratio, and its jumps beyond its own records.

    `lowest` and `highest` are records of the ratio; `down` and `up` are sums of squares of the steps to new records.
    `verdict` is the first verdict, with the counts of that moment in `stopped`; later games change neither.
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
        """Return the mean jump beyond the lower and upper bound: E(h^2)/2E(h) of the steps h to new records."""
        return (
            self.down / -self.lowest / 2 if self.lowest else 0.0,
            self.up / self.highest / 2 if self.highest else 0.0,
        )


def step(test: Sprt, walk: Walk, outcome: int) -> Walk:
    """Return the state after one more game (0 loss, 1 draw, 2 win) or pair (its half points, 0 to 4)."""
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
    """Return Wald's bounds moved inwards by the mean jump; the test decides at these."""
    (low, high), (below, above) = test.bounds, walk.overshoot
    return low + below, high - above


def _follow(test: Sprt, outcomes: Iterable[int], classes: int) -> Walk:
    walk = Walk((0,) * classes)
    games_each(walk.counts)
    for outcome in outcomes:
        walk = step(test, walk, outcome)
    return walk


def _at_nelo(chances: list[float], nelo: float) -> list[float]:
    """Return the most likely probabilities with (mean - 1/2)/sd of this nElo, by repeated linearization."""
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


# Expected length: Wald's average sample number, from any point of the test. The ratio is approximated by a Brownian
# motion between Wald's bounds, as in `estimate`; drift and variance are those of the log likelihood ratio of one
# observation. Source: Wald 1947 (Sequential Analysis, chapter 3); without drift its limit.

_DRAWS_ASSUMED = 0.5  # share of draws before the first game (chosen here; 0.3 to 0.9 between engines)
_STRAIGHT = 1e-6  # drift times width over variance; below this value the drift is taken as 0


def assumed_chances(classes: int) -> tuple[float, ...]:
    """Return probabilities of the classes for two equal engines with 50 % draws and independent games."""
    won = (1 - _DRAWS_ASSUMED) / 2
    game = (won, _DRAWS_ASSUMED, won)
    if classes == GAME_CLASSES:
        return game
    return tuple(sum(game[i] * game[k - i] for i in range(3) if 0 <= k - i < 3) for k in range(classes))


def _drift(chances: Sequence[float], ratios: Sequence[float]) -> tuple[float, float]:
    """Return mean and variance of the log likelihood ratio of one observation."""
    drift = sum(chance * ratio for chance, ratio in zip(chances, ratios, strict=True))
    return drift, sum(chance * (ratio - drift) ** 2 for chance, ratio in zip(chances, ratios, strict=True))


def _ratios(test: Sprt, counts: Counts) -> list[float]:
    """Return the log likelihood ratio of each class, given the counts."""
    return [log(q / p) for p, q in zip(*test.hypotheses(counts), strict=True)]


def sample_number(test: Sprt, chances: Sequence[float], llr: float = 0.0) -> float:
    """Return the mean number of observations until a verdict, from the ratio `llr`, with these class probabilities."""
    drift, variance = _drift(chances, _ratios(test, chances))
    low, high = (bound - llr for bound in test.bounds)
    if not low < 0 < high:
        return 0.0
    if drift < 0:  # mirror image: its exponents cannot overflow
        drift, low, high = -drift, -high, -low
    steep = 2 * drift / variance
    if steep * (high - low) < _STRAIGHT:
        return -low * high / variance
    through = expm1(steep * low) / expm1(steep * (low - high))
    return (high * through + low * (1 - through)) / drift


def expected_lengths(test: Sprt, classes: int) -> dict[str, float]:
    """Return the mean number of observations from the start when elo0, the middle or elo1 is true."""
    equals = assumed_chances(classes)
    middle = (test.elo0 + test.elo1) / 2
    truths = {"elo0": test.elo0, "middle": middle, "elo1": test.elo1}
    return {name: sample_number(test, test.likeliest(equals, elo)) for name, elo in truths.items()}


# Median-unbiased Elo estimate after a stop; the plain estimate is too high for the winner. Outcomes are ordered from
# the earliest H0 to the latest H0, then from the latest H1 to the earliest H1. The median-unbiased estimate is the
# strength at which an outcome at most as good as the observed one has probability 1/2; the ends of the 95 % interval
# are those with 97.5 % and 2.5 %. Source: Siegmund 1978 (Biometrika 65, estimation following sequential tests); Van
# den Bergh (fishtest). The ratio is approximated by a Brownian motion between Wald's bounds. Its drift and variance
# are those of one observation when the observed probabilities are tilted to the strength in question. Wald's bounds
# are correct here, because the test's own bounds were moved inwards (Siegmund 1985, 8.33).
#
# If the true strength is far beyond the hypotheses, every outcome changes the ratio by nearly the same amount, and the
# time of the stop contains no information about the strength. The plain estimate is then used: where the squared
# correlation of ratio and points is below one half, and where all outcomes are equal. In simulations (sixteen tests of
# 150) the intervals then covered 91 to 100 %; without this rule from 41 % on, if the loser no longer won a pair.

_FURTHEST_ESTIMATE = 2000.0  # Elo, a score of 0.99999; larger values cannot be estimated
_SURE = 0.975  # leaves 2.5 % on either side
_HALVINGS = 50  # to 4e-12 Elo
_FAINT = 1e-14  # smaller contributions of a mirror image end the sum
_SHARED = 0.5  # squared correlation (chosen here; intervals covered as well with 0.3 to 0.8)
_TAIL = 30.0  # standard deviations; erfc leaves the range of normal doubles at 38


@dataclass(frozen=True, slots=True)
class _Estimate:
    """Hold the Elo after a stop and its 95 % interval, None beyond 2000 Elo, and the observations at the stop.

    The estimate is median-unbiased, or `plain` if the time of the stop contains no information.
    """

    elo: float | None
    low: float | None
    high: float | None
    observations: int
    plain: bool = False


def estimate(test: Sprt, walk: Walk) -> _Estimate | None:
    """Return the estimate of the strength at the stop; None if the test did not stop."""
    if not walk.verdict:
        return None
    seen, ratios = shares(walk.stopped), _ratios(test, walk.stopped)
    number = sum(walk.stopped)
    if number in walk.stopped or _shared(seen, ratios) < _SHARED:
        plain = statistics_of(walk.stopped)
        return _Estimate(plain.elo, plain.low, plain.high, number, plain=True)

    def elo_where(chance: float) -> float | None:
        """Return the Elo at which an outcome at most as good has probability `chance`."""
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
    """Return the squared correlation of ratio and points."""
    top = len(chances) - 1
    mean, variance = moments(chances)
    middle, spread = _drift(chances, ratios)
    both = sum(
        chance * (place / top - mean) * (ratio - middle)
        for place, (chance, ratio) in enumerate(zip(chances, ratios, strict=True))
    )
    return both * both / (variance * spread) if variance > 0 and spread > 0 else 0.0


def _at_most(test: Sprt, verdict: _Verdict, number: int, chances: Sequence[float], ratios: Sequence[float]) -> float:
    """Return the probability of an outcome at most as good as this verdict after `number` observations."""
    drift, variance = _drift(chances, ratios)
    low, high = test.bounds
    if verdict == "H1":
        return 1 - _first_through(high, high - low, drift * number, variance * number)
    return _first_through(-low, high - low, -drift * number, variance * number)


def _first_through(distance: float, width: float, drift: float, variance: float) -> float:
    """Return the probability that a Brownian motion reaches the front wall before the back wall and before its end.

    The front wall is `distance` away, the walls are `width` apart, `drift` is towards the front. The result is a sum of
    inverse Gaussian distributions over mirror images, in logarithms, because the factors overflow.
    """
    if variance <= 0:
        return float(drift >= distance)
    spread, lean = sqrt(variance), drift / variance
    total, image = 0.0, 0
    while True:
        # Images in the order 0, -1, 1, -2, 2, ...; negative ones are subtracted.
        away = abs(distance + 2 * image * width)
        part = _exp(lean * distance - abs(lean) * away + _log_normal((abs(drift) - away) / spread))
        part += _exp(lean * distance + abs(lean) * away + _log_normal(-(abs(drift) + away) / spread))
        total += part if image >= 0 else -part
        if part < _FAINT and image > 0:
            return min(1.0, max(0.0, total))
        image = -image if image < 0 else -image - 1


def _log_normal(x: float) -> float:
    """Return the logarithm of the normal distribution function; in the far tail by its first asymptotic term."""
    return log(erfc(-x / sqrt(2)) / 2) if x > -_TAIL else -x * x / 2 - log(-x * sqrt(2 * pi))


def _exp(x: float) -> float:
    return exp(min(x, 0.0))  # a part of a probability, above 0 only by rounding


# The test of two engines with their games: counts, ratio, verdict and strength.

OPEN_GAMES = 1_000_000  # limit of games if no number is given; a test stops long before


@dataclass(frozen=True, slots=True)
class MatchTest:
    """Hold the result of a test of one engine against another, in the order of their games.

    `games` counts losses, draws and wins of the first engine. `pairs` counts its game pairs, worst first; None if the
    games are not in pairs. The bayesian model always tests single games; the statistics still use pairs.
    """

    test: Sprt
    games: tuple[int, ...]
    pairs: tuple[int, ...] | None
    walk: Walk
    statistics: MatchStatistics
    after_stop: _Estimate | None

    @property
    def lone(self) -> int:
        """Return the number of games without a partner on the same opening, if the other games are in pairs."""
        return 0 if self.pairs is None else sum(self.games) - 2 * sum(self.pairs)

    @property
    def walks_by_pairs(self) -> bool:
        """Return whether the test was evaluated after each pair, not after each game."""
        return len(self.walk.counts) == PAIR_CLASSES

    def to_json(self) -> dict[str, object]:
        """Return the result as numbers for json.dumps; None is unknown."""
        (losses, draws, wins), after = self.games, self.after_stop
        return {
            "games": sum(self.games),
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
    """Test games given as (key shared by the two games of a pair, half points of the first engine), in order.

    The test uses pairs if there are any. Raises ValueError without a game.
    """
    won, pairs, couples = tally_match(games)
    if pairs is not None and test.model != "bayesian":
        walk = _follow(test, couples, PAIR_CLASSES)
    else:
        walk = _follow(test, [half_points for _, half_points in games], GAME_CLASSES)
    return MatchTest(test, won, pairs, walk, statistics_of(pairs or won), estimate(test, walk))
