"""Machines of a cluster: which can be used, what each lacks, and which games each plays.

A worker is one Dask process; its address changes with each start. A machine has the name that was given to its worker,
or otherwise the name of its host. Failures are counted for a machine, and a machine is drained, not a worker.
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
    """Where an entrant comes from: the id of its engine file, and the options of its configuration."""

    engine: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Demand:
    """What a machine needs for the games of a tournament. `origins` contains the entrants with an engine file."""

    specs: tuple[EngineSpec, ...]
    origins: Mapping[str, Origin] = field(default_factory=dict)
    folders: tuple[str, ...] = ()  # directories of tablebases
    tables: int = 0  # number of WDL and DTZ files in them
    variant: str = "standard"
    books: tuple[tuple[str, str], ...] = ()  # path, digest
    processors: int = 1  # for the game that needs most
    hash_mb: int = 0  # sum of the two largest hash tables
    crowded: bool = False  # true: the games may need more processors than there are
    start_parallel: int = START_PARALLEL  # largest number of engines that start at the same time
    clocks: tuple[TimeControl, ...] = ()  # all time controls, if they are scaled by the machine's speed

    @property
    def scaled(self) -> bool:
        """Return whether clocks are scaled by the machine's speed."""
        return bool(self.clocks)


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What a worker has. It may play if it lacks nothing. `speed` is 0 if it was not measured."""

    host: str
    processor: str = ""
    speed: float = 0.0
    lacks: tuple[str, ...] = ()
    processors: int = 0  # processors that the worker may use at the same time
    affinity: frozenset[int] = frozenset()  # numbers of these processors; workers of one machine may share them
    memory_mb: int = 0
    group: str = ""  # control group with a CPU quota (see `Allowed`); workers of one machine may share it


@dataclass(frozen=True, slots=True)
class GameOrder:
    """One game for one worker. `seat` is the worker's slot for it, which may already run its engines."""

    run: str
    tag: str
    seat: int
    task: GameTask


# Reply to an order: ("result", Game), ("failed", text) for the machine, ("internal", text) for an internal error,
# ("lacks", text) for missing equipment, ("recheck", text) if the worker must check its equipment again.
Reply = tuple[str, object]


_MOST_FAILURES = 3  # failed games in a row after which a machine gets no games (reliability spec 1: host failures)
_HOMES = 4_096  # number of encounters whose machine is stored; far more than are open at the same time

WorkerSlot = tuple[str, int]  # address of a worker, number of its slot


@dataclass(frozen=True, slots=True)
class ListedWorker:
    """A worker as the scheduler of the cluster lists it."""

    name: str  # "" if no name was given
    host: str
    slots: int
    threads: int

    @property
    def seats(self) -> int:
        """The number of concurrent games: a game needs a slot and a thread."""
        return min(self.slots, self.threads)


@dataclass
class _MachineRecord:
    """What is known about a machine during the run."""

    failures: int = 0  # failed games in a row
    aside: str = ""  # why it gets no games; "" if it gets games
    drained: bool = False
    played: int = 0


@dataclass
class Worker:
    """A worker that is present; `found` is None until it has checked its equipment."""

    seen: ListedWorker
    machine: str
    found: WorkerReport | None = None
    busy: set[int] = field(default_factory=set)


