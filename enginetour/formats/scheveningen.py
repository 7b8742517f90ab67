"""Scheveningen: two teams, everybody against everybody of the other team."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pydantic import Field, field_validator

from enginetour.formats.listoptions import ListOptions, picked, some_entrants
from enginetour.formats.pairing.schedules import slide
from enginetour.formats.pairlist import Board, ListState, PairList, in_blocks, withdrawn_lines
from enginetour.model.errors import InputRefused
from enginetour.model.game import Placed


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
