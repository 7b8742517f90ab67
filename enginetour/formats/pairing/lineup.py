"""Those who are to be paired, as arrays: score groups, places in them, floats so far, colours, families.

Arrays run over the present in entry order. Group 0 is the top; size and place count whoever will have the bye, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from enginetour.formats.pairing.field import Field

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Span:
    """How scores become groups. `step` is 1 for groups of whole wins, 2 where half a win makes a group of its own.

    `highest` is the score of group 0, `groups` counts empty ones, too; both in steps, for each of `categories`.
    """

    highest: int
    groups: int
    step: int = 1
    categories: int = 1

    @property
    def all_groups(self) -> int:
        """Groups of all categories."""
        return self.groups * self.categories


@dataclass(frozen=True, slots=True, eq=False)
class Lineup:
    """What the criteria look at."""

    member: Ints  # place in the entry order
    score: Ints  # in steps
    category: Ints
    group: Ints
    size: Ints  # of its group
    place: Ints  # in its group, 0 is the best
    up: Ints  # rounds in which it was drawn up
    down: Ints
    balance: Ints  # Whites less Blacks without handicap
    span: Span
    number: int  # rounds played

    def __len__(self) -> int:
        return len(self.member)

    def renumbered(self, out: Flags) -> Lineup:
        """With the places counted anew without those who are `out`, who keep theirs. Source: Vuorinen 2010."""
        there = np.flatnonzero(~out)
        there = there[np.lexsort((self.place[there], self.group[there]))]
        group = self.group[there]
        first = np.searchsorted(group, group)
        size, place = self.size.copy(), self.place.copy()
        size[there] = np.searchsorted(group, group, side="right") - first
        place[there] = np.arange(len(there)) - first
        return replace(self, size=size, place=place)


def line_up(
    field: Field,
    points: Sequence[Sequence[int]],
    span: Span,
    order: Sequence[int],
    *,
    categories: Sequence[int] = (),
    recent: int | None = None,
) -> Lineup:
    """The lineup of a field whose scores before each round and now are `points`, as in `Field.points`.

    `order` is everybody present, best first, `categories` are by place in the entry order. Floats are counted in
    the last `recent` rounds, or all.
    """
    there = list(field.present)
    member = np.array(there, dtype=np.int64)
    steps = [[value * span.step // field.win for value in row] for row in points]
    kind = [categories[at] if categories else 0 for at in there]
    group = [span.groups * cat + span.highest - steps[-1][at] for at, cat in zip(there, kind, strict=True)]
    of = dict(zip(there, group, strict=True))
    counted: dict[int, int] = {}
    places: dict[int, int] = {}
    for at in order:
        places[at] = counted.get(of[at], 0)
        counted[of[at]] = places[at] + 1
    up, down = _floats(field, steps, recent)
    return Lineup(
        member,
        np.array([steps[-1][at] for at in there], dtype=np.int64),
        np.array(kind, dtype=np.int64),
        np.array(group, dtype=np.int64),
        np.array([counted[value] for value in group], dtype=np.int64),
        np.array([places[at] for at in there], dtype=np.int64),
        up[member],
        down[member],
        np.array(_balances(field), dtype=np.int64)[member],
        span,
        len(field.history),
    )


def _floats(field: Field, steps: list[list[int]], recent: int | None) -> tuple[Ints, Ints]:
    """Rounds in which each member met a higher and a lower score than its own before that round."""
    up = np.zeros(len(field.members), dtype=np.int64)
    down = np.zeros(len(field.members), dtype=np.int64)
    first = 0 if recent is None else max(0, len(field.history) - recent)
    for number, row in list(enumerate(field.history))[first:]:
        before = steps[number]
        for member, turn in enumerate(row):
            if turn.opponent is not None:
                up[member] += before[turn.opponent] > before[member]
                down[member] += before[turn.opponent] < before[member]
    return up, down


def _balances(field: Field) -> list[int]:
    """`Field.balance` of all members in one walk."""
    sums = [0] * len(field.members)
    for row in field.history:
        for member, turn in enumerate(row):
            if turn.met and not turn.handicap:
                sums[member] += turn.colour
    return sums
