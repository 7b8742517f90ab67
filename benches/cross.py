"""``python -m benches cross``: games between divisions until their errors are small, relative to a fixed scheme.

Each simulated league has engines that played in their divisions before, in double rounds. Then games between the
divisions connect the rating pools, until the 95 % interval of the difference between each two neighboring divisions is
at most ± `--error` Elo:

chosen   `system = "adaptive"` with `goal = { divisions = [...], error = ... }` and the earlier results as `known`;
         as many encounters are open as with `[league.cross] error` and `--slots` concurrent games
fixed    the last three of a division and the first three of the next one, by their ratings after the games in the
         divisions, play rounds of nine game pairs, the same number at each boundary of two divisions, as with
         `[league.cross] engines = 3`; the number is the smallest one that reaches the goal in this league, at most
         `--most`, though a user would have to know it in advance
95%      the fixed scheme with the same number of rounds in every league, as it stands in a league file: the smallest
         one that reaches the goal in 95 % of the leagues
100%     the same, in all leagues, as the chosen games do

least    fewer games than any choice can expect to need: a lower bound for designs that know the true strengths and may
         have fractions of games, if all games have their expected information

All use the same posterior. A game pair of two engines has the same results in all of them. A ratio is the mean number
of games chosen by that of the other scheme; the limit of its rounds counts as its number if it ends without the goal,
so the ratio is then an upper bound. The last ratio is "least" by "fixed". Standard errors are from resampled leagues
(bootstrap). "true" is the share of the intervals at the end that contain the true difference, and "all" the share of
the leagues in which all of them do, first for the chosen games.

World: strengths are normally distributed with the standard deviation `--spread`. Divisions are cut from a list in the
order of strength plus an error of `--noise` Elo. Results follow Davidson's model.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from enginetour.formats.base import make_format, options_model
from enginetour.formats.simulation import DavidsonModel, Population
from enginetour.model.game import RESULTS, Entrant, GameFinished, Pairing
from enginetour.ratings.design import Goal, Posterior, information, posterior, progress, scatter
from enginetour.ratings.pairs import Vector
from enginetour.ratings.pentanomial import NORMAL_95
from enginetour.ratings.priors import PRIOR_SD

WHITE = 20.0  # White's advantage in Elo, the default of `SimulationModel`
BRIDGE = 3  # engines of each division in the fixed scheme
SAMPLES = 1000  # of the bootstrap
SHARES = (0.95, 1.0)  # of the leagues in which a number of rounds in the file reaches the goal
STEPS, CLOSE = 1000, 2e-3  # most steps towards the optimal design; the difference that ends them, as a part of 1


@dataclass(frozen=True)
class Setting:
    """One kind of league: divisions and engines in each, double rounds in the divisions, error to reach, the world."""

    divisions: int
    size: int
    rounds: int
    error: float
    draws: float
    spread: float
    noise: float
    most: int
    seed: int
    slots: int


@dataclass(frozen=True)
class Outcome:
    """Games of a scheme, whether it reached the goal, and whether each boundary's interval is true."""

    games: int
    reached: bool
    true: tuple[bool, ...]


class League:
    """Simulated engines in divisions, best first, with the results of their games in the divisions."""

    def __init__(self, setting: Setting, number: int) -> None:
        dice = np.random.default_rng((setting.seed, number, setting.divisions, setting.size))
        count, nu = setting.divisions * setting.size, 2 * setting.draws / (1 - setting.draws)
        drawn = dice.normal(0, setting.spread, count)
        self.strength = drawn[np.argsort(-(drawn + dice.normal(0, setting.noise, count)))]
        self.names = tuple(f"E{at:03}" for at in range(count))
        self.places = np.arange(count).reshape(setting.divisions, setting.size)
        self.divisions = tuple(tuple(self.names[at] for at in own) for own in self.places)
        self.goal = Goal(error=setting.error, divisions=self.divisions)
        world = DavidsonModel(white=WHITE, nu=nu)
        truth = dict(zip(self.names, self.strength.tolist(), strict=True))
        entrants = tuple(Entrant(name) for name in self.names)
        self.population = Population(entrants, truth, world, f"cross {setting.seed} {number}")
        self.known = np.zeros((count, count, 3))
        for own in self.places:
            for white, black in product(own, own):
                if white != black:
                    chances = world.chances(self.strength[white], self.strength[black])
                    self.known[white, black] = dice.multinomial(setting.rounds, chances)
        self.prior = self.goal.division_prior(PRIOR_SD, scatter(self.known, self.names, self.goal, PRIOR_SD))

    def rated(self, counts: Vector, start: Posterior | None = None) -> Posterior:
        """Return what is known after games between divisions."""
        return posterior(self.names, self.known + counts, self.prior, start)

    @property
    def ways(self) -> Vector:
        """Return the rows whose products with the ratings are the differences of neighboring divisions."""
        shares = np.zeros((len(self.places), len(self.names)))
        for own, place in zip(shares, self.places, strict=True):
            own[place] = 1 / len(place)
        return shares[:-1] - shares[1:]

    def outcome(self, games: int, known: Posterior) -> Outcome:
        """Return the figures of a scheme at its end."""
        off, variances = self.ways @ (known.mode - self.strength), ((self.ways @ known.covariance) * self.ways).sum(1)
        true = tuple((np.abs(off) <= NORMAL_95 * variances**0.5).tolist())
        return Outcome(games, bool(progress(known, self.goal).done), true)


