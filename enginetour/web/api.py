"""The HTTP interface `/api/v1`: documents in JSON, games as PGN, and events, next to the pages.

It is read-only. The guard of the server checks its requests as it checks those of the pages. A document is made once
for a position of the event log, and its ETag contains this position. A document that takes long is made less often.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any
from zlib import crc32

from fastapi import Depends, FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import AfterValidator, BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from enginetour import __version__
from enginetour.formats.base import Format
from enginetour.model.errors import TourError, UsageRefused, suggest
from enginetour.model.game import Outcome
from enginetour.model.validation import plain_error
from enginetour.reports import documents
from enginetour.reports.forecast import limit_cpu, prospect_at
from enginetour.reports.games import game_row
from enginetour.reports.pgn import common_tags, export_pgn, game_pgn
from enginetour.reports.ratinglist import list_json
from enginetour.reports.sheet import Sheet, iso_timestamp, json_text
from enginetour.store.definition import revisions_of
from enginetour.store.editions import read_edition
from enginetour.store.games import termination_named
from enginetour.store.log import TournamentLog
from enginetour.store.tables import TournamentEntry
from enginetour.store.tournaments import Store, database_position, tournament_position
from enginetour.tournament.rating import rate_next, rate_stored
from enginetour.web import API_PREFIX, schemas
from enginetour.web.hub import TournamentHub
from enginetour.web.live import Listener
from enginetour.web.pages import DatabaseReader, StandingsCache
from enginetour.web.server import failure

_JSON, _PGN, _EVENTS = "application/json", "application/x-chess-pgn; charset=utf-8", "text/event-stream"
_Document = Mapping[str, object] | Sequence[object] | str
_Make = Callable[[Store, StandingsCache], _Document]
_Stream = Callable[[set[Listener], Callable[[Listener], None]], Response]

_FRESH_S = 0.5  # seconds for which a position of the event log is used again, so that 1,000 requests read it twice
_RENEWAL_S = 1.0  # seconds for which a document is still used while the next one is made
# Largest share of one processor for one document, so that a client that asks again and again slows no game.
_SHARE = 0.02
_MOST_KEPT = 256  # documents
_MOST_KEPT_BYTES = 32 << 20
_MOST_WAITING = 64  # requests that wait for the database; further ones are asked to try again later
_MOST_ROWS = 1000
_MOST_NUMBER = (1 << 31) - 1
_FORECAST_CPU_S = 1.0  # processor time for a forecast, during which no other request reads the database
_CONFIDENCE = 95.0  # percent, as `ratings` without options


def _printable(name: str) -> str:
    """Return a name. Raise status 404 for control characters, which PostgreSQL does not accept."""
    if not name.isprintable():
        raise HTTPException(404, "list not found. Hint: /api/v1/lists lists them")
    return name


_Slug = Annotated[str, Path(description="slug of a tournament, as in /tournaments", max_length=200)]
_Name = Annotated[str, Path(description="name of a rating list", max_length=200), AfterValidator(_printable)]
_Number = Annotated[int, Path(ge=1, le=_MOST_NUMBER, description="number of the game in the tournament")]
_Edition = Annotated[int, Path(ge=1, le=_MOST_NUMBER, description="number of the edition")]
_Engine = Annotated[str | None, Query(max_length=200, description="only games of this entrant")]
_Opponent = Annotated[str | None, Query(max_length=200, description="only games that this entrant played too")]
_Ending = Annotated[
    Annotated[str, AfterValidator(termination_named)] | None,
    Query(description="only games with this termination: time, mate, adjudication, ..."),
]
_Result = Annotated[Outcome | None, Query(description="only games with this result")]
_OnlyIncidents = Annotated[bool, Query(description="only games with incidents")]
_After = Annotated[int, Query(ge=0, le=_MOST_NUMBER, description="only games after this number")]
_Limit = Annotated[int, Query(ge=1, le=_MOST_ROWS, description="largest number of games on a page")]
_Finished = Annotated[int, Query(ge=0, le=_MOST_ROWS, description="number of finished games before those in progress")]


@dataclass(slots=True)
class _Kept:
    """A document that was made for a tag, with the two answers that contain it.

    Until `until`, a time of the loop, it is used even if the tag has changed. `renew` returns it, or the next one; it
    is None if the document is only a part of an answer.
    """

    tag: str
    body: bytes
    answers: tuple[Response, Response]
    until: float
    renew: Callable[[], Awaitable[_Kept]] | None

    def answer(self, scope: Scope) -> Response:
        """Return the document, or status 304 if the client has it."""
        return self.answers[_has(scope, self.tag)]


class Api:
    """The documents of a database, as an application for the path `/api/v1`."""

    def __init__(self, hub: TournamentHub, reader: DatabaseReader, stream: _Stream) -> None:
        """`stream` returns the response with the events of a listener."""
        self._hub, self._reader, self._stream = hub, reader, stream
        # Tournament, or 0 -> the time of the loop until which the tag is used, and the tag.
        self._tags: dict[int, tuple[float, asyncio.Task[str]]] = {}
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()  # by address and `extra` of `_answer`
        self._kept_bytes = 0
        self._waiting = 0
        self.app = FastAPI(
            title="enginetour",
            version="1",
            description="Tournaments between chess engines, their games and rating lists. All requests only read.",
            servers=[{"url": API_PREFIX}],
            root_path_in_servers=False,
            openapi_url=None,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
            dependencies=[Depends(_check_parameters)],
            exception_handlers={HTTPException: _failed, RequestValidationError: _invalid, TourError: _refused},
        )
        for path, endpoint, answer in self._paths():
            self._add(path, endpoint, answer)
        self.openapi = self.app.openapi()
        self._openapi = json.dumps(self.openapi, ensure_ascii=False).encode()
        self.app.add_api_route("/openapi.json", self._openapi_document, include_in_schema=False)
        for route in self.app.routes:
            route.methods.add("HEAD")  # type: ignore[attr-defined]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: from a kept document without looking for its path, which takes most of the time."""
        kept, answer = self._kept_for(scope), None
        if kept is not None and kept.renew is not None:
            with suppress(TourError, HTTPException):  # the path gives an answer to it
                answer = (await kept.renew()).answer(scope)
        await (answer or self.app)(scope, receive, send)

    def _kept_for(self, scope: Scope) -> _Kept | None:
        """Return the kept document that is the whole answer to a request."""
        kept = self._kept.get(key := (_address(scope), ""))
        if kept is None or kept.renew is None or scope["method"] not in ("GET", "HEAD"):
            return None
        self._kept.move_to_end(key)
        return kept

    def _paths(self) -> Sequence[tuple[str, Callable[..., Awaitable[Response]], type[BaseModel] | str]]:
        return (
            ("/tournaments", self.tournaments, schemas.Tournaments),
            ("/tournaments/{slug}", self.tournament, schemas.Tournament),
            ("/tournaments/{slug}/standings", self.standings, schemas.Standings),
            ("/tournaments/{slug}/crosstable", self.crosstable, schemas.Crosstable),
            ("/tournaments/{slug}/games", self.games, schemas.Games),
            ("/tournaments/{slug}/games/{number}.pgn", self.game_pgn, _PGN),
            ("/tournaments/{slug}/games/{number}", self.game, schemas.WholeGame),
            ("/tournaments/{slug}/incidents", self.incidents, schemas.Incidents),
            ("/tournaments/{slug}/ratings", self.tournament_ratings, schemas.Ratings),
            ("/tournaments/{slug}/next", self.tournament_next, schemas.Next),
            ("/tournaments/{slug}/forecast", self.forecast, schemas.Forecast),
            ("/tournaments/{slug}/live", self.live, schemas.Live),
            ("/tournaments/{slug}/live.pgn", self.live_pgn, _PGN),
            ("/tournaments/{slug}/events", self.events, _EVENTS),
            ("/ratings", self.ratings, schemas.Ratings),
            ("/next", self.next, schemas.Next),
            ("/lists", self.lists, schemas.Lists),
            ("/lists/{name}", self.list_revisions, schemas.ListRevisions),
            ("/lists/{name}/ratings", self.list_ratings, schemas.Ratings),
            ("/lists/{name}/next", self.list_next, schemas.Next),
            ("/lists/{name}/editions", self.list_editions, schemas.Editions),
            ("/lists/{name}/editions/{number}", self.edition, schemas.Edition),
            ("/editions", self.editions, schemas.Editions),
        )

    def _add(self, path: str, endpoint: Callable[..., Awaitable[Response]], answer: type[BaseModel] | str) -> None:
        """Add a path. Its responses are made by `_answer`, so that FastAPI does not check them again."""
        what = {"description": "The result."}
        if isinstance(answer, str):
            what["content"] = {answer.partition(";")[0]: {"schema": {"type": "string"}}}  # type: ignore[assignment]
        failures = {
            404: {"model": schemas.Error, "description": "The tournament, game, list or edition does not exist."},
            422: {"model": schemas.Error, "description": "A parameter is not valid."},
            503: {"model": schemas.Error, "description": "The database cannot be read now; try again later."},
        }
        self.app.add_api_route(
            path,
            endpoint,
            response_class=Response if isinstance(answer, str) else JSONResponse,
            response_model=None if isinstance(answer, str) else answer,
            responses={200: what, **failures},  # type: ignore[dict-item]
            operation_id=endpoint.__name__,
            name=endpoint.__name__,
        )

    async def _openapi_document(self, request: Request) -> Response:
        tag = f"{__version__}-{crc32(self._openapi)}"
        return _answers(tag, self._openapi, _JSON)[_has(request.scope, tag)]

    # Tournaments.

    async def tournaments(self, request: Request) -> Response:
        """Return all tournaments."""
        running = [entry.slug for entry in self._hub.entries if self._hub.runs(entry)]

        def make(store: Store, _: StandingsCache) -> _Document:
            return [
                {
                    **_entry(line, running=line.slug in running),
                    "entrants": line.entrants,
                    "games": line.games,
                    "last": None if line.last is None else iso_timestamp(line.last),
                }
                for line in store.tournaments()
            ]

        return await self._answer(request, None, make, extra=f"-{crc32(' '.join(running).encode()):x}")

    async def tournament(self, request: Request, slug: _Slug) -> Response:
        """Return a tournament with its progress."""
        entry = self._found(slug)
        if self._hub.runs(entry):
            value = {**_entry(entry, running=True), "progress": self._hub.live(entry).progress}
            return _untagged(value)

        def make(_: Store, standings: StandingsCache) -> _Document:
            return {**_entry(entry, running=False), "progress": standings.read(entry, lines=False).progress}

        return await self._answer(request, entry, make, extra="-stopped")

    async def standings(self, request: Request, slug: _Slug) -> Response:
        """Return the standings of a tournament."""
        return await self._answer_fold(request, slug, documents.standings)

    async def crosstable(self, request: Request, slug: _Slug) -> Response:
        """Return the head-to-head results of a tournament."""
        return await self._answer_fold(request, slug, documents.crosstable)

    async def games(
        self,
        request: Request,
        slug: _Slug,
        engine: _Engine = None,
        opponent: _Opponent = None,
        termination: _Ending = None,
        result: _Result = None,
        incidents: _OnlyIncidents = False,  # noqa: FBT002 - a parameter of the address
        after: _After = 0,
        limit: _Limit = 100,
    ) -> Response:
        """Return games of a tournament, page by page, in the order of their numbers."""

        def make(log: TournamentLog) -> _Document:
            for name in (engine, opponent):
                if name is not None and name not in log.specs:
                    raise HTTPException(422, f"{name!r} is not an entrant of {log.title}{suggest(name, log.specs)}")
            lines = log.games(
                engine=engine,
                opponent=opponent,
                termination=termination,
                outcome=result,
                incidents=incidents,
                first=after + 1,
                limit=limit + 1,
                oldest=True,
            )
            page = lines[:limit]
            rows = [game_row(line) for line in page]
            return {"rows": rows, "next": page[-1].number if len(lines) > limit else None}

        return await self._answer_log(request, slug, make)

    async def game(self, request: Request, slug: _Slug, number: _Number) -> Response:
        """Return a game with its moves."""
        return await self._answer_log(request, slug, lambda log: documents.whole_game(log.game(number)))

    async def game_pgn(self, request: Request, slug: _Slug, number: _Number) -> Response:
        """Return a game as PGN."""

        def make(log: TournamentLog) -> _Document:
            return game_pgn(log.game(number).game, number, log.title, **common_tags(log))

        return await self._answer_log(request, slug, make, _PGN)

    async def incidents(self, request: Request, slug: _Slug) -> Response:
        """Return the incidents of a tournament."""
        return await self._answer_log(request, slug, documents.incidents)

    async def tournament_ratings(self, request: Request, slug: _Slug) -> Response:
        """Return the rating list of a tournament."""
        return await self._answer_log(request, slug, lambda log: _rated(Store(log.database), None, log))

    async def tournament_next(self, request: Request, slug: _Slug) -> Response:
        """Return the encounters that reduce the errors of the tournament's rating list most per hour."""
        return await self._answer_log(
            request, slug, lambda log: rate_next(Store(log.database), None, log, {}).to_json()
        )

    async def forecast(self, request: Request, slug: _Slug) -> Response:
        """Return the forecast of a tournament: the newest one of its run, or one that is computed now."""
        entry = self._found(slug)
        if self._hub.runs(entry):
            if not (found := self._hub.live(entry).forecast):
                raise HTTPException(404, "the run has no forecast yet; the first one takes one or two minutes")
            return _untagged(found)

        def make(_: Store, standings: StandingsCache) -> _Document:
            fold = standings.fold(entry)
            if not fold.format.offers(fold.state):
                raise HTTPException(404, f"{entry.title} has ended, so there is nothing to forecast")
            rest = prospect_at(fold.log, fold.format, fold.state).forecast(going_on=limit_cpu(_FORECAST_CPU_S))
            return rest.to_json()

        return await self._answer(request, entry, make, extra="-stopped")

    async def live(self, slug: _Slug) -> Response:
        """Return the games in progress, standings, and the last games and incidents."""
        live = await self._hub.ready(self._found(slug))
        return _untagged(live.snapshot())

    async def live_pgn(self, request: Request, slug: _Slug, games: _Finished = 64) -> Response:
        """Return the last finished games, then the games in progress with the result `*`, as PGN."""
        entry = self._found(slug)

        def make(store: Store, _: StandingsCache) -> _Document:
            log = store.tournament(entry.name, entry.edition)
            last = log.games(counting=True, limit=games) if games else []
            return "".join(export_pgn(log, last[0].number)) if last else ""

        finished = await self._document(_address(request.scope), entry, make)
        played = [game for _, game in sorted(self._hub.live(entry).games.items()) if not game.over]
        tag = f"{finished.tag}-{crc32(str([game.version for game in played]).encode()):x}"
        if not played or _has(request.scope, tag):
            return _answers(tag, finished.body, _PGN)[_has(request.scope, tag)]
        tags = await self._read(lambda store, _: common_tags(store.tournament(entry.name, entry.edition)))
        number = self._hub.live(entry).progress.get("games_done", 0)
        texts = [game.to_pgn(entry.title, number + place, tags) for place, game in enumerate(played, 1)]
        return _answers(tag, finished.body + "".join(texts).encode("utf-8", "replace"), _PGN)[0]

    async def events(self, slug: _Slug) -> Response:
        """Return server-sent events: `all`, then `board`, `table`, `progress`, `forecast` and lines of games."""
        live = await self._hub.ready(self._found(slug))
        return self._stream(live.listeners, live.add_listener)

    # Rating lists.

    async def ratings(self, request: Request) -> Response:
        """Return the rating list of all games of the database."""
        return await self._answer(request, None, lambda store, _: _rated(store, None, None))

    async def lists(self, request: Request) -> Response:
        """Return all named rating lists."""
        return await self._answer(request, None, lambda store, _: documents.lists(store))

    async def list_revisions(self, request: Request, name: _Name) -> Response:
        """Return a rating list with the revisions of its definition."""
        return await self._answer(request, None, lambda store, _: documents.revisions(revisions_of(store, name)))

    async def list_ratings(self, request: Request, name: _Name) -> Response:
        """Return the present state of a rating list."""
        return await self._answer(request, None, lambda store, _: _rated(store, name, None))

    async def next(self, request: Request) -> Response:
        """Return the encounters that reduce the errors of the list of all games most per hour."""
        return await self._answer(request, None, lambda store, _: rate_next(store, None, None, {}).to_json())

    async def list_next(self, request: Request, name: _Name) -> Response:
        """Return the encounters that reduce the errors of a rating list most per hour."""
        return await self._answer(request, None, lambda store, _: rate_next(store, name, None, {}).to_json())

    async def list_editions(self, request: Request, name: _Name) -> Response:
        """Return the published editions of a rating list."""
        return await self._answer(request, None, lambda store, _: documents.editions(store, name))

    async def edition(self, request: Request, name: _Name, number: _Edition) -> Response:
        """Return an edition of a rating list as it was published."""
        return await self._answer(request, None, lambda store, _: documents.edition(read_edition(store, name, number)))

    async def editions(self, request: Request) -> Response:
        """Return the published editions of all rating lists."""
        return await self._answer(request, None, lambda store, _: documents.editions(store))

    # Documents.

    def _found(self, slug: str) -> TournamentEntry:
        entry = self._hub.entry(slug)
        if entry is None:
            raise HTTPException(404, "tournament not found. Hint: /api/v1/tournaments lists them")
        return entry

    async def _answer_log(
        self, request: Request, slug: str, make: Callable[[TournamentLog], _Document], media: str = _JSON
    ) -> Response:
        """Return a document that `make` makes from the log of a tournament."""
        entry = self._found(slug)
        return await self._answer(
            request, entry, lambda store, _: make(store.tournament(entry.name, entry.edition)), media
        )

    async def _answer_fold(
        self, request: Request, slug: str, make: Callable[[TournamentLog, Format[Any], Any], tuple[Sheet, _Document]]
    ) -> Response:
        """Return the document that `make` makes from the current state of a tournament."""
        entry = self._found(slug)

        def made(_: Store, standings: StandingsCache) -> _Document:
            fold = standings.fold(entry)
            return make(fold.log, fold.format, fold.state)[1]

        return await self._answer(request, entry, made)

    async def _answer(
        self, request: Request, entry: TournamentEntry | None, make: _Make, media: str = _JSON, extra: str = ""
    ) -> Response:
        """Return a document, or status 304 if the client has it.

        `entry` is the tournament whose event log determines the document, or None for the whole database. `extra` is
        added to the tag.
        """
        return (await self._document(_address(request.scope), entry, make, media, extra)).answer(request.scope)

    async def _document(
        self, address: str, entry: TournamentEntry | None, make: _Make, media: str = "", extra: str = ""
    ) -> _Kept:
        """Return a document. It is a part of the answer if `media` is empty."""
        loop = asyncio.get_running_loop()
        kept = self._kept.get((address, extra))
        if kept is not None and loop.time() < kept.until:
            return kept
        if kept is not None:  # other requests get this document until the next one is there
            kept.until = loop.time() + _RENEWAL_S
        until, tag = await self._tag(entry)
        if kept is not None and kept.tag == tag + extra:
            kept.until = until
            return kept

        def work(store: Store, standings: StandingsCache) -> _Kept:
            begun, now = time.thread_time(), _tag_of(store, entry) + extra
            again = self._kept.get((address, extra))  # made for another request meanwhile
            if again is not None and again.tag == now:
                again.until = loop.time() + _FRESH_S
                return again
            made = make(store, standings)
            body = made.encode("utf-8", "replace") if isinstance(made, str) else json_document(made)
            until = loop.time() + max(_FRESH_S, (time.thread_time() - begun) / _SHARE)
            return _Kept(now, body, _answers(now, body, media), until, renew if media else None)

        async def renew() -> _Kept:
            return await self._document(address, entry, make, media, extra)

        made: _Kept = await self._read(work)
        self._keep((address, extra), made)
        return made

    async def _read(self, work: Callable[[Store, StandingsCache], Any]) -> Any:
        if self._waiting >= _MOST_WAITING:
            raise HTTPException(503, "too many requests", {"retry-after": "2"})
        self._waiting += 1
        try:
            return await self._reader.read(work)
        finally:
            self._waiting -= 1

    def _keep(self, key: tuple[str, str], made: _Kept) -> None:
        before = self._kept.pop(key, None)
        self._kept_bytes += len(made.body) - (0 if before is None else len(before.body))
        self._kept[key] = made
        while len(self._kept) > _MOST_KEPT or self._kept_bytes > _MOST_KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popitem(last=False)[1].body)

    async def _tag(self, entry: TournamentEntry | None) -> tuple[float, str]:
        """Return the tag of the newest position that is at most `_FRESH_S` old, and the time until which it is used.

        Concurrent requests share one read.
        """
        key, now = 0 if entry is None else entry.id, asyncio.get_running_loop().time()
        until, task = self._tags.get(key, (0.0, None))
        if task is None or (task.done() and now >= until):
            until, task = now + _FRESH_S, asyncio.ensure_future(self._read(lambda store, _: _tag_of(store, entry)))
            self._tags[key] = until, task
        return until, await asyncio.shield(task)


