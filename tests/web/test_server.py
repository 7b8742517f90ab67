"""Tests of the server of the live page."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from http.cookiejar import CookieJar
from itertools import count
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, Request, build_opener, urlopen

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from enginetour.cli.main import COMMANDS
from enginetour.store.tournaments import Store, tournament_entries
from enginetour.web import API_PREFIX, app, hub, server
from enginetour.web.hub import TournamentHub
from enginetour.web.pages import DatabaseReader, ReportPages
from enginetour.web.server import CONTENT_SECURITY_POLICY, SECURITY_HEADERS, RequestGuard
from tests.support.databases import draft, game
from tests.support.network import (
    Answer,
    Stage,
    T,
    answered,
    ask,
    in_a_hub,
    looped,
    move,
    raised,
    scope_of,
    serving,
    start,
)
from tests.support.tournaments import LONG_S, tour

# Who may have a page of the live page's server, and what goes with every answer.

TOKEN = "correct-horse-battery"


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    await send({"type": "http.response.body", "body": scope["path"].encode()})


class Failures(list[Exception]):
    """What the guard told of failures."""


def guard(*hosts: str, token: str = "", app: object = page, failed: Failures | None = None) -> RequestGuard:
    heard = Failures() if failed is None else failed
    return RequestGuard(app, hosts=hosts, token=token, failed=heard.append)  # type: ignore[arg-type]


def test_every_answer_has_the_headers_of_a_strict_page() -> None:
    """All answers have the security headers, also rejections."""
    for answer in (ask(guard(), "/"), ask(guard(), "/", "POST"), ask(guard(), "/", host="evil.example")):
        for name, value in SECURITY_HEADERS:
            assert answer.headers[name.decode()] == value.decode()
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "frame-ancestors 'none'" in CONTENT_SECURITY_POLICY
    assert ask(guard(), "/a").body == b"/a"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_pages_are_only_read(method: str) -> None:
    """Methods other than GET and HEAD are answered with 405."""
    answer = ask(guard(), "/", method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


def test_a_program_gets_every_failure_as_a_document() -> None:
    """Below the path of the interface, the guard answers with JSON, as the interface does."""
    app = guard(token=TOKEN)
    path = f"{API_PREFIX}/tournaments"
    answers = [
        ask(app, path, "POST", content_type="text/plain"),
        ask(app, path, host="evil.example"),
        ask(app, path, origin="http://evil.example"),
        ask(app, path),
        ask(app, f"{path}?token=wrong"),
    ]
    assert [answer.status for answer in answers] == [405, 403, 403, 401, 401]
    assert answers[0].headers["allow"] == "GET, HEAD"
    for answer in answers:
        assert answer.headers["content-type"] == "application/json"
        assert json.loads(answer.body)["error"]
    assert ask(app, "/", "POST").headers["content-type"].startswith("text/plain")


FOREIGN = ("evil.example", "evil.example:8390", "localhost.evil.example", "127.0.0.1.evil.example", "a@localhost", "")


@pytest.mark.parametrize("host", [*FOREIGN, "[::1", "localhost:", "localhost:x", "localhost/", None])
def test_a_name_that_is_not_ours_gets_nothing(host: str | None) -> None:
    """Requests with an unknown Host or without a Host are rejected (DNS rebinding)."""
    assert ask(guard(), "/", host=host).status == 403


@pytest.mark.parametrize("host", ["localhost", "localhost:9000", "127.0.0.1:8390", "[::1]:8390", "LOCALHOST:8390"])
def test_our_names_at_any_port(host: str) -> None:
    """Known host names are accepted with any port."""
    assert ask(guard(), "/", host=host).status == 200


def test_names_that_were_told_and_the_address_of_the_connection() -> None:
    """Names of `--allow-host` and the address of the connection are accepted."""
    assert ask(guard("Lab.example"), "/", host="lab.example").status == 200
    assert ask(guard(), "/", host="127.0.0.1").status == 200
    assert ask(guard(), "/", host="10.0.0.7").status == 403


def test_two_host_headers_are_none() -> None:
    """A request with two Host headers is rejected."""
    assert ask(guard(), "/", host="localhost", Host="evil.example").status == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://localhost:8390"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost:9999"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://[::1"}, 403),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"}, 403),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}, 200),
        ({"sec_fetch_site": "same-origin", "sec_fetch_mode": "cors"}, 200),
    ],
)
def test_pages_of_others_read_nothing(headers: dict[str, str], status: int) -> None:
    """Requests of other sites are rejected, but links from there work."""
    assert ask(guard(), "/", **headers).status == status


def test_the_token_comes_once_and_then_as_a_cookie() -> None:
    """The token in the address is replaced by a cookie and a redirect."""
    app = guard(token=TOKEN)
    assert ask(app, "/t/x/").status == 401
    answer = ask(app, f"/t/x/?token={TOKEN}&part=2")
    assert (answer.status, answer.headers["location"]) == (303, "/t/x/?part=2")
    cookie, *marks = answer.headers["set-cookie"].split("; ")
    assert TOKEN not in answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(marks)
    assert ask(app, "/t/x/", cookie=f"other=1; {cookie}").body == b"/t/x/"
    for wrong in (cookie[:-1], f"{cookie}0", "enginetour=", "enginetour", f"enginetour={TOKEN}", "a=\u00e4; ="):
        assert ask(app, "/", cookie=wrong).status == 401, wrong


@pytest.mark.parametrize("query", ["token=", "token=wrong", f"token={TOKEN}x", "token=%ff%00", f"TOKEN={TOKEN}"])
def test_a_wrong_token_opens_nothing(query: str) -> None:
    """A wrong token does not give access or a cookie."""
    answer = ask(guard(token=TOKEN), f"/?{query}")
    assert answer.status == 401
    assert "set-cookie" not in answer.headers


def test_a_redirect_stays_here() -> None:
    """A redirect does not lead to another host."""
    assert ask(guard(token=TOKEN), f"//evil.example/?token={TOKEN}").headers["location"] == "/evil.example/"


def test_a_failure_of_ours_is_one_sentence() -> None:
    """The browser gets one sentence about an internal error without the exception."""

    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("/home/somebody/secret")

    heard = Failures()
    answer = ask(guard(app=broken, failed=heard), "/")
    assert answer.status == 500
    assert b"secret" not in answer.body
    assert b"ValueError" not in answer.body
    assert str(heard[0]) == "/home/somebody/secret"


def test_a_failure_in_mid_answer_adds_nothing() -> None:
    """A failure during an answer does not start a second one."""

    async def half(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError("later")

    heard = Failures()
    answer = ask(guard(app=half, failed=heard), "/")
    assert (answer.status, answer.body, len(heard)) == (200, b"", 1)


def test_a_web_socket_is_not_answered() -> None:
    """Web sockets are closed."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    looped(guard()({"type": "websocket"}, receive, send))
    assert sent == []


