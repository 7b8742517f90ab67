"""A Dask cluster as an executor: connection, games in progress, machines.

One thread of its own runs an asyncio loop; whoever calls a method only leaves a word there.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import pickle
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from distributed import Client, KilledWorker, Security
from distributed import Future as DistributedFuture

from enginetour.model.errors import InternalFailure, MachineFailure, UsageRefused
from enginetour.model.task import GameTask
from enginetour.referee.link import VERSION
from enginetour.reports.sheet import format_count
from enginetour.tournament.cluster.machines import (
    Demand,
    GameOrder,
    ListedWorker,
    Machines,
    Reply,
    WorkerReport,
    WorkerSlot,
    overcommitted,
)
from enginetour.tournament.cluster.worker import SLOT, inspect_worker, play
from enginetour.tournament.executor import STOP_LIMIT, Listener
from enginetour.tournament.loopthread import LoopThread

_MOST_TRIES = 3  # machines that may fail one game before the scheduler hears of it (reliability spec 1)
TLS = "tls://"
CONNECT_S = 5.0  # for the first answer: what a person waits for; later on it is tried again and again
_WHERE = "~/.config/dask/tls.yaml"  # Dask reads every YAML file of that folder (its documentation, "Configuration")

EventListener = Callable[[list[tuple[str, str, object]]], None]


@dataclass(eq=False)
class _ClusterTask:
    """`failed` are the machines that failed it; `tried` is the present try, `number` that of all tries of the run."""

    task: GameTask
    prefer: int | None
    future: Future[Any] = field(default_factory=Future)
    failed: set[str] = field(default_factory=set)
    tries: int = 0
    number: int = 0
    begun: bool = False
    tried: asyncio.Task[None] | None = None

    def begin(self) -> bool:
        """It cannot be taken back from now on; False where that has been done."""
        self.begun = self.begun or self.future.set_running_or_notify_cancel()
        return self.begun

    def fail(self, why: str, *, internal: bool = False) -> None:
        """The host failed it for good, or `internal`: enginetour itself, on any machine."""
        if self.begin():
            self.future.set_exception(InternalFailure(why) if internal else MachineFailure(why))


def address_of(place: str) -> str:
    """The address in ``dask=tcp://HOST:PORT``; UsageRefused for anything else."""
    address = place.removeprefix("dask=")
    scheme = next((one for one in ("tcp://", TLS) if address.startswith(one)), None)
    host, colon, port = address.removeprefix(scheme or "").rpartition(":")
    good = scheme and host and colon and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16
    if not place.startswith("dask=") or not good:
        step = "say --executor dask=tcp://HOST:8786, or dask=tls://HOST:8786"
        raise UsageRefused(f"{place!r} is no place to play", place="--executor", step=step)
    return address


def refuse_without(address: str) -> None:
    """UsageRefused for a ``tls://`` address where this machine has no certificates that could be used.

    They are those that Dask's own configuration names.
    """
    if not address.startswith(TLS):
        return
    found = Security()
    told = found.get_tls_config_for_role("client")
    named = {"ca-file": told["ca_file"], "client.cert": told["cert"], "client.key": told["key"]}
    missing = [key for key, value in named.items() if value is None]
    if missing:
        what = f"{address} needs certificates, and no {' and no '.join(missing)} of this machine is named"
        raise UsageRefused(what, place="--executor", step=f"name them under distributed.comm.tls in {_WHERE}")
    for key, value in named.items():
        if "\n" not in value and not Path(value).is_file():  # the text itself may stand there instead of a path
            raise UsageRefused(f"there is no {value}", place=f"distributed.comm.tls.{key}", step=f"see {_WHERE}")
    try:
        found.get_connection_args("client")
    except OSError as error:  # ssl.SSLError is one
        what = f"the certificates of this machine cannot be used: {error}"
        raise UsageRefused(what, place="distributed.comm.tls", step=f"see {_WHERE}") from None