def chosen(league: League, setting: Setting) -> Outcome:
    """Play the games that the format chooses."""
    rows = [
        (league.names[white], league.names[black], *map(int, league.known[white, black]))
        for white, black in np.argwhere(league.known.any(axis=-1))
    ]
    goal = {"error": setting.error, "divisions": league.divisions}
    settings = {"goal": goal, "known": rows, "games": 1_000_000, "ahead": 2 * setting.slots}
    options = options_model("adaptive").model_validate(settings)
    format_ = make_format("adaptive", options, setting.seed)
    state, games = format_.start(league.population.entrants), 0
    while offers := format_.offers(state):
        state = format_.step(state, GameFinished(offers[0], league.population.outcome(offers[0])))
        games += 1
    counts = state.tallies.counts
    return league.outcome(games, league.rated(counts))


def fixed(league: League, setting: Setting) -> Outcome:
    """Play three engines from above against three from below at each boundary, in rounds."""
    counts, games = np.zeros_like(league.known), 0
    known = league.rated(counts)
    order = [own[np.argsort(-known.mode[own], kind="stable")] for own in league.places]
    boundaries = [(upper[-BRIDGE:], lower[:BRIDGE]) for upper, lower in pairwise(order)]
    for number in range(1, setting.most + 1):
        if progress(known, league.goal).done:
            break
        for above, below in boundaries:
            for one, other in product(above, below):
                for leg, (white, black) in enumerate(((one, other), (other, one)), 1):
                    pairing = Pairing(league.names[white], league.names[black], number, leg, 1, 1)
                    counts[white, black, RESULTS.index(league.population.outcome(pairing))] += 1
        games += 2 * BRIDGE**2 * len(boundaries)
        known = league.rated(counts, known)
    return league.outcome(games, known)


def least(league: League, setting: Setting) -> float:
    """Return a lower bound for the games of any design, which is nearly the number of the optimal one.

    The optimal design has the smallest sum of the games n of all pairs for which the variance of each difference is at
    most that of the goal. The variances are convex in n, so for all prices of variance, their tangents at any design
    give a bound (Lagrange). It is highest at the optimum, where a game of a pair that plays is worth 1: the sum of
    price x fall of the variance. Games and prices are multiplied by the root of what they lack.
    """
    wanted = (setting.error / NORMAL_95) ** 2
    known = league.rated(np.zeros_like(league.known))
    nu, advantage = np.array(2 * setting.draws / (1 - setting.draws)), np.array(WHITE)
    true = replace(known, mode=league.strength, draw=nu, advantage=advantage)
    one, other = np.nonzero(np.triu(league.goal.meets(league.names)))
    each, before = information(true)[one, other] / 2, np.linalg.inv(known.covariance)
    games, prices = np.ones(len(one)), np.ones(len(league.ways))
    found = 0.0
    for _ in range(STEPS):
        told = np.zeros_like(before)
        told[one, other] = told[other, one] = -games * each
        reach = league.ways @ np.linalg.inv(before + told - np.diag(told.sum(axis=1)))
        variances = (reach * league.ways).sum(axis=1)
        worth = prices @ (each * (reach[:, one] - reach[:, other]) ** 2)
        found = max(found, float(games @ worth + prices @ (variances - wanted)) / float(worth.max()))
        if games.sum() < (1 + CLOSE) * found and variances.max() < (1 + CLOSE) * wanted:
            break
        games, prices = games * worth**0.5, prices * (variances / wanted) ** 0.5
    return found


