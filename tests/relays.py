"""A relay for TCP connections that can be cut: it forwards nothing and closes nothing, as a network that is away."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress


class Relay:
    """Connections to the ports it gives go on to ports of this machine, in threads that end with `close`."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self._doors: list[socket.socket] = []
        self._ends: list[socket.socket] = []

    def to(self, port: int) -> int:
        """A new port that leads there."""
        door = socket.create_server(("127.0.0.1", 0))
        self._doors.append(door)
        self._begin(self._admit, door, port)
        return int(door.getsockname()[1])

    def cut(self) -> None:
        """What is sent from now on waits; so does who connects."""
        self._open.clear()

    def time_out(self) -> None:
        """End the connections there are, as the kernels of both sides do when nothing has come for long enough."""
        while self._ends:
            end = self._ends.pop()
            with suppress(OSError):  # the other end was quicker
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Go on: what waited arrives."""
        self._open.set()

    def close(self) -> None:
        """No connection, no port, no thread that does anything more."""
        self._ends += self._doors
        self.mend()
        self.time_out()

    @staticmethod
    def _begin(act: Callable[..., None], *words: object) -> None:
        threading.Thread(target=act, args=words, daemon=True).start()

    def _admit(self, door: socket.socket, port: int) -> None:
        with door, suppress(OSError):
            while True:
                near, _ = door.accept()
                self._begin(self._join, near, port)

    def _join(self, near: socket.socket, port: int) -> None:
        self._ends.append(near)
        self._open.wait()
        with near, suppress(OSError), socket.create_connection(("127.0.0.1", port)) as far:
            self._ends.append(far)
            back = threading.Thread(target=self._forward, args=(far, near), daemon=True)
            back.start()
            self._forward(near, far)
            back.join()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        """Up to the end of what is said, or of a connection; the end is forwarded too."""
        with suppress(OSError):
            while said := source.recv(1 << 16):
                self._open.wait()
                sink.sendall(said)
        self._open.wait()
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
