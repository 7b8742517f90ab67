"""Simulation of formats with simulated engines, and comparison of formats by accuracy.

Compared systems play with the same engines and the same luck. Their differences are therefore more precise than the
figures themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import exp, isfinite, log, sqrt
from statistics import NormalDist, fmean, median, quantiles, stdev
from typing import Any, Self

import numpy as np
from pydantic import ValidationError

from enginetour.formats.base import SYSTEMS, Format, S, make_format, options_model, setting_value
from enginetour.formats.pairing.field import Dice
from enginetour.model import task
from enginetour.model.errors import InputRefused, UsageRefused, did_you_mean
from enginetour.model.game import RESULTS, Entrant, GameFinished, Outcome, Pairing, StandingsRow
from enginetour.model.renamed import system_name
from enginetour.model.validation import plain_error
from enginetour.ratings.elo import expected_score
from enginetour.ratings.likelihood import fit
from enginetour.ratings.pentanomial import ELO_SCALE
from enginetour.ratings.priors import PhantomDraws

# Simulated engines: true strengths, prior ratings, and results of their games.
#
# `Dice` makes all random numbers from words that do not depend on the format, so a game of two engines has the same
# result in all formats.

_FINE = 1 << 53  # number of steps of a probability: the precision of a float between 0 and 1
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class SimulationModel:
    """Properties of simulated engines, in Elo; the defaults are those of the published comparisons."""

    spread: float = 150.0  # standard deviation of strengths
    noise: float = 150.0  # standard deviation of ratings around the true strengths; infinite: ratings are unknown
    white: float = 20.0  # advantage of White
    draws: float = 0.45  # share of draws between equal engines; multiplied by 1 - |2e - 1| at expected score e
    level: float = 2000.0  # median of the ratings, well above the floor of Go ratings
    odds: tuple[float, ...] | None = None  # time divisors for 1, 2 ... bands, instead of the formula

    def chances(self, white: float, black: float) -> tuple[float, float, float]:
        """Return the probabilities of a White win, a draw and a Black win."""
        share = expected_score(white - black + self.white)
        drawn = self.draws * (1 - abs(2 * share - 1))
        return share - drawn / 2, drawn, 1 - share - drawn / 2


_NATURAL = log(10) / ELO_SCALE  # natural units per Elo point
_LARGEST = 300.0  # natural units; beyond it, the result is certain


@dataclass(frozen=True, slots=True)
class DavidsonModel(SimulationModel):
    """Engines whose results have the probabilities of Davidson 1970, the model of rating lists.

    Differences are in Elo points between equal engines. `nu` is the draw parameter; the field `draws` is not used.
    """

    nu: float = 1.6

    def chances(self, white: float, black: float) -> tuple[float, float, float]:
        """Return the probabilities of a White win, a draw and a Black win."""
        half = max(-_LARGEST, min(_LARGEST, (white - black + self.white) / _elo_per_unit(self.nu) / 2))
        won, lost = exp(half), exp(-half)
        every = won + self.nu + lost
        return won / every, self.nu / every, lost / every


def _elo_per_unit(nu: float) -> float:
    """Return the Elo points of one natural unit of Davidson's model between equal engines."""
    return 2 / (2 + nu) / _NATURAL


@dataclass(frozen=True, slots=True)
class Population:
    """Engines of one simulated tournament: entrants, their true strengths, and the seed of their random results."""

    entrants: tuple[Entrant, ...]
    strengths: Mapping[str, float]
    world: SimulationModel
    seed: str

    def lead(self, pairing: Pairing) -> float:
        """Return White's Elo advantage, after the assumed effect of the time odds of this game."""
        even = self.strengths[pairing.white] - self.strengths[pairing.black]
        return even - task.odds_in_points(pairing.handicap, self.world.odds) if pairing.handicap else even

    def outcome(self, pairing: Pairing) -> Outcome:
        """Return the result of a game; the random number belongs to the pair and does not depend on the colors."""
        first, second = pairing.pair
        luck = _share(self.seed, first, second, pairing.meeting, pairing.leg)
        won, drawn, _ = self.world.chances(self.lead(pairing), 0.0)
        if pairing.white != first:
            luck = 1 - luck
        return Outcome.WHITE if luck < won else Outcome.DRAW if luck < won + drawn else Outcome.BLACK


