"""Games that ended between two readings of one answer once made it contradict itself: a live page's server ended."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.model.errors import StoreRefused
from enginetour.store.games import TournamentReader
from enginetour.web.hall import Hall, Library
from tests.asgi import in_a_hall
from tests.serving import Stage
from tests.storing import draft, game
from tests.touring import tour


@pytest.fixture
def stage(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Each time results are counted an opening is played to its end by both colours."""
    count, meetings = TournamentReader.pair_counts, iter(range(1, 100))
    settings = {"format": {"cycles": 100, "games_per_pairing": 2}}
    stage.log = stage.store.create_tournament(replace(draft("match", ("Fruit", "Toga")), config=settings))

    def play() -> None:
        meeting = next(meetings)
        for leg, (white, black) in enumerate((("Fruit", "Toga"), ("Toga", "Fruit")), 1):
            stage.record(game(white, black, meeting=meeting, leg=leg))

    def counted(log: TournamentReader) -> dict[tuple[str, str], tuple[int, int, int]]:
        counts = count(log)
        play()
        return counts

    play()
    monkeypatch.setattr(TournamentReader, "pair_counts", counted)
    return stage


@pytest.mark.parametrize(
    "words", [("crosstable", "--pairs"), ("chart", "opponents", "Toga", "-o", "toga.svg"), ("ratings",), ("report",)]
)
def test_commands_tell_of_one_moment(stage: Stage, tmp_path: Path, words: tuple[str, ...]) -> None:
    """What a command says of a running tournament fits together."""
    tour(tmp_path, *words)


def test_a_live_page_tells_of_one_moment(stage: Stage) -> None:
    """The table of one look is of one moment, that of the next of the next."""

    async def look(hall: Hall, _: object) -> list[int]:
        made = [await hall.library.standing(hall.entries[-1], lines=True) for _ in range(2)]
        assert [table.progress["games_done"] for table in made] == [len(table.lines) for table in made]
        return [len(table.lines) for table in made]

    assert in_a_hall(stage.database, look) == [2, 4]


def test_a_first_look_that_fails_ends_no_server(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told, and what comes next finds the tournament."""
    told: list[str] = []
    find, failures = Library.entries, iter([StoreRefused("in this moment only")])

    async def found(library: Library) -> object:
        for failure in failures:
            raise failure
        return await find(library)

    monkeypatch.setattr(Library, "entries", found)
    monkeypatch.setattr("enginetour.web.hall.LOOK_S", 0.0)

    async def look(hall: Hall, _: object) -> str:
        assert hall.entry("match") is None
        while hall.entry("match") is None:
            await asyncio.sleep(0)
        return hall.entries[-1].name

    assert in_a_hall(stage.database, look, told.append) == "match"
    assert told == ["in this moment only"]
