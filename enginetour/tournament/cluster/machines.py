"""Machines of a cluster: which can be used, what each lacks, and which games each plays.

A worker is one process of Dask with an address that changes at each start; a machine is what people call it: the name
given to the worker, else its host. Failures, and whether it is drained, belong to the machine.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from enginetour.engines import identity
from enginetour.engines.identity import is_path
from enginetour.engines.machine import allowed_processors, memory_mb
from enginetour.engines.registry import Registry, load, of_workspace, to_spec
from enginetour.interop.files import bundled_directory, file_digest
from enginetour.model.errors import InputRefused, TourError
from enginetour.model.task import EngineSpec, GameTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.tablebases import find_tables
from enginetour.tournament.config.entrants import engines_of, table_folders
from enginetour.tournament.config.entrants import find_tables as entrants_find_tables
from enginetour.tournament.config.workspace import workspace_of
from enginetour.tournament.limits import processors_wanted
from enginetour.tournament.places import START_PARALLEL
from enginetour.tournament.plan import Plan

# Messages between the manager and its workers: frozen and picklable, without database objects.


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an entrant comes from: the id of its engine file, and the options its configuration puts over it."""

    engine: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Demand:
    """What a machine needs for the games of a tournament. `origins` are by the names of `specs`."""

    specs: tuple[EngineSpec, ...]
    origins: tuple[tuple[str, Origin], ...] = ()
    folders: tuple[str, ...] = ()  # of tablebases
    tables: int = 0  # files of WDL and DTZ tables in them
    variant: str = "standard"
    books: tuple[tuple[str, str], ...] = ()  # path, digest
    processors: int = 1  # of the hungriest game
    hash_mb: int = 0  # of the two largest tables
    crowded: bool = False  # more games than processors are meant
    start_parallel: int = START_PARALLEL  # engines that start at once at most
    clocks: tuple[TimeControl, ...] = ()  # all that are played by, where they go by the machine's speed

    def origin(self, name: str) -> Origin | None:
        """Of an entrant; None of one that has no engine file."""
        return dict(self.origins).get(name)

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


# State of the machines in the manager: fit, playing, drained, suspended. Pure.

MOST_FAILURES = 3  # games in a row that a machine fails before it is set aside (reliability spec 1: host failures)
_HOMES = 4_096  # encounters whose machine is remembered: far more than are open at once

WorkerSlot = tuple[str, int]  # address of a worker, slot there
Encounter = tuple[str, str, int]


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
class MachineRecord:
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
    standing: dict[str, MachineRecord] = field(default_factory=dict)
    _homes: dict[Encounter, str] = field(default_factory=dict)  # machine where its games are played
    _last: dict[int, WorkerSlot] = field(default_factory=dict)  # by the scheduler's slot

    def heed(self, seen: Mapping[str, ListedWorker]) -> tuple[list[str], dict[str, str]]:
        """Take the list of the moment: addresses that joined, addresses that are gone and what machines they were."""
        joined = [address for address in seen if address not in self.workers]
        gone = {address: worker.machine for address, worker in self.workers.items() if address not in seen}
        for address in gone:
            del self.workers[address]
        for address in joined:
            one = seen[address]
            self.workers[address] = Worker(one, one.name or one.host)
        return joined, gone

    def look(self, address: str, found: WorkerReport) -> None:
        """What a worker found of itself. One without a name, whose address is an IP number, is called by its host."""
        worker = self.workers.get(address)
        if worker is not None:
            worker.found = found
            worker.machine = worker.seen.name or found.host or worker.seen.host
            self.standing.setdefault(worker.machine, MachineRecord())

    def state(self, address: str) -> Literal["looking", "lacking", "aside", "drained", "fit"]:
        """Whether a worker gets games."""
        worker = self.workers[address]
        standing = self.standing.get(worker.machine, MachineRecord())
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

    def went_well(self, machine: str) -> None:
        """It played a game to its end."""
        standing = self.standing.setdefault(machine, MachineRecord())
        standing.failures, standing.played = 0, standing.played + 1

    def failed(self, machine: str, why: str) -> bool:
        """It failed a game, or died; whether it is set aside by that."""
        standing = self.standing.setdefault(machine, MachineRecord())
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
            self.standing.setdefault(worker.machine, MachineRecord())
        return name in self.standing

    def rows(self) -> list[dict[str, object]]:
        """One for each worker, JSON-ready; machines that are gone but were known come last."""
        rows: list[dict[str, object]] = []
        for address, worker in sorted(self.workers.items(), key=lambda one: (one[1].machine, one[0])):
            standing, found = self.standing.get(worker.machine, MachineRecord()), worker.found
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


# Workers on the same machine: each alone has enough, together they may need too much.

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


# Requirements of a plan on every machine.

_MEASURE = "measure"
HASH = frozenset({"hash", "memory"})  # UCI's usual name; ours for the CECP command


