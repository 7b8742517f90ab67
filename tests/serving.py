"""The live page under test: its server as a tester starts it, and a tournament that runs only on its socket."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from enginetour.model.game import Game, Note
from enginetour.tournament.control import ControlServer, Request, socket_path
from tests.playing import SHUFFLE
from tests.storing import add_game, open_log
from tests.touring import started


@contextmanager
def served(folder: Path, *options: str, **more: Any) -> Iterator[str]:
    """`enginetour serve` on a free port; its address without the slash at the end."""
    with serving(folder, *options, **more) as (url, _):
        yield url


@contextmanager
def serving(folder: Path, *options: str, **more: Any) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The same with its process."""
    if "--port" not in options:
        options = (*options, "--port", "0")
    with started(folder, "serve", *options, **more) as process:
        try:
            assert process.stdout is not None
            yield next(line for line in process.stdout if line.startswith("http")).split()[0].rstrip("/"), process
        finally:
            process.terminate()
            process.wait(20)


class Stage:
    """A tournament in a database of `folder`, and the socket of a run that is not there: it says what it is told to."""

    def __init__(self, folder: Path) -> None:
        (folder / "results").mkdir(exist_ok=True)
        self.database = folder / "results" / "enginetour.db"
        self.store, self.log = open_log(self.database)
        self.playing: list[dict[str, Any]] = []
        self.inbox: SimpleQueue[Request | None] = SimpleQueue()
        self.server: ControlServer | None = None

    def record(self, game: Game, *notes: Note) -> int:
        """A game in the log."""
        number = add_game(self.log, game, notes)
        assert number is not None
        return number

    def status(self) -> dict[str, Any]:
        """As a run answers."""
        told = {"tournament": self.log.title, "system": self.log.system, "state": "running", "slots": 1, "incidents": 0}
        far = {"games_done": self.log.last_number, "remaining": [6, 12], "eta": 3600.0, "eta_range": [1800.0, 3600.0]}
        return {"ok": True, **told, **far, "playing": self.playing, "endings": {}}

    @contextmanager
    def running(self) -> Iterator[ControlServer]:
        """The run begins; it ends with the context."""
        thread = threading.Thread(target=self._answer, daemon=True)
        thread.start()
        with ControlServer(socket_path(self.database, self.log.slug), self.inbox) as self.server:
            yield self.server
        self.server = None
        self.inbox.put(None)
        thread.join()

    def _answer(self) -> None:
        while (request := self.inbox.get()) is not None:
            request.reply(self.status())

    def tell(self, event: str, **fields: Any) -> None:
        """Publish an event."""
        assert self.server is not None
        self.server.publish({"event": event, **fields})


def start(slot: int = 0, white: str = "Fruit", black: str = "Toga", **more: Any) -> dict[str, Any]:
    """The fields of the event "start"."""
    fields = {"slot": slot, "white": white, "black": black, "opening": "E001", "variant": "standard", "fen": None}
    return {**fields, "moves": [], "clocks": [60_000, 60_000], "tc": ["60+1", "60+1"], "at": time.time(), **more}


def move(ply: int, slot: int = 0, **more: Any) -> dict[str, Any]:
    """The fields of the event "move" at a ply of a game in which the knights go to and fro."""
    fields: dict[str, Any] = {"slot": slot, "ply": ply, "uci": SHUFFLE[(ply - 1) % 4], "san": "N", "score": 15}
    fields |= {"depth": 9, "nodes": 12_345, "pv": SHUFFLE[(ply - 1) % 4], "elapsed_ms": 1234, "clock_ms": 59_000}
    return {**fields, "clocks": [59_000, 58_500], "at": time.time(), **more}
