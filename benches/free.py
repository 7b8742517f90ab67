"""The free engine: built, started, and what its stamps say."""

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
    """One search of a free engine; CLOCK_MONOTONIC and own CPU in ns, its clock in ms as `go` told it."""

    heard: int
    answered: int
    cpu: int
    ply: int
    rest: int


def build(folder: Path) -> tuple[str, ...]:
    """The program without its arguments: compiled where there is a C compiler."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return (sys.executable, "-E", "-S", str(HERE / "free_engine.py"))
    program = folder / "free_engine"
    subprocess.run([compiler, "-O2", "-o", str(program), str(HERE / "free_engine.c")], check=True)
    return (str(program),)


def command(
    program: tuple[str, ...], stamps: Path, *, lines: int = 1, think_ms: int = 0, deaf: bool = False
) -> list[str]:
    """How to start one whose stamps go into that folder; it says so many info lines a move, and thinks so long.

    A `deaf` one ignores `quit`, the end of its input and SIGTERM.
    """
    stamps.mkdir(parents=True, exist_ok=True)
    return [*program, str(GAME), str(stamps), str(lines), str(think_ms), *(["1"] if deaf else ())]


def spec(program: tuple[str, ...], name: str, stamps: Path) -> EngineSpec:
    """The same as a slot is told."""
    return EngineSpec(name, tuple(command(program, stamps)), "uci", dir="scratch")


def read(stamps: Path) -> list[list[Stamp]]:
    """The searches of every process that wrote into the folder."""
    processes = []
    for path in sorted(stamps.glob("*.stamps")):
        written = takewhile(any, RECORD.iter_unpack(path.read_bytes()))
        processes.append([Stamp(heard, said, cpu, ply, rest) for ply, heard, said, cpu, rest in written])
    return processes


def parts(process: Iterable[Stamp]) -> list[list[Stamp]]:
    """What one engine did in each of its games."""
    found: list[list[Stamp]] = []
    for stamp in process:
        if not found or stamp.ply != found[-1][-1].ply + 2:
            found.append([])
        found[-1].append(stamp)
    return found


def relay_gaps(stamps: Path) -> list[float]:
    """Seconds from each answer to the `go` it led to; games may run beside each other.

    Two parts are one game if every ply follows the one before, which chance does not do over a hundred plies.
    """
    found = [part for process in read(stamps) for part in parts(process)]
    sides = [[part for part in found if part[0].ply % 2 == colour] for colour in (0, 1)]
    gaps: list[float] = []
    for white, black in product(*sides):
        if white[-1].answered < black[0].heard or black[-1].answered < white[0].heard:
            continue  # most pairs are of different times
        game = sorted(white + black, key=lambda stamp: stamp.ply)
        if all(one.answered < other.heard for one, other in pairwise(game)):
            gaps += [(other.heard - one.answered) / 1e9 for one, other in pairwise(game)]
    return gaps


def overcharges(stamps: Path, increment_ms: int) -> list[float]:
    """Seconds that clocks lost beyond the true thought, by what the next `go` said; below 0: cut to whole ms."""
    return [
        (one.rest + increment_ms - other.rest) / 1e3 - (one.answered - one.heard) / 1e9
        for process in read(stamps)
        for part in parts(process)
        for one, other in pairwise(part)
    ]


def edges(stamps: Path) -> tuple[int, int]:
    """The first `go` and the last answer of all, in ns."""
    said = [stamp for process in read(stamps) for stamp in process]
    return min(stamp.heard for stamp in said), max(stamp.answered for stamp in said)


def cpu_spent(stamps: Path) -> float:
    """Seconds of CPU of the engines themselves."""
    return sum(process[-1].cpu for process in read(stamps) if process) / 1e9


def plies(stamps: Path) -> int:
    """All searches."""
    return sum(map(len, read(stamps)))
