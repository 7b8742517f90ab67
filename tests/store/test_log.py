"""Tests of writing the log of a tournament."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from sqlalchemy import Connection, text

from enginetour.interop.gamefilter import EngineNames, ratable_games
from enginetour.interop.pgn import read_games
from enginetour.model.errors import StorageFailed, StoreRefused, UsageRefused
from enginetour.model.game import (
    Added,
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameVoided,
    Note,
    Outcome,
    Pairing,
    Replaced,
    SideRecord,
    Withdrawn,
)
from enginetour.reports.games import count_endings
from enginetour.store.address import Address, ServerAddress, parse_address
from enginetour.store.database import Database, database_exists, lock_of
from enginetour.store.dialect import LockLost, StoreUnreachable
from enginetour.store.games import lineup
from enginetour.store.imports import import_games
from enginetour.store.log import TournamentLog
from enginetour.store.sqlite import TournamentLock, free_bytes
from enginetour.store.tournaments import Store
from tests.laws.test_log import STEPS, Step, take
from tests.support.databases import (
    STORING_NAMES,
    Server,
    add_game,
    counts_are_kept,
    draft,
    full_game,
    game,
    open_log,
    spec,
    write_games,
)
from tests.support.tournaments import FORKS

# Games and events are written completely or not at all, and once.

KEY = ("Fruit", "Toga", 1, 1)


@pytest.fixture
def store(place: Address) -> Iterator[Store]:
    with Store.open(place) as opened:
        yield opened


@pytest.fixture
def log(store: Store) -> TournamentLog:
    return store.create_tournament(draft())


def test_whole_game(log: TournamentLog) -> None:
    """A game is read exactly as it was written."""
    handed_in = full_game()
    assert add_game(log, handed_in) == 1
    stored = log.game(1)
    assert (stored.number, stored.game, stored.voided) == (1, handed_in, False)


def test_unprintable_cause(log: TournamentLog) -> None:
    """A game with text that UTF-8 cannot encode is stored."""
    add_game(log, replace(game(), cause="\ud800 died", white=SideRecord("\udfff")))
    assert log.game(1).game.cause == "? died"


def test_recorded_once(log: TournamentLog) -> None:
    """A game with the same key and replay number is stored once."""
    assert add_game(log, game(), [Note("round", "round 1")]) == 1
    before = log.pair_counts(), list(log.events()), log.notes()
    assert add_game(log, game(outcome=Outcome.BLACK), [Note("round", "again")]) is None
    assert add_game(log, game("Toga", "Fruit", Outcome.DRAW)) is None, "the key does not ask who had White"
    assert (log.pair_counts(), list(log.events()), log.notes()) == before


def test_games_in_one_transaction(tmp_path: Path) -> None:
    """Games written together give the same log as games written one by one."""
    other = game("Phalanx", "HoiChess", Outcome.DRAW)
    void = game("Fruit", "Phalanx", Outcome.VOID)
    again = replace(void, outcome=Outcome.BLACK, replay=1)
    games = [(game(), [Note("round", "one")]), (other, []), (game(), []), (void, [Note("a", "b"), Note("c", "d")])]
    games += [(again, []), (full_game(), [Note("round", "two")])]
    stored = []
    for name, together in (("one", False), ("all", True)):
        with Store.open(tmp_path / f"{name}.db") as store:
            log = store.create_tournament(draft())
            parts = [games] if together else [[one] for one in games]
            numbers = [number for part in parts for number in log.record_games(part)]
            assert numbers == [1, 2, None, 3, 4, 5]
            assert add_game(log, game("Toga", "Phalanx")) == 6
            found = [replace(one.game, started_unix=0.0) for one in log.full_games()]
            stored.append((found, list(log.events()), log.notes(), log.pair_counts(), log.replays(void.pairing.key)))
    assert stored[0] == stored[1]


def test_one_of_several_fails(log: TournamentLog) -> None:
    """If one game of a transaction fails, none is written, and later games can be."""
    with pytest.raises(KeyError):
        log.record_games([(game(), []), (game("Fruit", "Stranger"), [])])
    assert (list(log.events()), log.games(), log.last_position, log.pair_counts()) == ([], [], 0, {})
    assert log.record_games([(game(), []), (game("Phalanx", "Toga"), [])]) == [1, 2]


def test_unknown_side(log: TournamentLog) -> None:
    """A game with an unknown entrant writes nothing."""
    with pytest.raises(KeyError):
        add_game(log, game("Fruit", "Stranger"))
    assert (list(log.events()), log.games(), log.last_position) == ([], [], 0)


def test_events_in_order(log: TournamentLog) -> None:
    """Events are read in the order in which they were written."""
    add_game(log, game())
    newcomer = Entrant("Arasan", new=True, family="arasan", origin="US")
    other = Entrant("Crafty", rating=2500.5)
    events: list[Event] = [
        Withdrawn("HoiChess"),
        Added(newcomer),
        Replaced("Phalanx", other),
        GameVoided(game().pairing, Outcome.WHITE, "wrong book"),
        Extended((("cycles", 3),)),
        Extended((("cycles", 5),)),
    ]
    specs = {"Arasan": spec("Arasan"), "Crafty": spec("Crafty", hash="64")}
    for position, event in enumerate(events, 2):
        joins = event.entrant.name if isinstance(event, Added | Replaced) else ""
        assert log.record_event(event, spec=specs.get(joins)) == position
    assert list(log.events()) == [GameFinished(game().pairing, Outcome.WHITE), *events]
    assert log.last_position == 7
    assert log.extended_settings == {"cycles": 5}
    assert log.entrants == draft().entrants, "a replay starts from the list as it was"
    assert log.specs == {**draft().specs, **specs}


def test_notes_with_their_event(log: TournamentLog) -> None:
    """Decisions are stored with the event that caused them, in order."""
    parked = Note("parked", "Toga is parked", (("engine", "Toga"), ("section", ("Fruit", "Phalanx"))))
    add_game(log, game(), [parked, Note("round", "round 2 ½")])
    log.record_event(Withdrawn("Toga"), [Note("left", "Toga leaves")])
    assert log.notes() == [(1, parked), (1, Note("round", "round 2 ½")), (2, Note("left", "Toga leaves"))]


def test_notes_before_the_first_event(store: Store) -> None:
    """Decisions before the first event are stored too."""
    log = store.create_tournament(draft(), [Note("round", "round 1")])
    assert log.notes() == [(0, Note("round", "round 1"))]


def test_void_game_is_replayed(log: TournamentLog) -> None:
    """A void game is in the log, does not count, and can be replayed."""
    assert log.replays(KEY) == 0
    add_game(log, game(outcome=Outcome.VOID))
    assert log.replays(KEY) == 1
    assert log.pair_counts() == {}
    assert add_game(log, game(outcome=Outcome.DRAW, replay=1)) == 2
    assert log.replays(KEY) == 1
    assert log.pair_counts() == {("Fruit", "Toga"): (0, 1, 0)}


def test_struck_out_game(log: TournamentLog) -> None:
    """An annulled game is removed from the counts in the same transaction and can be replayed."""
    add_game(log, game())
    log.record_event(GameVoided(game().pairing, Outcome.WHITE), why="wrong net")
    assert log.pair_counts() == {}
    assert log.game(1).voided
    assert log.replays(KEY) == 1
    add_game(log, game(outcome=Outcome.BLACK, replay=1))
    assert log.pair_counts() == {("Fruit", "Toga"): (0, 0, 1)}
    assert counts_are_kept(log)


@pytest.mark.parametrize(
    "pairing, outcome",
    [
        (Pairing("Fruit", "Toga"), Outcome.BLACK),
        (Pairing("Toga", "Fruit"), Outcome.WHITE),
        (Pairing("Fruit", "Toga", meeting=2), Outcome.WHITE),
        (Pairing("Fruit", "Stranger"), Outcome.WHITE),
    ],
)
def test_nothing_to_strike_out(log: TournamentLog, pairing: Pairing, outcome: Outcome) -> None:
    """Only a stored game with this result can be annulled."""
    add_game(log, game())
    with pytest.raises(UsageRefused, match="not found"):
        log.record_event(GameVoided(pairing, outcome))
    assert log.last_position == 1


def test_struck_out_once(log: TournamentLog) -> None:
    """A game can be annulled once."""
    add_game(log, game())
    log.record_event(GameVoided(game().pairing, Outcome.WHITE))
    with pytest.raises(UsageRefused):
        log.record_event(GameVoided(game().pairing, Outcome.WHITE))
    assert counts_are_kept(log)


def test_who_left_cannot_leave(log: TournamentLog) -> None:
    """Only a present entrant can be withdrawn or replaced, and names are not reused."""
    log.record_event(Withdrawn("Toga"))
    for event in (Withdrawn("Toga"), Withdrawn("Stranger"), Replaced("Toga", Entrant("New"))):
        with pytest.raises(UsageRefused):
            log.record_event(event, spec=spec("New"))
    for known in (Added(Entrant("Toga")), Replaced("Fruit", Entrant("Phalanx"))):
        with pytest.raises(UsageRefused, match="already"):
            log.record_event(known, spec=spec("Toga"))
    assert log.last_position == 1


def test_joining_needs_a_way_to_start(log: TournamentLog) -> None:
    """A new entrant without a specification is an internal error and writes nothing."""
    with pytest.raises(TypeError):
        log.record_event(Added(Entrant("New")))
    assert log.last_position == 0


def test_lines_of_games(log: TournamentLog) -> None:
    """Games are listed without moves, filtered by engine, termination and incidents."""
    add_game(log, full_game())
    add_game(log, game("Phalanx", "Toga", Outcome.DRAW))
    add_game(log, game("Phalanx", "Fruit", Outcome.VOID))
    add_game(log, game("HoiChess", "Fruit"))
    log.record_event(GameVoided(game("HoiChess", "Fruit").pairing, Outcome.WHITE))

    def numbers(**filters: Any) -> list[int]:
        return [line.number for line in log.games(**filters)]

    assert numbers() == [1, 2, 3, 4]
    assert numbers(engine="Toga") == [1, 2]
    assert numbers(engine="Toga", opponent="Phalanx") == [2]
    assert numbers(engine="Toga' OR 1=1 --") == []
    assert numbers(termination="crash") == [1]
    assert numbers(termination="cra") == []
    assert numbers(outcome=Outcome.DRAW) == [2]
    assert numbers(incidents=True) == [1]
    assert numbers(counting=True) == [1, 2]
    assert numbers(first=3) == [3, 4]
    assert numbers(limit=2) == [3, 4]
    line = log.games()[0]
    assert (line.plies, line.incidents, line.culprit, line.voided, line.counts) == (4, 2, "Fruit", False, True)
    assert log.games()[3].voided
    assert [(number, incident.category) for number, incident in log.incidents()] == [
        (1, "crash"),
        (1, "protocol-warning"),
    ]


def test_many_games_stream(log: TournamentLog) -> None:
    """Whole games are read page by page, in order, from any number on."""
    for meeting in range(1, 231):
        add_game(log, game(meeting=meeting))
    assert [stored.game.pairing.meeting for stored in log.full_games()] == list(range(1, 231))
    assert [stored.number for stored in log.full_games(first=200)] == list(range(200, 231))
    with pytest.raises(UsageRefused, match="game 231 does not exist"):
        log.game(231)


def test_editions(store: Store) -> None:
    """A second tournament with the same name is its next edition; the newest edition is the default."""
    first, second = store.create_tournament(draft()), store.create_tournament(draft())
    store.create_tournament(draft("spring"))
    assert (first.edition, second.edition, second.title) == (1, 2, "autumn #2")
    assert store.tournament().name == "spring"
    assert store.tournament("autumn").edition == 2
    assert store.tournament("autumn", 1).id == first.id
    add_game(first, game())
    assert [(line.name, line.edition, line.entrants, line.games) for line in store.tournaments()] == [
        ("autumn", 1, 4, 1),
        ("autumn", 2, 4, 0),
        ("spring", 1, 4, 0),
    ]
    assert (store.has("autumn"), store.has("winter")) == (True, False)
    first.record_event(GameVoided(game().pairing, game().outcome), (), why="swapping")
    assert [line.games for line in store.tournaments()] == [0, 0, 0]


def test_unknown_tournament(store: Store) -> None:
    """The error for an unknown tournament names the known ones."""
    with pytest.raises(UsageRefused, match="does not contain a tournament"):
        store.tournament()
    store.create_tournament(draft())
    with pytest.raises(UsageRefused, match="did you mean 'autumn'") as refused:
        store.tournament("autmun")
    assert "choose one of: autumn" in str(refused.value)
    with pytest.raises(UsageRefused, match="edition 5 of autumn does not exist"):
        store.tournament("autumn", 5)


def test_configuration_comes_back(log: TournamentLog) -> None:
    """Configuration, seed and entrants are stored as they were at the start."""
    settings = {"format": {"cycles": 2, "system": "roundrobin"}}
    assert (log.config, log.seed, log.system, log.format_version) == (settings, 7, "roundrobin", 1)
    assert log.entrants == draft().entrants


def test_accepted_change(log: TournamentLog) -> None:
    """A changed binary is a new engine version; the counts of the entrant include both."""
    add_game(log, game())
    log.accept_change({"Fruit": spec("Fruit", "f2")})
    log.accept_change({"Fruit": spec("Fruit", "f3")})
    add_game(log, game(meeting=2))
    assert log.specs["Fruit"].fingerprint == "f3"
    assert log.pair_counts() == {("Fruit", "Toga"): (2, 0, 0)}
    assert counts_are_kept(log)
    log.record_event(Replaced("Fruit", Entrant("Fruit")), spec=spec("Fruit", "f4"))
    assert log.specs["Fruit"].fingerprint == "f4"


def test_no_engine_changes_without_the_lock(place: Address) -> None:
    """A run that has lost its lock records no new engine version, as it records no game."""
    store, log = open_log(place)
    with store:
        with lock_of(place, "autumn") as lock:
            log.require_lock(lock)
        before = log.specs["Fruit"]
        with pytest.raises(LockLost):
            log.accept_change({"Fruit": spec("Fruit", "f2")})
        assert log.specs["Fruit"] == before


def test_own_name_is_learnt(store: Store, log: TournamentLog) -> None:
    """The name that an engine reports is stored with its first game."""
    add_game(log, replace(game(), white=SideRecord("Fruit 2.1 " + "x" * 200)))
    with store.database.reading() as connection:
        own_name = connection.execute(text("SELECT own_name FROM engines WHERE name = 'Fruit'")).scalar_one()
    assert own_name.startswith("Fruit 2.1 x")
    assert len(own_name) == 100


def test_full_disk(tmp_path: Path) -> None:
    """A game that does not fit on the disk writes nothing, and later games can be written."""
    store, log = open_log(tmp_path / "t.db")
    add_game(log, game())
    with store.database.writing() as connection:  # the connection that is kept for the next write
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
    huge = game(meeting=2)
    noise = "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz", k=200_000))
    huge = replace(huge, moves=(huge.moves[0]._replace(pv=noise),))
    with pytest.raises(StorageFailed, match="disk is full"):
        add_game(log, huge, [Note("round", "lost")])
    assert ([line.number for line in log.games()], log.last_position, log.notes()) == ([1], 1, [])
    with store.database.writing() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    assert add_game(log, huge) == 2
    assert counts_are_kept(log)
    store.close()


@pytest.mark.parametrize("kills", [6, pytest.param(300, marks=pytest.mark.night)])
def test_killed_writer(tmp_path: Path, kills: int) -> None:
    """Every game that was reported before a SIGKILL is stored once, with its notes and counts."""
    path = tmp_path / "t.db"
    store, _ = open_log(path)
    store.close()
    dice = random.Random(20070619)
    for _ in range(kills):
        hears, told = FORKS.Pipe(duplex=False)
        writer = FORKS.Process(target=write_games, args=(path, told))
        writer.start()
        told.close()
        announced = [hears.recv() for _ in range(dice.randrange(1, 60))]
        writer.kill()
        writer.join()
        with suppress(EOFError):
            while True:
                announced.append(hears.recv())
        hears.close()
        with Store.open(path) as store:
            log = store.tournament()
            numbers = [line.number for line in log.games()]
            assert set(announced) <= set(numbers)
            assert numbers == list(range(1, len(numbers) + 1))
            assert len(numbers) - announced[-1] in (0, 1), "at most the one game that was not announced yet"
            assert [event.pairing.meeting for event in log.events() if isinstance(event, GameFinished)] == numbers
            assert [(position, note.text) for position, note in log.notes()] == [(n, str(n)) for n in numbers]
            assert all(stored.game.moves for stored in log.full_games())
            assert counts_are_kept(log)
            assert list(store.database.integrity()) == []


def test_two_connections(tmp_path: Path) -> None:
    """A second connection can write an event, and the first one sees it."""
    store, log = open_log(tmp_path / "t.db")
    with Database.open(tmp_path / "t.db") as other:
        Store(other).tournament().record_event(Withdrawn("Toga"))
    add_game(log, game("Fruit", "Phalanx"))
    assert next(log.events()) == Withdrawn("Toga")
    assert log.last_position == 2
    store.close()


def test_read_only(tmp_path: Path) -> None:
    """A reader can read everything and write nothing."""
    store, log = open_log(tmp_path / "t.db")
    add_game(log, game())
    with Store.open(tmp_path / "t.db", readonly=True) as reader:
        assert len(reader.tournament().games()) == 1
        with pytest.raises(StorageFailed):
            add_game(reader.tournament(), game(meeting=2))
    store.close()


def test_draft_without_a_way_to_start(store: Store) -> None:
    """Every entrant of a draft needs a unique name and a specification."""
    for broken in (replace(draft(), specs={}), replace(draft(), entrants=(Entrant("Fruit"), Entrant("Fruit")))):
        with pytest.raises(ValueError):
            store.create_tournament(broken)
    assert store.tournaments() == []
    assert {entrant.name for entrant in store.create_tournament(draft()).entrants} == set(STORING_NAMES)


# Lost locks, commits without a response, and servers that cannot be reached.


def numbers(log: TournamentLog) -> list[int]:
    return [line.number for line in log.games()]


@pytest.fixture
def held(server: Server) -> Iterator[tuple[Address, TournamentLog, Any]]:
    """A locked tournament on a server, with some patience."""
    address = parse_address(server.schema())
    store, log = open_log(address)
    store.database.patience = 30.0
    with store, lock_of(address, "autumn") as lock:
        log.require_lock(lock)
        yield address, log, lock


@contextmanager
def answer_lost(monkeypatch: pytest.MonkeyPatch, *, arrives: bool) -> Iterator[None]:
    """Disconnect in the next commit, which succeeds or not."""
    real, lost = Database.writing, iter([True])

    @contextmanager
    def writing(self: Database, **more: Any) -> Iterator[Connection]:
        first = next(lost, False)
        with real(self, **more) as connection:
            yield connection
            if first and not arrives:
                raise StoreUnreachable("the server closed the connection")
        if first:
            raise StoreUnreachable("the server closed the connection")

    with monkeypatch.context() as patch:
        patch.setattr(Database, "writing", writing)
        yield
    assert next(lost, None) is None, "no commit was lost"


@pytest.mark.parametrize("arrives", [True, False])
def test_a_lost_answer(place: Address, monkeypatch: pytest.MonkeyPatch, arrives: bool) -> None:
    """A game whose commit got no response is stored once, with a known number."""
    store, log = open_log(place)
    store.database.patience = 30.0
    with store:
        for meeting in (1, 2):  # the first game of a run, and a later one
            with answer_lost(monkeypatch, arrives=arrives):
                assert add_game(log, game(meeting=meeting)) == meeting
        with answer_lost(monkeypatch, arrives=arrives):
            assert log.record_event(Withdrawn("Fruit")) == 3
        assert add_game(log, game("Phalanx", "HoiChess")) == 3
        assert numbers(log) == [1, 2, 3]
        assert log.last_position == 4
        assert counts_are_kept(log)


@pytest.mark.parametrize("arrives", [True, False])
def test_a_lost_answer_about_a_game_that_was_there(
    place: Address, monkeypatch: pytest.MonkeyPatch, arrives: bool
) -> None:
    """A game that was stored before is not taken for the game of the lost commit."""
    store, log = open_log(place)
    store.database.patience = 30.0
    with store:
        assert add_game(log, game()) == 1
        with answer_lost(monkeypatch, arrives=arrives):
            assert add_game(log, game()) is None
        assert numbers(log) == [1]


def test_without_patience_it_is_told(place: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command without patience reports at once that the server cannot be reached."""
    store, log = open_log(place)
    with store, answer_lost(monkeypatch, arrives=False), pytest.raises(StorageFailed, match="closed the connection"):
        add_game(log, game())
    assert StorageFailed.exit_code == 7


