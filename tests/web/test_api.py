"""Tests of the HTTP interface `/api/v1`."""

from __future__ import annotations

import asyncio
import io
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import chess.pgn
import openapi_spec_validator
import pytest
from pydantic import BaseModel
from starlette.types import ASGIApp, Message

from enginetour.model.game import Incident, Outcome
from enginetour.ratings.sequential import Sprt, match_test
from enginetour.reports.sheet import SCHEMA
from enginetour.reports.sprt import sprt_json
from enginetour.store.definition import ListDefinition, define_list
from enginetour.store.editions import publish
from enginetour.web import api, schemas
from enginetour.web.hub import TournamentHub
from enginetour.web.server import RequestGuard
from tests.support.databases import game, meddled
from tests.support.network import Answer, Stage, answered, in_a_hub, move, raised, scope_of, start
from tests.support.tournaments import tour

PREFIX = "/api/v1"
HERE = f"{PREFIX}/tournaments/autumn"
TOKEN = "correct-horse-battery"


@pytest.fixture
def played(stage: Stage) -> Stage:
    """A tournament with games, an incident, a list and an edition."""
    stage.record(game())
    stage.record(game("Toga", "Fruit", Outcome.DRAW, meeting=2))
    crash = Incident("HoiChess", "crash", "HoiChess disconnects: exit 1", 1, ("0.1 < go",), status="exit 1")
    stage.record(replace(game("HoiChess", "Phalanx", Outcome.BLACK), incidents=(crash,)))
    define_list(stage.store, "all", ListDefinition())
    publish(stage.store, "all")
    return stage


def asked(stage: Stage, *paths: str, method: str = "GET", **headers: str) -> list[Answer]:
    """Return the answers to requests of one server."""

    async def scene(_: TournamentHub, app: ASGIApp) -> list[Answer]:
        return [await answered(app, scope_of(path, method, **headers)) for path in paths]

    return in_a_hub(stage.database, scene)


def told(answer: Answer) -> Any:
    assert answer.status == 200, answer
    return json.loads(answer.body)


# Documents.

DOCUMENTS: dict[str, type[BaseModel]] = {
    f"{PREFIX}/tournaments": schemas.Tournaments,
    HERE: schemas.Tournament,
    f"{HERE}/standings": schemas.Standings,
    f"{HERE}/crosstable": schemas.Crosstable,
    f"{HERE}/games": schemas.Games,
    f"{HERE}/games/1": schemas.WholeGame,
    f"{HERE}/incidents": schemas.Incidents,
    f"{HERE}/ratings": schemas.Ratings,
    f"{HERE}/next": schemas.Next,
    f"{PREFIX}/next": schemas.Next,
    f"{PREFIX}/lists/all/next": schemas.Next,
    f"{HERE}/forecast": schemas.Forecast,
    f"{HERE}/live": schemas.Live,
    f"{PREFIX}/ratings": schemas.Ratings,
    f"{PREFIX}/lists": schemas.Lists,
    f"{PREFIX}/lists/all": schemas.ListRevisions,
    f"{PREFIX}/lists/all/ratings": schemas.Ratings,
    f"{PREFIX}/lists/all/editions": schemas.Editions,
    f"{PREFIX}/lists/all/editions/1": schemas.Edition,
    f"{PREFIX}/editions": schemas.Editions,
}
TEXTS = (f"{HERE}/games/1.pgn", f"{HERE}/live.pgn")
STREAM = f"{HERE}/events"
# The same documents on the command line.
COMMANDS = {
    f"{HERE}/standings": "standings",
    f"{HERE}/crosstable": "crosstable",
    f"{HERE}/games/1": "games 1",
    f"{HERE}/ratings": "ratings",
    f"{HERE}/next": "next",
    f"{PREFIX}/next": "next --all",
    f"{PREFIX}/lists/all/next": "next all",
    f"{HERE}/forecast": "forecast",
    f"{PREFIX}/ratings": "ratings --all",
    f"{PREFIX}/lists": "lists",
    f"{PREFIX}/lists/all": "lists show all",
    f"{PREFIX}/lists/all/ratings": "ratings all",
    f"{PREFIX}/lists/all/editions": "editions all",
    f"{PREFIX}/lists/all/editions/1": "editions all 1",
    f"{PREFIX}/editions": "editions",
}


