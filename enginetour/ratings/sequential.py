"""Sequential probability ratio tests of a match: one engine is elo1 stronger (H1), or only elo0 (H0).

model       bounds are            source
logistic    Elo of the score      generalised likelihood ratio, Van den Bergh (fishtest)
normalized  nElo                  Van den Bergh, "normalized Elo": strength in spreads of a game
bayesian    BayesElo, trinomial   Coulom (BayesElo), draws as in the games played

The bounds on the log likelihood ratio are Wald's (1945). A test looks once a game or pair, so the ratio jumps over
its bound; the bounds are drawn in by the mean jump, measured on the way (Siegmund 1985, corollary 8.33).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isfinite, log, log10, sqrt
from typing import Literal, get_args

from enginetour.ratings.pentanomial import (
    ELO_SCALE,
    GAME_CLASSES,
    NELO_UNIT,
    Counts,
    at_score,
    games_each,
    log_ratio,
    moments,
    regularised,
    score_of,
    tilted,
)

Model = Literal["logistic", "normalized", "bayesian"]
Verdict = Literal["", "H0", "H1"]  # "": no decision yet
MODELS: tuple[Model, ...] = get_args(Model)
UNITS: dict[Model, str] = {"logistic": "Elo", "normalized": "nElo", "bayesian": "BayesElo"}

ERROR = 0.05  # fishtest's alpha and beta
FURTHEST = 1000.0  # Elo; further out a bound is a score of 99.7 %
FURTHEST_NELO = 200.0  # from equal classes on 230 is unreachable with pairs: (1 + 2) t sd/2 > 1/2
STABLE = 1e-12  # of a probability
NEARLY = 1e-8  # of a probability: where rounding may keep it from settling further
MOST_ROUNDS = 100  # five to ten are usual: each brings a factor of ten or more


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
        furthest = FURTHEST_NELO if self.model == "normalized" else FURTHEST
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
        regular = regularised(counts)
        number = sum(regular)
        chances = [count / number for count in regular]
        return self._at(chances, self.elo0), self._at(chances, self.elo1)

    def likeliest(self, counts: Counts, elo: float) -> list[float]:
        """The likeliest chances of the classes at this strength, in the model's own unit, seen these counts."""
        regular = regularised(counts)
        number = sum(regular)
        return self._at([count / number for count in regular], elo)

    def _at(self, chances: list[float], elo: float) -> list[float]:
        if self.model == "normalized":
            return _at_nelo(chances, elo)
        if self.model == "logistic":
            return at_score(chances, score_of(elo))
        if len(chances) != GAME_CLASSES:
            raise ValueError("the bayesian model knows wins, draws and losses, no pairs")
        loss, _, win = chances
        draw_elo = ELO_SCALE / 2 * log10((1 - loss) / loss * (1 - win) / win)
        return at_score(chances, (score_of(elo - draw_elo) + 1 - score_of(-elo - draw_elo)) / 2)

    def meaning(self, verdict: Verdict, name: str) -> str:
        """A verdict about the engine `name` in words; "" without one."""
        unit = UNITS[self.model]
        words = {
            "H1": f"{name} is more than {self.elo0:g} {unit} ahead, wrong in {100 * self.alpha:g} %",
            "H0": f"{name} is less than {self.elo1:g} {unit} ahead, wrong in {100 * self.beta:g} %",
            "": "",
        }
        return words[verdict]

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
    verdict: Verdict = ""
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
    low, high = reach(test, after)
    if low < llr < high:
        return after
    return replace(after, verdict="H1" if llr >= high else "H0", stopped=counts)


def reach(test: Sprt, walk: Walk) -> tuple[float, float]:
    """Wald's bounds drawn in by the overshoot: where the test decides."""
    (low, high), (below, above) = test.bounds, walk.overshoot
    return low + below, high - above


def follow(test: Sprt, outcomes: Iterable[int], classes: int) -> Walk:
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
    for _ in range(MOST_ROUNDS):
        mean, variance = moments(found)
        sd = sqrt(variance)
        values = [a - 0.5 - target * sd * (1 + ((a - mean) / sd) ** 2) / 2 for a in (i / top for i in range(top + 1))]
        before, found = found, tilted(chances, values)
        last, moved = moved, max(abs(new - old) for new, old in zip(found, before, strict=True))
        if moved < STABLE or last <= moved < NEARLY:
            break
    return found
