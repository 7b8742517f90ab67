"""Web application of the live page: its routes, and how server-sent events are framed.

address                        what
/                              which tournaments there are, running ones first
/events                        tells that page how many there are and which run: at once, and after every change
/t/SLUG/                       its live page while it runs, else its report
/t/SLUG/live.html              boards, table and last games
/t/SLUG/events                 what the live page is told: all, then board, table, progress, game-line, incident-line
/t/SLUG/assets/NAME            our own style sheets and scripts, and nothing else
/t/SLUG/...                    the pages of the report, as `enginetour report` writes them
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
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from enginetour.model.errors import TourError
from enginetour.reports.html import game, page
from enginetour.store.tables import TournamentEntry
from enginetour.web.hall import DatabaseReader, TournamentHub
from enginetour.web.room import UPDATE_INTERVAL_S, Listener
from enginetour.web.server import Message, Receive, Scope, Send

# The only files that are sent: our style sheets and scripts, by name from a list, and python-chess's pieces.

_MEDIA_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_LIVE_ASSETS = ("live.css", "live.js", "doors.js")
_ASSETS = (*page.REPORT_ASSETS, "game.css", "board.js", "pieces.js", *_LIVE_ASSETS)


@dataclass(frozen=True, slots=True)
class _Asset:
    """A file as it is sent."""

    body: bytes
    etag: str
    media_type: str


@cache
def _read_asset(name: str) -> _Asset | None:
    """One of the list, None for any other name."""
    if name not in _ASSETS:
        return None
    text = game.pieces_script() if name == "pieces.js" else page.read_asset(name)
    body = text.encode()
    return _Asset(body, f'"{sha256(body).hexdigest()[:32]}"', _MEDIA_TYPES[name.rpartition(".")[2]])


# The addresses of the live page.

MAX_STREAMS = 128  # open pages; the next one is told to come again later
_BREATH_S = 15.0  # of silence, then a comment: proxies and browsers drop what is silent for a minute
_RETRY_MS = 2000  # until a page that lost us asks again


class _EventStream(Response):
    """Server-sent events of one listener, from `enter` on, until the page goes, or we do."""

    def __init__(self, enter: Callable[[Listener], None], leave: Callable[[Listener], None]) -> None:
        super().__init__(media_type="text/event-stream")
        self._enter, self._leave = enter, leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what is due, at most every `BEAT_S`: what comes closer together goes together."""
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
                if frames := await listener.due(_BREATH_S):
                    await send(_piece(frames))
                    await asyncio.sleep(UPDATE_INTERVAL_S / 2)
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            self._leave(listener)


def _piece(body: bytes) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": True}


async def _gone(receive: Receive, listener: Listener) -> None:
    """Close the listener when its page has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    listener.close()


def create_app(hall: TournamentHub, library: DatabaseReader) -> Starlette:
    """The application; it opens the hall when it starts, and closes the library at its end."""

    def entry_of(request: Request) -> TournamentEntry:
        entry = hall.entry(request.path_params["slug"])
        if entry is None:
            raise HTTPException(404)
        return entry

    def streamed(audience: set[Listener], enter: Callable[[Listener], None]) -> Response:
        streams = len(hall.doors) + sum(len(room.audience) for room in hall.rooms.values())
        if streams >= MAX_STREAMS or hall.closing:
            return PlainTextResponse("too many pages are open\n", 503, {"retry-after": "10"})
        return _EventStream(enter, audience.discard)

    async def index(request: Request) -> Response:
        running = {entry.slug: hall.room(entry).progress for entry in hall.entries if hall.runs(entry)}
        return _html(request, await library.index(hall.entries, running, hall.shown()))

    async def doors(_: Request) -> Response:
        return streamed(hall.doors, hall.attend)

    async def tournament(request: Request) -> Response:
        entry = entry_of(request)
        return RedirectResponse(f"/t/{entry.slug}/{'live' if hall.runs(entry) else 'index'}.html", 307)

    async def live(request: Request) -> Response:
        entry = entry_of(request)
        return _html(request, await library.live(entry, (await hall.ready(entry)).snapshot()))

    async def events(request: Request) -> Response:
        room = await hall.ready(entry_of(request))
        return streamed(room.audience, room.attend)

    async def assets(request: Request) -> Response:
        found = _read_asset(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        return _answer(request, found.body, found.etag, found.media_type)

    async def page(request: Request) -> Response:
        found = await library.page(entry_of(request), request.path_params["address"])
        if found is None:
            raise HTTPException(404)
        return _html(request, found)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await hall.open()
        try:
            yield
        finally:
            hall.close()
            library.close()

    return Starlette(
        routes=[
            Route("/", index),
            Route("/index.html", index),
            Route("/events", doors),
            Route("/favicon.ico", _no_icon),
            Route("/assets/{name}", assets),
            Route("/t/{slug}/", tournament),
            Route("/t/{slug}/live.html", live),
            Route("/t/{slug}/events", events),
            Route("/t/{slug}/assets/{name}", assets),
            Route("/t/{slug}/{address:path}", page),
        ],
        exception_handlers={HTTPException: _not_here, TourError: _refused},
        lifespan=lifespan,
    )


def _html(request: Request, text: str) -> Response:
    body = text.encode("utf-8", "replace")
    return _answer(request, body, f'"{sha256(body).hexdigest()[:32]}"', "text/html; charset=utf-8")


def _answer(request: Request, body: bytes, etag: str, media_type: str) -> Response:
    """The body, or that it is still the one that the browser has."""
    headers = {"cache-control": "no-cache", "etag": etag}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=media_type)


async def _no_icon(_: Request) -> Response:
    """Browsers ask for it unasked."""
    return Response(status_code=204, headers={"cache-control": "max-age=86400"})


async def _not_here(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return PlainTextResponse("there is no such page\n" if status == 404 else "not like this\n", status)


async def _refused(_: Request, error: Exception) -> Response:
    """What `enginetour` would have said in one line: a database that is busy, or has gone."""
    what = error.what if isinstance(error, TourError) else "not now"
    return PlainTextResponse(f"{what}\n", 503, {"retry-after": "5"})
