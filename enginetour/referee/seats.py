"""One side of a game in progress: its engine, its clock, the memory (RAM) that the engine uses.

The dead hold nothing any more, so living ones are looked at now and then, while nobody waits for us.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from enginetour.engines.protocol import Engine
from enginetour.engines.strays import read_proc
from enginetour.model.task import Rules, Side
from enginetour.referee.clock import MS, Clock, EngineWaits

# How much memory an engine was seen to hold: its process and all it started, from the kernel's own high-water marks.

MEMORY_INTERVAL_NS = 1_000 * MS  # between two looks: some 50 us each (measured), so they cost a game nothing
_MOST_PROCESSES = 64  # of one engine that are looked at: one that forks without end must not hold us up
_PEAK = b"\nVmHWM:"  # proc_pid_status(5): peak resident set size, kB; no name of a process has a line break there


class MemoryPeak:
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
    for _ in range(_MOST_PROCESSES):
        if not front:
            return
        one = front.pop()
        yield one
        front += [int(word) for word in read_proc(f"/proc/{one}/task/{one}/children").split()]


def _peak_kb(pid: int) -> int | None:
    begin = (status := read_proc(f"/proc/{pid}/status")).find(_PEAK)
    return int(status[begin + len(_PEAK) :].split(None, 1)[0]) if begin >= 0 else None


class Seat:
    """One side of a game under way."""

    def __init__(self, side: Side, rules: Rules, *, white: bool) -> None:
        self.side = side
        self.white = white
        self.name = side.spec.name
        self.clock = Clock(side, rules.hang_limit)
        self.searched = False  # set thinking in this game
        self.draw_claimed = False  # said "1/2-1/2" and has not moved since
        self.offers_draw = False  # its offer stands
        self.warnings: list[str] = []
        self.began_ns = time.monotonic_ns()
        self.asked_ns = 0  # CLOCK_MONOTONIC of its last `go` in this game
        self.look_ns = 0  # when its memory is due to be looked at
        self.engine: Engine  # that sits here; only after `prepare_engines` has found no fault
        self.present: Engine | None = None  # the engine, if it came so far
        self._footprint: MemoryPeak | None = None
        self.queue: EngineWaits | None = None  # while a game goes on

    @property
    def color(self) -> str:
        """``White`` or ``Black``, for sentences."""
        return "White" if self.white else "Black"

    def sit(self, engine: Engine | None) -> None:
        """Give the seat to a process."""
        self.present, self._footprint = engine, None
        if engine is not None:
            self.engine, self._footprint = engine, MemoryPeak(engine.process.engine_pid)

    def score(self) -> int | None:
        """What its last search came to, in centipawns for itself; None when it did not tell.

        A bound, as a search that is cut short often ends with, is no score that the engine stands by: the last exact
        one counts, as in fastchess.
        """
        return self.engine.thought(self.engine.search_text, white=self.white, bounds=False).score

    def cpu_ms(self, *, whole: bool = True) -> int | None:
        """Processor time of its engine since its start; None when it never came, or has been ended."""
        return None if self.present is None else self.present.process.cpu_ms(whole=whole)

    def look(self) -> int | None:
        """The most memory its engine was seen to hold, in kB; None when it never came."""
        self.look_ns = time.monotonic_ns() + MEMORY_INTERVAL_NS
        return None if self._footprint is None else self._footprint.look()
