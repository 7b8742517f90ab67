"""Round robin: everybody against everybody, in cycles.

Colours by the Berger tables (FIDE C.05 annex 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from enginetour.formats.pairlist import Board, ListOptions, ListState, PairList
from enginetour.schedules import berger


class RoundRobinOptions(ListOptions):
    """Settings of the round robin."""


class RoundRobin(PairList):
    """Everybody against everybody, `cycles` times."""

    def _boards(self, state: ListState, cycles: Iterable[int]) -> Iterator[Board]:
        """Whole cycles among the present, in rounds after those there are."""
        names, number = state.present, state.rounds
        rounds = berger(len(names))
        for cycle in cycles:
            for pairs in rounds:
                number += 1
                for white, black in pairs:
                    yield (*self._turned(names[white], names[black], cycle), cycle, number)
