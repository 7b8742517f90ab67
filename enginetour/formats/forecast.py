"""Forecast of a tournament: its rest is simulated many times from the present state.

Each simulation draws the ratings, White's advantage and the draw parameter from their posterior. The forecast therefore
includes the uncertainty that the games so far leave. Games in progress count as not played.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log, sqrt
from typing import Any, Self

import numpy as np

from enginetour.formats.base import Format
from enginetour.formats.simulation import DavidsonModel, Population, SimulationModel, elo_per_natural, play_on
from enginetour.model.game import Entrant, Pairing
from enginetour.ratings.likelihood import SharedParameters, fit
from enginetour.ratings.models import MODELS
from enginetour.ratings.pairs import Vector
from enginetour.ratings.priors import GaussianPrior

# Posterior of the ratings, White's advantage and the draw parameter.
#
# The likelihood is Davidson's. The prior of the ratings is Gaussian: around the rating of the configuration, or around
# the average of the field. White's advantage and the draw parameter also have a prior, because the first games of a
# tournament do not determine them. The posterior is approximated by a normal distribution at its maximum (Laplace).

_UNRATED_SD = 350.0  # Elo; the prior of rating lists
_RATED_SD = SimulationModel().noise  # Elo; error of ratings in the published comparisons of formats
_TESTED_SD = 2.0  # standard deviation of the difference of two tested engines, in distances of the two hypotheses
_WHITE, _WHITE_SD = SimulationModel().white, 20.0  # Elo; a wide range around the usual advantage of engines
_DRAW_RATE = SimulationModel().draws  # of equal engines
_NU_SD = 0.7  # of ln nu; draw rates of 29 and 62 % are one standard deviation away

Priors = Mapping[str, tuple[float, float]]
"""Prior rating in Elo and its standard deviation, by entrant."""


def prior_ratings(format_: Format[Any], names: Sequence[str], ratings: Mapping[str, float]) -> Priors:
    """Return the prior of each entrant; it is empty if nothing is known about any of them.

    Entrants without a rating are placed around the average of the others. If a sequential test decides, its hypotheses
    show which differences its user expects, and `ratings` are not used. The test is for the first of `names`.
    """
    test = getattr(format_, "test", None)
    if test is not None:
        first, second = names
        half, sd = (test.elo0 + test.elo1) / 4, _TESTED_SD * (test.elo1 - test.elo0) / sqrt(2)
        return {first: (half, sd), second: (-half, sd)}
    known = {name: ratings[name] for name in names if name in ratings}
    if not known:
        return {}
    middle = sum(known.values()) / len(known)
    return {name: (known[name] - middle, _RATED_SD) if name in known else (0.0, _UNRATED_SD) for name in names}


Counts = Mapping[tuple[str, str], tuple[int, int, int]]
"""White's wins, draws and losses by (White, Black)."""


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """A normal distribution of all unknowns in natural units: ratings by name, White's advantage, ln nu.

    `root` is a square root of the covariance.
    """

    names: tuple[str, ...]
    mode: Vector
    root: Vector

    @classmethod
    def of(cls, names: Sequence[str], counts: Counts, priors: Priors) -> Self:
        """Return the posterior after the results of even games.

        Entrants without a prior are placed around the average. `counts` may contain further engines.
        """
        nu = MODELS["davidson"].guess(_DRAW_RATE)
        found = None
        for _ in range(2):  # ratings are in Elo, whose size in natural units depends on the draw parameter
            unit = elo_per_natural(exp(nu))
            usual = np.array((_WHITE / unit, MODELS["davidson"].guess(_DRAW_RATE)))
            precision = np.diag((_WHITE_SD / unit, _NU_SD)) ** 2
            nothing = np.zeros((2, 2))
            found = fit(
                counts,
                model="davidson",
                prior=_gaussian(priors, unit),
                advantage="fit",
                names=names,
                scale=log(10),  # points are natural units
                elsewhere=SharedParameters(usual, np.zeros(2), np.linalg.inv(precision), nothing),
                start=found,
            )
            nu = float(found.at[-1])
        assert found is not None
        return cls(found.names, found.at, _root(found.curvature.inverse()))

    def draw(self, seed: str, number: int) -> Draw:
        """Return draw `number` of the series `seed`."""
        luck = np.random.default_rng([number, *seed.encode()]).standard_normal(len(self.mode) + 1)
        drawn = self.mode + self.root @ luck[:-1]
        nu = exp(drawn[-1])
        unit = elo_per_natural(nu)
        strengths = dict(zip(self.names, (drawn[:-2] * unit).tolist(), strict=True))
        return Draw(strengths, float(drawn[-2]) * unit, nu, float(luck[-1]))


@dataclass(frozen=True, slots=True)
class Draw:
    """Random values of one simulation: strengths and White's advantage in Elo, nu, and a normal deviate for times."""

    strengths: Mapping[str, float]
    white: float
    nu: float
    luck: float


def _gaussian(priors: Priors, unit: float) -> GaussianPrior:
    if not priors:
        return GaussianPrior(_UNRATED_SD / unit)
    means = {name: mean / unit for name, (mean, _) in priors.items()}
    return GaussianPrior({name: sd / unit for name, (_, sd) in priors.items()}, means)


