"""Slots, pauses, withdrawals, voids and kills while eight games are on; by the hundred it is the night's."""

from __future__ import annotations

import random
from pathlib import Path

from tests.turmoil import Turmoil


def test_a_steered_run_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Whatever people ask for at once and whichever slot dies: the log is whole and everybody has ended."""
    turmoil = Turmoil(tmp_path, random.Random(7), cycles=6)
    for act in ("slots", "kill", "pause", "slots", "void", "unpause", "slots", "withdraw", "slots"):
        turmoil.steer(act)
    assert turmoil.settle() >= 20
    assert turmoil.done["slots"] >= 3