def test_second_run_is_refused(held: tuple[Address, TournamentLog, Any]) -> None:
    """A second run of the same tournament is an error that names the first run."""
    address, _, lock = held
    with pytest.raises(StoreRefused, match=r"already running: pid \d+ on .+ since \d{4}-"):
        lock_of(address, "autumn").acquire()
    with pytest.raises(RuntimeError):
        lock.acquire()
    with lock_of(address, "spring"):
        pass
    lock.release()
    lock.release()
    with lock_of(address, "autumn"):
        pass


def test_a_lost_lock_is_got_again(server: Server, held: tuple[Address, TournamentLog, Any]) -> None:
    """A run regains a lost lock if no other run has taken it."""
    address, log, _ = held
    for meeting in (1, 2):
        server.cut("enginetour pid%")
        assert add_game(log, game(meeting=meeting)) == meeting
        with pytest.raises(StoreRefused, match="already running"):
            lock_of(address, "autumn").acquire()
    assert numbers(log) == [1, 2]


def test_a_lost_lock_that_somebody_has(server: Server, held: tuple[Address, TournamentLog, Any]) -> None:
    """A run writes nothing after another run has taken its lock."""
    address, log, _ = held
    assert add_game(log, game()) == 1
    server.cut("enginetour pid%")
    with lock_of(address, "autumn"), pytest.raises(StoreRefused, match="already running"):
        add_game(log, game(meeting=2))
    assert numbers(log) == [1]


