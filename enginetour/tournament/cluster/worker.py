"""The worker side of the cluster: inspect the machine, play games in its slot processes.

What is here runs in threads of a Dask worker. One service has the games of one run. The manager holds the key of the
inspection that started it, so its release says that the manager is gone, however it went: then the service closes, and
takes its slots and engines with it. A game whose key is released is dropped in the same way.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import platform
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker
from distributed.utils import sync

from enginetour.engines import identity, machine
from enginetour.engines.identity import is_path
from enginetour.engines.machine import allowed_processors, memory_mb, processor_name
from enginetour.engines.registry import Registry, load, to_spec
from enginetour.interop.files import bundled_directory, file_digest
from enginetour.model.errors import InternalFailure, MachineFailure, TourError
from enginetour.model.game import Game
from enginetour.model.task import EngineSpec, GameTask
from enginetour.referee.tablebases import find_tables
from enginetour.store.address import workspace_of
from enginetour.tournament.cluster.machines import Demand, GameOrder, Origin, Reply, WorkerReport, shortages
from enginetour.tournament.executor import LocalExecutor, SlotProcess, SlotSettings

SLOT = "slot"  # the resource a game takes: dask worker --resources slot=4
FLUSH_S = 0.25  # between two tellings of live events of a worker: four pictures a second are smooth enough
MOST_EVENTS = 1_000  # held back at once; what comes beyond is dropped, as live events may be
ROUNDS = 5  # of the bench, for a speed that is only told; what clocks go by takes the usual number


@cache
def _speed(rounds: int) -> float:
    return machine.measure_speed(rounds)


def inspect_worker(demand: bytes, run: str) -> WorkerReport:
    """What this worker has and lacks; where it lacks nothing the service of the run starts. `run` names its events."""
    worker = get_worker()
    wanted: Demand = pickle.loads(demand)  # noqa: S301 - from a manager of our own version; Dask runs its code anyway
    slots = capacity_of(worker)
    start = Path.cwd()
    speed = _speed(machine.ROUNDS if wanted.scaled else ROUNDS)
    lacks = tuple(missing_requirements(wanted, slots, start, speed))
    if not lacks:
        service = WorkerService(worker, run, wanted, slots, start, speed if wanted.scaled else None)
        sync(worker.loop, worker.plugin_add, plugin=service, name=run)
    affinity, here = frozenset(os.sched_getaffinity(0)), allowed_processors()
    return WorkerReport(platform.node(), processor_name(), speed, lacks, here.count, affinity, memory_mb(), here.group)


def capacity_of(worker: Worker) -> int:
    """Games it can play at once: its slots, or its threads where those are fewer."""
    return int(min(worker.state.total_resources.get(SLOT, 0), worker.state.nthreads))


def play(order: GameOrder) -> Reply:
    """One game, in a slot process of this machine. Nothing is raised: what Dask sees fail, it would tell at length."""
    worker = get_worker()
    service = worker.plugins.get(order.run)
    if not isinstance(service, WorkerService):
        return "anew", "its service is closed"
    return service.play(order, str(worker.get_current_task()))


class WorkerSlots(LocalExecutor):
    """Slots of this machine, of which one game alone can be dropped."""

    speaking: Future[Any] | None = None  # whose event is being told

    def drop(self, future: Future[Any]) -> None:
        """Its game ends now, wherever it is; nothing where it has ended."""
        self._bell.ask(lambda: self._drop(future))

    def _drop(self, future: Future[Any]) -> None:
        future.cancel()  # if it is in the queue still
        for slot in self._slots.values():
            if slot.work is not None and slot.work.future is future:
                self._leave(slot, now=True)

    def _handle(self, slot: SlotProcess, kind: str, *values: Any) -> None:
        self.speaking = slot.work.future if slot.work is not None else None
        super()._handle(slot, kind, *values)


class WorkerService(WorkerPlugin):
    """The games of one run on one worker."""

    def __init__(self, worker: Worker, run: str, demand: Demand, slots: int, start: Path, speed: float | None) -> None:
        self.worker, self.run, self.slots, self.start, self.speed = worker, run, slots, start, speed
        self.demand = demand
        self.guard = str(worker.get_current_task())
        self._lock = threading.Lock()  # guards all below
        self._executor: WorkerSlots | None = None
        self._closed = False
        self._games: dict[str, Future[Any]] = {}  # by the key of its Dask task
        self._keys: dict[Future[Any], str] = {}
        self._known: dict[EngineSpec, EngineSpec] = {}
        self._events: list[tuple[str, str, object]] = []

    def play(self, order: GameOrder, key: str) -> Reply:
        """A key that comes twice is one game."""
        try:
            task = self._of_here(order.task)
        except (EngineMissing, TourError, ValueError) as words:
            return "lacks", str(words)
        try:
            with self._lock:
                future = self._games.get(key)
                if future is None:
                    future = self._games[key] = self._slots(order.tag).submit(task, prefer=order.seat)
                    self._keys[future] = key
            game = future.result()
        except InternalFailure as failure:
            return "internal", str(failure)
        except (MachineFailure, RuntimeError) as failure:
            return "failed", str(failure)
        except TourError as refusal:  # this machine's enginetour was updated under its worker
            return "lacks", str(refusal)
        finally:
            with self._lock:
                ended = self._games.pop(key, None)
                if ended is not None:
                    self._keys.pop(ended, None)
        assert isinstance(game, Game)
        speed = f", speed {_speed(machine.ROUNDS if self.demand.scaled else ROUNDS):g}"
        return "result", replace(game, hardware=f"{game.hardware} ({platform.node()}{speed})")

    def _of_here(self, task: GameTask) -> GameTask:
        sides = []
        for side in (task.white, task.black):
            local = replace(side, spec=self._spec_of_here(side.spec))
            sides.append(local.at_speed(self.speed))
        return replace(task, white=sides[0], black=sides[1])

    def _spec_of_here(self, spec: EngineSpec) -> EngineSpec:
        """Looked for once; whether its files stayed as they are is looked at before every game, as on one machine."""
        known = self._known.get(spec)
        if known is None or (spec.fingerprint and identity.fingerprint(known) != spec.fingerprint):
            known = self._known[spec] = engine_here(spec, self.demand.origins.get(spec.name), self.start)
        return known

    def _slots(self, tag: str) -> WorkerSlots:
        if self._closed:
            raise RuntimeError("its manager is gone")
        if self._executor is None:
            self._executor = WorkerSlots(
                self.slots, self._add_event, SlotSettings(tag, start_parallel=self.demand.start_parallel)
            )
        return self._executor

    def _add_event(self, _: int, name: str, payload: object) -> None:
        """A live event, in the executor's thread; several go together."""
        executor = self._executor
        key = self._keys.get(executor.speaking) if executor is not None and executor.speaking is not None else None
        if key is None or len(self._events) >= MOST_EVENTS:
            return
        self._events.append((key, name, payload))
        if len(self._events) == 1:
            self.worker.loop.add_callback(lambda: self.worker.loop.call_later(FLUSH_S, self._send_events))

    def _send_events(self) -> None:
        events, self._events = self._events, []
        if self.worker.status.name == "running":
            self.worker.log_event(self.run, pickle.dumps(events, protocol=pickle.HIGHEST_PROTOCOL))

    def transition(self, key: Any, start: str, finish: str, **_: object) -> None:
        """A key nobody wants any more: its game is dropped; that of the guard: the manager has gone."""
        del start
        if finish != "released":
            return
        if key == self.guard:
            self.worker.loop.add_callback(self._leave)
            return
        future, executor = self._games.get(key), self._executor
        if future is not None and executor is not None and not future.done():
            executor.drop(future)

    async def _leave(self) -> None:
        if self.worker.plugins.get(self.run) is self:  # no later service of the same run
            await self.worker.plugin_remove(name=self.run)

    def teardown(self, worker: Worker) -> Any:
        """The worker ends, or the run: so do its slots and engines."""
        del worker
        with self._lock:
            self._closed, executor, self._executor = True, self._executor, None
        return asyncio.to_thread(executor.close) if executor is not None else None


class EngineMissing(Exception):
    """This machine has not got the engine; the words say where it was looked for."""


def engine_here(spec: EngineSpec, origin: Origin | None, start: Path) -> EngineSpec:
    """The engine as this machine starts it, for a worker started in `start`; EngineMissing says where it is not.

    It is looked for in three places: the engine file of its id in ``engines/`` of the workspace in which the worker was
    started; the manager's own path; the bundled engine files, which find programs in PATH. It is the same engine where
    its fingerprint is the same.
    """
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


def missing_requirements(demand: Demand, slots: int, start: Path, speed: float) -> Iterator[str]:
    """What a worker with so many slots, started in `start`, does not have, a few words each."""
    for spec in demand.specs:
        try:
            engine_here(spec, demand.origins.get(spec.name), start)
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
