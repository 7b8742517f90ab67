"""Scheduler: the only loop that starts games, records results and steps the format; estimate of the remaining time.

Kinds of failure stay apart: an engine's failure arrives as a game, the machine's as a `MachineFailure` on the future
(the same game is offered again), our own in one game as an `InternalFailure` (tried three times, then that game is set
aside), and any other exception is our own failure in the loop, which stops the run.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import repeat
from operator import is_
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

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
from enginetour.model.task import GameTask, Side
from enginetour.tournament.setbacks import Setbacks, Standstill, room_for, would_go_on

if TYPE_CHECKING:
    from enginetour.store.log import TournamentLog

# Which slot plays which game: all legs of an encounter the same one, one after the other; engines where they wait.
#
# Source: runner spec 14. Slots are numbered from 0 on; the executor takes a number as a wish.

Encounter = tuple[str, str, int]  # the pair in sorted order, its meeting


class Allotment:
    """The slots of a run: what each plays, and what it played last, whose engines wait there.

    Nothing here goes through all slots for each game: there may be a thousand.
    """

    def __init__(self, slots: int, copies: Mapping[str, int] | None = None) -> None:
        """`copies`: how often an entrant's engine may run at once, where that is not 0; it may change meanwhile."""
        self._slots = slots
        self._copies = {} if copies is None else copies
        self._running: Counter[str] = Counter()
        self._playing: dict[int, Pairing] = {}
        self._engaged: dict[Encounter, int] = {}  # slot of each encounter that is played
        self._engaged_either_way: set[Encounter] = set()  # the same with the names in both orders
        self._last: dict[int, Pairing] = {}
        self._free = set(range(slots))
        self._waiting: dict[str, set[int]] = {}  # entrant -> free slots where its engine waits

    @property
    def slots(self) -> int:
        """How many there are; those beyond end what they play."""
        return self._slots

    @slots.setter
    def slots(self, slots: int) -> None:
        self._slots = slots
        self._waiting = {}
        self._free = set()
        for slot in range(slots):
            if slot not in self._playing:
                self._release(slot)

    def ordered(self, offers: Iterable[Pairing]) -> Iterator[Pairing]:
        """As wished, but with several slots what a free one has begun comes first: the other legs of its encounter.

        Those of encounters that are played now are left out: they wait for their slot. A look goes no further than
        whoever asks: mostly for one game, of thousands.
        """
        offers = tuple(offers)
        if self._slots == 1:
            yield from offers
            return
        begun = {name for slot in self._free & self._last.keys() for name in _either_way(self._last[slot])}
        engaged = self._engaged_either_way
        if begun:
            names = {name for encounter in begun for name in encounter[:2]}  # few: a cheap look for most of the offers
            meetings = {encounter[2] for encounter in begun}
            for one in offers:
                if one.meeting in meetings and one.white in names and one.black in names:
                    encounter = (one.white, one.black, one.meeting)
                    if encounter in begun and encounter not in engaged:
                        yield one
        for one in offers:
            encounter = (one.white, one.black, one.meeting)
            if encounter not in engaged and encounter not in begun:
                yield one

    def slot_for(self, pairing: Pairing) -> int | None:
        """The free slot where most of its engines wait, the lowest of equals.

        None: all are busy, one is at its encounter, or one of both engines runs as often as it may.
        """
        encounter = _encounter(pairing)
        if encounter in self._engaged or not self._free:
            return None
        if any(0 < self._copies.get(name, 0) <= self._running[name] for name in pairing.pair):
            return None
        there = [self._waiting.get(name, set()) for name in pairing.pair]
        if not any(there):
            return min(self._free)

        def worth(slot: int) -> tuple[bool, int, int]:
            last = self._last[slot]
            return _encounter(last) == encounter, len({*last.pair} & {*pairing.pair}), -slot

        return max(there[0] | there[1], key=worth)

    def begin(self, slot: int, pairing: Pairing) -> None:
        """It plays there from now on."""
        self._playing[slot] = pairing
        self._running.update(pairing.pair)
        self._engaged[_encounter(pairing)] = slot
        self._engaged_either_way.update(_either_way(pairing))
        self._free.discard(slot)
        for name in self._last[slot].pair if slot in self._last else ():
            self._waiting.get(name, set()).discard(slot)

    def end(self, pairing: Pairing, *, failed: bool) -> None:
        """It is over; where the machine `failed` nobody waits any more. A result may come twice."""
        slot = self._engaged.get(_encounter(pairing))
        if slot is None or self._playing[slot].key != pairing.key:
            return
        del self._playing[slot], self._engaged[_encounter(pairing)]
        self._engaged_either_way.difference_update(_either_way(pairing))
        self._running.subtract(pairing.pair)
        self._last.pop(slot, None)
        if not failed:
            self._last[slot] = pairing
        if slot < self._slots:
            self._release(slot)

    def _release(self, slot: int) -> None:
        self._free.add(slot)
        for name in self._last[slot].pair if slot in self._last else ():
            self._waiting.setdefault(name, set()).add(slot)


