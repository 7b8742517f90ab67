"""Measure how long engines and the referee waited for a processor: part of the error budget of a time loss.

Source: the kernel's schedstat files, proc(5). For each thread they contain the time on a processor and the time in a
run queue, in nanoseconds.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from enginetour.engines.machine import (
    allowed_processors,
    cpu_clock_id,
    is_busy,
    load_average,
    process_cpu_ns,
    processor_count,
    runnable_threads,
)
from enginetour.engines.strays import read_proc
from enginetour.referee.clock import MS

MARK_NS = 1_000_000  # ns; minimum time between two marks, so that very short searches are measured together
MOST_THREADS = 8  # number of threads of an engine that are measured, oldest first; 0.75 us each (measured)
_MOST_MARKS = 2 * MOST_THREADS  # number of marks, including those of the CPU clocks of processes
# An answer depends on the thread that reads, the thread that searches, and the last helper thread for which it waits.
# The waits of these three threads are added; the waits of other threads overlap with them.
_HOPS = 3
_GONE_NS = 50_000  # processor time of ended threads that is ignored; starting a thread and searching takes longer
# A wait is long if it exceeds LONG_NS and 1/LONG_PART of the time of both sides' moves. At 1+0.02 this is true for 2 %
# of the moves on an idle machine, and for 30 % with three times as many processes as processors (measured).
LONG_NS = 10 * MS
LONG_PART = 20
_CROWDED = 0.05  # if the share of moves with a long wait is larger, a warning is shown
_CALM = 0.02  # if the share of moves with a long wait is smaller, the warning ends
_SAMPLE, _SAMPLES = 20, 5  # number of moves in a sample, and number of stored samples
TELL_NS = 1000 * MS  # minimum time between two warnings of a slot
_REACTION_NS = 10 * MS  # processor time in which an engine can react to `stop`


class OwnWaits:
    """Reader of the time that this process waited for a CPU, which is part of the delay of the referee."""

    def __init__(self) -> None:
        self.file: int | None = None
        with suppress(OSError):
            self.file = os.open("/proc/self/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def look(self) -> bytes:
        """Return the kernel's figures for `waited_ns` (proc(5), schedstat), or b"" if there are none."""
        return b"" if self.file is None else os.pread(self.file, 128, 0)

    @staticmethod
    def waited_ns(figures: bytes) -> int:
        """Return the ns that the process has waited since its start, or 0 if the kernel does not report them."""
        fields = figures.split()
        return int(fields[1]) if len(fields) > 1 else 0

    def close(self) -> None:
        """Close the file."""
        if self.file is not None:
            os.close(self.file)
            self.file = None


