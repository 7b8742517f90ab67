"""SPRT (sequential probability ratio test): LLR and verdict, expected length, and Elo estimate after a stop.

model       bounds are            source
logistic    Elo of the score      generalised likelihood ratio, Van den Bergh (fishtest)
normalized  nElo                  Van den Bergh, "normalized Elo": strength in spreads of a game
bayesian    BayesElo, trinomial   Coulom (BayesElo), draws as in the games played

The bounds on the log likelihood ratio are Wald's (1945). A test looks once a game or pair, so the ratio jumps over
its bound; the bounds are drawn in by the mean jump, measured on the way (Siegmund 1985, corollary 8.33).
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
    regularised,
    score_of,
    shares,
    statistics_of,
    tally_match,
    tilted,
)

# Sequential probability ratio tests of a match: one engine is elo1 stronger (H1), or only elo0 (H0).

Model = Literal["logistic", "normalized", "bayesian"]
_Verdict = Literal["", "H0", "H1"]  # "": no decision yet
MODELS: tuple[Model, ...] = get_args(Model)
UNITS: dict[Model, str] = {"logistic": "Elo", "normalized": "nElo", "bayesian": "BayesElo"}

ERROR = 0.05  # fishtest's alpha and beta
_FURTHEST = 1000.0  # Elo; further out a bound is a score of 99.7 %
_FURTHEST_NELO = 200.0  # from equal classes on 230 is unreachable with pairs: (1 + 2) t sd/2 > 1/2
_STABLE = 1e-12  # of a probability
_NEARLY = 1e-8  # of a probability: where rounding may keep it from settling further
_MOST_ROUNDS = 100  # five to ten are usual: each brings a factor of ten or more


@dataclass(frozen=True, slots=True)
class Sprt:
    """A test of elo1 (H1) against elo0 (H0), elo0 < elo1; ValueError for bounds that cannot be tested.

    `alpha` is the chance of H1 when elo0 is true, `beta` of H0 when elo1 is true.
    """

    elo0: float
    elo1: float
    model: Model = "logistic"
    alpha: float = ERROR
    beta: float = ERROR

    def __post_init__(self) -> None:
        furthest = _FURTHEST_NELO if self.model == "normalized" else _FURTHEST
        if self.model not in MODELS:
            raise ValueError(f"there is no model {self.model!r}, known: {', '.join(MODELS)}")
        if not all(isfinite(bound) and abs(bound) <= furthest for bound in (self.elo0, self.elo1)):
            raise ValueError(f"bounds of a {self.model} test lie between -{furthest:g} and {furthest:g}")
        if not self.elo0 < self.elo1:
            raise ValueError(f"the first bound is below the second, found {self.elo0:g} and {self.elo1:g}")
        if not (0 < self.alpha < 1 and 0 < self.beta < 1 and self.alpha + self.beta < 1):
            raise ValueError("alpha and beta lie between 0 and 1, and so does their sum")

    @property
    def bounds(self) -> tuple[float, float]:
        """Wald's: H0 below the first, H1 above the second."""
        return log(self.beta / (1 - self.alpha)), log((1 - self.beta) / self.alpha)

    def hypotheses(self, counts: Counts) -> tuple[list[float], list[float]]:
        """The likeliest chances of the classes under H0 and under H1, seen these counts."""
        return self.likeliest(counts, self.elo0), self.likeliest(counts, self.elo1)

    def likeliest(self, counts: Counts, elo: float) -> list[float]:
        """The likeliest chances of the classes at this strength, in the model's own unit, seen these counts."""
        chances = shares(counts)
        if self.model == "normalized":
            return _at_nelo(chances, elo)
        if self.model == "logistic":
            return at_score(chances, score_of(elo))
        if len(chances) != GAME_CLASSES:
            raise ValueError("the bayesian model knows wins, draws and losses, no pairs")
        loss, _, win = chances
        draw_elo = ELO_SCALE / 2 * log10((1 - loss) / loss * (1 - win) / win)
        return at_score(chances, (score_of(elo - draw_elo) + 1 - score_of(-elo - draw_elo)) / 2)

    def meaning(self, verdict: _Verdict, name: str) -> str:
        """A verdict about the engine `name` in words; "" without one."""
        unit = UNITS[self.model]
        if verdict == "H1":
            return f"{name} is more than {self.elo0:g} {unit} ahead, wrong in {100 * self.alpha:g} %"
        return f"{name} is less than {self.elo1:g} {unit} ahead, wrong in {100 * self.beta:g} %" if verdict else ""

    def llr(self, counts: Counts) -> float:
        """Log likelihood ratio of H1 to H0, each with the likeliest chances that fulfil it; counts worst first."""
        games_each(counts)
        if not any(counts):
            return 0.0
        zero, one = self.hypotheses(counts)
        return log_ratio(regularised(counts), one, zero)


