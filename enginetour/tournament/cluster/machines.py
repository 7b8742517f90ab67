"""The machines of a cluster as its manager knows them: who is fit, who plays what, who is set aside. Pure.

A worker is one process of Dask with an address that changes at each start; a machine is what people call it: the name
given to the worker, else its host. Failures, and whether it is drained, belong to the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from enginetour.tournament.cluster.orders import Found

MOST_FAILURES = 3  # games in a row that a machine fails before it is set aside (reliability spec 1: host failures)
HOMES = 4_096  # encounters whose machine is remembered: far more than are open at once

Seat = tuple[str, int]  # address of a worker, slot there
Encounter = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Seen:
    """A worker as the scheduler of the cluster lists it."""

    name: str  # "" where nobody gave it one
    host: str
    slots: int
    threads: int

    @property
    def seats(self) -> int:
        """Games it can play at once: a game takes a slot and a thread."""
        return min(self.slots, self.threads)


@dataclass
class Standing:
    """What is known of a machine as long as the run lasts."""

    failures: int = 0  # in a row
    aside: str = ""  # why it gets no games
    drained: bool = False
    played: int = 0


@dataclass
class Worker:
    """One that is there. `found` is None until it has looked what it has."""

    seen: Seen
    machine: str
    found: Found | None = None
    busy: set[int] = field(default_factory=set)


@dataclass
class Machines:
    """All of them; `workers` are those that are there now."""

    workers: dict[str, Worker] = field(default_factory=dict)
    standing: dict[str, Standing] = field(default_factory=dict)
    _homes: dict[Encounter, str] = field(default_factory=dict)  # machine where its games are played
    _last: dict[int, Seat] = field(default_factory=dict)  # by the scheduler's slot

    def heed(self, seen: Mapping[str, Seen]) -> tuple[list[str], dict[str, str]]:
        """Take the list of the moment: addresses that joined, addresses that are gone and what machines they were."""
        joined = [address for address in seen if address not in self.workers]
        gone = {address: worker.machine for address, worker in self.workers.items() if address not in seen}
        for address in gone:
            del self.workers[address]
        for address in joined:
            one = seen[address]
            self.workers[address] = Worker(one, one.name or one.host)
        return joined, gone

    def look(self, address: str, found: Found) -> None:
        """What a worker found of itself. One without a name, whose address is an IP number, is called by its host."""
        worker = self.workers.get(address)
        if worker is not None:
            worker.found = found
            worker.machine = worker.seen.name or found.host or worker.seen.host
            self.standing.setdefault(worker.machine, Standing())

    def state(self, address: str) -> Literal["looking", "lacking", "aside", "drained", "fit"]:
        """Whether a worker gets games."""
        worker = self.workers[address]
        standing = self.standing.get(worker.machine, Standing())
        if worker.found is None:
            return "looking"
        if worker.found.lacks or not worker.seen.seats:
            return "lacking"
        return "aside" if standing.aside else "drained" if standing.drained else "fit"

    def fit(self) -> list[str]:
        """Addresses of those that get games."""
        return [address for address in self.workers if self.state(address) == "fit"]

    @property
    def seats(self) -> int:
        """Games that can be played at once."""
        return sum(self.workers[address].seen.seats for address in self.fit())

    def seat_for(self, encounter: Encounter, prefer: int | None, but: frozenset[str] = frozenset()) -> Seat | None:
        """A free seat, taken from now on; None while it must wait. All games of an encounter are on one machine.

        `but` are machines that failed this game: others come first.
        """
        fit = self.fit()
        machines = {self.workers[address].machine for address in fit}
        home = self._homes.get(encounter)
        usable = (machines - but) or machines
        allowed = usable if home is None or home not in usable else {home}
        free = [
            (address, index)
            for address in fit
            if self.workers[address].machine in allowed
            for index in range(self.workers[address].seen.seats)
            if index not in self.workers[address].busy
        ]
        if not free:
            return None
        held = Counter(self._last.values())
        last = self._last.get(prefer) if prefer is not None else None

        def rank(seat: Seat) -> tuple[bool, int, float]:
            worker = self.workers[seat[0]]
            return seat != last, held[seat], len(worker.busy) / worker.seen.seats

        best = min(free, key=rank)
        self.workers[best[0]].busy.add(best[1])
        if prefer is not None:
            self._last[prefer] = best
        self._homes.pop(encounter, None)
        self._homes[encounter] = self.workers[best[0]].machine
        if len(self._homes) > HOMES:
            del self._homes[next(iter(self._homes))]
        return best

    def free(self, seat: Seat) -> None:
        """Its game has ended, or is lost."""
        if seat[0] in self.workers:
            self.workers[seat[0]].busy.discard(seat[1])

    def went_well(self, machine: str) -> None:
        """It played a game to its end."""
        standing = self.standing.setdefault(machine, Standing())
        standing.failures, standing.played = 0, standing.played + 1

    def failed(self, machine: str, why: str) -> bool:
        """It failed a game, or died; whether it is set aside by that."""
        standing = self.standing.setdefault(machine, Standing())
        standing.failures += 1
        if standing.failures < MOST_FAILURES or standing.aside:
            return False
        standing.aside = why
        return True

    def drain(self, name: str) -> bool:
        """No new games for a machine; False where none has that name."""
        if not self._is_known(name):
            return False
        self.standing[name].drained = True
        return True

    def use(self, name: str) -> bool:
        """Games again for one that was drained or set aside; False where none has that name."""
        if not self._is_known(name):
            return False
        standing = self.standing[name]
        standing.drained, standing.aside, standing.failures = False, "", 0
        return True

    def _is_known(self, name: str) -> bool:
        for worker in self.workers.values():
            self.standing.setdefault(worker.machine, Standing())
        return name in self.standing

    def rows(self) -> list[dict[str, object]]:
        """One for each worker, JSON-ready; machines that are gone but were known come last."""
        rows: list[dict[str, object]] = []
        for address, worker in sorted(self.workers.items(), key=lambda one: (one[1].machine, one[0])):
            standing, found = self.standing.get(worker.machine, Standing()), worker.found
            lacks = list(found.lacks) if found is not None else []
            if not worker.seen.seats:
                lacks.insert(0, "no slots: start its worker with --resources slot=N --nthreads N")
            rows.append(
                {
                    "machine": worker.machine,
                    "address": address,
                    "state": self.state(address),
                    "slots": worker.seen.seats,
                    "busy": len(worker.busy),
                    "played": standing.played,
                    "processor": found.processor if found is not None else "",
                    "speed": found.speed if found is not None else None,
                    "lacks": lacks,
                    "why": standing.aside,
                }
            )
        there = {worker.machine for worker in self.workers.values()}
        for name, standing in sorted(self.standing.items()):
            if name not in there:
                rows.append({"machine": name, "state": "gone", "played": standing.played, "why": standing.aside})
        return rows
