"""A Dask cluster as a place to play: the contract of `LocalPlace`, on all its machines.

One thread of its own runs an asyncio loop; whoever calls a method only leaves a word there.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from pkgutil import resolve_name
from typing import Any

from enginetour.model.errors import UsageRefused
from enginetour.model.task import GameTask
from enginetour.referee.talk import VERSION
from enginetour.reports.sheet import counted
from enginetour.tournament.cluster.certificates import TLS
from enginetour.tournament.cluster.connection import Connection
from enginetour.tournament.cluster.games import Games, first_line
from enginetour.tournament.cluster.loop import LoopThread
from enginetour.tournament.cluster.machines import Machines
from enginetour.tournament.cluster.orders import Demand, Found
from enginetour.tournament.cluster.sharing import shared
from enginetour.tournament.cluster.work import Work
from enginetour.tournament.cluster.worker import look
from enginetour.tournament.places import STOP_LIMIT, Listener

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
        self._games = Games(self.run, slots, self._link, self._loop, self.machines, self._say)
        try:
            self._loop.wait_for(self._link.open())
        except OSError as error:
            self.close()
            why = first_line(error).rpartition(">: ")[2]  # Dask tells its end of the connection first: in <TCP ...>:
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
        work = Work(task, prefer)
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
        lines: list[str] = self._loop.ask(lambda: list(shared(self.machines.workers.values(), demand)))
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
            if seen is None or any(guard.status == CANCELLED for guard in self._guards.values()):
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
                    await asyncio.wait(looks, timeout=LOOK_LIMIT)
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
            found = Found("", lacks=(f"enginetour {VERSION}: {first_line(error)}",))
        if address not in self.machines.workers:
            return
        self.machines.look(address, found)
        name = self.machines.workers[address].machine
        if found.lacks and self._looked.is_set():  # those of the first look are told as a table
            self._say(f"{name} gets no games, it lacks {'; '.join(found.lacks)}")
        elif not found.lacks and self._looked.is_set():
            came = "is back" if name in self._gone else "has joined"
            self._say(f"{name} {came}: {counted(self.machines.workers[address].seen.seats, 'slot')}")
        self._gone.discard(name)
        self._games.assign()

    async def _found(self, address: str) -> Found:
        """What a worker says of itself. One of another version is sent nothing of ours: who cannot read a task dies."""
        version = await self._ask(address, resolve_name, "enginetour.referee.talk:VERSION")
        if version != VERSION:
            return Found("", lacks=(f"enginetour {VERSION}: it has {version}; install the same there",))
        found: Found = await self._ask(address, look, self._demand, self.run)
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
