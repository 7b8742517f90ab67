"""Time odds: a handicap in bands becomes the shorter clock of the side that gives it.

A handicap of h divides the giver's time by 2^(100 h / 70), at most by 32; a table of the user's own replaces the
formula. What a doubling of time is worth differs from engine to engine, so games at odds are no even games for ratings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log2

from enginetour.model.task import Side
from enginetour.model.timecontrol import Stage, TimeControl

BAND = 100  # rating points of a band: a grade, so a handicap stone, of Go (Vuorinen 2010)
DOUBLING = 70  # rating points that a doubling of time is assumed to be worth: our choice between 50 and 100
MOST = 32.0  # our choice: five doublings; shorter clocks measure the operating system, not the engine


def divisor(bands: int, table: Sequence[float] | None = None) -> float:
    """By what the time of the giver of so many bands is divided; beyond the end of a table its last number holds."""
    if bands < 1:
        return 1.0
    if table:
        return table[min(bands, len(table)) - 1]
    return float(min(MOST, 2 ** (bands * BAND / DOUBLING)))


def worth(bands: int, table: Sequence[float] | None = None) -> float:
    """Rating points that so many bands are assumed to take from the giver, below 0 from the other side."""
    lost = DOUBLING * log2(divisor(abs(bands), table))
    return lost if bands > 0 else -lost


def is_divisible(tc: TimeControl) -> bool:
    """There is a clock, a time a move or a number of nodes to divide; a depth is none of them."""
    return bool(tc.stages or tc.movetime_ms or tc.nodes)


def divided(tc: TimeControl, by: float) -> TimeControl:
    """Times in whole milliseconds and nodes, rounded down but never to nothing; moves of a stage and depth stay."""
    stages = tuple(Stage(stage.moves, _part(stage.base_ms, by), _part(stage.increment_ms, by)) for stage in tc.stages)
    movetime = None if tc.movetime_ms is None else _part(tc.movetime_ms, by)
    nodes = None if tc.nodes is None else _part(tc.nodes, by)
    return replace(tc, stages=stages, movetime_ms=movetime, nodes=nodes)


def at_odds(white: Side, black: Side, handicap: int, table: Sequence[float] | None = None) -> tuple[Side, Side]:
    """Both sides as they play a game in which White gives `handicap` bands, or takes them below 0."""
    by = divisor(abs(handicap), table)
    if handicap > 0:
        return replace(white, tc=divided(white.tc, by)), black
    if handicap < 0:
        return white, replace(black, tc=divided(black.tc, by))
    return white, black


def _part(amount: int, by: float) -> int:
    return max(1, int(amount / by)) if amount else 0
