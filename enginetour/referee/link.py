"""Messages between a slot and its executor: frames over pipes, in the version of this process."""

from __future__ import annotations

import io
import pickle
import struct
import zlib
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

from enginetour import __version__
from enginetour.model import game, task, timecontrol

# What a slot and its place say to each other, and what a game sees of it.
#
# Frames are a mark, a length, a checksum and a pickle; both ends are ours. To the slot: `GameTask`, `ProbeTask`,
# `Environment`, `Stop`;
# end of file means that the scheduler is gone. From it: ``("hello", VERSION)`` before anything else, as the package may
# have been updated since the scheduler began; ``("event", name, payload)``, several events "move" as one "moves"; then
# one of ``("result", Game | Probe)``, ``("failed", text)`` of the machine and ``("internal", text)`` of our own failure
# for every task. An engine of the same user can write into these pipes: what is no frame of ours ends the stream.

HEAD = struct.Struct(">4sII")  # the mark, bytes of the pickle, its CRC-32
MARK = b"\xe7TF\x1a"  # no text begins so
LONGEST = 64 << 20  # bytes of a frame: a game of 600 moves with full lines takes 200 KiB

Stopping = Literal["", "finish", "now"]


def _version() -> str:
    """Ours, and a digest of the fields of all that goes over the pipes: a pickle of others is read without an error."""
    kinds = (kind for module in (timecontrol, game, task) for kind in vars(module).values())
    told = [
        (kind.__name__, [(one.name, str(one.type)) for one in fields(kind)])
        if is_dataclass(kind)
        else (kind.__name__, [(name, str(told)) for name, told in kind.__annotations__.items()])
        for kind in kinds
        if isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))
    ]
    return f"{__version__} ({zlib.crc32(repr(told).encode()):08x})"


VERSION = _version()  # taken when this process began, whatever is installed since


@dataclass(frozen=True, slots=True)
class Stop:
    """No more tasks; `now` drops the running game, otherwise it may end."""

    now: bool


@dataclass(frozen=True, slots=True)
class Environment:
    """Variables of the slot from now on; its engines start with them. It is not answered."""

    variables: dict[str, str]


class Link:
    """A game's way to its place. This one leads nowhere, for a game played in the caller's own process."""

    control_fd: int | None = None  # in every wait of the game; readable: ask `stopping`

    def stopping(self) -> Stopping:
        """Whether to stop; reads what the control pipe holds, never waits."""
        return ""

    def tell(self, name: str, payload: object) -> None:
        """A live event; it may get lost, and never waits."""


def frame(message: object) -> bytes:
    """A message as it goes over a pipe. Raises what pickle raises for something that is no plain value."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return HEAD.pack(MARK, len(body), zlib.crc32(body)) + body


class _BrokenStream(Exception):
    """What came is no frame of ours."""


class Frames:
    """Bytes in as they come, whole messages out, up to the first that is broken; `broken` says that it came."""

    __slots__ = ("_held", "broken")

    def __init__(self) -> None:
        self._held = bytearray()
        self.broken = False

    def feed(self, chunk: bytes) -> list[Any]:
        """Messages that end in this chunk, oldest first; nothing is raised, whatever the bytes are."""
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
            messages.append(_Ours(io.BytesIO(body)).load())
        except Exception:  # what unpickling may raise has no end
            self.broken = True


class _Ours(pickle.Unpickler):
    """Makes nothing but what our tasks, games and events are made of."""

    def find_class(self, module: str, name: str) -> Any:
        """A class or function of enginetour itself; dotted names would reach what its modules import."""
        if module.partition(".")[0] != "enginetour" or "." in name:
            raise _BrokenStream
        return super().find_class(module, name)
