"""The free engine: built, started, and what its stamps say."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path

from enginetour.task import EngineSpec

HERE = Path(__file__).parent
GAME = HERE / "free_game.txt"
RECORD = struct.Struct("=4q")
NAMES = ("Free A", "Free B")


@dataclass(frozen=True)
class Stamp:
    """One search of a free engine; CLOCK_MONOTONIC and own CPU in ns."""

    heard: int
    answered: int
    cpu: int
    ply: int


def build(folder: Path) -> tuple[str, ...]:
    """The program without its arguments: compiled where there is a C compiler."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return (sys.executable, "-E", "-S", str(HERE / "free_engine.py"))
    program = folder / "free_engine"
    subprocess.run([compiler, "-O2", "-o", str(program), str(HERE / "free_engine.c")], check=True)
    return (str(program),)


def command(program: tuple[str, ...], stamps: Path) -> list[str]:
    """How to start one whose stamps go into that folder."""
    stamps.mkdir(parents=True, exist_ok=True)
    return [*program, str(GAME), str(stamps)]


def spec(program: tuple[str, ...], name: str, stamps: Path) -> EngineSpec:
    """The same as a slot is told."""
    return EngineSpec(name, tuple(command(program, stamps)), "uci", dir="scratch")


def read(stamps: Path) -> list[list[Stamp]]:
    """The searches of every process that wrote into the folder."""
    processes = []
    for path in sorted(stamps.glob("*.stamps")):
        written = takewhile(any, RECORD.iter_unpack(path.read_bytes()))
        processes.append([Stamp(heard, said, cpu, ply) for ply, heard, said, cpu in written])
    return processes


def relay_gaps(stamps: Path) -> list[float]:
    """Seconds from each answer to the `go` it led to, for a match with one game at a time."""
    said = sorted((stamp for process in read(stamps) for stamp in process), key=lambda stamp: stamp.heard)
    steps = ((one, other) for one, other in pairwise(said) if other.ply == one.ply + 1)
    return [(other.heard - one.answered) / 1e9 for one, other in steps]


def cpu_spent(stamps: Path) -> float:
    """Seconds of CPU of the engines themselves."""
    return sum(process[-1].cpu for process in read(stamps) if process) / 1e9


def plies(stamps: Path) -> int:
    """All searches."""
    return sum(map(len, read(stamps)))
