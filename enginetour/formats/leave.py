"""Leave asked for before the first game: rounds somebody misses, and half-point byes (H in a TRF), for any system."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from enginetour.model.errors import did_you_mean

FEWEST = 2  # a round has two sides


def _listed(value: object) -> object:
    """TOML's lists as tuples."""
    if not isinstance(value, dict):
        return value
    return {name: tuple(rounds) if isinstance(rounds, list) else rounds for name, rounds in value.items()}


Asked = Annotated[dict[str, tuple[Annotated[int, Field(ge=1, le=1000)], ...]], BeforeValidator(_listed)]
"""Rounds by the names of entrants."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Who is away in which rounds, by name: without points, or with half of what a match is worth."""

    absent: Mapping[str, Collection[int]]
    half_bye: Mapping[str, Collection[int]]

    def __bool__(self) -> bool:
        return bool(self.absent or self.half_bye)

    def check(self, names: Sequence[str], rounds: int) -> None:
        """ValueError: nobody of that name, a round that does not come, both kinds at once, a round without a pair."""
        for key, asked in (("absent", self.absent), ("half_bye", self.half_bye)):
            for name, missed in asked.items():
                if name not in names:
                    raise ValueError(f"{key} names {name!r}, who is no entrant{did_you_mean(name, names)}")
                if max(missed, default=0) > rounds:
                    raise ValueError(f"{key} of {name} has round {max(missed)}, the last is {rounds}")
                if both := sorted(set(missed) & set(self.absent.get(name, ()))) if key == "half_bye" else ():
                    raise ValueError(f"{name} is absent in round {both[0]} and has a half-point bye there: one of them")
        for number in range(1, rounds + 1):
            there = sum(not self.takes(name, number) for name in names)
            if there < FEWEST:
                raise ValueError(f"absent and half_bye leave fewer than two entrants in round {number}")

    def takes(self, name: str, number: int) -> bool:
        """Whether somebody is away in that round."""
        return number in self.absent.get(name, ()) or self.halves(name, number)

    def halves(self, name: str, number: int) -> bool:
        """Whether it is away with a half-point bye."""
        return number in self.half_bye.get(name, ())
