"""The only loop: offers -> place -> log -> step. It never touches an engine's pipe and knows no format by name.

Three kinds of failure stay apart: an engine's failure arrives as a game, the machine's as a `MachineFailure`
on the future (the same game is offered again), and our own is any other exception, which stops the run.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from enginetour.errors import MachineFailure
from enginetour.formats.base import Format, replay
from enginetour.model import Event, Game, GameFinished, GameKey, Note, Outcome, Pairing
from enginetour.task import GameTask

# reliability of the plans, section 1: at most 2 replays per pairing caused by engines, 3 start failures in a row
# set an engine aside, 3 host failures in a row pause the run, 5 s to 60 s.
MOST_REPLAYS = 2
START_FAILURES = 3
HOST_FAILURES = 3
PAUSE_S, END_OF_PAUSES = 5.0, 60.0
RETRY_S = (1.0, 5.0)  # waits after the first and the second failed start
AGAIN_S = 600  # a suspended engine is tried again every 10 minutes, and when nothing else is left to play
# Reliability spec 3: 1 MiB, and for each game in the air what it may need; 600 moves with full lines take 200 KiB.
MIN_FREE = 1 << 20
GAME_BYTES = 200 << 10
LOOK_S = 5.0  # between two looks at a disk that is nearly full
START_CATEGORIES = frozenset({"start-failure", "start-timeout", "bad-option"})


class Log(Protocol):
    """What the loop needs of a tournament's log; the store's `TournamentLog` is one."""

    def events(self) -> Iterable[Event]:
        """Every event so far, in order."""

    def record_game(self, game: Game, notes: Sequence[Note]) -> int | None:
        """Write a game with the notes it caused; its number, or None when it was there already."""

    def replays(self, key: GameKey) -> int:
        """How many void games that key has."""


class Place(Protocol):
    """Where games are played: local slots, a cluster."""

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        """A game to play; its future raises `MachineFailure` when the host failed."""

    def stop(self, *, now: bool) -> None:
        """No new games; `now` drops the running ones."""


class End(Enum):
    """Why the loop came back."""

    FINISHED = "finished"
    BLOCKED = "blocked"
    STOPPED = "stopped"
    ENOUGH = "enough"


class Watcher:
    """Is told of everything after it is durable; the base class listens to nothing."""

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """A game is in the log under this number."""

    def trouble(self, text: str) -> None:
        """Something the user should read now."""

    def progress(self, scheduler: Scheduler) -> None:
        """Called after every change and at least once a second."""


@dataclass
class Scheduler:
    """Plays a tournament to its end, or until it is told to stop. One use, one thread."""

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

    def __post_init__(self) -> None:
        """Fold what is in the log: starting and resuming are the same act."""
        self.state: Any = replay(self.format, self.entrants, self.log.events())
        self.flying: dict[Future[Any], tuple[Pairing, float]] = {}
        self.played = 0
        self.spent = 0.0  # seconds of finished games of this run, for the estimate
        self.stopping: str = ""  # "" | finish | now
        self.voids: Counter[GameKey] = Counter()
        self.start_failures: Counter[str] = Counter()
        self.set_aside: dict[GameKey, str] = {}
        self.suspended: dict[str, str] = {}  # entrant -> why
        self.retry_at: dict[str, float] = {}
        self.host_failures = 0
        self.failed: Counter[GameKey] = Counter()  # times the machine failed a game: the others go first
        self._not_before = 0.0
        self._held_until: float | None = None
        self._cramped = False
        self._last_tries: set[str] = set()  # suspended engines tried since nothing else was left

    def run(self) -> End:
        """Play until nothing is left to play, a stop, or `most_games`."""
        while True:
            self._act()  # first: after a stop no new game begins
            self._submit()
            if not self.flying:
                end = self._verdict()
                if end is not None:
                    return end
            self._wait()
            for future in [future for future in self.flying if future.done()]:
                self._settle(future, *self.flying.pop(future))
            if self.stopping and not self.flying:
                return self._verdict() or End.STOPPED
            if self._held_until is not None and self.clock() >= self._held_until:
                self.stop(now=True)
            self.watcher.progress(self)

    def stop(self, *, now: bool, grace: float | None = None) -> None:
        """No new games; running ones may end within `grace` seconds, or are dropped `now`."""
        if now and self.stopping != "now":
            self.stopping = "now"
            self._held_until = None
            self.place.stop(now=True)
        elif not self.stopping:
            self.stopping = "finish"
            self._held_until = None if grace is None else self.clock() + grace
            self.place.stop(now=False)

    def step(self, event: Event) -> tuple[Any, tuple[Note, ...]]:
        """The state after `event` and its new decisions, without taking it; the caller logs first."""
        after = self.format.step(self.state, event)
        known = len(self.format.notes(self.state))
        return after, self.format.notes(after)[known:]

    def take(self, after: Any) -> None:
        """Take a state whose event is in the log."""
        self.state = after

    def estimate(self) -> float | None:
        """Seconds until the likely end, None before the first game of this run has ended."""
        if not self.played:
            return None
        return self.format.likely(self.state) * self.spent / self.played / max(1, min(self.slots, 1 + len(self.flying)))

    def _submit(self) -> None:
        if self.stopping or self.clock() < self._not_before:
            return
        for name in [name for name in self.suspended if self.clock() >= self.retry_at[name]]:
            self._try_again(name)
        room = self.slots - len(self.flying)
        if self.most_games is not None:
            room = min(room, self.most_games - self.played - len(self.flying))
        if room <= 0:
            return
        busy = {pairing.key for pairing, _ in self.flying.values()}
        running = Counter(name for pairing, _ in self.flying.values() for name in (pairing.white, pairing.black))
        for pairing in sorted(self.format.offers(self.state), key=lambda pairing: self.failed[pairing.key]):
            if room <= 0:
                return
            names = (pairing.white, pairing.black)
            full = any(running[name] >= (self.copies.get(name) or self.slots) for name in names)
            resting = any(self.clock() < self.retry_at.get(name, 0.0) for name in names)
            if pairing.key in busy or self.is_open(pairing) or full or resting:
                continue
            if self._is_cramped():
                return
            future = self.place.submit(self.task_for(pairing, self.log.replays(pairing.key)))
            future.add_done_callback(lambda _: self.inbox.put(_nothing))
            self.flying[future] = (pairing, self.clock())
            running.update(names)
            room -= 1

    def _verdict(self) -> End | None:
        """What it means that nothing is in the air; None while a pause after host failures lasts."""
        offers = self.format.offers(self.state)
        if not offers:
            return End.FINISHED  # a stop too, when the game it let end was the last
        if self.stopping:
            return End.STOPPED
        if self.most_games is not None and self.played >= self.most_games:
            return End.ENOUGH
        if not all(self.is_open(pairing) for pairing in offers):
            return None
        untried = {name for name in self.suspended if any(name in pairing.pair for pairing in offers)}
        untried -= self._last_tries
        for name in untried:
            self._last_tries.add(name)
            self._try_again(name)
        return None if untried else End.BLOCKED

    def _try_again(self, name: str) -> None:
        """Its next game is the probe; one more failed start sets it aside again."""
        del self.suspended[name], self.retry_at[name]
        self.start_failures[name] = START_FAILURES - 1

    def _is_cramped(self) -> bool:
        """The disk has no room for one more game: said once, looked at again after a while."""
        needed = MIN_FREE + GAME_BYTES * (len(self.flying) + 1)
        free = self.free_bytes()
        if free >= needed:
            self._cramped = False
            return False
        self._not_before = self.clock() + LOOK_S
        if not self._cramped:
            self._cramped = True
            room = f"{free / MIN_FREE:.1f} MiB free, {needed / MIN_FREE:.1f} needed"
            self.watcher.trouble(f"no new games until the disk has room again: {room}")
        return True

    def is_open(self, pairing: Pairing) -> bool:
        """The pairing stays open: an engine that does not start, or that cannot play it."""
        names = (pairing.white, pairing.black)
        return pairing.key in self.set_aside or any(name in self.suspended for name in names)

    def _wait(self) -> None:
        """Sleep until a game ends, somebody asks for something, or a second has passed."""
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
            act()

    def _settle(self, future: Future[Any], pairing: Pairing, since: float) -> None:
        try:
            game: Game = future.result()
        except MachineFailure as failure:
            if not self.stopping:
                self._host_failed(pairing, f"{pairing.white} - {pairing.black} is played again: {failure}")
            return
        before_notes = len(self.format.notes(self.state))
        after = self.format.step(self.state, GameFinished(pairing, game.outcome))
        notes = self.format.notes(after)[before_notes:]
        number = self.log.record_game(game, notes)  # durable before the format hears of it
        if number is None:
            return
        self.state = after
        if game.outcome is Outcome.VOID:
            self._void(game)
        else:
            self.host_failures = 0
            self.played += 1
            self._last_tries.clear()
            self.spent += self.clock() - since
            for name in (game.pairing.white, game.pairing.black):
                self.start_failures[name] = 0
        self.watcher.game(number, game, notes)

    def _void(self, game: Game) -> None:
        key, who = game.pairing.key, game.culprit
        if not who:
            self._host_failed(game.pairing, f"game void: {game.cause}")
            return
        if game.category in START_CATEGORIES:
            self.start_failures[who] += 1
            failures = self.start_failures[who]
            if failures >= START_FAILURES:
                self.suspended[who] = game.cause
                self.retry_at[who] = self.clock() + AGAIN_S
                self.watcher.trouble(f"{who} is suspended after {failures} failed starts in a row: {game.cause}")
            else:
                self.retry_at[who] = self.clock() + RETRY_S[failures - 1]
            return
        self.voids[key] += 1
        if self.voids[key] > MOST_REPLAYS:
            self.set_aside[key] = who
            names = f"{game.pairing.white} - {game.pairing.black}"
            self.watcher.trouble(f"{names} stays open, {who} cannot play it: {game.cause}")

    def _host_failed(self, pairing: Pairing, text: str) -> None:
        self.host_failures += 1
        self.failed[pairing.key] += 1
        self.watcher.trouble(text)
        if self.host_failures >= HOST_FAILURES:
            longer = min(self.host_failures - HOST_FAILURES, 10)  # a weekend of failures has no power of two
            pause = min(PAUSE_S * 2**longer, END_OF_PAUSES)
            self._not_before = self.clock() + pause
            self.watcher.trouble(f"{self.host_failures} failures of the machine in a row: waiting {pause:.0f} s")


def _nothing() -> None:
    """Wakes the loop."""