def test_every_document_has_its_declared_form(played: Stage) -> None:
    """Every path with JSON is answered with a document of its type, and the command line prints the same one."""
    for (path, model), answer in zip(DOCUMENTS.items(), asked(played, *DOCUMENTS), strict=True):
        document = told(answer)
        assert answer.headers["content-type"] == "application/json"
        assert document["schema"] == SCHEMA
        model.model_validate_json(answer.body)
        if path in COMMANDS:
            printed = tour(played.database.parents[1], *COMMANDS[path].split(), "--json").stdout
            assert json.loads(printed) == document, path


def test_every_declared_path_is_tested(played: Stage) -> None:
    """The OpenAPI document is valid, has the paths of this module and only its own types, and names no other server."""
    (answer,) = asked(played, f"{PREFIX}/openapi.json")
    document = told(answer)
    assert document["openapi"].startswith("3.1")
    openapi_spec_validator.validate(document)
    assert document["servers"] == [{"url": PREFIX}]
    patterns = [re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) for path in document["paths"]]
    paths = [path.removeprefix(PREFIX) for path in (*DOCUMENTS, *TEXTS, STREAM)]
    assert [path for path in patterns if not any(re.fullmatch(path, one) for one in paths)] == []
    assert len(document["paths"]) == len(DOCUMENTS) + len(TEXTS) + 1
    names = set(re.findall(r'"#/components/schemas/(\w+)"', answer.body.decode()))
    assert names <= set(document["components"]["schemas"])
    for item in document["paths"].values():
        assert set(item) == {"get"}
        assert item["get"]["summary"]
        assert item["get"]["description"]
    for path, model in DOCUMENTS.items():
        (found,) = (
            item["get"]
            for item, pattern in zip(document["paths"].values(), patterns, strict=True)
            if re.fullmatch(pattern, path.removeprefix(PREFIX))
        )
        content = found["responses"]["200"]["content"]
        assert content["application/json"]["schema"]["$ref"] == f"#/components/schemas/{model.__name__}"


def _loose(place: str, schema: dict[str, Any]) -> Iterator[str]:
    """Yield the places below a schema where a document may have anything."""
    if not {"$ref", "anyOf", "const", "enum", "type"} & set(schema):
        yield place
    for one in schema.get("anyOf", ()):
        yield from _loose(place, one)
    if schema.get("type") == "object":
        more = schema.get("additionalProperties", True)
        if more is True:
            yield place
        elif more:
            yield from _loose(f"{place}.*", more)
        for name, field in schema.get("properties", {}).items():
            yield from _loose(f"{place}.{name}", field)
    if schema.get("type") == "array":
        if not {"items", "prefixItems"} & set(schema):
            yield place
        for one in (*schema.get("prefixItems", ()), *filter(None, [schema.get("items")])):
            yield from _loose(f"{place}[]", one)


def test_every_type_is_closed(played: Stage) -> None:
    """No document has other keys or values than its type says, except the settings of a plug-in's rating system."""
    types = told(asked(played, f"{PREFIX}/openapi.json")[0])["components"]["schemas"]
    own = schemas.Status.model_json_schema(ref_template="#/components/schemas/{model}")
    own_types = {**own.pop("$defs"), "Status": own}
    found = [place for name, schema in {**types, **own_types}.items() for place in _loose(name, schema)]
    assert found == ["ListDefinition.settings"]


