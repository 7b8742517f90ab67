"""Calibration of `enginetour forecast` in simulated tournaments: ``python -m benches forecast``.

Each tournament is simulated to its end with engines of known strength. One forecast is made, when 25, 50 or 75 % of the
expected number of games are played. This number is the median of a forecast before game 1, because a real user does not
know the final number. A tournament that has ended by then has no forecast.

The simulated engines follow the model of `enginetour simulate`, and the forecast uses Davidson's model. The coverage of
the 80 % interval is given twice: *inclusive*, and *exact*, where a number of games at an end of the interval counts as
inside with the probability that makes 80 % the right value. They differ for formats with few possible numbers of games.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from enginetour.formats.base import Format, make_format, options_model
from enginetour.formats.forecast import Belief, Forecast, Prospect, prior_ratings
from enginetour.formats.simulation import Population, SimulationModel, draw_population, play_on, population_of
from enginetour.model.game import Entrant, GameFinished, Outcome, Pairing

PARTS = (0.25, 0.5, 0.75)
FIRST = 11  # simulations before game 1, for the expected number of games
WORLD = SimulationModel()
LEVELS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)


@dataclass(frozen=True)
class Kind:
    """One kind of tournament: its share of all tournaments, its format, and its engines for a seed."""

    label: str
    share: float
    system: str
    settings: Mapping[str, object]
    engines: Callable[[str], Population]
    varies: bool = True  # whether the number of games depends on the results
    drawn: bool = True  # whether the strengths are random; a fixed strength is not part of the sums

    def format(self, seed: int) -> Format[Any]:
        return make_format(self.system, options_model(self.system).model_validate(self.settings), seed)


def rated(count: int) -> Callable[[str], Population]:
    """Engines whose ratings are known with an error of 150 Elo."""

    def make(seed: str) -> Population:
        beliefs = draw_population(replace(WORLD, noise=0.0), count, seed).entrants
        return population_of(WORLD, beliefs, seed)

    return make


def unrated(count: int) -> Callable[[str], Population]:
    """Engines with a spread of 150 Elo, about which nothing is known."""

    def make(seed: str) -> Population:
        found = draw_population(WORLD, count, seed)
        return replace(found, entrants=tuple(Entrant(one.name) for one in found.entrants))

    return make


def versions(middle: float, spread: float) -> Callable[[str], Population]:
    """Two versions of an engine with a normally distributed difference."""

    def make(seed: str) -> Population:
        difference = Random(seed).gauss(middle, spread)
        return Population((Entrant("dev"), Entrant("base")), {"dev": difference, "base": 0.0}, WORLD, seed)

    return make


BUBBLE = {"size": 3, "min_matches": 3, "unpark_threshold": 2, "games_per_pairing": 2}
SPRT = {"games": 20_000, "sprt": {"elo0": 0.0, "elo1": 60.0}}
KINDS = (
    Kind("bubble, 8 rated engines", 0.25, "bubble", BUBBLE, rated(8)),
    Kind("bubble, 8 unrated engines", 0.2, "bubble", BUBBLE, unrated(8)),
    Kind("sprt 0..60, any difference", 0.25, "match", SPRT, versions(30.0, 120.0)),
    Kind("knockout, 8 rated engines", 0.2, "knockout", {"games_per_pairing": 2}, rated(8)),
    Kind("swiss, 8 rated engines", 0.05, "swiss", {"rounds": 3}, rated(8), varies=False),
    Kind("round robin, 6 unrated engines", 0.05, "roundrobin", {"cycles": 2}, unrated(6), varies=False),
    Kind("sprt 0..60, difference 0", 0.02, "match", SPRT, versions(0.0, 0.0), drawn=False),
    Kind("sprt 0..60, difference 60", 0.02, "match", SPRT, versions(60.0, 0.0), drawn=False),
)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark."""
    parser.add_argument("--tournaments", type=int, default=1000, help="number of tournaments (default %(default)s)")
    parser.add_argument("--simulations", type=int, default=60, help="per forecast (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default %(default)s)")
    parser.add_argument("--kinds", default="", help="only kinds whose label contains this text")


@dataclass
class _Seen:
    """Forecasts of one kind and their outcomes."""

    inside: list[float]
    exact: list[float]
    places: list[tuple[float, bool]]
    brier: list[float]
    uninformed: list[float]
    wins: list[tuple[float, float]]
    drops: list[tuple[float, bool]]
    verdicts: list[tuple[float, bool]]


