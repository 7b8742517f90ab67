"""Twenty kills at random moments in every test run; hundreds of them, by real clocks too, are the night's."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from tests.forked import Forked, quick
from tests.night.lives import Tour, everybody, killed, send
from tests.touring import left_running

KILLS = 20


def test_twenty_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    """SIGKILL of the scheduler or of everybody, at any moment: announced games stay, the rest is as if unbroken."""
    (tmp_path / "results").mkdir()
    dice = random.Random(20)

    def tours() -> Iterator[Tour]:
        for number in count(1):
            path = quick(tmp_path, f"trial-{number}")
            yield Tour(tmp_path, path, dice, slots=1 + number % 2, start=Forked, start_s=0.4)

    try:
        told = killed(tmp_path, tours(), KILLS)
    finally:
        left = left_running(tmp_path)
        send(everybody(tmp_path), signal.SIGKILL)
    assert left == []
    assert told.startswith(f"{KILLS} kills in ")
