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
# A frame is a mark, a length, a checksum and a pickle. Messages to the slot are `GameTask`, `ProbeTask`, `Environment`
# and `Stop`; end of file means that the scheduler is gone. The slot sends ``("hello", VERSION)`` first, because the
# package may have been updated since the scheduler began. Then it sends ``("event", name, payload)``, where one "moves"
# joins several events "move", and for every task one of ``("result", Game | Probe)``, ``("failed", text)`` for a
# failure of the machine, and ``("internal", text)`` for an internal error. An engine of the same user can write into
# these pipes, so anything that is not a valid frame ends the stream.

HEAD = struct.Struct(">4sII")  # the mark, bytes of the pickle, its CRC-32
MARK = b"\xe7TF\x1a"  # no text begins with these bytes
LONGEST = 64 << 20  # bytes of a frame; a game of 600 moves with complete lines takes 200 KiB

Stopping = Literal["", "finish", "now"]


def _version() -> str:
    """Return the version and a digest of all message fields, because pickle reads other versions without an error."""
    kinds = (kind for module in (timecontrol, game, task) for kind in vars(module).values())
    shapes = [
        (kind.__name__, [(one.name, str(one.type)) for one in fields(kind)])
        if is_dataclass(kind)
        else (kind.__name__, [(name, str(hint)) for name, hint in kind.__annotations__.items()])
        for kind in kinds
        if isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))
    ]
    return f"{__version__} ({zlib.crc32(repr(shapes).encode()):08x})"


VERSION = _version()  # taken when this process began; another version may be installed later


@dataclass(frozen=True, slots=True)
class Stop:
    """No more tasks. `now` drops the game in progress; otherwise the slot finishes it."""

    now: bool


@dataclass(frozen=True, slots=True)
class Environment:
    """Environment variables of the slot and its engines from now on. The slot sends no reply."""

    variables: dict[str, str]


class Link:
    """The connection of a game to its executor; this base class is for a game in the caller's own process."""

    control_fd: int | None = None  # part of every wait of the game; when readable, call `stopping`

    def stopping(self) -> Stopping:
        """Return whether to stop; reads what the control pipe holds, without waiting."""
        return ""

    def tell(self, name: str, payload: object) -> None:
        """Send a live event without waiting; it may get lost."""


def frame(message: object) -> bytes:
    """Return a message as a frame. Raises what pickle raises for an object that it cannot write."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return HEAD.pack(MARK, len(body), zlib.crc32(body)) + body


class _BrokenStream(Exception):
    """The stream contains something that is not a valid frame."""


class Frames:
    """Splits a byte stream into messages, up to the first broken frame; then `broken` is set."""

    __slots__ = ("_held", "broken")

    def __init__(self) -> None:
        self._held = bytearray()
        self.broken = False

    def feed(self, chunk: bytes) -> list[Any]:
        """Return the messages that end in this chunk, oldest first; raises nothing, whatever the bytes are."""
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
    """An unpickler that creates only objects of enginetour's own classes."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function of enginetour itself; dotted names would reach what its modules import."""
        if module.partition(".")[0] != "enginetour" or "." in name:
            raise _BrokenStream
        return super().find_class(module, name)
