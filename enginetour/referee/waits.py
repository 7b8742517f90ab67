"""Measure how long engines and the referee waited for a processor: part of the error budget of a time loss.

Source: proc(5), schedstat: for each thread the nanoseconds on a processor, and those in a run queue.
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

MARK_NS = 1_000_000  # least time between two marks; shorter searches share one
MOST_THREADS = 8  # threads of an engine that are marked, oldest first: 0.75 us each (measured)
_MOST_MARKS = 2 * MOST_THREADS  # with the CPU clocks of their processes
# An answer passes through the thread that reads, the thread that searches, and the last helper thread that it waits
# for. The waits of these add up; the waits of other threads overlap with them.
_HOPS = 3
_GONE_NS = 50_000  # on a processor, of threads that have ended; starting a thread and searching takes longer
LONG_NS = 10 * MS  # a wait that is worth a warning, if it is also this part of both sides' moves:
LONG_PART = 20  # 2 % of the moves at 1+0.02 on an idle machine, 30 % at three times as many processes (measured)
_CROWDED = 0.05  # share of moves with a long wait from which a warning is shown
_CALM = 0.02  # share below which the warning ends
_SAMPLE, _SAMPLES = 20, 5  # moves in a sample, and number of samples kept
TELL_NS = 1000 * MS  # least time between two warnings of a slot
_REACTION_NS = 10 * MS  # time on a processor in which an engine can react to `stop`


class OwnWaits:
    """How long this process waited for a CPU, according to the kernel: part of the delay of the referee."""

    def __init__(self) -> None:
        self.file: int | None = None
        with suppress(OSError):
            self.file = os.open("/proc/self/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def look(self) -> bytes:
        """Return the kernel's figures for `waited_ns` (proc(5), schedstat), b"" where there are none."""
        return b"" if self.file is None else os.pread(self.file, 128, 0)

    @staticmethod
    def waited_ns(figures: bytes) -> int:
        """Return the ns of waiting since the process began; 0 where the kernel does not report them."""
        fields = figures.split()
        return int(fields[1]) if len(fields) > 1 else 0

    def close(self) -> None:
        """Close the file."""
        if self.file is not None:
            os.close(self.file)
            self.file = None


class EngineWaits:
    """Waits of an engine's threads during one game; `family` returns its process ids, which may increase."""

    def __init__(self, pid: int, family: Callable[[], list[int]] | None = None) -> None:
        self._pid = pid
        self._family = family or (lambda: [pid])
        self._whose: list[_Whose] = []
        self.files: list[int] = []  # schedstat files of threads and CPU clocks of processes, read by `_read_waits`
        self._open()
        self._begun = self._marked = self._look()
        self._marked_ns = 0
        self.marks = 0  # moves that were measured separately
        self.long = 0  # moves in which the engine waited long

    def mark(self, now_ns: int) -> None:
        """Start to measure a move at CLOCK_MONOTONIC `now_ns`; a mark less than 1 ms old remains instead."""
        if now_ns < self._marked_ns + MARK_NS:
            return
        figures = self._look()
        if self._marked_ns:
            self.marks += 1
            waited = max(self._waits(self._marked, figures), default=0)
            self.long += waited > LONG_NS and waited * LONG_PART > now_ns - self._marked_ns
        self._marked, self._marked_ns = figures, now_ns

    def marked(self, figures: list[bytes], now_ns: int) -> None:
        """Store a mark that compiled code made; compiled code counts long waits itself."""
        self._marked, self._marked_ns = figures, now_ns

    def machine_ns(self) -> int | None:
        """Return how long the machine may have kept the engine waiting since the last mark, in ns; None if unknown.

        If an engine has more threads than processors, they also wait for each other. So the result is never more than
        the processor time that the engine did not get.
        """
        window = time.monotonic_ns() - self._marked_ns
        found = {process.pid: process for process in self._since_mark(window)}
        if not any(process.waits for process in found.values()):
            return None
        waited = sum(sum(sorted(process.waits)[-_HOPS:]) for process in found.values())
        used = sum(process.clock for process in found.values())
        if any(process.clock - process.ran > _GONE_NS for process in found.values()) and is_busy():
            # a thread that has ended gave the answer; this is all that is known of its wait
            waited = max(waited, window - used)
        return max(0, min(waited, window, self._processors() * window - used))

    def of_game_ms(self) -> float | None:
        """Return how long the thread that waited most has waited since the game began, in ms; None if unknown."""
        waits = self._waits(self._begun, self._look())
        return max(waits) / MS if waits else None

    def used_ns(self) -> int:
        """Return the processor time of all processes of the engine, in ns."""
        return sum(map(process_cpu_ns, self._family()))

    def is_kept_waiting(self, used_ns: int) -> bool:
        """Return whether the engine wants to run but has hardly run since its processor time was `used_ns`."""
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
                    with suppress(OSError):  # the thread is gone, or the kernel does not report it
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
        """Yield what each process did since the mark; a thread without a mark counts from its start, up to `window`."""
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
    """Share of recent moves of a slot in which engines waited long: shows whether its clocks are reliable."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int]] = deque(maxlen=_SAMPLES)
        self._marks = self._long = 0
        self._crowded = False
        self._next_ns = 0

    def add(self, marks: int, long: int) -> dict[str, object] | None:
        """Count moves; return the payload of the live event "crowd" if there is something to report."""
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
        load = max(load_average() or 0.0, float(runnable_threads()))  # the average of a minute reacts late
        return {"crowded": self._crowded, "share": share, "load": load, "processors": processor_count() or 1}


class _Whose(NamedTuple):
    pid: int
    thread: int  # 0: the CPU clock of the process


class _Process(NamedTuple):
    """One process during a move, in ns: the wait of each thread, their run time, the run time of all its threads."""

    pid: int
    waits: list[int]
    ran: int
    clock: int


def _threads(pid: int) -> list[int]:
    """Return the thread ids of a process, oldest first; none if it is gone."""
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
    """Read the figures of a thread, or the CPU clock of a process if the number is negative."""
    try:
        return os.pread(file, 128, 0) if file >= 0 else b"%d" % time.clock_gettime_ns(file)
    except OSError:  # the thread has ended
        return b""
