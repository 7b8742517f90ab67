"""The control socket of a run: server, client, live events."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import select
import selectors
import socket
import stat
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from enginetour.engines.process import block_ending_signals
from enginetour.engines.strays import origin_trouble
from enginetour.model.errors import StorageFailed, StoreRefused
from enginetour.store.address import Address, ServerAddress

# Path of the socket, permission of the client, encoding of a message.

SO_PEERPIDFD = 77  # asm-generic/socket.h
_LONGEST_PATH = 107  # sun_path of 108 bytes with its end, unix(7)

LONGEST_REQUEST = 64 << 10  # bytes; an entrant with all its options is a few KB
PATIENCE_S = 5.0  # s for a whole request line; people type it into a command, not into the socket


def encode_message(message: Mapping[str, Any]) -> bytes:
    """A message as it travels: compact JSON in ASCII and one newline."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def socket_path(database: Address | str, slug: str) -> Path:
    """Where the socket of a tournament would lie beside its database; `ask` and the server start from here.

    Beside a database on a server there is no place: such a path is relative, and only its digest counts.
    """
    if isinstance(database, ServerAddress):
        return Path(_tag(database)) / slug
    database = Path(os.path.realpath(database))
    return database.with_name(f"{database.name}.{slug}.sock")


@cache
def _tag(database: ServerAddress) -> str:
    """What its server calls it, whoever asks by which address: asked once, as a page looks for many tournaments."""
    from enginetour.store.database import backend_of

    return backend_of(database).tag()


def candidates(path: Path) -> list[Path]:
    """Where the socket may be: beside the database, in the runtime folder, in a folder of ours in /tmp."""
    name = f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:20]}.sock"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    places = [path] if path.is_absolute() else []
    if runtime.startswith("/"):
        places.append(Path(runtime) / "enginetour" / name)
    places.append(Path("/tmp") / f"enginetour-{os.getuid()}" / name)  # noqa: S108 - owner and mode are checked
    return [place for place in places if len(os.fsencode(place)) <= _LONGEST_PATH]


def _is_ours(folder: Path) -> bool:
    """A real folder of this user that nobody else can enter."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _peer_is_us(connection: socket.socket) -> bool:
    """The process at the other end belongs to this user, as the kernel reports it."""
    return _credentials(connection)[1] == os.getuid()


def peer_trouble(connection: socket.socket) -> str:
    """Why the process that connected may not ask for anything, "" for one that this user started.

    An engine has the user's rights too: it is recognized by its namespaces and by the slot that started it. The process
    is held by its descriptor while it is judged: a number of a process that has ended says nothing.
    """
    pid, user, _ = _credentials(connection)
    if user != os.getuid():
        return "it belongs to another user"
    if pid <= 0:  # it has no number here
        return "it runs in another pid namespace"
    try:
        handle = _process(connection, pid)
    except OSError:
        return "it has ended"
    try:
        return origin_trouble(pid) or ("it has ended" if _has_ended(handle) else "")
    finally:
        os.close(handle)


def _credentials(connection: socket.socket) -> tuple[int, int, int]:
    """Process, user and group of who connected, or of who listens."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, user, group = struct.unpack("3i", found)
    return pid, user, group


def _process(connection: socket.socket, pid: int) -> int:
    """A descriptor of the process that connected. A kernel before 6.5 gives that of who has its number now."""
    try:
        return connection.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:
            raise
        return os.pidfd_open(pid)


def _has_ended(handle: int) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(0))


# Client: one request and its reply, or a subscription to live events.

_LONGEST_ANSWER = 16 << 20  # bytes; a client reads no more


class ConnectionClosed(StoreRefused):
    """The run ended before it answered. It did nothing, or what it did is in the log: the request can be repeated."""


def _connect(path: Path, timeout: float) -> socket.socket | None:
    """A connection to whoever listens for this path, if it is this user."""
    for place in candidates(path):
        if place.parent != path.parent and not _is_ours(place.parent):
            continue
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(timeout)
        try:
            connection.connect(os.fspath(place))
            if _peer_is_us(connection):
                return connection
        except OSError:
            pass
        connection.close()
    return None


def _lines(connection: socket.socket) -> Iterator[dict[str, Any]]:
    """Answers and events as they come, until the server hangs up; TimeoutError as the socket is set."""
    received = bytearray()
    while data := connection.recv(LONGEST_REQUEST):
        received += data
        *lines, received = received.split(b"\n")
        for line in lines:
            yield json.loads(line)
        if len(received) > _LONGEST_ANSWER:
            raise ValueError("an answer without end")


