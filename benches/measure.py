"""How a figure is taken and shown: in turn with its baseline, over rounds, as a median with its spread and a ratio."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

NAME_WIDTH = 47  # the longest name of a line
FIGURE_WIDTH = 31


@dataclass(frozen=True)
class Settings:
    """Sizes of one run; `folder` is on the file system that is measured."""

    rounds: int
    games: int  # folded and stored
    engines: int  # of the bubble
    rated: tuple[int, int]  # engines, games of the rating list
    beside: tuple[int, int]  # engines, games of the largest list beside the peers'
    simulations: int  # of Ordo
    commits: int  # a round
    match: int  # games of the free engines a round
    real: int  # games of real engines a round
    timed: int  # of them with a clock
    at_once: tuple[int, ...]  # games beside each other while clocks are looked at
    forfeits: int  # games that look for time forfeits, once
    kills: int  # engines killed while they think
    folder: Path


def in_turn(rounds: int, *acts: Callable[[], object]) -> list[list[float]]:
    """Seconds of each act, one list per act: all of them once a round, so that a slow minute hits all alike."""
    taken: list[list[float]] = [[] for _ in acts]
    for _ in range(rounds):
        for act, seconds in zip(acts, taken, strict=True):
            begun = time.perf_counter()
            act()
            seconds.append(time.perf_counter() - begun)
    return taken


def divided(seconds: Iterable[float], count: int) -> list[float]:
    """Seconds of one of `count` equal things."""
    return [value / count for value in seconds]


def seconds(value: float) -> str:
    """Three digits and the unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def a_second(value: float) -> str:
    """How often in a second."""
    return f"{1 / value:,.0f}/s"


def line(
    name: str,
    mine: Sequence[float],
    base: Sequence[float],
    base_name: str,
    *,
    show: Callable[[float], str] = seconds,
) -> str:
    """One line: the median and its range, and how many times the baseline's time that is. All in seconds."""
    figure = f"{show(median(mine))} ({show(min(mine))} .. {show(max(mine))})"
    ratio = median(mine) / median(base)
    return f"{name:<{NAME_WIDTH}} {figure:<{FIGURE_WIDTH}} {ratio:8.3g} x {base_name} ({show(median(base))})"


def alone(name: str, mine: Sequence[float], *, show: Callable[[float], str] = seconds) -> str:
    """One line without a baseline: the median and its range."""
    return f"{name:<{NAME_WIDTH}} {show(median(mine))} ({show(min(mine))} .. {show(max(mine))})"


def against(
    name: str,
    taken: Mapping[str, Sequence[float]],
    *,
    show: Callable[[float], str] = seconds,
    ratio: bool = True,
) -> Iterator[str]:
    """The first against each of the others; without a ratio (or another) each on a line of its own.

    A ratio says nothing of a figure that may be below 0 or is a count.
    """
    first, *others = taken
    if ratio and others:
        for other in others:
            yield line(name, taken[first], taken[other], other, show=show)
        return
    for each, figures in taken.items():
        yield alone(f"{name}, {each}" if others else name, figures, show=show)


def plain(value: float) -> str:
    """A count."""
    return f"{value:g}"
