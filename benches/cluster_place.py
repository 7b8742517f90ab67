"""A simulated connection to a cluster. All other parts of a run are real; the cost of Dask is not included."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from array import array
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

from benches.cluster_machines import READ, Machinery
from enginetour.referee.link import Frames, frame
from enginetour.tournament.cluster.executor import EventListener
from enginetour.tournament.cluster.machines import ListedWorker, WorkerReport
from enginetour.tournament.cluster.worker import inspect_worker
from tests.support.engines import Promise

ROOT = Path(__file__).parents[1]


class Dropped(Promise):
    """A promise whose release drops the game on its machine."""

    def __init__(self, drop: Callable[[], None]) -> None:
        super().__init__()
        self._drop = drop

    def release(self) -> None:
        super().release()
        self._drop()


class Simulated:
    """A connection like `cluster.connection.Connection`; `events` counts the received live events.

    `begins` and `ends` are the times of all games in seconds of CLOCK_MONOTONIC. They are known after `close`.
    """

    def __init__(self, built: Machinery, heard: EventListener) -> None:
        self.events = 0
        self.begins, self.ends = array("d"), array("d")
        self._built = built
        self._heard = heard
        self._workers: dict[str, ListedWorker] | None = None
        self._waiting: dict[str, Promise] = {}
        self._unsent = bytearray()
        self._frames = Frames()
        self._socket: socket.socket | None = None

    async def open(self) -> None:
        """Start the machines and wait until they have connected."""
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "benches.cluster_machines", str(theirs.fileno())]
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], cwd=ROOT)
        ours.setblocking(False)
        self._socket = ours
        self._closed = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(ours, self._receive)
        self._send(astuple(self._built))
        while self._workers is None:
            await asyncio.sleep(0.01)

    @property
    def is_open(self) -> bool:
        """Whether the connection is open."""
        return self._socket is not None

    async def workers(self) -> dict[str, ListedWorker] | None:
        """Return the workers of the last report."""
        return self._workers

    def submit(self, task: Callable[..., Any], *words: Any, worker: str, slot: bool, key: str) -> Promise:
        """Submit a game; other tasks of workers are answered here."""
        found = Dropped(lambda: self._drop(key))
        if slot:
            self._waiting[key] = found
            self._send(("play", key, worker, words[0]))
        else:
            known = WorkerReport("simulated", "a simulated processor", 1.0)
            found.settle(known if task is inspect_worker else task(*words))
        return found

    async def close(self) -> None:
        """End the machines and receive the times of all games."""
        if self._socket is not None:
            self._send(("end",))
            await self._closed
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None
            self._process.wait()

    def _drop(self, key: str) -> None:
        if self._waiting.pop(key, None) is not None:
            self._send(("drop", key))

    def _receive(self) -> None:
        assert self._socket is not None
        chunk = self._socket.recv(READ)
        if not chunk:
            raise SystemExit("the simulated machines ended unexpectedly")
        for message in self._frames.feed(chunk):
            self._take(*message)

    def _take(self, kind: str, *words: Any) -> None:
        if kind == "events":
            self.events += len(words[0])
            self._heard(words[0])
        elif kind == "reply":
            found = self._waiting.pop(words[0], None)
            if found is not None:
                found.settle(words[1])
        elif kind == "workers":
            self._workers = {
                address: ListedWorker(name, address, seats, seats) for address, (name, seats) in words[0].items()
            }
        else:
            self.begins.frombytes(words[0])
            self.ends.frombytes(words[1])
            self._closed.set_result(None)

    def _send(self, message: object) -> None:
        """Send a message without waiting; the rest is sent when the socket is writable."""
        self._unsent += frame(message)
        self._push()

    def _push(self) -> None:
        assert self._socket is not None
        loop = asyncio.get_running_loop()
        try:
            while self._unsent:
                del self._unsent[: os.write(self._socket.fileno(), memoryview(self._unsent)[:READ].tobytes())]
        except BlockingIOError:
            loop.add_writer(self._socket, self._push)
        else:
            loop.remove_writer(self._socket)
