"""Messages between a slot and its executor: frames over pipes, with the version of this process."""

from __future__ import annotations

import io
import pickle
import struct
import zlib
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

from enginetour import __version__
from enginetour.model import game, task, timecontrol

# The protocol between a slot and its executor, and the part of it that a game uses.
#
# A frame consists of a mark, a length, a checksum and a pickle.
#
# The executor sends tasks (for example `GameTask` or `ProbeTask`), `Environment` and `Stop`. End of file means that the
# scheduler has ended.
#
# The slot first sends ``("hello", VERSION)``, because the package may have been updated since the scheduler began. Then
# it sends events as ``("event", name, payload)``; the event "moves" contains several moves. For every task it sends one
# result: ``("result", value)``, ``("failed", text)`` after a failure of the machine, or ``("internal", text)`` after an
# internal error.
#
# An engine of the same user can write into these pipes, so nothing is read after data that is not a valid frame.

HEAD = struct.Struct(">4sII")  # mark, length of the pickle in bytes, CRC-32 of the pickle
MARK = b"\xe7TF\x1a"  # no text begins with these bytes
LONGEST = 64 << 20  # largest frame in bytes; a game of 600 moves with complete lines takes 200 KiB

Stopping = Literal["", "finish", "now"]


def _version() -> str:
    """Return the version and a checksum of all message fields.

    The checksum is needed because pickle can read the messages of another version without an error.
    """
    kinds = (kind for module in (timecontrol, game, task) for kind in vars(module).values())
    shapes = [
        (kind.__name__, [(one.name, str(one.type)) for one in fields(kind)])
        if is_dataclass(kind)
        else (kind.__name__, [(name, str(hint)) for name, hint in kind.__annotations__.items()])
        for kind in kinds
        if isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))
    ]
    return f"{__version__} ({zlib.crc32(repr(shapes).encode()):08x})"


VERSION = _version()  # computed when this process starts, because another version may be installed later


@dataclass(frozen=True, slots=True)
class Stop:
    """The message that no more tasks follow. If `now` is true, the slot drops the game in progress."""

    now: bool


@dataclass(frozen=True, slots=True)
class Environment:
    """The message that sets environment variables of the slot and of the engines that it starts. It has no reply."""

    variables: dict[str, str]


class Link:
    """The connection of a game to its executor. This base class is for games in the caller's own process."""

    control_fd: int | None = None  # the game waits for this descriptor, too; when it is readable, call `stopping`

    def stopping(self) -> Stopping:
        """Read the control pipe without waiting. Return "finish" or "now" if a stop was requested, otherwise ""."""
        return ""

    def tell(self, name: str, payload: object) -> None:
        """Send a live event without waiting. The event may be lost."""


def frame(message: object) -> bytes:
    """Return a message as a frame. Raises an error of pickle if the message cannot be pickled."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return HEAD.pack(MARK, len(body), zlib.crc32(body)) + body


class _BrokenStream(Exception):
    """Raised if the stream contains data that is not a valid frame."""


class Frames:
    """Splitter of a byte stream into messages. At the first invalid frame it stops and sets `broken`."""

    __slots__ = ("_held", "broken")

    def __init__(self) -> None:
        self._held = bytearray()
        self.broken = False

    def feed(self, chunk: bytes) -> list[Any]:
        """Return the messages that are complete after this chunk, oldest first. Invalid bytes raise no error."""
        self._held += chunk
        messages: list[Any] = []
        while not self.broken and len(self._held) >= HEAD.size:
            mark, length, checksum = HEAD.unpack_from(self._held)
            end = HEAD.size + length
            if mark != MARK or length > LONGEST:
                self.broken = True
            elif len(self._held) < end:
                break
            else:
                self._take(bytes(memoryview(self._held)[HEAD.size : end]), checksum, messages)
                del self._held[:end]
        if self.broken:
            self._held.clear()
        return messages

    def _take(self, body: bytes, checksum: int, messages: list[Any]) -> None:
        try:
            if zlib.crc32(body) != checksum:
                raise _BrokenStream
            messages.append(_Unpickler(io.BytesIO(body)).load())
        except Exception:  # unpickling can raise any exception
            self.broken = True


class _Unpickler(pickle.Unpickler):
    """An unpickler that only creates objects of enginetour's classes."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function of enginetour. Dotted names are invalid, as they could reach other modules."""
        if module.partition(".")[0] != "enginetour" or "." in name:
            raise _BrokenStream
        return super().find_class(module, name)
