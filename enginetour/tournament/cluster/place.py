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
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

from distributed import Client, KilledWorker
from distributed import Future as DistributedFuture

from enginetour.engines.process import block_ending_signals
from enginetour.model.errors import InternalFailure, MachineFailure, UsageRefused
from enginetour.model.task import GameTask
from enginetour.referee.link import VERSION
from enginetour.reports.sheet import format_count
from enginetour.tournament.cluster.machines import (
    Demand,
    Encounter,
    GameOrder,
    ListedWorker,
    Machines,
    Reply,
    WorkerReport,
    WorkerSlot,
    overcommitted,
)
from enginetour.tournament.cluster.worker import SLOT, TLS, inspect_worker, play
from enginetour.tournament.places import STOP_LIMIT, Listener

# One game, from its submission to its result.

_MOST_TRIES = 3  # machines that may fail one game before the scheduler hears of it (reliability spec 1)


@dataclass(eq=False)
class ClusterTask:
    """`failed` are the machines that failed it; `tried` is the present try, `number` that of all tries of the run."""

    task: GameTask
    prefer: int | None
    future: Future[Any] = field(default_factory=Future)
    failed: set[str] = field(default_factory=set)
    tries: int = 0
    number: int = 0
    begun: bool = False
    tried: asyncio.Task[None] | None = None

    @property
    def encounter(self) -> Encounter:
        """Its games are all on one machine."""
        pairing = self.task.pairing
        return (*pairing.pair, pairing.meeting)

    @property
    def words(self) -> str:
        """``WHITE - BLACK``."""
        return f"{self.task.pairing.white} - {self.task.pairing.black}"

    def begin(self) -> bool:
        """It cannot be taken back from now on; False where that has been done."""
        self.begun = self.begun or self.future.set_running_or_notify_cancel()
        return self.begun

    def fail(self, why: str, *, ours: bool = False) -> None:
        """The host failed it for good, or `ours`: enginetour itself, on any machine."""
        if self.begin():
            self.future.set_exception(InternalFailure(why) if ours else MachineFailure(why))

    def failed_by(self, machine: str) -> bool:
        """One more machine did; whether another one should try."""
        self.tries += 1
        self.failed.add(machine)
        return self.tries < _MOST_TRIES


# An asyncio loop in a thread of its own; only this thread changes the state of the executor.


