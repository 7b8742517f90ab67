"""Build and start the free engine, and read its stamps."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise, product, takewhile
from pathlib import Path

from enginetour.model.task import EngineSpec

HERE = Path(__file__).parent
GAME = HERE / "free_game.txt"
RECORD = struct.Struct("=5q")
NAMES = ("Free A", "Free B")


@dataclass(frozen=True)
class Stamp:
    """One search of a free engine: CLOCK_MONOTONIC and CPU time in ns, and its clock in ms from `go`."""

    received: int
    answered: int
    cpu: int
    ply: int
    rest: int


def build(folder: Path) -> tuple[str, ...]:
    """Return the command of the engine without arguments; compile the engine if there is a C compiler."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return (sys.executable, "-E", "-S", str(HERE / "free_engine.py"))
    program = folder / "free_engine"
    subprocess.run([compiler, "-O2", "-o", str(program), str(HERE / "free_engine.c")], check=True)
    return (str(program),)


def command(
    program: tuple[str, ...], stamps: Path, *, lines: int = 1, think_ms: int = 0, deaf: bool = False
) -> list[str]:
    """Return the command of a free engine.

    Args:
        program: Result of `build`.
        stamps: Directory for its stamps.
        lines: Info lines per move.
        think_ms: Thinking time per move.
        deaf: Whether it ignores `quit`, the end of its input and SIGTERM.
    """
    stamps.mkdir(parents=True, exist_ok=True)
    return [*program, str(GAME), str(stamps), str(lines), str(think_ms), *(["1"] if deaf else ())]


def spec(program: tuple[str, ...], name: str, stamps: Path) -> EngineSpec:
    """Return the specification of a free engine."""
    return EngineSpec(name, tuple(command(program, stamps)), "uci", dir="scratch")


def read(stamps: Path) -> list[list[Stamp]]:
    """Return the searches of every process that wrote into a directory."""
    processes = []
    for path in sorted(stamps.glob("*.stamps")):
        written = takewhile(any, RECORD.iter_unpack(path.read_bytes()))
        processes.append([Stamp(received, answered, cpu, ply, rest) for ply, received, answered, cpu, rest in written])
    return processes


def parts(process: Iterable[Stamp]) -> list[list[Stamp]]:
    """Divide the searches of a process into games."""
    found: list[list[Stamp]] = []
    for stamp in process:
        if not found or stamp.ply != found[-1][-1].ply + 2:
            found.append([])
        found[-1].append(stamp)
    return found


def relay_gaps(stamps: Path) -> list[float]:
    """Return the seconds from each move to the opponent's `go`; there may have been concurrent games.

    Searches of two processes belong to one game if every ply follows the one before in time, which cannot happen by
    chance in a hundred plies.
    """
    found = [part for process in read(stamps) for part in parts(process)]
    sides = [[part for part in found if part[0].ply % 2 == color] for color in (0, 1)]
    gaps: list[float] = []
    for white, black in product(*sides):
        if white[-1].answered < black[0].received or black[-1].answered < white[0].received:
            continue  # the parts do not overlap
        game = sorted(white + black, key=lambda stamp: stamp.ply)
        if all(one.answered < other.received for one, other in pairwise(game)):
            gaps += [(other.received - one.answered) / 1e9 for one, other in pairwise(game)]
    return gaps


def overcharges(stamps: Path, increment_ms: int) -> list[float]:
    """Return the seconds that clocks lost in addition to the thinking time; negative if truncated to milliseconds."""
    return [
        (one.rest + increment_ms - other.rest) / 1e3 - (one.answered - one.received) / 1e9
        for process in read(stamps)
        for part in parts(process)
        for one, other in pairwise(part)
    ]


def edges(stamps: Path) -> tuple[int, int]:
    """Return the times of the first `go` and the last move, in ns."""
    searches = [stamp for process in read(stamps) for stamp in process]
    return min(stamp.received for stamp in searches), max(stamp.answered for stamp in searches)


def cpu_spent(stamps: Path) -> float:
    """Return the CPU seconds of the engines."""
    return sum(process[-1].cpu for process in read(stamps) if process) / 1e9


def plies(stamps: Path) -> int:
    """Return the number of searches."""
    return sum(map(len, read(stamps)))