def draw_population(world: SimulationModel, count: int, seed: str) -> Population:
    """Return `count` engines of random strength; ratings are strength plus noise, with the median `world.level`.

    With infinite noise, the engines have no ratings and are in random order.
    """
    strengths = [world.spread * _normal(seed, "strength", number) for number in range(count)]
    known = isfinite(world.noise)
    noise = [(world.noise if known else 1.0) * _normal(seed, "noise", at) for at in range(count)]
    beliefs = [strength + error for strength, error in zip(strengths, noise, strict=True)] if known else noise
    middle = median(beliefs)
    order = sorted(range(count), key=lambda at: -beliefs[at])
    names = [f"E{place:0{len(str(count))}}" for place in range(1, count + 1)]
    entrants = tuple(
        Entrant(name, rating=world.level + beliefs[at] - middle if known else None)
        for name, at in zip(names, order, strict=True)
    )
    return Population(entrants, {name: strengths[at] for name, at in zip(names, order, strict=True)}, world, seed)


def population_of(world: SimulationModel, entrants: Sequence[Entrant], seed: str) -> Population:
    """Return these entrants with true strengths: rating plus noise.

    If any entrant has no rating, all strengths are random. The list of entrants then counts as an order by rating; with
    infinite noise, it counts as a random order.
    """
    ratings = [entrant.rating for entrant in entrants if entrant.rating is not None]
    if len(ratings) == len(entrants) and isfinite(world.noise):
        strengths = [rating + world.noise * _normal(seed, "noise", at) for at, rating in enumerate(ratings)]
    else:
        strengths = list(draw_population(world, len(entrants), seed).strengths.values())
    truth = {entrant.name: strength for entrant, strength in zip(entrants, strengths, strict=True)}
    return Population(tuple(entrants), truth, world, seed)


def _share(*words: object) -> float:
    return (Dice(*words).below(_FINE) + 0.5) / _FINE


def _normal(*words: object) -> float:
    return _NORMAL.inv_cdf(_share(*words))


_TWO = 2  # entrants of a match; a sequential test can end it after any game, so each game is followed by a check


@dataclass(frozen=True, slots=True)
class SimulatedTournament:
    """Games in playing order, the final table, and the bounds of the number of games as known before game 1."""

    games: tuple[tuple[Pairing, Outcome], ...]
    table: tuple[StandingsRow, ...]
    bounds: tuple[int, int]


def simulate(format_: Format[Any], population: Population) -> SimulatedTournament:
    """Play all games of a format; raise ValueError if the format does not accept the field."""
    state = format_.start(population.entrants)
    bounds = format_.remaining(state)
    rounds, state = play_on(format_, state, population)
    games = tuple(game for played in rounds for game in played)
    return SimulatedTournament(games, format_.standings(state), bounds)


_CHECKED = 256  # games between two checks; together they take about 50 ms


def play_on(
    format_: Format[S], state: S, population: Population, check: Callable[[], None] = lambda: None
) -> tuple[list[list[tuple[Pairing, Outcome]]], S]:
    """Play all remaining games of a tournament from any state.

    Return the games in playing order, in one list for the games that the format offers together, and the last state.
    `check` is called from time to time; an exception that it raises ends the simulation.
    """
    rounds: list[list[tuple[Pairing, Outcome]]] = []
    while offers := format_.offers(state):
        played: list[tuple[Pairing, Outcome]] = []
        for pairing in offers:
            outcome = population.outcome(pairing)
            played.append((pairing, outcome))
            if not len(played) % _CHECKED:
                check()
            state = format_.step(state, GameFinished(pairing, outcome))
            if len(population.entrants) == _TWO and not format_.remaining(state)[1]:
                break
        rounds.append(played)
    return rounds, state


# Accuracy: rank correlation with the true strengths, whether the best engine is ranked first, and balance of the games.
#
# tau    Kendall's tau-a with the true strengths; equal ranks have no order            Kendall 1938
# table  the format's own table
# fit    ratings from the games alone: logistic, `_FIT_DRAWS` phantom draws each       enginetour's choice