def ask(path: Path, request: Mapping[str, Any], timeout: float = 10.0) -> dict[str, Any] | None:
    """The running tournament's answer, None if nobody listens; HungUp if it hangs up, StoreRefused if it is silent.

    `path` is that of `socket_path`; `timeout` in seconds, for each step of the talk.
    """
    connection = _connect(path, timeout)
    if connection is None:
        return None
    with connection:
        try:
            with contextlib.suppress(BrokenPipeError):  # a refusal may be there before the question
                connection.sendall(encode_message(request))
            for answer in _lines(connection):
                return answer
        except TimeoutError:
            what = f"the running tournament did not answer within {timeout:g} s"
            raise StoreRefused(what, step="see what became of it: enginetour status") from None
        except (OSError, ValueError):
            pass
    raise ConnectionClosed(
        "the running tournament ended before it answered", step="see what became of it: enginetour status"
    )


def subscribe(path: Path) -> Iterator[dict[str, Any]] | None:
    """Live events of the running tournament until it ends, None if nobody listens; StoreRefused if it has no room."""
    connection = _connect(path, PATIENCE_S)
    if connection is None:
        return None
    lines = _lines(connection)
    try:
        with contextlib.suppress(BrokenPipeError):  # as above
            connection.sendall(encode_message({"do": "subscribe"}))
        answer = next(lines, {})
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    if not answer.get("ok"):
        connection.close()
        raise StoreRefused(str(answer.get("error", "the running tournament hung up before it answered")))
    return _events(connection, lines)


