"""What a run says goes out by threads of their own: a reader that does not read never holds up the games.

A stopped terminal (Ctrl-S), `| less` and a full pipe block whoever writes to them, for ever if nobody comes back. A
plain file does not, and is written to directly.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from enginetour.engines.process import hear_no_end

if TYPE_CHECKING:
    from typing_extensions import Buffer


KEPT_BYTES = 1 << 20  # unread words of a night: some 10 000 games; what comes after them is lost, and counted
PIECE = 4096  # bytes a write: PIPE_BUF, pipe(7)
LAST_WORDS_S = 10.0  # for a reader that takes nothing at the end
HURRY_S = 0.3  # the same after SIGTERM, which has 5 s in all (reliability spec 3)
LOOK_S = 0.1  # between two looks at whether somebody is in a hurry


class Outlet(io.RawIOBase):
    """A descriptor that is written to by a thread; takes everything at once, and raises what its last write raised."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._lost = 0  # lines that found no room
        self._taken = 0  # writes that went out
        self._trouble: OSError | None = None
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._pour, name="outlet", daemon=True)
        self._thread.start()

    @property
    def name(self) -> int:
        """As a file opened by its descriptor has it."""
        return self._number

    def fileno(self) -> int:
        """The descriptor itself: for its size, and to ask whether it is a terminal."""
        return self._number

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return os.isatty(self._number)

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, words: Buffer, /) -> int:
        """Take the words, or lose them; OSError once when the reader was found gone."""
        chunk = bytes(words)
        size = len(chunk)
        with self._change:
            if self._trouble is not None:
                trouble, self._trouble = self._trouble, None
                raise trouble
            if self._bytes + len(chunk) > KEPT_BYTES:
                self._lost += chunk.count(b"\n")
                return size
            if self._lost:
                chunk = b"... %d lines nobody read are left out\n" % self._lost + chunk
                self._lost = 0
            self._waiting.append(chunk)
            self._bytes += len(chunk)
            self._change.notify_all()
        return size

    def waits(self) -> bool:
        """Whether words are still to go out."""
        with self._change:
            return self._bytes > 0

    def drain(self, hurried: Callable[[], bool]) -> None:
        """Wait until all is out: as long as somebody reads, and a little longer."""
        with self._change:
            taken, since = self._taken, time.monotonic()
            while self._bytes:
                self._change.wait(LOOK_S)
                if self._taken != taken:
                    taken, since = self._taken, time.monotonic()
                if time.monotonic() - since > (HURRY_S if hurried() else LAST_WORDS_S):
                    return

    def _pour(self) -> None:
        hear_no_end()
        while True:
            with self._change:
                while not self._waiting:
                    self._change.wait()
                chunk = self._waiting.popleft()
            try:
                for begin in range(0, len(chunk), PIECE):
                    self._put(chunk[begin : begin + PIECE])
            except OSError as error:
                with self._change:
                    self._trouble = error
            with self._change:
                self._bytes -= len(chunk)
                self._change.notify_all()

    def _put(self, piece: bytes) -> None:
        while piece:
            piece = piece[os.write(self._number, piece) :]
            with self._change:
                self._taken += 1


@contextmanager
def unhurried(hurried: Callable[[], bool]) -> Iterator[None]:
    """Stdout and stderr never block until the end of this, which waits for their readers unless somebody is `hurried`.

    Both go by one thread where they are the same terminal or pipe, so that their lines keep their order.
    """
    before = (sys.stdout, sys.stderr)
    outlets: dict[tuple[int, int], Outlet] = {}
    sys.stdout, sys.stderr = (_by_thread(stream, outlets) for stream in before)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, AttributeError):  # AttributeError: it was closed before we were started
                stream.flush()
        sys.stdout, sys.stderr = before
        for outlet in outlets.values():
            outlet.drain(hurried)


def _by_thread(stream: TextIO, outlets: dict[tuple[int, int], Outlet]) -> TextIO:
    try:
        number = stream.fileno()
        found = os.fstat(number)
    except (OSError, AttributeError):  # AttributeError: as above
        return stream
    if not (stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode) or os.isatty(number)):
        return stream
    key = (found.st_dev, found.st_ino)
    if key not in outlets:
        outlets[key] = Outlet(number)
    return io.TextIOWrapper(outlets[key], stream.encoding, stream.errors, write_through=True)
