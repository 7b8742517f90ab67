"""Worker side of the cluster: check the equipment of the machine, and play games in its slot processes.

This code runs in threads of a Dask worker. A service plays the games of one run. The manager keeps the Dask key of the
check that started the service. When this key is released, the manager has ended or lost its connection: the service
then closes its slots and engines. When the key of a game is released, the service drops the game.
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

SLOT = "slot"  # name of the Dask resource that each game needs: dask worker --resources slot=4
FLUSH_S = 0.25  # seconds between two messages with live events: four updates per second are smooth enough
MOST_EVENTS = 1_000  # largest number of live events in one message; further ones are dropped
ROUNDS = 5  # of the benchmark, if its result is only shown; a result that scales clocks needs the usual number


@cache
def _speed(rounds: int) -> float:
    return machine.measure_speed(rounds)


def inspect_worker(demand: bytes, run: str) -> WorkerReport:
    """Return what this worker has and lacks. If it lacks nothing, start the service of the run named `run`."""
    worker = get_worker()
    wanted: Demand = pickle.loads(demand)  # noqa: S301 - from a manager of the same version; Dask runs its code anyway
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
    """Return the number of concurrent games of a worker: the smaller one of its numbers of slots and threads."""
    return int(min(worker.state.total_resources.get(SLOT, 0), worker.state.nthreads))


def play(order: GameOrder) -> Reply:
    """Play a game in a slot process of this machine.

    Errors become replies, because Dask would log exceptions at length.
    """
    worker = get_worker()
    service = worker.plugins.get(order.run)
    if not isinstance(service, WorkerService):
        return "recheck", "its service is closed"
    return service.play(order, str(worker.get_current_task()))


class WorkerSlots(LocalExecutor):
    """The slots of this machine. They can drop a single game."""

    speaking: Future[Any] | None = None  # the game of the current event

    def drop(self, future: Future[Any]) -> None:
        """Drop a game, queued or in progress; do nothing if it has ended."""
        self._bell.ask(lambda: self._drop(future))

    def _drop(self, future: Future[Any]) -> None:
        future.cancel()  # has an effect if the game is still queued
        for slot in self._slots.values():
            if slot.work is not None and slot.work.future is future:
                self._leave(slot, now=True)

    def _handle(self, slot: SlotProcess, kind: str, *values: Any) -> None:
        self.speaking = slot.work.future if slot.work is not None else None
        super()._handle(slot, kind, *values)


class WorkerService(WorkerPlugin):
    """Plays the games of one run on one worker."""

    def __init__(self, worker: Worker, run: str, demand: Demand, slots: int, start: Path, speed: float | None) -> None:
        self.worker, self.run, self.slots, self.start, self.speed = worker, run, slots, start, speed
        self.demand = demand
        self.guard = str(worker.get_current_task())
        self._lock = threading.Lock()  # guards the attributes below
        self._executor: WorkerSlots | None = None
        self._closed = False
        self._games: dict[str, Future[Any]] = {}  # by the key of its Dask task
        self._keys: dict[Future[Any], str] = {}
        self._known: dict[EngineSpec, EngineSpec] = {}
        self._events: list[tuple[str, str, object]] = []

    def play(self, order: GameOrder, key: str) -> Reply:
        """Play a game. A second order with the same key returns the result of the same game."""
        try:
            task = self._local_task(order.task)
        except (EngineMissing, TourError, ValueError) as error:
            return "lacks", str(error)
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
        except TourError as refusal:  # enginetour was updated on this machine while its worker was running
            return "lacks", str(refusal)
        finally:
            with self._lock:
                ended = self._games.pop(key, None)
                if ended is not None:
                    self._keys.pop(ended, None)
        assert isinstance(game, Game)
        speed = f", speed {_speed(machine.ROUNDS if self.demand.scaled else ROUNDS):g}"
        return "result", replace(game, hardware=f"{game.hardware} ({platform.node()}{speed})")

    def _local_task(self, task: GameTask) -> GameTask:
        sides = []
        for side in (task.white, task.black):
            local = replace(side, spec=self._local_spec(side.spec))
            sides.append(local.at_speed(self.speed))
        return replace(task, white=sides[0], black=sides[1])

    def _local_spec(self, spec: EngineSpec) -> EngineSpec:
        """Return the engine as installed on this machine. It is searched for once; its files are checked each game."""
        known = self._known.get(spec)
        if known is None or (spec.fingerprint and identity.fingerprint(known) != spec.fingerprint):
            known = self._known[spec] = local_engine(spec, self.demand.origins.get(spec.name), self.start)
        return known

    def _slots(self, tag: str) -> WorkerSlots:
        if self._closed:
            raise RuntimeError("the manager of its slots was closed")
        if self._executor is None:
            self._executor = WorkerSlots(
                self.slots, self._add_event, SlotSettings(tag, start_parallel=self.demand.start_parallel)
            )
        return self._executor

    def _add_event(self, _: int, name: str, payload: object) -> None:
        """Queue a live event; several events are sent together. This runs in the executor's thread."""
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
        """Drop the game of a released key.

        If it is the guard's key, close the service, because the manager has gone.
        """
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
        if self.worker.plugins.get(self.run) is self:  # a later service of the same run stays
            await self.worker.plugin_remove(name=self.run)

    def teardown(self, worker: Worker) -> Any:
        """End the slots and engines when the worker or the run ends."""
        del worker
        with self._lock:
            self._closed, executor, self._executor = True, self._executor, None
        return asyncio.to_thread(executor.close) if executor is not None else None


