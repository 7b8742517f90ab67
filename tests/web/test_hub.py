"""Tests of the tournament hub, and of whole tournaments on a PostgreSQL server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from starlette.types import ASGIApp

from enginetour.model.errors import StoreRefused
from enginetour.store.address import parse_address
from enginetour.store.dialect import StoreBusy
from enginetour.store.games import TournamentReader
from enginetour.store.tables import TournamentEntry
from enginetour.store.tournaments import Store
from enginetour.web import pages
from enginetour.web.hub import TournamentHub
from enginetour.web.live import Listener, LiveTournament
from enginetour.web.pages import DatabaseReader, StandingsData
from tests.support.databases import Server, add_game, draft, game, open_log
from tests.support.network import Stage, answered, in_a_hub, scope_of
from tests.support.tournaments import THREE, audited, config, left_running, pgn_games, read, running, tour

# Whole tournaments on a PostgreSQL server: killed and gone on with, several at once, and the same to every command.

CYCLES = "games_per_pairing = 2\ncycles = 3"


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime directory of the test, with a short path for sockets."""
    with TemporaryDirectory(prefix="run-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


def games(url: str, name: str = "trial") -> int:
    with Store.open(parse_address(url), create=False, readonly=True) as store:
        return audited(store.tournament(name))


def test_killed_twice(server: Server, tmp_path: Path, runtime: Path) -> None:
    """After two SIGKILLs of the manager all announced games are in the database once, and the rest is played."""
    (tmp_path / "results").mkdir()
    url = server.schema().replace("tester@", "tester:sesame@")
    path = config(tmp_path, THREE, "roundrobin", CYCLES)
    seen = 0
    for _ in range(2):
        with running(tmp_path, path, "--db", url) as process:
            process.send(signal.SIGKILL)
        assert games(url) > seen
        seen = games(url)
    last = tour(tmp_path, "run", path.name, "--db", url)
    assert games(url) == 18
    written = [file.read_text() for file in (tmp_path / "results").iterdir() if file.is_file()]
    assert "sesame" not in "".join((last.stdout, last.stderr, *written)), "a password was shown"
    assert pgn_games(tmp_path / "results" / "trial.pgn") == 18
    assert "sound" in tour(tmp_path, "db", "check", "--db", url).stdout
    assert left_running(tmp_path) == []


def test_two_managers_at_once(server: Server, tmp_path: Path, runtime: Path) -> None:
    """Two managers play two tournaments in one database; a third one is rejected with the name of the manager."""
    (tmp_path / "results").mkdir()
    url = server.schema()
    one, other = (
        config(tmp_path, THREE, "roundrobin", "games_per_pairing = 2\ncycles = 200", name=name)
        for name in ("one", "other")
    )
    with running(tmp_path, one, "--db", url) as first, running(tmp_path, other, "--db", url) as second:
        refused = tour(tmp_path, "run", one.name, "--db", url, expect=5).stderr
        assert f"already running: pid {first.pid} on " in refused
        assert len(list((runtime / "enginetour").iterdir())) == 2  # nothing in their names tells a password
        assert read(tmp_path, "status", "-t", "one", "--db", url)["state"] == "running"
        assert read(tmp_path, "status", "-t", "other", "--db", url)["state"] == "running"
        for process, name in ((first, "one"), (second, "other")):
            assert "withdraws" in tour(tmp_path, "withdraw", "Wren 1", "-t", name, "--db", url).stdout
            tour(tmp_path, "finish", "-t", name, "--db", url)
            assert process.ended()[0] == 8
    assert list((runtime / "enginetour").iterdir()) == []
    assert games(url, "one") > 0
    assert games(url, "other") > 0
    with Store.open(parse_address(url), create=False) as store:
        assert store.tournament("one").gone == store.tournament("other").gone == {"Wren 1"}


COMMANDS = (
    ("status", "--json"),
    ("standings", "--csv"),
    ("standings", "--engines"),
    ("crosstable", "--pairs"),
    ("games", "--json"),
    ("games", "2"),
    ("ratings", "--json"),
    ("ratings", "--all", "--system", "elo"),
    ("ratings", "--all", "--since", "2020-01-01", "--tc", "depth=*"),
    ("ratings", "all", "--as-of", "edition 1"),
    ("history", "Wren 1"),
    ("import", "--list"),
    ("export", "pgn"),
)


def test_the_same_to_every_command(server: Server, tmp_path: Path, runtime: Path) -> None:
    """Every command gives the same result for a server and for a copy of its database in a file."""
    (tmp_path / "results").mkdir()
    url = server.schema()
    config(tmp_path, THREE, "roundrobin", "games_per_pairing = 2")
    tour(tmp_path, "run", "trial.toml", "--db", url)
    tour(tmp_path, "export", "pgn", "-o", "games.pgn", "--db", url)
    tags = (tmp_path / "games.pgn").read_text().replace('[Event "trial"]', '[Event "elsewhere"]')
    (tmp_path / "games.pgn").write_text(tags)
    tour(tmp_path, "import", "games.pgn", "--name", "files", "--db", url)
    tour(tmp_path, "ratings", "--all", "--system", "elo", "--db", url)
    tour(tmp_path, "lists", "define", "all", "--db", url)
    tour(tmp_path, "publish", "all", "--db", url)
    tour(tmp_path, "db", "copy", url, "copy.db")
    for words in COMMANDS:
        there, here = (tour(tmp_path, *words, "--db", place).stdout for place in (url, "copy.db"))
        assert there == here, words
        assert there, words
    for place in (url, "copy.db"):
        assert "1 tournament, 6 games, 1 import, 1 edition" in tour(tmp_path, "db", "check", "--db", place).stdout


# One view for many readings.


def test_unchanging(tmp_path: Path) -> None:
    """A snapshot does not show later changes and does not block the writer."""
    store, log = open_log(tmp_path / "t.db")
    with store, Store.open(tmp_path / "t.db", readonly=True) as reader:
        with reader.database.snapshot():
            add_game(log, game())
            assert reader.tournament("autumn").games() == []
            assert len(log.games()) == 1
            assert reader.tournament("autumn").last_position == 0
        assert reader.tournament("autumn").last_position == 1


def test_of_its_thread(tmp_path: Path) -> None:
    """Other threads see new data during a snapshot, and a snapshot ends after an exception."""
    store, log = open_log(tmp_path / "t.db")
    with store, ThreadPoolExecutor(1) as other:
        with pytest.raises(ValueError, match="on purpose"), store.database.snapshot():
            other.submit(add_game, log, game()).result()
            assert len(other.submit(log.games).result()) == 1
            assert log.games() == []
            raise ValueError("on purpose")
        assert len(log.games()) == 1


def test_one_in_another(tmp_path: Path) -> None:
    """Nested snapshots are one snapshot."""
    store, log = open_log(tmp_path / "t.db")
    with store, Store.open(tmp_path / "t.db", readonly=True) as reader, reader.database.snapshot():
        with reader.database.snapshot():
            add_game(log, game())
        assert reader.tournament("autumn").games() == []


# The playing hub: rooms as the pages find them that are opened sooner or later.


@pytest.mark.parametrize("runs", [False, True])
def test_a_page_opened_late_tells_of_the_same_games(stage: Stage, runs: bool) -> None:
    """Standings, headline and games agree on a page that is opened after a long time without listeners."""

    async def scene(hub: TournamentHub, app: ASGIApp) -> str:
        await answered(app, scope_of("/t/autumn/live.html"))
        live = hub.tournaments["autumn"]
        if runs:
            live.begin(stage.status())
        live.take({"event": "game", "number": stage.record(game()), "white": "Fruit", "black": "Toga"})
        return (await answered(app, scope_of("/t/autumn/live.html"))).body.decode()

    page = in_a_hub(stage.database, scene)
    assert '<td class="n">1</td><td class="n wide">1</td>' in page
    assert runs or "stopped · 1 of 12 games" in page


def test_a_run_that_begins_while_its_log_is_read_misses_no_line(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A game that ends between reading the log and the first event is shown."""
    read, began = DatabaseReader.standing, iter([True])

    async def standing(reader: DatabaseReader, entry: TournamentEntry, *, lines: bool) -> StandingsData:
        made = await read(reader, entry, lines=lines)
        for _ in began:
            stage.record(game())
            autumn.begin(stage.status())
        return made

    monkeypatch.setattr(DatabaseReader, "standing", standing)
    autumn = LiveTournament("autumn")

    async def scene(hub: TournamentHub, app: ASGIApp) -> list[int]:
        hub.tournaments["autumn"] = autumn
        await hub.ready(hub.entries[0])
        await hub.ready(hub.entries[0])
        return [line["number"] for line in autumn.lines]

    assert in_a_hub(stage.database, scene) == [1]


def test_pages_opened_together_read_the_log_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty pages of one moment share one reading of the standings, and a later page reads them again."""
    read, reads = DatabaseReader.standing, list[str]()

    async def standing(reader: DatabaseReader, entry: TournamentEntry, *, lines: bool) -> StandingsData:
        reads.append(entry.slug)
        return await read(reader, entry, lines=lines)

    monkeypatch.setattr(DatabaseReader, "standing", standing)

    async def scene(hub: TournamentHub, app: ASGIApp) -> list[int]:
        del app
        await asyncio.gather(*(hub.ready(hub.entries[0]) for _ in range(50)))
        together = len(reads)
        stage.record(game())
        live = await hub.ready(hub.entries[0])
        return [together, len(reads), live.progress["games_done"]]

    assert in_a_hub(stage.database, scene) == [1, 2, 1]


def test_a_failure_of_ours_is_no_word_about_the_database(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Internal errors are reported as such; problems of the database are reported once."""
    troubles = iter([KeyError("x"), StoreRefused("is busy"), StoreRefused("is busy")])

    async def entries(reader: DatabaseReader) -> list[TournamentEntry]:
        raise next(troubles)

    monkeypatch.setattr(DatabaseReader, "entries", entries)
    monkeypatch.setattr("enginetour.web.hub._POLL_S", 0.0)
    told, failed = list[str](), list[Exception]()

    async def scene(hub: TournamentHub, app: ASGIApp) -> None:
        while len(failed) < 2:  # the second one: there are no more troubles
            await asyncio.sleep(0)

    in_a_hub(stage.database, scene, told.append, failed.append)
    assert told == ["is busy"]
    assert isinstance(failed[0], KeyError)


# A log that the live page's server cannot fold, as it is of another version, took the boards of its run along.


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that cannot be folded."""

    def refused(log: TournamentReader) -> None:
        raise StoreRefused("the log is another version's", place=log.title)

    monkeypatch.setattr(pages, "format_of", refused)


@pytest.mark.usefixtures("unreadable")
def test_a_running_tournament_is_shown_without_its_table(stage: Stage) -> None:
    """The page of a running tournament works if its standings cannot be read."""

    async def scene(hub: TournamentHub, app: ASGIApp) -> list[int]:
        hub.live(hub.entries[0]).begin(stage.status())
        page, events = scope_of("/t/autumn/live.html"), scope_of("/t/autumn/events", "HEAD")
        return [(await answered(app, asked)).status for asked in (page, events)]

    assert in_a_hub(stage.database, scene) == [200, 200]


@pytest.mark.usefixtures("unreadable")
def test_what_is_wrong_with_it_is_told_once(stage: Stage) -> None:
    """The same problem of the database is reported once."""
    told: list[str] = []

    async def scene(hub: TournamentHub, app: ASGIApp) -> None:
        live = hub.live(hub.entries[0])
        live.begin(stage.status())
        await answered(app, scope_of("/t/autumn/live.html"))
        live.listeners.add(Listener())
        for number in range(1, 4):
            live.take({"event": "game", "number": number, "white": "Fruit", "black": "Toga"})
            await hub._look()

    in_a_hub(stage.database, scene, told.append)
    assert len(told) == 1


def test_a_database_in_use_is_no_empty_table(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request is rejected while another program locks the database, and can be repeated."""

    async def busy(*_: object, **__: object) -> None:
        raise StoreBusy("another program holds the database")

    async def scene(hub: TournamentHub, app: ASGIApp) -> int:
        del app
        live = hub.live(hub.entries[0])
        live.begin(stage.status())
        monkeypatch.setattr(DatabaseReader, "standing", busy)
        with pytest.raises(StoreBusy):
            await hub.ready(hub.entries[0])
        return len(live.table)

    assert in_a_hub(stage.database, scene) == 0


# Games that ended between two readings of one answer once made it contradict itself: a live page's server ended.


@pytest.fixture
def stage_of_reading_along(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Each time results are counted an opening is played to its end by both colors."""
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
def test_commands_tell_of_one_moment(stage_of_reading_along: Stage, tmp_path: Path, words: tuple[str, ...]) -> None:
    """The output of a command about a running tournament is consistent."""
    tour(tmp_path, *words)


def test_a_live_page_tells_of_one_moment(stage_of_reading_along: Stage) -> None:
    """The standings of one update are those of one moment."""

    async def look(hub: TournamentHub, _: object) -> list[int]:
        made = [await hub.reader.standing(hub.entries[-1], lines=True) for _ in range(2)]
        assert [table.progress["games_done"] for table in made] == [len(table.lines) for table in made]
        return [len(table.lines) for table in made]

    assert in_a_hub(stage_of_reading_along.database, look) == [2, 4]


def test_a_first_look_that_fails_ends_no_server(stage_of_reading_along: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure at the start is reported, and the next poll finds the tournament."""
    told: list[str] = []
    find, failures = DatabaseReader.entries, iter([StoreRefused("in this moment only")])

    async def found(reader: DatabaseReader) -> object:
        for failure in failures:
            raise failure
        return await find(reader)

    monkeypatch.setattr(DatabaseReader, "entries", found)
    monkeypatch.setattr("enginetour.web.hub._POLL_S", 0.0)

    async def look(hub: TournamentHub, _: object) -> str:
        assert hub.entry("match") is None
        while hub.entry("match") is None:
            await asyncio.sleep(0)
        return hub.entries[-1].name

    assert in_a_hub(stage_of_reading_along.database, look, told.append) == "match"
    assert told == ["in this moment only"]