def test_documents_of_a_running_tournament(played: Stage) -> None:
    """The state, the boards and the lines of a run have their declared form at every moment."""
    sprt = {"sprt": json.loads(json.dumps(sprt_json(("A", "B"), match_test(Sprt(0, 5), [(1, 2), (1, 1), (2, 0)]))))}
    events: list[dict[str, Any]] = [
        {"event": "start", **start(1, variant="chess960")},
        {"event": "start", **start(2, variant="crazyhouse", clocks=[None, None])},
        {"event": "move", **move(1)},
        {"event": "move", **move(1, slot=2, score=None, depth=None, nodes=None, pv="")},
        {"event": "move", **move(4)},  # moves are missing
        {"event": "game", "number": 4, "result": "1-0", "plies": 9, "seconds": 1.5, "white": "A", "black": "B"},
        {"event": "incident", "game": 4, "engine": "A", "category": "crash", "cause": "signal 11"},
        {"event": "paused", "text": "autumn: paused"},
        {"event": "end", "slot": 1},
        {"event": "progress", **played.status(), "round": [1, 3], "stop_at": "2026-11-27T07:00:00Z", **sprt},
    ]

    async def scene(hub: TournamentHub, app: ASGIApp) -> list[tuple[bytes, bytes]]:
        live = hub.live(hub.entries[0])
        live.begin({**played.status(), "playing": [start() | {"moves": ["e2e4"], "ply": 1}]})
        bodies = []
        for event in [{}, *events]:
            live.take(event)
            answers = [await answered(app, scope_of(path)) for path in (HERE, f"{HERE}/live")]
            bodies.append((answers[0].body, answers[1].body))
        return bodies

    for tournament, live in in_a_hub(played.database, scene):
        schemas.Tournament.model_validate_json(tournament)
        schemas.Live.model_validate_json(live)
    last = json.loads(live)
    assert (last["games"].keys(), last["incidents"][-1]["after"]) == ({"0", "1", "2"}, 4)
    assert last["progress"]["sprt"]["engines"] == ["A", "B"]


def test_pages_of_games(played: Stage) -> None:
    """A client that follows `next` gets every game once, in order."""
    numbers, path = [], f"{HERE}/games?limit=2"
    while path:
        document = told(asked(played, path)[0])
        numbers.append([row["number"] for row in document["rows"]])
        path = f"{HERE}/games?limit=2&after={document['next']}" if document["next"] else ""
    assert numbers == [[1, 2], [3]]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("engine=Toga", [1, 2]),
        ("engine=Toga&opponent=Fruit&result=1/2-1/2", [2]),
        ("engine=Toga&opponent=Phalanx", []),
        ("result=0-1", [3]),
        ("incidents=true", [3]),
        ("termination=resign&after=1", [2, 3]),
        ("termination=time", []),
    ],
)
def test_filters_of_games(played: Stage, query: str, numbers: list[int]) -> None:
    """Each filter selects its games."""
    (answer,) = asked(played, f"{HERE}/games?{query}")
    assert [row["number"] for row in told(answer)["rows"]] == numbers


def test_single_games_as_pgn(played: Stage) -> None:
    """A finished game is sent as PGN with its tags."""
    (answer,) = asked(played, f"{HERE}/games/2.pgn")
    assert answer.headers["content-type"].startswith("application/x-chess-pgn")
    read = chess.pgn.read_game(io.StringIO(answer.body.decode()))
    assert read is not None
    assert (read.headers["White"], read.headers["Black"], read.headers["Result"]) == ("Toga", "Fruit", "1/2-1/2")


# Caching.

CACHED = [path for path in (*DOCUMENTS, *TEXTS) if not path.endswith("/live")]


