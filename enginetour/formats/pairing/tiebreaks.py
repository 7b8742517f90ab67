"""Tie-breaks by their published codes: integers in the code's own unit, from a cross table of tallies.

code  name               source        unit            note
SB    Sonneborn-Berger   FIDE C.07 9   quarter points  opponents' scores times the points against them
DE    direct encounter   FIDE C.07 6   half points     0 for all unless all the tied have met
WIN   wins               FIDE C.07 7   games           forfeits won count
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Tally:
    """What one entrant got out of all its games against one other."""

    half_points: int = 0
    games: int = 0
    wins: int = 0


# name -> opponent -> what name scored against that opponent
Cross = Mapping[str, Mapping[str, Tally]]
Scores = Mapping[str, int]
NOTHING = Tally()


def against(cross: Mapping[K, Mapping[K, Tally]], name: K, opponent: K) -> Tally:
    """The tally of `name` against `opponent`, an empty one if they have not met."""
    row = cross.get(name)
    return NOTHING if row is None else row.get(opponent, NOTHING)


def sonneborn_berger(name: str, cross: Cross, scores: Scores) -> int:
    """Points against each opponent of `scores` times that opponent's score, in quarter points.

    Quarters keep half of a half point exact. Only opponents listed in `scores` count. Source: FIDE C.07 9.
    """
    return sum(against(cross, name, other).half_points * score for other, score in scores.items() if other != name)


def direct_encounter(tied: Collection[K], cross: Mapping[K, Mapping[K, Tally]]) -> dict[K, int]:
    """Half points of each of the tied against the others of them; all 0 unless all have met. Source: FIDE C.07 6."""
    rows = {name: [against(cross, name, other) for other in tied if other != name] for name in tied}
    if not all(tally.games for row in rows.values() for tally in row):
        return dict.fromkeys(tied, 0)
    return {name: sum(tally.half_points for tally in row) for name, row in rows.items()}


def wins(name: str, cross: Cross, scores: Scores) -> int:
    """Games won against opponents listed in `scores`. Source: FIDE C.07 7."""
    return sum(against(cross, name, other).wins for other in scores if other != name)


def _each(one: Callable[[str, Cross, Scores], int]) -> Callable[[Collection[str], Cross, Scores], dict[str, int]]:
    return lambda tied, cross, scores: {name: one(name, cross, scores) for name in tied}


# code -> (tied, cross, scores) -> value of each of the tied
CODES: dict[str, Callable[[Collection[str], Cross, Scores], dict[str, int]]] = {
    "SB": _each(sonneborn_berger),
    "DE": lambda tied, cross, _: direct_encounter(tied, cross),
    "WIN": _each(wins),
}