@dataclass(frozen=True, slots=True)
class Walk:
    """A test under way: the counts, the ratio, and how far it jumps beyond its own records.

    `lowest`, `highest` are records of the ratio; `down`, `up` sums of squares of the steps to new records. `verdict`
    is the first one reached, with the counts of that moment in `stopped`; what is played later changes neither.
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
        """Mean jump beyond the lower and the upper bound: E(h^2)/2E(h) of the steps h to new records."""
        return (
            self.down / -self.lowest / 2 if self.lowest else 0.0,
            self.up / self.highest / 2 if self.highest else 0.0,
        )


def step(test: Sprt, walk: Walk, outcome: int) -> Walk:
    """The walk after one more game (0 loss, 1 draw, 2 win) or pair (its half points, 0 to 4)."""
    counts = tuple(count + (place == outcome) for place, count in enumerate(walk.counts))
    if counts == walk.counts:
        raise ValueError(f"outcomes run from 0 to {len(counts) - 1}, found {outcome}")
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
    """Wald's bounds drawn in by the overshoot: where the test decides."""
    (low, high), (below, above) = test.bounds, walk.overshoot
    return low + below, high - above


def _follow(test: Sprt, outcomes: Iterable[int], classes: int) -> Walk:
    """The walk through outcomes in the order of the games; 3 classes for games, 5 for pairs."""
    walk = Walk((0,) * classes)
    games_each(walk.counts)
    for outcome in outcomes:
        walk = step(test, walk, outcome)
    return walk


def _at_nelo(chances: list[float], nelo: float) -> list[float]:
    """The likeliest chances whose (mean - 1/2)/sd is that of the nElo, by repeated linearisation from equal classes."""
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


# Expected length: Wald's average sample number, from any point of the walk.
#
# The ratio is taken for a Brownian motion between Wald's bounds, as in `stopped`: drift and spread are those of one
# observation's log likelihood ratio. Source: Wald 1947 (Sequential Analysis, chapter 3); without drift its limit.

_DRAWS_ASSUMED = 0.5  # share of draws before the first game (our choice; 0.3 to 0.9 between engines)
_STRAIGHT = 1e-6  # drift times width over variance; below it the path counts as one without drift


def assumed_chances(classes: int) -> tuple[float, ...]:
    """Equals of whom half of the games are drawn; in pairs the two games are taken for independent."""
    won = (1 - _DRAWS_ASSUMED) / 2
    game = (won, _DRAWS_ASSUMED, won)
    if classes == GAME_CLASSES:
        return game
    return tuple(sum(game[i] * game[k - i] for i in range(3) if 0 <= k - i < 3) for k in range(classes))


def _drift(chances: Sequence[float], ratios: Sequence[float]) -> tuple[float, float]:
    """Mean and variance of the log likelihood ratio of one observation."""
    drift = sum(chance * ratio for chance, ratio in zip(chances, ratios, strict=True))
    return drift, sum(chance * (ratio - drift) ** 2 for chance, ratio in zip(chances, ratios, strict=True))


def _ratios(test: Sprt, counts: Counts) -> list[float]:
    """Log likelihood ratios of the classes, seen these counts."""
    return [log(q / p) for p, q in zip(*test.hypotheses(counts), strict=True)]


def sample_number(test: Sprt, chances: Sequence[float], llr: float = 0.0) -> float:
    """Mean number of observations until a verdict when each class comes with these chances, the ratio being `llr`."""
    drift, variance = _drift(chances, _ratios(test, chances))
    low, high = (bound - llr for bound in test.bounds)
    if not low < 0 < high:
        return 0.0
    if drift < 0:  # the mirror image, whose exponents cannot overflow
        drift, low, high = -drift, -high, -low
    steep = 2 * drift / variance
    if steep * (high - low) < _STRAIGHT:
        return -low * high / variance
    through = expm1(steep * low) / expm1(steep * (low - high))
    return (high * through + low * (1 - through)) / drift


def expected_lengths(test: Sprt, classes: int) -> dict[str, float]:
    """Mean observations before the first is seen, when elo0, the middle or elo1 is true, draws as assumed."""
    equals = assumed_chances(classes)
    middle = (test.elo0 + test.elo1) / 2
    truths = {"elo0": test.elo0, "middle": middle, "elo1": test.elo1}
    return {name: sample_number(test, test.likeliest(equals, elo)) for name, elo in truths.items()}


# Median-unbiased Elo estimate after a stop; the plain estimate overstates the winner.
#
# Outcomes are ordered from the earliest H0 over later ones to the latest H1 and the earliest H1. The median-unbiased
# estimate is the strength at which an outcome at most as good as the one seen has chance 1/2; the ends of the 95 %
# interval those with 97.5 % and 2.5 %. Source: Siegmund 1978 (Biometrika 65, estimation following sequential tests);
# Van den Bergh (fishtest). The ratio is taken for a Brownian motion between Wald's bounds, whose drift and spread are
# those of one observation's log likelihood ratio when the chances seen are tilted to the strength in question. The
# bounds of the walk itself are drawn in by its overshoot, which makes Wald's the right ones here (Siegmund 1985, 8.33).
#
# Far beyond the test the ratio grows by nearly the same with every outcome that still comes: a win by 30 Elo of a test
# tells it no more than a draw. When it stopped then says nothing of the strength, and chooses none: the plain figures
# hold. They are taken where the ratio shares less than half of the spread of the points (simulated, sixteen tests of
# 150: intervals held 91 to 100 %; before, from 41 % on, where the loser no longer won a pair), and where all outcomes
# were alike, which leaves no spread to share.

