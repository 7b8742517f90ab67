"""Byte buffers of an engine's pipes, and a doorbell that wakes a sleeping thread.

bound      what                                       source
64 KiB     bytes waiting for a full pipe              runner spec 2
64 KiB     stderr kept per engine                     runner spec 2
256 KiB    engine log kept                            runner spec 2
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable

WAITING_CAP = 64 * 1024  # bytes, runner spec 2
STDERR_CAP = 64 * 1024  # bytes, runner spec 2
TRAFFIC_CAP = 256 * 1024  # bytes, runner spec 2
# bytes of memory that a kept chunk costs in addition to its text: single bytes must not cost megabytes
_CHUNK_COST = 128
_TOLD_CAP = 300  # characters of a line shown in an incident: 70 lines stay far below the 1 MB that a fault may log


class ByteRing:
    """The last `cap` bytes of a stream."""

    __slots__ = ("_chunks", "_size", "cap")

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self._chunks: deque[bytes] = deque()
        self._size = 0

    def append(self, chunk: bytes) -> None:
        """Add a chunk; drop the oldest bytes to make room for it."""
        # many tiny chunks would cost more memory than their text
        if self._chunks and len(self._chunks[-1]) + len(chunk) <= 512:
            self._chunks[-1] += chunk
        else:
            self._chunks.append(chunk)
        self._size += len(chunk)
        while self._size > self.cap:
            oldest = self._chunks[0]
            excess = self._size - self.cap
            if len(oldest) <= excess:
                self._chunks.popleft()
            else:
                self._chunks[0] = oldest[excess:]
            self._size -= min(excess, len(oldest))

    def __bytes__(self) -> bytes:
        return b"".join(self._chunks)

    def __len__(self) -> int:
        return self._size


class Traffic:
    """The engine log: what was sent (``>``) and received (``<``), with monotonic times; a game only appends to it."""

    __slots__ = ("_chunks", "_size", "_start_ns")

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._chunks: deque[tuple[str, int, bytes]] = deque()
        self._size = 0

    def append(self, direction: str, stamp_ns: int, chunk: bytes) -> None:
        """Add a chunk as it passed the pipe; it need not be a whole line."""
        self._chunks.append((direction, stamp_ns, chunk))
        self._size += len(chunk) + _CHUNK_COST
        self._trim()

    def extend(self, chunks: list[tuple[str, int, bytes]], size: int) -> None:
        """Add several chunks at once; `size` is their total in bytes."""
        self._chunks.extend(chunks)
        self._size += size + _CHUNK_COST * len(chunks)
        self._trim()

    def _trim(self) -> None:
        while self._size > TRAFFIC_CAP:
            self._size -= len(self._chunks.popleft()[2]) + _CHUNK_COST

    def lines(self, last: int) -> tuple[str, ...]:
        """Return the last lines, oldest first, escaped and cut: ``12.345678 < bestmove e2e4`` (s since the start)."""
        shown = [f"{(ns - self._start_ns) / 1e9:.6f} {way} {escape_bytes(text)}" for ns, way, text in self.whole(0)]
        return tuple(shown[-last:]) if last > 0 else ()

    def whole(self, since_ns: int) -> list[tuple[int, str, bytes]]:
        """Return the kept lines that began at CLOCK_MONOTONIC `since_ns` or later: time, direction and text."""
        lines: list[tuple[int, str, bytes]] = []
        open_lines: dict[str, tuple[int, bytearray]] = {}  # direction -> time of its first byte, text so far
        for direction, stamp, chunk in self._chunks:
            *whole, rest = chunk.split(b"\n")
            for piece in whole:
                begun, text = open_lines.pop(direction, (stamp, bytearray()))
                lines.append((begun, direction, bytes(text + piece)))
            if rest:
                _, text = open_lines.setdefault(direction, (stamp, bytearray()))
                text += rest
        lines.extend((stamp, direction, bytes(text)) for direction, (stamp, text) in open_lines.items())
        return [line for line in lines if line[0] >= since_ns]


class Outbox:
    """Data that a non-blocking pipe could not take yet.

    It never blocks, and raises nothing for a reader that is gone.
    """

    __slots__ = ("_waiting", "broken", "cap", "fd", "full", "turns")

    def __init__(self, fd: int, cap: int | None = WAITING_CAP) -> None:
        self.fd = fd
        self.cap = cap  # None: unlimited, for data that must not be lost
        self.broken = False
        self.full = False  # broken because too much waits: the reader exists and does not read
        self.turns = 0  # how often it began to wait for room, got room, or broke: then it must be polled in another way
        self._waiting = bytearray()

    def __len__(self) -> int:
        return len(self._waiting)

    def send(self, chunk: bytes) -> None:
        """Write once; the rest waits. A gone reader, or too much waiting data, sets `broken`."""
        if self.broken:
            return
        if self._waiting:
            self._waiting += chunk
            self.push()
        elif (taken := self._write(chunk)) < len(chunk):
            self.turns += 1
            self._waiting += chunk[taken:]
        else:  # the common case, on the path of every ply
            return
        if self.cap is not None and len(self._waiting) > self.cap:
            self.full = True
            self.gone()

    def push(self) -> None:
        """Write waiting data once, when the pipe has room again."""
        if self._waiting and not self.broken:
            taken = self._write(self._waiting)
            del self._waiting[:taken]
            self.turns += not self._waiting

    def _write(self, chunk: bytes | bytearray) -> int:
        try:
            return os.write(self.fd, chunk)
        except BlockingIOError:
            return 0
        except OSError:  # EPIPE: the reader is gone
            self.gone()
            return len(chunk)

    def gone(self) -> None:
        """Mark the pipe as broken: its other end is closed."""
        self.turns += 1
        self.broken = True
        self._waiting.clear()


def last_lines(text: bytes, last: int) -> tuple[str, ...]:
    """Return the last non-empty lines, printable and cut."""
    lines = [line for line in text.split(b"\n") if line.strip()]
    return tuple(escape_bytes(line) for line in lines[-last:]) if last > 0 else ()


def escape_bytes(text: bytes, longest: int = _TOLD_CAP) -> str:
    """Return one printable line: blanks at the end removed, control and non-ASCII bytes escaped, cut at `longest`."""
    cut = text.rstrip(b"\r\n \t")
    shown = cut[: longest + 1].decode("utf-8", "replace")
    safe = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in shown)
    return safe if len(safe) <= longest else safe[: longest - 3] + "..."


# Requests to a thread that sleeps in a select: any thread may make them, and it carries them out in their order.


class Doorbell:
    """Wakes a thread: `fd` is readable after a request; the thread then calls `answer`, and `close` at its end."""

    def __init__(self) -> None:
        self.fd, self._ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.refusing = ""  # why new work is rejected
        self._gone = False
        self._asked: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()  # guards all but the descriptors

    def ask(self, act: Callable[[], None], *, work: bool = False) -> bool:
        """Ask the thread to call `act`; return False if it has ended, or rejects new `work`."""
        with self._lock:
            if self._gone or (work and self.refusing):
                return False
            self._asked.append(act)
            if len(self._asked) == 1:
                os.write(self._ring, b"!")
        return True

    def refuse(self, why: str) -> None:
        """Reject new work from now on; the first reason remains."""
        with self._lock:
            self.refusing = self.refusing or why

    def answer(self) -> None:
        """Carry out all requests since the last call."""
        os.read(self.fd, 4096)
        with self._lock:
            asked, self._asked = self._asked, deque()
        for act in asked:
            act()

    def fall_silent(self, why: str) -> None:
        """Accept no more requests; those that came before are still carried out."""
        with self._lock:
            self._gone = True
            self.refusing = why
            asked, self._asked = self._asked, deque()
        for act in asked:
            act()

    def close(self) -> None:
        """Close both ends; after `fall_silent` no thread writes to them."""
        os.close(self.fd)
        os.close(self._ring)
