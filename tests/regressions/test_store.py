"""What once broke between the log and its file."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.interop.gamefilter import Naming, ratable
from enginetour.interop.pgn import read_games
from enginetour.model.errors import StorageFailed, StoreRefused, UsageRefused
from enginetour.model.game import GameVoided, Outcome, Withdrawn
from enginetour.reports.games import endings_counted
from enginetour.store.database import is_made
from enginetour.store.games import endings
from enginetour.store.imports import import_games
from enginetour.store.sqlite import TournamentLock, free_bytes
from enginetour.store.tournaments import Store
from tests.storing import add_game, game, open_log


def test_a_removed_database_takes_no_more_games(tmp_path: Path) -> None:
    """A file that is open outlives its removal, the games written to it would not: the first one is refused."""
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
    """Somebody tidied x.db-wal away under a run: what is in it is saved as the run ends, and it ends at once."""
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
    """SQLite removes the log with the last connection and makes another with the next."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game())
        store.database.close()
        assert not (tmp_path / "x.db-wal").exists()
        add_game(log, game(meeting=2))
        assert len(log.games()) == 2


def test_a_database_with_two_names_is_not_written(tmp_path: Path) -> None:
    """Two runs by two hard links each had a lock and a log of its own; reading harms nobody."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game())
    (tmp_path / "y.db").hardlink_to(tmp_path / "x.db")
    for name in ("x.db", "y.db"):
        with pytest.raises(
            StoreRefused, match=rf"{name}: has a second name .*; make it a file of its own: cp {name} new"
        ):
            Store.open(tmp_path / name)
        with Store.open(tmp_path / name, readonly=True) as found:
            assert len(found.tournament("autumn").games()) == 1
    shutil.copy(tmp_path / "x.db", tmp_path / "new.db")
    (tmp_path / "new.db").rename(tmp_path / "x.db")
    Store.open(tmp_path / "x.db").close()


def test_two_writers_are_noticed(tmp_path: Path) -> None:
    """Somebody deleted the lock file and started a second run: the first stops instead of playing games for ever."""
    store, log = open_log(tmp_path / "x.db")
    with store, Store.open(tmp_path / "x.db") as other_store:
        add_game(log, game())
        add_game(other_store.tournament("autumn"), game(meeting=2))
        for late in (game(meeting=2), game(meeting=3)):
            with pytest.raises(StoreRefused, match="somebody else writes"):
                add_game(log, late)
        assert len(log.games()) == 2


def test_a_refused_event_is_no_second_writer(tmp_path: Path) -> None:
    """What was rolled back, and a game that came twice, leave the log as it was and writable."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game())
        with pytest.raises(UsageRefused):
            log.record_event(Withdrawn("Nobody"))
        assert add_game(log, game()) is None
        assert add_game(log, game(meeting=2)) == 2


def test_a_finished_game_waits_for_a_busy_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another command that holds the file longer than usual does not cost the game that has just ended."""
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
    """A slip of the finger is answered, and never reaches SQLite as a number it cannot hold."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        for number in (10**30, 1 << 63, 2, 0, -1):
            with pytest.raises(UsageRefused, match=f"there is no game {number} "):
                log.game(number)


def test_a_lock_on_a_removed_file_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is removed between opening and locking it: the lock is taken on the file that bears the name."""
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
    """Voids by the host or by hand are replays too, and are not held against the engine that gives up once."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        for number, category in enumerate(("host", "engine-abort", "start-failure")):
            add_game(log, replace(game(outcome=Outcome.VOID, replay=number), category=category))
        key = game().pairing.key
        assert (log.replays(key), log.aborts(key)) == (3, 1)


def test_an_empty_file_is_yet_to_be_made(tmp_path: Path) -> None:
    """As `mktemp` or a kill in the very first moment leaves it; a folder or any content is something."""
    path = tmp_path / "x.db"
    assert not is_made(path)
    path.touch()
    assert not is_made(path)
    path.write_bytes(b"theirs")
    assert is_made(path)
    assert is_made(tmp_path)


def test_room_on_a_disk_is_told_in_bytes(tmp_path: Path) -> None:
    """Where nobody can tell there is room: the write itself will say."""
    found = os.statvfs(tmp_path)
    assert 0 < free_bytes(tmp_path) <= found.f_blocks * found.f_frsize
    assert free_bytes(tmp_path / "gone") == float("inf")


def test_endings_are_counted_without_a_line_for_each_game(tmp_path: Path) -> None:
    """A resume of 10 000 games waited for that; void games and those struck out are none."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        for meeting in (1, 2, 3):
            add_game(log, game(meeting=meeting))
        add_game(log, game(meeting=4, outcome=Outcome.VOID))
        log.record_event(GameVoided(game(meeting=2).pairing, Outcome.WHITE, "why"))
        assert endings(log.database, log.id) == endings_counted(log.games(counting=True)) == {"resign": 2}


def test_an_import_takes_no_games_of_ours(tmp_path: Path) -> None:
    """Handed in several at once they ended in a failure of ours, a KeyError, where one alone was refused by name."""
    path = tmp_path / "g.pgn"
    path.write_text('[White "Fruit"]\n[Black "Toga"]\n[Result "1-0"]\n\n')
    with Store.open(tmp_path / "x.db") as store:
        games = read_games([path])
        import_games(store.database, "CCRL", games, ratable(games, Naming()), [str(path)])
        with pytest.raises(UsageRefused, match="is an import"):
            store.tournament("CCRL").record_games([(game(), ())])
