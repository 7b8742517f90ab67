"""The web application of the live page: its routes, and how server-sent events are framed.

address                        content
/                              the list of tournaments, running ones first
/events                        events for this list: sent at the start and after every change
/t/SLUG/                       redirects to the live page of a running tournament, otherwise to its report
/t/SLUG/live.html              boards, standings, bubble history and last games
/t/SLUG/events                 events for the live page: all, then board, table, progress, game-line, incident-line
/t/SLUG/assets/NAME            bundled style sheets and scripts
/t/SLUG/...                    the pages of the report, as `enginetour report` writes them
/api/v1/...                    documents for programs
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from enginetour.model.errors import TourError
from enginetour.reports.html import page
from enginetour.store.tables import TournamentEntry
from enginetour.web import API_PREFIX
from enginetour.web.hub import TournamentHub
from enginetour.web.live import UPDATE_INTERVAL_S, Listener
from enginetour.web.pages import DatabaseReader
from enginetour.web.server import failure

# The only files that are served: bundled style sheets and scripts, and the pieces of python-chess.

_MEDIA_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_LIVE_ASSETS = ("live.css", "events.js", "live.js", "tournaments.js")
_ASSETS = (*page.REPORT_ASSETS, *page.GAME_ASSETS, *_LIVE_ASSETS)


@cache
def _read_asset(name: str) -> bytes:
    return page.read_asset(name).encode()


# Event streams.

MAX_STREAMS = 128  # open pages; further ones are asked to try again later
_KEEP_ALIVE_S = 15.0  # seconds between comments, because proxies and browsers close idle connections
_RETRY_MS = 2000  # milliseconds until a page connects again


class _EventStream(Response):
    """The server-sent events of one listener, until the page or the server closes the stream."""

    def __init__(self, enter: Callable[[Listener], None], leave: Callable[[Listener], None]) -> None:
        super().__init__(media_type="text/event-stream")
        self._enter, self._leave = enter, leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send pending events. Events with little time between them are sent together."""
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        listener = Listener()
        gone = asyncio.create_task(_gone(receive, listener))
        try:
            await send(_piece(f"retry: {_RETRY_MS}\n\n".encode()))
            self._enter(listener)
            while not listener.closed:
                if frames := await listener.due(_KEEP_ALIVE_S):
                    await send(_piece(frames))
                    await asyncio.sleep(UPDATE_INTERVAL_S / 2)
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            self._leave(listener)


def _piece(body: bytes) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": True}


async def _gone(receive: Receive, listener: Listener) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    listener.close()


def create_app(hub: TournamentHub, reader: DatabaseReader) -> ASGIApp:
    """Return the application: the pages, and the HTTP interface below `/api/v1`.

    It opens the hub at its start, and closes the reader at its end. Requests to the HTTP interface do not pass through
    the application of the pages, which would take a third of the time of a request.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await hub.open()
        try:
            yield
        finally:
            hub.close()
            reader.close()

    def make_api() -> ASGIApp:
        from enginetour.web.api import Api

        return Api(hub, reader, site.stream)

    site, api = _Site(hub, reader), _LazyApi(make_api)
    pages = Starlette(
        routes=[
            Route("/", site.index),
            Route("/index.html", site.index),
            Route("/events", site.index_events),
            Route("/favicon.ico", _no_icon),
            Route("/assets/{name}", site.asset),
            Route("/t/{slug}/", site.tournament),
            Route("/t/{slug}/live.html", site.live),
            Route("/t/{slug}/events", site.events),
            Route("/t/{slug}/assets/{name}", site.asset),
            Route("/t/{slug}/{address:path}", site.page),
        ],
        exception_handlers={HTTPException: _not_here, TourError: _refused},
        lifespan=lifespan,
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(f"{API_PREFIX}/"):
            await api({**scope, "root_path": API_PREFIX}, receive, send)
        else:
            await pages(scope, receive, send)

    return app


class _LazyApi:
    """The HTTP interface. It is made at its first request, because that takes a second; pages do not wait for it."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._app: asyncio.Task[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            self._app = asyncio.create_task(asyncio.to_thread(self._make))
        await (await asyncio.shield(self._app))(scope, receive, send)


@dataclass(frozen=True, slots=True)
class _Site:
    hub: TournamentHub
    reader: DatabaseReader

    def _entry(self, request: Request) -> TournamentEntry:
        entry = self.hub.entry(request.path_params["slug"])
        if entry is None:
            raise HTTPException(404)
        return entry

    def stream(self, listeners: set[Listener], enter: Callable[[Listener], None]) -> Response:
        """Return the events of one listener. Raise status 503 if too many pages are open."""
        streams = len(self.hub.listeners) + sum(len(live.listeners) for live in self.hub.tournaments.values())
        if streams >= MAX_STREAMS or self.hub.closing:
            raise HTTPException(503, "too many open pages", {"retry-after": "10"})
        return _EventStream(enter, listeners.discard)

    async def index(self, request: Request) -> Response:
        hub = self.hub
        running = {entry.slug: hub.live(entry).progress for entry in hub.entries if hub.runs(entry)}
        return _html(request, await self.reader.index(hub.entries, running, hub.shown()))

    async def index_events(self, _: Request) -> Response:
        return self.stream(self.hub.listeners, self.hub.add_listener)

    async def tournament(self, request: Request) -> Response:
        entry = self._entry(request)
        return RedirectResponse(f"/t/{entry.slug}/{'live' if self.hub.runs(entry) else 'index'}.html", 307)

    async def live(self, request: Request) -> Response:
        entry = self._entry(request)
        return _html(request, await self.reader.live(entry, (await self.hub.ready(entry)).snapshot()))

    async def events(self, request: Request) -> Response:
        live = await self.hub.ready(self._entry(request))
        return self.stream(live.listeners, live.add_listener)

    async def asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _ASSETS:
            raise HTTPException(404)
        return _answer(request, _read_asset(name), _MEDIA_TYPES[name.rpartition(".")[2]])

    async def page(self, request: Request) -> Response:
        found = await self.reader.page(self._entry(request), request.path_params["address"])
        if found is None:
            raise HTTPException(404)
        return _html(request, found)


def _html(request: Request, text: str) -> Response:
    return _answer(request, text.encode("utf-8", "replace"), "text/html; charset=utf-8")


def _answer(request: Request, body: bytes, media_type: str) -> Response:
    """Return the body, or status 304 if the browser already has it."""
    etag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {"cache-control": "no-cache", "etag": etag}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=media_type)


async def _no_icon(_: Request) -> Response:
    return Response(status_code=204, headers={"cache-control": "max-age=86400"})


async def _not_here(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    texts = {404: "page not found", 405: "request not supported"}
    return failure(texts.get(error.status_code, error.detail), error.status_code, error.headers, document=False)


async def _refused(_: Request, error: Exception) -> Response:
    """Return one line about a problem of the database."""
    what = error.what if isinstance(error, TourError) else "temporarily unavailable"
    return failure(what, 503, {"retry-after": "5"}, document=False)
