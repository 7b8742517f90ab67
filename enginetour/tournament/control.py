"""Control socket of a run: server, client, live events."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import select
import socket
import stat
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from enginetour.engines.strays import origin_trouble
from enginetour.model.errors import StorageFailed, StoreRefused
from enginetour.store.address import Address, ServerAddress

if TYPE_CHECKING:
    import asyncio

    from enginetour.tournament.loopthread import LoopThread

_SO_PEERPIDFD = 77  # asm-generic/socket.h
_LONGEST_PATH = 107  # bytes; sun_path has 108 with its terminator, unix(7)

LONGEST_REQUEST = 64 << 10  # bytes; a request is much shorter
PATIENCE_S = 5.0  # seconds to receive a whole request line; commands send it at once


def _encode_message(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def socket_path(database: Address | str, slug: str) -> Path:
    """Return the path of a tournament's socket next to its database. `candidates` derives the real paths from it.

    For a database on a server, the path is relative and only its digest is used.
    """
    if isinstance(database, ServerAddress):
        return Path(_tag(database)) / slug
    database = Path(os.path.realpath(database))
    return database.with_name(f"{database.name}.{slug}.sock")


@cache
def _tag(database: ServerAddress) -> str:
    """Return the tag that identifies the database on its server, independent of the address.

    The result is cached because web pages request it often.
    """
    from enginetour.store.database import backend_of

    return backend_of(database).tag()


def candidates(path: Path) -> list[Path]:
    """Return the possible places of the socket: next to the database, in the runtime directory, or in /tmp."""
    name = f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:20]}.sock"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    places = [path] if path.is_absolute() else []
    if runtime.startswith("/"):
        places.append(Path(runtime) / "enginetour" / name)
    places.append(Path("/tmp") / f"enginetour-{os.getuid()}" / name)  # noqa: S108 - owner and mode are checked
    return [place for place in places if len(os.fsencode(place)) <= _LONGEST_PATH]


def _is_ours(folder: Path) -> bool:
    """Return whether a directory belongs to this user, is not a link, and cannot be entered by others."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def peer_trouble(connection: socket.socket) -> str:
    """Return why the connected process is rejected, or "" if this user started it.

    An engine also has the user's rights; it is recognized by its namespaces and by the slot that started it. An open
    descriptor refers to the process during the check, because the number of an ended process can be reused.
    """
    pid, user = _credentials(connection)
    if user != os.getuid():
        return "it belongs to another user"
    if pid <= 0:  # it has no number in this namespace
        return "it runs in another PID namespace"
    try:
        handle = _process(connection, pid)
    except OSError:
        return "it has ended"
    try:
        return origin_trouble(pid) or ("it has ended" if _has_ended(handle) else "")
    finally:
        os.close(handle)


def _credentials(connection: socket.socket) -> tuple[int, int]:
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, user, _ = struct.unpack("3i", found)
    return pid, user


def _process(connection: socket.socket, pid: int) -> int:
    try:
        return connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:
            raise
        return os.pidfd_open(pid)  # kernels before 6.5: the process with this number now


def _has_ended(handle: int) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(0))


_LONGEST_ANSWER = 16 << 20  # bytes; a client does not read more


class ConnectionClosed(StoreRefused):
    """The run ended before it responded. If the log does not contain the change, the request can be repeated."""


def _connect(path: Path, timeout: float) -> socket.socket | None:
    """Connect to the listener of this path if it belongs to this user. Return None if there is no such listener."""
    for place in candidates(path):
        if place.parent != path.parent and not _is_ours(place.parent):
            continue
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(timeout)
        try:
            connection.connect(os.fspath(place))
            if _credentials(connection)[1] == os.getuid():  # user of the listening process
                return connection
        except OSError:
            pass
        connection.close()
    return None


def _lines(connection: socket.socket) -> Iterator[dict[str, Any]]:
    received = bytearray()
    while data := connection.recv(LONGEST_REQUEST):
        received += data
        *lines, received = received.split(b"\n")
        for line in lines:
            yield json.loads(line)
        if len(received) > _LONGEST_ANSWER:
            raise ValueError("the answer is too long")


def ask(path: Path, request: Mapping[str, Any], timeout: float = 10.0) -> dict[str, Any] | None:
    """Send a request. Return the answer of the running tournament, or None if there is no listener.

    Raise ConnectionClosed if the run ends before it answers, and StoreRefused if it does not answer in time.

    Args:
        path: Path that `socket_path` returns.
        request: A JSON object with the key "do".
        timeout: Seconds for each step of the connection.
    """
    connection = _connect(path, timeout)
    if connection is None:
        return None
    with connection:
        try:
            with contextlib.suppress(BrokenPipeError):  # a rejection may arrive before the request is sent
                connection.sendall(_encode_message(request))
            for answer in _lines(connection):
                return answer
        except TimeoutError:
            what = f"the running tournament did not respond within {timeout:g} s"
            raise StoreRefused(what, step="check its state: enginetour status") from None
        except (OSError, ValueError):
            pass
    what = "the running tournament ended before it responded"
    raise ConnectionClosed(what, step="check its state: enginetour status")


