"""Matches of two free engines through several runners: relay gap, own CPU, games a second, first and last moment.

*Relay gap*: from one engine's answer to the other's receipt of `go`, stamped by the engines. *Own CPU*: all processes
of the runner without the engines'; the difference of a long and a short match, by ply. *Start*: from the command to
the first `go`; *end*: from the last answer until the command is back.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benches import free
from benches.measure import Settings, a_second, against, seconds
from benches.runners import Bout, Played, Runner, cpu, present, silent

SHORTEST = 2  # games of the match that is taken out: both colours
TC = "60+1"  # a clock that free engines never use up
MANY = 50  # info lines a move, as strong engines say at long controls
BARE = "a bare loop in Python"
Figures = dict[str, dict[str, list[float]]]  # by measure and runner


@dataclass(frozen=True)
class Shape:
    """How a match of free engines is played."""

    slots: int
    lines: int

    @property
    def words(self) -> str:
        """For a line of figures."""
        return f"{self.slots} slot{'s' * (self.slots > 1)}, {self.lines} info line{'s' * (self.lines > 1)}"


SHAPES = (Shape(1, 1), Shape(2, 1), Shape(1, MANY))


def matches(settings: Settings, program: tuple[str, ...]) -> Iterator[str]:
    """Ours against every peer, and with one slot against the barest loop."""
    for shape in SHAPES:
        runners: dict[str, Runner] = present()
        if shape.slots == 1:
            runners[BARE] = bare
        found: Figures = defaultdict(lambda: defaultdict(list))
        for number in range(settings.rounds):
            for name, runner in runners.items():
                folder = settings.folder / f"{shape.slots}-{shape.lines}-{number}-{name.split()[0]}"
                for measure, value in _measured(runner, shape, program, folder, settings.match).items():
                    found[measure][name].append(value)
        yield f"free engines, {shape.words}, {settings.match} games"
        yield from against("  relay gap", found["gap"])
        yield from against("  own CPU a ply", found["cpu"])
        if shape == SHAPES[0]:
            for measure, show in (
                ("games", a_second),
                ("start to first go", seconds),
                ("last answer to exit", seconds),
            ):
                whole = {name: values for name, values in found[measure].items() if name != BARE}
                yield from against(f"  {measure}", whole, show=show)
    if told := silent():
        yield told


def _measured(runner: Runner, shape: Shape, program: tuple[str, ...], folder: Path, games: int) -> dict[str, float]:
    """Seconds: median relay gap of the long match, CPU of a ply, wall time of a game (`games`), and both ends."""
    spent = []
    for count in (SHORTEST * shape.slots, games):
        stamps = folder / str(count) / "stamps"
        words = free.command(program, stamps, lines=shape.lines)
        one, other = free.NAMES
        played = runner(Bout(((one, words), (other, words)), TC, count, shape.slots), stamps.parent / "ran")
        spent.append((played.cpu - free.cpu_spent(stamps), free.plies(stamps)))
        expected = count * len(free.GAME.read_text().split())
        if spent[-1][1] != expected:
            raise SystemExit(f"{folder.name}: {spent[-1][1]} plies were played, not {expected}; see {stamps}")
    (short, few), (long, many) = spent
    first, last = free.edges(stamps)
    return {
        "gap": median(free.relay_gaps(stamps)),
        "cpu": (long - short) / (many - few),
        "games": played.seconds / games,
        "start to first go": (first - played.begun) / 1e9,
        "last answer to exit": (played.ended - last) / 1e9,
    }


def bare(bout: Bout, folder: Path) -> Played:
    """Relays moves of one game at a time, and nothing else: no rules, clocks, log or store."""
    before, begun = cpu(), time.monotonic_ns()
    both = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, cwd=folder.parent)
        for _, words in bout.engines
    ]
    pipes = []
    for engine in both:
        assert engine.stdin is not None
        assert engine.stdout is not None
        pipes.append((engine.stdin.fileno(), engine.stdout.fileno()))
    poll = select.poll()
    for _, out in pipes:
        poll.register(out, select.POLLIN)
    for into, out in pipes:
        os.write(into, b"uci\nisready\n")
        _read_until(poll, out, b"readyok")
    plies = len(free.GAME.read_text().split())
    for _ in range(bout.games):
        position = b"position startpos moves"
        for ply in range(plies):
            into, out = pipes[ply % 2]
            os.write(into, position + b"\ngo wtime 60000 btime 60000 winc 1000 binc 1000\n")
            position += b" " + _read_until(poll, out, b"bestmove").partition(b"bestmove ")[2].split()[0]
    for engine in both:
        engine.communicate(b"quit\n")
    return Played(begun, time.monotonic_ns(), cpu() - before, "")


def _read_until(poll: select.poll, fd: int, word: bytes) -> bytes:
    """What was said up to the end of the line with that word."""
    held = b""
    while word not in held or not held.endswith(b"\n"):
        poll.poll()
        held += os.read(fd, 65536)
    return held