@pytest.mark.parametrize("played", [0, 1])
def test_a_lost_lock_that_somebody_had(server: Server, held: tuple[Address, TournamentLog, Any], played: int) -> None:
    """A run writes nothing after another run has written to its tournament."""
    address, log, _ = held
    for meeting in range(played):
        add_game(log, game(meeting=meeting + 1))
    server.cut("enginetour pid%")
    with Store.open(address, create=False) as other, lock_of(address, "autumn") as lock:
        theirs = other.tournament()
        theirs.require_lock(lock)
        add_game(theirs, game("Phalanx", "HoiChess"))
    with pytest.raises(StoreRefused, match="another process writes"):
        add_game(log, game(meeting=9))
    assert numbers(log) == list(range(1, played + 2))


def test_a_dead_connection_that_the_server_believes_in(held: tuple[Address, TournamentLog, Any]) -> None:
    """The old connection of a lock is ended if the server still has it."""
    _, log, lock = held
    believed = lock._raw
    lock._raw = None
    assert add_game(log, game()) == 1
    assert lock._raw is not believed
    with pytest.raises(Exception, match=r"terminating|closed|unexpectedly"):
        believed.execute("SELECT 1")


def test_a_server_that_is_started_again(server: Server, held: tuple[Address, TournamentLog, Any]) -> None:
    """A finished game is written once after the server was restarted."""
    _, log, _ = held
    told: list[str] = []
    log.database.notify = told.append
    assert add_game(log, game()) == 1
    server.stop()
    with ThreadPoolExecutor(1) as aside:
        late = aside.submit(add_game, log, game(meeting=2))
        while not told and not late.done():
            pass
        server.start()
        assert late.result() == 2
    assert add_game(log, game(meeting=3)) == 3
    assert numbers(log) == [1, 2, 3]
    assert counts_are_kept(log)
    assert len(told) == 1
    assert "the server cannot be reached" in told[0]


