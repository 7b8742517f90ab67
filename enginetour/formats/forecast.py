"""Forecast of a tournament: its rest is simulated many times from the present state.

Each simulation draws the ratings and the draw parameter from their posterior. The forecast therefore includes the
uncertainty that the games so far leave. Games in progress count as not played.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import exp, sqrt
from typing import Any, Self

import numpy as np

from enginetour.formats.base import Counts, Format, Rest
from enginetour.formats.simulation import DavidsonModel, Population, SimulationModel, play_on
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Entrant, Pairing, StandingsRow
from enginetour.ratings.design import EXTRA_SD, posterior
from enginetour.ratings.pairs import Vector
from enginetour.ratings.priors import PRIOR_SD, DivisionPrior, GaussianPrior

# What is known about the strengths: the posterior of `ratings/design.py`, from which each simulation draws.

_RATED_SD = SimulationModel().noise  # Elo; error of ratings in the published comparisons of formats
_TESTED_SD = 2.0  # standard deviation of the difference of two tested engines, in distances of the two hypotheses


def prior_ratings(
    format_: Format[Any], names: Sequence[str], ratings: Mapping[str, float]
) -> GaussianPrior | DivisionPrior:
    """Return the prior of the entrants in Elo.

    Known `ratings` have an error; entrants without a rating are placed around the average. Without ratings, a format
    may have a prior of its own for divisions. If a sequential test decides, its hypotheses show which differences its
    user expects, and `ratings` are not used. The test is for the first of `names`.
    """
    test = getattr(format_, "test", None)
    if test is not None:
        first, second = names
        half, sd = (test.elo0 + test.elo1) / 4, _TESTED_SD * (test.elo1 - test.elo0) / sqrt(2)
        return GaussianPrior(sd, {first: half, second: -half})
    known = {name: ratings[name] for name in names if name in ratings}
    middle = sum(known.values()) / len(known) if known else 0.0
    sds = {name: _RATED_SD if name in known else PRIOR_SD for name in names}
    divisions: DivisionPrior | None = getattr(format_, "division_prior", None)
    if divisions is not None and not known:
        return divisions
    return GaussianPrior(sds, {name: rating - middle for name, rating in known.items()})


@dataclass(frozen=True, slots=True)
class Draw:
    """Random values of one simulation: strengths in Elo, the draw parameter nu, and a normal deviate for times."""

    strengths: Mapping[str, float]
    nu: float
    luck: float


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """The distribution of the strengths. `root` is a square root of their covariance; `nu_sd` is the error of ln nu."""

    names: tuple[str, ...]
    mode: Vector  # Elo
    root: Vector
    white: float  # advantage of White in Elo
    nu: float
    nu_sd: float

    @classmethod
    def of(
        cls, names: Sequence[str], counts: Counts, prior: GaussianPrior | DivisionPrior, earlier: Counts | None = None
    ) -> Self:
        """Return the distribution after the results of even games between these entrants; others are left out.

        `earlier` has results before the tournament.
        """
        place = {name: number for number, name in enumerate(names)}
        results = np.zeros((len(names), len(names), 3))
        for some in (counts, earlier or {}):
            met = [pair for pair in some if pair[0] in place and pair[1] in place]
            white, black = np.array([[place[name] for name in pair] for pair in met], np.intp).reshape(-1, 2).T
            results[white, black] += np.array([some[pair] for pair in met]).reshape(-1, 3)
        found = posterior(names, results, prior)
        nu = float(found.draw)
        rate = nu / (2 + nu)
        known = float(results.sum()) * rate * (1 - rate)  # information about ln nu if the ratings are known
        return cls(
            tuple(names),
            found.mode,
            _root(found.covariance),
            float(found.advantage),
            nu,
            1 / sqrt(known + 1 / float(EXTRA_SD[1]) ** 2),
        )

    def draw(self, seed: str, number: int) -> Draw:
        """Return draw `number` of the series `seed`."""
        luck = np.random.default_rng([number, *seed.encode()]).standard_normal(len(self.mode) + 2)
        strengths = self.mode + self.root @ luck[:-2]
        nu = self.nu * exp(self.nu_sd * luck[-2])
        return Draw(dict(zip(self.names, strengths.tolist(), strict=True)), nu, float(luck[-1]))


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


class _Ended(Exception):
    """Raised during a simulation when the forecast must end."""


def _check(going_on: Callable[[int], bool], finished: int) -> None:
    if not going_on(finished):
        raise _Ended


@dataclass(frozen=True, slots=True)
class Prospect:
    """Everything that a forecast depends on.

    Attributes:
        tournament: title of the tournament.
        system: name of its format.
        format: the format.
        state: the present state, in which at least one game remains.
        belief: distribution of the strengths of all entrants.
        games_done: number of finished games.
        lengths: how long games take; None if this is unknown.
        slots: number of concurrent games.
        odds: time divisors of handicap games; None for the formula.
    """

    tournament: str
    system: str
    format: Format[Any]
    state: Any
    belief: Belief
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
            going_on: called with the number of finished simulations, also during long ones; the forecast ends if it
                returns False.

        Raises:
            UsageRefused: The forecast ended before the end of its first simulation.
        """
        entrants = tuple(Entrant(line.name) for line in self.format.standings(self.state))
        known = len(self.format.notes(self.state))
        tally = _Tally(getattr(self.format, "departure", None))
        rest = self.format.rest(self.state)
        fixed = None if rest is None else FixedRest.of(rest)
        whole = self._seconds([rest.games]) if rest else 0.0
        for number in range(count or SIMULATIONS):
            drawn = self.belief.draw(seed, number)
            world = DavidsonModel(white=self.belief.white, nu=drawn.nu, odds=self.odds)
            population = Population(entrants, drawn.strengths, world, f"{seed}/{number}")
            if fixed is not None:
                games, seconds, last = len(fixed.rest.games), whole, self.state
                table = fixed.rest.table(fixed.results(population))
            else:
                try:
                    played, last = play_on(self.format, self.state, population, partial(_check, going_on, number))
                except _Ended:
                    break
                rounds = [[game for game, _ in part] for part in played]
                games, seconds, table = sum(map(len, rounds)), self._seconds(rounds), self.format.standings(last)
            tally.games.append(games)
            if self.lengths is not None:
                tally.seconds.append(seconds * self.lengths.factor(games, drawn.luck))
            tally.add(self.format, last, table, known)
            if not going_on(number + 1):
                break
        if not tally.games:
            fewest, most = self.format.remaining(self.state)
            what = f"the remaining games (found {fewest} to {most}) take too long to simulate"
            raise UsageRefused(what, place=self.tournament, step="use --simulations 20, which has no time limit")
        return tally.forecast(self, [entrant.name for entrant in entrants])

    def _seconds(self, rounds: Sequence[Sequence[Pairing]]) -> float:
        """Return the expected seconds of games that are offered round by round."""
        return 0.0 if self.lengths is None else sum(self.lengths.duration(games, self.slots) for games in rounds)


