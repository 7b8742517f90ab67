"""Simulation of formats with simulated engines, and comparison of formats by accuracy.

Where systems are compared they play the same engines with the same luck, so their differences are surer than either.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import sqrt
from statistics import NormalDist, fmean, median, quantiles, stdev
from typing import Any, Self

import numpy as np
from pydantic import ValidationError

from enginetour.formats.base import SYSTEMS, Format, make_format, options_model
from enginetour.formats.pairing.field import Dice
from enginetour.model import task
from enginetour.model.errors import InputRefused, UsageRefused, did_you_mean
from enginetour.model.game import Entrant, GameFinished, Outcome, Pairing, StandingsRow
from enginetour.ratings.elo import expected_score
from enginetour.ratings.likelihood import fit
from enginetour.ratings.priors import PhantomDraws

# Simulated engines: true strengths, prior ratings, and results of their games.
#
# All chance comes from `Dice` by words, so a game between two engines ends the same in every format that has it played:
# common random numbers, which make differences between formats surer than either figure.

_FINE = 1 << 53  # steps of a chance: all a float between 0 and 1 can tell
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class SimulationModel:
    """What simulated engines are like, in Elo; the defaults are those of our published comparisons."""

    spread: float = 150.0  # standard deviation of strengths
    noise: float = 150.0  # of what is believed about the truth
    white: float = 20.0  # worth of the white pieces
    draws: float = 0.45  # share of games between equals that are drawn; falls as 1 - |2e - 1|
    level: float = 2000.0  # median of the ratings brought along: clear of the floor of Go ratings
    odds: tuple[float, ...] | None = None  # divisors of time for 1, 2 ... bands, instead of the formula

    def chances(self, white: float, black: float) -> tuple[float, float, float]:
        """White's win, draw, White's loss."""
        share = expected_score(white - black + self.white)
        drawn = self.draws * (1 - abs(2 * share - 1))
        return share - drawn / 2, drawn, 1 - share - drawn / 2


@dataclass(frozen=True, slots=True)
class Population:
    """Engines of one simulated tournament: entrants best first as believed, their true strengths, and their luck."""

    entrants: tuple[Entrant, ...]
    strengths: Mapping[str, float]
    world: SimulationModel
    seed: str

    def lead(self, pairing: Pairing) -> float:
        """Elo by which White is the stronger, after what the odds of this game are assumed to cost the giver."""
        even = self.strengths[pairing.white] - self.strengths[pairing.black]
        return even - task.odds_in_points(pairing.handicap, self.world.odds)

    def outcome(self, pairing: Pairing) -> Outcome:
        """How this game ends; the luck is that of the pair, whoever has White."""
        first, second = pairing.pair
        luck = _share(self.seed, first, second, pairing.meeting, pairing.leg)
        won, drawn, _ = self.world.chances(self.lead(pairing), 0.0)
        if pairing.white != first:
            luck = 1 - luck
        return Outcome.WHITE if luck < won else Outcome.DRAW if luck < won + drawn else Outcome.BLACK


def draw_population(world: SimulationModel, count: int, seed: str) -> Population:
    """So many engines of random strength; ratings are the truth and noise, their median at the world's level."""
    strengths = [world.spread * _normal(seed, "strength", number) for number in range(count)]
    beliefs = [strength + world.noise * _normal(seed, "noise", at) for at, strength in enumerate(strengths)]
    middle = median(beliefs)
    order = sorted(range(count), key=lambda at: -beliefs[at])
    names = [f"E{place:0{len(str(count))}}" for place in range(1, count + 1)]
    entrants = tuple(
        Entrant(name, rating=world.level + beliefs[at] - middle) for name, at in zip(names, order, strict=True)
    )
    return Population(entrants, {name: strengths[at] for name, at in zip(names, order, strict=True)}, world, seed)


def population_of(world: SimulationModel, entrants: Sequence[Entrant], seed: str) -> Population:
    """These entrants: as strong as they are rated, and noise; of random strength in their order if any is unrated."""
    ratings = [entrant.rating for entrant in entrants if entrant.rating is not None]
    if len(ratings) == len(entrants):
        strengths = [rating + world.noise * _normal(seed, "noise", at) for at, rating in enumerate(ratings)]
    else:
        strengths = list(draw_population(world, len(entrants), seed).strengths.values())
    truth = {entrant.name: strength for entrant, strength in zip(entrants, strengths, strict=True)}
    return Population(tuple(entrants), truth, world, seed)


def _share(*words: object) -> float:
    return (Dice(*words).below(_FINE) + 0.5) / _FINE


def _normal(*words: object) -> float:
    return _NORMAL.inv_cdf(_share(*words))


_TWO = 2  # entrants: a sequential test between them may end at any game, so games are played one by one


@dataclass(frozen=True, slots=True)
class SimulatedTournament:
    """What happened: the games in playing order, the final table, the bounds of their number before the first."""

    games: tuple[tuple[Pairing, Outcome], ...]
    table: tuple[StandingsRow, ...]
    bounds: tuple[int, int]


def simulate(format_: Format[Any], population: Population) -> SimulatedTournament:
    """To the last offer. ValueError when the format refuses the field."""
    state = format_.start(population.entrants)
    bounds = format_.remaining(state)
    games: list[tuple[Pairing, Outcome]] = []
    while offers := format_.offers(state):
        for pairing in offers[:1] if len(population.entrants) == _TWO else offers:
            outcome = population.outcome(pairing)
            games.append((pairing, outcome))
            state = format_.step(state, GameFinished(pairing, outcome))
    return SimulatedTournament(tuple(games), format_.standings(state), bounds)


