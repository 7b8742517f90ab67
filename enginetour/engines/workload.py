"""How busy the machine was while a game was played: what else wanted its processors, and what its host took of them."""

from __future__ import annotations

import os
from functools import cache

from enginetour.engines.kernelfile import told

STAT = "/proc/stat"  # proc(5)
LOADAVG = "/proc/loadavg"  # proc(5)
PRESSURE = "/proc/pressure/cpu"  # Documentation/accounting/psi.rst; not every kernel has it
CROWDED = 1.25  # x the processors, from which a load leaves no game alone: ours are a part of it (our choice)
PRESSED = 10.0  # % of the last 10 s in which something waited for a processor (our choice)
STEAL, COUNTED = 7, 8  # place of steal among the counters of the line "cpu", and how many make up all time: proc(5)


class Workload:
    """Looks at the machine when it is made and when it is asked; what a kernel does not tell is None."""

    def __init__(self) -> None:
        self._load = load_now()
        self._ticks = _ticks()

    def load(self) -> float | None:
        """The load average of a minute, the larger of then and now: processes that run or wait to."""
        loads = [load for load in (self._load, load_now()) if load is not None]
        return max(loads, default=None)

    def steal(self) -> float | None:
        """Share of the processors' time since then, 0 to 1, that the host of a virtual machine gave to others."""
        now = _ticks()
        passed = [after - before for before, after in zip(self._ticks, now, strict=False)]
        return max(0.0, passed[STEAL] / sum(passed)) if len(passed) == COUNTED and sum(passed) > 0 else None


def is_busy() -> bool:
    """Whether more wants to run than there are processors: in the last seconds, or on the average of a minute."""
    return pressed() > PRESSED or (load_now() or 0.0) > (processors() or 1)


def crowd(load: float | None = None) -> str:
    """``load 15 on 2 processors`` where that leaves no game its own processor, else ""."""
    load, here = load_now() if load is None else load, processors()
    if load is None or here is None or load <= CROWDED * here:
        return ""
    return load_words(load, here)


def load_words(load: float, here: int) -> str:
    """``load 15 on 2 processors``."""
    return f"load {load:.0f} on {here} processor{'s' * (here != 1)}"


def running_now() -> int:
    """Threads that run or wait to at this moment, us among them; 0 where the kernel does not tell."""
    fields = told(LOADAVG).split()
    return int(fields[3].partition(b"/")[0]) if len(fields) > 3 else 0


def pressed() -> float:
    """Percent of the last 10 s in which something waited for a processor; 0 where the kernel does not tell."""
    _, _, rest = told(PRESSURE).partition(b"avg10=")
    return float(rest.split(None, 1)[0]) if rest else 0.0


@cache
def processors() -> int | None:
    """Those of the machine, as the load average counts for all of them."""
    return os.cpu_count()


def load_now() -> float | None:
    """The load average of a minute, None where the system has none."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _ticks() -> list[int]:
    """Time of all processors by what they did: user, nice, system, idle, iowait, irq, softirq, steal; [] for none."""
    line = told(STAT).partition(b"\n")[0].split()
    return [int(field) for field in line[1 : 1 + COUNTED]] if line[:1] == [b"cpu"] else []
