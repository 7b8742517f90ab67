"""Matches of two free engines with several runners: latency, own CPU, games per second, start and end.

*Latency*: time from one engine's move until the other engine receives `go`, recorded by the engines. *Own CPU*: CPU
time of all processes of the runner without the engines, per ply, as the difference of a long and a short match.
*Start*: time from the command to the first `go`. *End*: time from the last move to the end of the command. With
`--load`, all of it is measured on a busy machine.
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
from benches.runners import Bout, Played, Runner, cpu, missing_peers, present

SHORTEST = 2  # games of the short match, one with each color
TC = "60+1"  # a clock that free engines never use up
MANY = 50  # info lines per move, as strong engines send with long time controls
BARE = "a bare loop in Python"
Figures = dict[str, dict[str, list[float]]]  # by measure and runner


@dataclass(frozen=True)
class Shape:
    """Settings of a match of free engines."""

    slots: int
    lines: int

    @property
    def text(self) -> str:
        """Description for a line of output."""
        return f"{self.slots} slot{'s' * (self.slots > 1)}, {self.lines} info line{'s' * (self.lines > 1)}"


SHAPES = (Shape(1, 1), Shape(2, 1), Shape(1, MANY))


def matches(settings: Settings, program: tuple[str, ...]) -> Iterator[str]:
    """Compare enginetour with other runners, and, for one slot, with a minimal loop."""
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
        yield f"free engines, {shape.text}, {settings.match} games"
        yield from against("  latency", found["gap"])
        yield from against("  own CPU per ply", found["cpu"])
        if shape == SHAPES[0]:
            for measure, show in (
                ("games", a_second),
                ("games without start and end", a_second),
                ("start to first go", seconds),
                ("last move to exit", seconds),
            ):
                whole = {name: values for name, values in found[measure].items() if name != BARE}
                yield from against(f"  {measure}", whole, show=show)
    if note := missing_peers():
        yield note


def _measured(runner: Runner, shape: Shape, program: tuple[str, ...], folder: Path, games: int) -> dict[str, float]:
    """Return seconds: latency (median), CPU per ply, wall time per game (`games`), and of both ends."""
    spent = []
    for count in (SHORTEST * shape.slots, games):
        stamps = folder / str(count) / "stamps"
        words = free.command(program, stamps, lines=shape.lines)
        one, other = free.NAMES
        played = runner(Bout(((one, words), (other, words)), TC, count, shape.slots), stamps.parent / "ran")
        spent.append((played.cpu - free.cpu_spent(stamps), free.plies(stamps)))
        expected = count * len(free.GAME.read_text().split())
        if spent[-1][1] != expected:
            raise SystemExit(f"{folder.name}: expected {expected} plies (found {spent[-1][1]}); see {stamps}")
    (short, few), (long, many) = spent
    first, last = free.edges(stamps)
    return {
        "gap": median(free.relay_gaps(stamps)),
        "cpu": (long - short) / (many - few),
        "games": played.seconds / games,
        "games without start and end": (last - first) / 1e9 / games,
        "start to first go": (first - played.begun) / 1e9,
        "last move to exit": (played.ended - last) / 1e9,
    }


def bare(bout: Bout, folder: Path) -> Played:
    """Relay the moves of one game at a time, without rules, clocks, log or database."""
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
    """Return the output up to the end of the line with a word."""
    held = b""
    while word not in held or not held.endswith(b"\n"):
        poll.poll()
        held += os.read(fd, 65536)
    return held
