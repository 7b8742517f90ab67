"""Which games may begin, and in which order: those a format offers, behind what the machine fails, by their slots."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from operator import is_
from typing import Any

from enginetour.formats.base import Format
from enginetour.model.game import Pairing
from enginetour.tournament.allotment import Allotment
from enginetour.tournament.setbacks import Setbacks

Shown = tuple[tuple[Pairing, ...], tuple[Pairing, ...]]  # what is on offer, and what is sure to be


class Offers:
    """Of one run. A format is asked once for each state: the next game is asked for before and after a commit."""

    def __init__(self, format_: Format[Any], setbacks: Setbacks, allotment: Allotment) -> None:
        self._format, self._setbacks, self._allotment = format_, setbacks, allotment
        # Of the last two states, that of the log and that after it; and whether games beside others were asked for.
        self._known: tuple[tuple[Any, bool, Shown], ...] = ()

    def wanted(self, state: Any) -> Iterator[Pairing]:
        """Games in the order in which they should begin; beside other slots one looks ahead before it stands idle."""
        now, ahead = self._of(state)
        return self._allotment.ordered(self._setbacks.ordered(now) + self._setbacks.ordered(ahead))

    def are_sure_of(self, pairing: Pairing, state: Any) -> bool:
        """It is on offer in this state, or sure to be."""
        shown = self._of(state)
        # Mostly the very same pairing is offered again; comparing takes 20 times as long (measured, 500 before it).
        return any(any(map(is_, games, repeat(pairing))) for games in shown) or any(pairing in games for games in shown)

    def _of(self, state: Any) -> Shown:
        beside = self._allotment.slots > 1
        for known, asked, shown in self._known:
            if known is state and asked is beside:
                return shown
        shown = self._format.offers(state), self._format.ahead(state) if beside else ()
        self._known = (*self._known[-1:], (state, beside, shown))
        return shown