def test_etags_follow_the_log(played: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client with the current ETag gets status 304 without a body, until an event is written."""
    monkeypatch.setattr(api, "_FRESH_S", 0.0)
    monkeypatch.setattr(api, "_SHARE", float("inf"))

    async def scene(_: TournamentHub, app: ASGIApp) -> None:
        tags = {path: (await answered(app, scope_of(path))).headers["etag"] for path in CACHED}
        for path, tag in tags.items():
            again = await answered(app, scope_of(path, if_none_match=tag))
            assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        played.record(game("Fruit", "HoiChess"))
        for path, tag in tags.items():
            later = await answered(app, scope_of(path, if_none_match=tag))
            assert (later.status, later.headers["etag"] != tag) == (200, True), path

    in_a_hub(played.database, scene)


def test_a_document_is_made_once(played: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """50 concurrent requests for the standings, and later ones, read the position of the log once."""
    reads: list[object] = []
    monkeypatch.setattr(api, "_FRESH_S", 3600.0)

    def tag_of(_: object, entry: object) -> str:
        reads.append(entry)
        return "1"

    monkeypatch.setattr(api, "_tag_of", tag_of)

    async def scene(_: TournamentHub, app: ASGIApp) -> set[bytes]:
        path = scope_of(f"{HERE}/standings")
        answers = await asyncio.gather(*(answered(app, dict(path)) for _ in range(50)))
        before = len(reads)
        answers += [await answered(app, dict(path)) for _ in range(50)]
        assert len(reads) == before <= 51  # one for the tag; those that waited for the first document find it
        return {answer.body for answer in answers}

    assert len(in_a_hub(played.database, scene)) == 1


def test_a_document_that_takes_long_is_made_less_often(played: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document is used again, with its tag, until 50 times the time that it took, whatever happens meanwhile."""
    monkeypatch.setattr(api, "_FRESH_S", 0.0)
    clock = count(0.0, 100.0)  # seconds of processor time
    monkeypatch.setattr(api, "time", SimpleNamespace(thread_time=clock.__next__))

    async def scene(_: TournamentHub, app: ASGIApp) -> None:
        first = await answered(app, scope_of(f"{HERE}/standings"))
        played.record(game("Fruit", "HoiChess"))
        again = await answered(app, scope_of(f"{HERE}/standings"))
        assert (again.body, again.headers["etag"]) == (first.body, first.headers["etag"])
        assert (await answered(app, scope_of(f"{HERE}/standings", if_none_match=first.headers["etag"]))).status == 304
        assert (await answered(app, scope_of(f"{HERE}/games"))).body.count(b'"number"') == 4, "another document"

    in_a_hub(played.database, scene)


# Live.


def test_the_pgn_grows_with_the_games_in_progress(played: Stage) -> None:
    """`live.pgn` has the finished games, then those in progress with their moves so far, and its tag follows them."""

    async def scene(hub: TournamentHub, app: ASGIApp) -> list[Answer]:
        live = hub.live(hub.entries[0])
        more: dict[str, Any] = {
            "eco": "C20",
            "opening_number": 7,
            "handicap": 1,
            "engines": ["Fruit 2.1", ""],
            "hardware": "Ryzen 9",
        }
        live.begin({**played.status(), "playing": [start(**more) | move(1, uci="e2e4") | {"moves": ["e2e4"]}]})
        answers = [await answered(app, scope_of(f"{HERE}/live.pgn?games=2"))]
        for event in (move(2, uci="e7e5", score=-20), move(3, uci="g1f3")):
            live.take({"event": "move", **event})
            answers.append(await answered(app, scope_of(f"{HERE}/live.pgn?games=2")))
        return answers

    tags = '{"tags": {"Site": "Berlin", "Annotator": "me"}}'
    meddled(played.database, f"UPDATE tournaments SET config = json_set(config, '$.play', json('{tags}'))")
    answers = in_a_hub(played.database, scene)
    assert len({answer.headers["etag"] for answer in answers}) == 3
    assert [_results(answer) for answer in answers] == [["1/2-1/2", "0-1", "*"]] * 3
    last = list(_read(answers[-1]))[-1]
    assert [one.san() for one in last.mainline()] == ["e4", "e5", "Nf3"]
    assert [one.comment for one in last.mainline()] == ["+0.15/9 1.234s", "-0.20/9 1.234s", "+0.15/9 1.234s"]
    assert (last.headers["White"], last.headers["Event"]) == ("Fruit", "autumn")
    own = {"Site": "Berlin", "Annotator": "me", "WhiteElo": "2700", "ECO": "C20", "OpeningNumber": "7"}
    own |= {"Handicap": "White gives 1", "WhiteEngine": "Fruit 2.1", "Hardware": "Ryzen 9"}
    assert own.items() <= dict(last.headers).items()
    assert all(one.headers["Annotator"] == "me" and "BlackElo" in one.headers for one in _read(answers[-1]))


def _read(answer: Answer) -> Iterator[chess.pgn.Game]:
    text = io.StringIO(answer.body.decode())
    while (found := chess.pgn.read_game(text)) is not None:
        yield found


def _results(answer: Answer) -> list[str]:
    return [found.headers["Result"] for found in _read(answer)]


def test_events(played: Stage) -> None:
    """The stream begins with the whole state, then sends each event."""

    async def scene(hub: TournamentHub, app: ASGIApp) -> bytes:
        sent: list[bytes] = []
        gone = asyncio.Event()

        async def receive() -> Message:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message.get("body", b""))
            if b"event: board" in sent[-1]:
                gone.set()
            elif b"event: all" in sent[-1]:
                live.take({"event": "move", **move(1)})

        live = hub.live(hub.entries[0])
        live.begin({**played.status(), "playing": [start()]})
        await app(scope_of(STREAM), receive, send)
        return b"".join(sent)

    events = re.findall(rb"^event: (.+)$", in_a_hub(played.database, scene), re.MULTILINE)
    assert (events[0], events[-1]) == (b"all", b"board")


