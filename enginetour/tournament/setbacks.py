"""Setbacks of a run: failing engines are suspended and void games are replayed; pauses, and games that stay open.

Nothing is kept after the run: the next run tries every engine and every game again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from enginetour.formats.base import Format
from enginetour.model.game import INTERNAL, Event, Game, GameKey, Outcome, Pairing, Replaced, Termination, Withdrawn

# Reliability spec 1: engines may cause at most 2 replays per pairing, 3 failed starts in a row suspend an engine, and 3
# host failures in a row pause the run for 5 s to 60 s. A game with an internal error is tried 3 times in all.
MOST_REPLAYS = 2
_MOST_INTERNAL = 3
_START_FAILURES = 3
_HOST_FAILURES = 3
_PAUSE_S, END_OF_PAUSES = 5.0, 60.0
RETRY_S = (1.0, 5.0)  # waits after the first and the second failed start
_START_CATEGORIES = frozenset({"start-failure", "start-timeout", "bad-option"})
# Free bytes that the disk needs (reliability spec 3): 1 MiB, and 200 KiB for each game in progress. 600 moves with full
# lines take 200 KiB.
MIN_FREE = 1 << 20
GAME_BYTES = 200 << 10
LOOK_S = 5.0  # seconds between two checks of a disk that is nearly full
# After DOUBTS doubtful time losses, a game waits until the machine is less busy, for at most CALM_S seconds. After
# MOST_DOUBTS, it stays open (choices of enginetour).
DOUBTS, MOST_DOUBTS = 3, 5
CALM_S = 1800.0
AGAIN_S = 600  # seconds until a suspended engine is tried again; it is also tried when no other game is left


def room_for(games: int) -> int:
    """Return the number of free bytes that the disk needs for a number of unwritten games."""
    return MIN_FREE + GAME_BYTES * games


class Setbacks:
    """Counts the failures of one run and decides what must wait.

    Args:
        clock: Function that returns the seconds since any fixed time.
        tell: Function that shows a message to the user.
        busy: Function that describes the load if the machine is too busy for a fair game, or returns "".
    """

    def __init__(
        self, clock: Callable[[], float], tell: Callable[[str], None], busy: Callable[[], str] = lambda: ""
    ) -> None:
        self.suspended: dict[str, str] = {}  # entrant -> reason, without its name
        self.tried_again: set[str] = set()  # engines that were suspended and have not played since
        self._clock = clock
        self._tell = tell
        self._busy = busy
        self._doubts: Counter[GameKey] = Counter()
        self._calm_by: dict[GameKey, float] = {}  # games that wait for a less busy machine -> latest end of the wait
        self._voids: Counter[GameKey] = Counter()
        self._set_aside: set[GameKey] = set()
        self._too_busy: set[GameKey] = set()  # those games for which the machine was too busy
        self._start_failures: Counter[str] = Counter()
        self._retry_at: dict[str, float] = {}
        self._last_tries: set[str] = set()  # suspended engines that were tried after no other game was left
        self._host_failures = 0
        self._failed: Counter[GameKey] = Counter()  # failures of the machine in a game
        self._internal: Counter[GameKey] = Counter()  # internal errors in a game
        self.has_internal = False  # a game stays open because of internal errors
        self._not_before = 0.0
        self.cramped = False  # no game starts until the disk has room

    @property
    def is_only_busy(self) -> bool:
        """Return whether games stay open, and the busy machine is the reason for all of them."""
        return bool(self._too_busy) and self._set_aside == self._too_busy and not self.suspended

    def is_pausing(self) -> bool:
        """Return whether no game may start now."""
        return self._clock() < self._not_before

    def pause(self, seconds: float) -> None:
        """Start no games for a number of seconds."""
        self._not_before = self._clock() + seconds

    def ordered(self, offers: Sequence[Pairing]) -> Sequence[Pairing]:
        """Return the offers in their order, but games in which the machine failed often come last.

        One or two failures do not change the order, because tests and rounds wait for the earlier games.
        """
        if not self._failed:
            return offers
        return sorted(offers, key=lambda pairing: max(0, self._failed[pairing.key] - _HOST_FAILURES + 1))

    def is_playable(self, pairing: Pairing) -> bool:
        """Return whether a game may start: it is not set aside, and does not wait for an engine or the machine."""
        now, names = self._clock(), (pairing.white, pairing.black)
        for name in names:
            if name in self.suspended and now >= self._retry_at[name]:
                self._try_again(name)
        if self.is_open(pairing) or self._awaits_calm(pairing.key, now):
            return False
        return all(now >= self._retry_at.get(name, now) for name in names)

    def is_blocked(self, offers: Sequence[Pairing]) -> bool:
        """Return whether none of the offers can be played, after each suspended engine was tried once more."""
        if not all(self.is_open(pairing) for pairing in offers):
            return False
        names = {name for pairing in offers for name in pairing.pair}
        untried = names.intersection(self.suspended) - self._last_tries
        for name in untried:
            self._last_tries.add(name)
            self._try_again(name)
        return not untried

    def is_cramped(self, free: float, needed: int) -> bool:
        """Return whether the disk has too few `free` bytes for the next game. If so, report it once and pause."""
        if free >= needed:
            self.cramped = False
            return False
        self.pause(LOOK_S)
        if not self.cramped:
            self.cramped = True
            room = f"{free / MIN_FREE:.1f} MiB free, {needed / MIN_FREE:.1f} MiB needed"
            self._tell(f"no new games start until the disk has free space: {room}")
        return True

    def forget(self, event: Event) -> None:
        """Forget an entrant that an event removed; its name cannot return."""
        name = event.name if isinstance(event, Withdrawn) else event.old if isinstance(event, Replaced) else ""
        self.suspended.pop(name, None)
        self.tried_again.discard(name)

    def record(self, game: Game) -> None:
        """Count a game that is in the log."""
        if game.outcome is Outcome.VOID:
            self._void(game)
            return
        self._host_failures = 0
        self._last_tries.clear()
        self.tried_again.difference_update(game.pairing.pair)
        for name in game.pairing.pair:
            self._start_failures[name] = 0

    def host_failed(self, pairing: Pairing, text: str) -> None:
        """Count a failure of the machine in a game. Several failures in a row pause the run."""
        self._failed[pairing.key] += 1
        self._tell(text)
        if self.is_pausing():
            return  # it started before the pause in another slot, and one cause may have ended all games
        self._host_failures += 1
        if self._host_failures >= _HOST_FAILURES:
            longer = min(self._host_failures - _HOST_FAILURES, 10)  # many failures must not make a huge power of two
            seconds = min(_PAUSE_S * 2**longer, END_OF_PAUSES)
            self.pause(seconds)
            self._tell(f"{self._host_failures} failures of the machine in a row: waiting {seconds:.0f} s")

    def internal_failed(self, pairing: Pairing, text: str) -> bool:
        """Count an internal error in a game. Return true after the last try; the game then stays open."""
        self._internal[pairing.key] += 1
        names = f"{pairing.white} - {pairing.black}"
        if self._internal[pairing.key] < _MOST_INTERNAL:
            self._tell(f"{names} is replayed: {text}")
            return False
        self.has_internal = True
        self._set_aside.add(pairing.key)
        self._tell(f"{names} stays open after {_MOST_INTERNAL} internal errors; please report this: {text}")
        return True

    def is_open(self, pairing: Pairing) -> bool:
        """Return whether a game cannot be played in this run, because it is set aside or an engine is suspended."""
        return pairing.key in self._set_aside or any(name in self.suspended for name in pairing.pair)

    def _try_again(self, name: str) -> None:
        """End a suspension. One more failed start suspends the engine again."""
        del self.suspended[name], self._retry_at[name]
        self.tried_again.add(name)
        self._start_failures[name] = _START_FAILURES - 1

    def _void(self, game: Game) -> None:
        key, who = game.pairing.key, game.culprit
        if game.category == INTERNAL:
            return  # counted when it happened
        if not who:
            self.host_failed(game.pairing, f"game void: {game.cause}")
            if game.termination is Termination.TIME:
                self._doubted(game.pairing)
        elif game.category in _START_CATEGORIES:
            self._not_started(who, game.cause)
        else:
            self._voids[key] += 1
            if self._voids[key] > MOST_REPLAYS:
                self._set_aside.add(key)
                names = f"{game.pairing.white} - {game.pairing.black}"
                self._tell(f"{names} stays open because {who} cannot play it: {game.cause}")

    def _doubted(self, pairing: Pairing) -> None:
        self._doubts[pairing.key] += 1
        doubts, names = self._doubts[pairing.key], f"{pairing.white} - {pairing.black}"
        if doubts >= MOST_DOUBTS:
            self._set_aside.add(pairing.key)
            self._too_busy.add(pairing.key)
            self._tell(f"{names} stays open: the machine was too busy in {doubts} attempts; the next run plays it")
        elif doubts >= DOUBTS:
            self._calm_by[pairing.key] = self._clock() + CALM_S
            if busy := self._busy():
                longest = f"for at most {CALM_S / 60:.0f} min"
                doubtful = f"{busy}, {doubts} void time losses"
                self._tell(f"{names} waits {longest} until the machine is less busy: {doubtful}")

    def waiting(self) -> str:
        """Describe the games that wait until the machine is less busy. Return "" if there are none."""
        ends = [end - self._clock() for end in self._calm_by.values()]
        if not ends:
            return ""
        games = "1 game waits" if len(ends) == 1 else f"{len(ends)} games wait"
        return f"{games} until the machine is less busy, for at most {max(1, math.ceil(max(ends) / 60))} min"

    def _awaits_calm(self, key: GameKey, now: float) -> bool:
        if key not in self._calm_by:
            return False
        if now < self._calm_by[key] and self._busy():
            return True
        del self._calm_by[key]
        return False

    def _not_started(self, who: str, cause: str) -> None:
        if self._clock() < self._retry_at.get(who, -math.inf):
            return  # a start in another slot at the same time, which counts as the same try
        self._start_failures[who] += 1
        failures = self._start_failures[who]
        if failures < _START_FAILURES:
            self._retry_at[who] = self._clock() + RETRY_S[failures - 1]
            return
        self.suspended[who] = why = cause.removeprefix(f"{who}: ")
        self._retry_at[who] = self._clock() + AGAIN_S
        if who in self.tried_again:
            self._tell(f"{who} still cannot start: {why}")
        else:
            self._tell(f"{who} is suspended after {failures} failed starts in a row: {why}")


# The case that all remaining games need engines that cannot start (reliability spec 1). If the withdrawal of these
# engines would allow other games, the run waits and tries them again, so that a repaired engine can continue. Then it
# withdraws them, so that the tournament continues. Otherwise the games stay open.


@dataclass
class Standstill:
    """The wait for suspended engines. After `patience` seconds, the run withdraws them if `withdraws`, or it ends."""

    patience: float = 0.0
    withdraws: bool = False
    names: tuple[str, ...] = ()  # the engines that the run waits for
    until: float | None = None

    def begin(self, names: Collection[str], now: float) -> str:
        """Start to wait for engines. Return a message for the user, or "" if the run already waits."""
        if self.until is not None:
            return ""
        self.names, self.until = tuple(sorted(names)), now + self.patience
        if not self.patience:
            return ""
        them = "it is withdrawn" if len(self.names) == 1 else "they are withdrawn"
        then = them if self.withdraws else "the run ends"
        return f"no game can start without {' and '.join(self.names)}: waiting {self._long()}, then {then}"

    def waiting(self, now: float) -> str:
        """Describe the wait, or return "" if the run does not wait."""
        if self.until is None:
            return ""
        minutes = max(1, math.ceil((self.until - now) / 60))
        return f"no game can start without {' and '.join(self.names)}, for at most {minutes} min"

    def is_over(self, now: float) -> bool:
        """Return whether the wait has ended."""
        return self.until is not None and now >= self.until

    def end(self) -> None:
        """End the wait, because a game was played or an engine was withdrawn."""
        self.names, self.until = (), None

    def why(self, cause: str) -> str:
        """Return the reason for a withdrawal, which the log shows."""
        return f"it did not start for {self._long()} while no other game could be played: {cause}"

    def _long(self) -> str:
        return f"{self.patience / 60:.0f} min" if self.patience >= 120 else f"{self.patience:.0f} s"


def would_go_on(format_: Format[Any], state: Any, names: Collection[str], is_open: Callable[[Pairing], bool]) -> bool:
    """Return whether a game could be played if the entrants `names` withdrew.

    `is_open` returns whether a pairing cannot be played.
    """
    try:
        for name in sorted(names):
            state = format_.step(state, Withdrawn(name))
    except ValueError:  # the format cannot continue without the entrant
        return False
    return any(not is_open(pairing) for pairing in format_.offers(state) if not set(pairing.pair) & set(names))