# The live page's server as a process: addresses, refusals, limits.


def asked(stage: Stage, *paths: str) -> list[Answer]:
    """Answers of the application itself, in one life of it."""

    async def scene(_: TournamentHub, app: ASGIApp) -> list[Answer]:
        return [await answered(app, scope_of(path)) for path in paths]

    return in_a_hub(stage.database, scene)


def test_addresses(stage: Stage) -> None:
    """The index, the live page, the pages of the report, the games and the assets are served."""
    stage.record(game())
    found = asked(stage, "/", "/t/autumn/", "/t/autumn/live.html", "/t/autumn/index.html", "/t/autumn/games/1.html")
    assert [answer.status for answer in found] == [200, 307, 200, 200, 200]
    assert found[1].headers["location"] == "/t/autumn/index.html"
    assert b"Fruit" in found[2].body
    names = set(re.findall(r"(?:href|src)=\"(/[^\"#]+)\"", "".join(answer.body.decode() for answer in found)))
    names = {name for name in names if "../" not in name}
    assert {answer.status for answer in asked(stage, *sorted(names))} <= {200, 307}, names


NOWHERE = (
    *("/t/none/live.html", "/t/autumn/none.html", "/t/autumn/%00", "/t//", "/etc/passwd", "//etc/passwd"),
    *("/t/autumn/games/2.html", "/t/autumn/games/x.html", "/t/autumn/games/1", "/t/autumn/games/-1.html"),
    *("/t/autumn/games/99999999999999999999.html", "/t/autumn/games/\u0661.html", "/t/autumn/engines/../index.html"),
    *("/assets/../app.py", "/assets/page.py", "/t/autumn/assets/..%2f..%2fpage.py", "/t/autumn/../../../../etc/passwd"),
)