# Access.

EVERY = [*DOCUMENTS, *TEXTS, STREAM, f"{PREFIX}/openapi.json", f"{PREFIX}/none"]


def test_the_guard_protects_every_path(played: Stage) -> None:
    """Without the token, with an unknown Host, a foreign Origin or another method, no path shows anything."""

    async def scene(_: TournamentHub, app: ASGIApp) -> None:
        guard = RequestGuard(app, hosts=(), token=TOKEN, failed=raised)
        for path in EVERY:
            assert (await answered(guard, scope_of(path))).status == 401
            allowed = {"authorization": f"Bearer {TOKEN}"}
            assert (await answered(guard, scope_of(path, authorization=f"Bearer {TOKEN}x"))).status == 401
            assert (await answered(guard, scope_of(path, host="evil.example", **allowed))).status == 403
            assert (await answered(guard, scope_of(path, origin="http://evil.example", **allowed))).status == 403
            assert (await answered(guard, scope_of(path, "POST", **allowed))).status == 405
            answer = await answered(guard, scope_of(path, "HEAD", **allowed))
            assert answer.status == (404 if path.endswith("none") else 200), path
            assert "content-security-policy" in answer.headers

    in_a_hub(played.database, scene)


def _hostile() -> list[tuple[str, str, dict[str, str]]]:
    """Return 200 hostile requests and a harmless one: method, path and headers."""
    dice = random.Random(34)
    words = [
        *("..", "%2e%2e", "%00", "\x00", "\x1b[31m", "\u0661", "\ud800", "\udcff", "🐎" * 9, "A" * 5000, "' OR 1=1 --"),
        *(
            "-1",
            "0",
            "1e9",
            "9" * 400,
            "9" * 5000,
            str(2**31 - 1),
            str(2**31),
            "NaN",
            "inf",
            "null",
            "[]",
            "{}",
            "1.pgn.pgn",
        ),
        *("<script>", "%ff%fe", "${jndi:x}", "{{7*7}}", "a\r\nb: c", "CON", "*", "_", "%", "autumn/../autumn"),
    ]
    paths = [path.removeprefix(f"{PREFIX}/").split("/") for path in EVERY]
    keys = ["engine", "opponent", "termination", "result", "incidents", "after", "limit", "games", "x", "limit[]", ""]
    found = []
    for number in range(200):
        parts, word = [*dice.choice(paths)], words[number % len(words)]
        kind = number % 4
        if kind == 0:
            parts[dice.randrange(len(parts))] = word
        query = "&".join(f"{dice.choice(keys)}={word}" for _ in range(kind)) if kind else ""
        if kind == 1:
            parts = ["tournaments", "autumn", "games"]
        headers = {"if_none_match": word.encode("utf-8", "replace").decode("latin-1")} if kind == 2 else {}
        headers |= {"range": "bytes=0-", "accept": "*/*" * 900, "content_length": "99"} if kind == 3 else {}
        method = dice.choice(["GET", "GET", "GET", "GET", "HEAD", "POST", "PUT", "OPTIONS", "PROPFIND", "get", "\x00"])
        found.append((method, f"{PREFIX}/{'/'.join(parts)}" + (f"?{query}" if query else ""), headers))
    return [*found, ("GET", f"{HERE}/games?limit=7", {})]