def _events(connection: socket.socket, lines: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    with connection, contextlib.suppress(ConnectionError):
        yield from lines


# Server: a thread of its own, so that no client delays the tournament.

MOST_CLIENTS = 64  # far more commands and pages than one tester has open; bounds descriptors
MOST_LISTENERS = 48  # of them; the rest is for commands: a client that asks nothing gives its place to the next one
UNREAD_BYTES = 1 << 20  # a subscriber that lets more than this lie is cut off
FAREWELL_S = 0.5  # s to hand out the last answers at the end
_USAGE = 2  # exit code of errors.UsageRefused
_BUSY = 5  # exit code of errors.StoreRefused


def refusal(error: str, exit_code: int) -> dict[str, Any]:
    """The answer to a request that cannot be obeyed."""
    return {"ok": False, "error": error, "exit": exit_code}


class PendingRequest:
    """What somebody asked for. `reply` once, from any thread; later replies go nowhere."""

    def __init__(self, server: ControlServer, client: _Client, message: dict[str, Any]) -> None:
        self.do = str(message.pop("do"))
        self.arguments = message
        self._server = server
        self._client = client
        self._answered = False

    def reply(self, answer: Mapping[str, Any]) -> None:
        """Send the answer, `refusal(...)` or {"ok": true, ...}; an asker that has gone is no error."""
        if not self._answered:
            self._answered = True
            self._server._post(self._client, answer)


class RequestQueue(Protocol):
    """Where requests go: a `queue.SimpleQueue`, or anything with its `put`."""

    def put(self, item: PendingRequest, /) -> object:
        """Take a request; called from the server's thread."""


class _Client:
    """One connection: what it has sent, what it has yet to take."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.received = bytearray()
        self.unsent = bytearray()
        self.busy = False  # a request of its waits for an answer
        self.listens = False
        self.since = time.monotonic()  # of its last whole line or answer


class ControlServer:
    """Listens from `start` to `close` in a thread of its own; the tournament's lock must be held."""

    def __init__(self, path: Path, inbox: RequestQueue) -> None:
        self.inbox = inbox
        self.path = path
        self._outgoing: SimpleQueue[tuple[_Client | None, bytes]] = SimpleQueue()
        self._clients: set[_Client] = set()
        self.listeners = 0  # who subscribed; without one nothing need be published
        self._selector = selectors.DefaultSelector()
        self._closing = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Bind and listen; StorageFailed if no place for a socket will do. `path` is then where it lies."""
        self._listener = self._bind()
        self._wake_in, self._wake_out = socket.socketpair()
        for end in (self._wake_in, self._wake_out):
            end.settimeout(0)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._wake_in, selectors.EVENT_READ, self._drain_wakes)
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Hand out the last answers, hang up, remove the socket."""
        if self._thread is None:
            return
        self._closing = True
        self._wake()
        self._thread.join(FAREWELL_S + PATIENCE_S)
        self._thread = None
        with contextlib.suppress(OSError):
            if self.path.lstat().st_ino == self._inode:
                self.path.unlink()

    def __enter__(self) -> ControlServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def publish(self, event: Mapping[str, Any]) -> None:
        """Tell every subscriber; never waits for one."""
        self._post(None, event)

    def _post(self, client: _Client | None, message: Mapping[str, Any]) -> None:
        if self._thread is None:
            return  # nobody can be listening
        self._outgoing.put((client, encode_message(message)))
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError, OSError):  # full: it will wake anyway; closed: nobody to wake
            self._wake_out.send(b"w")

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
                        continue  # somebody's file is not ours to remove
                    place.unlink()  # left by a run that was killed: the lock is ours now
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
        why = trouble.strerror if trouble else "no folder for it is ours"
        step = "set XDG_RUNTIME_DIR to a folder of yours"
        raise StorageFailed(f"the control socket cannot be made ({why})", place=str(self.path), step=step)

    def _serve(self) -> None:
        block_ending_signals()
        farewell = 0.0
        try:
            while not farewell or (time.monotonic() < farewell and any(client.unsent for client in self._clients)):
                for key, events in self._selector.select(0.05 if farewell else 1.0):
                    key.data(events)
                closing = self._closing  # read before the queue: what was posted before `close` goes out
                self._hand_out()
                self._cut_off_the_slow()
                if closing and not farewell:
                    farewell = time.monotonic() + FAREWELL_S
        finally:
            for client in list(self._clients):
                self._drop(client)
            self._listener.close()
            self._selector.close()
            self._wake_in.close()
            self._wake_out.close()

    def _drain_wakes(self, _: int) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._wake_in.recv(4096):
                pass

    def _accept(self, _: int) -> None:
        try:
            connection, _address = self._listener.accept()
        except OSError:  # gone again, or no descriptor left: the next look finds it
            return
        connection.settimeout(0)
        trouble = peer_trouble(connection)
        if trouble:
            with contextlib.suppress(OSError):
                connection.send(
                    encode_message(refusal(f"the running tournament rejects this program: {trouble}", _BUSY))
                )
        if not trouble and len(self._clients) >= MOST_CLIENTS:
            self._make_room()
        if trouble or len(self._clients) >= MOST_CLIENTS:
            connection.close()
            return
        client = _Client(connection)
        self._clients.add(client)
        self._selector.register(connection, selectors.EVENT_READ, lambda events: self._attend(client, events))

    def _make_room(self) -> None:
        """Drop the client that owes a request for the longest time; those that have an answer to take come last."""
        silent = [one for one in self._clients if not one.busy and not one.listens]
        if silent:
            self._drop(min(silent, key=lambda one: (bool(one.unsent), one.since)))

    def _attend(self, client: _Client, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._send(client)
        if events & selectors.EVENT_READ and client in self._clients:
            self._receive(client)

    def _receive(self, client: _Client) -> None:
        try:
            data = client.socket.recv(LONGEST_REQUEST)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(client)
            return
        if client.listens:
            return  # it has nothing more to say
        client.received += data
        self._take_line(client)

    def _take_line(self, client: _Client) -> None:
        """One request at a time for each client: the next line waits for the answer."""
        if client.busy or client.listens:
            if len(client.received) > 2 * LONGEST_REQUEST:
                self._drop(client)
            return
        line, end, rest = client.received.partition(b"\n")
        if len(line) > LONGEST_REQUEST:
            self._turn_away(client, "a request is one line of at most 64 KiB")
        elif end:
            client.received = rest
            client.since = time.monotonic()
            self._obey(client, line)

    def _obey(self, client: _Client, line: bytearray) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict) or not isinstance(message.get("do"), str):
            self._turn_away(client, 'a request is a JSON object with "do"')
        elif message["do"] == "subscribe" and self.listeners >= MOST_LISTENERS:
            self._turn_away(client, f"{MOST_LISTENERS} programs listen to this tournament already", _BUSY)
        elif message["do"] == "subscribe":
            client.listens = True
            self.listeners += 1
            self._queue(client, encode_message({"ok": True}))
        else:
            client.busy = True
            self.inbox.put(PendingRequest(self, client, message))

    def _turn_away(self, client: _Client, why: str, exit_code: int = _USAGE) -> None:
        self._queue(client, encode_message(refusal(why, exit_code)))
        self._drop(client)

    def _hand_out(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                client, line = self._outgoing.get_nowait()
                if client is None:
                    for listener in [one for one in self._clients if one.listens]:
                        self._queue(listener, line)
                elif client in self._clients:
                    client.busy = False
                    client.since = time.monotonic()
                    self._queue(client, line)
                    if client in self._clients:
                        self._take_line(client)

    def _queue(self, client: _Client, line: bytes) -> None:
        if client.listens and len(client.unsent) + len(line) > UNREAD_BYTES:
            self._drop(client)
            return
        client.unsent += line
        self._send(client)

    def _send(self, client: _Client) -> None:
        try:
            while client.unsent:
                del client.unsent[: client.socket.send(client.unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(client)
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.unsent else 0)
        key = self._selector.get_key(client.socket)
        if key.events != wanted:
            self._selector.modify(client.socket, wanted, key.data)

    def _cut_off_the_slow(self) -> None:
        now = time.monotonic()
        for client in list(self._clients):
            if not client.busy and not client.listens and now - client.since > PATIENCE_S:
                self._drop(client)

    def _drop(self, client: _Client) -> None:
        if client in self._clients:
            self._clients.remove(client)
            self.listeners -= client.listens
            self._selector.unregister(client.socket)
            client.socket.close()