# Accuracy: rank correlation with the true strengths, best engine first, balance of the games.
#
# tau    Kendall's tau-a with the true strengths; who shares a rank is in no order     Kendall 1938
# table  the format's own table
# fit    ratings from the games alone: logistic, `FIT_DRAWS` phantom draws each        our decision

# Our decision: finite for the unbeaten, and nearest to the published comparisons, which do not tell their prior. It
# matters where groups rarely meet: tau of McMahon's games is 0.625, 0.609, 0.573, 0.521 with 0.2, 0.5, 1, 2 draws, of a
# Swiss 0.542 to 0.554 (32 engines, 6 rounds, noise 150, 100 fields; standard error 0.008).
_FIT_DRAWS = 0.5
_RESULTS = (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK)


@dataclass(frozen=True, slots=True)
class _Accuracy:
    """Of one tournament. `best` is the chance that the strongest is named first: 1/k when k share the first place."""

    games: int
    tau_table: float
    tau_fit: float
    best_table: float
    best_fit: float
    gap: float  # root mean square of the true difference of opponents, after odds, Elo


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over tournaments and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> Self:
        """Of one figure; one tournament alone has no error to tell, which is written as 0."""
        count = len(figures)
        return cls(fmean(figures), stdev(figures) / sqrt(count) if count > 1 else 0.0)


def accuracy(course: SimulatedTournament, population: Population) -> _Accuracy:
    """Of one course; whoever is not ranked stands behind the others."""
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
    return _Accuracy(
        games=len(course.games),
        tau_table=tau(table, truth),
        tau_fit=tau(fitted, truth),
        best_table=_best(table, truth),
        best_fit=_best(fitted, truth),
        gap=sqrt(fmean(gap * gap for gap in gaps)) if gaps else 0.0,
    )


def tau(found: Mapping[str, float], truth: Mapping[str, float]) -> float:
    """Pairs in the true order less those in the wrong one, of all pairs; larger is better in both."""
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
    """Of even games: those at odds rate nobody, as in our lists."""
    counts: dict[tuple[str, str], list[int]] = {}
    for pairing, outcome in course.games:
        if pairing.handicap:
            continue
        counts.setdefault((pairing.white, pairing.black), [0, 0, 0])[_RESULTS.index(outcome)] += 1
    return {pair: (wins, draws, losses) for pair, (wins, draws, losses) in counts.items()}


@dataclass(frozen=True, slots=True)
class _Contender:
    """A system of the registry with its validated settings; `label` as it was named."""

    label: str
    system: str
    options: Any

    def format(self, seed: int) -> Format[Any]:
        """Fresh, with chance of its own."""
        return make_format(self.system, self.options, seed)


def parse_system(words: str, rounds: int) -> _Contender:
    """As named. So many rounds and one game a match, where it has such settings and `words` give no other.

    UsageRefused for systems and settings there are not.
    """
    system, *pairs = words.split(":")
    if system not in SYSTEMS:
        raise UsageRefused(
            f"unknown format {system!r}{did_you_mean(system, list(SYSTEMS))}", step="enginetour systems lists them"
        )
    model = options_model(system)
    given = dict(_setting(pair, words) for pair in pairs)
    usual = {"rounds": rounds, "games_per_pairing": 1}
    settings = {key: value for key, value in usual.items() if key in model.model_fields} | given
    try:
        return _Contender(words, system, model.model_validate(settings))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        what = f"{key}: {first['msg']}" if key else first["msg"]
        if first["type"] == "extra_forbidden":
            what = f"unknown setting {key!r}{did_you_mean(key, list(model.model_fields))}"
        raise UsageRefused(what, place=words, step=f"enginetour systems {system} lists its settings") from None


def _setting(pair: str, words: str) -> tuple[str, object]:
    """``key=value``, the value as in a configuration; a bare word is text."""
    key, equals, value = pair.partition("=")
    if not equals or not key:
        raise UsageRefused(f"a setting is key=value, found {pair!r}", place=words)
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):  # no TOML, a number of thousands of digits, brackets in brackets
        return key, value


FIGURES = tuple(figure.name for figure in fields(_Accuracy))
_TENTHS = 10  # the outermost of its cuts bound the middle 80 %

_Progress = Callable[[int], object]
"""Called with the number of tournaments more that are played."""


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """One system over all fields: its figures, and by how much each is above the first system's on the same fields."""

    label: str
    figures: Mapping[str, Estimate]
    above: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """One format over many simulations: its figures, bounds of its games before the first, and the middle 80 %."""

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
    """All contenders on `count` fields of so many entrants. UsageRefused names the one that cannot take the field."""
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
    """One format, `make(seed)`, with these entrants, `count` times. UsageRefused when it cannot take them."""
    rows: list[_Accuracy] = []
    bounds = (0, 0)
    for number in range(count):
        row, bounds = _measured("the format", make(seed + number), population_of(world, entrants, f"{seed}/{number}"))
        rows.append(row)
        progress(1)
    columns = _columns(rows)
    games = columns["games"]
    cuts = quantiles(games, n=_TENTHS, method="inclusive") if count > 1 else games
    return SimulationResult(_estimates(columns), *bounds, cuts[0], cuts[-1])


def _measured(words: str, format_: Format[Any], population: Population) -> tuple[_Accuracy, tuple[int, int]]:
    try:
        course = simulate(format_, population)
    except (ValueError, InputRefused) as error:
        raise UsageRefused(str(error), place=words) from None
    return accuracy(course, population), course.bounds


def _columns(rows: Sequence[_Accuracy]) -> dict[str, list[float]]:
    return {name: [float(getattr(row, name)) for row in rows] for name in FIGURES}


def _estimates(columns: Mapping[str, Sequence[float]]) -> dict[str, Estimate]:
    return {name: Estimate.of(column) for name, column in columns.items()}