class LoopThread:
    """Runs until `end` has been awaited in it."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """The caller is this thread."""
        return threading.current_thread() is self._thread

    def post(self, act: Callable[[], object], delay: float = 0.0) -> None:
        """Have it done there, after `delay` seconds; nothing once the loop has ended."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act if not delay else lambda: self._loop.call_later(delay, act))

    def wait_for(self, act: Coroutine[Any, Any, Any]) -> Any:
        """Have it awaited there, and wait for what it returns or raises; not to be called in the loop itself."""
        return asyncio.run_coroutine_threadsafe(act, self._loop).result()

    def ask(self, question: Callable[[], Any]) -> Any:
        """What a function says there."""

        async def answer() -> Any:
            return question()

        return self.wait_for(answer())

    def join(self) -> None:
        """Wait until it has ended."""
        if not self.is_here:
            self._thread.join()

    # In the loop.

    def begin(self, act: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task that `end` will cancel."""
        task = self._loop.create_task(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def end(self) -> None:
        """Cancel the others; the thread ends when whoever called this has come back to the loop."""
        others = self._tasks - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        self._loop.call_soon(self._loop.stop)

    def _run(self) -> None:
        block_ending_signals()
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()


# Connection to a Dask scheduler: reconnect, list workers, submit tasks.
#
# Everything runs in one asyncio loop, that of the place. Dask keeps tasks and results; nothing is decided here.

PREFIX = "dask="
SCHEMES = ("tcp://", TLS)
CONNECT_S = 5.0  # for the first answer: what a person waits for; later on it is tried again and again

EventListener = Callable[[list[tuple[str, str, object]]], None]


def address_of(place: str) -> str:
    """The address in ``dask=tcp://HOST:PORT``; UsageRefused for anything else."""
    address = place.removeprefix(PREFIX)
    scheme = next((one for one in SCHEMES if address.startswith(one)), None)
    host, colon, port = address.removeprefix(scheme or "").rpartition(":")
    good = scheme and host and colon and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16
    if not place.startswith(PREFIX) or not good:
        step = "say --place dask=tcp://HOST:8786, or dask=tls://HOST:8786"
        raise UsageRefused(f"{place!r} is no place to play", place="--place", step=step)
    return address


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
        return {address: _seen(address, one) for address, one in info["workers"].items() if _is_running(one)}

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


def _is_running(worker: dict[str, Any]) -> bool:
    return bool(worker.get("status", "running") == "running")


def _seen(address: str, worker: dict[str, Any]) -> ListedWorker:
    name = worker.get("name", address)
    host = str(worker.get("host") or address)
    slots = int((worker.get("resources") or {}).get(SLOT, 0))
    named = str(name) if isinstance(name, str) and "://" not in name else ""
    return ListedWorker(named, host, slots, int(worker.get("nthreads", 0)))


# Games of the cluster: waiting, in progress, and repeated on another machine after a machine failure.
#
# A machine that fails a game is counted, and the game goes to another one; only a game that several have failed is
# handed back as a failure. Everything here is done in the thread of the place's loop.


class ClusterGames:
    """At most `size` in the air. `say` hears what a person should read; `refusing` is why no game begins any more."""

    def __init__(
        self, run: str, size: int, link: Connection, loop: LoopThread, machines: Machines, say: Callable[[str], None]
    ) -> None:
        self.size = size
        self.tag = run  # of every process started for them
        self.refusing = ""
        self._run, self._link, self._loop, self._machines, self._say = run, link, loop, machines, say
        self._newest = 0  # number of the game that was begun last
        self._counted: dict[str, int] = {}  # by machine, the newest game when a failure of it was counted
        self._queue: deque[ClusterTask] = deque()
        self._flying: dict[str, tuple[ClusterTask, WorkerSlot]] = {}  # by key of Dask

    def enqueue(self, work: ClusterTask) -> None:
        """One more."""
        self._queue.append(work)
        self.assign()

    def resize(self, size: int) -> None:
        """More or fewer at once; those in the air end in their time."""
        self.size = size
        self.assign()

    def slot_of(self, key: str) -> int | None:
        """Of a game in the air, the slot that the scheduler gave it; None for one that is over."""
        work, _ = self._flying.get(key, (None, None))
        return None if work is None else work.prefer

    def assign(self) -> None:
        """Begin what has a seat."""
        waiting: deque[ClusterTask] = deque()
        while self._queue and len(self._flying) < self.size and self._link.is_open and not self.refusing:
            work = self._queue.popleft()
            seat = self._machines.seat_for(work.encounter, work.prefer, frozenset(work.failed))
            if seat is None:
                waiting.append(work)
            elif work.begin():
                work.number = self._newest = self._newest + 1
                key = f"{self._run}-game-{work.number}"
                self._flying[key] = (work, seat)
                work.tried = self._loop.begin(self._try(key, work, seat))
            else:
                self._machines.free(seat)
        self._queue.extendleft(reversed(waiting))

    def lose(self, address: str, machine: str) -> None:
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

    def all_back(self) -> None:
        """The scheduler of the cluster does not answer: all in the air is lost and waits again."""
        for key, (work, _) in list(self._flying.items()):
            self._drop(key, work)
            self._back(work)

    def stop(self, *, now: bool) -> None:
        """What waits fails, `refusing` is why; `now`: what is in the air, too."""
        while self._queue:
            self._queue.popleft().fail(self.refusing)
        if now:
            for key, (work, _) in list(self._flying.items()):
                self._drop(key, work)
                work.fail(self.refusing)

    async def _try(self, key: str, work: ClusterTask, seat: WorkerSlot) -> None:
        machine = self._machines.workers[seat[0]].machine
        order, future = GameOrder(self._run, self.tag, seat[1], work.task), None
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
            self._machines.went_well(machine)
            work.future.set_result(value)
        elif kind == "internal":
            work.fail(f"{machine}: {value}", ours=True)
        elif kind == "anew":
            self._machines.workers.pop(seat[0], None)  # it looks again what it has, as one that joins
            self._back(work)
        else:
            self._again(work, machine, str(value), count=True)
        self.assign()

    def _end_try(self, key: str) -> None:
        _, seat = self._flying.pop(key)
        self._machines.free(seat)

    def _again(self, work: ClusterTask, machine: str, why: str, *, count: bool) -> None:
        """A machine failed the game: another one plays it, unless several have tried."""
        again = work.failed_by(machine)
        if count and work.number > self._counted.get(machine, 0):  # else what ended another one ended this one too
            self._count(machine, why)
        if self.refusing or not again:
            work.fail(f"{machine}: {why}")
            return
        self._say(f"{work.words} is played again: {machine}: {why}")
        self._queue.appendleft(work)
        self._loop.post(self.assign)

    def _count(self, machine: str, why: str) -> None:
        self._counted[machine] = self._newest
        if self._machines.failed(machine, why):
            step = f"enginetour machines --use {machine} gives it games again"
            self._say(f"{machine} is set aside, it failed three games in a row: {why}; {step}")

    def _back(self, work: ClusterTask) -> None:
        """Into the queue again, where games still begin."""
        if self.refusing:
            work.fail("the cluster does not answer")
        else:
            self._queue.appendleft(work)

    def _drop(self, key: str, work: ClusterTask) -> None:
        """End a try; the Dask future goes with it, and with that the task."""
        if key in self._flying:
            self._end_try(key)
        if work.tried is not None:
            work.tried.cancel()


def _first_line(error: BaseException) -> str:
    """What an error says, short; its kind where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


# The executor: the contract of `LocalExecutor` on all machines of a Dask cluster.

_CANCELLED = "cancelled"  # what Dask calls every future after the scheduler was away, for however short a time
_LOOK_LIMIT = 30.0  # s the first game waits for a worker to look what it has; it may join later
LOOK_S = 0.5  # between two looks at who is there: a dead worker's games are missed for no longer

Tell = Callable[[str], None]


class DaskExecutor:
    """All machines of a cluster. UsageRefused where no scheduler of Dask answers at the address.

    Nothing is played before `look_round` has seen the machines; `open` tells the tag of the run and who listens.
    """

    def __init__(self, address: str, slots: int, demand: Demand) -> None:
        self.address = address
        self.run = f"enginetour-{os.urandom(6).hex()}"
        self.machines = Machines()
        self._demand = pickle.dumps(demand, protocol=pickle.HIGHEST_PROTOCOL)
        self._listener: Listener | None = None
        self._tell: Tell | None = None
        self._untold: list[str] = []
        self._serial = itertools.count(1)
        self._guards: dict[str, Any] = {}  # futures of Dask; their release says that we are gone
        self._gone: set[str] = set()  # machines whose workers went; a worker of theirs that joins is their return
        self._is_lost = False
        self._closed = False
        self._looked = threading.Event()
        self._link = Connection(address, self.run, self._hear)
        self._loop = LoopThread("cluster")
        self._games = ClusterGames(self.run, slots, self._link, self._loop, self.machines, self._say)
        try:
            self._loop.wait_for(self._link.open())
        except OSError as error:
            self.close()
            why = _first_line(error).rpartition(">: ")[2]  # Dask tells its end of the connection first: in <TCP ...>:
            what = f"no scheduler of Dask answers at {address} ({why})"
            tls = " --protocol tls, with certificates of the same authority" if address.startswith(TLS) else ""
            raise UsageRefused(what, place="--place", step=f"start one there: dask scheduler{tls}") from None
        self._loop.post(lambda: self._loop.begin(self._keep_looking()))

    def look_round(self, heed: Callable[[], None]) -> list[dict[str, object]]:
        """Wait until every worker that is there now has looked what it has; the rows of all machines."""
        while not self._looked.wait(0.2):
            heed()
        return self.rows()

    def open(self, tag: str, listener: Listener | None, tell: Tell) -> None:
        """`tag` marks every process started for the run, `tell` hears what a person should read, from any thread."""
        self._games.tag, self._listener = tag, listener
        self._loop.post(lambda: self._speak_by(tell))

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        """A game to play, queued while all seats are taken. RuntimeError after `stop`, `close`."""
        if self._games.refusing:
            raise RuntimeError(f"no new games: {self._games.refusing}")
        work = ClusterTask(task, prefer)
        self._loop.post(lambda: self._games.enqueue(work))
        return work.future

    def resize(self, slots: int) -> None:
        """More or fewer games at once; those in the air end in their time."""
        self._loop.post(lambda: self._games.resize(slots))

    def stop(self, *, now: bool) -> None:
        """No new games, queued ones fail; `now`: running ones too, and the workers have been told so on return."""
        self._games.refusing = self._games.refusing or "the place was stopped"
        told = threading.Event()
        self._loop.post(lambda: self._stop(told, now=now))
        if now and not self._loop.is_here:
            told.wait(STOP_LIMIT)

    def close(self) -> None:
        """Let go of the cluster: workers drop what they play for us, and end its slots. Twice is once."""
        self._games.refusing = "the place was closed"
        if not self._closed:
            self._closed = True
            self._loop.post(lambda: self._loop.begin(self._end()))
        self._loop.join()

    def rows(self) -> list[dict[str, object]]:
        """Every machine as it stands, JSON-ready."""
        rows: list[dict[str, object]] = self._loop.ask(self.machines.rows)
        return rows

    def shared(self, demand: Demand) -> list[str]:
        """Machines on which several workers want more than there is, a line each."""
        lines: list[str] = self._loop.ask(lambda: list(overcommitted(self.machines.workers.values(), demand)))
        return lines

    def drain(self, name: str) -> bool:
        """No new games for a machine; False where none has that name."""
        done: bool = self._loop.ask(lambda: self.machines.drain(name))
        return done

    def use(self, name: str) -> bool:
        """Games again for a machine that was drained or set aside; False where none has that name."""
        done: bool = self._loop.ask(lambda: self.machines.use(name))
        self._loop.post(self._games.assign)
        return done

    # From here on everything runs in the place's own thread.

    def _speak_by(self, tell: Tell) -> None:
        self._tell = tell
        while self._untold:
            tell(self._untold.pop(0))

    def _say(self, text: str) -> None:
        if self._tell is not None:
            self._tell(text)
        else:
            self._untold.append(text)

    async def _keep_looking(self) -> None:
        """Who is there: new workers look what they have, games of those that went are played elsewhere."""
        while not self._closed:
            seen = await self._link.workers()
            if seen is None or any(guard.status == _CANCELLED for guard in self._guards.values()):
                self._lose_all()
            else:
                if self._is_lost:
                    self._is_lost = False
                    self._say(f"the cluster at {self.address} is back")
                joined, gone = self.machines.heed(seen)
                looks = [self._loop.begin(self._look(address)) for address in joined]
                for address, machine in gone.items():
                    self._guards.pop(address, None)
                    self._gone.add(machine)
                    self._games.lose(address, machine)
                if looks and not self._looked.is_set():
                    await asyncio.wait(looks, timeout=_LOOK_LIMIT)
                self._looked.set()
                self._games.assign()
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
        self._games.assign()

    async def _found(self, address: str) -> WorkerReport:
        """What a worker says of itself. One of another version is sent nothing of ours: who cannot read a task dies."""
        version = await self._ask(address, resolve_name, "enginetour.referee.link:VERSION")
        if version != VERSION:
            return WorkerReport("", lacks=(f"enginetour {VERSION}: it has {version}; install the same there",))
        found: WorkerReport = await self._ask(address, inspect_worker, self._demand, self.run)
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
        self.machines.heed({})
        self._guards.clear()
        self._games.all_back()

    def _stop(self, told: threading.Event, *, now: bool) -> None:
        self._games.stop(now=now)
        self._loop.post(told.set, delay=0.05)  # a moment for the releases to go out

    async def _end(self) -> None:
        told = threading.Event()
        self._stop(told, now=True)
        self._guards.clear()
        await self._link.close()
        await self._loop.end()

    def _hear(self, events: list[tuple[str, str, object]]) -> None:
        """Live events of a worker; those of games that are over are dropped."""
        if self._listener is None:
            return
        for key, name, payload in events:
            slot = self._games.slot_of(key)
            if slot is not None:
                self._listener(slot, name, payload)