def test_a_table_that_the_owner_holds(server: Server, held: tuple[Address, TournamentLog, Any]) -> None:
    """A finished game waits for a locked table, and is written again after a cancelled statement."""
    import psycopg

    address, log, _ = held
    assert isinstance(address, ServerAddress)
    assert add_game(log, game()) == 1
    cancelled: list[bool] = []
    with psycopg.connect(address.url) as owner:
        owner.execute("LOCK TABLE games IN ACCESS EXCLUSIVE MODE")

        def act() -> None:
            while not (waiting := server.ask("SELECT pid FROM pg_stat_activity WHERE wait_event = 'relation'")):
                pass
            cancelled.append(bool(server.ask(f"SELECT pg_cancel_backend({waiting[0][0]})")))
            owner.rollback()

        late = threading.Thread(target=act)
        late.start()
        assert add_game(log, game(meeting=2)) == 2
        late.join()
    assert cancelled == [True]
    assert numbers(log) == [1, 2]


def test_a_server_that_does_not_come_back(server: Server, held: tuple[Address, TournamentLog, Any]) -> None:
    """The wait for a server ends after the patience or with a signal, with a one-line error."""
    _, log, _ = held
    log.database.patience = 0.3
    server.stop()
    try:
        with pytest.raises(StorageFailed, match="cannot be reached") as failed:
            add_game(log, game())
        assert "\n" not in str(failed.value)

        def hurried() -> None:
            raise KeyboardInterrupt

        log.database.patience, log.database.check_stop = 60.0, hurried
        with pytest.raises(KeyboardInterrupt):
            add_game(log, game())
    finally:
        server.start()
    log.database.check_stop = lambda: None
    assert add_game(log, game()) == 1


