"""The score form of double elimination: the unbeaten among themselves, those with one loss among themselves.

If both groups are odd, one of each meets; if one is, somebody of it passes. Rematches are avoided inside these rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from enginetour.formats.pairing.field import Field
from enginetour.formats.pairing.matching import relaxed_matching

Pair = tuple[int, int]


def group_pairs(field: Field, losses: Sequence[int], order: Sequence[int]) -> list[Pair]:
    """The next round of those present with less than two losses; `order` are all members, the best first.

    The first choice without a rematch is taken, else the one with the fewest and least recent rematches. Choices come
    in this order: who meets the other group is the lowest unbeaten with the highest of one loss; who passes had the
    fewest passes and is the highest then. Inside a group first meets last as nearly as can be.
    """
    there = [place for place in order if place in field.present and losses[place] < 2]
    best: tuple[tuple[int, ...], list[Pair]] | None = None
    for across, groups in _choices(field, there, losses):
        pairs = [*across, *chain.from_iterable(_folded(field, group) for group in groups)]
        again = sorted((field.meetings[one][other] for one, other in pairs if field.met(one, other)), reverse=True)
        cost = (len(again), *again)
        if best is None or cost < best[0]:
            best = cost, pairs
        if not again:
            break
    return best[1] if best else []


def _choices(field: Field, there: list[int], losses: Sequence[int]) -> Iterator[tuple[list[Pair], list[list[int]]]]:
    """A pair across the groups if there must be one, and even groups."""
    groups = [[place for place in there if losses[place] == count] for count in (0, 1)]
    odd = [group for group in groups if len(group) % 2]
    if len(odd) == 2:
        for one in reversed(groups[0]):
            for other in groups[1]:
                yield [(one, other)], [[p for p in group if p not in (one, other)] for group in groups]
    elif odd:
        fewest = min(field.byes(place) for place in odd[0])
        for passing in odd[0]:
            if field.byes(passing) == fewest:
                yield [], [[place for place in group if place != passing] for group in groups]
    else:
        yield [], groups


def _folded(field: Field, group: list[int]) -> list[Pair]:
    """First against last of a group in order, by the squared distance from it (Vuorinen 2010)."""
    if not group:
        return []
    seats = np.arange(len(group))
    weights = len(group) ** 2 - (seats[:, None] + seats[None, :] - len(group) + 1) ** 2
    barred = np.array([[field.meetings[one].get(other, 0) for other in group] for one in group])
    return [(group[one], group[other]) for one, other in relaxed_matching(weights, barred).pairs]
