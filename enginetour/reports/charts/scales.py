"""From numbers to places: linear and logarithmic scales, with ticks at round numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10

from enginetour.reports.charts.marks import finite

_STEPS = (1.0, 2.0, 5.0, 10.0)  # round steps of an axis
_DECADES = 3  # of a logarithmic scale with ticks at 1, 2 and 5; a longer one has those at 1


@dataclass(frozen=True, slots=True)
class Scale:
    """`low` stands at `start`, `high` at `end`; both numbers finite and apart, above 0 for a logarithmic one."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The place of a number; beyond the ends for what lies beyond them."""
        low, high, here = self.low, self.high, value
        if self.log:
            low, high, here = log10(low), log10(high), log10(max(value, self.low))
        return self.start + (here - low) / (high - low) * (self.end - self.start)

    def within(self, value: float) -> float:
        """The place of a number, at the nearer end for what lies beyond."""
        return self.at(min(max(value, self.low), self.high))

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers inside, `most` at most or the few that a logarithmic scale has."""
        if self.log:
            powers = range(floor(log10(self.low)), floor(log10(self.high)) + 1)
            parts = (1,) if log10(self.high / self.low) > _DECADES else _STEPS[:3]
            found = (part * 10.0**power for power in powers for part in parts)
            return [tick for tick in found if self.low <= tick <= self.high]
        step = step_of((self.high - self.low) / most)
        first = ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, floor(self.high / step + 1e-9) + 1)]


def step_of(least: float) -> float:
    """The smallest round step that is not below `least`, which is above 0."""
    power = 10.0 ** floor(log10(least))
    return next(part * power for part in _STEPS if part * power >= least * (1 - 1e-9))


def around(values: Iterable[float | None], start: float, end: float, *, least: float = 1.0) -> Scale:
    """A linear scale over the finite ones with a margin, `least` wide; 0 to `least` for none."""
    there = [value for value in values if value is not None and finite(value)]
    low, high = (min(there), max(there)) if there else (0.0, least)
    if high - low < least:
        middle = (low + high) / 2
        low, high = middle - least / 2, middle + least / 2
    margin = (high - low) * 0.03
    return Scale(low - margin, high + margin, start, end)


def counting(most: int, start: float, end: float) -> Scale:
    """From 0 to a count, or to 1."""
    return Scale(0, max(1, most), start, end)


def number(value: float) -> str:
    """Of a tick: ``2600``, ``0.5``, ``-40``, never ``-0``."""
    return f"{value + 0.0:.10g}" if abs(value) >= 1e-9 else "0"


def whole(value: float) -> str:
    """Of a tick among things that are counted: "" between two of them."""
    return number(value) if value == round(value) else ""
