"""Signals of one run, each counted: a second Ctrl-C while Python is busy elsewhere is a second Ctrl-C."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

# Signals after which games in the air are dropped at once; SIGINT first lets them end.
HARD = (signal.SIGTERM, signal.SIGHUP)
_MANY = 4096  # bytes, one a signal


class Heard:
    """What was sent to this process while `noting`; false as long as nothing was.

    Python calls a handler between two of its own steps, and once for all signals of a kind that came meanwhile: a
    long step (a fit, a commit) would make one of two. The wake-up descriptor has a byte for each of them.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.act: Callable[[], None] = lambda: None  # replaced by one that wakes the loop

    def __bool__(self) -> bool:
        return bool(self.numbers)

    @property
    def code(self) -> int:
        """The exit code of who was ended by the last one, as shells count."""
        return 128 + self.numbers[-1]

    @property
    def name(self) -> str:
        """The last one's."""
        return signal.Signals(self.numbers[-1]).name

    def is_hard(self) -> bool:
        """Asked for twice, or by one that does not ask twice."""
        return len(self.numbers) > 1 or any(number in HARD for number in self.numbers)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note signals from now on. What was ignored at start stays so (nohup, a shell's ``&``)."""
        bell, ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        before: dict[int, Any] = {}

        def note(_number: int, _frame: object) -> None:
            with suppress(BlockingIOError):  # an earlier call took its byte as well
                self.numbers += (number for number in os.read(bell, _MANY) if number in before)
            self.act()

        earlier = signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        for number in (signal.SIGINT, *HARD):
            if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGTERM:
                before[number] = signal.getsignal(number)
                signal.signal(number, note)
        try:
            yield
        finally:
            for noted, action in before.items():
                signal.signal(noted, action)
            signal.set_wakeup_fd(earlier)
            os.close(bell)
            os.close(ring)


@contextmanager
def leaving() -> Iterator[None]:
    """As long as nobody notes signals: those that do not ask twice end us as an exit, and what we started with us."""

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    usual = [number for number in HARD if signal.getsignal(number) is signal.SIG_DFL]
    for number in usual:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in usual:
            signal.signal(number, signal.SIG_DFL)
