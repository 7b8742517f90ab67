"""Game results as columns per pair of engines, and game pairs that share an opening."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Counts = Mapping[tuple[str, str], tuple[int, int, int]]
"""(white, black) -> White's wins, draws, losses."""

Vector = NDArray[np.float64]
Index = NDArray[np.intp]

_ROOM = 3  # places a key: up to there a count for every place is quicker than sorting (measured)


@dataclass(frozen=True, eq=False)
class Pairs:
    """One row per ordered pair that met: places of White and Black in the sorted `names`, and counts."""

    names: tuple[str, ...]
    white: Index
    black: Index
    wins: Vector
    draws: Vector
    losses: Vector

    @cached_property
    def games(self) -> Vector:
        """Games of each row."""
        return self.wins + self.draws + self.losses

    @cached_property
    def points(self) -> Vector:
        """White's score in each row."""
        return self.wins + self.draws / 2

    def per_engine(self, white: Vector, black: Vector) -> Vector:
        """Sum what each row gives to its White and to its Black; one number per name."""
        count = len(self.names)
        sums = np.bincount(self.black, black, count).astype(np.float64)
        if self._blocks is None:
            return sums + np.bincount(self.white, white, count)
        engines, starts = self._blocks
        sums[engines] += np.add.reduceat(white, starts)
        return sums

    @cached_property
    def _blocks(self) -> tuple[Index, Index] | None:
        """Each White and its first row, None where rows are not sorted: sums of blocks take a tenth of the time."""
        steps = np.diff(self.white, prepend=-1)
        if (steps < 0).any():
            return None
        starts = np.flatnonzero(steps)
        return self.white[starts], starts

    @cached_property
    def record(self) -> tuple[Vector, Vector, Vector]:
        """Wins, draws and losses of each engine."""
        return (
            self.per_engine(self.wins, self.losses),
            self.per_engine(self.draws, self.draws),
            self.per_engine(self.losses, self.wins),
        )

    @cached_property
    def played(self) -> Vector:
        """Games of each engine."""
        return self.per_engine(self.games, self.games)

    @cached_property
    def scored(self) -> Vector:
        """Points of each engine."""
        return self.per_engine(self.points, self.games - self.points)

    @cached_property
    def folded(self) -> Pairs:
        """One row for both colours of a pair, from the side of the name that sorts first."""
        turned, count = self.white > self.black, len(self.names)
        keys = np.minimum(self.white, self.black) * count + np.maximum(self.white, self.black)
        wins, losses = np.where(turned, self.losses, self.wins), np.where(turned, self.wins, self.losses)
        met, (wins, draws, losses) = _summed(keys, count * count, wins, self.draws, losses)
        white, black = np.divmod(met, max(1, count))
        return Pairs(self.names, white, black, wins, draws, losses)

    def with_min_games(self, games: int) -> Pairs:
        """Without engines that have fewer games, again and again: each that goes takes games from others."""
        kept = [name for name, played in zip(self.names, self.played, strict=True) if played >= games]
        return self if len(kept) == len(self.names) else self.within(kept).with_min_games(games)

    def within(self, names: Collection[str]) -> Pairs:
        """Only these engines, and their games among themselves."""
        if len(names) == len(self.names):
            return self
        place = {name: index for index, name in enumerate(self.names)}
        kept = tuple(sorted(names))
        moved = np.full(len(self.names), -1, dtype=np.intp)
        moved[[place[name] for name in kept]] = np.arange(len(kept))
        rows = (moved[self.white] >= 0) & (moved[self.black] >= 0)
        return Pairs(
            kept,
            moved[self.white[rows]],
            moved[self.black[rows]],
            self.wins[rows],
            self.draws[rows],
            self.losses[rows],
        )


def _summed(keys: Index, size: int, *columns: Vector) -> tuple[Index, list[Vector]]:
    """The distinct keys, sorted, all below `size`, and the sum of each column over the rows of a key."""
    if size <= _ROOM * len(keys):
        met = np.flatnonzero(np.bincount(keys, minlength=size))
        return met, [np.bincount(keys, column, size)[met].astype(np.float64) for column in columns]
    met, row = np.unique(keys, return_inverse=True)
    return met, [np.bincount(row, column, len(met)).astype(np.float64) for column in columns]


def pairs_of(counts: Counts | Pairs, names: Collection[str] = ()) -> Pairs:
    """Columns of the counts, in an order that does not depend on theirs; `names` adds engines without games.

    ValueError for what cannot be a count: a game of an engine against itself, less than no games.
    """
    if isinstance(counts, Pairs):
        return counts
    results = np.fromiter(chain.from_iterable(counts.values()), np.float64, 3 * len(counts)).reshape(-1, 3)
    known = tuple(sorted({*names, *chain.from_iterable(counts)}))
    place = {name: index for index, name in enumerate(known)}
    ends = np.fromiter(map(place.__getitem__, chain.from_iterable(counts)), np.intp, 2 * len(counts)).reshape(-1, 2)
    if (ends[:, 0] == ends[:, 1]).any() or (results < 0).any():
        raise ValueError("counts are of games between two engines, none below zero")
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    order = order[results[order].any(axis=1)]
    (white, black), (wins, draws, losses) = ends[order].T, results[order].T
    return Pairs(known, white, black, wins, draws, losses)


# Game pairs: games that share an opening, and their effect on errors.
#
# Two games of two engines on one opening with colours swapped are not independent: an opening that favours White gives
# one engine what it takes from the other. Results are counted by pair, as in a match of two: pairs in which the first
# engine made 0, 1/2, 1, 3/2, 2 points (the pentanomial of Van den Bergh, fishtest).

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
class PairScoreSpread:
    """How far pair scores were from what was expected of them, in points squared, summed over pairs."""

    seen: float = 0.0
    expected: float = 0.0  # of independent games, after ratings were fitted to them
    variance: float = 0.0  # of independent games
    pairs: int = 0

    def __add__(self, more: PairScoreSpread) -> PairScoreSpread:
        return PairScoreSpread(
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
    def note(self) -> str:
        """For the list's caption."""
        pairs = f"{self.pairs} pair{'s' * (self.pairs != 1)}"
        return f"errors by opening pairs: {sqrt(self.ratio):.2f} x those of single games, {pairs}"


@dataclass(frozen=True, eq=False)
class OpeningDependence:
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
