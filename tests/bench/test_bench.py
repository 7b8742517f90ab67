"""The benches themselves: in the smallest sizes, so that they still run on the day somebody wants a figure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SMALLEST = "--rounds 1 --games 60 --engines 12 --rated 20 300 --commits 3 --match 4 --beside 20 300"
PEERS = ("FASTCHESS", "CUTECHESS", "ORDO", "BAYESELO")
ROOT = Path(__file__).parents[2]


def test_every_measure_has_a_ratio(tmp_path: Path) -> None:
    """Every part has lines with a figure and its ratio to a baseline; two say how to compare with other programs."""
    ours = {name: value for name, value in os.environ.items() if name not in PEERS}
    command = [sys.executable, "-m", "tests.bench", *SMALLEST.split(), "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=ours, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum(" x " in line for line in lines) == 40
    silent = " ".join(line for line in lines if line.startswith("no ratio to other"))
    assert all(f"{name}=" in silent for name in PEERS)
    assert list(tmp_path.iterdir()) == []