@pytest.mark.parametrize("arrives", [True, False])
def test_a_lost_answer_about_several_games(place: Address, monkeypatch: pytest.MonkeyPatch, arrives: bool) -> None:
    """Several games whose commit got no response are stored once, with the names that engines reported."""
    store, log = open_log(place)
    store.database.patience = 30.0
    with store, lock_of(place, "autumn") as lock:
        log.require_lock(lock)
        three = [replace(game(), white=SideRecord("Fruit 2.1")), game("Phalanx", "HoiChess"), game("Fruit", "HoiChess")]
        with answer_lost(monkeypatch, arrives=arrives):
            assert log.record_games([(one, ()) for one in three]) == [1, 2, 3]
        assert log.record_games([(game("Toga", "Phalanx"), ()), (game("Toga", "HoiChess"), ())]) == [4, 5]
        assert numbers(log) == [1, 2, 3, 4, 5]
        assert lineup(log)["Fruit"].own_name == "Fruit 2.1"


# The cache of a writer gives the same values as the database.

KEYS = [(*sorted((one, other)), meeting, 1) for one in STORING_NAMES for other in STORING_NAMES for meeting in (1, 2)]


def assert_as_read(store: Store, log: TournamentLog) -> None:
    """Compare the values of a writer with those of a reader."""
    reader = store.tournament()
    assert log.pair_counts() == reader.pair_counts()
    assert list(log.pair_counts()) == list(reader.pair_counts())
    assert log.known_ratings == reader.known_ratings
    for one, other, meeting, leg in KEYS:
        key = (str(one), str(other), int(meeting), int(leg))
        assert (log.replays(key), log.aborts(key)) == (reader.replays(key), reader.aborts(key))