_FURTHEST_ESTIMATE = 2000.0  # Elo, a score of 0.99999; beyond it there is no telling
_SURE = 0.975  # leaves 2.5 % on either side
_HALVINGS = 50  # to 4e-12 Elo
_FAINT = 1e-14  # an image that adds less is the last
_SHARED = 0.5  # of the spread of the points (our choice: at 0.3 to 0.8 intervals held as well)
_TAIL = 30.0  # standard deviations; further out erfc is not a normal double for long (it ends at 38)


@dataclass(frozen=True, slots=True)
class _Estimate:
    """Elo after a stop and its 95 % interval, None beyond 2000; `observations` at the stop.

    Median-unbiased, or the `plain` figures where the stop told nothing.
    """

    elo: float | None
    low: float | None
    high: float | None
    observations: int
    plain: bool = False


def estimate(test: Sprt, walk: Walk) -> _Estimate | None:
    """The strength as the walk saw it when it stopped; None for a walk that did not."""
    if not walk.verdict:
        return None
    seen, ratios = shares(walk.stopped), _ratios(test, walk.stopped)
    number = sum(walk.stopped)
    if number in walk.stopped or _shared(seen, ratios) < _SHARED:
        plain = statistics_of(walk.stopped)
        return _Estimate(plain.elo, plain.low, plain.high, number, plain=True)

    def elo_where(chance: float) -> float | None:
        """The Elo at which an outcome at most as good has this chance, which falls with the strength."""
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
    """Squared correlation of the ratio and the points of an outcome."""
    top = len(chances) - 1
    mean, variance = moments(chances)
    middle, spread = _drift(chances, ratios)
    both = sum(
        chance * (place / top - mean) * (ratio - middle)
        for place, (chance, ratio) in enumerate(zip(chances, ratios, strict=True))
    )
    return both * both / (variance * spread) if variance > 0 and spread > 0 else 0.0


def _at_most(test: Sprt, verdict: _Verdict, number: int, chances: Sequence[float], ratios: Sequence[float]) -> float:
    """Chance of an outcome at most as good as this verdict after `number` observations."""
    drift, variance = _drift(chances, ratios)
    low, high = test.bounds
    if verdict == "H1":
        return 1 - _first_through(high, high - low, drift * number, variance * number)
    return _first_through(-low, high - low, -drift * number, variance * number)


def _first_through(distance: float, width: float, drift: float, variance: float) -> float:
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
        if part < _FAINT and image > 0:
            return min(1.0, max(0.0, total))
        image = -image if image < 0 else -image - 1


def _log_normal(x: float) -> float:
    """Logarithm of the normal distribution; far out by its first asymptotic term."""
    return log(erfc(-x / sqrt(2)) / 2) if x > -_TAIL else -x * x / 2 - log(-x * sqrt(2 * pi))


def _exp(x: float) -> float:
    return exp(min(x, 0.0))  # a part of a chance; above 0 by rounding only


# The test over the games of two engines: counts, ratio, verdict, strength.

OPEN_GAMES = 1_000_000  # most games of a test where nobody names a number: it ends by itself long before


@dataclass(frozen=True, slots=True)
class MatchTest:
    """What a test says of one engine against another, in the order of their games.

    `games` counts losses, draws, wins of the first engine; `pairs` those of its pairs, worst first, None where games
    did not come in pairs. The bayesian model walks over games even then; the statistics are by pairs all the same.
    """

    test: Sprt
    games: tuple[int, ...]
    pairs: tuple[int, ...] | None
    walk: Walk
    statistics: MatchStatistics
    after_stop: _Estimate | None

    @property
    def lone(self) -> int:
        """Games whose partner on the same opening is missing, where the others came in pairs."""
        return 0 if self.pairs is None else sum(self.games) - 2 * sum(self.pairs)

    @property
    def walks_by_pairs(self) -> bool:
        """The test looked after each pair, not after each game."""
        return len(self.walk.counts) == PAIR_CLASSES

    def to_json(self) -> dict[str, object]:
        """Numbers only; None is what cannot be given."""
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
    """The test over games as (what the two games of a pair share, half points of the first engine), in order.

    By pairs where `tallies` has them. ValueError without a game.
    """
    won, pairs, couples = tally_match(games)
    if pairs is not None and test.model != "bayesian":
        walk = _follow(test, couples, PAIR_CLASSES)
    else:
        walk = _follow(test, [half_points for _, half_points in games], GAME_CLASSES)
    return MatchTest(test, won, pairs, walk, statistics_of(pairs or won), estimate(test, walk))
