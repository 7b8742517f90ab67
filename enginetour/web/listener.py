"""An open page at the other end of a stream of events: what it has yet to be sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

MOST_DUE = 1280  # things that may wait for one page, 1 KB each: the boards of a cluster; then it is told all anew


def framed(event: str, value: Mapping[str, Any]) -> bytes:
    """One server-sent event (WHATWG HTML 9.2): its name and one line of JSON."""
    return f"event: {event}\ndata: {json.dumps(value, separators=(',', ':'))}\n\n".encode()


class Listener:
    """What waits for one page, the newest of each thing only: a slow reader costs a bounded piece of memory."""

    def __init__(self) -> None:
        self._due: dict[str, bytes] = {}
        self._awake = asyncio.Event()
        self.behind = False  # too much has waited: it must be told all anew
        self.closed = False

    def put(self, thing: str, frame: bytes) -> None:
        """Have `frame` sent; it takes the place of what waited about the same thing."""
        if len(self._due) >= MOST_DUE:
            self._due.clear()
            self.behind = True
        if not self.behind:
            self._due.pop(thing, None)
            self._due[thing] = frame
        self._awake.set()

    def close(self) -> None:
        """Nothing comes any more."""
        self.closed = True
        self._awake.set()

    async def due(self, patience: float) -> bytes:
        """All that waits, oldest first; a comment that keeps the line open after `patience` seconds of silence."""
        if not self._awake.is_set():
            try:
                await asyncio.wait_for(self._awake.wait(), patience)
            except TimeoutError:
                return b": all is well\n\n"
        self._awake.clear()
        frames, self._due = b"".join(self._due.values()), {}
        return frames