def json_document(value: Mapping[str, object] | Sequence[object]) -> bytes:
    """Return a JSON document as bytes."""
    return f"{json_text(value)}\n".encode()


def _address(scope: Scope) -> str:
    return f"{scope['path']}?{scope['query_string'].decode('latin-1')}"


def _tag_of(store: Store, entry: TournamentEntry | None) -> str:
    if entry is None:
        return f"{__version__}-all-{'-'.join(map(str, database_position(store)))}"
    return f"{__version__}-{entry.id}-{tournament_position(store, entry.id)}"


def _entry(entry: TournamentEntry, *, running: bool) -> dict[str, object]:
    own = {name: getattr(entry, name) for name in ("slug", "name", "edition", "system", "title")}
    return {**own, "created": iso_timestamp(entry.created_unix), "running": running}


def _rated(store: Store, name: str | None, log: TournamentLog | None) -> dict[str, object]:
    return list_json(rate_stored(store, name, log, {})[1], _CONFIDENCE)


def _has(scope: Scope, tag: str) -> bool:
    """Return whether the client has the document with this tag."""
    given = [value for name, value in scope["headers"] if name == b"if-none-match"]
    return bool(given) and any(f'"{tag}"'.encode("latin-1") in value for value in given)


def _answers(tag: str, body: bytes, media: str) -> tuple[Response, Response]:
    """Return the answers with a document: the whole document, and status 304 for a client that has it."""
    headers = {"cache-control": "no-cache", "etag": f'"{tag}"'}
    return Response(body, headers=headers, media_type=media), Response(status_code=304, headers=headers)