class EngineWaits:
    """The waits of an engine's threads during one game. `family` returns its process ids, whose number may increase."""

    def __init__(self, pid: int, family: Callable[[], list[int]] | None = None) -> None:
        self._pid = pid
        self._family = family or (lambda: [pid])
        self._whose: list[_Whose] = []
        self.files: list[int] = []  # descriptors of threads' schedstat files, and (negative) CPU clocks of processes
        self._open()
        self._begun = self._marked = self._look()
        self._marked_ns = 0
        self.marks = 0  # number of moves that were measured
        self.long = 0  # number of measured moves with a long wait

    def mark(self, now_ns: int) -> None:
        """Start to measure a move at `now_ns` (CLOCK_MONOTONIC). If the last mark is less than 1 ms old, keep it."""
        if now_ns < self._marked_ns + MARK_NS:
            return
        figures = self._look()
        if self._marked_ns:
            self.marks += 1
            waited = max(self._waits(self._marked, figures), default=0)
            self.long += waited > LONG_NS and waited * LONG_PART > now_ns - self._marked_ns
        self._marked, self._marked_ns = figures, now_ns

    def marked(self, figures: list[bytes], now_ns: int) -> None:
        """Store a mark that compiled code made. Compiled code counts its long waits itself."""
        self._marked, self._marked_ns = figures, now_ns

    def machine_ns(self) -> int | None:
        """Return how long the engine may have waited for a processor since the last mark in ns, or None if unknown.

        If an engine has more threads than processors, its threads also wait for each other. Therefore the result is at
        most the processor time that the engine did not use.
        """
        window = time.monotonic_ns() - self._marked_ns
        found = {process.pid: process for process in self._since_mark(window)}
        if not any(process.waits for process in found.values()):
            return None
        waited = sum(sum(sorted(process.waits)[-_HOPS:]) for process in found.values())
        used = sum(process.clock for process in found.values())
        if any(process.clock - process.ran > _GONE_NS for process in found.values()) and is_busy():
            # A thread that has ended may have sent the answer. Its wait is unknown, but not longer than this.
            waited = max(waited, window - used)
        return max(0, min(waited, window, self._processors() * window - used))

    def of_game_ms(self) -> float | None:
        """Return the longest wait of any thread since the game began in ms, or None if unknown."""
        waits = self._waits(self._begun, self._look())
        return max(waits) / MS if waits else None

    def used_ns(self) -> int:
        """Return the processor time of all processes of the engine, in ns."""
        return sum(map(process_cpu_ns, self._family()))

    def is_kept_waiting(self, used_ns: int) -> bool:
        """Return whether a thread can run but has hardly got a processor since the processor time was `used_ns`."""
        return self.used_ns() - used_ns < _REACTION_NS and any(
            _state(pid, thread) == "R" for pid in self._family() for thread in _threads(pid)
        )

    def close(self) -> None:
        """Close the files."""
        for file in self.files:
            if file >= 0:
                os.close(file)
        self.files.clear()

    def _open(self) -> None:
        for pid in self._family():
            if len(self.files) >= _MOST_MARKS:
                return
            if process_cpu_ns(pid) and sum(file < 0 for file in self.files) < MOST_THREADS:
                self._whose.append(_Whose(pid, 0))
                self.files.append(cpu_clock_id(pid))
            for thread in _threads(pid):
                if sum(file >= 0 for file in self.files) < MOST_THREADS:
                    with suppress(OSError):  # the thread has ended, or the kernel does not report its waits
                        self.files.append(os.open(_schedstat(pid, thread), os.O_RDONLY | os.O_CLOEXEC))
                        self._whose.append(_Whose(pid, thread))

    def _look(self) -> list[bytes]:
        return [_read_waits(file) for file in self.files]

    def _waits(self, before: list[bytes], after: list[bytes]) -> list[int]:
        return [
            OwnWaits.waited_ns(now) - OwnWaits.waited_ns(then)
            for whose, then, now in zip(self._whose, before, after, strict=True)
            if whose.thread and then and now
        ]

    def _since_mark(self, window: int) -> Iterator[_Process]:
        """Yield the waits and run times of each process since the mark.

        The times of a thread without a mark are counted from its start, up to `window`.
        """
        pairs = list(zip(self._whose, self._marked, self._look(), strict=True))
        full = len(self.files) - sum(file < 0 for file in self.files) >= MOST_THREADS
        marked = {whose for whose, _, _ in pairs}
        for pid in dict.fromkeys([*(whose.pid for whose in marked), *self._family()]):
            own = [(whose, then, now) for whose, then, now in pairs if whose.pid == pid and then and now]
            spans = [(_ran_ns(now) - _ran_ns(then), now, then) for whose, then, now in own if whose.thread]
            waits = [OwnWaits.waited_ns(now) - OwnWaits.waited_ns(then) for _, now, then in spans]
            ran = sum(span[0] for span in spans)
            for thread in () if full else _threads(pid):
                if _Whose(pid, thread) not in marked:
                    figures = read_proc(_schedstat(pid, thread))
                    waits.append(min(window, OwnWaits.waited_ns(figures)))
                    ran += min(window, _ran_ns(figures))
            clock = next((_ran_ns(now) - _ran_ns(then) for whose, then, now in own if not whose.thread), None)
            yield _Process(pid, waits, ran, ran if clock is None else clock)

    def _processors(self) -> int:
        try:
            return min(len(os.sched_getaffinity(self._pid)), allowed_processors().count)
        except OSError:
            return allowed_processors().count


class ProcessorShortage:
    """Counter of a slot's recent moves with long waits, whose share shows whether the clocks are reliable."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int]] = deque(maxlen=_SAMPLES)
        self._marks = self._long = 0
        self._crowded = False
        self._next_ns = 0

    def add(self, marks: int, long: int) -> dict[str, object] | None:
        """Add numbers of measured moves and of long waits. Return the payload of an event "crowd", or None."""
        self._marks += marks
        self._long += long
        if self._marks < _SAMPLE:
            return None
        self._samples.append((self._marks, self._long))
        self._marks = self._long = 0
        all_marks, all_long = (sum(counts) for counts in zip(*self._samples, strict=True))
        share, before, now = all_long / all_marks, self._crowded, time.monotonic_ns()
        self._crowded = all_long > 1 and share > (_CALM if before else _CROWDED)
        if not (before or self._crowded) or (self._crowded and now < self._next_ns):
            return None
        self._next_ns = now + TELL_NS
        load = max(load_average() or 0.0, float(runnable_threads()))  # the average of the last minute reacts slowly
        return {"crowded": self._crowded, "share": share, "load": load, "processors": processor_count() or 1}


class _Whose(NamedTuple):
    pid: int
    thread: int  # 0 for the CPU clock of the process


class _Process(NamedTuple):
    """One process during a move: waits of its threads, their run time, and the run time of all threads, all in ns.

    `clock` includes threads that have ended.
    """

    pid: int
    waits: list[int]
    ran: int
    clock: int


def _threads(pid: int) -> list[int]:
    """Return the thread ids of a process, oldest first, or an empty list if it has ended."""
    try:
        return sorted(map(int, os.listdir(f"/proc/{pid}/task")))  # noqa: PTH208 - numbers
    except OSError:
        return []


def _schedstat(pid: int, thread: int) -> str:
    return f"/proc/{pid}/task/{thread}/schedstat"


def _state(pid: int, thread: int) -> str:
    text = read_proc(f"/proc/{pid}/task/{thread}/stat")
    return text[text.rindex(b")") + 2 :][:1].decode() if text else ""


def _ran_ns(figures: bytes) -> int:
    fields = figures.split(None, 1)
    return int(fields[0]) if fields else 0


def _read_waits(file: int) -> bytes:
    """Return the figures of a thread, or the CPU clock of a process if `file` is negative."""
    try:
        return os.pread(file, 128, 0) if file >= 0 else b"%d" % time.clock_gettime_ns(file)
    except OSError:  # the thread has ended
        return b""
