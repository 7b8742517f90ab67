"""The playing hall: rooms as the pages find them that are opened sooner or later."""

from __future__ import annotations

import asyncio

import pytest
from starlette.applications import Starlette

from enginetour.model.errors import StoreRefused
from enginetour.store.tournaments import Entry
from enginetour.web.hall import Hall, Library
from enginetour.web.room import Made, Room
from tests.asgi import answered, in_a_hall, scope_of
from tests.serving import Stage
from tests.storing import game


@pytest.mark.parametrize("runs", [False, True])
def test_a_page_opened_late_tells_of_the_same_games(stage: Stage, runs: bool) -> None:
    """Nobody looked on for a night, or a command changed a stopped tournament: table, headline and games agree."""

    async def scene(hall: Hall, app: Starlette) -> str:
        await answered(app, scope_of("/t/autumn/live.html"))
        room = hall.rooms["autumn"]
        if runs:
            room.begin(stage.status())
        room.take({"event": "game", "number": stage.record(game()), "white": "Fruit", "black": "Toga"})
        return (await answered(app, scope_of("/t/autumn/live.html"))).body.decode()

    page = in_a_hall(stage.database, scene)
    assert '<td class="n">1</td><td class="n">1</td>' in page
    assert runs or "stopped · 1 of 12 games" in page


def test_a_run_that_begins_while_its_log_is_read_misses_no_line(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ended after the reading and before the first event was told by neither."""
    read, began = Library.standing, iter([True])

    async def standing(library: Library, entry: Entry, *, lines: bool) -> Made:
        made = await read(library, entry, lines=lines)
        for _ in began:
            stage.record(game())
            autumn.begin(stage.status())
        return made

    monkeypatch.setattr(Library, "standing", standing)
    autumn = Room("autumn")

    async def scene(hall: Hall, app: Starlette) -> list[int]:
        hall.rooms["autumn"] = autumn
        await hall.ready(hall.entries[0])
        await hall.ready(hall.entries[0])
        return [line["number"] for line in autumn.lines]

    assert in_a_hall(stage.database, scene) == [1]


def test_a_failure_of_ours_is_no_word_about_the_database(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A KeyError was told as 'x' and nothing else; what a database cannot give is told in its own words, once."""
    troubles = iter([KeyError("x"), StoreRefused("is busy"), StoreRefused("is busy")])

    async def entries(library: Library) -> list[Entry]:
        raise next(troubles)

    monkeypatch.setattr(Library, "entries", entries)
    monkeypatch.setattr("enginetour.web.hall.LOOK_S", 0.0)
    told, failed = list[str](), list[Exception]()

    async def scene(hall: Hall, app: Starlette) -> None:
        while len(failed) < 2:  # the second one: there are no more troubles
            await asyncio.sleep(0)

    in_a_hall(stage.database, scene, told.append, failed.append)
    assert told == ["is busy"]
    assert isinstance(failed[0], KeyError)
