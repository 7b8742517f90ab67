"""Scheduler: the only loop that starts games, records results and steps the format; estimate of the remaining time.

Failures of different causes are handled separately. An engine's failure is the result of a game. A failure of the
machine is a `MachineFailure` of the future, and the game is replayed. An internal error in one game is an
`InternalFailure`: the game is tried three times, then skipped. Any other exception is an internal error of the loop and
stops the run.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from itertools import chain, repeat
from operator import is_
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from enginetour.formats.base import Format, replay
from enginetour.model.errors import InternalFailure, MachineFailure, TourError
from enginetour.model.game import (
    INTERNAL,
    Entrant,
    Event,
    Game,
    GameVoided,
    Incident,
    Note,
    Outcome,
    Pairing,
    Replaced,
    Termination,
    Withdrawn,
)
from enginetour.model.task import EngineSpec, GameTask, Side
from enginetour.tournament.quality import FailureCounts, Reserves, can_replace
from enginetour.tournament.setbacks import Setbacks, Standstill, room_for, would_go_on

if TYPE_CHECKING:
    from enginetour.store.log import TournamentLog

# Choice of the slot for a game: one slot plays all games of an encounter, one after the other, because it keeps the
# engine processes.
#
# Source: runner spec 14. Slots are numbered from 0; the executor may use a slot with another number.

Encounter = tuple[str, str, int]  # the two names in sorted order, and the number of their encounter


class GameLimit:
    """The largest number of games of a run, or of several runs together, each of which has a thread of its own.

    Void games do not count. With None, the number of games is not limited.
    """

    def __init__(self, most: int | None = None) -> None:
        self._left = math.inf if most is None else most  # number of games that may still start
        self._playing = 0
        self._lock = threading.Lock()

    @property
    def is_used_up(self) -> bool:
        """Return whether no game may start, unless one of those in progress turns out not to count."""
        return self._left <= 0

    @property
    def is_reached(self) -> bool:
        """Return whether all games have been played."""
        with self._lock:
            return self._left <= 0 and not self._playing

    def begin(self) -> bool:
        """Count a game that starts now. Return False if it may not start."""
        with self._lock:
            may = self._left > 0
            self._left -= may
            self._playing += may
            return may

    def end(self, *, counts: bool) -> None:
        """Note the end of a game. If it does not count, another one may start."""
        with self._lock:
            self._playing -= 1
            self._left += not counts

    def give_back(self) -> None:
        """Allow another game, because one that counted was already in the log."""
        with self._lock:
            self._left += 1


class Allotment:
    """The slots of a run: for each, its current game, its last game, and the entrants whose engines it keeps.

    No method loops over all slots for each game, because there may be a thousand.
    """

    def __init__(self, slots: int, copies: Mapping[str, int] | None = None) -> None:
        """`copies` contains the largest number of processes of an entrant's engine, if limited. It may change later."""
        self._slots = slots
        self._copies = {} if copies is None else copies
        self._running: Counter[str] = Counter()
        self._playing: dict[int, Pairing] = {}
        self._engaged: dict[Encounter, int] = {}  # slot of each encounter with a game in progress
        self._engaged_either_way: set[Encounter] = set()  # these encounters, with the names in both orders
        self._last: dict[int, Pairing] = {}
        self._free = set(range(slots))
        self._waiting: dict[str, set[int]] = {}  # entrant -> free slots that keep its engine process

    @property
    def slots(self) -> int:
        """The number of slots; a removed slot plays its game to the end."""
        return self._slots

    @slots.setter
    def slots(self, slots: int) -> None:
        self._slots = slots
        self._waiting = {}
        self._free = set()
        for slot in range(slots):
            if slot not in self._playing:
                self._release(slot)

    def ordered(self, *offers: Sequence[Pairing]) -> Iterator[Pairing]:
        """Yield the offers that may start, in order. With several slots, second games of an encounter come first.

        Games of encounters with a game in progress are omitted, because they wait for its slot. This is a generator,
        because the caller usually needs one game of thousands.
        """
        if self._slots == 1:
            yield from chain(*offers)
            return
        last = [self._last[slot] for slot in self._free & self._last.keys()]
        # After the second game of an encounter, usually none is left, and a search through all offers would be in vain.
        begun = {name for pairing in last if pairing.leg % 2 for name in _either_way(pairing)}
        engaged = self._engaged_either_way
        if begun:
            names = {name for encounter in begun for name in encounter[:2]}  # few names reject most offers at low cost
            meetings = {encounter[2] for encounter in begun}
            for one in chain(*offers):
                if one.meeting in meetings and one.white in names and one.black in names:
                    encounter = (one.white, one.black, one.meeting)
                    if encounter in begun and encounter not in engaged:
                        yield one
        for one in chain(*offers):
            encounter = (one.white, one.black, one.meeting)
            if encounter not in engaged and encounter not in begun:
                yield one

    def slot_for(self, pairing: Pairing) -> int | None:
        """Return the free slot that keeps most of the pairing's engine processes, or the lowest of several such slots.

        Return None if all slots are busy, if a slot plays this encounter, or if one of the engines already has its
        largest number of processes.
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
        """Mark the pairing as in progress in the slot."""
        self._playing[slot] = pairing
        self._running.update(pairing.pair)
        self._engaged[_encounter(pairing)] = slot
        self._engaged_either_way.update(_either_way(pairing))
        self._free.discard(slot)
        for name in self._last[slot].pair if slot in self._last else ():
            self._waiting.get(name, set()).discard(slot)

    def end(self, pairing: Pairing, *, failed: bool) -> None:
        """Mark the pairing as ended. If the machine `failed`, its engine processes have also ended.

        A second result of the same game is ignored.
        """
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
    """Return the encounter with the names in both orders, because sorting the names of thousands of offers is slow."""
    return (pairing.white, pairing.black, pairing.meeting), (pairing.black, pairing.white, pairing.meeting)


def _encounter(pairing: Pairing) -> Encounter:
    return (*pairing.pair, pairing.meeting)


def unshared(task: GameTask, slots: int) -> GameTask:
    """Return the task, in which an engine with fewer allowed copies than slots ends its process after the game.

    Otherwise, a process that waits in one slot would count as a copy when another slot plays the engine's next game.
    """

    def kept(side: Side) -> Side:
        if not 0 < side.spec.max_copies < slots:
            return side
        return replace(side, spec=replace(side.spec, restart="on"))

    white, black = kept(task.white), kept(task.black)
    return task if (white, black) == (task.white, task.black) else replace(task, white=white, black=black)


# Which games may start, and in which order.

Shown = tuple[tuple[Pairing, ...], tuple[Pairing, ...]]  # offers of the format, and games that are certain to come


class Offers:
    """The games of a run that may start.

    The format computes them once per state, although they are needed before and after a commit.
    """

    def __init__(self, format_: Format[Any], setbacks: Setbacks, allotment: Allotment) -> None:
        self._format, self._setbacks, self._allotment = format_, setbacks, allotment
        # For the last two states: the state, whether games that are certain to come are included, and the games.
        self._known: tuple[tuple[Any, bool, Shown], ...] = ()

    def wanted(self, state: Any) -> Iterator[Pairing]:
        """Yield games in the order in which they start. With several slots, include games that are certain to come."""
        now, ahead = self._of(state)
        return self._allotment.ordered(self._setbacks.ordered(now), self._setbacks.ordered(ahead))

    def are_sure_of(self, pairing: Pairing, state: Any) -> bool:
        """Return whether a pairing is offered in this state, or is certain to come."""
        shown = self._of(state)
        # Usually, the same object is offered again; comparing values takes 20 times as long (measured).
        return any(any(map(is_, games, repeat(pairing))) for games in shown) or any(pairing in games for games in shown)

    def _of(self, state: Any) -> Shown:
        several = self._allotment.slots > 1
        for known, asked, shown in self._known:
            if known is state and asked is several:
                return shown
        shown = self._format.offers(state), self._format.ahead(state) if several else ()
        self._known = (*self._known[-1:], (state, several, shown))
        return shown


class Executor(Protocol):
    """Plays games: in local slots, or on a cluster."""

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        """Start a game; its future raises `MachineFailure` if the host failed, `TourError` for an internal error."""

    def resize(self, slots: int) -> None:
        """Change the number of slots; a surplus slot ends after its game."""

    def stop(self, *, now: bool) -> None:
        """Start no new games. If `now` is true, also drop the games in progress."""


_MOST_TOGETHER = 64  # games in one commit, so that no game waits long for the others (a choice of enginetour)


@dataclass(frozen=True, slots=True)
class _EndedGame:
    """A game that is not in the log yet: its decisions, the format's state after it, and its start time.

    A commit of many games takes no longer than a commit of one, and with a thousand slots many games end during it.
    """

    game: Game
    notes: tuple[Note, ...]
    after: Any
    since: float


class RunEnd(Enum):
    """The reason why a run ended."""

    FINISHED = "finished"
    BLOCKED = "blocked"
    STOPPED = "stopped"
    ENOUGH = "enough"
    BUSY = "busy"  # like BLOCKED, but all remaining games are open only because the machine was too busy
    FAILED = "failed"  # like BLOCKED or ENOUGH, but a game is open because of an internal error


class Watcher:
    """Receives all events of a run after they are stored. The methods of this base class do nothing."""

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Receive a game that was written to the log with this number."""

    def trouble(self, text: str) -> None:
        """Receive a message for the user."""

    def withdrawn(self, name: str, why: str, reserve: str = "") -> None:
        """Receive the name of an engine that the run has withdrawn, and of the reserve that takes its place, if any.

        The event is already in the log.
        """

    def shows_moves(self) -> bool:
        """Return whether somebody follows the moves of games now."""
        return False

    def turn(self, scheduler: Scheduler) -> None:
        """Act before games start, for example stop the run."""

    def progress(self, scheduler: Scheduler) -> None:
        """Show the progress. This is called after every change, when the next games have started, and every second."""


