"""A log that the live page's server cannot fold, as it is of another version, took the boards of its run along."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette

from enginetour.errors import StoreRefused
from enginetour.store.reader import TournamentReader
from enginetour.web import standing
from enginetour.web.hall import Hall
from tests.asgi import answered, in_a_hall, scope_of
from tests.serving import Stage


def test_a_running_tournament_is_shown_without_its_table(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Page and events are there, with what the run itself says."""

    def refused(log: TournamentReader) -> None:
        raise StoreRefused("the log is another version's", place=log.title)

    monkeypatch.setattr(standing, "format_of", refused)

    async def scene(hall: Hall, app: Starlette) -> list[int]:
        hall.room(hall.entries[0]).begin(stage.status())
        page, events = scope_of("/t/autumn/live.html"), scope_of("/t/autumn/events", "HEAD")
        return [(await answered(app, asked)).status for asked in (page, events)]

    assert in_a_hall(stage.database, scene) == [200, 200]
