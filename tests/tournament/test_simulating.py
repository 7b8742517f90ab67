"""Tests of tournament/simulating."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from enginetour.model.errors import TourError
from enginetour.tournament.simulating import Simulators

TASKS = [(one, other) for one in range(4) for other in range(4)]
FAR = 3600.0


def times(one: int, other: int) -> int:
    return one * other


def hang(one: int, other: int) -> int:
    if (one, other) == (0, 1):
        threading.Event().wait()
    return one * other


def die(_: int, __: int) -> int:
    os._exit(1)


@pytest.mark.parametrize("processes", [1, 2])
def test_each_task_has_its_result(processes: int) -> None:
    """Every task is played once, in this process or in several."""
    end = time.monotonic() + FAR
    with Simulators(times, processes) as simulators:
        assert sorted(simulators.play(TASKS, end, end)) == [((one, other), one * other) for one, other in TASKS]
        assert sorted(simulators.play(TASKS[:2], end, end)) == [((0, 0), 0), ((0, 1), 0)]


@pytest.mark.parametrize("processes", [1, 2])
def test_nothing_begins_after_its_time(processes: int) -> None:
    """No task begins after the time until which tasks begin."""
    with Simulators(times, processes) as simulators:
        assert not [*simulators.play(TASKS, time.monotonic(), time.monotonic() + FAR)]


def test_a_task_that_takes_too_long_is_dropped() -> None:
    """A process that has not finished in time is ended; the results of the others stay."""
    end = time.monotonic() + FAR
    with Simulators(hang, 2) as simulators:
        assert len([*simulators.play(TASKS[4:6], end, end)]) == 2  # both processes are ready now
        found = [task for task, _ in simulators.play(TASKS[:2], time.monotonic() + FAR, time.monotonic() + 5)]
        assert found == [(0, 0)]
        assert len(simulators._workers) == 1
        assert len([*simulators.play(TASKS[4:], end, end)]) == 12, "another process takes its place"


def test_a_process_that_dies_is_an_error() -> None:
    """The error of a process that ended has one line with the next step."""
    with Simulators(die, 2) as simulators, pytest.raises(TourError, match=r"has ended unexpectedly.*--processes 1"):
        list(simulators.play(TASKS, time.monotonic() + FAR, time.monotonic() + FAR))


def test_an_interrupt_of_the_terminal_is_for_this_process() -> None:
    """The processes ignore Ctrl-C, which a terminal sends to all of them, so that they print nothing."""
    end = time.monotonic() + FAR
    with Simulators(times, 2) as simulators:
        played = simulators.play(TASKS, end, end)
        next(played)
        for process in simulators._workers.values():
            assert process.pid is not None
            os.kill(process.pid, signal.SIGINT)
        assert len([*played]) == len(TASKS) - 1
