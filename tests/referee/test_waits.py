"""Tests of referee/waits: how long engines waited for a processor."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from enginetour.engines import protocol
from enginetour.interop.files import bundled_directory
from enginetour.model.game import Outcome, Termination
from enginetour.model.task import EngineSpec
from enginetour.referee import relay
from enginetour.referee import waits as module
from enginetour.referee.clock import MS
from enginetour.referee.waits import EngineWaits, ProcessorShortage, _Process
from tests.support.engines import game, scripted, sound

NOBODY = 1 << 30  # beyond all process ids


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def spent(pid: int, *waits_ms: float, ran_ms: float = 0, clock_ms: float | None = None) -> _Process:
    """What a process did in a move."""
    ran = round(ran_ms * MS)
    waits = [round(wait * MS) for wait in waits_ms]
    return _Process(pid, waits, ran, ran if clock_ms is None else round(clock_ms * MS))


def queue_of(monkeypatch: pytest.MonkeyPatch, *found: _Process, window_ms: int = 100) -> float:
    """Return the machine's part of a move of these processes, in ms."""
    queue = EngineWaits(0, list)
    queue._marked_ns = time.monotonic_ns()
    monkeypatch.setattr(queue, "_since_mark", lambda window: iter(found))
    monkeypatch.setattr(queue, "_processors", lambda: 2)
    now = queue._marked_ns + window_ms * MS
    monkeypatch.setattr(time, "monotonic_ns", lambda: now)
    waited = queue.machine_ns()
    assert waited is not None
    return waited / MS


def test_the_wait_of_a_move_is_that_since_its_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait of a game is that of the thread that waited longest; a thread that has ended does not count."""
    waits: dict[int, list[float | None]] = {7: [1, 3, 8], 8: [2, 2.5, None], -9: [10, 10, 10]}
    at = 0

    def told(file: int) -> bytes:
        ms = waits[file][at]
        return b"" if ms is None else b"%d %d 9" % (0, round(ms * MS)) if file > 0 else b"%d" % round(ms * MS)

    monkeypatch.setattr(module, "_read_waits", told)
    queue = EngineWaits(0, list)
    queue.files = [-9, 7, 8]
    queue._whose = [module._Whose(NOBODY, 0), module._Whose(NOBODY, 11), module._Whose(NOBODY, 12)]
    queue._begun = queue._look()
    at = 1
    assert queue.of_game_ms() == 2.0
    queue.mark(5 * MS)
    at = 2
    queue.mark(5 * MS + 999_999)  # too soon to be marked again
    found = next(iter(queue._since_mark(1000 * MS)))
    assert (found.pid, found.waits) == (NOBODY, [5 * MS])
    assert queue.of_game_ms() == 7.0


@pytest.mark.parametrize(
    ("waits", "machine"),
    [((30.0,), 30.0), ((10.0, 30.0), 40.0), ((5.0, 4.0, 3.0, 2.0), 12.0), ((80.0, 70.0), 100.0)],
)
def test_waits_of_one_answer_add_up(waits: tuple[float, ...], machine: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits of up to three threads of an answer add up, but never to more than the move took."""
    assert queue_of(monkeypatch, spent(1, *waits)) == machine


def test_an_engine_behind_an_adapter_waits_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits of an adapter and of its engine add up."""
    assert queue_of(monkeypatch, spent(1, 20.0), spent(2, 30.0, ran_ms=40)) == 50.0


@pytest.mark.parametrize(("used", "machine"), [(200.0, 0.0), (150.0, 50.0), (40.0, 90.0)])
def test_own_threads_that_compete_are_not_the_machine(
    used: float, machine: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that compete with each other are not the machine's fault."""
    assert queue_of(monkeypatch, spent(1, 30.0, 30.0, 30.0, 30.0, ran_ms=used)) == machine


