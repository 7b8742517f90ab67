"""Cores of their own for the engines of each slot, and the rest for us (runner spec 14).

Threads of a core share its units: an engine has the first one we may use, and nobody the others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from enginetour.engines.processors import allowed

TOPOLOGY = Path("/sys/devices/system/cpu")  # Documentation/admin-guide/cputopology.rst
CPUS = "ENGINETOUR_CPUS"  # in a slot's environment: those of its engines, comma separated


@dataclass(frozen=True, slots=True)
class Cores:
    """The cores that we may use, each with its processors (its threads), and how many a slot's engines want."""

    cores: tuple[tuple[int, ...], ...]
    each: int
    processors: tuple[int, ...] = ()  # all that we may use

    def lacking(self, slots: int) -> str:
        """Why they do not do for so many slots, "" where they do."""
        want, have = slots * self.each, len(self.cores)
        if want <= have:
            return ""
        threads = sum(map(len, self.cores))
        apart = f", their {threads} processors are threads of them" if threads > have else ""
        of_slots = f"{slots} slot{'s' * (slots != 1)} of {self.each}"
        return f"{of_slots} want {want} core{'s' * (want != 1)} of their own, there are {have}{apart}"

    def engines(self, slot: int) -> tuple[int, ...]:
        """Processors of a slot's engines; none for a slot beyond all cores."""
        return tuple(core[0] for core in self.cores[slot * self.each : (slot + 1) * self.each])

    def others(self, slot: int, slots: int) -> tuple[int, ...]:
        """Processors of a slot's own process: what no slot's engines have, or theirs where nothing is left."""
        return self.rest(slots) or self.engines(slot)

    def keep_off(self, slots: int) -> None:
        """This process, all its threads, on what the engines leave; where nothing is left it may run anywhere."""
        bind(os.getpid(), self.rest(slots) or self.processors)

    def rest(self, slots: int) -> tuple[int, ...]:
        """What the engines of so many slots leave."""
        return tuple(number for core in self.cores[slots * self.each :] for number in core)


def find(each: int, topology: Path = TOPOLOGY) -> Cores:
    """Those of this process's affinity, neighbours side by side; no more than a quota of its group lets it use."""
    ours = os.sched_getaffinity(0)
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    for number in sorted(ours):
        place = topology / f"cpu{number}" / "topology"
        siblings = _listed(place / "thread_siblings_list") or (number,)
        package = _listed(place / "physical_package_id") or (0,)
        found[(*package, *siblings)] = tuple(sibling for sibling in siblings if sibling in ours)
    cores = tuple(found[key] for key in sorted(found))
    return Cores(cores[: allowed().count], each, tuple(sorted(ours)))


def _listed(path: Path) -> tuple[int, ...]:
    """``0-1,4`` as numbers; none where the kernel does not tell."""
    try:
        parts = [part.split("-") for part in path.read_text().strip().split(",")]
        return tuple(number for part in parts for number in range(int(part[0]), int(part[-1]) + 1))
    except (OSError, ValueError):
        return ()


def bind(pid: int, processors: tuple[int, ...]) -> None:
    """All threads of a process to these; none, or a process that has gone, changes nothing."""
    if not processors:
        return
    with suppress(OSError):
        for thread in list(Path(f"/proc/{pid}/task").iterdir()):
            os.sched_setaffinity(int(thread.name), processors)


@contextmanager
def elsewhere(cores: Cores | None, slots: int) -> Iterator[None]:
    """This process on what the engines leave, for a while."""
    before = os.sched_getaffinity(0)
    if cores is not None:
        cores.keep_off(slots)
    try:
        yield
    finally:
        if cores is not None:
            bind(os.getpid(), tuple(before))
