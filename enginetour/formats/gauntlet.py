"""Gauntlet: one or several seeds against all the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pydantic import Field, field_validator

from enginetour.formats.listoptions import ListOptions, picked, some_entrants
from enginetour.formats.pairing.schedules import berger, slide
from enginetour.formats.pairlist import Board, ListState, PairList, in_blocks, withdrawn_lines
from enginetour.model.game import Placed


class GauntletOptions(ListOptions):
    """Settings of the gauntlet."""

    seeds: int | list[str] = Field(
        default=1, description="who plays against all the others: the first so many entrants, or a list of names"
    )
    seeds_meet: bool = Field(default=False, description="whether the seeds play each other, too")

    @field_validator("seeds")
    @classmethod
    def _some(cls, seeds: int | list[str]) -> int | list[str]:
        return some_entrants(seeds, "seeds")


class Gauntlet(PairList):
    """One or several seeds against all the others, who do not meet each other."""

    options: GauntletOptions

    def __init__(self, options: GauntletOptions) -> None:
        super().__init__(options)
        self.seeds_meet = options.seeds_meet

    def standings(self, state: ListState) -> tuple[Placed, ...]:
        """The seeds first, then the others; the withdrawn last."""
        return (*in_blocks(self._table(state), state, seeds_first=True), *withdrawn_lines(state))

    def _seeded(self, state: ListState) -> ListState:
        return replace(state, seeds=picked(state.names, self.options.seeds, "seeds"))

    def _boards(self, state: ListState, cycles: Iterable[int]) -> Iterator[Board]:
        front = [name for name in state.present if name in state.seeds]
        back = [name for name in state.present if name not in state.seeds]
        sliding = slide(len(front), len(back))
        among = berger(len(front)) if self.options.seeds_meet else ()
        surplus = [0] * len(front)  # Whites minus Blacks among the seeds
        for white, black in (pair for pairs in among for pair in pairs):
            surplus[white] += 1
            surplus[black] -= 1
        number = state.rounds
        for cycle in cycles:
            if any(surplus):  # who has White too often there starts with Black here
                turn = [int(extra > 0) for extra in surplus]
            else:  # seeds beyond the length of the other row all start at its head
                turn = [seed % 2 if seed >= len(back) else 0 for seed in range(len(front))]
            for pairs in sliding:
                number += 1
                for seed, other in pairs:
                    is_white = turn[seed] % 2 == 0 or not self.options.swap
                    pair = (front[seed], back[other]) if is_white else (back[other], front[seed])
                    turn[seed] += 1
                    yield (*self._turned(*pair, cycle), cycle, number)
            for pairs in among:
                number += 1
                for white, black in pairs:
                    yield (*self._turned(front[white], front[black], cycle), cycle, number)
