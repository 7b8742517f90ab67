"""Ring buffers, wake-up of a sleeping thread (doorbell).

bound      what                                       source
64 KiB     bytes waiting for a full pipe              runner spec 2
64 KiB     stderr kept per engine                     runner spec 2
256 KiB    traffic kept                               runner spec 2
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable

WAITING_CAP = 64 * 1024  # bytes, runner spec 2
STDERR_CAP = 64 * 1024  # bytes, runner spec 2
TRAFFIC_CAP = 256 * 1024  # bytes, runner spec 2
_CHUNK_COST = 128  # bytes of memory a kept chunk costs beside its text: one byte at a time may not cost megabytes
_TOLD_CAP = 300  # characters of a line shown in an incident: 70 lines stay far below the 1 MB a fault may log


class ByteRing:
    """The last `cap` bytes of a stream; the oldest go first."""

    __slots__ = ("_chunks", "_size", "cap")

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self._chunks: deque[bytes] = deque()
        self._size = 0

    def append(self, chunk: bytes) -> None:
        """Keep a chunk, making room for it."""
        if self._chunks and len(self._chunks[-1]) + len(chunk) <= 512:  # many tiny chunks would cost more than text
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
    """What was sent (``>``) and heard (``<``), with monotonic stamps; appending is all it costs a game."""

    __slots__ = ("_chunks", "_size", "_start_ns")

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._chunks: deque[tuple[str, int, bytes]] = deque()
        self._size = 0

    def append(self, direction: str, stamp_ns: int, chunk: bytes) -> None:
        """Note a chunk as it passed the pipe; it need not be a whole line."""
        self._chunks.append((direction, stamp_ns, chunk))
        self._size += len(chunk) + _CHUNK_COST
        self._trim()

    def extend(self, chunks: list[tuple[str, int, bytes]], size: int) -> None:
        """Several chunks at once, of so many bytes in all."""
        self._chunks.extend(chunks)
        self._size += size + _CHUNK_COST * len(chunks)
        self._trim()

    def _trim(self) -> None:
        while self._size > TRAFFIC_CAP:
            self._size -= len(self._chunks.popleft()[2]) + _CHUNK_COST

    def lines(self, last: int) -> tuple[str, ...]:
        """The last lines as ``12.345678 < bestmove e2e4``: seconds since the start, escaped, cut, oldest first."""
        told = [f"{(ns - self._start_ns) / 1e9:.6f} {way} {escape_bytes(text)}" for ns, way, text in self.whole(0)]
        return tuple(told[-last:]) if last > 0 else ()

    def whole(self, since_ns: int) -> list[tuple[int, str, bytes]]:
        """All lines that are kept and began at CLOCK_MONOTONIC `since_ns` or later: their stamp, direction and text."""
        told: list[tuple[int, str, bytes]] = []
        open_lines: dict[str, tuple[int, bytearray]] = {}  # direction -> stamp of its first byte, text so far
        for direction, stamp, chunk in self._chunks:
            *whole, rest = chunk.split(b"\n")
            for piece in whole:
                begun, text = open_lines.pop(direction, (stamp, bytearray()))
                told.append((begun, direction, bytes(text + piece)))
            if rest:
                _, text = open_lines.setdefault(direction, (stamp, bytearray()))
                text += rest
        told.extend((stamp, direction, bytes(text)) for direction, (stamp, text) in open_lines.items())
        return [line for line in told if line[0] >= since_ns]


class Outbox:
    """What a non-blocking pipe would not take yet; it never blocks and never raises for a reader that is gone."""

    __slots__ = ("_waiting", "broken", "cap", "fd", "full", "turns")

    def __init__(self, fd: int, cap: int | None = WAITING_CAP) -> None:
        self.fd = fd
        self.cap = cap  # None: unbounded, for what must not be lost
        self.broken = False
        self.full = False  # broken by too much that waits: the reader is there and does not read
        self.turns = 0  # how often it began to wait for room, had it, or broke: what a poll asks of it changes then
        self._waiting = bytearray()

    def __len__(self) -> int:
        return len(self._waiting)

    def send(self, chunk: bytes) -> None:
        """One write; the rest waits. A gone reader or too much waiting sets `broken`."""
        if self.broken:
            return
        if self._waiting:
            self._waiting += chunk
            self.push()
        elif (taken := self._write(chunk)) < len(chunk):
            self.turns += 1
            self._waiting += chunk[taken:]
        else:  # as nearly always, on the path of every ply
            return
        if self.cap is not None and len(self._waiting) > self.cap:
            self.full = True
            self.gone()

    def push(self) -> None:
        """One write of what waits, when the pipe has room again."""
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
        """Nobody reads at the other end any more."""
        self.turns += 1
        self.broken = True
        self._waiting.clear()


def last_lines(text: bytes, last: int) -> tuple[str, ...]:
    """The last non-empty lines, printable and cut."""
    lines = [line for line in text.split(b"\n") if line.strip()]
    return tuple(escape_bytes(line) for line in lines[-last:]) if last > 0 else ()


def escape_bytes(text: bytes, longest: int = _TOLD_CAP) -> str:
    """One line safe to show: blanks trimmed at the end, control and non-ASCII bytes escaped, cut at 300 characters."""
    cut = text.rstrip(b"\r\n \t")
    shown = cut[: longest + 1].decode("utf-8", "replace")
    safe = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in shown)
    return safe if len(safe) <= longest else safe[: longest - 3] + "..."


# Acts for a thread that sleeps in a select: anybody may ring, and it alone carries them out, in their order.


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
