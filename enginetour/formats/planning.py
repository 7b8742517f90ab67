"""Planner of a night: formats with settings that use its hours, compared for a goal by simulation.

A night allows a number of games. Each suitable format is tried with several shapes, such as the size of a bubble or the
number of rounds. A shape gets as many games per match, or as many cycles, as the night allows. All candidates play with
the same simulated engines, so their differences are more precise than the figures themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite, log2
from statistics import fmean
from typing import Any

import numpy as np
from pydantic import ValidationError

from enginetour.formats.base import Format, make_format, options_model, setting_value
from enginetour.formats.pairing.schedule import MOST_EACH
from enginetour.formats.simulation import (
    Estimate,
    Population,
    SimulatedTournament,
    SimulationModel,
    accuracy,
    middle_80,
    population_of,
    simulate,
)
from enginetour.model.errors import InputRefused, UsageRefused, did_you_mean
from enginetour.model.game import RESULTS, Entrant
from enginetour.model.validation import plain_error
from enginetour.ratings.design import Goal, posterior, progress
from enginetour.ratings.priors import GaussianPrior

GOALS = "top=3, los=0.95 (all places), error=10 (Elo, all engines) or entrant=NAME,error=10"
_COMMA = re.compile(r",(?![^\[\]]*\])")  # a comma between settings, but not one in a list
_USUAL_LOS = 0.95


def parse_goal(text: str, names: Sequence[str]) -> Goal:
    """Parse a goal such as ``top=3`` or ``entrant=dev,error=8``; a likelihood that is not given is 0.95.

    Raise UsageRefused with the allowed goals if it is not valid, or not possible for the entrants `names`.
    """
    given: dict[str, Any] = {}
    for part in _COMMA.split(text):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or key not in Goal.model_fields:
            what = f"unknown goal {key!r}{did_you_mean(key, Goal.model_fields)}"
            raise UsageRefused(what, place="--goal", step=f"use {GOALS}")
        if key == "divisions":
            what = "compares formats for one field, not for games between divisions"
            step = 'set this goal in a configuration with system = "adaptive" and use `enginetour forecast`'
            raise UsageRefused(what, place="--goal", step=step)
        given[key] = setting_value(value)
    if "top" in given:
        given.setdefault("los", _USUAL_LOS)
    try:
        goal = Goal.model_validate(given)
        goal.check(names)
    except ValidationError as error:
        raise UsageRefused(plain_error(error, Goal, given), place="--goal", step=f"use {GOALS}") from None
    except ValueError as error:
        raise UsageRefused(str(error).removeprefix("goal: "), place="--goal") from None
    return goal


@dataclass(frozen=True, slots=True)
class Night:
    """What a night has: entrants (best first if they have ratings), simulated engines, number of games, goal.

    `slots` is the number of concurrent games.
    """

    entrants: tuple[Entrant, ...]
    world: SimulationModel
    games: int
    goal: Goal
    seed: int = 1
    slots: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the entrants."""
        return tuple(entrant.name for entrant in self.entrants)

    @property
    def rated(self) -> bool:
        """Return whether the ratings of all entrants are known."""
        return isfinite(self.world.noise) and all(entrant.rating is not None for entrant in self.entrants)

    def population(self, number: int) -> Population:
        """Return the simulated engines of night `number`, which are the same for all candidates."""
        return population_of(self.world, self.entrants, f"{self.seed}/{number}")

    def prior(self) -> GaussianPrior:
        """Return what is known about the ratings before the first game."""
        if not self.rated:
            return GaussianPrior()
        mean = {entrant.name: entrant.rating or 0.0 for entrant in self.entrants}
        return GaussianPrior(sd=max(self.world.noise, 1.0), mean=mean)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A format with settings."""

    system: str
    settings: Mapping[str, Any]

    def format(self, seed: int) -> Format[Any]:
        """Make the format."""
        return make_format(self.system, options_model(self.system).model_validate(dict(self.settings)), seed)

    def scaled(self, night: Night, once: int) -> Candidate | None:
        """Return the candidate with the largest number of games that the night allows; None if it allows too few.

        `once` is the number of games with one game per match.
        """
        if "games" in self.settings:
            return self if once <= night.games else None
        key = "cycles" if "cycles" in options_model(self.system).model_fields else "games_per_pairing"
        pairs = min(int(night.games / (2 * once)), MOST_EACH // 2)
        if not pairs:
            return self._with("games_per_pairing", 1) if once <= night.games else None
        if key == "cycles":
            return self._with("games_per_pairing", 2)._with("cycles", pairs)
        return self._with(key, 2 * pairs)

    def length(self, night: Night) -> int:
        """Return the number of games with one game per match: exactly, or that of the longest of a few simulations."""
        if "games" in self.settings:
            return 2 * (len(night.entrants) - 1)  # a game pair for each link between all entrants
        once = self._with("games_per_pairing", 1)
        format_ = once.format(night.seed)
        fewest, most = format_.remaining(format_.start(night.entrants))
        if fewest == most or fewest > night.games:
            return fewest
        return ceil(
            max(
                len(simulate(self._with("games_per_pairing", games).format(number), night.population(number)).games)
                / games
                for games in _TRIED
                for number in range(_TRIALS)
            )
        )

    def _with(self, key: str, value: object) -> Candidate:
        return Candidate(self.system, {**self.settings, key: value})

    def describe(self) -> str:
        """Return the main settings in a few words."""
        given = self.settings
        games = given.get("games_per_pairing", 1)
        each = f"{games} games" if games != 1 else "1 game"
        if self.system == "bubble":
            return f"size {given['size']}/{given['min_matches']}, {each}"
        if "rounds" in given:
            return f"{given['rounds']} rounds, {each}"
        if "games" in given:
            return f"at most {given['games']} games"
        cycles = given.get("cycles", 1)
        times = f"{cycles} cycles" if cycles != 1 else each
        if "seeds" in given:
            seeds = given["seeds"]
            count = seeds if isinstance(seeds, int) else len(seeds)
            return f"{count} seed{'s' * (count != 1)}, {times}"
        return times


# Simulations that find the length of a format whose length depends on results: their number, and their games per match.
# In long matches the stronger engine wins nearly always, and the number of matches is different.
_TRIALS, _TRIED = 6, (1, 8)
_SIZES = (4, 6, 10)  # engines in the section of a bubble; Muller's is 10
_MORE = (1.0, 1.5)  # smallest number of matches, in opponents of the section; Muller's is 15 / 9


def shapes(night: Night) -> Iterator[Candidate]:
    """Yield the candidates of all suitable formats, still without a number of games per match."""
    count, goal = len(night.entrants), night.goal
    yield _adaptive(night)  # first, because its simulation takes longest
    yield Candidate("roundrobin", {})
    if goal.entrant is not None:
        yield Candidate("gauntlet", {"seeds": [goal.entrant]})
    else:
        for seeds in sorted({1, count // 3} - {0}):
            yield Candidate("gauntlet", {"seeds": seeds, **({"seeds_meet": True} if seeds > 1 else {})})
    for size in _SIZES:
        if size < count:
            for more in _MORE:
                least = round(more * (size - 1))
                yield Candidate("bubble", {"size": size, "min_matches": least, "unpark_threshold": size // 2})
    fewest, most = ceil(log2(count)) if count > 1 else 1, options_model("dutch").most_rounds(count)
    for rounds in sorted({min(most, wanted) for wanted in (fewest, fewest + 2, (fewest + most) // 2)}):
        yield Candidate("swiss-gotha", {"rounds": rounds})
        if night.rated:
            yield Candidate("mcmahon", {"rounds": rounds})


def _adaptive(night: Night) -> Candidate:
    settings = {"goal": night.goal.model_dump(exclude_unset=True), "games": max(2, night.games - night.games % 2)}
    if night.rated:
        settings["prior_error"] = max(night.world.noise, 1.0)
    if 2 * night.slots > options_model("adaptive").model_fields["ahead"].default:
        settings["ahead"] = 2 * night.slots
    return Candidate("adaptive", settings)


def fitting(night: Night) -> tuple[list[Candidate], dict[str, int]]:
    """Return the candidates that the night allows, and the games that each format without a candidate needs."""
    found: list[Candidate] = []
    needed: dict[str, int] = {}
    for shape in shapes(night):
        try:
            once = shape.length(night)
            if (made := shape.scaled(night, once)) is not None:
                found.append(made)
            else:
                needed[shape.system] = min(once, needed.get(shape.system, once))
        except (ValueError, InputRefused):  # the format cannot pair so few entrants, or not with this goal
            continue
    there = {candidate.system for candidate in found}
    return found, {system: games for system, games in needed.items() if system not in there}


@dataclass(frozen=True, slots=True)
class Played:
    """Figures of one simulated night.

    `figure` is what the goal measures: the largest half-width in Elo, or a likelihood. `doubts` are the places of the
    pairs in doubt, such as (3, 4); an entrant whose interval is too wide is a pair with itself.
    """

    games: int
    rms: float
    tau: float
    best: float
    reached: bool
    figure: float
    doubts: tuple[tuple[int, int], ...]


def play(candidate: Candidate, night: Night, number: int) -> Played | None:
    """Simulate one night; return None if the format cannot pair the entrants."""
    population = night.population(number)
    try:
        course = simulate(candidate.format(night.seed + number), population)
    except (ValueError, InputRefused):
        return None
    quality = accuracy(course, population)
    known = posterior(night.names, _counts(course, night.names), night.prior())
    state = progress(known, night.goal)
    order = np.argsort(-known.mode, kind="stable")
    rows, columns = np.nonzero(np.triu(state.doubt[np.ix_(order, order)]))
    doubts = tuple(zip((rows + 1).tolist(), (columns + 1).tolist(), strict=True))
    figures = (quality.rms, quality.tau_fit, quality.best_fit)
    return Played(quality.games, *figures, bool(state.done), float(state.reached), doubts)


def play_at(candidates: Sequence[Candidate], night: Night, index: int, number: int) -> Played | None:
    """Simulate one night with the candidate at an index."""
    return play(candidates[index], night, number)


def _counts(course: SimulatedTournament, names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return White's wins, draws and losses of each pair."""
    place = {name: at for at, name in enumerate(names)}
    counts = np.zeros((len(names), len(names), 3))
    for pairing, outcome in course.games:
        counts[place[pairing.white], place[pairing.black], RESULTS.index(outcome)] += 1
    return counts


