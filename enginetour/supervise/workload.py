"""How busy the machine was while a game was played: what else wanted its processors, and what its host took of them."""

from __future__ import annotations

import os
from functools import cache

from enginetour.supervise.kernelfile import told

STAT = "/proc/stat"  # proc(5)
STEAL, COUNTED = 7, 8  # place of steal among the counters of the line "cpu", and how many make up all time: proc(5)


class Workload:
    """Looks at the machine when it is made and when it is asked; what a kernel does not tell is None."""

    def __init__(self) -> None:
        self._load = _load()
        self._ticks = _ticks()

    def load(self) -> float | None:
        """The load average of a minute, the larger of then and now: processes that run or wait to."""
        loads = [load for load in (self._load, _load()) if load is not None]
        return max(loads, default=None)

    def steal(self) -> float | None:
        """Share of the processors' time since then, 0 to 1, that the host of a virtual machine gave to others."""
        now = _ticks()
        passed = [after - before for before, after in zip(self._ticks, now, strict=False)]
        return max(0.0, passed[STEAL] / sum(passed)) if len(passed) == COUNTED and sum(passed) > 0 else None


@cache
def processors() -> int | None:
    """Those of the machine, as the load average counts for all of them."""
    return os.cpu_count()


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _ticks() -> list[int]:
    """Time of all processors by what they did: user, nice, system, idle, iowait, irq, softirq, steal; [] for none."""
    line = told(STAT).partition(b"\n")[0].split()
    return [int(field) for field in line[1 : 1 + COUNTED]] if line[:1] == [b"cpu"] else []
