"""How long engines waited for a processor."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from enginetour.model import Outcome, Termination
from enginetour.referee import queueing
from enginetour.referee.queueing import EngineQueue
from tests.playing import game, scripted, sound


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_the_thread_that_waited_longest_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Since the mark for a move, or one just before; since the beginning for the game; ended threads are left out."""
    waits = {0: [1_000_000, 3_000_000, 8_000_000], 1: [2_000_000, 2_500_000, 0]}
    at = 0
    monkeypatch.setattr(queueing, "_told", lambda file: f"9 {waits[file][at]} 9".encode() if waits[file][at] else b"")
    queue = EngineQueue(0)
    monkeypatch.setattr(queue, "files", [0, 1])
    monkeypatch.setattr(queue, "_begun", queue._look())
    at = 1
    assert queue.of_game_ms() == 2.0
    queue.mark(5_000_000)
    at = 2
    queue.mark(5_999_999)  # too soon after it to be looked for anew
    assert (queue.of_move_ms(), queue.of_game_ms()) == (5.0, 7.0)


def test_the_kernel_tells_of_every_thread() -> None:
    """Of this process: never less than nothing, and all descriptors come back."""
    before, stop = descriptors(), threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    queue = EngineQueue(os.getpid())
    opened = descriptors() - before
    stop.set()
    other.join()
    waited = queue.of_game_ms()
    queue.close()
    assert 2 <= opened <= queueing.MOST_THREADS
    assert waited is not None and waited >= 0
    assert descriptors() == before


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    """Neither from the start nor when it ends under way."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        queue = EngineQueue(process.pid)
        assert queue.of_move_ms() is not None
        process.kill()
        process.wait()
        assert queue.of_move_ms() is None
        assert EngineQueue(process.pid).of_game_ms() is None
        queue.close()


def test_a_time_loss_has_it_beside_and_every_game_in_its_record() -> None:
    """The words of the loss tell of the move, the record of the game."""
    before = descriptors()
    lost = game(scripted("uci", "late", at=2, seconds=0.3), sound(), white_tc="0.1", margin=0, hang_limit=5.0)
    assert (lost.termination, lost.outcome) == (Termination.TIME, Outcome.BLACK)
    assert re.search(r"; its process waited up to \d+\.\d ms for a processor\)", lost.cause)
    for record in (lost.white, lost.black):
        assert record.waited_ms is not None and 0 <= record.waited_ms < 60_000
    assert descriptors() == before
