"""Signals of one run, each counted, and a limit for what they end: no hanging disk, no long step holds a stop up."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

# Signals after which games in the air are dropped at once; SIGINT first lets them end.
HARD = (signal.SIGTERM, signal.SIGHUP)
BEFORE_S = 0.7  # from a signal to the end where no game is in the loop's hands yet: 1 s is promised
PLAYING_S = 4.5  # from a hard one to the end of a run: 5 s are promised (reliability spec 3)
EARLY = "stopped before the first game"
_MANY = 4096  # bytes, one a signal
_ENOUGH = 0  # a byte that is no signal: nobody listens any more


class Heard:
    """What was sent to this process while `noting`; false as long as nothing was.

    A thread of its own takes the signals, which are blocked in all others: a thread that waits for a disk that hangs
    takes none. The wake-up descriptor has a byte for each of them; Python would make one of all that come in one step.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.act: Callable[[], None] | None = None  # wakes the loop, once there is one
        self.last_words = ""  # of whoever could not be stopped in time
        self._until: float | None = None  # CLOCK_MONOTONIC s at which this process ends, whatever it does
        self._is_noting = False

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
        """Note signals from now on. What was ignored at start stays so (nohup, a shell's ``&``). Twice is once."""
        if self._is_noting:
            yield
            return
        bell, ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        before: dict[int, Any] = {}
        for number in (signal.SIGINT, *HARD):
            if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGTERM:
                before[number] = signal.getsignal(number)
        earlier = signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, before)
        for noted in before:
            signal.signal(noted, lambda *_: None)  # its byte is what counts
        listener = threading.Thread(target=self._listen, args=(bell, frozenset(before)), name="signals", daemon=True)
        listener.start()
        self._is_noting = True
        try:
            yield
        finally:
            self._is_noting = False
            os.write(ring, bytes((_ENOUGH,)))
            listener.join()
            for noted, action in before.items():
                signal.signal(noted, action)
            signal.set_wakeup_fd(earlier)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(bell)
            os.close(ring)

    def _listen(self, bell: int, noted: frozenset[int]) -> None:
        """In the thread that takes the signals."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, noted)
        poll = select.poll()
        poll.register(bell, select.POLLIN)
        while True:
            left = None if self._until is None else max(0.0, self._until - time.monotonic()) * 1000
            if not poll.poll(left):
                self._give_up()
            with suppress(BlockingIOError):
                told = os.read(bell, _MANY)
                self.numbers += (number for number in told if number in noted)
                if _ENOUGH in told:
                    signal.pthread_sigmask(signal.SIG_BLOCK, noted)
                    return
            if self.numbers:
                self._heed()

    def _heed(self) -> None:
        if self._until is None and (self.act is None or self.is_hard()):
            self._until = time.monotonic() + (BEFORE_S if self.act is None else PLAYING_S)
        if self.act is not None:
            self.act()

    def _give_up(self) -> None:
        """End now, as by SIGKILL: nothing announced is lost, and slots end with us, their engines with them."""
        words = f"enginetour: {self.last_words}\n".encode() if self.last_words else b""
        poll = select.poll()
        poll.register(2, select.POLLOUT)
        if words and poll.poll(0):
            os.write(2, words)
        os._exit(self.code)
