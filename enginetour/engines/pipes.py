"""Byte buffers of an engine's pipes, and a doorbell that wakes a sleeping thread.

limit      limited data                               source
64 KiB     bytes that wait for a full pipe            runner spec 2
64 KiB     stderr that is kept for each engine        runner spec 2
256 KiB    engine log that is kept                    runner spec 2
"""

from __future__ import annotations

import os
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator

WAITING_CAP = 64 * 1024  # bytes, runner spec 2
STDERR_CAP = 64 * 1024  # bytes, runner spec 2
TRAFFIC_CAP = 256 * 1024  # bytes, runner spec 2
# A piece of the engine log: direction, CLOCK_MONOTONIC time in ns, length of the text, text (as in native/relay.c)
_PIECE = struct.Struct("=cqI")
_BLOCK = 16 * 1024  # bytes; pieces are joined until a block has this size, because a block needs memory and time itself
_TOLD_CAP = 300  # characters of a line in an incident; its 70 lines are much less than the limit of 1 MB


class ByteRing:
    """The last `cap` bytes of a stream."""

    __slots__ = ("_chunks", "_size", "cap")

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self._chunks: deque[bytes] = deque()
        self._size = 0

    def append(self, chunk: bytes) -> None:
        """Add a chunk; drop the oldest bytes to make room for it."""
        # short chunks are joined, because many of them would need more memory than their text
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
    """The engine log: the data that were sent (``>``) and received (``<``), with their CLOCK_MONOTONIC times.

    During a game, data are only appended.
    """

    __slots__ = ("_blocks", "_size", "_start_ns")

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._blocks = deque([bytearray()])
        self._size = 0

    def append(self, direction: bytes, stamp_ns: int, text: bytes) -> None:
        """Add a piece of the data that were sent or received; it may be a part of a line."""
        self.extend(_PIECE.pack(direction, stamp_ns, len(text)) + text)

    def extend(self, pieces: bytes) -> None:
        """Add several packed pieces at once, and drop the oldest block if the log becomes too large."""
        if len(self._blocks[-1]) >= _BLOCK:
            self._blocks.append(bytearray())
        self._blocks[-1] += pieces
        self._size += len(pieces)
        while self._size > TRAFFIC_CAP and len(self._blocks) > 1:
            self._size -= len(self._blocks.popleft())

    def pieces(self) -> Iterator[tuple[str, int, bytes]]:
        """Yield direction, CLOCK_MONOTONIC time in ns and text of each kept piece, oldest first."""
        for block in self._blocks:
            at = 0
            while at < len(block):
                direction, stamp, length = _PIECE.unpack_from(block, at)
                at += _PIECE.size + length
                yield direction.decode(), stamp, bytes(block[at - length : at])

    def lines(self, last: int) -> tuple[str, ...]:
        """Return the last lines, oldest first, escaped and cut, as in ``12.345678 < bestmove e2e4``.

        The number is the time since the start of the engine, in seconds.
        """
        shown = [f"{(ns - self._start_ns) / 1e9:.6f} {way} {escape_bytes(text)}" for ns, way, text in self.whole(0)]
        return tuple(shown[-last:]) if last > 0 else ()

    def whole(self, since_ns: int) -> list[tuple[int, str, bytes]]:
        """Return time, direction and text of the kept lines that began at `since_ns` (CLOCK_MONOTONIC) or later."""
        lines: list[tuple[int, str, bytes]] = []
        open_lines: dict[str, tuple[int, bytearray]] = {}  # direction -> time of its first byte, text so far
        for direction, stamp, piece in self.pieces():
            *whole, rest = piece.split(b"\n")
            for line in whole:
                begun, text = open_lines.pop(direction, (stamp, bytearray()))
                lines.append((begun, direction, bytes(text + line)))
            if rest:
                _, text = open_lines.setdefault(direction, (stamp, bytearray()))
                text += rest
        lines.extend((stamp, direction, bytes(text)) for direction, (stamp, text) in open_lines.items())
        return [line for line in lines if line[0] >= since_ns]


