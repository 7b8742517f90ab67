"""Hundreds of requests to and kills of runs with eight slots.

Environment: ENGINETOUR_NIGHT_TURMOILS (default 20 tournaments), ENGINETOUR_NIGHT_SEED (default 2007).
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.support.tournaments import ACTS, SEED, Turmoil

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]

TURMOILS = int(os.environ.get("ENGINETOUR_NIGHT_TURMOILS", "20"))


@pytest.mark.parametrize("number", range(TURMOILS))
def test_turmoil(tmp_path: Path, number: int) -> None:
    """After random requests and kills, no game is lost or doubled, no process is left, and the tournament ends."""
    dice = random.Random(SEED + number)
    turmoil = Turmoil(tmp_path, dice, cycles=dice.choice([10, 40]))
    for _ in range(dice.randint(20, 80)):
        turmoil.steer(dice.choice(ACTS))
        time.sleep(dice.expovariate(10))
        if not turmoil.listener.is_alive():
            break
    games = turmoil.settle()
    print(f"seed {SEED + number}: {games} games, {dict(turmoil.done)}")
