"""Game results as arrays with one row per pair of engines, and game pairs that share an opening."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import sqrt
from operator import add

import numpy as np
from numpy.typing import NDArray

Counts = Mapping[tuple[str, str], tuple[int, int, int]]
"""(white, black) -> White's (wins, draws, losses)."""

Vector = NDArray[np.float64]
Index = NDArray[np.intp]

_ROOM = 3  # table entries per key; with at most this many, counting is faster than sorting (measured)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Results with one row for each (White, Black) that played games.

    `white` and `black` are indices into the sorted `names`. `wins`, `draws` and `losses` count White's results.
    """

    names: tuple[str, ...]
    white: Index
    black: Index
    wins: Vector
    draws: Vector
    losses: Vector

    def dense(self) -> Vector:
        """Return White's wins, draws and losses of each White (first axis) against each Black: shape (n, n, 3)."""
        found = np.zeros((len(self.names), len(self.names), 3))
        found[self.white, self.black] = np.stack((self.wins, self.draws, self.losses), axis=-1)
        return found

    @cached_property
    def games(self) -> Vector:
        """Return the number of games in each row."""
        return self.wins + self.draws + self.losses

    @cached_property
    def points(self) -> Vector:
        """Return White's score in each row."""
        return self.wins + self.draws / 2

    def per_engine(self, white: Vector, black: Vector) -> Vector:
        """Return one sum per engine: `white` of the rows where it is White plus `black` of those where it is Black."""
        count = len(self.names)
        sums = np.bincount(self.black, black, count).astype(np.float64)
        if self._blocks is None:
            return sums + np.bincount(self.white, white, count)
        engines, starts = self._blocks
        sums[engines] += np.add.reduceat(white, starts)
        return sums

    @cached_property
    def _blocks(self) -> tuple[Index, Index] | None:
        """Return each White with its first row, or None if rows are not sorted. Block sums take a tenth of the time."""
        steps = np.diff(self.white, prepend=-1)
        if (steps < 0).any():
            return None
        starts = np.flatnonzero(steps)
        return self.white[starts], starts

    @cached_property
    def record(self) -> tuple[Vector, Vector, Vector]:
        """Return the wins, draws and losses of each engine."""
        return (
            self.per_engine(self.wins, self.losses),
            self.per_engine(self.draws, self.draws),
            self.per_engine(self.losses, self.wins),
        )

    @cached_property
    def played(self) -> Vector:
        """Return the number of games of each engine."""
        return self.per_engine(self.games, self.games)

    @cached_property
    def scored(self) -> Vector:
        """Return the points of each engine."""
        return self.per_engine(self.points, self.games - self.points)

    @cached_property
    def folded(self) -> Pairs:
        """Return one row for both colors of a pair. The engine whose name sorts first counts as White."""
        turned, count = self.white > self.black, len(self.names)
        keys = np.minimum(self.white, self.black) * count + np.maximum(self.white, self.black)
        wins, losses = np.where(turned, self.losses, self.wins), np.where(turned, self.wins, self.losses)
        met, (wins, draws, losses) = _summed(keys, count * count, wins, self.draws, losses)
        white, black = np.divmod(met, max(1, count))
        return Pairs(self.names, white, black, wins, draws, losses)

    def with_min_games(self, games: int) -> Pairs:
        """Remove engines with fewer than `games` games, repeatedly, until all remaining engines have enough games."""
        kept = [name for name, played in zip(self.names, self.played, strict=True) if played >= games]
        return self if len(kept) == len(self.names) else self.within(kept).with_min_games(games)

    def within(self, names: Collection[str]) -> Pairs:
        """Return only these engines, and the games between them."""
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
    """Return the distinct keys in sorted order, and the sum of each column for each key. All keys are below `size`."""
    if size <= _ROOM * len(keys):
        met = np.flatnonzero(np.bincount(keys, minlength=size))
        return met, [np.bincount(keys, column, size)[met].astype(np.float64) for column in columns]
    met, row = np.unique(keys, return_inverse=True)
    return met, [np.bincount(row, column, len(met)).astype(np.float64) for column in columns]


def pairs_of(counts: Counts | Pairs, names: Collection[str] = ()) -> Pairs:
    """Convert counts to arrays with rows in a fixed order. `names` adds engines without games.

    Raises ValueError for negative counts, or if an engine has a game against itself.
    """
    if isinstance(counts, Pairs):
        return counts
    results = np.fromiter(chain.from_iterable(counts.values()), np.float64, 3 * len(counts)).reshape(-1, 3)
    known = tuple(sorted({*names, *chain.from_iterable(counts)}))
    place = {name: index for index, name in enumerate(known)}
    ends = np.fromiter(map(place.__getitem__, chain.from_iterable(counts)), np.intp, 2 * len(counts)).reshape(-1, 2)
    if (ends[:, 0] == ends[:, 1]).any() or (results < 0).any():
        raise ValueError("counts must be for two different engines and must not be negative")
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    order = order[results[order].any(axis=1)]
    (white, black), (wins, draws, losses) = ends[order].T, results[order].T
    return Pairs(known, white, black, wins, draws, losses)


