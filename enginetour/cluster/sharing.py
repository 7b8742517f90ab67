"""Workers that share a machine: each looks what it has by itself, and only together they want too much."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from enginetour.cluster.machines import Worker
from enginetour.cluster.orders import Demand

MEMORY_SHARE = 0.9  # of the machine's, for hash tables; the rest is for everything else (our decision)


def crowding(demand: Demand, slots: int, processors: int, memory_mb: int) -> Iterator[str]:
    """What so many slots want of a machine and do not get, a few words each."""
    want = demand.processors * slots
    if want > processors and not demand.crowded:
        yield f"processors: {slots} slots want {want}, {processors} here (fewer slots, or --force)"
    if demand.hash_mb * slots > MEMORY_SHARE * memory_mb:
        yield f"memory: {slots} slots want {demand.hash_mb * slots} MB for hash tables, {memory_mb} MB here"


def shared(workers: Iterable[Worker], demand: Demand) -> Iterator[str]:
    """A line for each machine on which several workers want more than it has."""
    machines: dict[str, list[Worker]] = defaultdict(list)
    for worker in workers:
        if worker.found is not None and not worker.found.lacks:
            machines[worker.seen.host].append(worker)
    for host, beside in sorted(machines.items()):
        if len(beside) > 1 and beside[0].found is not None:
            found, slots = beside[0].found, sum(worker.seen.seats for worker in beside)
            names = ", ".join(sorted(worker.machine for worker in beside))
            for words in crowding(demand, slots, found.processors, found.memory_mb):
                yield f"{names} share {host}, {words}"