@dataclass(frozen=True, slots=True)
class FixedRest:
    """Remaining games that do not depend on results, with their numbers by White, Black and time odds.

    The results of equal games are drawn together, which takes a hundredth of the time of single games.
    """

    rest: Rest
    equal: Mapping[tuple[str, str, int], tuple[Pairing, int]]

    @classmethod
    def of(cls, rest: Rest) -> Self:
        """Count the equal games."""
        counts = Counter((game.white, game.black, game.handicap) for game in rest.games)
        first = {(game.white, game.black, game.handicap): game for game in rest.games}
        return cls(rest, {kind: (first[kind], count) for kind, count in counts.items()})

    def results(self, population: Population) -> dict[tuple[str, str], tuple[int, int, int]]:
        """Draw White's wins, draws and losses by (White, Black)."""
        dice = np.random.default_rng([*population.seed.encode()])
        chances = [population.world.chances(population.lead(game), 0.0) for game, _ in self.equal.values()]
        drawn = dice.multinomial([count for _, count in self.equal.values()], chances)
        found: dict[tuple[str, str], tuple[int, int, int]] = {}
        for (white, black, _), (won, even, lost) in zip(self.equal, drawn.tolist(), strict=True):
            old = found.get((white, black), (0, 0, 0))
            found[white, black] = old[0] + won, old[1] + even, old[2] + lost
        return found


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

    def add(self, format_: Format[Any], last: Any, table: Sequence[StandingsRow], known: int) -> None:
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
