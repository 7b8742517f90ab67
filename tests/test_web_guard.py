"""Who may have a page of the live page's server, and what goes with every answer."""

from __future__ import annotations

import pytest

from enginetour.web.server import HEADERS, POLICY, Guard, Message, Receive, Scope, Send
from tests.asgi import ask, looped

TOKEN = "correct-horse-battery"


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    await send({"type": "http.response.body", "body": scope["path"].encode()})


class Failures(list[Exception]):
    """What the guard told of failures."""


def guard(*hosts: str, token: str = "", app: object = page, failed: Failures | None = None) -> Guard:
    heard = Failures() if failed is None else failed
    return Guard(app, hosts=hosts, token=token, failed=heard.append)  # type: ignore[arg-type]


def test_every_answer_has_the_headers_of_a_strict_page() -> None:
    """Policy without inline anything, no sniffing, no referrer, no frame around it: on pages and on refusals alike."""
    for answer in (ask(guard(), "/"), ask(guard(), "/", "POST"), ask(guard(), "/", host="evil.example")):
        for name, value in HEADERS:
            assert answer.headers[name.decode()] == value.decode()
    assert "unsafe" not in POLICY
    assert "frame-ancestors 'none'" in POLICY
    assert ask(guard(), "/a").body == b"/a"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_pages_are_only_read(method: str) -> None:
    """Whatever is not GET or HEAD is 405 and says what is allowed."""
    answer = ask(guard(), "/", method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


FOREIGN = ("evil.example", "evil.example:8390", "localhost.evil.example", "127.0.0.1.evil.example", "a@localhost", "")


@pytest.mark.parametrize("host", [*FOREIGN, "[::1", "localhost:", "localhost:x", "localhost/", None])
def test_a_name_that_is_not_ours_gets_nothing(host: str | None) -> None:
    """DNS rebinding: another's name that leads to this machine is refused, and so is a request without a name."""
    assert ask(guard(), "/", host=host).status == 403


@pytest.mark.parametrize("host", ["localhost", "localhost:9000", "127.0.0.1:8390", "[::1]:8390", "LOCALHOST:8390"])
def test_our_names_at_any_port(host: str) -> None:
    """A forwarded port has another number."""
    assert ask(guard(), "/", host=host).status == 200


def test_names_that_were_told_and_the_address_of_the_connection() -> None:
    """`--allow-host`, and the very address at which a connection arrived."""
    assert ask(guard("Lab.example"), "/", host="lab.example").status == 200
    assert ask(guard(), "/", host="127.0.0.1").status == 200
    assert ask(guard(), "/", host="10.0.0.7").status == 403


def test_two_host_headers_are_none() -> None:
    """Who would be believed?"""
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
    """A foreign Origin, or a request that a foreign page makes for itself; a link from there is a link."""
    assert ask(guard(), "/", **headers).status == status


def test_the_token_comes_once_and_then_as_a_cookie() -> None:
    """Without it nothing; with it in the address a redirect to the address without it; then its cookie opens all."""
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
    """No cookie either."""
    answer = ask(guard(token=TOKEN), f"/?{query}")
    assert answer.status == 401
    assert "set-cookie" not in answer.headers


def test_a_redirect_stays_here() -> None:
    """An address of two slashes is no other host after the redirect."""
    assert ask(guard(token=TOKEN), f"//evil.example/?token={TOKEN}").headers["location"] == "/evil.example/"


def test_a_failure_of_ours_is_one_sentence() -> None:
    """The browser hears no word of the exception; we hear all."""

    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("/home/somebody/secret")

    heard = Failures()
    answer = ask(guard(app=broken, failed=heard), "/")
    assert answer.status == 500
    assert b"secret" not in answer.body
    assert b"ValueError" not in answer.body
    assert str(heard[0]) == "/home/somebody/secret"


def test_a_failure_in_mid_answer_adds_nothing() -> None:
    """What has begun is not begun again."""

    async def half(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError("later")

    heard = Failures()
    answer = ask(guard(app=half, failed=heard), "/")
    assert (answer.status, answer.body, len(heard)) == (200, b"", 1)


def test_a_web_socket_is_not_answered() -> None:
    """There is none."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    looped(guard()({"type": "websocket"}, receive, send))
    assert sent == []
