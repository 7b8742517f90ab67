"""Expected effect of `enginetour next` next to simulated games, and to five encounters at random."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

import numpy as np

from enginetour.ratings.design import posterior
from enginetour.ratings.encounters import errors_of, suggest_encounters
from enginetour.ratings.models import davidson_chances
from enginetour.ratings.pairs import Pairs, Vector
from enginetour.ratings.pentanomial import ELO_SCALE
from enginetour.ratings.priors import GaussianPrior

FIELDS, GAMES, NU = 200, 20, 0.9  # lists; games of an encounter; Davidson's nu (31 % draws between equals)
LISTS = ((12, 250.0, 0.4, 4), (12, 250.0, 0.8, 20), (24, 400.0, 0.3, 6))  # engines, spread, share of pairs, games each


def encounters() -> Iterator[str]:
    """Rate random lists, play the encounters that `next` suggests or random ones, and rate the lists again."""
    dice = np.random.default_rng(1)
    for count, spread, share, games in LISTS:
        found = np.array([_one(dice, count, spread, share, games) for _ in range(FIELDS)])
        now, expected, after, by_chance, off, off_by_chance = found.mean(axis=0)
        error = float(np.std(found[:, 1] - found[:, 2]) / FIELDS**0.5)
        yield f"next, {count} engines, spread {spread:.0f} Elo, {FIELDS} lists, {share:.0%} of the pairs met:"
        yield f"  mean error now: ±{now:.1f} Elo; after 5 encounters of {GAMES} games:"
        yield f"  expected ±{expected:.1f}, simulated ±{after:.1f}, at random ±{by_chance:.1f}"
        yield f"  difference of the first two: {expected - after:+.1f}, standard error {error:.1f}"
        yield f"  rms error of the ratings: {off:.1f} Elo, at random {off_by_chance:.1f}, {off / off_by_chance:.3f} x"


def _one(dice: np.random.Generator, count: int, spread: float, share: float, games: int) -> tuple[float, ...]:
    truth, pairs = dice.normal(0.0, spread, count), [*combinations(range(count), 2)]
    counts = np.zeros((count, count, 3))
    for i, j in pairs:
        if dice.random() < share:
            _play(dice, counts, truth, i, j, games)
    names = tuple(f"{number:02}" for number in range(count))
    found = suggest_encounters(_pairs(names, counts), seconds={}, games=GAMES)
    chosen = [(int(one.one), int(one.other)) for one in found.encounters]
    by_chance = [pairs[k] for k in dice.choice(len(pairs), len(chosen), replace=False)]
    ends = []
    for encounters in (chosen, by_chance):
        more = counts.copy()
        for i, j in encounters:
            _play(dice, more, truth, i, j, GAMES)
        known = posterior(names, more, GaussianPrior())
        off = known.mode - known.mode.mean() - truth + truth.mean()
        ends.append((float(errors_of(known).mean()), float(np.sqrt(np.mean(off**2)))))
    (after, rms), (random_after, random_rms) = ends
    return found.mean, found.encounters[-1].mean_after, after, random_after, rms, random_rms


def _play(dice: np.random.Generator, counts: Vector, truth: Vector, i: int, j: int, games: int) -> None:
    unit = ELO_SCALE / np.log(10) * 2 / (2 + NU)
    for white, black in ((i, j), (j, i)):
        chances = davidson_chances(np.array((truth[white] - truth[black]) / unit), np.array(NU))
        counts[white, black] += dice.multinomial(games // 2, np.array(chances))


def _pairs(names: tuple[str, ...], counts: Vector) -> Pairs:
    met = np.array([(i, j) for i, j in permutations(range(len(names)), 2) if counts[i, j].any()], dtype=np.intp)
    return Pairs(names, met[:, 0], met[:, 1], *counts[met[:, 0], met[:, 1]].T)
