"""Time of a large rating list, compared with one dense solve of the same size, which a Newton step needs."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from benches.measure import Settings, in_turn, line
from enginetour.ratings.ratinglist import rating_list

SPREAD = 200.0  # Elo; standard deviation of the strengths, as in published rating lists
DRAWS = 0.3  # share of drawn games between engines


def rating(settings: Settings) -> Iterator[str]:
    """Measure a list with errors."""
    engines, games = settings.rated
    counts = field(engines, games)
    dice = np.random.default_rng(engines)
    matrix = dice.normal(size=(engines, engines)) + engines * np.eye(engines)
    column = dice.normal(size=engines)
    mine, solve = in_turn(settings.rounds, lambda: rating_list(counts), lambda: np.linalg.solve(matrix, column))
    yield line(f"rating list of {engines} engines, {games} games", mine, solve, "one numpy solve")


def field(engines: int, games: int) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return results of random pairs by the logistic model."""
    dice = random.Random(games)
    names = [f"Engine {number:04}" for number in range(engines)]
    strength = [dice.gauss(0, SPREAD) for _ in names]
    counts: dict[tuple[str, str], tuple[int, int, int]] = {}
    for _ in range(games):
        white, black = dice.sample(range(engines), 2)
        expected = 1 / (1 + 10 ** ((strength[black] - strength[white]) / 400))
        drawn = 2 * DRAWS * min(expected, 1 - expected)
        roll = dice.random()
        place = 0 if roll < expected - drawn / 2 else 1 if roll < expected + drawn / 2 else 2
        pair = (names[white], names[black])
        before = list(counts.get(pair, (0, 0, 0)))
        before[place] += 1
        counts[pair] = (before[0], before[1], before[2])
    return counts
