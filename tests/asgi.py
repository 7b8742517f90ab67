"""An ASGI application asked without a server: a request in, its whole answer out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette

from enginetour.web import app
from enginetour.web.hall import Hall, Library
from enginetour.web.server import App, Message, Scope

T = TypeVar("T")


def looped(scene: Coroutine[Any, Any, T]) -> T:
    """What comes of a coroutine, in a thread of its own: this one has a loop already where a browser was driven."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, scene).result()


def raised(error: Exception) -> None:
    """A failure of ours fails the test."""
    raise error


def in_a_hall(
    database: Path,
    scene: Callable[[Hall, Starlette], Coroutine[Any, Any, T]],
    tell: Callable[[str], None] = print,
    failed: Callable[[Exception], None] = raised,
) -> T:
    """What a scene saw of the application, with its hall open; `tell` and `failed` hear what the hall could not do."""

    async def play() -> T:
        library = Library(database)
        hall = Hall(library, tell, failed)
        await hall.open()
        try:
            return await scene(hall, app.site(hall, library))
        finally:
            hall.close()
            library.close()

    return looped(play())


@dataclass(frozen=True)
class Answer:
    """What came back; headers by their names in small letters."""

    status: int
    headers: dict[str, str]
    body: bytes


def scope_of(path: str, method: str = "GET", *, host: str | None = "localhost:8390", **headers: str) -> Scope:
    """A request as uvicorn hands it on; blanks in header names are underscores here."""
    target, _, query = path.partition("?")
    told = [(b"host", host.encode())] if host is not None else []
    told += [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {
        "type": "http",
        "method": method,
        "path": target,
        "raw_path": target.encode(),
        "query_string": query.encode(),
        "headers": told,
        "server": ("127.0.0.1", 8390),
        "scheme": "http",
        "root_path": "",
        "http_version": "1.1",
    }


async def answered(app: App, scope: Scope) -> Answer:
    """The answer to a request without a body."""
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:]))


def ask(app: App, path: str, method: str = "GET", *, host: str | None = "localhost:8390", **headers: str) -> Answer:
    """The same in a loop of its own."""
    return looped(answered(app, scope_of(path, method, host=host, **headers)))