def _root(covariance: Vector) -> Vector:
    try:
        return np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:  # rounding in a long chain of engines
        values, vectors = np.linalg.eigh(covariance)
        return np.asarray(vectors * np.sqrt(np.clip(values, 0.0, None)))


# Duration of the games.

_ASSUMED = 4  # games of average length that are added to the games of an entrant
_USUAL_SPREAD = 0.4  # standard deviation of a game relative to the mean, until there are enough games
_ENOUGH = 10  # games
_UNKNOWN = 0.3  # relative error of game lengths that are only estimated from the time control


@dataclass(frozen=True, slots=True)
class GameLengths:
    """How long games take.

    Attributes:
        means: mean seconds of a game by entrant.
        usual: mean seconds of a game of any other entrant.
        games: number of observed games; 0 if the seconds are estimated from the time control.
        spread: standard deviation of a game, relative to its expected duration.
    """

    means: Mapping[str, float]
    usual: float
    games: int = 0
    spread: float = _USUAL_SPREAD

    @classmethod
    def of(cls, observed: Mapping[tuple[str, str], tuple[int, float, float]]) -> Self | None:
        """Return the lengths of observed games: their number, sum of seconds, sum of squares by pair of engines.

        Return None without games.
        """
        games, seconds = sum(n for n, _, _ in observed.values()), sum(total for _, total, _ in observed.values())
        if not games:
            return None
        usual = seconds / games
        own: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
        for pair, (n, total, _) in observed.items():
            for name in pair:
                own[name] = own[name][0] + n, own[name][1] + total
        means = {name: (total + _ASSUMED * usual) / (n + _ASSUMED) for name, (n, total) in own.items()}
        within = sum(squares - total * total / n for n, total, squares in observed.values())
        free = games - len(observed)
        spread = sqrt(max(within, 0.0) / free) / usual if free >= _ENOUGH and usual else _USUAL_SPREAD
        return cls(means, usual, games, spread)

    def expected(self, pairing: Pairing) -> float:
        """Estimate the seconds of a game: the mean of the averages of its two engines."""
        return (self.means.get(pairing.white, self.usual) + self.means.get(pairing.black, self.usual)) / 2

    def factor(self, games: int, luck: float) -> float:
        """Return the ratio of the real to the expected duration of `games` games, at the normal deviate `luck`."""
        error = self.spread * sqrt(1 / max(games, 1) + (1 / self.games if self.games else 0.0))
        return exp(luck * (error if self.games else sqrt(error * error + _UNKNOWN * _UNKNOWN)))

    def duration(self, games: Sequence[Pairing], slots: int) -> float:
        """Return the seconds of games that are offered together; the games of an encounter need the same slot."""
        each: dict[tuple[object, ...], float] = defaultdict(float)
        for pairing in games:
            each[(*pairing.pair, pairing.meeting)] += self.expected(pairing)
        return max(sum(each.values()) / slots, max(each.values(), default=0.0))


# The forecast.

SIMULATIONS = 300