# Game pairs: games that share an opening, and their effect on errors. Two games between the same engines with the same
# opening and swapped colors are not independent: an opening that favors White gives points to one engine in the first
# game and to its opponent in the second game. Results are therefore counted by pair: the numbers of pairs in which the
# first engine scored 0, 1/2, 1, 3/2 and 2 points (the pentanomial counts of Van den Bergh, fishtest).

Openings = Mapping[tuple[str, str], tuple[int, int, int, int, int]]
"""Complete pairs: (first, second engine) -> numbers of pairs with 0, 1/2, 1, 3/2, 2 points for the first engine."""

PAIR_POINTS = np.array((0.0, 0.5, 1.0, 1.5, 2.0))
BELIEVED_PAIRS = 20  # pairs of independent games, added as a prior, so that few pairs hardly change an error


@dataclass(frozen=True, eq=False)
class OpeningPairs:
    """Game pairs with one row for each two engines. `one` and `other` are indices into `names`.

    `counts` has five columns: the numbers of pairs in which `one` scored 0, 1/2, 1, 3/2 and 2 points.
    """

    names: tuple[str, ...]
    one: Index
    other: Index
    counts: Vector

    def within(self, names: Collection[str]) -> OpeningPairs:
        """Return only these engines, and the pairs between them."""
        kept = tuple(sorted(names))
        moved = np.searchsorted(kept, self.names)
        there = np.isin(self.names, kept)
        rows = there[self.one] & there[self.other]
        return OpeningPairs(kept, moved[self.one[rows]], moved[self.other[rows]], self.counts[rows])

    def in_rows(self, pairs: Pairs) -> Vector:
        """Return how many games in each row of `pairs` belong to a game pair. Each game pair has one game per color.

        Raises ValueError if games of a game pair are not in `pairs`.
        """
        size = len(self.names)
        keys, number = pairs.white * size + pairs.black, self.counts.sum(axis=1)
        paired = np.zeros(len(keys))
        for white, black in ((self.one, self.other), (self.other, self.one)):
            wanted = white * size + black
            rows = np.searchsorted(keys, wanted)
            if (rows >= len(keys)).any() or (keys[rows] != wanted).any():
                raise ValueError("there are game pairs of two engines that have not played each other")
            np.add.at(paired, rows, number)
        if (paired > pairs.games).any():
            raise ValueError("there are more game pairs than games")
        return paired


@dataclass(frozen=True, slots=True)
class PairScoreSpread:
    """Squared deviations of pair scores from their expectation, in points squared, summed over pairs."""

    seen: float = 0.0
    expected: float = 0.0  # sum expected for independent games, after ratings were fitted to them
    variance: float = 0.0  # sum expected for independent games before ratings are fitted
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
        """Return the variance of a pair's score divided by that of two independent games, or 1 without pairs."""
        believed = BELIEVED_PAIRS * self.variance / max(self.pairs, 1)
        return (self.seen + believed) / (self.expected + believed) if self.pairs else 1.0

    @property
    def note(self) -> str:
        """Return the sentence about game pairs for the caption of the list."""
        pairs = f"{self.pairs} game pair{'s' * (self.pairs != 1)}"
        return f"errors by game pairs: {sqrt(self.ratio):.2f} times those of single games, {pairs}"


@dataclass(frozen=True, eq=False)
class OpeningDependence:
    """The effect of game pairs on a fit's errors: the variance ratio, and the number of paired games in each row."""

    ratio: float
    paired: Vector

    def widened(self, games: Vector) -> Vector:
        """Return the factor by which each row's variance increases. `games` counts all games of each row."""
        return 1 + (self.ratio - 1) * self.paired / games


def opening_pairs(openings: Openings, names: tuple[str, ...]) -> OpeningPairs:
    """Convert counts to arrays with rows in a fixed order. Counts of (A, B) and (B, A) are added. `names` are sorted.

    Raises ValueError for unknown engines, for a pair of an engine with itself, and for negative counts.
    """
    place = {name: index for index, name in enumerate(names)}
    sums: dict[tuple[int, int], Sequence[float]] = {}
    for (one, other), counts in openings.items():
        if one == other or one not in place or other not in place or len(counts) != len(PAIR_POINTS) or min(counts) < 0:
            raise ValueError(f"the game pairs of {one} and {other} must be five counts for two different rated engines")
        ends, row = (place[one], place[other]), tuple(counts)
        if one > other:
            ends, row = ends[::-1], row[::-1]
        sums[ends] = tuple(map(add, sums[ends], row)) if ends in sums else row
    met = sorted(ends for ends, row in sums.items() if any(row))
    ends_ = np.array(met, dtype=np.intp).reshape(-1, 2)
    table = np.array([sums[ends] for ends in met], dtype=np.float64).reshape(-1, len(PAIR_POINTS))
    return OpeningPairs(names, ends_[:, 0], ends_[:, 1], table)
