"""What a slot and its place say to each other, and what a game sees of it.

Frames are a 4-byte big-endian length and a pickle; both ends are ours. To the slot: `GameTask`, `ProbeTask`, `Stop`;
end of file means that the scheduler is gone. From it: ``("hello", VERSION)`` before anything else, as the package may
have been updated since the scheduler began; ``("event", name, payload)``, several events "move" as one "moves"; then
one of ``("result", Game | Probe)`` and ``("failed", text)`` for every task.
"""

from __future__ import annotations

import pickle
import struct
import zlib
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

from enginetour import __version__, model, task, timecontrol

HEAD = struct.Struct(">I")

Stopping = Literal["", "finish", "now"]


def _version() -> str:
    """Ours, and a digest of the fields of all that goes over the pipes: a pickle of others is read without an error."""
    kinds = (kind for module in (timecontrol, model, task) for kind in vars(module).values())
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
    return HEAD.pack(len(body)) + body


class Frames:
    """Bytes in as they come, whole messages out."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, chunk: bytes) -> list[Any]:
        """Messages that end in this chunk, oldest first."""
        self._held += chunk
        messages: list[Any] = []
        while len(self._held) >= HEAD.size:
            end = HEAD.size + HEAD.unpack_from(self._held)[0]
            if len(self._held) < end:
                break
            messages.append(pickle.loads(memoryview(self._held)[HEAD.size : end]))  # noqa: S301 - from our own process
            del self._held[:end]
        return messages