@dataclass(frozen=True, slots=True)
class Quantiles:
    """The values that are exceeded with probabilities of 90, 50 and 10 %."""

    p10: float
    p50: float
    p90: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Return quantiles that are values of the sample."""
        return cls(*np.quantile(values, (0.1, 0.5, 0.9), method="inverted_cdf").tolist())


@dataclass(frozen=True, slots=True)
class EntrantForecast:
    """The chances of one entrant.

    `wins` is the probability of rank 1; engines that share rank 1 share it. `places` contains the probability of each
    rank; shared ranks stay shared. `leaves_next` is the probability of leaving next, or None if the format does not
    have such an event.
    """

    name: str
    wins: float
    places: Mapping[int, float]
    leaves_next: float | None = None

    @property
    def mean_place(self) -> float:
        """Return the mean of the ranks; it is infinite for an entrant that is never ranked."""
        ranked = sum(self.places.values())
        return sum(place * chance for place, chance in self.places.items()) / ranked if ranked else float("inf")


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is expected of the rest of a tournament.

    Attributes:
        tournament: title of the tournament.
        system: name of its format.
        games_done: number of finished games.
        slots: number of concurrent games.
        simulations: number of simulated tournaments.
        games: remaining games.
        seconds: remaining seconds; None if the duration of a game is unknown.
        entrants: the entrants, ordered by their mean place.
        leaving: the word of the format for the next entrant that leaves, such as "drops out"; empty without one.
        verdicts: probability of each verdict of a sequential test ("" for none); empty without a test.
        simulated: number of remaining games of each simulation.
    """

    tournament: str
    system: str
    games_done: int
    slots: int
    simulations: int
    games: Quantiles
    seconds: Quantiles | None
    entrants: tuple[EntrantForecast, ...]
    leaving: str = ""
    verdicts: Mapping[str, float] = field(default_factory=dict)
    simulated: tuple[int, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the JSON document of the forecast, with hours instead of seconds."""
        hours = None if self.seconds is None else [round(s / 3600, 4) for s in _three(self.seconds)]
        return {
            "tournament": self.tournament,
            "system": self.system,
            "games_done": self.games_done,
            "concurrency": self.slots,
            "simulations": self.simulations,
            "remaining_games": _named(_three(self.games)),
            "remaining_hours": hours and _named(hours),
            "entrants": [
                {
                    "name": one.name,
                    "wins": round(one.wins, 4),
                    "mean_place": round(one.mean_place, 2) if one.places else None,
                    "places": {str(place): round(chance, 4) for place, chance in sorted(one.places.items())},
                    "leaves_next": None if one.leaves_next is None else round(one.leaves_next, 4),
                }
                for one in self.entrants
            ],
            "leaving": self.leaving or None,
            "verdicts": {word or "none": round(share, 4) for word, share in self.verdicts.items()} or None,
        }


def _three(found: Quantiles) -> list[float]:
    return [found.p10, found.p50, found.p90]


def _named(three: Sequence[float]) -> dict[str, float]:
    return dict(zip(("p10", "p50", "p90"), three, strict=True))


@dataclass(frozen=True, slots=True)
class Prospect:
    """Everything that a forecast depends on.

    Attributes:
        tournament: title of the tournament.
        system: name of its format.
        format: the format.
        state: the present state, in which at least one game remains.
        posterior: distribution of the strengths of all entrants.
        games_done: number of finished games.
        lengths: how long games take; None if this is unknown.
        slots: number of concurrent games.
        odds: time divisors of handicap games; None for the formula.
    """

    tournament: str
    system: str
    format: Format[Any]
    state: Any
    posterior: Posterior
    games_done: int = 0
    lengths: GameLengths | None = None
    slots: int = 1
    odds: tuple[float, ...] | None = None

    def forecast(
        self, count: int | None = None, *, seed: str = "forecast", going_on: Callable[[int], bool] = lambda _: True
    ) -> Forecast:
        """Simulate the rest of the tournament.

        Args:
            count: largest number of simulations; None for the usual number.
            seed: words that determine all random numbers.
            going_on: called with the number of finished simulations; the forecast ends if it returns False.
        """
        entrants = tuple(Entrant(line.name) for line in self.format.standings(self.state))
        known = len(self.format.notes(self.state))
        tally = _Tally(getattr(self.format, "departure", None))
        for number in range(count or SIMULATIONS):
            drawn = self.posterior.draw(seed, number)
            world = DavidsonModel(white=drawn.white, nu=drawn.nu, odds=self.odds)
            population = Population(entrants, drawn.strengths, world, f"{seed}/{number}")
            rounds, last = play_on(self.format, self.state, population)
            tally.games.append(sum(map(len, rounds)))
            if self.lengths is not None:
                seconds = sum(self.lengths.duration([game for game, _ in played], self.slots) for played in rounds)
                tally.seconds.append(seconds * self.lengths.factor(tally.games[-1], drawn.luck))
            tally.add(self.format, last, known)
            if not going_on(number + 1):
                break
        return tally.forecast(self, [entrant.name for entrant in entrants])


class _Tally:
    """Counts of what happened in the simulations."""

    def __init__(self, departure: tuple[str, str] | None) -> None:
        self.games: list[int] = []
        self.seconds: list[float] = []
        self._departure = departure
        self._wins: Counter[str] = Counter()
        self._places: dict[str, Counter[int]] = defaultdict(Counter)
        self._left: Counter[str] = Counter()
        self._verdicts: Counter[str] = Counter()

    def add(self, format_: Format[Any], last: Any, known: int) -> None:
        table = format_.standings(last)
        best = [line.name for line in table if line.rank == 1]
        for name in best:
            self._wins[name] += 1 / len(best)  # type: ignore[assignment]
        for line in table:
            if line.rank is not None:
                self._places[line.name][line.rank] += 1
        if self._departure is not None:
            kind, _ = self._departure
            first = next((note for note in format_.notes(last)[known:] if note.kind == kind), None)
            if first is not None:
                self._left[str(dict(first.fields)["engine"])] += 1
        if getattr(format_, "test", None) is not None:
            self._verdicts[last.verdict] += 1

    def forecast(self, prospect: Prospect, names: Sequence[str]) -> Forecast:
        count = len(self.games)
        rows = [
            EntrantForecast(
                name,
                self._wins[name] / count,
                {place: times / count for place, times in sorted(self._places[name].items())},
                None if self._departure is None else self._left[name] / count,
            )
            for name in names
        ]
        rows.sort(key=lambda row: (row.mean_place, -row.wins))
        return Forecast(
            tournament=prospect.tournament,
            system=prospect.system,
            games_done=prospect.games_done,
            slots=prospect.slots,
            simulations=count,
            games=Quantiles.of(self.games),
            seconds=Quantiles.of(self.seconds) if self.seconds else None,
            entrants=tuple(rows),
            leaving="" if self._departure is None else self._departure[1],
            verdicts={word: times / count for word, times in sorted(self._verdicts.items())},
            simulated=tuple(self.games),
        )
