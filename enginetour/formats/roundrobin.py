"""Round robin, gauntlet, Scheveningen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pydantic import Field, field_validator, model_validator

from enginetour.formats.pairing.schedule import Colours, Order, berger, rounds_of, slide
from enginetour.formats.pairlist import (
    Board,
    ListOptions,
    ListState,
    PairList,
    in_blocks,
    picked,
    some_entrants,
    withdrawn_lines,
)
from enginetour.model.errors import InputRefused
from enginetour.model.game import Placed

# Round robin: everybody against everybody, in cycles, in one of several orders.


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


# Gauntlet: one or several seeds against all the others.


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


# Scheveningen: two teams, everybody against everybody of the other team.


class ScheveningenOptions(ListOptions):
    """Settings of the Scheveningen system."""

    team: int | list[str] | None = Field(
        default=None,
        description="the first team: the first so many entrants or a list of names; null: the first half. "
        "All others are the second team",
    )

    @field_validator("team")
    @classmethod
    def _some(cls, team: int | list[str] | None) -> int | list[str] | None:
        return None if team is None else some_entrants(team, "team")


class Scheveningen(PairList):
    """The first team are the seeds of the list; a newcomer plays for the smaller team, for the second if level."""

    options: ScheveningenOptions

    def standings(self, state: ListState) -> tuple[Placed, ...]:
        """The team with more points first, each ranked in itself; its points of all it could have are the status."""
        placed = self._table(state)
        lines = {True: 0, False: 0}
        games = 0
        for line in in_blocks(placed, state, seeds_first=True):
            lines[line.name in state.seeds] += line.half_points
            games += line.games
        words = {first: f"team {1 if first else 2}: {lines[first] / 2:g} of {games // 2}" for first in lines}
        ranked = in_blocks(placed, state, seeds_first=lines[True] >= lines[False])
        return (
            *(replace(line, status=words[line.name in state.seeds]) for line in ranked),
            *withdrawn_lines(state),
        )

    def _seeded(self, state: ListState) -> ListState:
        """InputRefused: a team of strangers, or of everybody."""
        team = self.options.team
        wanted = (len(state.names) + 1) // 2 if team is None else team
        try:
            return replace(state, seeds=picked(state.names, wanted, "team"))
        except ValueError as error:
            step = f"entrants: {', '.join(state.names)}"
            raise InputRefused(str(error), place="format.team", step=step) from None

    def _newcomer_is_seed(self, state: ListState) -> bool:
        first = sum(name in state.seeds for name in state.present)
        return 2 * first < len(state.present)

    def _boards(self, state: ListState, cycles: Iterable[int]) -> Iterator[Board]:
        first = [name for name in state.present if name in state.seeds]
        second = [name for name in state.present if name not in state.seeds]
        rounds = slide(len(first), len(second))
        number = state.rounds
        for cycle in cycles:
            for pairs in rounds:
                number += 1
                for one, other in pairs:  # a chequered board of pairs: nobody's colours differ by more than one
                    is_white = (one + other) % 2 == 0 or not self.options.swap
                    pair = (first[one], second[other]) if is_white else (second[other], first[one])
                    yield (*self._turned(*pair, cycle), cycle, number)