@dataclass
class Machines:
    """All machines of the run; `workers` are the workers that are present."""

    workers: dict[str, Worker] = field(default_factory=dict)
    standing: dict[str, _MachineRecord] = field(default_factory=dict)
    _homes: dict[Encounter, str] = field(default_factory=dict)  # machine for all games of the encounter
    _last: dict[int, WorkerSlot] = field(default_factory=dict)  # slot of the scheduler -> slot that it used last

    def update(self, seen: Mapping[str, ListedWorker]) -> tuple[list[str], dict[str, str]]:
        """Store the current list of workers.

        Return the new addresses, and the removed addresses with their machines.
        """
        joined = [address for address in seen if address not in self.workers]
        gone = {address: worker.machine for address, worker in self.workers.items() if address not in seen}
        for address in gone:
            del self.workers[address]
        self.workers |= {address: Worker(seen[address], seen[address].name or seen[address].host) for address in joined}
        return joined, gone

    def look(self, address: str, found: WorkerReport) -> None:
        """Store a worker's report. A worker without a name then has the name of its host instead of an IP address."""
        worker = self.workers.get(address)
        if worker is not None:
            worker.found = found
            worker.machine = worker.seen.name or found.host or worker.seen.host
            self.standing.setdefault(worker.machine, _MachineRecord())

    def state(self, address: str) -> Literal["looking", "lacking", "aside", "drained", "fit"]:
        """Return whether a worker gets games, or why not."""
        worker = self.workers[address]
        standing = self.standing.get(worker.machine, _MachineRecord())
        if worker.found is None:
            return "looking"
        if worker.found.lacks or not worker.seen.seats:
            return "lacking"
        return "aside" if standing.aside else "drained" if standing.drained else "fit"

    def fit(self) -> list[str]:
        """Return the addresses of the workers that get games."""
        return [address for address in self.workers if self.state(address) == "fit"]

    @property
    def seats(self) -> int:
        """The number of games that can be played concurrently."""
        return sum(self.workers[address].seen.seats for address in self.fit())

    def seat_for(
        self, encounter: Encounter, prefer: int | None, but: frozenset[str] = frozenset()
    ) -> WorkerSlot | None:
        """Reserve a free slot for a game and return it, or None if the game must wait.

        One machine plays all games of an encounter. `prefer` is the scheduler's slot. The game has failed on the
        machines in `but`; they are used only if there are no others.
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
        """Release a slot whose game has ended or was lost."""
        if seat[0] in self.workers:
            self.workers[seat[0]].busy.discard(seat[1])

    def played(self, machine: str) -> None:
        """Count a game that a machine finished."""
        standing = self.standing.setdefault(machine, _MachineRecord())
        standing.failures, standing.played = 0, standing.played + 1

    def failed(self, machine: str, why: str) -> bool:
        """Count a game that failed on a machine. Return whether the machine gets no games from now on."""
        standing = self.standing.setdefault(machine, _MachineRecord())
        standing.failures += 1
        if standing.failures < _MOST_FAILURES or standing.aside:
            return False
        standing.aside = why
        return True

    def drain(self, name: str) -> bool:
        """Give no new games to a machine. Return false if there is no machine with this name."""
        if record := self._record(name):
            record.drained = True
        return record is not None

    def use(self, name: str) -> bool:
        """Give games to a machine again. Return false if there is no machine with this name."""
        if record := self._record(name):
            record.drained, record.aside, record.failures = False, "", 0
        return record is not None

    def _record(self, name: str) -> _MachineRecord | None:
        if any(worker.machine == name for worker in self.workers.values()):
            self.standing.setdefault(name, _MachineRecord())
        return self.standing.get(name)

    def rows(self) -> list[dict[str, object]]:
        """Return one row per worker for JSON; known machines without a worker come last."""
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


_MEMORY_SHARE = 0.9  # share of the machine's memory that hash tables may use (a choice of enginetour)


def shortages(demand: Demand, slots: int, processors: int, memory_mb: int) -> Iterator[str]:
    """Yield a text for each resource that a machine has too little of for a number of concurrent games."""
    want = demand.processors * slots
    if want > processors and not demand.crowded:
        yield f"processors: {slots} concurrent games need {want}, found {processors} (use fewer games, or --force)"
    if demand.hash_mb * slots > _MEMORY_SHARE * memory_mb:
        yield f"memory: {slots} concurrent games need {demand.hash_mb * slots} MB for hash tables, found {memory_mb} MB"


def overcommitted(workers: Iterable[Worker], demand: Demand) -> Iterator[str]:
    """Yield a warning for each machine whose workers together need more than it has."""
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
    """Return the number of processors of all workers together.

    Each worker may have its own affinity. The workers of a group share a quota.
    """
    parts = {one.group or str(number): one.processors for number, one in enumerate(found)}
    return min(len(frozenset().union(*(one.affinity for one in found))), sum(parts.values()))


_HASH = frozenset({"hash", "memory"})  # the usual UCI option, and the option that sends the CECP command `memory`


def demand_of(plan: Plan, *, force: bool) -> Demand:
    """Return what a plan needs on each machine. Raise InputRefused for a setting that works on one machine only."""
    play = plan.config.play
    if play.affinity is True:
        step = "remove affinity, or start each worker with taskset"
        raise InputRefused(
            "affinity can only be used on one machine", place=plan.config.at("play", "affinity"), step=step
        )
    if play.speed not in (None, "measure"):
        what = f"speed = {play.speed} can only be used on one machine"
        raise InputRefused(what, place=plan.config.at("play", "speed"), step='set speed = "measure"')
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
    """Return the hash size in MB from the options of an engine, or 0 without such an option."""
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
            for name, value in {**plan.config.defaults.options, **section.options}.items()
        )
        for entry in engines_of(section, registry, folder):
            found[section.name or entry.name] = Origin(entry.id, options)
    return found
