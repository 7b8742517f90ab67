"""A Dask cluster as a place to play: the contract of `LocalPlace`, on all its machines.

One thread of its own runs an asyncio loop; whoever calls a method only leaves a word there. A machine that fails a game
is counted, and the game goes to another one; only a game that several have failed is handed back as a failure.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import pickle
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from distributed import KilledWorker

from enginetour.cluster.connection import Connection
from enginetour.cluster.loop import LoopThread
from enginetour.cluster.machines import Machines, Seat
from enginetour.cluster.orders import Demand, Found, Order, Reply
from enginetour.cluster.work import Work
from enginetour.cluster.worker import look, play
from enginetour.errors import UsageRefused
from enginetour.places import STOP_LIMIT, Listener
from enginetour.referee.link import VERSION
from enginetour.task import GameTask

CANCELLED = "cancelled"  # what Dask calls every future after the scheduler was away, for however short a time
LOOK_LIMIT = 30.0  # s the first game waits for a worker to look what it has; it may join later
LOOK_S = 0.5  # between two looks at who is there: a dead worker's games are missed for no longer

Tell = Callable[[str], None]


class DaskPlace:
    """All machines of a cluster. UsageRefused where no scheduler of Dask answers at the address.

    Nothing is played before `look_round` has seen the machines; `open` tells the tag of the run and who listens.
    """

    def __init__(self, address: str, slots: int, demand: Demand) -> None:
        self.address = address
        self.run = f"enginetour-{os.urandom(6).hex()}"
        self.tag = self.run
        self.machines = Machines()
        self._size = slots
        self._demand = pickle.dumps(demand, protocol=pickle.HIGHEST_PROTOCOL)
        self._listener: Listener | None = None
        self._tell: Tell | None = None
        self._untold: list[str] = []
        self._serial = itertools.count(1)
        self._queue: deque[Work] = deque()
        self._flying: dict[str, tuple[Work, Seat]] = {}  # by key of Dask
        self._guards: dict[str, Any] = {}  # futures of Dask; their release says that we are gone
        self._is_lost = False
        self._refusing = ""
        self._closed = False
        self._looked = threading.Event()
        self._link = Connection(address, self.run, self._hear)
        self._loop = LoopThread("cluster")
        try:
            self._loop.wait_for(self._link.open())
        except OSError as error:
            self.close()
            what = f"no scheduler of Dask answers at {address} ({_first_line(error)})"
            raise UsageRefused(what, place="--place", step="start one there: dask scheduler") from None
        self._loop.post(lambda: self._loop.begin(self._keep_looking()))

    def look_round(self, heed: Callable[[], None]) -> list[dict[str, object]]:
        """Wait until every worker that is there now has looked what it has; the rows of all machines."""
        while not self._looked.wait(0.2):
            heed()
        return self.rows()

    def open(self, tag: str, listener: Listener | None, tell: Tell) -> None:
        """`tag` marks every process started for the run, `tell` hears what a person should read, from any thread."""
        self.tag, self._listener = tag, listener
        self._loop.post(lambda: self._speak_by(tell))

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        """A game to play, queued while all seats are taken. RuntimeError after `stop`, `close`."""
        if self._refusing:
            raise RuntimeError(f"no new games: {self._refusing}")
        work = Work(task, prefer)
        self._loop.post(lambda: self._enqueue(work))
        return work.future

    def resize(self, slots: int) -> None:
        """More or fewer games at once; those in the air end in their time."""
        self._loop.post(lambda: self._resize(slots))

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
        rows: list[dict[str, object]] = self._loop.ask(self.machines.rows)
        return rows

    def drain(self, name: str) -> bool:
        """No new games for a machine; False where none has that name."""
        done: bool = self._loop.ask(lambda: self.machines.drain(name))
        return done

    def use(self, name: str) -> bool:
        """Games again for a machine that was drained or set aside; False where none has that name."""
        done: bool = self._loop.ask(lambda: self.machines.use(name))
        self._loop.post(self._assign)
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
            if seen is None or any(guard.status == CANCELLED for guard in self._guards.values()):
                self._lose_all()
            else:
                if self._is_lost:
                    self._is_lost = False
                    self._say(f"the cluster at {self.address} is back")
                joined, gone = self._heed(seen)
                looks = [self._loop.begin(self._look(address)) for address in joined]
                for address, machine in gone.items():
                    self._lose(address, machine)
                if looks and not self._looked.is_set():
                    await asyncio.wait(looks, timeout=LOOK_LIMIT)
                self._looked.set()
                self._assign()
            await asyncio.sleep(LOOK_S)

    def _heed(self, seen: Any) -> tuple[list[str], dict[str, str]]:
        """Take the list of the moment; who joined, and the machines of the addresses that are gone."""
        names = {address: worker.machine for address, worker in self.machines.workers.items()}
        joined, gone = self.machines.heed(seen)
        return joined, {address: names[address] for address in gone}

    async def _look(self, address: str) -> None:
        key = f"{self.run}-look-{next(self._serial)}"
        try:
            future = self._link.submit(look, VERSION, self._demand, self.run, worker=address, slot=False, key=key)
            self._guards[address] = future
            found = await future
        except OSError:
            return
        except asyncio.CancelledError:
            raise
        except CancelledError:  # the connection was lost; the next look round begins anew
            return
        except Exception as error:  # it has another enginetour, or none: its own words say which
            found = Found(address, lacks=(f"enginetour {VERSION}: {_first_line(error)}",))
        if address not in self.machines.workers:
            return
        self.machines.look(address, found)
        name = self.machines.workers[address].machine
        if found.lacks:
            self._say(f"{name} gets no games, it lacks {'; '.join(found.lacks)}")
        elif self._looked.is_set():
            self._say(f"{name} has joined: {self.machines.workers[address].seen.seats} slots")
        self._assign()

    def _enqueue(self, work: Work) -> None:
        self._queue.append(work)
        self._assign()

    def _resize(self, slots: int) -> None:
        self._size = slots
        self._assign()

    def _assign(self) -> None:
        waiting: deque[Work] = deque()
        while self._queue and len(self._flying) < self._size and self._link.is_open and not self._closed:
            work = self._queue.popleft()
            seat = self.machines.seat_for(work.encounter, work.prefer, frozenset(work.failed))
            if seat is None:
                waiting.append(work)
            elif work.begin():
                key = f"{self.run}-game-{next(self._serial)}"
                self._flying[key] = (work, seat)
                work.tried = self._loop.begin(self._try(key, work, seat))
            else:
                self.machines.free(seat)
        self._queue.extendleft(reversed(waiting))

    async def _try(self, key: str, work: Work, seat: Seat) -> None:
        machine = self.machines.workers[seat[0]].machine
        order, future = Order(self.run, self.tag, seat[1], work.task), None
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
            self.machines.went_well(machine)
            work.future.set_result(value)
        elif kind == "anew":
            self.machines.workers.pop(seat[0], None)  # it looks again what it has, as one that joins
            self._back(work)
        else:
            self._again(work, machine, str(value), count=True)
        self._assign()

    def _end_try(self, key: str) -> None:
        _, seat = self._flying.pop(key)
        self.machines.free(seat)

    def _again(self, work: Work, machine: str, why: str, *, count: bool) -> None:
        """A machine failed the game: another one plays it, unless several have tried."""
        again = work.failed_by(machine)
        if count:
            self._count(machine, why)
        if self._refusing or not again:
            work.fail(f"{machine}: {why}")
            return
        self._say(f"{work.words} is played again: {machine}: {why}")
        self._queue.appendleft(work)
        self._loop.post(self._assign)

    def _count(self, machine: str, why: str) -> None:
        if self.machines.failed(machine, why):
            step = f"enginetour machines --use {machine} gives it games again"
            self._say(f"{machine} is set aside, it failed three games in a row: {why}; {step}")

    def _lose(self, address: str, machine: str) -> None:
        """A worker has gone: that is one failure of its machine, however many games it had."""
        self._guards.pop(address, None)
        lost = [(key, work) for key, (work, seat) in self._flying.items() if seat[0] == address]
        self._say(f"{machine} has left the cluster" + (f" with {len(lost)} games in the air" if lost else ""))
        if lost:
            self._count(machine, "its worker died")
        for key, work in lost:
            self._drop(key, work)
            self._again(work, machine, "its worker died", count=False)

    def _lose_all(self) -> None:
        """The scheduler of the cluster does not answer: all in the air is lost, nothing begins until it does."""
        if not self._is_lost:
            self._is_lost = True
            self._say(f"the cluster at {self.address} does not answer: games wait until it does")
        self.machines.heed({})
        self._guards.clear()
        for key, (work, _) in list(self._flying.items()):
            self._drop(key, work)
            self._back(work)

    def _back(self, work: Work) -> None:
        """Into the queue again, where games still begin."""
        if self._refusing:
            work.fail("the cluster does not answer")
        else:
            self._queue.appendleft(work)

    def _drop(self, key: str, work: Work) -> None:
        """End a try; the Dask future goes with it, and with that the task."""
        if key in self._flying:
            self._end_try(key)
        if work.tried is not None:
            work.tried.cancel()

    def _stop(self, told: threading.Event, *, now: bool) -> None:
        while self._queue:
            self._queue.popleft().fail("the place was stopped")
        if now:
            for key, (work, _) in list(self._flying.items()):
                self._drop(key, work)
                work.fail("the place was stopped")
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
            work, _ = self._flying.get(key, (None, None))
            if work is not None and work.prefer is not None:
                self._listener(work.prefer, name, payload)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