_TENTHS = 10  # parts of the night
_SURE = 0.95  # share of nights; a candidate that reaches the goal in more of them is good enough, and shorter is better


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate with its predicted figures, and the number of games that the night allows.

    80 % of the simulated numbers of games are between `low` and `high`.
    """

    candidate: Candidate
    goal: Goal
    allowed: int
    nights: int  # simulations
    games: Estimate
    low: float
    high: float
    rms: Estimate
    tau: Estimate
    best: Estimate
    reached: float  # share of the nights in which the goal was reached
    figure: float  # median of `Played.figure`
    # Mean half-width, at least the wanted one; or mean of 1 if reached, and else of half of the likelihood.
    score: float
    undecided: float  # mean number of `Played.doubts`
    doubts: tuple[tuple[tuple[int, int], float], ...]  # places most often in doubt, with their share of the nights

    @classmethod
    def of(cls, candidate: Candidate, night: Night, played: Sequence[Played]) -> Proposal:
        """Summarize simulated nights."""
        goal = night.goal
        games = [float(one.games) for one in played]
        low, high = middle_80(games)
        wide = goal.error is not None  # a half-width; otherwise a likelihood
        often = Counter(pair for one in played for pair in one.doubts).most_common(_SHOWN)
        return cls(
            candidate,
            goal,
            night.games,
            len(played),
            Estimate.of(games),
            low,
            high,
            Estimate.of([one.rms for one in played]),
            Estimate.of([one.tau for one in played]),
            Estimate.of([one.best for one in played]),
            fmean(one.reached for one in played),
            float(np.median([one.figure for one in played])),
            fmean(max(one.figure, goal.wanted) if wide else 1.0 if one.reached else one.figure / 2 for one in played),
            fmean(len(one.doubts) for one in played),
            tuple((pair, times / len(played)) for pair, times in often),
        )

    @property
    def merit(self) -> tuple[float, ...]:
        """Return a key that is larger for better proposals: how close they get to the goal, or few games if sure.

        Numbers of games that differ by less than a tenth of the night count as equal.
        """
        if self.goal.kind == "places":  # the smallest likelihood of all pairs says little about the others
            score = -self.undecided
        else:
            score = -self.score if self.goal.error is not None else self.score
        saved = _TENTHS - round(_TENTHS * self.games.mean / self.allowed) if self.reached >= _SURE else -1
        return (saved, score, -self.rms.mean)


_SHOWN = 3  # pairs of places that are most often in doubt


def best_of_systems(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return the best proposal of each format, best first."""
    chosen: dict[str, Proposal] = {}
    for proposal in sorted(proposals, key=lambda one: one.merit, reverse=True):
        chosen.setdefault(proposal.candidate.system, proposal)
    return list(chosen.values())
