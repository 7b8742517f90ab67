"""Games that share an opening: what a list must know of them, and what they change in its errors.

Two games of two engines on one opening with colours swapped are not independent: an opening that favours White gives
one engine what it takes from the other. Results are counted by pair, as in a match of two: pairs in which the first
engine made 0, 1/2, 1, 3/2, 2 points (the pentanomial of Van den Bergh, fishtest).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from enginetour.ratings.pairs import Index, Pairs, Vector

Openings = Mapping[tuple[str, str], tuple[int, int, int, int, int]]
"""(one, other) -> complete pairs by the points of `one`: 0, 1/2, 1, 3/2, 2."""

PAIR_POINTS = np.array((0.0, 0.5, 1.0, 1.5, 2.0))
BELIEVED_PAIRS = 20  # pairs of independent games believed before any: few pairs hardly change an error


@dataclass(frozen=True, eq=False)
class OpeningPairs:
    """One row per two engines, places in `names`; `counts` has five columns, by the points of `one`."""

    names: tuple[str, ...]
    one: Index
    other: Index
    counts: Vector

    def within(self, names: Collection[str]) -> OpeningPairs:
        """Only these engines, and their pairs among themselves."""
        kept = tuple(sorted(names))
        moved = np.searchsorted(kept, self.names)
        there = np.isin(self.names, kept)
        rows = there[self.one] & there[self.other]
        return OpeningPairs(kept, moved[self.one[rows]], moved[self.other[rows]], self.counts[rows])

    def in_rows(self, pairs: Pairs) -> Vector:
        """How many games of each row belong to a pair: every pair has one game in each colour.

        ValueError for pairs whose games are not among the counts.
        """
        size = len(self.names)
        keys, number = pairs.white * size + pairs.black, self.counts.sum(axis=1)
        paired = np.zeros(len(keys))
        for white, black in ((self.one, self.other), (self.other, self.one)):
            wanted = white * size + black
            rows = np.searchsorted(keys, wanted)
            if (rows >= len(keys)).any() or (keys[rows] != wanted).any():
                raise ValueError("opening pairs of engines that have no such games")
            np.add.at(paired, rows, number)
        if (paired > pairs.games).any():
            raise ValueError("more opening pairs than games")
        return paired


@dataclass(frozen=True, slots=True)
class Surprise:
    """How far pair scores were from what was expected of them, in points squared, summed over pairs."""

    seen: float = 0.0
    expected: float = 0.0  # of independent games, after ratings were fitted to them
    variance: float = 0.0  # of independent games
    pairs: int = 0

    def __add__(self, more: Surprise) -> Surprise:
        return Surprise(
            self.seen + more.seen,
            self.expected + more.expected,
            self.variance + more.variance,
            self.pairs + more.pairs,
        )

    @property
    def ratio(self) -> float:
        """Variance of a pair's score over that of two independent games; 1 without pairs."""
        believed = BELIEVED_PAIRS * self.variance / max(self.pairs, 1)
        return (self.seen + believed) / (self.expected + believed) if self.pairs else 1.0

    @property
    def told(self) -> str:
        """For the list's caption."""
        pairs = f"{self.pairs} pair{'s' * (self.pairs != 1)}"
        return f"errors by opening pairs: {sqrt(self.ratio):.2f} x those of single games, {pairs}"


@dataclass(frozen=True, eq=False)
class Dependence:
    """What opening pairs make of a fit's errors: the ratio of variances, and the games it holds for, row by row."""

    ratio: float
    paired: Vector

    def widened(self, games: Vector) -> Vector:
        """Factor of each row's variance; `games` counts all of the row."""
        return 1 + (self.ratio - 1) * self.paired / games


def opening_pairs(openings: Openings, names: tuple[str, ...]) -> OpeningPairs:
    """Columns of the counts, in an order that does not depend on theirs; both orders of two names are added up.

    `names` are sorted. ValueError for strangers, an engine with itself, counts below 0.
    """
    place = {name: index for index, name in enumerate(names)}
    sums: dict[tuple[int, int], Vector] = {}
    for (one, other), counts in openings.items():
        if one == other or one not in place or other not in place or len(counts) != len(PAIR_POINTS) or min(counts) < 0:
            raise ValueError(f"five counts of pairs between two rated engines, none below 0, found {one} - {other}")
        ends, row = (place[one], place[other]), np.array(counts, dtype=np.float64)
        if one > other:
            ends, row = ends[::-1], row[::-1]
        sums[ends] = sums.get(ends, np.zeros(len(PAIR_POINTS))) + row
    met = sorted(ends for ends, row in sums.items() if row.any())
    ends_ = np.array(met, dtype=np.intp).reshape(-1, 2)
    table = np.array([sums[ends] for ends in met]).reshape(-1, len(PAIR_POINTS))
    return OpeningPairs(names, ends_[:, 0], ends_[:, 1], table)
