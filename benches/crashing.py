"""How soon a crash is told: an engine is killed while it thinks, the end of its game is a line of `enginetour run`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benches import free
from benches.measure import Settings, alone
from benches.runners import CONFIG
from tests.support.tournaments import entrant, left_running

THOUGHT_MS = 900  # of every move: before a game it is tried with a second on its clock
INTO_S = 0.3  # s after a game has begun White is in the middle of its thought
_BEGUN = re.compile(r"Started game \d+ of \d+ \((.+) vs .+\)")


def crashing(settings: Settings, program: tuple[str, ...]) -> Iterator[str]:
    """From SIGKILL to the line; a database is written before it, and the next game has not begun."""
    (settings.folder / "crash").mkdir()
    told = crashes(program, settings.folder / "crash", settings.kills)
    yield alone(f"SIGKILL of an engine to its game's end, {len(told)} times", told)


def crashes(program: tuple[str, ...], folder: Path, kills: int) -> list[float]:
    """Seconds of each, in the order of the games; an even number of kills."""
    stamps = {name: folder / name for name in free.NAMES}
    engines = [entrant(name, free.command(program, path, think_ms=THOUGHT_MS)) for name, path in stamps.items()]
    (folder / "bout.toml").write_text(CONFIG.format(games=kills, limit="600+1", slots=1) + "".join(engines), "utf-8")
    (folder / "results").mkdir()
    taken: list[float] = []
    command = [sys.executable, "-u", "-m", "enginetour", "run", "bout.toml", "--force"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            killed_ns = 0
            for line in process.stdout:
                heard_ns = time.monotonic_ns()
                if begun := _BEGUN.match(line):
                    time.sleep(INTO_S)
                    pid = _pid(program[0], stamps[begun[1]])
                    killed_ns = time.monotonic_ns()
                    os.kill(pid, signal.SIGKILL)
                elif line.startswith("Finished game"):
                    assert "SIGKILL" in line, line
                    taken.append((heard_ns - killed_ns) / 1e9)
        finally:
            process.kill()
    assert len(taken) == kills, f"{len(taken)} games of {kills}"
    return taken


def _pid(program: str, stamps: Path) -> int:
    """The engine whose stamps go into the folder, not what started it."""
    (pid,) = (line.partition(":")[0] for line in left_running(stamps) if f": {program} " in line)
    return int(pid)