class Connection:
    """To one scheduler, by its address. `heard` takes live events of the run named `run`."""

    def __init__(self, address: str, run: str, heard: EventListener) -> None:
        self.address = address
        self._run = run
        self._heard = heard
        self._client: Any = None
        for name in ("distributed", "distributed.client"):  # each has a level of its own
            logging.getLogger(name).setLevel(logging.CRITICAL)  # of lost connections, which the place tells in words

    async def open(self) -> None:
        """Connect; OSError where nobody answers like a scheduler of Dask."""
        client = Client(self.address, asynchronous=True, timeout=CONNECT_S, set_as_default=False, name="enginetour")
        try:
            async with asyncio.timeout(CONNECT_S):  # Dask itself waits for ever for whoever takes the call and is mute
                await client
        except Exception as error:  # whatever speaks another language there
            await client.close()
            raise OSError(str(error) or f"no answer within {CONNECT_S:g} s") from error
        client.subscribe_topic(self._run, self._hear)
        self._client = client

    async def _hear(self, event: tuple[float, bytes]) -> None:
        self._heard(pickle.loads(event[1]))  # noqa: S301 - from our own workers

    @property
    def is_open(self) -> bool:
        """The scheduler answered lately."""
        return self._client is not None and self._client.status == "running"

    async def workers(self) -> dict[str, ListedWorker] | None:
        """Those that are there, by address; None while the scheduler does not answer. A lost one is looked for."""
        if self._client is not None and self._client.status in ("closing", "closed"):
            self._client = None
        try:
            if self._client is None:
                await self.open()
            if not self.is_open:
                return None
            info = await self._client.scheduler.identity(n_workers=-1)
        except (OSError, RuntimeError):  # distributed's CommClosedError is an OSError; RuntimeError: it is closing
            return None
        workers = info["workers"].items()
        return {address: _seen(address, one) for address, one in workers if one.get("status", "running") == "running"}

    def submit(
        self, task: Callable[..., Any], *words: object, worker: str, slot: bool, key: str
    ) -> DistributedFuture[Any]:
        """A task for one worker alone; with `slot` it takes one of its slots. OSError while nobody is there."""
        if not self.is_open:
            raise OSError("the scheduler does not answer")
        future: DistributedFuture[Any] = self._client.submit(
            task,
            *words,
            workers=[worker],
            allow_other_workers=False,
            resources={SLOT: 1} if slot else None,
            pure=False,
            key=key,
            retries=0,  # who is to play it again is decided with the machine in mind
        )
        return future

    async def close(self) -> None:
        """Let go of every task: workers drop what they play for us."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()


def _seen(address: str, worker: dict[str, Any]) -> ListedWorker:
    name = worker.get("name", address)
    host = str(worker.get("host") or address)
    slots = int((worker.get("resources") or {}).get(SLOT, 0))
    named = str(name) if isinstance(name, str) and "://" not in name else ""
    return ListedWorker(named, host, slots, int(worker.get("nthreads", 0)))


def _first_line(error: BaseException) -> str:
    """What an error says, short; its kind where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


_CANCELLED = "cancelled"  # what Dask calls every future after the scheduler was away, for however short a time
_LOOK_LIMIT = 30.0  # s the first game waits for a worker to look what it has; it may join later
LOOK_S = 0.5  # between two looks at who is there: a dead worker's games are missed for no longer


