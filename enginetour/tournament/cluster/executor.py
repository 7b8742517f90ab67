"""A Dask cluster as an executor: connection, games in progress, machines.

An asyncio loop runs in its own thread; methods called from other threads only post functions to it.
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

_MOST_TRIES = 3  # failed attempts of a game after which the scheduler receives the failure (reliability spec 1)
TLS = "tls://"
CONNECT_S = 5.0  # seconds of one attempt to connect; the first one must succeed, later ones are repeated
_WHERE = "~/.config/dask/tls.yaml"  # Dask reads every YAML file of that directory (documentation, "Configuration")

EventListener = Callable[[list[tuple[str, str, object]]], None]


@dataclass(eq=False)
class _ClusterTask:
    """A game with its attempts.

    `failed` are the machines on which it failed. `tried` is the current attempt, and `number` is the number of this
    attempt among all attempts of the run.
    """

    task: GameTask
    prefer: int | None
    future: Future[Any] = field(default_factory=Future)
    failed: set[str] = field(default_factory=set)
    tries: int = 0
    number: int = 0
    begun: bool = False
    tried: asyncio.Task[None] | None = None

    def begin(self) -> bool:
        """Start the game, so that it cannot be cancelled any more. Return false if it was already cancelled."""
        self.begun = self.begun or self.future.set_running_or_notify_cancel()
        return self.begun

    def fail(self, why: str, *, internal: bool = False) -> None:
        """End the game with a failure of the machine, or with an `internal` error, which occurs on every machine."""
        if self.begin():
            self.future.set_exception(InternalFailure(why) if internal else MachineFailure(why))


def address_of(place: str) -> str:
    """Return the address in ``dask=tcp://HOST:PORT``. Raise UsageRefused for any other text."""
    address = place.removeprefix("dask=")
    scheme = next((one for one in ("tcp://", TLS) if address.startswith(one)), None)
    host, colon, port = address.removeprefix(scheme or "").rpartition(":")
    good = scheme and host and colon and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16
    if not place.startswith("dask=") or not good:
        step = "use dask=tcp://HOST:8786 or dask=tls://HOST:8786"
        raise UsageRefused(f"{place!r} is not a valid executor", place="--executor", step=step)
    return address


def refuse_without(address: str) -> None:
    """Raise UsageRefused for a ``tls://`` address without valid certificates in Dask's configuration."""
    if not address.startswith(TLS):
        return
    found = Security()
    config = found.get_tls_config_for_role("client")
    named = {"ca-file": config["ca_file"], "client.cert": config["cert"], "client.key": config["key"]}
    missing = [key for key, value in named.items() if value is None]
    if missing:
        what = f"{address} needs certificates, but this machine does not configure {' and '.join(missing)}"
        raise UsageRefused(what, place="--executor", step=f"set them under distributed.comm.tls in {_WHERE}")
    for key, value in named.items():
        if "\n" not in value and not Path(value).is_file():  # the value may be the certificate itself
            raise UsageRefused(f"file {value} not found", place=f"distributed.comm.tls.{key}", step=f"see {_WHERE}")
    try:
        found.get_connection_args("client")
    except OSError as error:  # also ssl.SSLError
        what = f"the certificates of this machine cannot be used: {error}"
        raise UsageRefused(what, place="distributed.comm.tls", step=f"see {_WHERE}") from None


