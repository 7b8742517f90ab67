"""Round robin: everybody against everybody, in cycles, in one of several orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import Field, model_validator

from enginetour.formats.listoptions import ListOptions
from enginetour.formats.pairing.orders import Colours, Order, rounds_of
from enginetour.formats.pairlist import Board, ListState, PairList


class RoundRobinOptions(ListOptions):
    """Settings of the round robin."""

    order: Order = Field(
        default="berger",
        description="berger: tables of FIDE C.05; seats: two rotating rows (Vuorinen 2010); circle: first v last",
    )
    colours: Colours = Field(
        default="balanced",
        description="balanced; or rows, for seats and circle: the upper row has White in every other round",
    )

    @model_validator(mode="after")
    def _rows(self) -> RoundRobinOptions:
        if self.colours == "rows" and self.order == "berger":
            raise ValueError(
                "colours 'rows' needs rows: order = 'seats' or 'circle', the Berger tables bring their own"
            )
        return self


class RoundRobin(PairList):
    """Everybody against everybody, `cycles` times."""

    options: RoundRobinOptions

    def _boards(self, state: ListState, cycles: Iterable[int]) -> Iterator[Board]:
        names, number = state.present, state.rounds
        rounds = rounds_of(self.options.order, self.options.colours, len(names))
        for cycle in cycles:
            for pairs in rounds:
                number += 1
                for white, black in pairs:
                    yield (*self._turned(names[white], names[black], cycle), cycle, number)