class DaskExecutor:
    """All machines of a cluster. UsageRefused where no scheduler of Dask answers at the address.

    Nothing is played before `look_round` has seen the machines; `open` takes the tag of the run and who listens.
    A machine that fails a game is counted, and the game goes to another one; only a game that several have failed is
    handed back as a failure.
    """

    def __init__(self, address: str, slots: int, demand: Demand) -> None:
        self.address = address
        self.run = f"enginetour-{os.urandom(6).hex()}"
        self.machines = Machines()
        self.demand = demand
        self._pickled = pickle.dumps(demand, protocol=pickle.HIGHEST_PROTOCOL)
        self._listener: Listener | None = None
        self._tell: Callable[[str], None] | None = None
        self._untold: list[str] = []
        self._serial = itertools.count(1)
        self._guards: dict[str, Any] = {}  # futures of Dask; their release says that we are gone
        self._gone: set[str] = set()  # machines whose workers went; a worker of theirs that joins is their return
        self._is_lost = False
        self._closed = False
        self._looked = threading.Event()
        self._link = Connection(address, self.run, self._hear)
        self._loop = LoopThread("cluster")
        self._size = slots
        self._tag = self.run  # of every process started for the games
        self._refusing = ""  # why no game begins any more
        self._newest = 0  # number of the game that was begun last
        self._counted: dict[str, int] = {}  # by machine, the newest game when a failure of it was counted
        self._queue: deque[_ClusterTask] = deque()
        self._flying: dict[str, tuple[_ClusterTask, WorkerSlot]] = {}  # by key of Dask
        try:
            self._loop.wait_for(self._link.open())
        except OSError as error:
            self.close()
            why = _first_line(error).rpartition(">: ")[2]  # Dask tells its end of the connection first: in <TCP ...>:
            what = f"no scheduler of Dask answers at {address} ({why})"
            tls = " --protocol tls, with certificates of the same authority" if address.startswith(TLS) else ""
            raise UsageRefused(what, place="--executor", step=f"start one there: dask scheduler{tls}") from None
        self._loop.post(lambda: self._loop.begin(self._keep_looking()))

    def look_round(self, check_stop: Callable[[], None]) -> list[dict[str, object]]:
        """Wait until every worker that is there now has looked what it has; the rows of all machines."""
        while not self._looked.wait(0.2):
            check_stop()
        return self.rows()

    def open(self, tag: str, listener: Listener | None, tell: Callable[[str], None]) -> None:
        """`tag` marks every process started for the run, `tell` hears what a person should read, from any thread."""
        self._tag, self._listener = tag, listener

        def speak() -> None:
            self._tell = tell
            while self._untold:
                tell(self._untold.pop(0))

        self._loop.post(speak)

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        """A game to play, queued while all seats are taken. RuntimeError after `stop`, `close`."""
        if self._refusing:
            raise RuntimeError(f"no new games: {self._refusing}")
        work = _ClusterTask(task, prefer)
        self._loop.post(lambda: self._begin(work))
        return work.future

    def resize(self, slots: int) -> None:
        """More or fewer games at once; those in the air end in their time."""

        def act() -> None:
            self._size = slots
            self._assign()

        self._loop.post(act)

    def stop(self, *, now: bool) -> None:
        """No new games, queued ones fail; `now`: running ones too, and the workers have been told so on return."""
        self._refusing = self._refusing or "the place was stopped"
        told = threading.Event()
        self._loop.post(lambda: self._stop(told, now=now))
        if now and not self._loop.is_here:
            told.wait(STOP_LIMIT)

    def close(self) -> None:
        """Let go of the cluster: workers drop what they play for us, and end its slots. Twice is once."""
        self._refusing = "the place was closed"
        if not self._closed:
            self._closed = True
            self._loop.post(lambda: self._loop.begin(self._end()))
        self._loop.join()

    def rows(self) -> list[dict[str, object]]:
        """Every machine as it stands, JSON-ready."""
        return self._loop.ask(self.machines.rows)

    def shared(self) -> list[str]:
        """Machines on which several workers want more than there is, a line each."""
        return self._loop.ask(lambda: list(overcommitted(self.machines.workers.values(), self.demand)))

    def drain(self, name: str) -> bool:
        """No new games for a machine; False where none has that name."""
        return self._loop.ask(lambda: self.machines.drain(name))

    def use(self, name: str) -> bool:
        """Games again for a machine that was drained or set aside; False where none has that name."""
        done = self._loop.ask(lambda: self.machines.use(name))
        self._loop.post(self._assign)
        return done

    # From here on everything runs in the thread of the loop.

    def _begin(self, work: _ClusterTask) -> None:
        self._queue.append(work)
        self._assign()

    def _say(self, text: str) -> None:
        if self._tell is not None:
            self._tell(text)
        else:
            self._untold.append(text)

    async def _keep_looking(self) -> None:
        while not self._closed:
            seen = await self._link.workers()
            if seen is None or any(guard.status == _CANCELLED for guard in self._guards.values()):
                self._lose_all()
            else:
                if self._is_lost:
                    self._is_lost = False
                    self._say(f"the cluster at {self.address} is back")
                joined, gone = self.machines.update(seen)
                looks = [self._loop.begin(self._look(address)) for address in joined]
                for address, machine in gone.items():
                    self._guards.pop(address, None)
                    self._gone.add(machine)
                    self._lose(address, machine)
                if looks and not self._looked.is_set():
                    await asyncio.wait(looks, timeout=_LOOK_LIMIT)
                self._looked.set()
                self._assign()
            await asyncio.sleep(LOOK_S)

    async def _look(self, address: str) -> None:
        try:
            found = await self._found(address)
        except OSError:
            return
        except asyncio.CancelledError:
            raise
        except CancelledError:  # the connection was lost; the next look round begins anew
            return
        except Exception as error:  # it has another enginetour, or none: its own words say which
            found = WorkerReport("", lacks=(f"enginetour {VERSION}: {_first_line(error)}",))
        if address not in self.machines.workers:
            return
        self.machines.look(address, found)
        name = self.machines.workers[address].machine
        if found.lacks and self._looked.is_set():  # those of the first look are told as a table
            self._say(f"{name} gets no games, it lacks {'; '.join(found.lacks)}")
        elif not found.lacks and self._looked.is_set():
            came = "is back" if name in self._gone else "has joined"
            self._say(f"{name} {came}: {format_count(self.machines.workers[address].seen.seats, 'slot')}")
        self._gone.discard(name)
        self._assign()

    async def _found(self, address: str) -> WorkerReport:
        """What a worker says of itself. One of another version is sent nothing of ours: who cannot read a task dies."""
        version = await self._ask(address, resolve_name, "enginetour.referee.link:VERSION")
        if version != VERSION:
            return WorkerReport("", lacks=(f"enginetour {VERSION}: it has {version}; install the same there",))
        found: WorkerReport = await self._ask(address, inspect_worker, self._pickled, self.run)
        return found

    async def _ask(self, address: str, question: Callable[..., Any], *words: object) -> Any:
        key = f"{self.run}-look-{next(self._serial)}"
        self._guards[address] = self._link.submit(question, *words, worker=address, slot=False, key=key)
        return await self._guards[address]

    def _lose_all(self) -> None:
        """The scheduler of the cluster does not answer: all in the air is lost, nothing begins until it does."""
        if not self._is_lost:
            self._is_lost = True
            self._say(f"the cluster at {self.address} does not answer: games wait until it does")
        self._gone.update(worker.machine for worker in self.machines.workers.values())
        self.machines.update({})
        self._guards.clear()
        for key, (work, _) in list(self._flying.items()):
            self._drop(key, work)
            self._back(work)

    def _stop(self, told: threading.Event, *, now: bool) -> None:
        while self._queue:
            self._queue.popleft().fail(self._refusing)
        for key, (work, _) in list(self._flying.items()) if now else ():
            self._drop(key, work)
            work.fail(self._refusing)
        self._loop.post(told.set, delay=0.05)  # a moment for the releases to go out

    async def _end(self) -> None:
        told = threading.Event()
        self._stop(told, now=True)
        self._guards.clear()
        await self._link.close()
        await self._loop.end()

    def _hear(self, events: list[tuple[str, str, object]]) -> None:
        if self._listener is None:
            return
        for key, name, payload in events:
            work, _ = self._flying.get(key, (None, None))
            if work is not None and work.prefer is not None:
                self._listener(work.prefer, name, payload)

    def _assign(self) -> None:
        waiting: deque[_ClusterTask] = deque()
        while self._queue and len(self._flying) < self._size and self._link.is_open and not self._refusing:
            work = self._queue.popleft()
            pairing = work.task.pairing
            encounter = (*pairing.pair, pairing.meeting)
            seat = self.machines.seat_for(encounter, work.prefer, frozenset(work.failed))
            if seat is None:
                waiting.append(work)
            elif work.begin():
                work.number = self._newest = self._newest + 1
                key = f"{self.run}-game-{work.number}"
                self._flying[key] = (work, seat)
                work.tried = self._loop.begin(self._try(key, work, seat))
            else:
                self.machines.free(seat)
        self._queue.extendleft(reversed(waiting))

    def _lose(self, address: str, machine: str) -> None:
        """A worker has gone: that is one failure of its machine, however many games it had."""
        lost = [(key, work) for key, (work, seat) in self._flying.items() if seat[0] == address]
        self._say(
            f"{machine} has left the cluster" + (f" with {format_count(len(lost), 'game')} in the air" if lost else "")
        )
        if lost:
            self._count(machine, "its worker is gone")
        for key, work in lost:
            self._drop(key, work)
            self._again(work, machine, "its worker is gone", count=False)

    async def _try(self, key: str, work: _ClusterTask, seat: WorkerSlot) -> None:
        machine = self.machines.workers[seat[0]].machine
        order, future = GameOrder(self.run, self._tag, seat[1], work.task), None
        try:
            future = self._link.submit(play, order, worker=seat[0], slot=True, key=key)
            reply: Reply = await future
        except asyncio.CancelledError:
            if future is not None:
                future.release()  # the worker drops the game; whoever ended this try has said why
            return
        except (CancelledError, OSError):  # the connection was lost: no machine is to blame, the next look goes on
            self._end_try(key)
            self._back(work)
            return
        except Exception as error:  # the cluster's own failure, whatever it is called
            self._end_try(key)
            died = isinstance(error, KilledWorker)  # counted when it is missed
            self._again(work, machine, f"the cluster lost it: {_first_line(error)}", count=not died)
            return
        self._end_try(key)
        kind, value = reply
        if kind == "result":
            self.machines.played(machine)
            work.future.set_result(value)
        elif kind == "internal":
            work.fail(f"{machine}: {value}", internal=True)
        elif kind == "anew":
            self.machines.workers.pop(seat[0], None)  # it looks again what it has, as one that joins
            self._back(work)
        else:
            self._again(work, machine, str(value), count=True)
        self._assign()

    def _end_try(self, key: str) -> None:
        _, seat = self._flying.pop(key)
        self.machines.free(seat)

    def _again(self, work: _ClusterTask, machine: str, why: str, *, count: bool) -> None:
        work.tries += 1
        work.failed.add(machine)
        if count and work.number > self._counted.get(machine, 0):  # else what ended another one ended this one too
            self._count(machine, why)
        if self._refusing or work.tries >= _MOST_TRIES:
            work.fail(f"{machine}: {why}")
            return
        pairing = work.task.pairing
        self._say(f"{pairing.white} - {pairing.black} is played again: {machine}: {why}")
        self._queue.appendleft(work)
        self._loop.post(self._assign)

    def _count(self, machine: str, why: str) -> None:
        self._counted[machine] = self._newest
        if self.machines.failed(machine, why):
            step = f"enginetour machines --use {machine} gives it games again"
            self._say(f"{machine} is set aside, it failed three games in a row: {why}; {step}")

    def _back(self, work: _ClusterTask) -> None:
        if self._refusing:
            work.fail("the cluster does not answer")
        else:
            self._queue.appendleft(work)

    def _drop(self, key: str, work: _ClusterTask) -> None:
        if key in self._flying:
            self._end_try(key)
        if work.tried is not None:
            work.tried.cancel()