def measured(given: argparse.Namespace, _folder: Path) -> Iterator[str]:
    """Yield the coverage of the number of games by kind and moment, then the calibration of probabilities."""
    found: dict[tuple[str, float], _Seen] = defaultdict(lambda: _Seen([], [], [], [], [], [], [], []))
    for kind in KINDS:
        if given.kinds not in kind.label:
            continue
        for number in range(round(given.tournaments * kind.share)):
            part = PARTS[number % len(PARTS)]
            if made := _forecast_at(kind, part, f"{given.seed}/{kind.label}/{number}", number, given.simulations):
                _judge(found[kind.label, part], *made)
        for part in PARTS:
            yield _coverage(f"{kind.label}, {part:.0%}", [found[kind.label, part]])
    varied = [kind.label for kind in KINDS if kind.varies and kind.drawn]
    yield _coverage("all whose number of games varies", [found[label, part] for label in varied for part in PARTS])
    for part in PARTS:
        yield _coverage(f"  at {part:.0%}", [found[label, part] for label in varied])
    everything = [found[kind.label, part] for kind in KINDS if kind.drawn for part in PARTS]
    for name in ("places", "wins", "drops", "verdicts"):
        yield f"{name}: probability in the forecast, frequency, number"
        yield from _levels([pair for seen in everything for pair in getattr(seen, name)])
    for kind in KINDS:
        for part in PARTS:
            if seen := found[kind.label, part].brier:
                base = fmean(found[kind.label, part].uninformed)
                yield f"Brier score of places, {kind.label}, {part:.0%}: {fmean(seen):.3f}, uniform {base:.3f}"


Judged = tuple[Forecast, int, Mapping[str, int], str, str]
"""A forecast, and the truth: remaining games, ranks, next engine that drops out, verdict."""


def _forecast_at(kind: Kind, part: float, seed: str, number: int, simulations: int) -> Judged | None:
    population, format_ = kind.engines(seed), kind.format(number + 1)
    state = format_.start(population.entrants)
    rounds, last = play_on(format_, state, population)
    games = [game for played in rounds for game in played]
    expected = _forecast(kind, format_, state, population, [], FIRST, f"{seed}/0").games.p50
    due = max(1, round(part * expected))
    if due >= len(games):
        return None
    for pairing, outcome in games[:due]:
        state = format_.step(state, GameFinished(pairing, outcome))
    made = _forecast(kind, format_, state, population, games[:due], simulations, f"{seed}/{part}")
    notes = format_.notes(last)[len(format_.notes(state)) :]
    drop = next((str(dict(note.fields)["engine"]) for note in notes if note.kind == "drop"), "")
    table = {line.name: line.rank for line in format_.standings(last) if line.rank is not None}
    return made, len(games) - due, table, drop, getattr(last, "verdict", "")


def _forecast(
    kind: Kind,
    format_: Format[Any],
    state: Any,
    population: Population,
    games: Sequence[tuple[Pairing, Outcome]],
    simulations: int,
    seed: str,
) -> Forecast:
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for pairing, outcome in games:
        counts[pairing.white, pairing.black][2 - outcome.half_points(white=True)] += 1
    names = [entrant.name for entrant in population.entrants]
    ratings = {one.name: one.rating for one in population.entrants if one.rating is not None}
    results = {pair: (won, drawn, lost) for pair, (won, drawn, lost) in counts.items()}
    belief = Belief.of(names, results, prior_ratings(format_, names, ratings))
    return Prospect("", kind.system, format_, state, belief, len(games)).forecast(simulations, seed=seed)


def _judge(seen: _Seen, made: Forecast, left: int, table: Mapping[str, int], drop: str, verdict: str) -> None:
    games = made.games
    seen.inside.append(games.p10 <= left <= games.p90)
    fewer, equal = (fmean(map(of, made.simulated)) for of in (left.__gt__, left.__eq__))
    within = min(fewer + equal, 0.9) - max(fewer, 0.1)  # the part of a jump of the distribution between 10 and 90 %
    seen.exact.append(max(within, 0.0) / equal if equal else float(0.1 <= fewer <= 0.9))
    best = [name for name, rank in table.items() if rank == 1]
    for one in made.entrants:
        ranks = range(1, len(made.entrants) + 1)
        seen.places += [(one.places.get(rank, 0.0), table[one.name] == rank) for rank in ranks]
        seen.brier.append(sum((one.places.get(rank, 0.0) - (table[one.name] == rank)) ** 2 for rank in ranks))
        seen.uninformed.append(1 - 1 / len(ranks))
        seen.wins.append((one.wins, (one.name in best) / len(best)))
        if one.leaves_next is not None:
            seen.drops.append((one.leaves_next, one.name == drop))
    seen.verdicts += [(chance, word == verdict) for word, chance in made.verdicts.items()]


def _coverage(label: str, found: Sequence[_Seen]) -> str:
    inside = [value for seen in found for value in seen.inside]
    if not inside:
        return f"{label}: no forecast"
    share = fmean(inside)
    error = sqrt(share * (1 - share) / len(inside))
    exact = 100 * fmean(value for seen in found for value in seen.exact)
    figures = f"inclusive {100 * share:5.1f} %, exact {exact:5.1f} %, ± {100 * error:.1f}"
    return f"{label:<36} 80 % interval: {figures}, {len(inside)} forecasts"


def _levels(pairs: Sequence[tuple[float, float]]) -> Iterator[str]:
    for low, high in pairwise(LEVELS):
        own = [pair for pair in pairs if low <= pair[0] < high or (high == 1.0 and pair[0] == 1.0)]
        if own:
            mean, seen = fmean(chance for chance, _ in own), fmean(float(true) for _, true in own)
            yield f"  {100 * low:3.0f} to {100 * high:3.0f} %: {100 * mean:5.1f} %  {100 * seen:5.1f} %  {len(own):,}"