class Connection:
    """The connection to a Dask scheduler. `heard` receives live events of the run named `run`."""

    def __init__(self, address: str, run: str, heard: EventListener) -> None:
        self.address = address
        self._run = run
        self._heard = heard
        self._client: Any = None
        for name in ("distributed", "distributed.client"):  # each logger has its own level
            logging.getLogger(name).setLevel(logging.CRITICAL)  # the executor reports lost connections itself

    async def open(self) -> None:
        """Connect. Raise OSError if no Dask scheduler responds."""
        client = Client(self.address, asynchronous=True, timeout=CONNECT_S, set_as_default=False, name="enginetour")
        try:
            async with asyncio.timeout(CONNECT_S):  # Dask itself waits forever for a server that sends nothing
                await client
        except Exception as error:  # also raised by a server of another kind
            await client.close()
            raise OSError(str(error) or f"no answer within {CONNECT_S:g} s") from error
        client.subscribe_topic(self._run, self._hear)
        self._client = client

    async def _hear(self, event: tuple[float, bytes]) -> None:
        self._heard(pickle.loads(event[1]))  # noqa: S301 - from workers of this run

    @property
    def is_open(self) -> bool:
        """Return whether the connection to the scheduler works."""
        return self._client is not None and self._client.status == "running"

    async def workers(self) -> dict[str, ListedWorker] | None:
        """Return the workers by address, or None while the scheduler does not respond. Reconnect if necessary."""
        if self._client is not None and self._client.status in ("closing", "closed"):
            self._client = None
        try:
            if self._client is None:
                await self.open()
            if not self.is_open:
                return None
            info = await self._client.scheduler.identity(n_workers=-1)
        except (OSError, RuntimeError):  # CommClosedError is an OSError; a closing client raises RuntimeError
            return None
        workers = info["workers"].items()
        return {address: _seen(address, one) for address, one in workers if one.get("status", "running") == "running"}

    def submit(
        self, task: Callable[..., Any], *words: object, worker: str, slot: bool, key: str
    ) -> DistributedFuture[Any]:
        """Submit a task to one worker. Raise OSError without a connection.

        If `slot` is true, the task occupies one of the worker's slots.
        """
        if not self.is_open:
            raise OSError("the scheduler does not respond")
        future: DistributedFuture[Any] = self._client.submit(
            task,
            *words,
            workers=[worker],
            allow_other_workers=False,
            resources={SLOT: 1} if slot else None,
            pure=False,
            key=key,
            retries=0,  # the executor decides where a game is replayed
        )
        return future

    async def close(self) -> None:
        """Release every task, so that workers drop the games of this run."""
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
    """Return the first line of an error, or its type if it has no text."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


_CANCELLED = "cancelled"  # status of every Dask future after any interruption of the scheduler
_LOOK_LIMIT = 30.0  # seconds that the run waits for the first checks of workers; slower workers join later
LOOK_S = 0.5  # seconds between two checks of the worker list, so that a lost worker is detected soon


class DaskExecutor:
    """All machines of a cluster as one executor. Raises UsageRefused if no Dask scheduler responds at the address.

    Call `look_round` first, then `open`. If a game fails on a machine, the failure is counted and another machine plays
    the game. The scheduler receives a failure only if the game failed on several machines.
    """

    def __init__(self, address: str, slots: int, demand: Demand) -> None:
        self.address = address
        self.run = f"enginetour-{os.urandom(6).hex()}"
        self.machines = Machines()
        self.demand = demand
        self._pickled = pickle.dumps(demand, protocol=pickle.HIGHEST_PROTOCOL)
        self._listener: Listener | None = None
        self._tell: Callable[[str], None] | None = None
        self._pending: list[str] = []  # messages that came before `open`
        self._serial = itertools.count(1)
        self._guards: dict[str, Any] = {}  # Dask futures by worker; a worker closes its service if they are released
        self._gone: set[str] = set()  # machines whose workers were lost and may return
        self._is_lost = False
        self._closed = False
        self._looked = threading.Event()
        self._link = Connection(address, self.run, self._hear)
        self._loop = LoopThread("cluster")
        self._size = slots
        self._tag = self.run  # mark of every process that is started for the games
        self._refusing = ""  # why no more games start; "" if they start
        self._newest = 0  # number of the last started game
        self._counted: dict[str, int] = {}  # machine -> number of the newest game when its last failure was counted
        self._queue: deque[_ClusterTask] = deque()
        self._flying: dict[str, tuple[_ClusterTask, WorkerSlot]] = {}  # games in progress, by Dask key
        try:
            self._loop.wait_for(self._link.open())
        except OSError as error:
            self.close()
            why = _first_line(error).rpartition(">: ")[2]  # Dask's message begins with the connection: <TCP ...>:
            what = f"no Dask scheduler responds at {address} ({why})"
            tls = " --protocol tls, with certificates of the same authority" if address.startswith(TLS) else ""
            raise UsageRefused(what, place="--executor", step=f"start one there: dask scheduler{tls}") from None
        self._loop.post(lambda: self._loop.begin(self._keep_looking()))

    def look_round(self, check_stop: Callable[[], None]) -> list[dict[str, object]]:
        """Wait until every present worker has checked its equipment; return the rows of all machines."""
        while not self._looked.wait(0.2):
            check_stop()
        return self.rows()

    def open(self, tag: str, listener: Listener | None, tell: Callable[[str], None]) -> None:
        """Start the run.

        `tag` marks the processes of the run. `tell` shows a message to the user and can be called in any thread.
        """
        self._tag, self._listener = tag, listener

        def flush() -> None:
            self._tell = tell
            while self._pending:
                tell(self._pending.pop(0))

        self._loop.post(flush)

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        """Queue a game until a slot is free. Raise RuntimeError after `stop` or `close`."""
        if self._refusing:
            raise RuntimeError(f"no new games: {self._refusing}")
        work = _ClusterTask(task, prefer)
        self._loop.post(lambda: self._begin(work))
        return work.future

    def resize(self, slots: int) -> None:
        """Change the number of concurrent games; games in progress play to their end."""

        def act() -> None:
            self._size = slots
            self._assign()

        self._loop.post(act)

    def stop(self, *, now: bool) -> None:
        """Start no new games and fail queued games. If `now` is true, also stop and fail the games in progress."""
        self._refusing = self._refusing or "the executor was stopped"
        done = threading.Event()
        self._loop.post(lambda: self._stop(done, now=now))
        if now and not self._loop.is_here:
            done.wait(STOP_LIMIT)

    def close(self) -> None:
        """Release the cluster: workers drop the games of this run and end its slots. A second call does nothing."""
        self._refusing = "the executor was closed"
        if not self._closed:
            self._closed = True
            self._loop.post(lambda: self._loop.begin(self._end()))
        self._loop.join()

    def rows(self) -> list[dict[str, object]]:
        """Return one row per worker for JSON."""
        return self._loop.ask(self.machines.rows)

    def shared(self) -> list[str]:
        """Return a warning for each machine whose workers together need more than it has."""
        return self._loop.ask(lambda: list(overcommitted(self.machines.workers.values(), self.demand)))

    def drain(self, name: str) -> bool:
        """Give no new games to a machine. Return false if there is no machine with this name."""
        return self._loop.ask(lambda: self.machines.drain(name))

    def use(self, name: str) -> bool:
        """Give games to a machine again. Return false if there is no machine with this name."""
        done = self._loop.ask(lambda: self.machines.use(name))
        self._loop.post(self._assign)
        return done

    # All methods below run in the thread of the loop.

    def _begin(self, work: _ClusterTask) -> None:
        self._queue.append(work)
        self._assign()

    def _report(self, text: str) -> None:
        if self._tell is not None:
            self._tell(text)
        else:
            self._pending.append(text)

    async def _keep_looking(self) -> None:
        while not self._closed:
            seen = await self._link.workers()
            if seen is None or any(guard.status == _CANCELLED for guard in self._guards.values()):
                self._lose_all()
            else:
                if self._is_lost:
                    self._is_lost = False
                    self._report(f"the cluster at {self.address} responds again")
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
        except CancelledError:  # the connection was lost; the next check of the list tries again
            return
        except Exception as error:  # the worker has another version of enginetour, or none; the error shows which
            found = WorkerReport("", lacks=(f"enginetour {VERSION}: {_first_line(error)}",))
        if address not in self.machines.workers:
            return
        self.machines.look(address, found)
        name = self.machines.workers[address].machine
        if found.lacks and self._looked.is_set():  # the results of the first check are shown as a table
            self._report(f"{name} gets no games: {'; '.join(found.lacks)}")
        elif not found.lacks and self._looked.is_set():
            came = "is back" if name in self._gone else "has joined"
            self._report(f"{name} {came}: {format_count(self.machines.workers[address].seen.seats, 'slot')}")
        self._gone.discard(name)
        self._assign()

    async def _found(self, address: str) -> WorkerReport:
        """Return the report of a worker.

        The version is checked first, because an unknown task would crash a worker of another version.
        """
        version = await self._ask(address, resolve_name, "enginetour.referee.link:VERSION")
        if version != VERSION:
            return WorkerReport("", lacks=(f"enginetour {VERSION}: found {version}; install the same version",))
        found: WorkerReport = await self._ask(address, inspect_worker, self._pickled, self.run)
        return found

    async def _ask(self, address: str, question: Callable[..., Any], *words: object) -> Any:
        key = f"{self.run}-look-{next(self._serial)}"
        self._guards[address] = self._link.submit(question, *words, worker=address, slot=False, key=key)
        return await self._guards[address]

    def _lose_all(self) -> None:
        """Handle a scheduler that does not respond: return all games in progress to the queue until it responds."""
        if not self._is_lost:
            self._is_lost = True
            self._report(f"the cluster at {self.address} does not respond: games wait until it does")
        self._gone.update(worker.machine for worker in self.machines.workers.values())
        self.machines.update({})
        self._guards.clear()
        for key, (work, _) in list(self._flying.items()):
            self._drop(key, work)
            self._back(work)

    def _stop(self, done: threading.Event, *, now: bool) -> None:
        while self._queue:
            self._queue.popleft().fail(self._refusing)
        for key, (work, _) in list(self._flying.items()) if now else ():
            self._drop(key, work)
            work.fail(self._refusing)
        self._loop.post(done.set, delay=0.05)  # the releases are sent before this

    async def _end(self) -> None:
        self._stop(threading.Event(), now=True)
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
        """Handle a lost worker. It counts as one failure of its machine, even if several games are lost."""
        lost = [(key, work) for key, (work, seat) in self._flying.items() if seat[0] == address]
        games = f", with {format_count(len(lost), 'game')} in progress" if lost else ""
        self._report(f"{machine} has left the cluster{games}")
        if lost:
            self._count(machine, "its worker is lost")
        for key, work in lost:
            self._drop(key, work)
            self._again(work, machine, "its worker is lost", count=False)

    async def _try(self, key: str, work: _ClusterTask, seat: WorkerSlot) -> None:
        machine = self.machines.workers[seat[0]].machine
        order, future = GameOrder(self.run, self._tag, seat[1], work.task), None
        try:
            future = self._link.submit(play, order, worker=seat[0], slot=True, key=key)
            reply: Reply = await future
        except asyncio.CancelledError:
            if future is not None:
                future.release()  # so that the worker drops the game
            return
        except (CancelledError, OSError):  # the connection was lost, which is not a failure of the machine
            self._end_try(key)
            self._back(work)
            return
        except Exception as error:  # a failure of the cluster, which can have any type
            self._end_try(key)
            died = isinstance(error, KilledWorker)  # this failure is counted when the worker is lost
            self._again(work, machine, f"the cluster lost the game: {_first_line(error)}", count=not died)
            return
        self._end_try(key)
        kind, value = reply
        if kind == "result":
            self.machines.played(machine)
            work.future.set_result(value)
        elif kind == "internal":
            work.fail(f"{machine}: {value}", internal=True)
        elif kind == "recheck":
            self.machines.workers.pop(seat[0], None)  # it is then checked like a new worker
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
        if count and work.number > self._counted.get(machine, 0):  # simultaneous games count once
            self._count(machine, why)
        if self._refusing or work.tries >= _MOST_TRIES:
            work.fail(f"{machine}: {why}")
            return
        pairing = work.task.pairing
        self._report(f"{pairing.white} - {pairing.black} is replayed: {machine}: {why}")
        self._queue.appendleft(work)
        self._loop.post(self._assign)

    def _count(self, machine: str, why: str) -> None:
        self._counted[machine] = self._newest
        if self.machines.failed(machine, why):
            step = f"enginetour machines --use {machine} gives it games again"
            self._report(f"{machine} gets no more games, because it failed three games in a row: {why}; {step}")

    def _back(self, work: _ClusterTask) -> None:
        if self._refusing:
            work.fail("the cluster does not respond")
        else:
            self._queue.appendleft(work)

    def _drop(self, key: str, work: _ClusterTask) -> None:
        if key in self._flying:
            self._end_try(key)
        if work.tried is not None:
            work.tried.cancel()
