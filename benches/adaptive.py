"""`python -m benches adaptive`: games that the rules of an adaptive tournament need, relative to a round robin.

Each field of simulated engines is played by all rules. A rule's figure is its number of games until the mean square
error (or 1 - Kendall's tau) of all fields is that of a round robin in random order after `--cycles` cycles, divided by
the games of this round robin. For the goal top, it is the mean number of games until the goal is reached, at most
`--most` cycles, for all rules alike. Coverage is the share of 95 % intervals that contain the true value when a goal is
reached. Standard errors are from resampled fields (bootstrap).

World: strengths are normally distributed, and results follow Davidson's model. Every encounter is a game pair with both
colors. A quarter as many encounters as there are entrants are chosen at the same time, between different entrants.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from statistics import median

import numpy as np

from enginetour.formats.base import make_format, options_model
from enginetour.formats.simulation import DavidsonModel, Population, SimulationModel, draw_population, simulate
from enginetour.model.game import RESULTS, Entrant, GameFinished
from enginetour.ratings.design import Goal, Posterior, Truths, gains, information, permitted, posterior, progress
from enginetour.ratings.models import davidson_chances
from enginetour.ratings.pairs import Index, Vector
from enginetour.ratings.pentanomial import NORMAL_95
from enginetour.ratings.priors import PRIOR_SD, GaussianPrior
from enginetour.ratings.ratinglist import rating_list

DRAWS, WHITE = 0.45, 20.0  # draws between equals, and White's advantage in Elo: the defaults of `SimulationModel`
PRIOR = GaussianPrior()
ERRORS, PLACES, TOP = Goal(error=1e-9), Goal(los=0.95), Goal(top=3, los=0.95)
SAMPLES = 300  # of the bootstrap
LIMIT_FIELDS, LIMIT_STEPS = 20, 300
PEERS = ("Swiss (swiss-gotha)", "entropy", "ASAP")  # slower rules, which play `--peers` fields
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)

Pick = tuple[Index, Index, Index | None]  # one encounter in each field, and both results if they are known already
Choices = Callable[[Posterior, Vector], list[Pick]]  # from what is known and the encounters so far


class Fields:
    """Simulated engines of several tournaments, and the results of their games."""

    def __init__(self, count: int, entrants: int, spread: float, seed: int) -> None:
        self.dice = np.random.default_rng((seed, entrants, int(spread)))
        self.count, self.entrants = count, entrants
        drawn = self.dice.normal(0, spread, (count, entrants))
        self.strength = drawn - drawn.mean(axis=1, keepdims=True)
        self.names = tuple(f"E{number:02}" for number in range(entrants))
        self.pairs = np.triu_indices(entrants, 1)
        self.every = np.arange(count)
        self.nu = 2 * DRAWS / (1 - DRAWS)
        self.unit = 400 / log(10) * 2 / (2 + self.nu)

    @property
    def cycle(self) -> int:
        """Return the encounters of one cycle."""
        return len(self.pairs[0])

    def play(self, counts: Vector, pick: Pick) -> None:
        """Add the results of a game pair in each field to the counts."""
        one, other, given = pick
        for leg, (white, black) in enumerate(((one, other), (other, one))):
            ahead = self.strength[self.every, white] - self.strength[self.every, black] + WHITE
            won, drawn, _ = davidson_chances(ahead / self.unit, self.nu)
            luck = self.dice.random(self.count)
            result = (luck >= won).astype(int) + (luck >= won + drawn) if given is None else given[:, leg]
            counts[self.every, white, black, result] += 1

    def score(self, known: Posterior) -> tuple[Vector, Vector]:
        """Return the mean square error and Kendall's tau of each field."""
        off = known.mode - known.mode.mean(axis=1, keepdims=True) - self.strength
        one, other = self.pairs
        agree = np.sign(known.mode[:, one] - known.mode[:, other])
        agree = agree * np.sign(self.strength[:, one] - self.strength[:, other])
        return (off**2).mean(axis=1), agree.mean(axis=1)


@dataclass
class Course:
    """What one rule needed: scores after numbers of encounters, the encounters until the goal, and the end."""

    scores: dict[int, tuple[Vector, Vector]]
    stopped: Vector
    known: Posterior
    counts: Vector


