"""The hold of a run on its tournament: locks that are lost, commits whose answer is lost, servers that go away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection

from enginetour.model.errors import StorageFailed, StoreRefused
from enginetour.model.game import SideRecord, Withdrawn
from enginetour.store.address import Address, ServerAddress, address_of
from enginetour.store.database import Database, lock_of
from enginetour.store.dialect import StoreAway
from enginetour.store.games import lineup
from enginetour.store.log import TournamentLog
from enginetour.store.tournaments import Store
from tests.servers import Server
from tests.storing import add_game, counts_are_kept, game, open_log


def numbers(log: TournamentLog) -> list[int]:
    return [line.number for line in log.games()]


@pytest.fixture
def held(server: Server) -> Iterator[tuple[Address, TournamentLog, Any]]:
    """A tournament on a server under its lock, with some patience."""
    address = address_of(server.schema())
    store, log = open_log(address)
    store.database.patience = 30.0
    with store, lock_of(address, "autumn") as lock:
        log.under(lock)
        yield address, log, lock


@contextmanager
def answer_lost(monkeypatch: pytest.MonkeyPatch, *, arrives: bool) -> Iterator[None]:
    """The server goes away in the middle of the next commit, which has come through or has not."""
    real, lost = Database.writing, iter([True])

    @contextmanager
    def writing(self: Database, **more: Any) -> Iterator[Connection]:
        first = next(lost, False)
        with real(self, **more) as connection:
            yield connection
            if first and not arrives:
                raise StoreAway("the server hung up")
        if first:
            raise StoreAway("the server hung up")

    with monkeypatch.context() as patch:
        patch.setattr(Database, "writing", writing)
        yield
    assert next(lost, None) is None, "no commit was lost"


@pytest.mark.parametrize("arrives", [True, False])
def test_a_lost_answer(place: Address, monkeypatch: pytest.MonkeyPatch, arrives: bool) -> None:
    """A game whose commit was not answered is there once, and the run knows its number, whichever way it went."""
    store, log = open_log(place)
    store.database.patience = 30.0
    with store:
        for meeting in (1, 2):  # the first of a run, and a later one
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
    """A game that a cluster played twice stays one game, and is not taken for the one that was just written."""
    store, log = open_log(place)
    store.database.patience = 30.0
    with store:
        assert add_game(log, game()) == 1
        with answer_lost(monkeypatch, arrives=arrives):
            assert add_game(log, game()) is None
        assert numbers(log) == [1]


def test_without_patience_it_is_told(place: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that does not wait says that the server is away."""
    store, log = open_log(place)
    with store, answer_lost(monkeypatch, arrives=False), pytest.raises(StorageFailed, match="hung up"):
        add_game(log, game())
    assert StorageFailed.exit_code == 7


def test_second_run_is_refused(held: tuple[Address, TournamentLog, Any]) -> None:
    """A second run is refused and told who runs; another tournament, and the same one later, are not."""
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
    """The run goes on where its lock's connection was cut and nobody else has begun."""
    address, log, _ = held
    for meeting in (1, 2):
        server.cut("enginetour pid%")
        assert add_game(log, game(meeting=meeting)) == meeting
        with pytest.raises(StoreRefused, match="already running"):
            lock_of(address, "autumn").acquire()
    assert numbers(log) == [1, 2]


def test_a_lost_lock_that_somebody_has(server: Server, held: tuple[Address, TournamentLog, Any]) -> None:
    """Nothing more is written by a run whose tournament another one has taken."""
    address, log, _ = held
    assert add_game(log, game()) == 1
    server.cut("enginetour pid%")
    with lock_of(address, "autumn"), pytest.raises(StoreRefused, match="already running"):
        add_game(log, game(meeting=2))
    assert numbers(log) == [1]


@pytest.mark.parametrize("played", [0, 1])
def test_a_lost_lock_that_somebody_had(server: Server, held: tuple[Address, TournamentLog, Any], played: int) -> None:
    """Nor by one whose tournament another has gone on with meanwhile, also where it had not written yet itself."""
    address, log, _ = held
    for meeting in range(played):
        add_game(log, game(meeting=meeting + 1))
    server.cut("enginetour pid%")
    with Store.open(address, create=False) as other, lock_of(address, "autumn") as lock:
        theirs = other.tournament()
        theirs.under(lock)
        add_game(theirs, game("Phalanx", "HoiChess"))
    with pytest.raises(StoreRefused, match="somebody else writes"):
        add_game(log, game(meeting=9))
    assert numbers(log) == list(range(1, played + 2))


def test_a_dead_connection_that_the_server_believes_in(held: tuple[Address, TournamentLog, Any]) -> None:
    """The lock's old connection, which only the server takes for living, is ended for the new one."""
    _, log, lock = held
    believed = lock._raw
    lock._raw = None
    assert add_game(log, game()) == 1
    assert lock._raw is not believed
    with pytest.raises(Exception, match=r"terminating|closed|unexpectedly"):
        believed.execute("SELECT 1")


def test_a_server_that_is_started_again(server: Server, held: tuple[Address, TournamentLog, Any]) -> None:
    """A finished game waits for its server, which crashes and is started again: it is there once, and is told of."""
    _, log, _ = held
    told: list[str] = []
    log.database.tell = told.append
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
    """A finished game waits while somebody rewrites a table, and is tried again when its statement is cancelled."""
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
    """After the patience one line says so; a signal ends the waiting before."""
    _, log, _ = held
    log.database.patience = 0.3
    server.stop()
    try:
        with pytest.raises(StorageFailed, match="cannot be reached") as failed:
            add_game(log, game())
        assert "\n" not in str(failed.value)

        def hurried() -> None:
            raise KeyboardInterrupt

        log.database.patience, log.database.heed = 60.0, hurried
        with pytest.raises(KeyboardInterrupt):
            add_game(log, game())
    finally:
        server.start()
    log.database.heed = lambda: None
    assert add_game(log, game()) == 1


@pytest.mark.parametrize("arrives", [True, False])
def test_a_lost_answer_about_several_games(place: Address, monkeypatch: pytest.MonkeyPatch, arrives: bool) -> None:
    """All of them are in the log once, whether their commit came through or not, and the next ones go on.

    What an engine calls itself is learnt from the commit that is there.
    """
    store, log = open_log(place)
    store.database.patience = 30.0
    with store, lock_of(place, "autumn") as lock:
        log.under(lock)
        three = [replace(game(), white=SideRecord("Fruit 2.1")), game("Phalanx", "HoiChess"), game("Fruit", "HoiChess")]
        with answer_lost(monkeypatch, arrives=arrives):
            assert log.record_games([(one, ()) for one in three]) == [1, 2, 3]
        assert log.record_games([(game("Toga", "Phalanx"), ()), (game("Toga", "HoiChess"), ())]) == [4, 5]
        assert numbers(log) == [1, 2, 3, 4, 5]
        assert lineup(log)["Fruit"].own_name == "Fruit 2.1"
