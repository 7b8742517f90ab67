"""The clock of one side (time left, flag), and interruptions of the referee (suspension, SIGSTOP, a freeze).

Times are in whole milliseconds outside this module and in nanoseconds inside (runner spec section 3). The clock is
reduced by the elapsed time of a move, rounded down to whole milliseconds, as in fastchess and cutechess-cli.
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
SLEPT_NS = 1_000 * MS  # a longer suspension during a game makes it void (reliability 3)
OVERSLEPT_NS = 1_000 * MS  # a wait that ends later than planned by more than this makes the game void (reliability 3)
_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)  # available on Linux
LATE_WAKE_NS = 20 * MS  # a wait only ends this late if this process was stopped or got no processor
_FREEZE_NS = 100 * MS  # a longer delay of a wait counts as a freeze; a busy machine seldom causes it (chosen value)
GRACE_NS = 100 * MS  # after the flag, waiting continues for this time to measure the true overrun (runner spec 3)


class Clock:
    """The clock of one side with its own time control."""

    def __init__(self, side: Side, hang_limit: float) -> None:
        self.tc: TimeControl = side.tc
        self.margin_ms = side.margin_ms
        self._hang_ms = int(hang_limit * 1000)
        self.stage = 0  # the current stage, counted from 0
        self.margin_uses = 0
        self.longest_ms = 0
        self.total_ms = 0
        self.moves = 0
        self.least_ms: int | None = None
        self.rest_ms: int | None = None  # None if there is no clock, but a limit for each move
        self.moves_to_go = 0  # 0 if the stage lasts to the end of the game
        self._flag_of: int | None = None  # value of `rest_ms` for which the flag was calculated
        self._flag_ns = 0
        self.increment_ms = 0  # increment of the current stage
        if self.tc.stages:
            stage = self.tc.stage(0)
            self.increment_ms = stage.increment_ms
            self.rest_ms = stage.base_ms + stage.increment_ms
            self.moves_to_go = stage.moves

    @property
    def limit_ms(self) -> int:
        """The time limit of this move in whole milliseconds, without the time margin."""
        if self.rest_ms is not None:
            return self.rest_ms
        return self.tc.movetime_ms if self.tc.movetime_ms is not None else self._hang_ms

    @property
    def hang_limit_text(self) -> str:
        """A description of the hang limit if it is the only limit of the time of a move; otherwise ""."""
        timed = self.rest_ms is not None or self.tc.movetime_ms is not None
        return "" if timed else f"the hang limit of {self._hang_ms / 1000:g} s"

    @property
    def _margin_ms(self) -> int:
        return 0 if self.hang_limit_text else self.margin_ms

    def flag_ns(self) -> int:
        """Return the thinking time in nanoseconds at which the engine loses on time."""
        if self._flag_of != self.rest_ms or not self._flag_ns:  # read several times per ply, changes once
            self._flag_of, self._flag_ns = self.rest_ms, (self.limit_ms + self._margin_ms + 1) * MS
        return self._flag_ns

    def wait_ns(self) -> int:
        """Return how long to wait for the answer, in nanoseconds from the start of the search."""
        return self.flag_ns() + GRACE_NS

    def shown_ms(self) -> int | None:
        """Return the time to send to engines in whole ms: at least 1, because two surveyed engines hang with less.

        Returns None if there is no clock.
        """
        return None if self.rest_ms is None else max(1, self.rest_ms)

    def charge(self, elapsed_ns: int, other: Clock | None = None) -> int | None:
        """Reduce the clock by the time of a move and return this time in ms. If the move is late, only return None.

        If both clocks are hourglasses, the time taken from this clock is added to the `other` clock.
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
        """Return by how many milliseconds a late answer exceeded the limit, which does not include the time margin."""
        return elapsed_ns // MS - self.limit_ms


class Interruptions:
    """Recorder of interruptions during a game: suspension of the machine, SIGSTOP, or a freeze of this process."""

    def __init__(self) -> None:
        self._slept_ns = suspended_ns()
        self.continued = False
        self._overslept_ns = 0
        self._before: Any = None
        with suppress(ValueError):  # only the main thread can handle signals
            self._before = signal.signal(signal.SIGCONT, self._note)

    def overslept(self, late_ns: int) -> None:
        """Record that a wait ended `late_ns` later than planned. After a long delay, the game is void."""
        self._overslept_ns = max(self._overslept_ns, late_ns)

    def woke(self, now_ns: int, until_ns: int, due_ns: int) -> int:
        """Record the end of a wait until `until_ns`, and return how many ns of it may be a delay by the referee.

        The wait is part of a longer wait that ends at `due_ns`. If it ended after `due_ns`, the engine had no grace
        period (GRACE_NS after the flag). If it ended late but before `due_ns`, the machine was frozen during this part
        of the wait, and the engine could not think. No signal reports such a freeze.
        """
        self.overslept(now_ns - until_ns)
        if now_ns > due_ns + LATE_WAKE_NS:
            return now_ns - due_ns + 2 * GRACE_NS
        return now_ns - until_ns + SLICE_NS if now_ns > until_ns + _FREEZE_NS else 0

    def _note(self, number: int, frame: object) -> None:
        del number, frame
        self.continued = True

    @property
    def reason(self) -> str:
        """A sentence about what interrupted the referee, or "" if there was no interruption."""
        if self.continued:
            return "the referee's process was stopped during a move"
        if self._overslept_ns > OVERSLEPT_NS:
            return f"the referee woke up {self._overslept_ns / 1e9:.1f} s late"
        return "the machine was suspended during a move" if suspended_ns() - self._slept_ns > SLEPT_NS else ""

    def close(self) -> None:
        """Restore the previous signal handler."""
        if self._before is not None:
            signal.signal(signal.SIGCONT, self._before)


def suspended_ns() -> int:
    """Return how long this machine has been suspended since boot, in ns. An increase during a move voids the game."""
    return 0 if _BOOTTIME is None else time.clock_gettime_ns(_BOOTTIME) - time.monotonic_ns()