class EngineMissing(Exception):
    """This machine does not have the engine. The text lists the places where enginetour searched for it."""


def local_engine(spec: EngineSpec, origin: Origin | None, start: Path) -> EngineSpec:
    """Return an engine as this machine starts it. Raise EngineMissing if it is not found.

    It is searched for in three places: in the engine file with its id in ``engines/`` of the worker's workspace, at
    the path on the manager's machine, and in the bundled engine files, which find programs in PATH. An engine with the
    same fingerprint is the same engine. `start` is the directory in which the worker was started.
    """
    reasons: list[str] = []
    for found in _candidates(spec, origin, workspace_of(start) / "engines"):
        if isinstance(found, str):
            reasons.append(found)
            continue
        try:
            print_ = identity.fingerprint(found)
        except TourError as refusal:
            reasons.append(str(refusal).removeprefix(f"{spec.name}: "))
            continue
        if print_ == spec.fingerprint or not spec.fingerprint:
            return found
        reasons.append(f"different build: fingerprint of {found.command[0]} is {print_}, not {spec.fingerprint}")
    raise EngineMissing("; ".join(dict.fromkeys(reasons)))


def _candidates(spec: EngineSpec, origin: Origin | None, engines: Path) -> Iterator[EngineSpec | str]:
    """Yield ways to start an engine, or texts why a way does not exist.

    If this machine has an engine file for the engine, this is the only way.
    """
    own = load([engines])
    if origin is not None and origin.engine in own.paths:
        yield _by_file(spec, origin, own)
        return
    if os.access(spec.command[0], os.X_OK):
        yield spec
    else:
        yield f"program {spec.command[0]} not found"
    bundled = load([bundled_directory("engines")])
    if origin is not None and origin.engine in bundled.paths:
        yield _by_file(spec, origin, bundled)


def _by_file(spec: EngineSpec, origin: Origin, registry: Registry) -> EngineSpec | str:
    """Return the engine with the program, directory, environment and path options of an engine file.

    Everything else is kept. If the file cannot be used, return the reason.
    """
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
    """Yield a text for each requirement that a worker with a number of slots, started in `start`, does not meet."""
    for spec in demand.specs:
        try:
            local_engine(spec, demand.origins.get(spec.name), start)
        except EngineMissing as error:
            yield f"{spec.name}: {error}"
    yield from _tables(demand)
    for path, digest in demand.books:
        if not Path(path).is_file():
            yield f"book: file {path} not found"
        elif digest and file_digest(Path(path)) != digest:
            yield f"book: {path} differs from the file on the machine that runs the tournament"
    yield from shortages(demand, slots, allowed_processors().count, memory_mb())
    for clock in demand.clocks:
        try:
            clock.scaled(1 / speed, nodes=False)
        except ValueError as error:
            yield f"speed: {error}"


def _tables(demand: Demand) -> Iterator[str]:
    missing = [folder for folder in demand.folders if not Path(folder).is_dir()]
    if missing:
        yield f"tablebases: directory {', '.join(missing)} not found"
    elif demand.folders:
        there = find_tables(demand.folders, demand.variant)
        count = len(there.wdl) + len(there.dtz)
        if count < demand.tables:
            yield f"tablebases: only {count} of {demand.tables} files found in {', '.join(demand.folders)}"
