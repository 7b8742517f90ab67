"""The worker side of the cluster: inspect the machine, play games in its slot processes.

What is here runs in threads of a Dask worker. The games of one run are at one desk. The key of the look that opened it
is held by the manager, so its release says that the manager is gone, however it went: then the desk closes, and takes
its slots and engines with it. A game whose key is released is dropped in the same way.
"""

from __future__ import annotations

import os
import pickle
import platform
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from distributed import Security, Worker, WorkerPlugin, get_worker
from distributed.utils import sync

from enginetour.engines import machine
from enginetour.engines.machine import allowed_processors, memory_mb, processor_name
from enginetour.model.errors import InternalFailure, MachineFailure, TourError, UsageRefused
from enginetour.model.game import Game
from enginetour.model.task import EngineSpec, GameTask
from enginetour.tournament.cluster.machines import (
    Demand,
    EngineMissing,
    GameOrder,
    Reply,
    WorkerReport,
    engine_here,
    missing_requirements,
)
from enginetour.tournament.places import LocalExecutor, SlotProcess

# A worker inspects its machine and passes games to its slot processes.

SLOT = "slot"  # the resource a game takes: dask worker --resources slot=4
FLUSH_S = 0.25  # between two tellings of live events of a worker: four pictures a second are smooth enough
MOST_EVENTS = 1_000  # held back at once; what comes beyond is dropped, as live events may be
ROUNDS = 5  # of the bench, for a speed that is only told; what clocks go by takes the usual number


@cache
def _speed(rounds: int) -> float:
    """Measured once in the life of a worker."""
    return machine.measure_speed(rounds)


def inspect_worker(demand: bytes, run: str) -> WorkerReport:
    """What this worker has and lacks; a desk for the run is open where it lacks nothing. `run` names its events too."""
    worker = get_worker()
    wanted: Demand = pickle.loads(demand)  # noqa: S301 - from a manager of our own version; Dask runs its code anyway
    slots = capacity_of(worker)
    start = Path.cwd()
    speed = _speed(machine.ROUNDS if wanted.scaled else ROUNDS)
    lacks = missing_requirements(wanted, slots, start, speed)
    if not lacks:
        desk = WorkerService(worker, run, wanted, slots, start, speed if wanted.scaled else None)
        sync(worker.loop, worker.plugin_add, plugin=desk, name=run)
    affinity, here = frozenset(os.sched_getaffinity(0)), allowed_processors()
    return WorkerReport(platform.node(), processor_name(), speed, lacks, here.count, affinity, memory_mb(), here.group)


def capacity_of(worker: Worker) -> int:
    """Games it can play at once: its slots, or its threads where those are fewer."""
    return int(min(worker.state.total_resources.get(SLOT, 0), worker.state.nthreads))


def play(order: GameOrder) -> Reply:
    """One game, in a slot process of this machine. Nothing is raised: what Dask sees fail, it would tell at length."""
    worker = get_worker()
    desk = worker.plugins.get(order.run)
    if not isinstance(desk, WorkerService):
        return "anew", "its desk is closed"
    return desk.play(order, str(worker.get_current_task()))


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

    def _take(self, slot: SlotProcess, kind: str, *values: Any) -> None:
        self.speaking = slot.work.future if slot.work is not None else None
        super()._take(slot, kind, *values)


class WorkerService(WorkerPlugin):
    """The games of one run on one worker."""

    def __init__(self, worker: Worker, run: str, demand: Demand, slots: int, start: Path, speed: float | None) -> None:
        self.worker, self.run, self.slots, self.start, self.speed = worker, run, slots, start, speed
        self.demand = demand
        self.guard = str(worker.get_current_task())
        self._lock = threading.Lock()  # guards all below
        self._place: WorkerSlots | None = None
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
        if known is None or not self._is_same(known, spec):
            known = self._known[spec] = engine_here(spec, self.demand.origin(spec.name), self.start)
        return known

    @staticmethod
    def _is_same(known: EngineSpec, spec: EngineSpec) -> bool:
        from enginetour.engines.identity import fingerprint

        return not spec.fingerprint or fingerprint(known) == spec.fingerprint

    def _slots(self, tag: str) -> WorkerSlots:
        if self._closed:
            raise RuntimeError("its manager is gone")
        if self._place is None:
            self._place = WorkerSlots(self.slots, self._hear, tag=tag, start_parallel=self.demand.start_parallel)
        return self._place

    def _hear(self, _: int, name: str, payload: object) -> None:
        """A live event, in the place's thread; several go together."""
        place = self._place
        key = self._keys.get(place.speaking) if place is not None and place.speaking is not None else None
        if key is None or len(self._events) >= MOST_EVENTS:
            return
        self._events.append((key, name, payload))
        if len(self._events) == 1:
            self.worker.loop.add_callback(self._tell_later)

    def _tell_later(self) -> None:
        self.worker.loop.call_later(FLUSH_S, self._tell)

    def _tell(self) -> None:
        events, self._events = self._events, []
        if self.worker.status.name == "running":
            self.worker.log_event(self.run, pickle.dumps(events, protocol=pickle.HIGHEST_PROTOCOL))

    # What Dask calls, in the worker's event loop.

    def transition(self, key: Any, start: str, finish: str, **_: object) -> None:
        """A key nobody wants any more: its game is dropped; that of the guard: the manager has gone."""
        del start
        if finish != "released":
            return
        if key == self.guard:
            self.worker.loop.add_callback(self._leave)
            return
        future, place = self._games.get(key), self._place
        if future is not None and place is not None and not future.done():
            place.drop(future)

    async def _leave(self) -> None:
        if self.worker.plugins.get(self.run) is self:  # no later desk of the same run
            await self.worker.plugin_remove(name=self.run)

    def teardown(self, worker: Worker) -> Any:
        """The worker ends, or the run: so do its slots and engines."""
        del worker
        with self._lock:
            self._closed, place, self._place = True, self._place, None
        return _in_thread(place.close) if place is not None else None


async def _in_thread(act: Callable[[], None]) -> None:
    import asyncio

    await asyncio.to_thread(act)


# TLS on the manager's side: the certificates that Dask's own configuration names, looked at before anybody is called.
#
# Scheduler and workers have theirs from the same kind of file, or from ``--tls-ca-file``, ``--tls-cert``, ``--tls-
# key``.

TLS = "tls://"
WHERE = "~/.config/dask/tls.yaml"  # Dask reads every YAML file of that folder (its documentation, "Configuration")


def refuse_without(address: str) -> None:
    """UsageRefused for a ``tls://`` address where this machine has no certificates that could be used."""
    if not address.startswith(TLS):
        return
    found = Security()
    told = found.get_tls_config_for_role("client")
    named = {"ca-file": told["ca_file"], "client.cert": told["cert"], "client.key": told["key"]}
    missing = [key for key, value in named.items() if value is None]
    if missing:
        what = f"{address} needs certificates, and no {' and no '.join(missing)} of this machine is named"
        raise UsageRefused(what, place="--place", step=f"name them under distributed.comm.tls in {WHERE}")
    for key, value in named.items():
        if "\n" not in value and not Path(value).is_file():  # the text itself may stand there instead of a path
            raise UsageRefused(f"there is no {value}", place=f"distributed.comm.tls.{key}", step=f"see {WHERE}")
    try:
        found.get_connection_args("client")
    except OSError as error:  # ssl.SSLError is one
        what = f"the certificates of this machine cannot be used: {error}"
        raise UsageRefused(what, place="distributed.comm.tls", step=f"see {WHERE}") from None