class Screen(Watcher):
    """A watcher that also receives the events of games in progress."""

    def event(self, slot: int, name: str, payload: Any) -> None:
        """Receive an event of a slot, in the thread of the slots."""


@dataclass
class Scheduler:
    """Plays a tournament to its end, or until it is stopped. It is used once, in one thread.

    If `task_for` raises TourError, no more games start, and `refusal` is that error when `run` returns.
    """

    log: TournamentLog
    format: Format[Any]
    entrants: tuple[Any, ...]
    executor: Executor
    task_for: Callable[[Pairing, int], GameTask]
    slots: int = 1
    limit: GameLimit = field(default_factory=GameLimit)
    copies: Mapping[str, int] = field(default_factory=dict)  # entrant -> largest number of processes of its engine
    watcher: Watcher = field(default_factory=Watcher)
    inbox: SimpleQueue[Callable[[], None]] = field(default_factory=SimpleQueue)
    clock: Callable[[], float] = time.monotonic
    free_bytes: Callable[[], float] = lambda: math.inf  # on the disk of the log
    busy: Callable[[], str] = lambda: ""  # describes the load if the machine is too busy for a fair game
    standstill: Standstill = field(default_factory=Standstill)
    count_failures: Callable[[], FailureCounts] = FailureCounts  # of the log, with the limits of [quality]
    reserves: Reserves = field(default_factory=Reserves)
    substitutes: Mapping[str, tuple[Entrant, EngineSpec]] = field(default_factory=dict)  # reserves of this tournament
    folded: Any = None  # the state after the log, if the caller has replayed it (a second per 30,000 games)

    def __post_init__(self) -> None:
        """Replay the log, which is empty for a new tournament, unless the caller gave the state."""
        given = self.folded
        self.state: Any = replay(self.format, self.entrants, self.log.events()) if given is None else given
        self.folded = None  # so that old states are freed
        self.flying: dict[Future[Any], tuple[Pairing, float]] = {}
        self.played = 0
        self.spent = 0.0  # seconds of finished games of this run, for the estimate
        self.stopping: str = ""  # "" | finish | now
        self.refusal: TourError | None = None  # the error because of which no game can start
        self.paused = False  # by request; no game starts until the user ends the pause
        self._unwritten: list[_EndedGame] = []  # in the order in which they ended
        self._allotment = Allotment(self.slots, self.copies)
        self.setbacks = Setbacks(self.clock, self.watcher.trouble, self.busy)
        self._over: deque[Future[Any]] = deque()  # futures that have ended; saves polling all futures
        self._offers = Offers(self.format, self.setbacks, self._allotment)
        self._held_until: float | None = None
        self._failures = self.count_failures()
        self._unchecked = True  # whether an engine may exceed a limit of failures

    def run(self) -> RunEnd:
        """Play until no game is left, the run is stopped, or the limit has been reached."""
        while True:
            self._act()  # first, so that no new game starts after a stop
            self._check_failures()  # an earlier run may have been killed before it replaced an engine
            self.watcher.turn(self)
            self._submit()
            self.watcher.progress(self)  # after the next games have started, because output takes time
            if not self.flying and (end := self._verdict()) is not None:
                if self.inbox.empty():
                    if self.setbacks.has_internal and end in (RunEnd.BLOCKED, RunEnd.ENOUGH):
                        return RunEnd.FAILED
                    return RunEnd.BUSY if end is RunEnd.BLOCKED and self.setbacks.is_only_busy else end
                continue  # a request arrived; it may bring more games
            self._wait()
            self._settle_all()
            if self._held_until is not None and self.flying and self.clock() >= self._held_until:
                self.stop(now=True)

    def stop(self, *, now: bool, grace: float | None = None) -> None:
        """Start no new games. Games in progress may end within `grace` seconds; if `now` is true, they are dropped."""
        if now and self.stopping != "now":
            self.stopping = "now"
            self.executor.stop(now=True)
        elif self.stopping != "now":
            if grace is not None and self._held_until is None:  # an earlier stop may not have set a limit
                self._held_until = self.clock() + grace
            if not self.stopping:
                self.stopping = "finish"
                self.executor.stop(now=False)

    def resize(self, slots: int) -> None:
        """Change the number of concurrent games; games in progress play to their end."""
        self.slots = self._allotment.slots = slots
        self.executor.resize(slots)

    def step(self, event: Event, before: Any = None) -> tuple[Any, tuple[Note, ...]]:
        """Return the state after `event` and the new decisions. The caller writes the log, then calls `take`."""
        before = self.state if before is None else before
        after = self.format.step(before, event)
        known = len(self.format.notes(before))
        return after, self.format.notes(after)[known:]

    def take(self, event: Event, after: Any) -> None:
        """Use the state after an event that is in the log."""
        self.state = after
        self.setbacks.forget(event)
        if isinstance(event, Withdrawn | Replaced):
            self._failures.forget(event.name if isinstance(event, Withdrawn) else event.old)
        elif isinstance(event, GameVoided):
            self._failures, self._unchecked = self.count_failures(), True

    def playing(self) -> list[Pairing]:
        """Return the games in progress."""
        return [pairing for pairing, _ in self.flying.values()]

    def waiting(self) -> str:
        """Describe why the next games wait, such as ``1 game waits until the machine is less busy, ...``, or ""."""
        return self.standstill.waiting(self.clock()) or self.setbacks.waiting()

    def estimate(self) -> float | None:
        """Return the estimated seconds until the end, or None in a pause and before the first game of this run ends."""
        if not self.played or self.paused:
            return None
        return self.format.likely(self.state) * self.spent / self.played / max(1, min(self.slots, 1 + len(self.flying)))

    def _submit(self, after: Any = None) -> None:
        """Start the games that may start.

        `after` is the state with games that have ended but are not in the log yet. If there are such games, only games
        start that were offered or certain before these results, so that no game depends on a result that may be lost
        (reliability spec 3).
        """
        if self.stopping or self.paused or self.setbacks.is_pausing():
            return
        early = len(self._unwritten)
        room = self.slots - len(self.flying)
        if room <= 0 or self.limit.is_used_up:
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
            if not self.limit.begin():
                return
            if self.watcher.shows_moves():
                task = replace(task, watched=True)
            future = self.executor.submit(task, prefer=slot)
            self._allotment.begin(slot, pairing)
            self.flying[future] = (pairing, self.clock())
            future.add_done_callback(self._land)
            room -= 1

    def _refuse(self, refusal: TourError) -> None:
        """Start no new games. Games in progress play to their end, because they started before the error."""
        if self.refusal is None:
            self.refusal = refusal
            if self.flying:
                self.watcher.trouble(f"no new games start, games in progress are played to the end: {refusal}")
        self.stop(now=False)

    def _verdict(self) -> RunEnd | None:
        """Return why the run ends when no game is in progress, or None if it continues."""
        offers = self.format.offers(self.state)
        if not offers:
            return RunEnd.FINISHED  # also after a stop whose last game was the last of the tournament
        if self.stopping:
            return RunEnd.STOPPED
        if self.limit.is_reached:
            return RunEnd.ENOUGH
        if self.paused:
            return None
        return self._stand_still(offers) if self.setbacks.is_blocked(offers) else None

    def _stand_still(self, offers: Sequence[Pairing]) -> RunEnd | None:
        """Wait for the engines that all games need, then withdraw them. Return BLOCKED if this does not help."""
        still, suspended = self.standstill, self.setbacks.suspended
        names = suspended.keys() & {name for pairing in offers for name in pairing.pair}
        if (
            still.until is None
            and not (still.withdraws and any(self._suits(name, one) for name in names for one in self.reserves.free))
            and not would_go_on(self.format, self.state, names, self.setbacks.is_open)
        ):
            return RunEnd.BLOCKED
        if started := still.begin(names, self.clock()):
            self.watcher.trouble(started)
        if not still.is_over(self.clock()):
            return None
        if not still.withdraws:
            return RunEnd.BLOCKED
        removed = [self._remove(name, still.why(suspended[name])) for name in sorted(names)]
        still.end()
        return None if any(removed) else RunEnd.BLOCKED

    def _check_failures(self) -> None:
        """Remove the engines that have exceeded a limit of failures."""
        if self._unchecked:
            self._unchecked = False
            for name, why in [*self._failures.exceeding()]:
                self._remove(name, why)

    def _suits(self, name: str, reserve: str) -> bool:
        """Return whether a reserve can take the place of an entrant."""
        known = self.substitutes.get(reserve)
        return known is not None and can_replace(self.format, self.state, name, known[0])

    def _remove(self, name: str, why: str) -> bool:
        """Replace an entrant by the first reserve that can take its place, or withdraw it.

        Return False if the format does not allow this.
        """
        reserve = self.reserves.take(partial(self._suits, name))
        entrant, spec = (None, None) if reserve is None else self.substitutes[reserve]
        event = Withdrawn(name) if entrant is None else Replaced(name, entrant)
        try:
            after, notes = self.step(event)
        except ValueError as error:
            self._failures.forget(name)  # the next run tries again
            self.watcher.trouble(f"{name} cannot be withdrawn ({error}): {why}")
            return False
        self.log.record_event(event, notes, why=why, spec=spec)
        self.take(event, after)
        self.watcher.trouble(f"{name} is withdrawn: {why}" if reserve is None else f"{reserve} replaces {name}: {why}")
        self.watcher.withdrawn(name, why, reserve or "")
        return True

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
                self._record()  # requests read and change the log
            act()

    def _land(self, future: Future[Any]) -> None:
        """Note that a game has ended. This is called in the executor's thread."""
        self._over.append(future)
        self.inbox.put(_nothing)

    def _settle_all(self) -> None:
        for future in [self._over.popleft() for _ in range(len(self._over))]:
            self._settle(future, *self.flying.pop(future))
            self._act()  # so that a stop applies before the next game starts
        self._record()

    def _settle(self, future: Future[Any], pairing: Pairing, since: float) -> None:
        try:
            game: Game = future.result()
        except (CancelledError, InternalFailure, MachineFailure, TourError) as failure:
            self._allotment.end(pairing, failed=True)
            self.limit.end(counts=False)
            if isinstance(failure, TourError):
                self._refuse(failure)
            elif not (self.stopping or future.cancelled()):  # a pause cancels games, which start again later
                self._record()  # games that ended earlier are counted before the failure
                if isinstance(failure, InternalFailure):
                    self._internal(pairing, str(failure), since)
                    return
                self.setbacks.host_failed(pairing, f"{pairing.white} - {pairing.black} is replayed: {failure}")
            return
        self._allotment.end(pairing, failed=False)
        self.limit.end(counts=game.outcome is not Outcome.VOID)
        after = self._ended(game, since)
        fails = game.outcome is Outcome.VOID or self._failures.is_failure(game)
        if fails or len(self._unwritten) >= _MOST_TOGETHER:
            self._record()  # a void game or a failure is counted first, because it may suspend engines
            return
        self.watcher.turn(self)
        self._submit(after)  # the next game starts before the commit, which takes time

    def _internal(self, pairing: Pairing, why: str, since: float) -> None:
        """Count an internal error in a game. After the third error, write an incident to the log."""
        if not self.setbacks.internal_failed(pairing, why):
            return
        cause = f"internal error in {pairing.white} - {pairing.black}: {why}"
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
        """Step the format and return its new state. The game is written later."""
        before = self._unwritten[-1].after if self._unwritten else None
        after, notes = self.step(game.finished, before)
        self._unwritten.append(_EndedGame(game, notes, after, since))
        return after

    def _record(self) -> None:
        """Write all games that have ended in one commit, then report them in order."""
        games, self._unwritten = self._unwritten, []
        numbers = self.log.record_games([(one.game, one.notes) for one in games]) if games else []
        for number, one in zip(numbers, games, strict=True):
            if number is None:  # it is already in the log
                if one.game.outcome is not Outcome.VOID:
                    self.limit.give_back()
                continue
            self.state = one.after
            self.setbacks.record(one.game)
            self._failures.record(one.game)
            self._unchecked |= self._failures.is_failure(one.game)
            if one.game.outcome is not Outcome.VOID:
                self.standstill.end()
                self.played += 1
                self.spent += self.clock() - one.since
            self.watcher.game(number, one.game, one.notes)
        self._check_failures()


def _nothing() -> None:
    """Do nothing. In the inbox, this function wakes the loop."""
