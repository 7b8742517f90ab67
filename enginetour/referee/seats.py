"""How much memory an engine was seen to hold: its process and all it started, from the kernel's own high-water marks.

The dead hold nothing any more, so living ones are looked at now and then, while nobody waits for us.
"""

from __future__ import annotations

from collections.abc import Iterator

from enginetour.engines.strays import told
from enginetour.referee.clock import MS

LOOK_NS = 1_000 * MS  # between two looks: some 50 us each (measured), so they cost a game nothing
MOST_PROCESSES = 64  # of one engine that are looked at: one that forks without end must not hold us up
_PEAK = b"\nVmHWM:"  # proc_pid_status(5): peak resident set size, kB; no name of a process has a line break there


class Footprint:
    """The memory of one engine process, by the largest that was seen, in kB."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._most_kb: int | None = None

    def look(self) -> int | None:
        """Look again; the most so far, None when nothing was ever seen."""
        peaks = [peak for pid in _family(self._pid) if (peak := _peak_kb(pid)) is not None]
        if peaks:
            self._most_kb = max(sum(peaks), self._most_kb or 0)
        return self._most_kb


def _family(pid: int) -> Iterator[int]:
    """The process, its children, theirs, and so on, as far as the kernel tells (proc_pid_task(5), children)."""
    front = [pid]
    for _ in range(MOST_PROCESSES):
        if not front:
            return
        one = front.pop()
        yield one
        front += [int(word) for word in told(f"/proc/{one}/task/{one}/children").split()]


def _peak_kb(pid: int) -> int | None:
    begin = (status := told(f"/proc/{pid}/status")).find(_PEAK)
    return int(status[begin + len(_PEAK) :].split(None, 1)[0]) if begin >= 0 else None
