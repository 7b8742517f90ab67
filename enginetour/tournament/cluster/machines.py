"""Machines of a cluster: which can be used, what each lacks, and which games each plays.

A worker is one process of Dask with an address that changes at each start; a machine is what people call it: the name
given to the worker, else its host. Failures, and whether it is drained, belong to the machine.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from enginetour.engines.registry import of_workspace
from enginetour.model.errors import InputRefused
from enginetour.model.task import EngineSpec, GameTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.tournament.config.entrants import engines_of, find_tables, table_folders
from enginetour.tournament.executor import START_PARALLEL
from enginetour.tournament.plan import Plan, processors_wanted
from enginetour.tournament.scheduler import Encounter


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an entrant comes from: the id of its engine file, and the options its configuration puts over it."""

    engine: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Demand:
    """What a machine needs for the games of a tournament. `origins` are by entrant, for those with an engine file."""

    specs: tuple[EngineSpec, ...]
    origins: Mapping[str, Origin] = field(default_factory=dict)
    folders: tuple[str, ...] = ()  # of tablebases
    tables: int = 0  # files of WDL and DTZ tables in them
    variant: str = "standard"
    books: tuple[tuple[str, str], ...] = ()  # path, digest
    processors: int = 1  # of the hungriest game
    hash_mb: int = 0  # of the two largest tables
    crowded: bool = False  # more games than processors are meant
    start_parallel: int = START_PARALLEL  # engines that start at once at most
    clocks: tuple[TimeControl, ...] = ()  # all that are played by, where they go by the machine's speed

    @property
    def scaled(self) -> bool:
        """Clocks go by the machine's speed."""
        return bool(self.clocks)


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What a worker says of itself; it may play where it lacks nothing. `speed` as in `pace`, 0 if not measured."""

    host: str
    processor: str = ""
    speed: float = 0.0
    lacks: tuple[str, ...] = ()
    processors: int = 0  # as many as the worker may use at once
    affinity: frozenset[int] = frozenset()  # among which; workers of a machine may share them
    memory_mb: int = 0
    group: str = ""  # with a quota, as in `Allowed`; workers of a machine may share that too


@dataclass(frozen=True, slots=True)
class GameOrder:
    """One game for one worker; `seat` is the slot there that has its engines, if one has."""

    run: str
    tag: str
    seat: int
    task: GameTask


# What comes back for an order: ("result", Game), ("failed", words) of the machine, ("internal", words) of our own
# failure, ("lacks", words) of its equipment, ("anew", words) where it has to look again what it has.
Reply = tuple[str, object]


_MOST_FAILURES = 3  # games in a row that a machine fails before it is set aside (reliability spec 1: host failures)
_HOMES = 4_096  # encounters whose machine is remembered: far more than are open at once

WorkerSlot = tuple[str, int]  # address of a worker, slot there


@dataclass(frozen=True, slots=True)
class ListedWorker:
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
class _MachineRecord:
    """What is known of a machine as long as the run lasts."""

    failures: int = 0  # in a row
    aside: str = ""  # why it gets no games
    drained: bool = False
    played: int = 0


@dataclass
class Worker:
    """One that is there. `found` is None until it has looked what it has."""

    seen: ListedWorker
    machine: str
    found: WorkerReport | None = None
    busy: set[int] = field(default_factory=set)


@dataclass
class Machines:
    """All of them; `workers` are those that are there now."""

    workers: dict[str, Worker] = field(default_factory=dict)
    standing: dict[str, _MachineRecord] = field(default_factory=dict)
    _homes: dict[Encounter, str] = field(default_factory=dict)  # machine where its games are played
    _last: dict[int, WorkerSlot] = field(default_factory=dict)  # by the scheduler's slot

    def update(self, seen: Mapping[str, ListedWorker]) -> tuple[list[str], dict[str, str]]:
        """Take the list of the moment: addresses that joined, addresses that are gone and what machines they were."""
        joined = [address for address in seen if address not in self.workers]
        gone = {address: worker.machine for address, worker in self.workers.items() if address not in seen}
        for address in gone:
            del self.workers[address]
        self.workers |= {address: Worker(seen[address], seen[address].name or seen[address].host) for address in joined}
        return joined, gone

    def look(self, address: str, found: WorkerReport) -> None:
        """What a worker found of itself. One without a name, whose address is an IP number, is called by its host."""
        worker = self.workers.get(address)
        if worker is not None:
            worker.found = found
            worker.machine = worker.seen.name or found.host or worker.seen.host
            self.standing.setdefault(worker.machine, _MachineRecord())

    def state(self, address: str) -> Literal["looking", "lacking", "aside", "drained", "fit"]:
        """Whether a worker gets games."""
        worker = self.workers[address]
        standing = self.standing.get(worker.machine, _MachineRecord())
        if worker.found is None:
            return "looking"
        if worker.found.lacks or not worker.seen.seats:
            return "lacking"
        return "aside" if standing.aside else "drained" if standing.drained else "fit"

    def fit(self) -> list[str]:
        """Addresses of the workers that get games."""
        return [address for address in self.workers if self.state(address) == "fit"]

    @property
    def seats(self) -> int:
        """Games that can be played at once."""
        return sum(self.workers[address].seen.seats for address in self.fit())

    def seat_for(
        self, encounter: Encounter, prefer: int | None, but: frozenset[str] = frozenset()
    ) -> WorkerSlot | None:
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

        def rank(seat: WorkerSlot) -> tuple[bool, int, float]:
            worker = self.workers[seat[0]]
            return seat != last, held[seat], len(worker.busy) / worker.seen.seats

        best = min(free, key=rank)
        self.workers[best[0]].busy.add(best[1])
        if prefer is not None:
            self._last[prefer] = best
        self._homes.pop(encounter, None)
        self._homes[encounter] = self.workers[best[0]].machine
        if len(self._homes) > _HOMES:
            del self._homes[next(iter(self._homes))]
        return best

    def free(self, seat: WorkerSlot) -> None:
        """Its game has ended, or is lost."""
        if seat[0] in self.workers:
            self.workers[seat[0]].busy.discard(seat[1])

    def played(self, machine: str) -> None:
        """Count a game that a machine played to its end."""
        standing = self.standing.setdefault(machine, _MachineRecord())
        standing.failures, standing.played = 0, standing.played + 1

    def failed(self, machine: str, why: str) -> bool:
        """Count a game that a machine failed; whether it is set aside now."""
        standing = self.standing.setdefault(machine, _MachineRecord())
        standing.failures += 1
        if standing.failures < _MOST_FAILURES or standing.aside:
            return False
        standing.aside = why
        return True

    def drain(self, name: str) -> bool:
        """No new games for a machine; False where none has that name."""
        if record := self._record(name):
            record.drained = True
        return record is not None

    def use(self, name: str) -> bool:
        """Games again for one that was drained or set aside; False where none has that name."""
        if record := self._record(name):
            record.drained, record.aside, record.failures = False, "", 0
        return record is not None

    def _record(self, name: str) -> _MachineRecord | None:
        if any(worker.machine == name for worker in self.workers.values()):
            self.standing.setdefault(name, _MachineRecord())
        return self.standing.get(name)

    def rows(self) -> list[dict[str, object]]:
        """One for each worker, JSON-ready; machines that are gone but were known come last."""
        rows: list[dict[str, object]] = []
        for address, worker in sorted(self.workers.items(), key=lambda one: (one[1].machine, one[0])):
            standing, found = self.standing.get(worker.machine, _MachineRecord()), worker.found
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


_MEMORY_SHARE = 0.9  # of the machine's, for hash tables; the rest is for everything else (our decision)


def shortages(demand: Demand, slots: int, processors: int, memory_mb: int) -> Iterator[str]:
    """What so many slots want of a machine and do not get, a few words each."""
    want = demand.processors * slots
    if want > processors and not demand.crowded:
        yield f"processors: {slots} slots want {want}, {processors} here (fewer slots, or --force)"
    if demand.hash_mb * slots > _MEMORY_SHARE * memory_mb:
        yield f"memory: {slots} slots want {demand.hash_mb * slots} MB for hash tables, {memory_mb} MB here"


def overcommitted(workers: Iterable[Worker], demand: Demand) -> Iterator[str]:
    """A line for each machine on which several workers want more than it has."""
    machines: dict[str, list[tuple[Worker, WorkerReport]]] = defaultdict(list)
    for worker in workers:
        if worker.found is not None and not worker.found.lacks:
            machines[worker.seen.host].append((worker, worker.found))
    for host, there in sorted(machines.items()):
        if len(there) > 1:
            names = ", ".join(sorted(worker.machine for worker, _ in there))
            slots, found = sum(worker.seen.seats for worker, _ in there), [one for _, one in there]
            for words in shortages(demand, slots, _processors(found), found[0].memory_mb):
                yield f"{names} share {host}, {words}"


def _processors(found: Sequence[WorkerReport]) -> int:
    """Those of all workers together: each may have its own by an affinity, its group shares a quota."""
    parts = {one.group or str(number): one.processors for number, one in enumerate(found)}
    return min(len(frozenset().union(*(one.affinity for one in found))), sum(parts.values()))


_HASH = frozenset({"hash", "memory"})  # UCI's usual name; ours for the CECP command


def demand_of(plan: Plan, *, force: bool) -> Demand:
    """InputRefused for settings that are of one machine."""
    play = plan.config.play
    if play.affinity is True:
        step = "leave affinity out, or start each worker under taskset"
        raise InputRefused("affinity is of one machine", place=plan.config.at("play", "affinity"), step=step)
    if play.speed not in (None, "measure"):
        what = f"speed = {play.speed} is of one machine"
        raise InputRefused(what, place=plan.config.at("play", "speed"), step='say speed = "measure"')
    sides = tuple(plan.sides.values())
    tables = find_tables(plan.config) if play.tablebases is not None else None
    books = {(side.own_book.path, side.own_book.digest) for side in sides if side.own_book is not None}
    clocks = {tc for side in sides for tc in side.controls}
    return Demand(
        specs=tuple(side.spec for side in sides),
        origins=_origins(plan),
        folders=table_folders(plan.config),
        tables=len(tables.wdl) + len(tables.dtz) if tables is not None else 0,
        variant=play.variant,
        books=tuple(sorted(books)),
        processors=processors_wanted(sides, 1),
        hash_mb=sum(sorted(map(hash_mb, sides))[-2:]),
        crowded=force,
        start_parallel=play.start_parallel,
        clocks=tuple(sorted(clocks, key=str)) if play.speed == "measure" else (),
    )


def hash_mb(side: Side) -> int:
    """Of its engine, as the options say; 0 where they do not."""
    given = (value for name, value in side.spec.options if name.casefold() in _HASH)
    return max((int(value) for value in given if value.isascii() and value.isdigit()), default=0)


def _origins(plan: Plan) -> dict[str, Origin]:
    registry, folder = of_workspace(plan.workspace), plan.config.path.resolve().parent
    found = {}
    for section in plan.config.entrants:
        if section.command:
            continue
        options = tuple(
            (name, str(value).lower() if isinstance(value, bool) else str(value))
            for name, value in section.options.items()
        )
        for entry in engines_of(section, registry, folder):
            found[section.name or entry.name] = Origin(entry.id, options)
    return found