@settings(max_examples=6, deadline=None)
@given(STEPS)
def test_what_is_remembered_is_what_is_written(steps: list[Step]) -> None:
    """The cache is correct after void games, duplicates and changed engines."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "t.db") as store:
        log = store.create_tournament(draft())
        for step in steps:
            take(log, step)
            assert_as_read(store, log)


def test_games_given_up_are_remembered_apart(tmp_path: Path) -> None:
    """Aborted games are counted separately among the void games."""
    with Store.open(tmp_path / "t.db") as store:
        log = store.create_tournament(draft())
        given_up = replace(game(outcome=Outcome.VOID), category="engine-abort")
        add_game(log, given_up)
        assert_as_read(store, log)
        add_game(log, replace(given_up, replay=1))
        add_game(log, replace(game(outcome=Outcome.VOID, replay=2), category="start-failure"))
        assert_as_read(store, log)
        assert (log.replays(game().pairing.key), log.aborts(game().pairing.key)) == (3, 2)


def test_a_game_that_was_not_written_is_not_remembered(tmp_path: Path) -> None:
    """A game that was not written does not change the cache; a new entrant does."""
    with Store.open(tmp_path / "t.db") as store:
        log = store.create_tournament(draft())
        add_game(log, game())
        assert_as_read(store, log)
        assert add_game(log, game(outcome=Outcome.BLACK)) is None
        with pytest.raises(KeyError):
            add_game(log, game(black="Stranger"))
        assert_as_read(store, log)
        log.record_event(Replaced("Toga", Entrant("Rival", rating=2100.0)), spec=spec("Rival"))
        assert_as_read(store, log)
        add_game(log, game(black="Rival"))
        assert_as_read(store, log)
        assert ("Fruit", "Rival") in log.pair_counts()


# Faults of files.


def test_a_removed_database_takes_no_more_games(tmp_path: Path) -> None:
    """A game is not written to a database file that was removed."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game())
        (tmp_path / "x.db").rename(tmp_path / "kept.db")
        with pytest.raises(StorageFailed, match="removed or replaced"):
            add_game(log, game(meeting=2))
        shutil.copy(tmp_path / "kept.db", tmp_path / "x.db")
        with pytest.raises(StorageFailed, match="removed or replaced"):
            log.record_event(Withdrawn("Fruit"))