def course(fields: Fields, rule: Choices, checks: Sequence[int], goal: Goal | None = None, most: int = 0) -> Course:
    """Play a rule until the last of `checks`, or until each field has reached the goal or played `most` encounters."""
    counts = np.zeros((fields.count, fields.entrants, fields.entrants, 3))
    encounters = np.zeros(counts.shape[:3])
    known = posterior(fields.names, counts, PRIOR)
    ended, final, stopped = known, counts.copy(), np.full(fields.count, np.inf)
    scores: dict[int, tuple[Vector, Vector]] = {}
    last, played = max((*checks, most)), 0
    while played < last and not np.isfinite(stopped).all():
        for one, other, given in rule(known, encounters):
            fields.play(counts, (one, other, given))
            encounters[fields.every, one, other] += 1
            encounters[fields.every, other, one] += 1
            played += 1
            if played in checks:
                scores[played] = fields.score(posterior(fields.names, counts, PRIOR, known))
        known = posterior(fields.names, counts, PRIOR, known)
        if goal is not None:
            new = progress(known, goal).done & np.isinf(stopped)
            stopped[new] = played
            moving = np.isinf(stopped) | new
            ended, final[moving] = _replaced(ended, known, moving), counts[moving]
    return Course(scores, np.minimum(stopped, last), known if goal is None else ended, final)


def _replaced(old: Posterior, new: Posterior, where: Vector) -> Posterior:
    mode = np.where(where[:, None], new.mode, old.mode)
    covariance = np.where(where[:, None, None], new.covariance, old.covariance)
    return Posterior(new.names, mode, covariance, new.advantage, new.draw, new.at)


# Rules: each returns encounters between different entrants, or a whole tree of encounters (ASAP).