def _untagged(value: Mapping[str, object]) -> Response:
    """Return a document that changes with each move."""
    return Response(json_document(value), headers={"cache-control": "no-store"}, media_type=_JSON)


def _error(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    return failure(text, status, headers, document=True)


async def _check_parameters(request: Request) -> None:
    """Raise status 422 for a parameter that the path does not have, because its filter would have no effect."""
    route = request.scope["route"]
    known = [field.alias for field in route.dependant.query_params] if isinstance(route, APIRoute) else []
    for name in request.query_params:
        if name not in known:
            raise HTTPException(422, f"unknown parameter {name[:80]!r}{suggest(name[:80], known)}")


async def _failed(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    standard = {404: "path not found. Hint: /api/v1/openapi.json lists them", 405: "only GET and HEAD are allowed"}
    plain = error.detail in ("Not Found", "Method Not Allowed")
    return _error(error.status_code, standard[error.status_code] if plain else error.detail, error.headers)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _error(422, plain_error(error.errors()[:1], skip=1))  # without "query" or "path"


async def _refused(_: Request, error: Exception) -> Response:
    """Return one line about an unknown name, or about a problem of the database."""
    assert isinstance(error, TourError)
    if isinstance(error, UsageRefused):
        return _error(404, error.what)
    return _error(503, error.what, {"retry-after": "5"})
