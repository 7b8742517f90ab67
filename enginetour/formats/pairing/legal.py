"""Which rounds are legal: nobody meets twice, no absolute colour clash, no bye after a bye or a win without a game.

When there is no such round, the one that breaks these as little as can be: no rematch if that can be had by other
means, else the fewest, then the least recent; then the fewest second byes, then families, then clashes of colour.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enginetour.formats.pairing.costs import Numbers
from enginetour.formats.pairing.faces import Face
from enginetour.formats.pairing.field import Field, Unpairable
from enginetour.formats.pairing.preparation import Card
from enginetour.formats.pairing.shortage import Unpairable as NoMatching

SHOWN = 8  # names in a message


class Law:
    """The bars of a round, over the cards in order and, in an odd field, the bye as the last vertex."""

    def __init__(self, field: Field, cards: Sequence[Card], *, forbid_family: bool) -> None:
        self.field = field
        self.cards = cards
        size = len(cards) + len(cards) % 2
        self.met = np.zeros((size, size), dtype=np.int64)  # the round of the last meeting
        self.kin, self.clash, self.second_bye = (np.zeros((size, size), dtype=np.bool_) for _ in range(3))
        for i, one in enumerate(cards):
            family = field.members[one.place].family
            for j, other in enumerate(cards[:i]):
                self.met[i, j] = self.met[j, i] = field.meetings[one.place].get(other.place, 0)
                clash = one.colours.clashes(other.colours) and not (one.top or other.top)
                self.clash[i, j] = self.clash[j, i] = clash
                kin = forbid_family and family != "" and family == field.members[other.place].family
                self.kin[i, j] = self.kin[j, i] = kin
            if len(cards) % 2:
                self.second_bye[i, -1] = self.second_bye[-1, i] = one.barred

    def face(self, *, strict: bool) -> tuple[Face, bool]:
        """All legal rounds, or all that break the law least (then False). Unpairable if strict and there is none."""
        barred = (self.met > 0) | self.kin | self.clash | self.second_bye
        anything = ~np.eye(len(barred), dtype=np.bool_)
        try:
            return Face.of(anything & ~barred), True
        except NoMatching as error:
            if strict:
                raise Unpairable(self._why(error)) from None
        return Face.of(anything).best(self._breaches()), False

    def remarks(self, pairs: Sequence[tuple[int, int]]) -> tuple[str, ...]:
        """What must be told of pairs of vertices, the lower first."""
        names = [self.field.members[card.place].name for card in self.cards]
        told = []
        for one, other in pairs:
            if self.met[one, other]:
                told.append(f"{names[one]} and {names[other]} meet again, last in round {self.met[one, other]}")
            if self.kin[one, other]:
                told.append(f"{names[one]} and {names[other]} are of one family")
            if self.clash[one, other]:
                told.append(f"{names[one]} and {names[other]} are both due the same colour")
            if self.second_bye[one, other]:
                told.append(f"{names[one]} gets the bye, but already had a bye or a win without a game (C2)")
        return tuple(told)

    def _breaches(self) -> list[Numbers]:
        latest = [self.met == number for number in sorted(set(self.met.flat) - {0}, reverse=True)]
        return [-bar.astype(np.int64) for bar in (self.met > 0, *latest, self.second_bye, self.kin, self.clash)]

    def _why(self, error: NoMatching) -> str:
        lacking = error.shortage
        names = [
            self.field.members[self.cards[vertex].place].name
            for part in lacking.parts
            for vertex in part
            if vertex < len(self.cards)
        ]
        who = ", ".join(names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")
        return f"no legal round is left for {who}; strict = false allows the fewest rematches"
