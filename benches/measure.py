"""Measure times in rounds together with a baseline, and format them as medians with ranges and ratios."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

NAME_WIDTH = 47  # characters for the name in a line
FIGURE_WIDTH = 31


@dataclass(frozen=True)
class Settings:
    """Sizes of one run; `folder` must be on the file system to measure."""

    rounds: int
    games: int  # to replay and to store
    engines: int  # in the bubble and in the report
    rated: tuple[int, int]  # engines and games of the rating list
    beside: tuple[int, int]  # engines and games of the largest list for the comparison with other programs
    simulations: int  # of Ordo
    commits: int  # per round
    match: int  # games of free engines per round
    real: int  # games of real engines per round
    timed: int  # games of real engines with a clock
    at_once: tuple[int, ...]  # concurrent games for the benchmark of clocks
    forfeits: int  # games in which time losses are counted
    kills: int  # engines to kill while they think
    folder: Path


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep this number of processors busy inside the block, at the priority of this process."""
    busy = [subprocess.Popen([sys.executable, "-E", "-S", "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def in_turn(rounds: int, *acts: Callable[[], object]) -> list[list[float]]:
    """Return the seconds of each act, a list per act; each round runs all acts, so that disturbances affect all."""
    taken: list[list[float]] = [[] for _ in acts]
    for _ in range(rounds):
        for act, seconds in zip(acts, taken, strict=True):
            begun = time.perf_counter()
            act()
            seconds.append(time.perf_counter() - begun)
    return taken


def divided(seconds: Iterable[float], count: int) -> list[float]:
    """Return the seconds of one of `count` equal operations."""
    return [value / count for value in seconds]


def seconds(value: float) -> str:
    """Format seconds with three digits and a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def a_second(value: float) -> str:
    """Format seconds as a rate per second."""
    return f"{1 / value:,.0f}/s"


def line(
    name: str,
    mine: Sequence[float],
    base: Sequence[float],
    base_name: str,
    *,
    show: Callable[[float], str] = seconds,
) -> str:
    """Format the median and range of times in seconds, with the ratio to the median of a baseline."""
    figure = f"{show(median(mine))} ({show(min(mine))} .. {show(max(mine))})"
    ratio = median(mine) / median(base)
    return f"{name:<{NAME_WIDTH}} {figure:<{FIGURE_WIDTH}} {ratio:8.3g} x {base_name} ({show(median(base))})"


def alone(name: str, mine: Sequence[float], *, show: Callable[[float], str] = seconds) -> str:
    """Format the median and range of times without a baseline."""
    return f"{name:<{NAME_WIDTH}} {show(median(mine))} ({show(min(mine))} .. {show(max(mine))})"


def against(
    name: str,
    taken: Mapping[str, Sequence[float]],
    *,
    show: Callable[[float], str] = seconds,
    ratio: bool = True,
) -> Iterator[str]:
    """Compare the first runner with each of the others, with ratios, or else yield a line for each of them.

    Ratios are not useful for counts and for values that can be negative.
    """
    first, *others = taken
    if ratio and others:
        for other in others:
            yield line(name, taken[first], taken[other], other, show=show)
        return
    for each, figures in taken.items():
        yield alone(f"{name}, {each}" if others else name, figures, show=show)


def plain(value: float) -> str:
    """Format a count."""
    return f"{value:g}"
