"""Results as columns: what every fit, graph and list reads instead of a million games."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Counts = Mapping[tuple[str, str], tuple[int, int, int]]
"""(white, black) -> White's wins, draws, losses."""

Vector = NDArray[np.float64]
Index = NDArray[np.intp]

ROOM = 3  # places a key: up to there a count for every place is quicker than sorting (measured)


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
        met, (wins, draws, losses) = summed(keys, count * count, wins, self.draws, losses)
        white, black = np.divmod(met, max(1, count))
        return Pairs(self.names, white, black, wins, draws, losses)

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


def summed(keys: Index, size: int, *columns: Vector) -> tuple[Index, list[Vector]]:
    """The distinct keys, sorted, all below `size`, and the sum of each column over the rows of a key."""
    if size <= ROOM * len(keys):
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
