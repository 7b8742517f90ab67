"""Setbacks: a failing engine is set aside, a voided game replayed, the run paused; what waits, and for how long.

Nothing here is kept beyond the run: who mends an engine or a machine and starts again finds everything tried again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from enginetour.formats.base import Format
from enginetour.model.game import INTERNAL, Event, Game, GameKey, Outcome, Pairing, Replaced, Termination, Withdrawn

# What went wrong in a run, and what must therefore wait: pairings that stay open, engines set aside, pauses.

# reliability spec 1: at most 2 replays per pairing caused by engines, 3 start failures in a row
# set an engine aside, 3 host failures in a row pause the run, 5 s to 60 s. A game in which enginetour itself fails is
# tried 3 times in all.
MOST_REPLAYS = 2
_MOST_INTERNAL = 3
_START_FAILURES = 3
_HOST_FAILURES = 3
_PAUSE_S, END_OF_PAUSES = 5.0, 60.0
RETRY_S = (1.0, 5.0)  # waits after the first and the second failed start
_START_CATEGORIES = frozenset({"start-failure", "start-timeout", "bad-option"})
# Reliability spec 3: 1 MiB, and for each game in the air what it may need; 600 moves with full lines take 200 KiB.
MIN_FREE = 1 << 20
GAME_BYTES = 200 << 10
LOOK_S = 5.0  # between two looks at a disk that is nearly full
# Time losses in doubt of one game, after which it waits until the machine is less busy, and after which it stays open;
# and the longest such wait (our choice).
DOUBTS, MOST_DOUBTS = 3, 5
CALM_S = 1800.0
AGAIN_S = 600  # a suspended engine is tried again every 10 minutes, and when nothing else is left to play


def room_for(games: int) -> int:
    """Bytes that the disk should have for so many games that are not written yet."""
    return MIN_FREE + GAME_BYTES * games


class Setbacks:
    """The memory of one run. `clock` counts seconds from anywhere; `tell` hears what the user should read.

    `busy` says how busy the machine is where it is too busy for a fair game, else "".
    """

    def __init__(
        self, clock: Callable[[], float], tell: Callable[[str], None], busy: Callable[[], str] = lambda: ""
    ) -> None:
        self.suspended: dict[str, str] = {}  # entrant -> why, without its name
        self.tried_again: set[str] = set()  # suspended once and not seen to play since
        self._clock = clock
        self._tell = tell
        self._busy = busy
        self._doubts: Counter[GameKey] = Counter()
        self._calm_by: dict[GameKey, float] = {}  # games that wait for a less busy machine, and until when at most
        self._voids: Counter[GameKey] = Counter()
        self._set_aside: set[GameKey] = set()
        self._too_busy: set[GameKey] = set()  # those of them for which the machine was too busy
        self._start_failures: Counter[str] = Counter()
        self._retry_at: dict[str, float] = {}
        self._last_tries: set[str] = set()  # suspended engines tried since nothing else was left
        self._host_failures = 0
        self._failed: Counter[GameKey] = Counter()  # times the machine failed a game
        self._internal: Counter[GameKey] = Counter()  # times enginetour itself failed in a game
        self.has_internal = False  # a game stays open for that
        self._not_before = 0.0
        self.cramped = False  # no game begins until the disk has room

    @property
    def is_only_busy(self) -> bool:
        """No engine is at fault for any game that stays open."""
        return bool(self._too_busy) and self._set_aside == self._too_busy and not self.suspended

    def is_pausing(self) -> bool:
        """No game may begin now."""
        return self._clock() < self._not_before

    def pause(self, seconds: float) -> None:
        """No game may begin for so long."""
        self._not_before = self._clock() + seconds

    def ordered(self, offers: Iterable[Pairing]) -> list[Pairing]:
        """As wished, but what the machine keeps failing lets the others go first.

        Not what it failed once or twice: tests and rounds wait for the games before those that came in.
        """
        if not self._failed:
            return list(offers)
        return sorted(offers, key=lambda pairing: max(0, self._failed[pairing.key] - _HOST_FAILURES + 1))

    def is_playable(self, pairing: Pairing) -> bool:
        """Neither side is resting after a failed start, and the pairing is not set aside, nor waits for the machine."""
        now, names = self._clock(), (pairing.white, pairing.black)
        for name in names:
            if name in self.suspended and now >= self._retry_at[name]:
                self._try_again(name)
        if self.is_open(pairing) or self._awaits_calm(pairing.key, now):
            return False
        return all(now >= self._retry_at.get(name, now) for name in names)

    def is_blocked(self, offers: Sequence[Pairing]) -> bool:
        """Nothing of this can be played; every suspended engine has had one more try since the last finished game."""
        if not all(self.is_open(pairing) for pairing in offers):
            return False
        names = {name for pairing in offers for name in pairing.pair}
        untried = names.intersection(self.suspended) - self._last_tries
        for name in untried:
            self._last_tries.add(name)
            self._try_again(name)
        return not untried

    def is_cramped(self, free: float, needed: int) -> bool:
        """The disk has fewer bytes `free` than the next game needs: said once, looked at again after a while."""
        if free >= needed:
            self.cramped = False
            return False
        self.pause(LOOK_S)
        if not self.cramped:
            self.cramped = True
            room = f"{free / MIN_FREE:.1f} MiB free, {needed / MIN_FREE:.1f} needed"
            self._tell(f"no new games until the disk has room again: {room}")
        return True

    def forget(self, event: Event) -> None:
        """Whoever left by it waits for nothing more; its name does not come again."""
        name = event.name if isinstance(event, Withdrawn) else event.old if isinstance(event, Replaced) else ""
        self.suspended.pop(name, None)
        self.tried_again.discard(name)

    def record(self, game: Game) -> None:
        """Learn from a game that is in the log."""
        if game.outcome is Outcome.VOID:
            self._void(game)
            return
        self._host_failures = 0
        self._last_tries.clear()
        self.tried_again.difference_update(game.pairing.pair)
        for name in game.pairing.pair:
            self._start_failures[name] = 0

    def host_failed(self, pairing: Pairing, text: str) -> None:
        """The machine failed a game; after some in a row nothing begins for a while."""
        self._failed[pairing.key] += 1
        self._tell(text)
        if self.is_pausing():
            return  # begun before the pause, in another slot: whatever ended one may have ended all
        self._host_failures += 1
        if self._host_failures >= _HOST_FAILURES:
            longer = min(self._host_failures - _HOST_FAILURES, 10)  # a weekend of failures has no power of two
            seconds = min(_PAUSE_S * 2**longer, END_OF_PAUSES)
            self.pause(seconds)
            self._tell(f"{self._host_failures} failures of the machine in a row: waiting {seconds:.0f} s")

    def internal_failed(self, pairing: Pairing, text: str) -> bool:
        """Count a failure of enginetour itself in a game; True at the last try: the game stays open."""
        self._internal[pairing.key] += 1
        names = f"{pairing.white} - {pairing.black}"
        if self._internal[pairing.key] < _MOST_INTERNAL:
            self._tell(f"{names} is played again: {text}")
            return False
        self.has_internal = True
        self._set_aside.add(pairing.key)
        self._tell(
            f"{names} stays open: enginetour itself failed in it {_MOST_INTERNAL} times; please report it: {text}"
        )
        return True

    def is_open(self, pairing: Pairing) -> bool:
        """It stays open: an engine does not start, or cannot play it, or enginetour itself fails in it."""
        return pairing.key in self._set_aside or any(name in self.suspended for name in pairing.pair)

    def _try_again(self, name: str) -> None:
        """Its next game is the probe; one more failed start sets it aside again."""
        del self.suspended[name], self._retry_at[name]
        self.tried_again.add(name)
        self._start_failures[name] = _START_FAILURES - 1

    def _void(self, game: Game) -> None:
        key, who = game.pairing.key, game.culprit
        if game.category == INTERNAL:
            return  # counted when it failed
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
                self._tell(f"{names} stays open, {who} cannot play it: {game.cause}")

    def _doubted(self, pairing: Pairing) -> None:
        self._doubts[pairing.key] += 1
        doubts, names = self._doubts[pairing.key], f"{pairing.white} - {pairing.black}"
        if doubts >= MOST_DOUBTS:
            self._set_aside.add(pairing.key)
            self._too_busy.add(pairing.key)
            self._tell(f"{names} stays open: the machine was too busy for {doubts} games; the next run plays it")
        elif doubts >= DOUBTS:
            self._calm_by[pairing.key] = self._clock() + CALM_S
            if busy := self._busy():
                longest = f"at most {CALM_S / 60:.0f} min"
                self._tell(
                    f"{names} waits until the machine is less busy, {longest}: {busy}, {doubts} void time losses"
                )

    def _awaits_calm(self, key: GameKey, now: float) -> bool:
        if key not in self._calm_by:
            return False
        if now < self._calm_by[key] and self._busy():
            return True
        del self._calm_by[key]
        return False

    def _not_started(self, who: str, cause: str) -> None:
        if self._clock() < self._retry_at.get(who, -math.inf):
            return  # in another slot, beside the one that was counted: a moment is one try
        self._start_failures[who] += 1
        failures = self._start_failures[who]
        if failures < _START_FAILURES:
            self._retry_at[who] = self._clock() + RETRY_S[failures - 1]
            return
        self.suspended[who] = why = cause.removeprefix(f"{who}: ")
        self._retry_at[who] = self._clock() + AGAIN_S
        if who in self.tried_again:
            self._tell(f"{who} still does not start: {why}")
        else:
            self._tell(f"{who} is suspended after {failures} failed starts in a row: {why}")


# Nothing can be played but with engines that do not start: what their withdrawal would open, and how long to wait.
#
# Where others could go on without them the run waits and probes, so that a mended engine loses nothing, and then lets
# them go, so that the night is not lost (reliability spec 1). Where nothing would be won the pairings stay open.


@dataclass
class Standstill:
    """The memory of one run. `patience` in seconds; `withdraws`: what happens when it is used up, or the run ends."""

    patience: float = 0.0
    withdraws: bool = False
    names: tuple[str, ...] = ()  # who is waited for
    until: float | None = None

    def begin(self, names: Collection[str], now: float) -> str:
        """Wait for these; the words for the user, "" when they are waited for already."""
        if self.until is not None:
            return ""
        self.names, self.until = tuple(sorted(names)), now + self.patience
        if not self.patience:
            return ""
        then = "withdrawn" if self.withdraws else "the run ends"
        return f"nothing can be played without {' and '.join(self.names)}: waiting {self._long()}, then {then}"

    def is_over(self, now: float) -> bool:
        """Nobody waits any more."""
        return self.until is not None and now >= self.until

    def end(self) -> None:
        """A game was played, or somebody left."""
        self.names, self.until = (), None

    def why(self, cause: str) -> str:
        """The reason of a withdrawal, for the log."""
        return f"did not start for {self._long()} while nothing else could be played: {cause}"

    def _long(self) -> str:
        return f"{self.patience / 60:.0f} min" if self.patience >= 120 else f"{self.patience:.0f} s"


def would_go_on(format_: Format[Any], state: Any, names: Collection[str], is_open: Callable[[Pairing], bool]) -> bool:
    """Whether something could be played if `names` withdrew; `is_open` knows the pairings that cannot."""
    try:
        for name in sorted(names):
            state = format_.step(state, Withdrawn(name))
    except ValueError:  # the format cannot do without it
        return False
    return any(not is_open(pairing) for pairing in format_.offers(state) if not set(pairing.pair) & set(names))