def test_hostile_requests_do_no_harm(played: Stage) -> None:
    """200 hostile requests are answered without an internal error, and the tournament is served as before."""

    async def scene(_: TournamentHub, app: ASGIApp) -> None:
        guard = RequestGuard(app, hosts=(), token="", failed=raised)
        before = await answered(guard, scope_of(f"{HERE}/standings"))
        found: dict[int, int] = {}
        for method, path, headers in _hostile():
            if path.startswith(STREAM) and method == "GET":
                continue
            answer = await answered(guard, _scope(path, method, headers))
            assert answer.status in (200, 304, 404, 405, 422), (method, path, answer)
            assert len(answer.body) < 1 << 20
            assert b"Traceback" not in answer.body
            found[answer.status] = found.get(answer.status, 0) + 1
        assert {200, 404, 405, 422} <= set(found)
        after = await answered(guard, scope_of(f"{HERE}/standings"))
        assert (after.status, after.body) == (200, before.body)

    in_a_hub(played.database, scene)


def _scope(path: str, method: str, headers: dict[str, str]) -> Any:
    """Make a scope as uvicorn does: the path is decoded, the query is not."""
    target, _, query = path.partition("?")
    scope = dict(scope_of("/", method, **headers))
    scope["path"] = target
    scope["raw_path"] = quote(target, errors="replace").encode()
    scope["query_string"] = quote(query, safe="=&%", errors="replace").encode()
    return scope


def test_failures_are_one_line(played: Stage) -> None:
    """An unknown name or an invalid value gets one line that says what is wrong."""
    paths = {
        f"{PREFIX}/tournaments/none": (404, "tournament not found"),
        f"{PREFIX}/none": (404, "path not found"),
        f"{HERE}/games/99": (404, "game 99 does not exist in autumn"),
        f"{HERE}/games?engine=Togo": (422, "'Togo' is not an entrant of autumn"),
        f"{HERE}/games?limit=0": (422, "limit: must be at least 1 (found '0')"),
        f"{HERE}/games?limit=a": (422, "limit: must be a whole number (found 'a')"),
        f"{HERE}/games?incidents=perhaps": (422, "incidents: must be true or false (found 'perhaps')"),
        f"{HERE}/games?result=2-0": (422, "result: must be '1-0', '1/2-1/2', '0-1' or '*' (found '2-0')"),
        f"{HERE}/games?engin=Toga": (422, "unknown parameter 'engin', did you mean 'engine'"),
        f"{HERE}/standings?limit=1": (422, "unknown parameter 'limit'"),
        f"{HERE}/games/{'9' * 5000}": (422, "number: "),
        f"{PREFIX}/lists/none": (404, "'none'"),
        f"{PREFIX}/lists/all/editions/7": (404, "edition 7 of the list 'all' does not exist"),
    }
    for (path, (status, text)), answer in zip(paths.items(), asked(played, *paths), strict=True):
        document = json.loads(answer.body)
        schemas.Error.model_validate(document)
        assert answer.status == status, path
        assert text in document["error"]
        assert len(document["error"]) < 250
    (refused,) = asked(played, f"{HERE}/games?termination=foo")
    assert refused.status == 422
    assert json.loads(refused.body)["error"].startswith("termination: must be one of adjudication, mate, stalemate, ")


def test_too_many_waiting_requests_are_sent_away(played: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """If too many requests wait for the database, further ones are asked to try again later."""
    monkeypatch.setattr(api, "_MOST_WAITING", 0)
    (answer,) = asked(played, f"{HERE}/standings")
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")