@pytest.mark.parametrize("path", NOWHERE)
def test_there_is_nothing_else(stage: Stage, path: str) -> None:
    """Other paths are not found."""
    stage.record(game())
    assert [answer.status for answer in asked(stage, path)] == [404]


def test_what_the_browser_has_is_not_sent_again(stage: Stage) -> None:
    """A request with the current ETag gets an empty answer."""

    async def scene(hub: TournamentHub, app: ASGIApp) -> list[int]:
        first = await answered(app, scope_of("/t/autumn/index.html"))
        again = scope_of("/t/autumn/index.html", if_none_match=first.headers["etag"])
        second = await answered(app, again)
        stage.record(game())
        hub.reader._pages._reviews.popitem()
        third = await answered(app, again)
        return [first.status, second.status, third.status, len(second.body)]

    assert in_a_hub(stage.database, scene) == [200, 304, 200, 0]


def test_a_page_is_made_once_for_a_position_of_the_log(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page is rendered again only after a change of the event log and the minimum time of its review."""
    monkeypatch.setattr("enginetour.web.pages.time", SimpleNamespace(monotonic=count(0.0, 1.0).__next__))
    with Store.open(stage.database, create=False, readonly=True) as store:
        pages = ReportPages(store)
        (entry,) = tournament_entries(store)
        first = pages.page(entry, "index.html")
        assert pages.page(entry, "index.html") is first
        stage.record(game())
        assert pages.page(entry, "index.html") is first, "made a moment ago: it serves for ten times the time it took"
        next(iter(pages._reviews.values())).until = 0.0
        assert pages.page(entry, "index.html") != first


def test_only_so_many_pages_at_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream above the limit is asked to try again later."""
    monkeypatch.setattr(app, "MAX_STREAMS", 0)
    (answer,) = asked(stage, "/t/autumn/events")
    assert (answer.status, answer.headers["retry-after"]) == (503, "10")


def test_it_follows_a_run_from_process_to_process(stage: Stage) -> None:
    """`serve` follows a run in another process, and SIGTERM ends it while a stream is open."""
    stage.playing = [start()]  # before the server starts, which may connect to the run before the first request
    with (
        stage.running(),
        serving(stage.database.parents[1]) as (url, process),
        urlopen(f"{url}/t/autumn/events", timeout=60) as stream,
    ):
        lines = (line.decode() for line in stream)
        whole = next(line for line in lines if line.startswith("data:") and '"running":true' in line)
        assert list(json.loads(whole[5:])["games"]) == ["0"]
        stage.tell("move", **move(1))
        board = next(line for line in lines if line.startswith("data:") and '"placement"' in line and '"slot"' in line)
        assert json.loads(board[5:])["ply"] == 1
        process.send(signal.SIGTERM)
        assert process.wait(LONG_S) in (-signal.SIGTERM, 143)


def test_the_whole_way_in_with_a_token(stage: Stage) -> None:
    """`--host 0.0.0.0 --token` needs the token, then accepts the cookie, and rejects other host names."""
    folder, token = stage.database.parents[1], "0123456789abcdef"
    with serving(folder, "--host", "0.0.0.0", "--token", token) as (url, _):
        port = url.rpartition(":")[2]
        home = f"http://127.0.0.1:{port}"
        assert refused(f"{home}/") == 401
        opener = build_opener(HTTPCookieProcessor(CookieJar()))
        with opener.open(f"{home}/?token={token}", timeout=60) as page:
            assert page.status == 200
            assert token not in page.url
        assert refused(Request(f"{home}/", headers={"Host": "evil.example"})) == 403


def refused(request: str | Request) -> int:
    """The status of a refusal."""
    with pytest.raises(HTTPError) as error:
        urlopen(request, timeout=60)
    error.value.close()
    return error.value.code


def in_a_server(stage: Stage, scene: Callable[[int], T]) -> T:
    """What `scene` saw, in a thread beside a server of ours at that port."""
    reader = DatabaseReader(stage.database)
    hub = TournamentHub(reader, print, raised)

    async def serve(listener: socket.socket) -> T:
        made = server.Server(server.server_config(app.create_app(hub, reader)), hub)
        task = asyncio.create_task(made.serve(sockets=[listener]))
        seen = await asyncio.to_thread(scene, listener.getsockname()[1])
        made.should_exit = True
        await task
        return seen

    with server.open_socket("127.0.0.1", 0) as listener:
        return looped(serve(listener))


def connected(stack: ExitStack, port: int) -> socket.socket:
    return stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))


