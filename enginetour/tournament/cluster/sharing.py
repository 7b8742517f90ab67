"""Workers that share a machine: each looks what it has by itself, and only together they want too much."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from enginetour.tournament.cluster.machines import Worker
from enginetour.tournament.cluster.orders import Demand, Found

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
    machines: dict[str, list[tuple[Worker, Found]]] = defaultdict(list)
    for worker in workers:
        if worker.found is not None and not worker.found.lacks:
            machines[worker.seen.host].append((worker, worker.found))
    for host, there in sorted(machines.items()):
        if len(there) > 1:
            names = ", ".join(sorted(worker.machine for worker, _ in there))
            slots, found = sum(worker.seen.seats for worker, _ in there), [one for _, one in there]
            for words in crowding(demand, slots, _processors(found), found[0].memory_mb):
                yield f"{names} share {host}, {words}"


def _processors(found: Sequence[Found]) -> int:
    """Those of all workers together: each may have its own by an affinity, its group shares a quota."""
    parts = {one.group or str(number): one.processors for number, one in enumerate(found)}
    return min(len(frozenset().union(*(one.affinity for one in found))), sum(parts.values()))
