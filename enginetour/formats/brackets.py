"""The leaves of a knock-out tree: who sits where before the first round. Entrants are places in the entry order.

The tree has 2^k leaves in a row; neighbours meet, the winners of neighbouring pairs meet, and so on. The leaves have
labels 1 to 2^k as seeds have: as long as the lower label wins, those of a pair in a round of n add up to n + 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property


def labels(size: int) -> tuple[int, ...]:
    """Labels from left to right; the best of each half, quarter, ... are as far apart as can be."""
    row: tuple[int, ...] = (1,)
    while len(row) < size:
        row = tuple(label for best in row for label in (best, 2 * len(row) + 1 - best))
    return row


def size_for(entrants: int) -> int:
    """Leaves of the smallest tree with room for so many."""
    return 1 << (entrants - 1).bit_length()


def leaves(order: Sequence[int], passing: Collection[int], *, folded: bool) -> tuple[int | None, ...]:
    """Everybody of `order` on a leaf, those `passing` beside an empty one.

    Folded, the best of those who play meets the last, and pairs are placed by their better seed; else those who play
    meet their neighbours in `order` and pairs are placed as they come: with an order by lot, all is by lot.
    """
    playing = [entrant for entrant in order if entrant not in passing]
    half = len(playing) // 2
    opponents = playing[: half - 1 : -1] if folded else playing[1::2]
    couples: list[tuple[int, int | None]] = [(entrant, None) for entrant in passing]
    couples += zip(playing[:half] if folded else playing[::2], opponents, strict=True)
    seat = {entrant: number for number, entrant in enumerate(order)}
    couples.sort(key=lambda couple: seat[couple[0]])
    return tuple(leaf for label in labels(len(couples)) for leaf in couples[label - 1])


def in_turn(order: Sequence[int], passing: Collection[int]) -> tuple[int | None, ...]:
    """Return everybody of `order` from left to right, those `passing` beside an empty leaf: neighbors meet."""
    row: list[int | None] = []
    playing = [entrant for entrant in order if entrant not in passing]
    mates = dict(zip(playing[::2], playing[1::2], strict=True))
    for entrant in order:
        if entrant in passing:
            row += [entrant, None]
        elif entrant in mates:
            row += [entrant, mates[entrant]]
    return tuple(row)


@dataclass(frozen=True)
class Kinship:
    """Same families in a tree: pairs that could meet inside a quarter, then inside an eighth, ... are to be few."""

    row: tuple[int | None, ...]
    families: tuple[str, ...]  # by entry order, "" for none

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Leaves of a quarter, of an eighth, ... of a pair."""
        found = []
        size = len(self.row) // 4
        while size > 1:
            found.append(size)
            size //= 2
        return tuple(found)

    def crowding(self, row: Sequence[int | None]) -> tuple[int, ...]:
        """Pairs of one family in the same quarter, eighth, ..., pair."""
        found = []
        for size in self.sizes:
            kin = Counter(
                (leaf // size, self.families[entrant])
                for leaf, entrant in enumerate(row)
                if entrant is not None and self.families[entrant]
            )
            found.append(sum(count * (count - 1) // 2 for count in kin.values()))
        return tuple(found)

    def parted(self, *, folded: bool) -> tuple[int | None, ...]:
        """Entrants exchanged until no exchange parts families better, the nearest seeds first.

        Only equals change seats: both pass or neither does and, folded, they are of one tier (3-4, 5-8, 9-16, ...), so
        that the best still meet as late as they should.
        """
        row, best = list(self.row), self.crowding(self.row)
        marks = labels(len(row))
        rank = [((marks[leaf] - 1).bit_length() if folded else 0, row[leaf ^ 1] is None) for leaf in range(len(row))]
        equals = [
            (abs(marks[one] - marks[other]), one, other)
            for one in range(len(row))
            for other in range(one)
            if rank[one] == rank[other] and None not in (row[one], row[other])
        ]
        equals.sort()
        better = True
        while better and any(best):
            better = False
            for _, one, other in equals:
                row[one], row[other] = row[other], row[one]
                fewer = self.crowding(row)
                if fewer < best:
                    best, better = fewer, True
                else:
                    row[one], row[other] = row[other], row[one]
        return tuple(row)
