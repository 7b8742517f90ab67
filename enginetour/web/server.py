"""The listening side: its socket, how many may connect and how long they may say nothing."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from enginetour.model.errors import UsageRefused
from enginetour.web.guard import App
from enginetour.web.hall import Hall

MOST_CONNECTIONS = 256  # each open page holds one; bounds descriptors and memory
PATIENCE_S = 10.0  # for the first request of a connection, and for the rest of one that has begun
IDLE_S = 5  # between two requests of one connection
LONGEST_HEAD = 16 << 10  # bytes of a request's head; a cookie and a handful of headers are one
UNREAD_MS = 30_000  # of what a reader leaves unread the kernel keeps no longer: tcp(7), TCP_USER_TIMEOUT
BACKLOG = 64
GOODBYE_S = 2  # for answers under way at the end


class Patient(H11Protocol):
    """A connection that is dropped if its request does not come in time, or if its place is needed for another one."""

    _due: asyncio.TimerHandle | None = None
    _since = 0.0  # when it was made or last answered, on the clock of the loop

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept one more connection; if there are too many, the one that waits longest without a request is closed."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._due = self.loop.call_later(PATIENCE_S, transport.abort)
        if len(self.connections) > MOST_CONNECTIONS:
            patients = (one for one in self.connections if isinstance(one, Patient) and one.rank is not None)
            min(patients, key=lambda one: one.rank or ()).make_room()  # this new one is among them

    @property
    def rank(self) -> tuple[bool, float] | None:
        """Its place among the connections to close, lowest first; None while a request of it is being answered.

        Connections that owe a request come before those that have not read their whole answer.
        """
        if self.cycle is not None and not self.cycle.response_complete:
            return None
        return self.transport.get_write_buffer_size() > 0, self._since

    def make_room(self) -> None:
        """Close it now: its place is free even before the loop has come to its `connection_lost`."""
        self.connections.discard(self)
        self.transport.abort()

    def on_response_complete(self) -> None:
        """The wait for its next request begins."""
        self._since = self.loop.time()
        super().on_response_complete()

    def data_received(self, data: bytes) -> None:
        """The clock stops with the end of a request's head."""
        before = self.cycle
        super().data_received(data)
        if self._due is not None and self.cycle is not before:
            self._due.cancel()
            self._due = None
        elif self._due is None and (self.cycle is None or self.cycle.response_complete):
            self._due = self.loop.call_later(PATIENCE_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is due any more."""
        if self._due is not None:
            self._due.cancel()
        super().connection_lost(exc)


class Server(uvicorn.Server):
    """Ends its streams when it is told to end, so that nothing needs to be cut."""

    def __init__(self, config: uvicorn.Config, hall: Hall) -> None:
        super().__init__(config)
        self._hall = hall

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal: no page hears anything more."""
        self._hall.close()
        super().handle_exit(sig, frame)


def listening(host: str, port: int) -> socket.socket:
    """A socket at that address; UsageRefused in one line where it cannot be had."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        made = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except (OSError, UnicodeError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        step = "choose another --port (0 takes a free one), or another --host"
        raise UsageRefused(f"cannot listen there ({why})", place=f"{host}:{port}", step=step) from None
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_MS)
    return made


def is_loopback(host: str) -> bool:
    """Only programs of this machine reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def configured(app: App) -> uvicorn.Config:
    """Nothing is logged: addresses may hold the token, and what fails is told by the guard."""
    return uvicorn.Config(
        app,
        http=Patient,
        ws="none",
        lifespan="on",
        loop="asyncio",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=GOODBYE_S,
        h11_max_incomplete_event_size=LONGEST_HEAD,
        backlog=BACKLOG,
    )


def run(app: App, hall: Hall, listener: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM."""
    Server(configured(app), hall).run(sockets=[listener])
