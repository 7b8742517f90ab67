"""The server of the live page: its socket, its limits and its access checks.

The server answers GET and HEAD requests with a known Host and without a foreign Origin. If a token is set, they must
also contain the token: once in the address (`?token=`), afterwards as a cookie that is derived from it. A program can
send it in each request as `Authorization: Bearer TOKEN`. The token is compared in constant time and never stored.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from types import FrameType
from urllib.parse import parse_qsl, urlencode

import uvicorn
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from enginetour.model.errors import UsageRefused
from enginetour.reports.sheet import json_text
from enginetour.web import API_PREFIX
from enginetour.web.hub import TournamentHub

# Access checks and security headers (reliability spec 5).

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_COOKIE = "enginetour"
_HOST = re.compile(r"(?:(?P<name>[A-Za-z0-9._-]+)|\[(?P<six>[0-9A-Fa-f:.]+)\])(?::[0-9]{1,5})?")  # RFC 9110, 7.2
_CHECKED = (b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"authorization", b"cookie")
MIN_TOKEN_LENGTH = 16  # characters; they have at least 80 bits in a token made by `--token new`
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)


class _RequestRefused(Exception):
    """An answer instead of a page: status, sentence and additional headers."""

    def __init__(self, status: HTTPStatus, text: str, **headers: str) -> None:
        super().__init__(text)
        self.status, self.headers = status, {name.replace("_", "-"): value for name, value in headers.items()}

    def answer(self, scope: Scope) -> Response:
        return failure(str(self), self.status, self.headers, document=scope["path"].startswith(f"{API_PREFIX}/"))


def failure(text: str, status: int, headers: Mapping[str, str] | None = None, *, document: bool) -> Response:
    """Return an answer of one line: a JSON document for programs, otherwise plain text."""
    headers = {"cache-control": "no-store", **(headers or {})}
    if document:
        return Response(f"{json_text({'error': ' '.join(text.split())})}\n", status, headers, "application/json")
    return PlainTextResponse(f"{text}\n", status, headers)


class RequestGuard:
    """An ASGI application that checks requests to another application.

    `hosts` are additional host names; upper and lower case are the same.
    """

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str], token: str, failed: Callable[[Exception], None]) -> None:
        self._app = app
        self._hosts = _LOOPBACK | {host.lower() for host in hosts}
        self._token = token
        self._cookie = hmac.new(token.encode(), b"the live page of enginetour", hashlib.sha256).hexdigest()
        self._failed = failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an allowed request on, otherwise answer it. The browser gets one sentence about an internal error."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # web sockets are closed
        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": [*message.get("headers", ()), *SECURITY_HEADERS]}
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, receive, guarded)
        except _RequestRefused as refused:
            await refused.answer(scope)(scope, receive, guarded)
        except Exception as error:
            self._failed(error)
            if not begun:
                text = "internal error: see the output of enginetour serve"
                answer = _RequestRefused(HTTPStatus.INTERNAL_SERVER_ERROR, text).answer(scope)
                await answer(scope, receive, guarded)

    def _check(self, scope: Scope) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise _RequestRefused(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are allowed", allow="GET, HEAD")
        headers: dict[bytes, list[str]] = {name: [] for name in _CHECKED}
        for name, value in scope["headers"]:
            if (name := name.lower()) in headers:
                headers[name].append(value.decode("latin-1"))
        hosts = headers[b"host"]
        if len(hosts) != 1 or not self._is_known(_host_of(hosts[0]), scope):
            raise _RequestRefused(HTTPStatus.FORBIDDEN, "unknown host name. Hint: allow it with --allow-host NAME")
        for origin in headers[b"origin"]:
            if origin.lower().partition("://")[2] != hosts[0].lower():
                raise _RequestRefused(HTTPStatus.FORBIDDEN, "requests from other sites are not allowed")
        if headers[b"sec-fetch-site"][:1] == ["cross-site"] and headers[b"sec-fetch-mode"] != ["navigate"]:
            raise _RequestRefused(HTTPStatus.FORBIDDEN, "requests from other sites are not allowed")
        if self._token and not self._has_token(headers[b"authorization"]):
            self._check_token(scope, headers[b"cookie"])

    def _is_known(self, host: str, scope: Scope) -> bool:
        """Return whether a host is a known name, or the address to which the client connected."""
        here = scope.get("server")
        return host in self._hosts or (here is not None and host == str(here[0]).lower())

    def _has_token(self, credentials: list[str]) -> bool:
        """Return whether a program has sent the token (RFC 6750, 2.1)."""
        given = [
            value for scheme, _, value in (one.partition(" ") for one in credentials) if scheme.lower() == "bearer"
        ]
        return len(given) == 1 and hmac.compare_digest(given[0].strip().encode(), self._token.encode())

    def _check_token(self, scope: Scope, cookies: list[str]) -> None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if given:
            if not hmac.compare_digest(given[-1].encode(), self._token.encode()):
                raise _RequestRefused(HTTPStatus.UNAUTHORIZED, "the token is not valid")
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            path = scope["raw_path"].decode("latin-1") if scope.get("raw_path") else "/"
            where = "/" + path.lstrip("/") + (f"?{rest}" if rest else "")
            cookie = f"{_COOKIE}={self._cookie}; Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000"
            raise _RequestRefused(HTTPStatus.SEE_OTHER, "token accepted", location=where, set_cookie=cookie)
        for line in cookies:
            try:
                found = SimpleCookie(line).get(_COOKIE)
            except CookieError:
                continue
            if found is not None and hmac.compare_digest(found.value.encode(), self._cookie.encode()):
                return
        raise _RequestRefused(
            HTTPStatus.UNAUTHORIZED, "this page needs a token. Hint: add ?token=TOKEN to its address once"
        )


def _host_of(header: str) -> str:
    """Return the name in a Host header in lower case, without the port, or "" if the header is not valid."""
    found = _HOST.fullmatch(header)
    return (found["name"] or found["six"]).lower() if found else ""


# Socket and limits.

MAX_CONNECTIONS = 256  # limits file descriptors and memory; each open page has one connection
_REQUEST_TIMEOUT_S = 10.0  # seconds until the end of the first request, and of a request that has started
_IDLE_TIMEOUT_S = 5  # seconds between two requests of one connection
_LONGEST_HEAD = 16 << 10  # bytes of the head of a request
_UNREAD_MS = 30_000  # milliseconds until unread data closes a connection: tcp(7), TCP_USER_TIMEOUT
_MOST_UNREAD = 64 << 20  # bytes of answers that clients have not read yet
_BACKLOG = 64
_SHUTDOWN_S = 2  # seconds for pending answers at the end


class _TimedConnection(HttpToolsProtocol):
    """A connection with limits.

    It is closed if its request takes too long or is too long, if a new connection needs its place, or if its answer is
    not read and takes too much memory.
    """

    _due: asyncio.TimerHandle | None = None
    _since = 0.0  # time of its start or last answer, by the clock of the loop
    _head = 0  # bytes of a request whose head has not ended

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection. If there are too many, the one that has waited longest without a request is closed."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._due = self.loop.call_later(_REQUEST_TIMEOUT_S, transport.abort)
        if len(self.connections) > MAX_CONNECTIONS:
            idle = (one for one in self._all() if one.rank is not None)
            min(idle, key=lambda one: one.rank or ()).make_room()  # the new connection is one of them

    def _all(self) -> Iterator[_TimedConnection]:
        return (one for one in self.connections if isinstance(one, _TimedConnection))

    @property
    def rank(self) -> tuple[bool, float] | None:
        """The sort key for closing connections, lowest first, or None while a request is being answered.

        Connections without a request are closed before connections that have not read their whole answer.
        """
        if self.cycle is not None and not self.cycle.response_complete:
            return None
        return self.unread > 0, self._since

    @property
    def unread(self) -> int:
        """The number of bytes that the client has not read and that the kernel does not take."""
        return self.transport.get_write_buffer_size()

    def make_room(self) -> None:
        """Close the connection at once."""
        self.connections.discard(self)
        self.transport.abort()

    def on_response_complete(self) -> None:
        """Note the time. If unread answers take too much memory, close the connections with the largest ones."""
        self._since = self.loop.time()
        super().on_response_complete()
        if self.unread:
            others = sorted((one for one in self._all() if one is not self), key=lambda one: one.unread)
            while others and self.unread + sum(one.unread for one in others) > _MOST_UNREAD:
                others.pop().make_room()

    def data_received(self, data: bytes) -> None:
        """Stop the timeout at the end of the head of a request, and limit its length."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._head = 0
            if self._due is not None:
                self._due.cancel()
                self._due = None
        elif (before is None or before.response_complete) and not self.transport.is_closing():
            self._head += len(data)
            if self._head > _LONGEST_HEAD:
                self.send_400_response("the request is too long")
            elif self._due is None:
                self._due = self.loop.call_later(_REQUEST_TIMEOUT_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._due is not None:
            self._due.cancel()
        super().connection_lost(exc)


class Server(uvicorn.Server):
    """A server that closes its event streams before it stops."""

    def __init__(self, config: uvicorn.Config, hub: TournamentHub) -> None:
        super().__init__(config)
        self._hub = hub

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Close all streams after a signal."""
        self._hub.close()
        super().handle_exit(sig, frame)


def open_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raise UsageRefused if the address cannot be used."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        made = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        step = "choose another --port (0 selects a free port) or another --host"
        raise UsageRefused(f"cannot listen on this address ({why})", place=f"{host}:{port}", step=step) from None
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MS)
    # Accepted connections inherit it. Without it, an answer of two parts waits 40 ms for an acknowledgement: tcp(7).
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine can connect."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def server_config(app: ASGIApp) -> uvicorn.Config:
    """Return the configuration of the server. Requests are not logged, because addresses can contain the token."""
    return uvicorn.Config(
        app,
        http=_TimedConnection,
        ws="none",
        lifespan="on",
        loop="asyncio",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_IDLE_TIMEOUT_S,
        timeout_graceful_shutdown=_SHUTDOWN_S,
        backlog=_BACKLOG,
    )


def serve(app: ASGIApp, hub: TournamentHub, listener: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM."""
    Server(server_config(app), hub).run(sockets=[listener])
