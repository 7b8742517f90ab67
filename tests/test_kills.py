"""Twenty kills at random moments in every test run; hundreds of them, by real clocks too, are the night's."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from tests.forked import Forked, quick
from tests.lives import Tour, killed

KILLS = 20


def test_twenty_kills_lose_and_double_nothing(workspace: Path) -> None:
    """SIGKILL of the scheduler or of everybody, at any moment: announced games stay, the rest is as if unbroken."""
    dice = random.Random(20)

    def tours() -> Iterator[Tour]:
        for number in count(1):
            path = quick(workspace, f"trial-{number}")
            yield Tour(workspace, path, dice, slots=1 + number % 2, start=Forked, start_s=0.4)

    assert killed(workspace, tours(), KILLS).startswith(f"{KILLS} kills in ")