def best(fields: Fields, values: Vector, allowed: Truths) -> list[Pick]:
    """Return the encounters with the largest values, between different entrants; equal values in random order."""
    values = np.where(allowed, values * (1 + 1e-9 * fields.dice.random(values.shape)), -np.inf)
    values = np.where(np.triu(np.ones(values.shape[1:], dtype=bool), 1), values, -np.inf)
    picks: list[Pick] = []
    for _ in range(max(1, fields.entrants // 4)):
        flat = values.reshape(fields.count, -1)
        place = flat.argmax(axis=1)
        if not np.isfinite(flat[fields.every, place]).all():
            break
        one, other = np.divmod(place, fields.entrants)
        picks.append((one, other, None))
        for mine in (one, other):
            values[fields.every, mine, :] = values[fields.every, :, mine] = -np.inf
    return picks


def adaptive(fields: Fields, goal: Goal) -> Choices:
    """Return enginetour's rule: the largest gain within the floors."""
    return lambda known, encounters: best(fields, gains(known, goal), permitted(encounters))


def arena(fields: Fields) -> Choices:
    """Return the rule of Chatbot Arena (Chiang et al. 2024): a random pair, by the fall of its standard error.

    The chance is proportional to sqrt(v/n) - sqrt(v/(n+1)) for n encounters with the variance v of a result. Pairs that
    have not met come first. Gumbel noise makes the largest value a draw from these chances.
    """

    def choose(known: Posterior, encounters: Vector) -> list[Pick]:
        elo = 400 / log(10) * known.point[:, None, None]
        gap = (known.mode[:, :, None] - known.mode[:, None, :]) / elo
        won, _, lost = davidson_chances(gap, known.draw[:, None, None])
        sd, met = np.sqrt((won + lost - (won - lost) ** 2) / 4), np.maximum(encounters, 1)
        fall = np.where(encounters > 0, sd * (1 / np.sqrt(met) - 1 / np.sqrt(met + 1)), 1e3)
        return best(fields, fall * np.exp(fields.dice.gumbel(size=fall.shape)), np.ones(fall.shape, dtype=bool))

    return choose


def cycles(fields: Fields) -> Choices:
    """Return a round robin in random order."""

    def forever() -> Iterator[Pick]:
        while True:
            order = fields.dice.random((fields.count, fields.cycle)).argsort(axis=1)
            for at in range(fields.cycle):
                yield fields.pairs[0][order[:, at]], fields.pairs[1][order[:, at]], None

    order = forever()
    return lambda _known, _encounters: [next(order) for _ in range(max(1, fields.entrants // 4))]


def random(fields: Fields) -> Choices:
    """Return random pairs."""

    def choose(_known: Posterior, _encounters: Vector) -> list[Pick]:
        places = fields.dice.integers(0, fields.cycle, (max(1, fields.entrants // 4), fields.count))
        return [(fields.pairs[0][place], fields.pairs[1][place], None) for place in places]

    return choose


def asap(fields: Fields) -> Choices:
    """Return the rule of ASAP (Mikhailiuk et al. 2020): the spanning tree with the largest information gain.

    The gain of a pair is the mutual information of a game's result and the difference of the ratings, with the variance
    of each rating and without correlations, as message passing has it.
    """

    def choose(known: Posterior, _encounters: Vector) -> list[Pick]:
        elo = 400 / log(10) * known.point[:, None, None]
        own = np.diagonal(known.covariance, axis1=1, axis2=2)
        middle, sd = known.mode[:, :, None] - known.mode[:, None, :], np.sqrt(own[:, :, None] + own[:, None, :])
        mean, inner = np.zeros((3, *middle.shape)), np.zeros(middle.shape)
        for node, weight in zip(NODES, NODE_WEIGHTS / NODE_WEIGHTS.sum(), strict=True):
            chances = np.stack(davidson_chances((middle + node * sd) / elo, known.draw[:, None, None]))
            mean += weight * chances
            inner += weight * (chances * np.log(np.maximum(chances, 1e-300))).sum(axis=0)
        told = inner - (mean * np.log(mean)).sum(axis=0)
        return _spanning_tree(fields, told * (1 + 1e-9 * fields.dice.random(told.shape)))

    return choose


def _spanning_tree(fields: Fields, values: Vector) -> list[Pick]:
    """Return the largest spanning tree of each field (Prim 1957)."""
    inside = np.zeros((fields.count, fields.entrants), dtype=bool)
    inside[:, 0] = True
    reach, parent = values[:, 0, :].copy(), np.zeros(inside.shape, dtype=np.intp)
    picks: list[Pick] = []
    for _ in range(fields.entrants - 1):
        new = np.where(inside, -np.inf, reach).argmax(axis=1)
        picks.append((parent[fields.every, new], new, None))
        inside[fields.every, new] = True
        closer = values[fields.every, new] > reach
        reach = np.where(closer, values[fields.every, new], reach)
        parent = np.where(closer, new[:, None], parent)
    return picks


class _Davidson(SimulationModel):
    """The world of `Fields` for formats."""

    def chances(self, white: float, black: float) -> tuple[float, float, float]:
        nu = 2 * self.draws / (1 - self.draws)
        gap = (white - black + self.white) / (400 / log(10) * 2 / (2 + nu))
        won, drawn, lost = (float(value) for value in davidson_chances(np.array(gap), nu))
        return won, drawn, lost


def format_rounds(fields: Fields, system: str) -> Choices:
    """Return the rounds of one of enginetour's formats.

    Such a tournament has at most one game pair of each two entrants, so tournaments of half as many rounds as there are
    entrants follow each other. In all but the first, the entrants have the ratings of the games so far.
    """
    options = options_model(system).model_validate({"rounds": fields.entrants // 2, "games_per_pairing": 2})
    world, place = _Davidson(draws=DRAWS, white=WHITE), {name: at for at, name in enumerate(fields.names)}
    waiting: list[Pick] = []

    def tournament(number: int, known: Posterior, old: bool) -> Index:
        ratings = (2000 + known.mode[number]).tolist() if old else [None] * fields.entrants
        entrants = tuple(Entrant(name, rating=own) for name, own in zip(fields.names, ratings, strict=True))
        truth = dict(zip(fields.names, fields.strength[number].tolist(), strict=True))
        population = Population(entrants, truth, world, str(fields.dice.integers(1 << 60)))
        rows: dict[object, list[int]] = {}
        for pairing, outcome in simulate(make_format(system, options, number), population).games:
            start = [place[pairing.white], place[pairing.black]]
            rows.setdefault((pairing.pair, pairing.meeting), start).append(RESULTS.index(outcome))
        return np.array(list(rows.values()))

    def choose(known: Posterior, encounters: Vector) -> list[Pick]:
        if not waiting:
            table = np.stack([tournament(number, known, bool(encounters.any())) for number in range(fields.count)])
            waiting.extend((table[:, at, 0], table[:, at, 1], table[:, at, 2:]) for at in range(table.shape[1]))
        round_, waiting[:] = waiting[: fields.entrants // 2], waiting[fields.entrants // 2 :]
        return round_

    return choose


# Figures.


def equal_at(reference: float, scores: dict[int, float]) -> float:
    """Return the encounters at which a falling score equals the reference, between two checks by powers."""
    at, values = np.array(sorted(scores)), np.log([scores[number] for number in sorted(scores)])
    values = np.minimum.accumulate(values)
    if not values[-1] <= np.log(reference) <= values[0]:
        return np.inf if values[-1] > np.log(reference) else float(at[0])
    return float(np.exp(np.interp(-np.log(reference), -values, np.log(at))))


def saving(own: Course, reference: Course, at: int, which: int) -> tuple[float, float]:
    """Return the games for an equal score relative to the reference after `at` encounters, and the standard error."""
    count = len(own.stopped)
    dice = np.random.default_rng(count)

    def figure(chosen: Index) -> float:
        def mean(pair: tuple[Vector, Vector]) -> float:
            value = float(pair[which][chosen].mean())
            return 1 - value if which else value

        return equal_at(mean(reference.scores[at]), {number: mean(pair) for number, pair in own.scores.items()}) / at

    samples = np.array([figure(dice.integers(0, count, count)) for _ in range(SAMPLES)])
    return figure(np.arange(count)), float(np.std(samples)) if np.isfinite(samples).all() else np.inf


def limit(fields: Fields, encounters: int) -> float:
    """Return the variance of the best choice with known ratings, relative to a round robin of as many encounters.

    The shares of the pairs are found by the multiplicative algorithm (Torsney 1983). Variances are those of the
    curvature, with the prior.
    """
    size = fields.entrants
    nothing = posterior(fields.names, np.zeros((fields.count, size, size, 3)), PRIOR)
    each = information(replace(nothing, mode=fields.strength, draw=np.full(fields.count, fields.nu)))
    centre, prior = np.eye(size) - 1 / size, np.eye(size) / PRIOR.sd_of("") ** 2
    shares = np.broadcast_to((1 - np.eye(size)) / (size * (size - 1)), each.shape)

    def covariance(shares: Vector) -> Vector:
        precision = -2 * encounters * shares * each
        precision = precision - np.eye(size) * precision.sum(axis=-1, keepdims=True)
        return np.asarray(centre @ np.linalg.inv(precision + prior) @ centre)

    even = np.trace(covariance(shares), axis1=1, axis2=2)
    for _ in range(LIMIT_STEPS):
        square = covariance(shares) @ covariance(shares)
        own = np.diagonal(square, axis1=1, axis2=2)
        shares = shares * np.sqrt(np.maximum(each * (own[:, :, None] + own[:, None, :] - 2 * square), 0))
        shares = shares + np.swapaxes(shares, 1, 2)
        shares = shares / shares.sum(axis=(1, 2), keepdims=True)
    return float(np.trace(covariance(shares), axis1=1, axis2=2).sum() / even.sum())


def shown(figure: tuple[float, float]) -> str:
    """Format a ratio with its standard error."""
    return f"{figure[0]:.2f} ±{figure[1]:.2f}" if np.isfinite(figure).all() else "more"


def table(given: argparse.Namespace, entrants: int, spread: float) -> Iterator[str]:
    """Compare all rules for one size and spread."""

    def fresh(count: int = given.fields) -> Fields:
        return Fields(count, entrants, spread, given.seed)

    cycle = fresh(1).cycle
    at, most = round(given.cycles * cycle), round(given.most * cycle)
    checks = sorted({*(round(at * share) for share in np.arange(0.3, 1.26, 0.05)), at})
    rules: dict[str, Callable[[Fields], Choices]] = {
        "round robin": cycles,
        "adaptive, errors": lambda fields: adaptive(fields, ERRORS),
        "adaptive, places": lambda fields: adaptive(fields, PLACES),
        "adaptive, top 3": lambda fields: adaptive(fields, TOP),
        "random pairs": random,
        "Arena": arena,
        "Swiss (swiss-gotha)": lambda fields: format_rounds(fields, "swiss-gotha"),
        "entropy": lambda fields: format_rounds(fields, "entropy"),
        "ASAP": asap,
    }
    yield f"\n{entrants} engines, standard deviation {spread:g} Elo, {given.fields} fields, {given.cycles:g} cycles"
    yield f"{'rule':<22}{'equal error':>14}{'equal tau':>14}{f'top 3, most {given.most:g}':>18}{'reached':>9}{'CPU':>8}"
    yield f"{'limit, known ratings':<22}{limit(fresh(LIMIT_FIELDS), at):>14.2f}"
    references: dict[int, tuple[Course, Course]] = {}
    for name, rule in rules.items():
        if given.rules and not any(each in name for each in given.rules):
            continue
        count = given.peers if name in PEERS else given.fields
        if count not in references:
            references[count] = _scored(fresh(count), cycles, checks), _to_top(fresh(count), cycles, most or 1)
        begun = time.process_time()
        plain = references[count]
        if name == "round robin":
            error, tau = (float(plain[0].scores[at][which].mean()) for which in (0, 1))
            reached = float((plain[1].stopped < most).mean())
            games = f"{plain[1].stopped.mean() / cycle:>11.2f} cycles{reached:>9.0%}" if most else ""
            yield f"{name:<22}{error**0.5:>10.1f} Elo{tau:>14.3f}{games}"
            continue
        columns = ["", "", "", ""]
        if name != "adaptive, top 3":
            own = _scored(fresh(count), rule, checks)
            columns[:2] = [shown(saving(own, plain[0], at, which)) for which in (0, 1)]
        if most and name not in ("adaptive, errors", "adaptive, places"):
            top = _to_top(fresh(count), rule, most)
            mean = plain[1].stopped.mean()
            ratio = float(top.stopped.mean() / mean)
            error = float(np.std(top.stopped - ratio * plain[1].stopped)) / mean / count**0.5
            columns[2:] = [shown((ratio, error)), f"{(top.stopped < most).mean():.0%}"]
        taken = time.process_time() - begun
        yield f"{name:<22}{columns[0]:>14}{columns[1]:>14}{columns[2]:>18}{columns[3]:>9}{taken:>7.0f}s"


def _scored(fields: Fields, rule: Callable[[Fields], Choices], checks: Sequence[int]) -> Course:
    return course(fields, rule(fields), checks)


def _to_top(fields: Fields, rule: Callable[[Fields], Choices], most: int) -> Course:
    return course(fields, rule(fields), (1,), TOP, most)


STOPS = {
    "errors: error = 80": Goal(error=80),
    "places: los = 0.8, level = 40": Goal(los=0.8, level=40),
    "top: top = 3, los = 0.95": TOP,
    "version: error = 60": Goal(entrant="E00", error=60),
}


def coverage(given: argparse.Namespace, entrants: int, spread: float) -> Iterator[str]:
    """Return the coverage of 95 % intervals when goals are reached, and how often the decision is right."""
    yield f"\ncoverage of 95 % intervals, {entrants} engines, standard deviation {spread:g} Elo, {given.fields} fields"
    titles = "".join(f"{title:>18}" for title in ("posterior", "rating list", "without prior", "decision right"))
    yield f"{'goal':<32}{'reached':>9}{'intervals':>11}{titles}"
    for name, goal in STOPS.items():
        fields = Fields(given.fields, entrants, spread, given.seed + 1)
        most = round(given.most * fields.cycle)
        end = course(fields, adaptive(fields, goal), (1,), goal, most)
        reached = end.stopped < most
        mode, covariance = end.known.mode[reached], end.known.covariance[reached]
        truth, count = fields.strength[reached], int(reached.sum())
        centre = np.eye(entrants) - 1 / entrants
        sd = np.sqrt(((centre @ covariance) * centre).sum(axis=-1))
        inside = np.abs(mode @ centre - truth) <= NORMAL_95 * sd
        ends = list(zip(end.counts[reached], truth, strict=True))
        listed, plain = (np.array([_listed(fields, *each, prior=prior) for each in ends]) for prior in (True, False))
        right = _right(goal, mode, covariance, truth)
        figures = "".join(f"{_percent(each):>18}" for each in (inside, listed, plain, right.reshape(count, -1)))
        yield f"{name:<32}{reached.mean():>9.0%}{inside.size:>11}{figures}"


def _percent(hits: Truths) -> str:
    """Format the share of hits and its standard error; each row is one field."""
    return f"{100 * hits.mean():.1f} ±{100 * hits.mean(axis=1).std() / len(hits) ** 0.5:.1f} %"


def _listed(fields: Fields, counts: Vector, truth: Vector, *, prior: bool) -> list[bool]:
    """Return for each engine whether the interval of a rating list contains its strength.

    With `prior`, it is the list of an adaptive tournament, otherwise the usual one of these games.
    """
    rows = {
        (white, black): (int(counts[i, j, 0]), int(counts[i, j, 1]), int(counts[i, j, 2]))
        for i, white in enumerate(fields.names)
        for j, black in enumerate(fields.names)
        if counts[i, j].any()
    }
    terms = posterior(fields.names, counts, PRIOR).list_terms(PRIOR_SD) if prior else {}
    shown_rows = {row.name: row for row in rating_list(rows, **terms).rows}
    found = []
    for name, own in zip(fields.names, truth.tolist(), strict=True):
        row = shown_rows[name]
        low = -np.inf if row.minus is None else row.rating - row.minus
        high = np.inf if row.plus is None else row.rating + row.plus
        found.append(low <= own <= high)
    return found


def _right(goal: Goal, mode: Vector, covariance: Vector, truth: Vector) -> Truths:
    """Return for each decision of a goal whether it is right: intervals, places of neighbors, or the first entrants."""
    order = np.argsort(-mode, axis=1)
    sorted_truth = np.take_along_axis(truth, order, axis=1)
    if goal.kind == "top":
        top = goal.top or 0
        return np.asarray(sorted_truth[:, :top].min(axis=1) > sorted_truth[:, top:].max(axis=1))
    if goal.kind == "places":
        return np.asarray(np.diff(sorted_truth, axis=1) < goal.level).ravel()
    way = -np.ones(mode.shape[1]) / (mode.shape[1] - 1)
    way[0] = 1
    sd = np.sqrt(way @ covariance @ way)
    if goal.kind == "version":
        return np.asarray(np.abs((mode - truth) @ way) <= NORMAL_95 * sd)
    return np.asarray(np.abs(mode - mode.mean(axis=1, keepdims=True) - truth) <= goal.wanted).ravel()


SPEEDS = ({"error": 10}, {"los": 0.95}, {"top": 3, "los": 0.95}, {"entrant": "E00", "error": 8})


def speed() -> Iterator[str]:
    """Return the CPU time of the format for each encounter: its choice, and the results of its two games.

    Each goal is played until it is reached, or for one cycle of a round robin.
    """
    entrants = 64
    yield f"\nCPU time of the format for an encounter, {entrants} entrants"
    field = draw_population(SimulationModel(spread=250.0), entrants, "1")
    population = Population(field.entrants, field.strengths, DavidsonModel(), "1")
    for goal in SPEEDS:
        named = goal | ({"entrant": population.entrants[0].name} if "entrant" in goal else {})
        format_ = make_format("adaptive", options_model("adaptive").model_validate({"goal": named}), 1)
        state, taken, games = format_.start(population.entrants), list[float](), 0
        while games < entrants * (entrants - 1):
            begun = time.process_time()
            offers = format_.offers(state)
            for pairing in offers:
                state = format_.step(state, GameFinished(pairing, population.outcome(pairing)))
            if not offers:
                break
            games += len(offers)
            taken.append(1000 * (time.process_time() - begun) / (len(offers) / 2))
        text = " ".join(f"{key}={value}" for key, value in goal.items())
        yield f"{text:<24}{median(taken):>6.2f} ms (most {max(taken):.2f} ms, {games} games)"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark."""
    parser.add_argument("--fields", type=int, default=200, help="simulated fields (default %(default)s)")
    parser.add_argument("--peers", type=int, default=40, help="fields of Swiss, entropy, ASAP (default %(default)s)")
    parser.add_argument("--entrants", type=int, nargs="+", default=(16, 24, 48), help="even numbers (default 16 24 48)")
    parser.add_argument("--spread", type=float, nargs="+", default=(250.0, 400.0), help="in Elo (default 250 400)")
    parser.add_argument("--cycles", type=float, default=2.0, help="of the round robin (default %(default)s)")
    parser.add_argument(
        "--most",
        type=float,
        default=8.0,
        help="cycles until a goal is reached, 0: without the goal top (default %(default)s)",
    )
    parser.add_argument("--rules", nargs="+", default=(), help="parts of names of rules (default: all)")
    parser.add_argument("--only", choices=("table", "coverage", "speed"), help="default: all three")
    parser.add_argument("--seed", type=int, default=2026, help="(default %(default)s)")


def measured(given: argparse.Namespace, _folder: Path) -> Iterator[str]:
    """Yield the figures as lines."""
    if given.only in (None, "speed"):
        yield from speed()
    for entrants in given.entrants if given.only in (None, "table") else ():
        for spread in given.spread:
            yield from table(given, entrants, spread)
    if given.only in (None, "coverage"):
        yield from coverage(given, given.entrants[0], given.spread[0])
