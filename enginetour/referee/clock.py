"""The chess clock of one side (time left, flag), and what kept the referee from it (sleep, SIGSTOP, a freeze).

Clocks are in whole milliseconds outside and in nanoseconds inside (runner spec section 3). The charge of a move is its
elapsed time cut down to whole milliseconds, as fastchess and cutechess-cli do.
"""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from typing import Any

from enginetour.engines.process import SLICE_NS
from enginetour.model.task import Side
from enginetour.model.timecontrol import TimeControl

MS = 1_000_000  # nanoseconds in a millisecond
SLEPT_NS = 1_000 * MS  # suspended for longer in a game: it is void (reliability 3)
_OVERSLEPT_NS = 1_000 * MS  # a wait that ends so much too late: the game is void (reliability 3)
_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)  # Linux has it
LATE_WAKE_NS = 20 * MS  # beyond its deadline a wait ends only if this process was stopped or starved
_FREEZE_NS = 100 * MS  # so late a busy machine seldom wakes anybody: it was frozen (our choice)
GRACE_NS = 100 * MS  # the wait goes on after the flag, only to learn the true overrun (runner spec 3)


class Clock:
    """Time left of one side under its own control."""

    def __init__(self, side: Side, hang_limit: float) -> None:
        self.tc: TimeControl = side.tc
        self.margin_ms = side.margin_ms
        self._hang_ms = int(hang_limit * 1000)
        self.stage = 0  # under way, from 0
        self.margin_uses = 0
        self.longest_ms = 0
        self.total_ms = 0
        self.moves = 0
        self.least_ms: int | None = None
        self.rest_ms: int | None = None  # None: no clock, a limit for each move
        self.moves_to_go = 0  # 0: the stage lasts to the end
        self._flag_of: int | None = None  # the rest for which the flag was reckoned
        self._flag_ns = 0
        self.increment_ms = 0  # of the stage under way
        if self.tc.stages:
            stage = self.tc.stage(0)
            self.increment_ms = stage.increment_ms
            self.rest_ms = stage.base_ms + stage.increment_ms
            self.moves_to_go = stage.moves

    @property
    def limit_ms(self) -> int:
        """Whole milliseconds after which this move is late, the margin not counted."""
        if self.rest_ms is not None:
            return self.rest_ms
        return self.tc.movetime_ms if self.tc.movetime_ms is not None else self._hang_ms

    @property
    def hang_words(self) -> str:
        """The hang limit in words, where nothing else limits the time of a move; else ""."""
        timed = self.rest_ms is not None or self.tc.movetime_ms is not None
        return "" if timed else f"the hang limit of {self._hang_ms / 1000:g} s"

    @property
    def _margin_ms(self) -> int:
        return 0 if self.hang_words else self.margin_ms

    def flag_ns(self) -> int:
        """Nanoseconds of thought from which the move has lost on time."""
        if self._flag_of != self.rest_ms or not self._flag_ns:  # several times a ply, and it changes once
            self._flag_of, self._flag_ns = self.rest_ms, (self.limit_ms + self._margin_ms + 1) * MS
        return self._flag_ns

    def wait_ns(self) -> int:
        """Nanoseconds after the start at which waiting for the answer ends."""
        return self.flag_ns() + GRACE_NS

    def shown_ms(self) -> int | None:
        """What engines are told: whole milliseconds, never below 1 (two surveyed engines hang on less)."""
        return None if self.rest_ms is None else max(1, self.rest_ms)

    def charge(self, elapsed_ns: int, other: Clock | None = None) -> int | None:
        """Book one move that was in time; its milliseconds. None: it was late, nothing is booked.

        Between two hourglasses what it takes off this clock runs to the `other`.
        """
        if elapsed_ns >= self.flag_ns():
            return None
        spent = elapsed_ns // MS
        self.moves += 1
        self.total_ms += spent
        self.longest_ms = max(self.longest_ms, spent)
        if spent > self.limit_ms:
            self.margin_uses += 1
        if self.rest_ms is not None:
            self._run_down(spent, other)
        return spent

    def _run_down(self, spent: int, other: Clock | None) -> None:
        assert self.rest_ms is not None
        left = max(0, self.rest_ms - spent)
        if self.tc.hourglass and other is not None and other.tc.hourglass and other.rest_ms is not None:
            other.rest_ms += self.rest_ms - left
        self.least_ms = left if self.least_ms is None else min(self.least_ms, left)
        if self.moves_to_go == 1:
            self.stage += 1
            stage = self.tc.stage(self.stage)
            self.moves_to_go, self.increment_ms = stage.moves, stage.increment_ms
            left += stage.base_ms
        elif self.moves_to_go:
            self.moves_to_go -= 1
        self.rest_ms = left + self.increment_ms

    def overrun_ms(self, elapsed_ns: int) -> int:
        """Milliseconds beyond the clock (not beyond clock and margin) of a late answer."""
        return elapsed_ns // MS - self.limit_ms


class Interruptions:
    """What kept the referee from the clock since it was made: the machine's sleep, SIGSTOP or a freeze of us."""

    def __init__(self) -> None:
        self._slept_ns = suspended_ns()
        self.continued = False
        self._overslept_ns = 0
        self._before: Any = None
        with suppress(ValueError):  # outside the main thread nobody hears signals
            self._before = signal.signal(signal.SIGCONT, self._note)

    def overslept(self, late_ns: int) -> None:
        """A wait ended so long after its due: if that is too much, something kept this process from running."""
        self._overslept_ns = max(self._overslept_ns, late_ns)

    def woke(self, now_ns: int, until_ns: int, due_ns: int) -> int:
        """A wait until `until_ns` has ended, in a longer one that is over at `due_ns`; how much of it may be our own.

        Past the due the engine had no grace meanwhile, and by GRACE_NS is that behind the flag. Before it a freeze of
        the machine, of which nobody is told, has kept the engine from thinking; it began in this slice of the wait.
        """
        self.overslept(now_ns - until_ns)
        if now_ns > due_ns + LATE_WAKE_NS:
            return now_ns - due_ns + 2 * GRACE_NS
        return now_ns - until_ns + SLICE_NS if now_ns > until_ns + _FREEZE_NS else 0

    def _note(self, number: int, frame: object) -> None:
        del number, frame
        self.continued = True

    @property
    def words(self) -> str:
        """What happened, "" for nothing."""
        if self.continued:
            return "the referee's process was stopped during a move"
        if self._overslept_ns > _OVERSLEPT_NS:
            return f"the referee woke up {self._overslept_ns / 1e9:.1f} s late"
        return "the machine was suspended during a move" if suspended_ns() - self._slept_ns > SLEPT_NS else ""

    def close(self) -> None:
        """Leave the signal to whom it belonged."""
        if self._before is not None:
            signal.signal(signal.SIGCONT, self._before)


def suspended_ns() -> int:
    """Nanoseconds this machine has been suspended since boot; a growth in a move voids the game."""
    return 0 if _BOOTTIME is None else time.clock_gettime_ns(_BOOTTIME) - time.monotonic_ns()
