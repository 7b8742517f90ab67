"""Time to start: the help of the command line, and a slot until its engine's first move."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benches import free
from benches.measure import Settings, in_turn, line
from enginetour.model.game import Pairing
from enginetour.model.task import GameTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.tournament.executor import LocalExecutor

STARTS = 5  # per round, because a single start varies too much


def starting(settings: Settings, program: tuple[str, ...]) -> Iterator[str]:
    """Compare both with an interpreter that does nothing."""
    rounds = settings.rounds * STARTS
    ours = [sys.executable, "-m", "enginetour", "--help"]
    mine, plain = in_turn(rounds, lambda: _run(ours), lambda: _run([sys.executable, "-c", "pass"]))
    yield line("start of enginetour --help", mine, plain, "python -c pass")
    answered = [first_answer(program, settings.folder / f"start-{number}") for number in range(rounds)]
    yield line("start of a slot to an engine's first move", answered, plain, "python -c pass")


def _run(words: list[str]) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def first_answer(program: tuple[str, ...], stamps: Path) -> float:
    """Return the seconds from submitting a game to the first move of an engine, from the engine's own stamp."""
    white, black = (Side(free.spec(program, name, stamps), TimeControl.parse("60+1")) for name in free.NAMES)
    begun = time.monotonic_ns()
    with LocalExecutor(1) as place:
        place.submit(GameTask(Pairing(*free.NAMES), white, black)).result()
    return (min(stamp.answered for process in free.read(stamps) for stamp in process) - begun) / 1e9
