"""The thread that listens to one running tournament for as long as it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from enginetour.model.errors import TourError
from enginetour.tournament.control import ask, subscribe

Take = Callable[[Mapping[str, Any]], None]


class Feed(threading.Thread):
    """`begin` gets the answer to `status` once, `take` every event after it, `end` nothing: all from this thread.

    Events may tell what the status has told already; those of boards say at which ply they are. `end` is called
    in any case, and once.
    """

    def __init__(self, path: Path, begin: Take, take: Take, end: Callable[[], None]) -> None:
        super().__init__(name=f"feed of {path.name}", daemon=True)
        self._path, self._begin, self._take, self._end = path, begin, take, end

    def run(self) -> None:
        """Subscribe first, then ask: nothing can fall between the two."""
        try:
            events = subscribe(self._path)
            status = None if events is None else ask(self._path, {"do": "status"})
            if events is not None and status is not None and status.get("ok"):
                self._begin(status)
                for event in events:
                    self._take(event)
        except (TourError, OSError, ValueError):  # it ended, or stopped answering: whoever started us looks again
            pass
        finally:
            self._end()