def _either_way(pairing: Pairing) -> tuple[Encounter, Encounter]:
    """Its encounter as the games of both colours name it: sorting names of thousands of offers takes its time."""
    return (pairing.white, pairing.black, pairing.meeting), (pairing.black, pairing.white, pairing.meeting)


def _encounter(pairing: Pairing) -> Encounter:
    return (*pairing.pair, pairing.meeting)


def unshared(task: GameTask, slots: int) -> GameTask:
    """The same game; where there are more slots than an engine may have copies its process goes with the game.

    One that waited in a slot for its next game would be a copy too, when that game is played in another.
    """

    def kept(side: Side) -> Side:
        if not 0 < side.spec.max_copies < slots:
            return side
        return replace(side, spec=replace(side.spec, restart="on"))

    white, black = kept(task.white), kept(task.black)
    return task if (white, black) == (task.white, task.black) else replace(task, white=white, black=black)


# Which games may begin, and in which order: those a format offers, behind what the machine fails, by their slots.

Shown = tuple[tuple[Pairing, ...], tuple[Pairing, ...]]  # what is on offer, and what is sure to be


class Offers:
    """Of one run. A format is asked once for each state: the next game is asked for before and after a commit."""

    def __init__(self, format_: Format[Any], setbacks: Setbacks, allotment: Allotment) -> None:
        self._format, self._setbacks, self._allotment = format_, setbacks, allotment
        # Of the last two states, that of the log and that after it; and whether games beside others were asked for.
        self._known: tuple[tuple[Any, bool, Shown], ...] = ()

    def wanted(self, state: Any) -> Iterator[Pairing]:
        """Games in the order in which they should begin; beside other slots one looks ahead before it stands idle."""
        now, ahead = self._of(state)
        return self._allotment.ordered(self._setbacks.ordered(now) + self._setbacks.ordered(ahead))

    def are_sure_of(self, pairing: Pairing, state: Any) -> bool:
        """It is on offer in this state, or sure to be."""
        shown = self._of(state)
        # Mostly the very same pairing is offered again; comparing takes 20 times as long (measured, 500 before it).
        return any(any(map(is_, games, repeat(pairing))) for games in shown) or any(pairing in games for games in shown)

    def _of(self, state: Any) -> Shown:
        beside = self._allotment.slots > 1
        for known, asked, shown in self._known:
            if known is state and asked is beside:
                return shown
        shown = self._format.offers(state), self._format.ahead(state) if beside else ()
        self._known = (*self._known[-1:], (state, beside, shown))
        return shown


class Executor(Protocol):
    """Where games are played: local slots, a cluster."""

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        """A game to play; its future raises `MachineFailure` when the host failed, `TourError` when we did."""

    def resize(self, slots: int) -> None:
        """More or fewer slots; surplus ones go when their game has ended."""

    def stop(self, *, now: bool) -> None:
        """No new games; `now` drops the running ones."""


_MOST_TOGETHER = 64  # games of one commit: none waits long for the others (our choice)


@dataclass(frozen=True, slots=True)
class _EndedGame:
    """A game that is not in the log yet: its decisions, the format's state after it, and when it began.

    A commit costs as much for many as for one, and with a thousand slots many end while the last one is written.
    """

    game: Game
    notes: tuple[Note, ...]
    after: Any
    since: float


