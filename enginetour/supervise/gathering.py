"""A slot and its engines on one processor for a while, and which processor: no two slots of a machine on the same.

What takes turns has nothing to do side by side, and a processor that sleeps takes its time to wake up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from enginetour.supervise.cores import find
from enginetour.supervise.kernelfile import told
from enginetour.supervise.strays import MOST, PASSES

TOGETHER = "ENGINETOUR_TOGETHER"  # in a slot's environment: not empty where it may be done
CLAIM = "\0enginetour/processor/{}"  # abstract, unix(7): the kernel frees the name when whoever bound it has gone


class Claim:
    """A processor that is ours until `close`, as far as slots go, or as long as this is kept."""

    def __init__(self, processor: int) -> None:
        """OSError if another slot has it."""
        import socket  # here, for a quicker start of slots

        self.processor = processor
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._door.bind(CLAIM.format(processor))
        except OSError:
            self._door.close()
            raise

    def close(self) -> None:
        """Leave it to others."""
        self._door.close()

    def __del__(self) -> None:
        self.close()


def claim() -> Claim | None:
    """A core that no slot has; None where all are taken, or there is but one."""
    cores = find(1).cores
    for core in cores if len(cores) > 1 else ():
        with suppress(OSError):
            return Claim(core[0])
    return None


class Gathered:
    """The calling thread, and engines with all that they started, on one processor until `part`."""

    def __init__(self, processor: int, engines: Sequence[int]) -> None:
        """OSError if one of them may not run there, or cannot be bound; all are as they were then."""
        self._here, self._engines = {processor}, engines
        self._own = os.sched_getaffinity(0)
        self._before: dict[int, set[int]] = {}
        try:
            for engine in engines:
                for thread in _threads(engine):
                    self._bind(thread)
            os.sched_setaffinity(0, self._here)
        except OSError:
            self.part()
            raise

    def part(self) -> None:
        """As they were, those too that were started meanwhile. Twice is once."""
        with suppress(OSError):  # none of them is ours any more, by the control group
            os.sched_setaffinity(0, self._own)
        for thread, before in self._before.items():
            self._free(thread, before)
        for engine in self._engines:
            usual = self._before.get(engine, self._own)
            for _ in range(PASSES):  # whoever is still bound may start another one while we look
                if not [one for one in _threads(engine) if one not in self._before and self._free(one, usual)]:
                    break

    def _bind(self, thread: int) -> None:
        with suppress(ProcessLookupError):  # it has ended
            before = os.sched_getaffinity(thread)
            if not self._here < before:
                raise PermissionError
            os.sched_setaffinity(thread, self._here)
            self._before[thread] = before

    def _free(self, thread: int, before: set[int]) -> bool:
        """Whether it was bound: else it has looked after itself, or has gone and another one has its number."""
        with suppress(OSError):
            if os.sched_getaffinity(thread) == self._here:
                os.sched_setaffinity(thread, before)
                return True
        return False


def _threads(root: int) -> Iterator[int]:
    """Of a process and of those below it."""
    pids = [root]
    for pid in pids:
        with suppress(OSError):
            threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - numbers
            yield from map(int, threads)
            if len(pids) < MOST:
                for thread in threads:
                    pids += map(int, told(f"/proc/{pid}/task/{thread}/children").split())