def test_a_removed_log_of_the_database_takes_no_more_games(tmp_path: Path) -> None:
    """After the removal of the log file, the run ends and its games are saved."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game())
        (tmp_path / "x.db-wal").unlink()
        with pytest.raises(StorageFailed, match=r"x\.db-wal: was removed while it was in use"):
            add_game(log, game(meeting=2))
    with Store.open(tmp_path / "x.db") as store:
        log = store.tournament("autumn")
        assert [line.meeting for line in log.games()] == [1]
        add_game(log, game(meeting=2))


def test_a_log_made_anew_is_no_removed_one(tmp_path: Path) -> None:
    """A log that SQLite itself removes and creates again is valid."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game())
        store.database.close()
        assert not (tmp_path / "x.db-wal").exists()
        add_game(log, game(meeting=2))
        assert len(log.games()) == 2


def test_a_database_with_two_names_is_not_written(tmp_path: Path) -> None:
    """A database with hard links can be read, but not written."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game())
    (tmp_path / "y.db").hardlink_to(tmp_path / "x.db")
    for name in ("x.db", "y.db"):
        with pytest.raises(
            StoreRefused, match=rf"{name}: has a second name .* make a copy with one name: cp {name} new"
        ):
            Store.open(tmp_path / name)
        with Store.open(tmp_path / name, readonly=True) as found:
            assert len(found.tournament("autumn").games()) == 1
    shutil.copy(tmp_path / "x.db", tmp_path / "new.db")
    (tmp_path / "new.db").rename(tmp_path / "x.db")
    Store.open(tmp_path / "x.db").close()


def test_two_writers_are_noticed(tmp_path: Path) -> None:
    """A run stops if another run writes to its tournament, even after the lock file was removed."""
    store, log = open_log(tmp_path / "x.db")
    with store, Store.open(tmp_path / "x.db") as other_store:
        add_game(log, game())
        add_game(other_store.tournament("autumn"), game(meeting=2))
        for late in (game(meeting=2), game(meeting=3)):
            with pytest.raises(StoreRefused, match="another process writes"):
                add_game(log, late)
        assert len(log.games()) == 2


def test_a_refused_event_is_no_second_writer(tmp_path: Path) -> None:
    """A rolled back event and a duplicate game are not taken for another writer."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game())
        with pytest.raises(UsageRefused):
            log.record_event(Withdrawn("Nobody"))
        assert add_game(log, game()) is None
        assert add_game(log, game(meeting=2)) == 2


