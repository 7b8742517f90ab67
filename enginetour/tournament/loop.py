"""The only loop: offers -> place -> log -> step. It never touches an engine's pipe and knows no format by name.

Kinds of failure stay apart: an engine's failure arrives as a game, the machine's as a `MachineFailure` on the future
(the same game is offered again), our own in one game as an `InternalFailure` (tried three times, then that game is set
aside), and any other exception is our own failure in the loop, which stops the run.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from enum import Enum
from queue import Empty, SimpleQueue
from typing import Any

from enginetour.formats.base import Format, replay
from enginetour.model.errors import InternalFailure, MachineFailure, TourError
from enginetour.model.game import (
    INTERNAL,
    Event,
    Game,
    GameFinished,
    Incident,
    Note,
    Outcome,
    Pairing,
    Termination,
    Withdrawn,
)
from enginetour.model.task import GameTask
from enginetour.tournament.allotment import Allotment, unshared
from enginetour.tournament.offers import Offers
from enginetour.tournament.setbacks import Setbacks, room_for
from enginetour.tournament.standstill import Standstill, would_go_on
from enginetour.tournament.surroundings import Log, Place
from enginetour.tournament.unwritten import Ended, Unwritten


class End(Enum):
    """Why the loop came back."""

    FINISHED = "finished"
    BLOCKED = "blocked"
    STOPPED = "stopped"
    ENOUGH = "enough"
    BUSY = "busy"  # as BLOCKED, where all that stays open does so because the machine was too busy
    FAILED = "failed"  # as BLOCKED or ENOUGH, with a game that stays open because enginetour itself failed in it


class Watcher:
    """Is told of everything after it is durable; the base class listens to nothing."""

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """A game is in the log under this number."""

    def trouble(self, text: str) -> None:
        """Something the user should read now."""

    def withdrawn(self, name: str, why: str) -> None:
        """The loop itself took an engine out; it is in the log."""

    def turn(self, scheduler: Scheduler) -> None:
        """Called before games begin: the moment to stop that."""

    def progress(self, scheduler: Scheduler) -> None:
        """Called after every change and at least once a second, when the next games have begun."""


@dataclass
class Scheduler:
    """Plays a tournament to its end, or until it is told to stop. One use, one thread.

    `task_for` may raise TourError: no game can begin any more. `refusal` is that error when `run` has come back.
    """

    log: Log
    format: Format[Any]
    entrants: tuple[Any, ...]
    place: Place
    task_for: Callable[[Pairing, int], GameTask]
    slots: int = 1
    most_games: int | None = None
    copies: Mapping[str, int] = field(default_factory=dict)  # entrant -> most running at once
    watcher: Watcher = field(default_factory=Watcher)
    inbox: SimpleQueue[Callable[[], None]] = field(default_factory=SimpleQueue)
    clock: Callable[[], float] = time.monotonic
    free_bytes: Callable[[], float] = lambda: math.inf  # on the disk of the log
    busy: Callable[[], str] = lambda: ""  # how busy the machine is, where it is too busy for a fair game
    standstill: Standstill = field(default_factory=Standstill)
    folded: Any = None  # the state after the log, from whoever has folded it already: a second a 30 000 games

    def __post_init__(self) -> None:
        """Fold what is in the log: starting and resuming are the same act."""
        given = self.folded
        self.state: Any = replay(self.format, self.entrants, self.log.events()) if given is None else given
        self.folded = None  # not kept: the state moves on
        self.flying: dict[Future[Any], tuple[Pairing, float]] = {}
        self.played = 0
        self.spent = 0.0  # seconds of finished games of this run, for the estimate
        self.stopping: str = ""  # "" | finish | now
        self.refusal: TourError | None = None  # why no game can begin any more, where nobody asked for a stop
        self.paused = False  # as somebody asked: no game begins until somebody asks for it
        self._unwritten = Unwritten(self.log)
        self._allotment = Allotment(self.slots, self.copies)
        self.setbacks = Setbacks(self.clock, self.watcher.trouble, self.busy)
        self._over: deque[Future[Any]] = deque()  # of those in the air, what has ended: nobody asks all of them
        self._offers = Offers(self.format, self.setbacks, self._allotment)
        self._held_until: float | None = None

    def run(self) -> End:
        """Play until nothing is left to play, a stop, or `most_games`."""
        while True:
            self._act()  # first: after a stop no new game begins
            self.watcher.turn(self)
            self._submit()
            self.watcher.progress(self)  # the next games begin before much is made of the last ones
            if not self.flying and (end := self._verdict()) is not None:
                if self.inbox.empty():
                    if self.setbacks.has_internal and end in (End.BLOCKED, End.ENOUGH):
                        return End.FAILED
                    return End.BUSY if end is End.BLOCKED and self.setbacks.is_only_busy else end
                continue  # a request that came meanwhile is carried out: it may bring more to play
            self._wait()
            self._settle_all()
            if self._held_until is not None and self.flying and self.clock() >= self._held_until:
                self.stop(now=True)

    def stop(self, *, now: bool, grace: float | None = None) -> None:
        """No new games; running ones may end within `grace` seconds, or are dropped `now`."""
        if now and self.stopping != "now":
            self.stopping = "now"
            self.place.stop(now=True)
        elif self.stopping != "now":
            if grace is not None and self._held_until is None:  # whoever asked before may have set no end
                self._held_until = self.clock() + grace
            if not self.stopping:
                self.stopping = "finish"
                self.place.stop(now=False)

    def resize(self, slots: int) -> None:
        """More or fewer games at once from now on; those in the air end in their time."""
        self.slots = self._allotment.slots = slots
        self.place.resize(slots)

    def step(self, event: Event, before: Any = None) -> tuple[Any, tuple[Note, ...]]:
        """The state after `event` and its new decisions, without taking it; the caller logs first."""
        before = self.state if before is None else before
        after = self.format.step(before, event)
        known = len(self.format.notes(before))
        return after, self.format.notes(after)[known:]

    def take(self, event: Event, after: Any) -> None:
        """Take the state after an event that is in the log."""
        self.state = after
        self.setbacks.forget(event)

    def playing(self) -> list[Pairing]:
        """The games in the air."""
        return [pairing for pairing, _ in self.flying.values()]

    def estimate(self) -> float | None:
        """Seconds until the likely end, None before the first game of this run has ended, and in a pause."""
        if not self.played or self.paused:
            return None
        return self.format.likely(self.state) * self.spent / self.played / max(1, min(self.slots, 1 + len(self.flying)))

    def _submit(self, after: Any = None) -> None:
        """Begin what may begin; `after`: the state with games that have ended and are not in the log yet.

        Then only what would begin after its commit just the same, up to the first game that was not on offer, or sure
        to be, before it ended: nothing rests on a result that is not durable (reliability spec 3).
        """
        if self.stopping or self.paused or self.setbacks.is_pausing():
            return
        early = len(self._unwritten)
        room = self.slots - len(self.flying)
        if self.most_games is not None:
            room = min(room, self.most_games - self.played - early - len(self.flying))
        if room <= 0:
            return
        for pairing in self._offers.wanted(after if early else self.state):
            if room <= 0:
                return
            slot = self._allotment.slot_for(pairing)
            if slot is None or not self.setbacks.is_playable(pairing):
                continue
            needed, free = room_for(1 + early + len(self.flying)), self.free_bytes()
            if early and (free < needed or not self._offers.are_sure_of(pairing, self.state)):
                return
            if self.setbacks.is_cramped(free, needed):
                return
            try:
                task = unshared(self.task_for(pairing, self.log.replays(pairing.key)), self.slots)
            except TourError as refusal:
                self._refuse(refusal)
                return
            future = self.place.submit(task, prefer=slot)
            self._allotment.begin(slot, pairing)
            self.flying[future] = (pairing, self.clock())
            future.add_done_callback(self._land)
            room -= 1

    def _refuse(self, refusal: TourError) -> None:
        """No new games; running ones end, for they began before it."""
        if self.refusal is None:
            self.refusal = refusal
            if self.flying:
                self.watcher.trouble(f"no new games, running ones end: {refusal}")
        self.stop(now=False)

    def _verdict(self) -> End | None:
        """What it means that nothing is in the air; None while a pause lasts."""
        offers = self.format.offers(self.state)
        if not offers:
            return End.FINISHED  # a stop too, when the game it let end was the last
        if self.stopping:
            return End.STOPPED
        if self.most_games is not None and self.played >= self.most_games:
            return End.ENOUGH
        if self.paused:
            return None
        return self._stand_still(offers) if self.setbacks.is_blocked(offers) else None

    def _stand_still(self, offers: Sequence[Pairing]) -> End | None:
        """Wait for engines without which nothing goes on, then do without them; BLOCKED where that helps nobody."""
        still, suspended = self.standstill, self.setbacks.suspended
        names = suspended.keys() & {name for pairing in offers for name in pairing.pair}
        if still.until is None and not would_go_on(self.format, self.state, names, self.setbacks.is_open):
            return End.BLOCKED
        told = still.begin(names, self.clock())
        if told:
            self.watcher.trouble(told)
        if not still.is_over(self.clock()):
            return None
        if not still.withdraws:
            return End.BLOCKED
        for name in sorted(names):
            self._withdraw(name, still.why(suspended[name]))
        still.end()
        return None

    def _withdraw(self, name: str, why: str) -> None:
        event = Withdrawn(name)
        after, notes = self.step(event)
        self.log.record_event(event, notes, why=why)
        self.take(event, after)
        self.watcher.trouble(f"{name} is withdrawn: it {why}")
        self.watcher.withdrawn(name, why)

    def _wait(self) -> None:
        """Sleep until a game ends, somebody asks for something, or a second has passed; not where one ended before."""
        if not self._over:
            try:
                self.inbox.get(timeout=1.0)()
            except Empty:
                return
        self._act()

    def _act(self) -> None:
        """Do what was asked for since."""
        while True:
            try:
                act = self.inbox.get_nowait()
            except Empty:
                return
            if act is not _nothing:
                self._record()  # what is asked for sees, and changes, what is in the log
            act()

    def _land(self, future: Future[Any]) -> None:
        """A game has ended; called from the thread of its place."""
        self._over.append(future)
        self.inbox.put(_nothing)

    def _settle_all(self) -> None:
        """What has ended by now, in the order in which it did, and is told when all that is durable."""
        for future in [self._over.popleft() for _ in range(len(self._over))]:
            self._settle(future, *self.flying.pop(future))
            self._act()  # a stop holds for what the next one makes room for
        self._record()

    def _settle(self, future: Future[Any], pairing: Pairing, since: float) -> None:
        try:
            game: Game = future.result()
        except (CancelledError, InternalFailure, MachineFailure, TourError) as failure:
            self._allotment.end(pairing, failed=True)
            if isinstance(failure, TourError):
                self._refuse(failure)
            elif not (self.stopping or future.cancelled()):  # what a pause has taken back is offered again
                self._record()  # a game that ended before it stands between two failures
                if isinstance(failure, InternalFailure):
                    self._internal(pairing, str(failure), since)
                    return
                self.setbacks.host_failed(pairing, f"{pairing.white} - {pairing.black} is played again: {failure}")
            return
        self._allotment.end(pairing, failed=False)
        after, notes = self.step(GameFinished(pairing, game.outcome), self._unwritten.state)
        self._unwritten.add(Ended(game, notes, after, since))
        if game.outcome is Outcome.VOID or self._unwritten.is_full:
            self._record()  # a void one is heeded first: it may set engines aside
            return
        self.watcher.turn(self)
        self._submit(after)  # the commit takes its time beside the next game; if it fails both are lost

    def _internal(self, pairing: Pairing, why: str, since: float) -> None:
        """Heed a failure of enginetour itself in a game; after the last try the log has an incident."""
        if not self.setbacks.internal_failed(pairing, why):
            return
        cause = f"enginetour itself failed in {pairing.white} - {pairing.black}: {why}"
        game = Game(
            pairing,
            Outcome.VOID,
            Termination.ABORTED,
            cause,
            category=INTERNAL,
            incidents=(Incident(pairing.white, INTERNAL, cause),),
            replay=self.log.replays(pairing.key),
        )
        after, notes = self.step(GameFinished(pairing, game.outcome), self._unwritten.state)
        self._unwritten.add(Ended(game, notes, after, since))
        self._record()

    def _record(self) -> None:
        """Games that have ended become durable, all that came together in one commit; then they are told, in order."""
        for number, one in self._unwritten.written():
            self.state = one.after
            self.setbacks.heed(one.game)
            if one.game.outcome is not Outcome.VOID:
                self.standstill.end()
                self.played += 1
                self.spent += self.clock() - one.since
            self.watcher.game(number, one.game, one.notes)


def _nothing() -> None:
    """Wakes the loop."""
