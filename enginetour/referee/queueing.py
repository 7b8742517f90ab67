"""How long an engine's threads waited for a processor: a machine that is too busy, for people; it excuses nothing.

Source: proc(5), schedstat: its second field, nanoseconds in a run queue, is the one of a thread.
"""

from __future__ import annotations

import os
from contextlib import suppress

from enginetour.referee.clock import MS, RunQueue

MARK_NS = 1_000_000  # between two marks at least: searches that are sooner over are not told apart
MOST_THREADS = 8  # of an engine that are looked at, the oldest: 0.75 us each (measured)


class EngineQueue:
    """The threads that are there when a game begins; what they waited is that of the one that waited longest."""

    def __init__(self, pid: int) -> None:
        self.files: list[int] = []
        with suppress(OSError):  # it is gone, or the kernel does not tell
            for thread in sorted(os.listdir(f"/proc/{pid}/task"), key=int)[:MOST_THREADS]:  # noqa: PTH208 - numbers
                self.files.append(os.open(f"/proc/{pid}/task/{thread}/schedstat", os.O_RDONLY | os.O_CLOEXEC))
        self._begun = self._marked = self._look()
        self._marked_ns = 0

    def mark(self, now_ns: int) -> None:
        """From here on, CLOCK_MONOTONIC `now_ns`, counts what a move waited; or from a mark of less than 1 ms ago."""
        if now_ns >= self._marked_ns + MARK_NS:
            self._marked, self._marked_ns = self._look(), now_ns

    def marked(self, said: list[bytes], now_ns: int) -> None:
        """A mark that somebody else made."""
        self._marked, self._marked_ns = said, now_ns

    def of_move_ms(self) -> float | None:
        """Since the last mark, at most: also from a search just before. None where nothing is known."""
        return self._longest(self._marked)

    def of_game_ms(self) -> float | None:
        """Since the beginning."""
        return self._longest(self._begun)

    def close(self) -> None:
        """Give the descriptors back."""
        while self.files:
            os.close(self.files.pop())

    def _look(self) -> list[bytes]:
        return [_told(file) for file in self.files]

    def _longest(self, before: list[bytes]) -> float | None:
        waits = [
            RunQueue.waited_ns(now) - RunQueue.waited_ns(then)
            for then, now in zip(before, self._look(), strict=True)
            if then and now
        ]
        return max(waits) / MS if waits else None


def _told(file: int) -> bytes:
    try:
        return os.pread(file, 128, 0)
    except OSError:  # the thread has ended
        return b""