@pytest.mark.parametrize(("busy", "machine"), [(True, 90.0), (False, 3.0)])
def test_a_thread_that_has_ended_took_its_wait_along(
    busy: bool, machine: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a thread has ended on a busy machine, all time without a processor counts as a wait."""
    monkeypatch.setattr(module, "is_busy", lambda: busy)
    assert queue_of(monkeypatch, spent(1, 3.0, ran_ms=1, clock_ms=10)) == machine


def test_a_thread_that_is_not_marked_counts_with_all_that_it_waited() -> None:
    """A thread that starts during the search counts with all its waits."""
    pids = [os.getpid()]
    queue = EngineWaits(os.getpid(), lambda: pids)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        pids.append(child.pid)
        queue.mark(time.monotonic_ns())
        stop = threading.Event()
        other = threading.Thread(target=stop.wait)
        other.start()
        found = {process.pid: process for process in queue._since_mark(10**12)}
        stop.set()
        other.join()
        child.kill()
    queue.close()
    assert found.keys() == {os.getpid(), child.pid}
    assert len(found[os.getpid()].waits) >= 2
    assert found[child.pid].waits


def spinning(processor: int) -> subprocess.Popen[bytes]:
    text = f"import os; os.sched_setaffinity(0, [{processor}]); print(flush=True)\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_two_on_one_processor_keep_each_other_waiting() -> None:
    """Two processes on one processor wait as long as one of them runs."""
    first = min(os.sched_getaffinity(0))
    with spinning(first) as one, spinning(first) as other:
        queues = [EngineWaits(process.pid) for process in (one, other)]
        begun = time.monotonic_ns()
        for queue in queues:
            queue.mark(begun)
        before = sum(queue.used_ns() for queue in queues)
        while one.poll() is None and (used := sum(queue.used_ns() for queue in queues) - before) < 400 * MS:
            time.sleep(0.05)
        waited = [queue.machine_ns() or 0 for queue in queues]
        elapsed = time.monotonic_ns() - begun
        for queue in queues:
            queue.close()
        for process in (one, other):
            process.kill()
    assert sum(waited) > used / 2  # however long the machine halted
    assert max(waited) <= elapsed


def test_an_engine_that_does_not_run_at_all_is_kept_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that cannot run is kept waiting; one that sleeps or runs is not."""
    queue = EngineWaits(os.getpid())
    used = queue.used_ns()
    monkeypatch.setattr(queue, "used_ns", lambda: used + 9 * MS)
    assert queue.is_kept_waiting(used)  # this thread runs at this moment
    monkeypatch.setattr(module, "_state", lambda pid, thread: "S")
    assert not queue.is_kept_waiting(used)
    monkeypatch.undo()
    monkeypatch.setattr(queue, "used_ns", lambda: used + 11 * MS)
    assert not queue.is_kept_waiting(used)
    queue.close()


def test_a_slot_warns_while_many_moves_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning begins at a twentieth of the last 100 moves, once a second, and ends below a fiftieth."""
    now = 10**12
    monkeypatch.setattr(time, "monotonic_ns", lambda: now)
    monkeypatch.setattr(module, "load_average", lambda: 1.5)
    monkeypatch.setattr(module, "runnable_threads", lambda: 15)
    monkeypatch.setattr(module, "processor_count", lambda: 2)
    crowd = ProcessorShortage()
    assert crowd.add(19, 2) is None  # too few moves
    assert crowd.add(1, 0) == {"crowded": True, "share": 0.1, "load": 15.0, "processors": 2}
    assert crowd.add(20, 2) is None  # reported a moment ago
    now += module.TELL_NS
    told = crowd.add(20, 0)
    assert told is not None and told["crowded"]
    told_later = [crowd.add(20, 0) for _ in range(6)]
    assert [one["crowded"] for one in told_later if one] == [False]


def test_the_kernel_tells_of_every_thread() -> None:
    """The kernel reports every thread of this process, and all descriptors are closed."""
    before, stop = descriptors(), threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    queue = EngineWaits(os.getpid())
    opened = descriptors() - before
    stop.set()
    other.join()
    waited = queue.of_game_ms()
    queue.close()
    assert 2 <= opened <= module.MOST_THREADS
    assert waited is not None and waited >= 0
    assert descriptors() == before


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    """Nothing is known of a process that is gone."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        queue = EngineWaits(process.pid)
        assert queue.machine_ns() is not None
        process.kill()
        process.wait()
        assert queue.machine_ns() is None
        assert EngineWaits(process.pid).of_game_ms() is None
        queue.close()


def test_a_time_loss_has_it_beside_and_every_game_in_its_record() -> None:
    """A time loss shows the wait of its move, the record the wait of the game."""
    before = descriptors()
    lost = game(scripted("uci", "late", at=2, seconds=0.3), sound(), white_tc="0.1", margin=0, hang_limit=5.0)
    assert (lost.termination, lost.outcome) == (Termination.TIME, Outcome.BLACK)
    assert re.search(r"; the engine waited up to \d+\.\d ms for a processor\)", lost.cause)
    for record in (lost.white, lost.black):
        assert record.waited_ms is not None and 0 <= record.waited_ms < 60_000
    assert descriptors() == before


@pytest.mark.parametrize("compiled", [True, False])
def test_moves_are_told_apart_on_both_ways(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each move but the first of a side is measured once, in both ways to play it."""
    if not compiled:
        monkeypatch.setattr(relay, "native", None)
    counted = list[int]()

    def add(crowd: ProcessorShortage, marks: int, long: int) -> None:
        assert 0 <= long <= marks
        counted.append(marks)

    monkeypatch.setattr(ProcessorShortage, "add", add)
    wren = str(bundled_directory("engines") / "wren.py")
    white, black = (EngineSpec(name, (sys.executable, wren, "8"), "uci") for name in ("Ada", "Bea"))
    played = game(white, black, white_tc="movetime=0.02", black_tc="movetime=0.02", margin=10_000, max_moves=20)
    moves = played.white.moves + played.black.moves
    assert played.termination is Termination.ADJUDICATION_LENGTH
    assert moves - 8 <= sum(counted) <= moves - 2


@pytest.mark.parametrize(("starved", "outcome"), [(True, Outcome.VOID), (False, Outcome.BLACK)])
def test_an_engine_that_could_not_run_is_not_late(
    starved: bool, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that got no processor to answer `stop` is not late."""
    monkeypatch.setattr(protocol, "OWED_NS", 100 * MS)
    monkeypatch.setattr(EngineWaits, "is_kept_waiting", lambda queue, used: starved)
    played = game(scripted("uci", "hang", at=1), sound(), white_tc="0.2", doubtful_flag="void")
    assert (played.outcome, played.termination) == (outcome, Termination.TIME)
    assert ("after the flag because the engine got no processor (" in played.cause) is starved