def subscribe(path: Path) -> Iterator[dict[str, Any]] | None:
    """Return an iterator over live events of the running tournament, or None if there is no listener.

    Raise StoreRefused if the running tournament does not accept more subscribers.
    """
    connection = _connect(path, PATIENCE_S)
    if connection is None:
        return None
    lines = _lines(connection)
    try:
        with contextlib.suppress(BrokenPipeError):  # as above
            connection.sendall(_encode_message({"do": "subscribe"}))
        answer = next(lines, {})
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    if not answer.get("ok"):
        connection.close()
        raise StoreRefused(str(answer.get("error", "the running tournament closed the connection")))
    return _events(connection, lines)


def _events(connection: socket.socket, lines: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    with connection, contextlib.suppress(ConnectionError):
        yield from lines


MOST_CLIENTS = 64  # connections; far more than the commands and pages of one tester; limits the file descriptors
MOST_LISTENERS = 48  # connections of subscribers; the others are for commands
UNREAD_BYTES = 1 << 20  # a subscriber with more unread data is disconnected
# Seconds for which events are collected. Spectators do not see the delay, and a match of fast engines, which has four
# events per game, does not wake a thread here and one of every subscriber for each of them.
_COLLECT_S = 0.05
_FAREWELL_S = 0.5  # seconds to deliver the last answers at the end
_LOOK_S = 1.0  # seconds between two checks for clients that do not finish their request
_USAGE = 2  # exit code of errors.UsageRefused
_BUSY = 5  # exit code of errors.StoreRefused


def refusal(error: str, exit_code: int) -> dict[str, Any]:
    """Return the answer to a request that is not carried out."""
    return {"ok": False, "error": error, "exit": exit_code}


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request of a client: an object with the text "do" and its arguments.

    `reply` sends the answer, which is `refusal(...)` or {"ok": true, ...}. A second answer is ignored. Any thread may
    call it.
    """

    message: Mapping[str, Any]
    reply: Callable[[Mapping[str, Any]], None]


class _RequestQueue(Protocol):
    def put(self, item: PendingRequest, /) -> object: ...


@dataclass
class _Client:
    busy: bool = False  # its request waits for an answer
    listens: bool = False
    since: float = field(default_factory=time.monotonic)  # time of its last complete line or answer


class ControlServer:
    """Listens from `start` to `close` in its own thread. The caller must hold the tournament's lock.

    `inbox` is a `queue.SimpleQueue` or another object with `put`, which is called from that thread.
    """

    def __init__(self, path: Path, inbox: _RequestQueue) -> None:
        self.inbox = inbox
        self.path = path
        self._clients: dict[asyncio.StreamWriter, _Client] = {}
        self._loop: LoopThread | None = None
        self._events: deque[bytes] = deque()  # collected events
        self._collects = False

    @property
    def listeners(self) -> int:
        """The number of subscribers; without subscribers, nothing needs to be published."""
        return sum(client.listens for client in list(self._clients.values()))

    def start(self) -> None:
        """Create the socket and listen; set `path` to its path. Raise StorageFailed if no path can be used."""
        from enginetour.tournament.loopthread import LoopThread  # imported here, because clients do not need asyncio

        listener = self._bind()
        self._loop = LoopThread("control")
        self._loop.wait_for(self._open(self._loop, listener))

    def close(self) -> None:
        """Deliver the last answers, close all connections, and remove the socket."""
        if self._loop is None:
            return
        loop, self._loop = self._loop, None
        loop.post(lambda: loop.begin(self._end(loop)))
        loop.join(_FAREWELL_S + PATIENCE_S)
        with contextlib.suppress(OSError):
            if self.path.lstat().st_ino == self._inode:
                self.path.unlink()

    def __enter__(self) -> ControlServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def publish(self, event: Mapping[str, Any]) -> None:
        """Send an event to every subscriber, together with the next ones, without waiting."""
        if self._loop is None:
            return
        self._events.append(_encode_message(event))
        if not self._collects:
            self._collects = True
            self._loop.post(self._send_events, _COLLECT_S)

    def _bind(self) -> socket.socket:
        trouble: OSError | None = None
        for place in candidates(self.path):
            try:
                if place.parent != self.path.parent:
                    place.parent.mkdir(mode=0o700, exist_ok=True)
                    if not _is_ours(place.parent):
                        continue
                with contextlib.suppress(FileNotFoundError):
                    if not stat.S_ISSOCK(place.lstat().st_mode):
                        continue  # not a socket: it must not be removed
                    place.unlink()  # it belonged to a killed run, because this run has the lock
                listener = socket.socket(socket.AF_UNIX)
                try:
                    listener.bind(os.fspath(place))
                    place.chmod(0o600)
                    listener.listen(MOST_CLIENTS)
                    listener.settimeout(0)
                    self._inode = place.lstat().st_ino
                except BaseException:
                    listener.close()
                    raise
            except OSError as error:
                trouble = error
                continue
            self.path = place
            return listener
        why = trouble.strerror if trouble else "a private directory is not available"
        step = "set XDG_RUNTIME_DIR to a directory of this user"
        raise StorageFailed(f"the control socket cannot be created: {why}", place=str(self.path), step=step)

    # All methods below run in the server's thread.

    def _send_events(self) -> None:
        self._collects = False  # before the events are taken, because other threads add some
        lines = [self._events.popleft() for _ in range(len(self._events))]
        for writer in [writer for writer, client in self._clients.items() if client.listens]:
            for line in lines:
                if writer.transport.get_write_buffer_size() + len(line) > UNREAD_BYTES:
                    self._drop(writer)
                    break
                writer.write(line)

    async def _open(self, loop: LoopThread, listener: socket.socket) -> None:
        import asyncio

        self._server = await asyncio.start_unix_server(
            lambda reader, writer: loop.begin(self._attend(loop, reader, writer)),
            sock=listener,
            limit=LONGEST_REQUEST,
        )
        loop.begin(self._drop_the_slow())

    async def _end(self, loop: LoopThread) -> None:
        import asyncio

        self._server.close()
        self._send_events()
        end = time.monotonic() + _FAREWELL_S
        await asyncio.sleep(0)  # so that queued messages are sent
        while time.monotonic() < end and any(writer.transport.get_write_buffer_size() for writer in self._clients):
            await asyncio.sleep(0.01)
        await loop.end()

    async def _drop_the_slow(self) -> None:
        import asyncio

        while True:
            await asyncio.sleep(_LOOK_S)
            for writer in self._silent():
                if time.monotonic() - self._clients[writer].since > PATIENCE_S:
                    self._drop(writer)

    def _silent(self) -> list[asyncio.StreamWriter]:
        """Return the clients that have not sent a complete request."""
        return [writer for writer, client in self._clients.items() if not client.busy and not client.listens]

    def _drop(self, writer: asyncio.StreamWriter) -> None:
        self._clients.pop(writer, None)
        writer.transport.abort()

    async def _attend(self, loop: LoopThread, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if trouble := peer_trouble(writer.get_extra_info("socket")):
            writer.write(_encode_message(refusal(f"the running tournament rejects this program: {trouble}", _BUSY)))
        elif len(self._clients) >= MOST_CLIENTS and (silent := self._silent()):
            # Clients with an unread answer come last.
            self._drop(min(silent, key=lambda one: (one.transport.get_write_buffer_size(), self._clients[one].since)))
        if trouble or len(self._clients) >= MOST_CLIENTS:
            writer.close()
            return
        client = self._clients[writer] = _Client()
        try:
            while (line := await reader.readline()).endswith(b"\n"):
                client.since = time.monotonic()
                if not await self._answer_request(loop, client, line, writer):
                    break
                if client.listens:
                    while await reader.read(LONGEST_REQUEST):
                        pass  # a subscriber sends nothing more
        except ValueError:
            writer.write(_encode_message(refusal("a request must be one line of at most 64 KiB", _USAGE)))
        except OSError:
            pass  # the client has closed the connection
        finally:
            self._drop(writer)

    async def _answer_request(
        self, loop: LoopThread, client: _Client, line: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request. Return false if the client must be disconnected."""
        import asyncio

        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        accepted = False
        if not isinstance(message, dict) or not isinstance(message.get("do"), str):
            answer: Mapping[str, Any] = refusal('a request must be a JSON object with "do"', _USAGE)
        elif message["do"] != "subscribe":
            reply = asyncio.get_running_loop().create_future()

            def take(answer: Mapping[str, Any]) -> None:
                loop.post(lambda: None if reply.done() else reply.set_result(answer))

            client.busy = True
            self.inbox.put(PendingRequest(message, take))
            answer = await reply
            client.busy, client.since, accepted = False, time.monotonic(), True
        elif self.listeners >= MOST_LISTENERS:
            answer = refusal(f"{MOST_LISTENERS} programs already subscribe to this tournament", _BUSY)
        else:
            answer, client.listens, accepted = {"ok": True}, True, True
        writer.write(_encode_message(answer))
        return accepted
