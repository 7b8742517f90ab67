"""A slot and its engines on one processor for a while, and which: slots of one machine each have another.

What takes turns has nothing to do side by side, and a processor that sleeps takes its time to wake up.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from enginetour.engines.machine import find
from enginetour.engines.strays import MOST, told

if TYPE_CHECKING:
    import socket

    from enginetour.engines.process import EngineProcess


TOGETHER = "ENGINETOUR_TOGETHER"  # in a slot's environment: not empty where it may be done
# Abstract names, unix(7): the kernel frees one when whoever bound it has gone. Containers with networks of their own
# do not see each other's.
TURNS, OWN = "\0enginetour/processor/{}", "\0enginetour/own-processor/{}"
_PROCESSOR = 36  # on which it ran last, behind the name: proc_pid_stat(5)


class Claim:
    """A processor of a core for one slot, until `close`."""

    def __init__(self, core: tuple[int, ...], processor: int, *, own: bool = False) -> None:
        """For turns, or as its `own`. OSError if another slot has it for that."""
        self.processor = processor
        self._core = core
        self._door = _door()
        try:
            self._door.bind((OWN if own else TURNS).format(processor))
        except OSError:
            self._door.close()
            raise

    @property
    def is_owned(self) -> bool:
        """Whether its core is one of a tournament with cores of its own, by now."""
        return _is_owned(self._core)

    def close(self) -> None:
        """Leave it to others."""
        self._door.close()


def claim(but: int | None = None) -> Claim | None:
    """A processor for turns, `but` only if there is no other: near where we are, for there the kernel found room.

    A core of each slot if there are enough. None where all are taken, or there is but one.
    """
    cores = find(1).cores
    here = next((at for at, core in enumerate(cores) if _here() in core), 0)
    cores = cores[here:] + cores[:here]
    free = [(core, core[0]) for core in cores] + [(core, other) for core in cores for other in core[1:]]
    free.sort(key=lambda one: one[1] == but)
    for core, processor in free if len(free) > 1 else ():
        if not _is_owned(core):
            with suppress(OSError):
                return Claim(core, processor)
    return None


def claim_own(processors: Iterable[int]) -> list[Claim]:
    """Those of the engines of a slot with cores of its own: nobody takes turns there from the next game on."""
    found = []
    for processor in processors:
        with suppress(OSError):  # another tournament has it too
            found.append(Claim((processor,), processor, own=True))
    return found


class Gathered:
    """The calling thread and engines, with all that they started, on one processor until `part`, and `again`.

    OSError if one of them may not run there, or nowhere else, or cannot be bound, and for more processes than are
    looked at in a game; all are as they were then.
    """

    def __init__(self, processor: int, engines: Sequence[EngineProcess]) -> None:
        self.engines = engines
        self._here = {processor}
        self._own = os.sched_getaffinity(0)
        self._before: dict[int, set[int]] = {}
        self._gather(new=True)

    def again(self) -> None:
        """In their next game; who was left behind by the last one is one of them."""
        self._gather(new=False)

    def part(self) -> None:
        """As they were. Once more after a while is for who was being started meanwhile."""
        self._free(_threads([engine.family() for engine in self.engines]))

    def _free(self, threads: Iterable[int]) -> None:
        for thread in threads:
            with suppress(OSError):
                if os.sched_getaffinity(thread) == self._here:  # else it has been bound by somebody else since
                    os.sched_setaffinity(thread, self._before.get(thread, self._own))

    def _gather(self, *, new: bool) -> None:
        families = [engine.family() for engine in self.engines]
        if max(map(len, families), default=0) >= MOST:
            raise OSError
        self._before = {}
        try:
            for thread in _threads(families):
                with suppress(ProcessLookupError):  # it has ended
                    before = os.sched_getaffinity(thread)
                    if before == self._here and not new:
                        before = self._own
                    elif not self._here < before:
                        raise PermissionError
                    os.sched_setaffinity(thread, self._here)
                    self._before[thread] = before
        except OSError:
            self._free(self._before)
            raise


def _threads(families: Sequence[Sequence[int]]) -> Iterator[int]:
    """The calling one, and all of these processes."""
    yield 0
    for family in families:
        for pid in family:
            with suppress(OSError):
                yield from map(int, os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208 - numbers


def _here() -> int:
    stat = told("/proc/self/stat")
    return int(stat[stat.rindex(b")") + 2 :].split()[_PROCESSOR])


def _is_owned(core: tuple[int, ...]) -> bool:
    with _door() as door:
        return any(door.connect_ex(OWN.format(processor)) == 0 for processor in core)


def _door() -> socket.socket:
    import socket  # here, for a quicker start of slots

    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