def play(setting: Setting, number: int) -> tuple[Outcome, Outcome, float]:
    """Return the outcomes of both schemes in one league, and the fewest games."""
    league = League(setting, number)
    return chosen(league, setting), fixed(league, setting), least(league, setting)


def _number(games: Vector, share: float | None) -> Vector:
    """Return the number of games with which this share of the leagues (last axis) reaches the goal; None: the mean."""
    return np.asarray(games.mean(axis=-1) if share is None else np.quantile(games, share, axis=-1, method="higher"))


def line(setting: Setting, played: Sequence[tuple[Outcome, Outcome, float]]) -> str:
    """Return the figures of one kind of league."""
    own, other, fewest = (
        np.array([float(games) for games in each])
        for each in zip(*((one.games, two.games, few) for one, two, few in played), strict=True)
    )
    dice = np.random.default_rng(setting.seed)
    samples = dice.integers(0, len(own), (SAMPLES, len(own)))
    reached = np.mean([two.reached for _, two, _ in played])
    less, more = ("<", ">") if reached < 1 else (" ", " ")
    text = f"{setting.divisions}x{setting.size:<4}{setting.rounds:>8}{setting.error:>6g}{own.mean():>9.0f}"
    text += f"{more:>3}{other.mean():<10.0f}{reached:>7.0%}"
    for ours, share in ((own, None), *((own, share) for share in SHARES), (fewest, None)):
        ratio = ours.mean() / _number(other, share)
        error = (ours[samples].mean(axis=1) / _number(other[samples], share)).std()
        text += f"{less:>4}{ratio:.3f} ±{error:.3f}"
    for outcomes in ([one for one, _, _ in played], [two for _, two, _ in played]):
        true = np.array([outcome.true for outcome in outcomes])
        text += f"{true.mean():>8.1%}{true.all(axis=1).mean():>8.0%}"
    return text


def measured(given: argparse.Namespace, _folder: Path) -> Iterator[str]:
    """Yield a line for each kind of league."""
    world = f"{given.draws:.0%} draws between equals, spread {given.spread:g}, noise {given.noise:g} Elo"
    yield f"{given.leagues} leagues, {world}"
    yield (
        f"{'league':<6}{'rounds':>8}{'error':>6}{'chosen':>9}{'fixed':>8}{'':<5}{'done':>7}"
        + "".join(f"{name:>9}{'':<7}" for name in ("ratio", *(f"{share:.0%}" for share in SHARES), "least"))
        + f"{'true':>8}{'all':>8}{'true':>8}{'all':>8}"
    )
    with ProcessPoolExecutor(given.jobs) as pool:
        for (divisions, size), rounds, error in product(given.league, given.rounds, given.error):
            setting = Setting(
                divisions,
                size,
                rounds,
                error,
                given.draws,
                given.spread,
                given.noise,
                given.most,
                given.seed,
                given.slots,
            )
            yield line(setting, list(pool.map(partial(play, setting), range(given.leagues))))


def _league(text: str) -> tuple[int, int]:
    divisions, size = text.split("x")
    return int(divisions), int(size)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark."""
    parser.add_argument("--leagues", type=int, default=200, help="simulated leagues (default %(default)s)")
    parser.add_argument("--league", type=_league, nargs="+", default=((3, 8), (6, 12)), help="default 3x8 6x12")
    parser.add_argument("--rounds", type=int, nargs="+", default=(10, 100), help="double rounds (default 10 100)")
    parser.add_argument("--error", type=float, nargs="+", default=(20.0, 40.0), help="in Elo (default 20 40)")
    parser.add_argument("--draws", type=float, default=0.45, help="between equals (default %(default)s)")
    parser.add_argument("--spread", type=float, default=250.0, help="in Elo (default %(default)s)")
    parser.add_argument("--noise", type=float, default=50.0, help="in Elo (default %(default)s)")
    parser.add_argument("--most", type=int, default=200, help="rounds of the fixed scheme (default %(default)s)")
    parser.add_argument("--slots", type=int, default=1, help="concurrent games of a league (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (default: all)")
    parser.add_argument("--seed", type=int, default=2026, help="(default %(default)s)")
