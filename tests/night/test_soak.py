"""A long tournament of short games: memory and descriptors of scheduler and slots do not grow with the games.

Environment: ENGINETOUR_NIGHT_GAMES (default 10 000).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median, median_high

import pytest

from benches import free
from enginetour.engines import strays
from tests.support.tournaments import audit, config, default_signals, entrant, pgn_games

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]

GAMES = int(os.environ.get("ENGINETOUR_NIGHT_GAMES", "10000"))
SAMPLES = 50
SLOTS = 2
MANAGER_MB = 150.0  # reliability section 6, after 10 000 games
GROWTH_MB = 20.0  # reliability section 6, growth of scheduler and slot with any fault; here without faults
ENGINE_FILES = 4  # descriptors of a running engine, because a sample can be between two games
RESUME_S = 2.0  # reliability section 6, restart to the first move with 10 000 stored games
NAMES = ("Ada", "Bea", "Cid", "Dot")


@dataclass(frozen=True)
class Held:
    """Resources of one process: resident memory in MB, descriptors, threads."""

    memory: float
    descriptors: int
    threads: int


@dataclass(frozen=True)
class Sample:
    """Resources of scheduler and slots after a number of games."""

    games: int
    manager: Held
    slots: dict[int, Held]

    def __str__(self) -> str:
        held = (self.manager, *self.slots.values())
        return f"{self.games:>7}  " + "   ".join(
            f"{one.memory:6.1f} MB {one.descriptors:3} fd {one.threads:2} th" for one in held
        )


def held(pid: int) -> Held:
    """Read the resources of a process from /proc (proc(5))."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    descriptors = len(os.listdir(f"/proc/{pid}/fd"))
    return Held(int(status["VmRSS"].split()[0]) / 1024, descriptors, int(status["Threads"]))


def sample(manager: int, games: int) -> Sample:
    """Take a sample; slots are child processes of the scheduler."""
    slots = [seen.pid for seen in strays.process_table() if seen.parent == manager and seen.state != "Z"]
    return Sample(games, held(manager), {pid: held(pid) for pid in slots})


def free_engines(folder: Path, games: int) -> Path:
    """Write a round robin of free engines with at least this number of games."""
    engine = free.command(free.build(folder), folder / "stamps")
    entrants = "".join(entrant(name, engine) for name in NAMES)
    settings = f"cycles = {games // 12 + 2}\ngames_per_pairing = 2"
    return config(folder, (), "roundrobin", settings, entrants, name="soak", tc="60+1", play="openings = { plies = 0 }")


def command(path: Path, games: int, slots: int = SLOTS) -> list[str]:
    """Return the command `run` with a line for each game."""
    words = ["run", str(path), "--slots", str(slots), "--force", "--max-games", str(games)]
    return [sys.executable, "-u", "-m", "enginetour", *words]


def soaked(path: Path) -> tuple[list[Sample], float]:
    """Play all games; return the samples and the games per second."""
    samples: list[Sample] = []
    games, begun = 0, time.monotonic()
    with subprocess.Popen(
        command(path, GAMES), cwd=path.parent, stdout=subprocess.PIPE, text=True, preexec_fn=default_signals
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            games += line.startswith("Finished game")
            if line.startswith("Finished game") and games % max(1, GAMES // SAMPLES) == 0 and games < GAMES:
                samples.append(sample(process.pid, games))
    assert process.returncode == 8
    assert games == GAMES
    return samples, games / (time.monotonic() - begun)


def first_move(path: Path) -> float:
    """Return the seconds from the start of a resume to the first `go` that an engine reads."""
    stamps = path.parent / "stamps"
    for old in stamps.glob("*.stamps"):
        old.unlink()
    begun = time.monotonic_ns()
    subprocess.run(command(path, 1, 1), cwd=path.parent, stdout=subprocess.DEVNULL, check=False)
    return (min(stamp.received for process in free.read(stamps) for stamp in process) - begun) / 1e9


def middle(samples: list[Sample], slot: int | None) -> Held:
    """Return medians of the scheduler or a slot, because a sample can be at the start of an engine."""
    seen = [one.manager if slot is None else one.slots[slot] for one in samples]
    memory, descriptors, threads = zip(*((one.memory, one.descriptors, one.threads) for one in seen), strict=True)
    return Held(median(memory), median_high(descriptors), median_high(threads))


def test_nothing_grows_with_the_number_of_games(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Memory, descriptors and threads are constant, every game is stored and in the PGN, and a resume plays at once."""
    path = free_engines(workspace, GAMES)
    samples, pace = soaked(path)
    with capsys.disabled():
        print(f"\n{GAMES} games, {SLOTS} slots, {pace:.1f} games/s; scheduler, then slots", *samples, sep="\n")
    steady = samples[len(samples) // 10 :]
    early, late = steady[: len(steady) // 4], steady[-len(steady) // 4 :]
    assert max(one.manager.memory for one in samples) < MANAGER_MB
    assert {frozenset(one.slots) for one in steady} == {frozenset(steady[0].slots)}, "a slot was replaced"
    for pid, most in ((None, GROWTH_MB), *((slot, GROWTH_MB / 4) for slot in steady[0].slots)):
        before, after = middle(early, pid), middle(late, pid)
        assert after.memory - before.memory < most, f"{before} became {after}"
        assert after.threads == before.threads
        assert after.descriptors < before.descriptors + ENGINE_FILES, f"{before} became {after}"
    assert audit(workspace, "soak") == GAMES
    assert pgn_games(workspace / "results" / "soak.pgn") == GAMES
    taken = min(first_move(path) for _ in range(3))
    with capsys.disabled():
        print(f"first move of a resume after {taken:.2f} s")
    assert taken < RESUME_S
