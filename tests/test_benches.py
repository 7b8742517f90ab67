"""Run the benchmarks with the smallest sizes, to show that they work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DAY = "fold store rate step scan import pair dutch gotha start report crash"
MATCHES = "peers match"
SMALLEST = "--rounds 1 --games 60 --engines 12 --rated 20 300 --commits 3 --match 6 --kills 2 --beside 20 300"
NIGHT = "clock real"
SHORTEST = "--rounds 1 --real 6 --timed 6 --at-once 1 --forfeits 2"
PEERS = ("FASTCHESS", "CUTECHESS", "ORDO", "BAYESELO")
ROOT = Path(__file__).parents[1]


def said(folder: Path, words: str) -> list[str]:
    """Return the output lines of a run without other programs."""
    ours = {name: value for name, value in os.environ.items() if name not in PEERS}
    command = [sys.executable, "-m", "benches", *words.split(), "--folder", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=ours, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == []
    return done.stdout.splitlines()


def test_every_measure_has_a_ratio(tmp_path: Path) -> None:
    """Every benchmark prints lines with a ratio to a baseline; crashes have no baseline."""
    lines = said(tmp_path, f"{DAY} {SMALLEST}")
    assert sum(" x " in line for line in lines) == 30
    assert sum(line.startswith("SIGKILL of an engine to the end of its game, 2 times") for line in lines) == 1


@pytest.mark.night
def test_matches_are_measured(tmp_path: Path) -> None:
    """Benchmarks of matches print ratios, and name the variables of missing programs."""
    lines = said(tmp_path, f"{MATCHES} {SMALLEST}")
    assert sum(" x " in line for line in lines) == 12
    silent = " ".join(line for line in lines if line.startswith("no ratio to other"))
    assert all(f"{name}=" in silent for name in PEERS)


@pytest.mark.night
def test_clocks_and_real_games_are_measured(tmp_path: Path) -> None:
    """Benchmarks of clocks and real engines print all their values."""
    lines = said(tmp_path, f"{NIGHT} {SHORTEST}")
    figures = {line[:48].strip(): line[48:].split() for line in lines if "(" in line}
    assert set(figures) == {
        "median",
        "99th percentile",
        "games, with start and end",
        "games, without start and end",
        "own CPU per ply, database and PGN included",
        "time losses, 2 games at 1+0.01, 2 slots",
        "last move to exit, engines that ignore quit",
    }
    shares = [line for line in lines if line.startswith("  own CPU per ply")]
    assert len(shares) == 4, "with one slot and with two, at nodes=1 and with a clock"
    assert figures["time losses, 2 games at 1+0.01, 2 slots"][0].isdigit()


@pytest.mark.night
def test_open_pages_are_measured(tmp_path: Path) -> None:
    """Overhead and latency are measured without pages, with one page and with twenty."""
    lines = said(tmp_path, "pages --rounds 1")
    assert sum(" us (" in line or " ms (" in line for line in lines) == 9


@pytest.mark.night
def test_a_server_with_requests_is_measured(tmp_path: Path) -> None:
    """Games per second are measured without a server, with an idle one, and with requests to a control and to it."""
    lines = said(tmp_path, "serve --rounds 1 --seconds 0.5")
    for case in ("alone", "idle server", "control", "requests"):
        assert any(line.startswith(f"{case}, games  ") for line in lines), lines
    assert sum(line.split(", ")[-1].startswith("games relative to alone") for line in lines) == 3
    assert sum("CPU of the server per answer" in line for line in lines) == 2


@pytest.mark.night
@pytest.mark.timeout(400)  # the first forecast of a run comes after 200 s
def test_the_forecasts_of_a_run_are_measured(tmp_path: Path) -> None:
    """Games are counted while a run computes its first forecast, and before and after it."""
    lines = said(tmp_path, "refresh --slots 1 --forecasts 1")
    for figure in ("games before and after forecasts", "games during forecasts", "CPU of a forecast"):
        assert any(line.startswith(f"  {figure}") for line in lines), lines


@pytest.mark.night
def test_a_simulated_cluster_is_measured(tmp_path: Path) -> None:
    """The benchmark of clusters prints all its values for every system."""
    for system in ("gauntlet", "roundrobin", "bubble", "swiss"):
        words = f"cluster --system {system} --entrants 24 --slots 8 --machines 2 --mean 0.3 --games 160 --life 5"
        lines = said(tmp_path, words)
        for figure in ("recorded", "live events", "slots busy", "manager's CPU", "  choose, loop", "memory"):
            assert any(line.startswith(figure) for line in lines), (system, lines)


@pytest.mark.night
def test_many_slots_are_measured(tmp_path: Path) -> None:
    """The benchmark of slots prints the share of busy time, the CPU time of a game, and the memory of a slot."""
    lines = said(tmp_path, "slots --entrants 12 --slots 4 --mean 0.3 --games 120")
    for figure in ("all slots after", "recorded", "slots busy", "manager's CPU", "  executor", "memory", "  of a slot"):
        assert any(line.startswith(figure) for line in lines), lines