HEAD = b"GET /favicon.ico HTTP/1.1\r\nHost: localhost\r\n"


def stays_open(connection: socket.socket) -> bool:
    """Nothing came, and no end either. What the server closed before its last answer has arrived here: loopback."""
    connection.setblocking(False)
    with suppress(BlockingIOError):
        return bool(connection.recv(1))
    return True


def test_silent_connections_give_their_places_to_others(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """300 connections without a request do not prevent another one from being served."""
    monkeypatch.setattr(server, "_REQUEST_TIMEOUT_S", 3600.0)

    def scene(port: int) -> tuple[list[bytes], list[bool]]:
        with ExitStack() as stack:
            silent, answers = [], []
            for _ in range(6):  # fewer at a time than the kernel keeps waiting
                silent += [connected(stack, port) for _ in range(50)]
                for slow in silent[-20::2]:
                    slow.sendall(HEAD)
                asks = connected(stack, port)
                asks.sendall(HEAD + b"\r\n")
                answers.append(asks.recv(100)[:12])
            return answers, [stays_open(one) for one in silent]

    answers, stay = in_a_server(stage, scene)
    assert answers == [b"HTTP/1.1 204"] * 6
    assert stay.count(True) >= server.MAX_CONNECTIONS - 6
    assert stay == sorted(stay), "the oldest go"


def test_a_byte_now_and_then_keeps_no_place(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that sends bytes slowly does not keep its place."""
    monkeypatch.setattr(server, "_REQUEST_TIMEOUT_S", 3600.0)
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 2)

    def scene(port: int) -> tuple[bytes, bytes]:
        with ExitStack() as stack:
            slow = connected(stack, port)
            slow.sendall(HEAD)
            connected(stack, port)
            slow.sendall(b"X")
            asks = connected(stack, port)
            asks.sendall(HEAD + b"\r\n")
            return asks.recv(100)[:12], ended(slow)

    assert in_a_server(stage, scene) == (b"HTTP/1.1 204", b"")


def ended(connection: socket.socket) -> bytes:
    """What came before the other end closed it, in order or not."""
    with suppress(ConnectionResetError):
        return connection.recv(100)
    return b""


def test_who_has_asked_keeps_the_place(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Event streams are not closed for other connections; idle connections are."""
    monkeypatch.setattr(server, "_REQUEST_TIMEOUT_S", 3600.0)
    monkeypatch.setattr(server, "_IDLE_TIMEOUT_S", 3600)
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 4)

    def scene(port: int) -> list[bool | bytes]:
        with ExitStack() as stack:
            streams = [connected(stack, port) for _ in range(2)]
            for stream in streams:
                stream.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert stream.recv(100)[:12] == b"HTTP/1.1 200"
            idle = connected(stack, port)
            idle.sendall(HEAD + b"\r\n")
            answer = idle.recv(1000)[:12]
            for _ in range(8):
                connected(stack, port)
            gone = ended(idle)
            asks = connected(stack, port)
            asks.sendall(HEAD + b"\r\n")
            return [answer, gone, asks.recv(100)[:12], *(stays_open(stream) for stream in streams)]

    assert in_a_server(stage, scene) == [b"HTTP/1.1 204", b"", b"HTTP/1.1 204", True, True]


def test_where_all_are_being_answered_the_next_one_is_closed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """If all connections are being answered, a new one is closed."""
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 1)

    def scene(port: int) -> tuple[bytes, bool]:
        with ExitStack() as stack:
            stream = connected(stack, port)
            stream.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert stream.recv(100)[:12] == b"HTTP/1.1 200"
            return ended(connected(stack, port)), stays_open(stream)

    assert in_a_server(stage, scene) == (b"", True)


