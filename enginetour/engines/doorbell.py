"""Acts for a thread that sleeps in a select: anybody may ring, and it alone carries them out, in their order."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable


class Doorbell:
    """`fd` is readable when somebody rang; the thread then calls `answer`, and in the end `close`."""

    def __init__(self) -> None:
        self.fd, self._ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.refusing = ""  # why new work is turned away
        self._gone = False
        self._asked: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()  # guards all but the descriptors

    def ask(self, act: Callable[[], None], *, work: bool = False) -> bool:
        """Have the thread do something; False when it will not any more, nor take new `work`."""
        with self._lock:
            if self._gone or (work and self.refusing):
                return False
            self._asked.append(act)
            if len(self._asked) == 1:
                os.write(self._ring, b"!")
        return True

    def refuse(self, why: str) -> None:
        """Turn new work away from now on; the first reason stays."""
        with self._lock:
            self.refusing = self.refusing or why

    def answer(self) -> None:
        """Do what was asked for since."""
        os.read(self.fd, 4096)
        with self._lock:
            asked, self._asked = self._asked, deque()
        for act in asked:
            act()

    def fall_silent(self, why: str) -> None:
        """Nobody is heard any more; what was asked in the last moment is still done."""
        with self._lock:
            self._gone = True
            self.refusing = why
            asked, self._asked = self._asked, deque()
        for act in asked:
            act()

    def close(self) -> None:
        """Give both ends back; after `fall_silent` nobody writes into them."""
        os.close(self.fd)
        os.close(self._ring)
