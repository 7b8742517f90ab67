"""Several workers of one machine want together what each of them finds enough."""

from __future__ import annotations

from dataclasses import replace

from enginetour.tournament.cluster.machines import Demand, Found, Machines, Seen, Worker, shared

FOUR = Found("kallisto", processors=4, affinity=frozenset(range(4)), memory_mb=1_000)


def workers(*slots: int, host: str = "10.0.0.1", found: Found = FOUR) -> list[Worker]:
    """Of one host, called a, b, c."""
    machines = Machines()
    machines.heed({f"tcp://{name}": Seen(name, host, each, each) for name, each in zip("abc", slots, strict=False)})
    for address in machines.workers:
        machines.look(address, found)
    return list(machines.workers.values())


def test_together_they_want_too_much() -> None:
    """Processors and memory are told with all their names, once a machine."""
    told = list(shared(workers(2, 1), Demand((), processors=2, hash_mb=400)))
    assert told == [
        "a, b share 10.0.0.1, processors: 3 slots want 6, 4 here (fewer slots, or --force)",
        "a, b share 10.0.0.1, memory: 3 slots want 1200 MB for hash tables, 1000 MB here",
    ]


def test_what_is_enough_is_not_told() -> None:
    """Nor what is meant, who lacks something, and workers of other machines."""
    demand = Demand((), processors=2)
    assert not list(shared(workers(1, 1), demand))
    assert not list(shared(workers(9), demand))
    assert not list(shared(workers(2, 1), replace(demand, crowded=True)))
    assert not list(shared(workers(2, 1, found=replace(FOUR, lacks=("book",))), demand))
    assert not list(shared([*workers(2), *workers(2, host="10.0.0.2")], demand))
