"""The games of a place that is a cluster: waiting, in the air, and played again elsewhere when a machine fails one.

A machine that fails a game is counted, and the game goes to another one; only a game that several have failed is handed
back as a failure. Everything here is done in the thread of the place's loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError

from distributed import KilledWorker

from enginetour.reports.sheet import counted
from enginetour.tournament.cluster.connection import Connection
from enginetour.tournament.cluster.loop import LoopThread
from enginetour.tournament.cluster.machines import Machines, Seat
from enginetour.tournament.cluster.orders import Order, Reply
from enginetour.tournament.cluster.work import Work
from enginetour.tournament.cluster.worker import play


class Games:
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
        self._queue: deque[Work] = deque()
        self._flying: dict[str, tuple[Work, Seat]] = {}  # by key of Dask

    def enqueue(self, work: Work) -> None:
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
        waiting: deque[Work] = deque()
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
            f"{machine} has left the cluster" + (f" with {counted(len(lost), 'game')} in the air" if lost else "")
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

    async def _try(self, key: str, work: Work, seat: Seat) -> None:
        machine = self._machines.workers[seat[0]].machine
        order, future = Order(self._run, self.tag, seat[1], work.task), None
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
            self._again(work, machine, f"the cluster lost it: {first_line(error)}", count=not died)
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

    def _again(self, work: Work, machine: str, why: str, *, count: bool) -> None:
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

    def _back(self, work: Work) -> None:
        """Into the queue again, where games still begin."""
        if self.refusing:
            work.fail("the cluster does not answer")
        else:
            self._queue.appendleft(work)

    def _drop(self, key: str, work: Work) -> None:
        """End a try; the Dask future goes with it, and with that the task."""
        if key in self._flying:
            self._end_try(key)
        if work.tried is not None:
            work.tried.cancel()


def first_line(error: BaseException) -> str:
    """What an error says, short; its kind where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
