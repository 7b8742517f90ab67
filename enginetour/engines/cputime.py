"""Processor time of an engine: of its process, of all that it started, and of those of them that were waited for."""

from __future__ import annotations

import os
import time

from enginetour.engines.kernelfile import told
from enginetour.engines.strays import MOST, children

TIMES = slice(11, 15)  # utime, stime, cutime, cstime behind the name: proc_pid_stat(5)
THREADS = 17  # num_threads, likewise
_OF_PROCESS = 2  # CPUCLOCK_SCHED, a clock of the whole process: linux/posix-timers.h


class CpuTime:
    """Of `root` and all below it, among them the engine itself; a launcher above it does not grow."""

    def __init__(self, root: int, engine: int) -> None:
        self._root, self._engine = root, engine
        self._used_ms: int | None = None
        self._alone_ns = 0  # of the engine's clock when that was looked at, where it had no other process

    @property
    def last_ms(self) -> int | None:
        """As it was when it was last asked for."""
        return self._used_ms

    def ms(self, *, whole: bool) -> int | None:
        """Since the start, by the kernel's ticks of 10 ms; None while nothing was ever seen.

        Not `whole`: where the engine had no other process when that was last asked for, by its own clock since then.
        """
        alone = alone_ns(self._engine)
        if self._alone_ns and not whole:
            return (self._used_ms or 0) + (max(alone, self._alone_ns) - self._alone_ns) // 1_000_000
        if (now := used_ms(self._root)) is not None:
            self._used_ms = max(now[0], self._used_ms or 0)  # what was killed together is nobody's to count
            self._alone_ns = alone if now[1] == self._engine else 0
        return self._used_ms


def used_ms(root: int) -> tuple[int, int] | None:
    """Processor time of a process, its descendants and those of them that were waited for, and the youngest of them.

    None when none is seen. Some 30 us for each (measured).
    """
    pids, ticks = [root], []
    for pid in pids:
        if text := told(f"/proc/{pid}/stat"):
            fields = text[text.rindex(b")") + 2 :].split()
            ticks.append(sum(map(int, fields[TIMES])))
            if len(pids) < MOST:
                pids += children(pid, threads=int(fields[THREADS]))
    return (sum(ticks) * 1000 // os.sysconf("SC_CLK_TCK"), pids[-1]) if ticks else None


def clock_of(pid: int) -> int:
    """The number of the clock of one process, which is negative: clock_getcpuclockid(3)."""
    return ~pid << 3 | _OF_PROCESS


def alone_ns(pid: int) -> int:
    """Processor time of one process, 0.3 us (measured); 0 where there is none."""
    try:
        return time.clock_gettime_ns(clock_of(pid))
    except OSError:
        return 0
