"""A log that the live page's server cannot fold, as it is of another version, took the boards of its run along."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette

from enginetour.model.errors import StoreRefused
from enginetour.store.dialect import StoreBusy
from enginetour.store.games import TournamentReader
from enginetour.web import room
from enginetour.web.hall import Hall, Library
from enginetour.web.room import Listener
from tests.asgi import answered, in_a_hall, scope_of
from tests.serving import Stage


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that cannot be folded."""

    def refused(log: TournamentReader) -> None:
        raise StoreRefused("the log is another version's", place=log.title)

    monkeypatch.setattr(room, "format_of", refused)


@pytest.mark.usefixtures("unreadable")
def test_a_running_tournament_is_shown_without_its_table(stage: Stage) -> None:
    """Page and events are there, with what the run itself says."""

    async def scene(hall: Hall, app: Starlette) -> list[int]:
        hall.room(hall.entries[0]).begin(stage.status())
        page, events = scope_of("/t/autumn/live.html"), scope_of("/t/autumn/events", "HEAD")
        return [(await answered(app, asked)).status for asked in (page, events)]

    assert in_a_hall(stage.database, scene) == [200, 200]


@pytest.mark.usefixtures("unreadable")
def test_what_is_wrong_with_it_is_told_once(stage: Stage) -> None:
    """Not after each game of a night."""
    told: list[str] = []

    async def scene(hall: Hall, app: Starlette) -> None:
        room = hall.room(hall.entries[0])
        room.begin(stage.status())
        await answered(app, scope_of("/t/autumn/live.html"))
        room.audience.add(Listener())
        for number in range(1, 4):
            room.take({"event": "game", "number": number, "white": "Fruit", "black": "Toga"})
            await hall._look()

    in_a_hall(stage.database, scene, told.append)
    assert len(told) == 1


def test_a_database_in_use_is_no_empty_table(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks while another program holds it is refused, and may ask again."""

    async def busy(*_: object, **__: object) -> None:
        raise StoreBusy("another program holds the database")

    async def scene(hall: Hall, app: Starlette) -> int:
        del app
        room = hall.room(hall.entries[0])
        room.begin(stage.status())
        monkeypatch.setattr(Library, "standing", busy)
        with pytest.raises(StoreBusy):
            await hall.ready(hall.entries[0])
        return len(room.table)

    assert in_a_hall(stage.database, scene) == 0