def test_a_connection_must_come_to_its_request(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections whose request does not arrive in time are closed."""
    monkeypatch.setattr(server, "_REQUEST_TIMEOUT_S", 1.0)

    def scene(port: int) -> list[bytes]:
        with ExitStack() as stack:
            silent, halting, twice = (connected(stack, port) for _ in range(3))
            halting.sendall(HEAD)
            twice.sendall(HEAD + b"\r\n")
            answer = twice.recv(1000)[:12]
            twice.sendall(HEAD)
            return [answer, silent.recv(100), halting.recv(100), twice.recv(100)]

    assert in_a_server(stage, scene) == [b"HTTP/1.1 204", b"", b"", b""]


def test_a_request_without_an_end_is_closed(stage: Stage) -> None:
    """A head that is too long, a request that is not HTTP, and bytes after a request get an answer and an end."""

    def scene(port: int) -> list[bytes]:
        answers = []
        for first, more in (
            (b"GET /x HTTP/1.1\r\nHost: localhost\r\nX: ", b"y" * 40_000),
            (b"GET /" + b"x" * 20_000, b""),
            (b"\x16\x03\x01\x02", b""),
            (b"GET /favicon.ico HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n", b"y" * 40_000),
        ):
            with ExitStack() as stack:
                one = connected(stack, port)
                one.sendall(first)
                if first.endswith(b"\n"):
                    answers.append(one.recv(1000)[:12])
                with suppress(ConnectionError):
                    one.sendall(more)
                answers.append(ended(one)[:12])
        return answers

    bad = b"HTTP/1.1 400"
    assert in_a_server(stage, scene) == [bad, bad, bad, b"HTTP/1.1 204", bad]


LARGE = 16 << 20  # of which the kernel takes 4 MB at most


def with_large(real: Callable[..., ASGIApp]) -> Callable[..., ASGIApp]:
    """Make the application with an additional path, whose answer is large."""

    def made(*parts: object) -> ASGIApp:
        rest = real(*parts)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope.get("path") == "/large":
                await send(
                    {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % LARGE)]}
                )
                await send({"type": "http.response.body", "body": bytes(LARGE)})
            else:
                await rest(scope, receive, send)

        return answer

    return made


def unread(stack: ExitStack, port: int, path: str) -> socket.socket:
    """A connection whose client has read the first bytes of an answer and reads no more."""
    one = stack.enter_context(socket.socket())
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.connect(("127.0.0.1", port))
    one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert one.recv(12) == b"HTTP/1.1 200"
    return one


def test_answers_that_nobody_reads_take_limited_memory(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """If unread answers take too much memory, the largest of them are cut off, except the newest one."""
    monkeypatch.setattr(server, "_MOST_UNREAD", LARGE + LARGE // 4)
    monkeypatch.setattr(app, "create_app", with_large(app.create_app))

    def scene(port: int) -> list[bool]:
        with ExitStack() as stack:
            return [len(_rest(one)) >= LARGE for one in [unread(stack, port, "/large") for _ in range(4)]]

    assert in_a_server(stage, scene) == [False, False, False, True]


def _rest(connection: socket.socket) -> bytes:
    found = bytearray()
    with suppress(ConnectionResetError):
        while len(found) < LARGE and (more := connection.recv(1 << 20)):
            found += more
    return bytes(found)


def test_clients_that_do_not_read_delay_nobody(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """While two streams and a document are not read, another stream gets every event of a run, and others answers."""
    monkeypatch.setattr(hub, "_POLL_S", 0.05)
    games = 1500  # more than the kernel keeps for the streams
    stage.record(game())

    def scene(port: int) -> tuple[bytes, bytes]:
        with ExitStack() as stack:
            stack.enter_context(stage.running())
            for path in ("/t/autumn/events", "/api/v1/tournaments/autumn/events", "/t/autumn/live.html"):
                unread(stack, port, path)
            reads = connected(stack, port)
            reads.sendall(b"GET /t/autumn/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            stream = reads.makefile("rb")
            next(line for line in stream if b'"running":true' in line)
            for number in range(2, games + 2):
                stage.tell("game", number=number, white="A", black="B", result="1-0", cause="x" * 1000)
                if number % 100 == 1:  # a run ends its connection to a server that is a megabyte behind
                    last = next(line for line in stream if b'"number":%d,' % number in line)
            asks = connected(stack, port)
            asks.sendall(b"GET /api/v1/tournaments/autumn/games/1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return last[:6], asks.recv(1000)[:12]

    assert in_a_server(stage, scene) == (b"data: ", b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--host", "0.0.0.0"], 2, "other machines can reach this address"),
        (["--token", "short"], 2, "must have at least 16 characters (found 5)"),
        (["--host", "203.0.113.7", "--token", "0123456789abcdef"], 2, "cannot listen on this address"),
        (["--db", "none.db"], 5, "database does not exist"),
    ],
)
def test_refusals_are_one_line(stage: Stage, words: list[str], code: int, said: str) -> None:
    """Usage errors of `serve` are one line with the next step."""
    told = tour(stage.database.parents[1], "serve", "--port", "0", *words, expect=code).stderr
    assert said in told
    assert told.count("\n") == 1


def test_a_port_in_use_is_told(stage: Stage) -> None:
    """A used port is reported, and the next step is another port."""
    with server.open_socket("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        told = tour(stage.database.parents[1], "serve", "--port", port, expect=2).stderr
    assert f"127.0.0.1:{port}: cannot listen on this address" in told


def test_without_the_extra_one_line_says_what_to_install(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the web extra, one line says what to install."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "uvicorn" else find(name))
    told = tour(stage.database.parents[1], "serve", expect=2).stderr
    assert "serve: uvicorn not found. Hint: run pip install 'enginetour[web]'." in told


def test_the_command_is_listed() -> None:
    """The command is listed in the help."""
    assert COMMANDS["serve"][0] == "Results"


def test_a_log_that_cannot_be_read_stops_nothing_else(stage: Stage) -> None:
    """A damaged event log is reported, and other tournaments are shown."""
    other = stage.store.create_tournament(draft("winter"))
    stage.record(game("Phalanx", "HoiChess", leg=9))  # no such game is on offer
    index, live, report, sound = asked(stage, "/", "/t/autumn/live.html", "/t/autumn/index.html", "/t/winter/live.html")
    assert b"the log does not match the tournament format" in index.body
    assert other.name.encode() in index.body
    assert (live.status, report.status, sound.status) == (503, 503, 200)
    assert str(stage.database).encode() not in live.body + report.body


def test_answers_are_sent_at_once() -> None:
    """Accepted connections do not wait for an acknowledgement of the first part of an answer."""
    with server.open_socket("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