class Outbox:
    """Data that a non-blocking pipe could not take yet.

    Its methods never block, and they do not raise an error if the reader has closed the pipe.
    """

    __slots__ = ("_waiting", "broken", "cap", "fd", "full", "turns")

    def __init__(self, fd: int, cap: int | None = WAITING_CAP) -> None:
        self.fd = fd
        self.cap = cap  # None: unlimited, for data that must not be lost
        self.broken = False
        self.full = False  # true if it is broken because the reader exists, but has left too much data unread
        self.turns = 0  # number of changes (waits for room, has room, broken) after which the poll must be changed
        self._waiting = bytearray()

    def __len__(self) -> int:
        return len(self._waiting)

    def send(self, chunk: bytes) -> None:
        """Write once, and keep the rest. Set `broken` if the reader has closed the pipe or too much data waits."""
        if self.broken:
            return
        if self._waiting:
            self._waiting += chunk
            self.push()
        elif (taken := self._write(chunk)) < len(chunk):
            self.turns += 1
            self._waiting += chunk[taken:]
        else:  # the usual case, in every ply
            return
        if self.cap is not None and len(self._waiting) > self.cap:
            self.full = True
            self.gone()

    def push(self) -> None:
        """Write the waiting data once. Called when the pipe has room again."""
        if self._waiting and not self.broken:
            taken = self._write(self._waiting)
            del self._waiting[:taken]
            self.turns += not self._waiting

    def _write(self, chunk: bytes | bytearray) -> int:
        try:
            return os.write(self.fd, chunk)
        except BlockingIOError:
            return 0
        except OSError:  # EPIPE: the reader has closed the pipe
            self.gone()
            return len(chunk)

    def gone(self) -> None:
        """Mark the pipe as broken, because its other end is closed."""
        self.turns += 1
        self.broken = True
        self._waiting.clear()


def last_lines(text: bytes, last: int) -> tuple[str, ...]:
    """Return the last `last` non-empty lines, with control characters escaped, and cut if they are long."""
    lines = [line for line in text.split(b"\n") if line.strip()]
    return tuple(escape_bytes(line) for line in lines[-last:]) if last > 0 else ()


def escape_bytes(text: bytes, longest: int = _TOLD_CAP) -> str:
    """Return one printable line: remove blanks at its end, escape control characters, and cut it at `longest`."""
    cut = text.rstrip(b"\r\n \t")
    shown = cut[: longest + 1].decode("utf-8", "replace")
    safe = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in shown)
    return safe if len(safe) <= longest else safe[: longest - 3] + "..."


# Requests to a thread that waits in a select. Any thread may make requests; the waiting thread carries them out.


class Doorbell:
    """Requests that wake a thread. After a request, `fd` is readable, and the thread calls `answer`.

    Before the thread ends, it calls `fall_silent` and `close`.
    """

    def __init__(self) -> None:
        self.fd, self._ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.refusing = ""  # reason why new work is rejected; "" if it is accepted
        self._gone = False
        self._asked: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()  # protects all fields except the descriptors

    def ask(self, act: Callable[[], None], *, work: bool = False) -> bool:
        """Request that the thread calls `act`. Return False if the thread has ended, or if `work` is rejected."""
        with self._lock:
            if self._gone or (work and self.refusing):
                return False
            self._asked.append(act)
            if len(self._asked) == 1:
                os.write(self._ring, b"!")
        return True

    def refuse(self, why: str) -> None:
        """Reject new work from now on. If there is a reason already, it is kept."""
        with self._lock:
            self.refusing = self.refusing or why

    def answer(self) -> None:
        """Carry out all requests that were made since the last call."""
        os.read(self.fd, 4096)
        with self._lock:
            asked, self._asked = self._asked, deque()
        for act in asked:
            act()

    def fall_silent(self, why: str) -> None:
        """Carry out the requests that were made before, and reject all later requests."""
        with self._lock:
            self._gone = True
            self.refusing = why
            asked, self._asked = self._asked, deque()
        for act in asked:
            act()

    def close(self) -> None:
        """Close both ends of the pipe. Call it after `fall_silent`, because then no thread writes to the pipe."""
        os.close(self.fd)
        os.close(self._ring)
