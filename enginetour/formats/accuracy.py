"""How near a tournament came to the truth: rank correlation, the best engine first, how level its games were.

tau    Kendall's tau-a with the true strengths; who shares a rank is in no order     Kendall 1938
table  the format's own table
fit    ratings from the games alone: logistic, `FIT_DRAWS` phantom draws each        our decision
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

import numpy as np

from enginetour.formats.course import Course
from enginetour.formats.world import Population
from enginetour.model.game import Outcome
from enginetour.ratings.likelihood import fit
from enginetour.ratings.models import PhantomDraws

# Our decision: finite for the unbeaten, and nearest to the published comparisons, which do not tell their prior. It
# matters where groups rarely meet: tau of McMahon's games is 0.625, 0.609, 0.573, 0.521 with 0.2, 0.5, 1, 2 draws, of a
# Swiss 0.542 to 0.554 (32 engines, 6 rounds, noise 150, 100 fields; standard error 0.008).
FIT_DRAWS = 0.5
RESULTS = (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK)


@dataclass(frozen=True, slots=True)
class Accuracy:
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


def estimate(figures: Sequence[float]) -> Estimate:
    """Of one figure; one tournament alone has no error to tell, which is written as 0."""
    mean, count = fmean(figures), len(figures)
    if count == 1:
        return Estimate(mean, 0.0)
    return Estimate(mean, sqrt(sum((figure - mean) ** 2 for figure in figures) / (count - 1) / count))


def accuracy(course: Course, population: Population) -> Accuracy:
    """Of one course; whoever is not ranked stands behind the others."""
    truth = population.strengths
    last = len(truth) + 1
    table = {line.name: -float(last if line.rank is None else line.rank) for line in course.table}
    fitted = fit(
        _counts(course),
        prior=PhantomDraws(FIT_DRAWS),
        advantage=population.world.white,
        names=tuple(truth),
    ).by_name()
    gaps = [population.lead(pairing) for pairing, _ in course.games]
    return Accuracy(
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


def _counts(course: Course) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Of even games: those at odds rate nobody, as in our lists."""
    counts: dict[tuple[str, str], list[int]] = {}
    for pairing, outcome in course.games:
        if pairing.handicap:
            continue
        counts.setdefault((pairing.white, pairing.black), [0, 0, 0])[RESULTS.index(outcome)] += 1
    return {pair: (wins, draws, losses) for pair, (wins, draws, losses) in counts.items()}
