"""Starts of Chess960 by number (Scharnagl's count, 0 to 959), and of double Chess960 by White's x 960 + Black's."""

from __future__ import annotations

from collections.abc import Sequence

from enginetour.model.game import Opening
from enginetour.model.numbered import Numbered
from enginetour.model.variants import BACK_RANKS, DOUBLE_CHESS960, shuffled_fen


def most(variant: str) -> int:
    """How many starts there are."""
    return BACK_RANKS**2 if variant == DOUBLE_CHESS960 else BACK_RANKS


class BackRanks(Numbered):
    """Some starts, or all of them; made when they are asked for."""

    def __init__(self, variant: str, numbers: Sequence[int] | None = None) -> None:
        self._variant = variant
        self._numbers = range(most(variant)) if numbers is None else numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def _at(self, number: int) -> Opening:
        start = self._numbers[number]
        white, black = divmod(start, BACK_RANKS) if self._variant == DOUBLE_CHESS960 else (start, start)
        name = f"SP {white} v {black}" if self._variant == DOUBLE_CHESS960 else f"SP {start}"
        return Opening(name, number + 1, shuffled_fen(white, black), variant=self._variant)