def demand_of(plan: Plan, *, force: bool) -> Demand:
    """InputRefused for settings that are of one machine."""
    play = plan.config.play
    if play.affinity is True:
        step = "leave affinity out, or start each worker under taskset"
        raise InputRefused("affinity is of one machine", place=plan.config.at("play", "affinity"), step=step)
    if play.speed not in (None, _MEASURE):
        what = f"speed = {play.speed} is of one machine"
        raise InputRefused(what, place=plan.config.at("play", "speed"), step='say speed = "measure"')
    sides = tuple(plan.sides.values())
    tables = entrants_find_tables(plan.config) if play.tablebases is not None else None
    books = {(side.own_book.path, side.own_book.digest) for side in sides if side.own_book is not None}
    clocks = {side.playing(white=white).tc for side in sides for white in (True, False)}
    return Demand(
        specs=tuple(side.spec for side in sides),
        origins=tuple(_origins(plan).items()),
        folders=table_folders(plan.config),
        tables=len(tables.wdl) + len(tables.dtz) if tables is not None else 0,
        variant=play.variant,
        books=tuple(sorted(books)),
        processors=processors_wanted(sides, 1),
        hash_mb=sum(sorted(map(hash_mb, sides))[-2:]),
        crowded=force,
        start_parallel=play.start_parallel,
        clocks=tuple(sorted(clocks, key=str)) if play.speed == _MEASURE else (),
    )


def hash_mb(side: Side) -> int:
    """Of its engine, as the options say; 0 where they do not."""
    given = (value for name, value in side.spec.options if name.casefold() in HASH)
    return max((int(value) for value in given if value.isascii() and value.isdigit()), default=0)


def _origins(plan: Plan) -> dict[str, Origin]:
    """By entrant; none for a command that stands in the configuration itself."""
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


# Requirements that this machine meets: engines, tablebases, books, processors, memory.
#
# An engine is looked for in three places: the engine file of its id in ``engines/`` of the workspace in which the
# worker was started; the manager's own path; the engine files we ship, which find programs in PATH. It is the same
# engine where its fingerprint is the same.


class EngineMissing(Exception):
    """This machine has not got the engine; the words say where it was looked for."""


def engine_here(spec: EngineSpec, origin: Origin | None, start: Path) -> EngineSpec:
    """The engine as this machine starts it, for a worker started in `start`. Raises NotHere."""
    told: list[str] = []
    for found in _candidates(spec, origin, workspace_of(start) / "engines"):
        if isinstance(found, str):
            told.append(found)
            continue
        try:
            print_ = identity.fingerprint(found)
        except TourError as refusal:
            told.append(str(refusal).removeprefix(f"{spec.name}: "))
            continue
        if print_ == spec.fingerprint or not spec.fingerprint:
            return found
        told.append(f"another build: {found.command[0]} makes it {print_}, not {spec.fingerprint}")
    raise EngineMissing("; ".join(dict.fromkeys(told)))


def _candidates(spec: EngineSpec, origin: Origin | None, engines: Path) -> Iterator[EngineSpec | str]:
    """Ways to start it, and words where there is none; an engine file of this machine is the only one that counts."""
    own = load([engines])
    if origin is not None and origin.engine in own.paths:
        yield _by_file(spec, origin, own)
        return
    if os.access(spec.command[0], os.X_OK):
        yield spec
    else:
        yield f"no program {spec.command[0]}"
    ours = load([bundled_directory("engines")])
    if origin is not None and origin.engine in ours.paths:
        yield _by_file(spec, origin, ours)


def _by_file(spec: EngineSpec, origin: Origin, registry: Registry) -> EngineSpec | str:
    """As the engine file says: program, folder, environment, and the paths among the options; the rest stays."""
    try:
        there = to_spec(registry.get(origin.engine), name=spec.name, options=dict(origin.options))
    except TourError as refusal:
        return str(refusal).removeprefix(f"{spec.name}: ")
    paths = {name.casefold(): value for name, value in there.options if is_path(name, value)}
    options = tuple(
        (name, paths.get(name.casefold(), value) if is_path(name, value) else value) for name, value in spec.options
    )
    return replace(spec, command=there.command, dir=there.dir, env=there.env, files=there.files, options=options)


def missing_requirements(demand: Demand, slots: int, start: Path, speed: float) -> tuple[str, ...]:
    """What a worker with so many slots, started in `start`, has not got, a few words each."""
    return tuple(_lacking(demand, slots, start, speed))


def _lacking(demand: Demand, slots: int, start: Path, speed: float) -> Iterator[str]:
    for spec in demand.specs:
        try:
            engine_here(spec, demand.origin(spec.name), start)
        except EngineMissing as words:
            yield f"{spec.name}: {words}"
    yield from _tables(demand)
    for path, digest in demand.books:
        if not Path(path).is_file():
            yield f"book: no file {path}"
        elif digest and file_digest(Path(path)) != digest:
            yield f"book: {path} is another one"
    yield from shortages(demand, slots, allowed_processors().count, memory_mb())
    for clock in demand.clocks:
        try:
            clock.scaled(1 / speed, nodes=False)
        except ValueError as words:
            yield f"speed: {words}"


def _tables(demand: Demand) -> Iterator[str]:
    missing = [folder for folder in demand.folders if not Path(folder).is_dir()]
    if missing:
        yield f"tablebases: no folder {', '.join(missing)}"
    elif demand.folders:
        there = find_tables(demand.folders, demand.variant)
        count = len(there.wdl) + len(there.dtz)
        if count < demand.tables:
            yield f"tablebases: {count} of {demand.tables} files in {', '.join(demand.folders)}"