# enginetour chooses this value because ratings are then finite for unbeaten entrants too, and nearest to the published
# comparisons, whose prior is unknown. It matters if groups rarely meet: tau of McMahon games is 0.625, 0.609, 0.573,
# 0.521 with 0.2, 0.5, 1, 2 draws, and 0.542 to 0.554 for a Swiss (32 engines, 6 rounds, noise 150, 100 fields; standard
# error 0.008).
_FIT_DRAWS = 0.5


@dataclass(frozen=True, slots=True)
class _Accuracy:
    """Accuracy of one tournament.

    `best` is the probability that the strongest engine is ranked first: 1/k if k engines share rank 1.
    """

    games: int
    tau_table: float
    tau_fit: float
    best_table: float
    best_fit: float
    gap: float  # root mean square of the true rating difference of opponents, after odds, in Elo
    rms: float  # root mean square error of the fitted ratings, relative to their average, in Elo


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean over tournaments and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> Self:
        """Return mean and standard error; the error of a single tournament is unknown and written as 0."""
        count = len(figures)
        return cls(fmean(figures), stdev(figures) / sqrt(count) if count > 1 else 0.0)


def accuracy(course: SimulatedTournament, population: Population) -> _Accuracy:
    """Return the accuracy of one tournament; unranked entrants count as last."""
    truth = population.strengths
    last = len(truth) + 1
    table = {line.name: -float(last if line.rank is None else line.rank) for line in course.table}
    fitted = fit(
        _counts(course),
        prior=PhantomDraws(_FIT_DRAWS),
        advantage=population.world.white,
        names=tuple(truth),
    ).by_name()
    gaps = [population.lead(pairing) for pairing, _ in course.games]
    errors = np.array([fitted[name] - strength for name, strength in truth.items()])
    return _Accuracy(
        games=len(course.games),
        tau_table=tau(table, truth),
        tau_fit=tau(fitted, truth),
        best_table=_best(table, truth),
        best_fit=_best(fitted, truth),
        gap=sqrt(fmean(gap * gap for gap in gaps)) if gaps else 0.0,
        rms=float(errors.std()),
    )


def tau(found: Mapping[str, float], truth: Mapping[str, float]) -> float:
    """Return Kendall's tau-a: (pairs in correct order - pairs in wrong order) / all pairs; larger values are better."""
    names = list(truth)
    one, other = (np.array([values[name] for name in names]) for values in (found, truth))
    signs = np.sign(one[:, None] - one) * np.sign(other[:, None] - other)
    count = len(names)
    return float(signs.sum() / (count * (count - 1)))


def _best(found: Mapping[str, float], truth: Mapping[str, float]) -> float:
    top = max(found.values())
    first = [name for name, value in found.items() if value == top]
    return (max(truth, key=truth.__getitem__) in first) / len(first)