def test_a_finished_game_waits_for_a_busy_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finished game is written even if another command holds the file for a long time."""
    monkeypatch.setattr("enginetour.store.dialect.BUSY_TIMEOUT_MS", 10)
    store, log = open_log(tmp_path / "x.db")
    with store:
        other = sqlite3.connect(tmp_path / "x.db", isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreRefused, match="locked"):
            log.record_event(Withdrawn("Fruit"))
        timer = threading.Timer(0.2, lambda: other.execute("ROLLBACK"))
        timer.start()
        assert add_game(log, game()) == 1
        timer.join()
        other.close()


def test_a_game_number_beyond_all_games(tmp_path: Path) -> None:
    """Any invalid number of a game is a one-line error."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        for number in (10**30, 1 << 63, 2, 0, -1):
            with pytest.raises(UsageRefused, match=f"game {number} does not exist"):
                log.game(number)


def test_a_lock_on_a_removed_file_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock is valid only if its file still has its name."""
    lock = TournamentLock(tmp_path / "x.db", "autumn")
    flock = fcntl.flock

    def removing(fd: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        lock.path.unlink()
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", removing)
    with lock, pytest.raises(StoreRefused, match=f"already running: pid {os.getpid()}"):
        TournamentLock(tmp_path / "x.db", "autumn").acquire()


def test_only_a_game_given_up_counts_as_an_abort(tmp_path: Path) -> None:
    """Only games that an engine aborted count as aborts."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        for number, category in enumerate(("host", "engine-abort", "start-failure")):
            add_game(log, replace(game(outcome=Outcome.VOID, replay=number), category=category))
        key = game().pairing.key
        assert (log.replays(key), log.aborts(key)) == (3, 1)


def test_an_empty_file_is_yet_to_be_made(tmp_path: Path) -> None:
    """An empty file counts as a missing database; a directory or any content does not."""
    path = tmp_path / "x.db"
    assert not database_exists(path)
    path.touch()
    assert not database_exists(path)
    path.write_bytes(b"theirs")
    assert database_exists(path)
    assert database_exists(tmp_path)


def test_room_on_a_disk_is_told_in_bytes(tmp_path: Path) -> None:
    """Free space is infinite if it is unknown."""
    found = os.statvfs(tmp_path)
    assert 0 < free_bytes(tmp_path) <= found.f_blocks * found.f_frsize
    assert free_bytes(tmp_path / "gone") == float("inf")


def test_endings_are_counted_without_a_line_for_each_game(tmp_path: Path) -> None:
    """Terminations are counted without void and annulled games."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        for meeting in (1, 2, 3):
            add_game(log, game(meeting=meeting))
        add_game(log, game(meeting=4, outcome=Outcome.VOID))
        log.record_event(GameVoided(game(meeting=2).pairing, Outcome.WHITE, "why"))
        assert log.endings() == count_endings(log.games(counting=True)) == {"resign": 2}


def test_an_import_takes_no_games_of_ours(tmp_path: Path) -> None:
    """Games cannot be written to an import."""
    path = tmp_path / "g.pgn"
    path.write_text('[White "Fruit"]\n[Black "Toga"]\n[Result "1-0"]\n\n')
    with Store.open(tmp_path / "x.db") as store:
        games = read_games([path])
        import_games(store.database, "CCRL", games, ratable_games(games, EngineNames()), [str(path)])
        with pytest.raises(UsageRefused, match="is an import"):
            store.tournament("CCRL").record_games([(game(), ())])
