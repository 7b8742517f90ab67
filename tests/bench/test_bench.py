"""The benches themselves: in the smallest sizes, so that they still run on the day somebody wants a figure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SMALLEST = "--rounds 1 --games 60 --engines 12 --rated 20 300 --commits 3 --match 4"
ROOT = Path(__file__).parents[2]


def test_every_measure_has_a_ratio(tmp_path: Path) -> None:
    """Eleven lines with a figure and its ratio to a baseline; the last says how to compare with other runners."""
    ours = {name: value for name, value in os.environ.items() if name not in ("FASTCHESS", "CUTECHESS")}
    command = [sys.executable, "-m", "tests.bench", *SMALLEST.split(), "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=ours, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    assert len(lines) == 11
    assert all(" x " in line for line in lines)
    assert "FASTCHESS=" in last
    assert "CUTECHESS=" in last
    assert list(tmp_path.iterdir()) == []
