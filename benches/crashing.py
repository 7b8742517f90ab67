"""Time from the death of a thinking engine to the line of `enginetour run` that reports the end of its game."""

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

THOUGHT_MS = 900  # per move; the probe before a game gives the engine one second
INTO_S = 0.3  # seconds after the start of a game, when White is thinking
_BEGUN = re.compile(r"Started game \d+ of \d+ \((.+) vs .+\)")


def crashing(settings: Settings, program: tuple[str, ...]) -> Iterator[str]:
    """Measure the time from SIGKILL to the line, which includes a commit, but not the start of the next game."""
    (settings.folder / "crash").mkdir()
    taken = crashes(program, settings.folder / "crash", settings.kills)
    yield alone(f"SIGKILL of an engine to the end of its game, {len(taken)} times", taken)


def crashes(program: tuple[str, ...], folder: Path, kills: int) -> list[float]:
    """Return the seconds of each kill, in the order of the games; the number of kills must be even."""
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
                read_ns = time.monotonic_ns()
                if begun := _BEGUN.match(line):
                    time.sleep(INTO_S)
                    pid = _pid(program[0], stamps[begun[1]])
                    killed_ns = time.monotonic_ns()
                    os.kill(pid, signal.SIGKILL)
                elif line.startswith("Finished game"):
                    assert "SIGKILL" in line, line
                    taken.append((read_ns - killed_ns) / 1e9)
        finally:
            process.kill()
    assert len(taken) == kills, f"{len(taken)} games of {kills}"
    return taken


def _pid(program: str, stamps: Path) -> int:
    """Return the process id of the engine that writes stamps into a directory, not of its parent."""
    (pid,) = (line.partition(":")[0] for line in left_running(stamps) if f": {program} " in line)
    return int(pid)
