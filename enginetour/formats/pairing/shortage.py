"""Why not everybody can be paired: a few vertices that too many odd parts depend on.

Source: Tutte 1947, Berge 1958: the fewest vertices left over by any matching are the most, over all sets (barriers),
of odd parts that remain without the set minus the set's size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enginetour.formats.pairing.certificate import ProofFailed
from enginetour.formats.pairing.costs import Allowed, costs_of
from enginetour.formats.pairing.search import Search
from enginetour.model.errors import InputRefused

SHOWN = 8  # vertices named in a message; all of them are in the shortage


@dataclass(frozen=True, slots=True)
class Shortage:
    """Without the `barrier` each of the `parts` (odd, ascending) can only be paired inside itself.

    Each needs one of the barrier, so at least `left_over` vertices stay unpaired; some matching leaves just so many.
    """

    barrier: tuple[int, ...]
    parts: tuple[tuple[int, ...], ...]

    @property
    def left_over(self) -> int:
        """How many vertices every matching leaves out, at the least."""
        return len(self.parts) - len(self.barrier)


class Unpairable(InputRefused):
    """No perfect matching of allowed pairs exists. Vertices in the message count from 1; a caller has better names."""

    def __init__(self, shortage: Shortage) -> None:
        self.shortage = shortage
        named = sorted(vertex for part in shortage.parts for vertex in part)
        who = ", ".join(str(vertex + 1) for vertex in named[:SHOWN]) + (" ..." if len(named) > SHOWN else "")
        parts, barrier = len(shortage.parts), len(shortage.barrier)
        what = f"{shortage.left_over} cannot be paired: entrants {who} make {parts} groups of odd size"
        what += f" with only {barrier} entrants outside to meet" if barrier else " that may only meet inside themselves"
        super().__init__(what, step="allow more pairs")


def shortage(allowed: Allowed) -> Shortage | None:
    """The barrier of a largest matching of allowed pairs, checked; None if it is perfect."""
    count = len(allowed)
    costs = costs_of(np.zeros((count, count), dtype=np.int64), allowed)
    search = Search(costs, costs.filled(0), _greedy(allowed))
    barrier: list[int] = []
    parts: list[tuple[int, ...]] = []
    left = 0
    for root in range(count):
        if search.nest.mate[root] >= 0:
            continue
        if not search.extend(root):
            inner, outer = search.tree()
            barrier += inner
            parts += [tuple(sorted(part.tolist())) for part in outer]
            search.closed |= search.state > 0
            left += 1
        search.end()
    if not left:
        return None
    found = Shortage(tuple(sorted(barrier)), tuple(sorted(parts)))
    check_shortage(allowed, found, left)
    return found


def check_shortage(allowed: Allowed, found: Shortage, left: int) -> None:
    """ProofFailed unless the parts are odd, apart, and too many by `left`."""
    of = np.full(len(allowed), -1)
    for number, part in enumerate(found.parts):
        of[list(part)] = number
    named = [*found.barrier, *(vertex for part in found.parts for vertex in part)]
    inside = of >= 0
    outside = np.ones(len(allowed), dtype=np.bool_)
    outside[list(found.barrier)] = False
    crossing = allowed[np.ix_(inside, outside)] & (of[inside, None] != of[outside])
    if (
        found.left_over != left
        or len(set(named)) < len(named)
        or crossing.any()
        or any(len(part) % 2 == 0 for part in found.parts)
    ):
        raise ProofFailed(
            "the proof that a field cannot be paired failed", step="this is a bug of ours: please report it"
        )


def _greedy(allowed: Allowed) -> list[int]:
    """Each vertex with the lowest one still alone, as a start."""
    mate = [-1] * len(allowed)
    alone = np.ones(len(allowed), dtype=np.bool_)
    for vertex, row in enumerate(allowed):
        if alone[vertex] and (row & alone).any():
            other = int((row & alone).argmax())
            mate[vertex], mate[other] = other, vertex
            alone[[vertex, other]] = False
    return mate