def _counts(course: SimulatedTournament) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Count the results of even games; games at odds do not count for ratings."""
    counts: dict[tuple[str, str], list[int]] = {}
    for pairing, outcome in course.games:
        if pairing.handicap:
            continue
        counts.setdefault((pairing.white, pairing.black), [0, 0, 0])[RESULTS.index(outcome)] += 1
    return {pair: (wins, draws, losses) for pair, (wins, draws, losses) in counts.items()}


@dataclass(frozen=True, slots=True)
class _Contender:
    """A system of the registry with validated settings; `label` is the name that the user typed."""

    label: str
    system: str
    options: Any

    def format(self, seed: int) -> Format[Any]:
        return make_format(self.system, self.options, seed)


def parse_system(text: str, rounds: int) -> _Contender:
    """Parse ``NAME:key=value:...``; raise UsageRefused for an unknown system or setting.

    If the text does not set them, and the system has these settings, `rounds` and one game per match are used.
    """
    named, *pairs = text.split(":")
    system = system_name(named)
    if system not in SYSTEMS:
        raise UsageRefused(
            f"unknown format {system!r}{did_you_mean(system, list(SYSTEMS))}",
            step="run `enginetour systems` to list all formats",
        )
    model = options_model(system)
    given = dict(_setting(pair, text) for pair in pairs)
    usual = {"rounds": rounds, "games_per_pairing": 1}
    settings = {key: value for key, value in usual.items() if key in model.model_fields} | given
    try:
        return _Contender(text, system, model.model_validate(settings))
    except ValidationError as error:
        step = f"run `enginetour systems {system}` to list its settings"
        raise UsageRefused(plain_error(error, model, settings, noun="setting"), place=text, step=step) from None


def _setting(pair: str, text: str) -> tuple[str, object]:
    """Parse ``key=value``."""
    key, equals, value = pair.partition("=")
    if not equals or not key:
        raise UsageRefused(f"a setting must have the form key=value (found {pair!r})", place=text)
    return key, setting_value(value)


FIGURES = tuple(figure.name for figure in fields(_Accuracy))


def middle_80(values: Sequence[float]) -> tuple[float, float]:
    """Return the bounds of the middle 80 % of the values."""
    cuts = quantiles(values, n=10, method="inclusive") if len(values) > 1 else values
    return cuts[0], cuts[-1]


_Progress = Callable[[int], object]
"""Called with the number of tournaments finished since the last call."""


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """Figures of one system over all simulated fields; `above` has the differences from the first system's figures."""

    label: str
    figures: Mapping[str, Estimate]
    above: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """Results of one format over many simulations.

    `fewest` and `most` are the bounds of the number of games as known before game 1. `low` and `high` bound the middle
    80 % of the simulated numbers of games.
    """

    figures: Mapping[str, Estimate]
    fewest: int
    most: int
    low: float
    high: float


def compare(
    contenders: Sequence[_Contender],
    world: SimulationModel,
    *,
    entrants: int,
    count: int,
    seed: int,
    progress: _Progress = lambda _: None,
) -> list[ComparisonResult]:
    """Simulate all contenders on the same `count` random fields of `entrants` engines.

    Raise UsageRefused, with the name of the contender, if a contender does not accept the field.
    """
    found: list[list[_Accuracy]] = [[] for _ in contenders]
    for number in range(count):
        population = draw_population(world, entrants, f"{seed}/{number}")
        for rows, contender in zip(found, contenders, strict=True):
            rows.append(_measured(contender.label, contender.format(seed + number), population)[0])
        progress(1)
    columns = [_columns(rows) for rows in found]
    differences = [
        {name: [mine - theirs for mine, theirs in zip(own[name], columns[0][name], strict=True)] for name in own}
        for own in columns
    ]
    return [
        ComparisonResult(contender.label, _estimates(own), _estimates(above))
        for contender, own, above in zip(contenders, columns, differences, strict=True)
    ]


def simulate_many(
    make: Callable[[int], Format[Any]],
    entrants: Sequence[Entrant],
    world: SimulationModel,
    *,
    count: int,
    seed: int,
    progress: _Progress = lambda _: None,
) -> SimulationResult:
    """Simulate the format `make(seed)` with these entrants `count` times.

    Raise UsageRefused if the format does not accept the entrants.
    """
    rows: list[_Accuracy] = []
    bounds = (0, 0)
    for number in range(count):
        row, bounds = _measured("the format", make(seed + number), population_of(world, entrants, f"{seed}/{number}"))
        rows.append(row)
        progress(1)
    columns = _columns(rows)
    return SimulationResult(_estimates(columns), *bounds, *middle_80(columns["games"]))


def _measured(label: str, format_: Format[Any], population: Population) -> tuple[_Accuracy, tuple[int, int]]:
    try:
        course = simulate(format_, population)
    except (ValueError, InputRefused) as error:
        raise UsageRefused(str(error), place=label) from None
    return accuracy(course, population), course.bounds


def _columns(rows: Sequence[_Accuracy]) -> dict[str, list[float]]:
    return {name: [float(getattr(row, name)) for row in rows] for name in FIGURES}


def _estimates(columns: Mapping[str, Sequence[float]]) -> dict[str, Estimate]:
    return {name: Estimate.of(column) for name, column in columns.items()}