class RunEnd(Enum):
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

    log: TournamentLog
    format: Format[Any]
    entrants: tuple[Any, ...]
    executor: Executor
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
        self._unwritten: list[_EndedGame] = []  # in the order in which they ended
        self._allotment = Allotment(self.slots, self.copies)
        self.setbacks = Setbacks(self.clock, self.watcher.trouble, self.busy)
        self._over: deque[Future[Any]] = deque()  # of those in the air, what has ended: nobody asks all of them
        self._offers = Offers(self.format, self.setbacks, self._allotment)
        self._held_until: float | None = None

    def run(self) -> RunEnd:
        """Play until nothing is left to play, a stop, or `most_games`."""
        while True:
            self._act()  # first: after a stop no new game begins
            self.watcher.turn(self)
            self._submit()
            self.watcher.progress(self)  # the next games begin before much is made of the last ones
            if not self.flying and (end := self._verdict()) is not None:
                if self.inbox.empty():
                    if self.setbacks.has_internal and end in (RunEnd.BLOCKED, RunEnd.ENOUGH):
                        return RunEnd.FAILED
                    return RunEnd.BUSY if end is RunEnd.BLOCKED and self.setbacks.is_only_busy else end
                continue  # a request that came meanwhile is carried out: it may bring more to play
            self._wait()
            self._settle_all()
            if self._held_until is not None and self.flying and self.clock() >= self._held_until:
                self.stop(now=True)

    def stop(self, *, now: bool, grace: float | None = None) -> None:
        """No new games; running ones may end within `grace` seconds, or are dropped `now`."""
        if now and self.stopping != "now":
            self.stopping = "now"
            self.executor.stop(now=True)
        elif self.stopping != "now":
            if grace is not None and self._held_until is None:  # whoever asked before may have set no end
                self._held_until = self.clock() + grace
            if not self.stopping:
                self.stopping = "finish"
                self.executor.stop(now=False)

    def resize(self, slots: int) -> None:
        """More or fewer games at once from now on; those in the air end in their time."""
        self.slots = self._allotment.slots = slots
        self.executor.resize(slots)

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
            future = self.executor.submit(task, prefer=slot)
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

    def _verdict(self) -> RunEnd | None:
        """What it means that nothing is in the air; None while a pause lasts."""
        offers = self.format.offers(self.state)
        if not offers:
            return RunEnd.FINISHED  # a stop too, when the game it let end was the last
        if self.stopping:
            return RunEnd.STOPPED
        if self.most_games is not None and self.played >= self.most_games:
            return RunEnd.ENOUGH
        if self.paused:
            return None
        return self._stand_still(offers) if self.setbacks.is_blocked(offers) else None

    def _stand_still(self, offers: Sequence[Pairing]) -> RunEnd | None:
        """Wait for engines without which nothing goes on, then do without them; BLOCKED where that helps nobody."""
        still, suspended = self.standstill, self.setbacks.suspended
        names = suspended.keys() & {name for pairing in offers for name in pairing.pair}
        if still.until is None and not would_go_on(self.format, self.state, names, self.setbacks.is_open):
            return RunEnd.BLOCKED
        told = still.begin(names, self.clock())
        if told:
            self.watcher.trouble(told)
        if not still.is_over(self.clock()):
            return None
        if not still.withdraws:
            return RunEnd.BLOCKED
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
        if not self._over:
            try:
                self.inbox.get(timeout=1.0)()
            except Empty:
                return
        self._act()

    def _act(self) -> None:
        while True:
            try:
                act = self.inbox.get_nowait()
            except Empty:
                return
            if act is not _nothing:
                self._record()  # what is asked for sees, and changes, what is in the log
            act()

    def _land(self, future: Future[Any]) -> None:
        """A game has ended; called from the thread of the executor."""
        self._over.append(future)
        self.inbox.put(_nothing)

    def _settle_all(self) -> None:
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
        after = self._ended(game, since)
        if game.outcome is Outcome.VOID or len(self._unwritten) >= _MOST_TOGETHER:
            self._record()  # a void one counts first: it may set engines aside
            return
        self.watcher.turn(self)
        self._submit(after)  # the commit takes its time beside the next game; if it fails both are lost

    def _internal(self, pairing: Pairing, why: str, since: float) -> None:
        """Count a failure of enginetour itself in a game; after the last try the log has an incident."""
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
        self._ended(game, since)
        self._record()

    def _ended(self, game: Game, since: float) -> Any:
        """Step the format, whose state is returned; the game is to be written."""
        before = self._unwritten[-1].after if self._unwritten else None
        after, notes = self.step(GameFinished(game.pairing, game.outcome), before)
        self._unwritten.append(_EndedGame(game, notes, after, since))
        return after

    def _record(self) -> None:
        """Games that have ended become durable, all that came together in one commit; then they are told, in order."""
        games, self._unwritten = self._unwritten, []
        numbers = self.log.record_games([(one.game, one.notes) for one in games]) if games else []
        for number, one in zip(numbers, games, strict=True):
            if number is None:  # it was there already
                continue
            self.state = one.after
            self.setbacks.record(one.game)
            if one.game.outcome is not Outcome.VOID:
                self.standstill.end()
                self.played += 1
                self.spent += self.clock() - one.since
            self.watcher.game(number, one.game, one.notes)


def _nothing() -> None:
    """Wakes the loop."""
