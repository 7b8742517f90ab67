"""Tests of lock files, slugs, and databases that a process opens twice."""

from __future__ import annotations

import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from enginetour.model.errors import StorageFailed, StoreRefused, UsageRefused
from enginetour.store.address import slug_of
from enginetour.store.database import database_exists
from enginetour.store.sqlite import TournamentLock, lock_path, translating_errors
from enginetour.store.tournaments import Store
from tests.support.databases import play_on, reported_played

HOLDER = """
import sys
from enginetour.store.sqlite import TournamentLock
with TournamentLock(sys.argv[1], "autumn"):
    print("held", flush=True)
    sys.stdin.readline()
"""


def holder(database: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, os.fspath(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    """Only `results` of an existing workspace is created; a misspelled directory is an error with the command."""
    Store.open(tmp_path / "results" / "x.db").close()
    (tmp_path / "file").touch()
    for folder in (tmp_path / "reslts", tmp_path / "a" / "results", tmp_path / "file"):
        with pytest.raises(UsageRefused, match=rf"{folder}: directory does not exist. Hint: create it first: mkdir -p"):
            Store.open(folder / "x.db")
        assert not folder.is_dir()


@pytest.mark.parametrize(
    ("free", "flags", "what"),
    [
        (0, 0, "the disk is full"),
        (1 << 20, os.ST_RDONLY, "the disk is read-only"),
        (1 << 20, 0, "cannot be read or wri"),
    ],
)
def test_the_disk_is_named_as_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, flags: int, what: str
) -> None:
    """SQLite reports a full or a read-only disk as a file that cannot be opened; the error has the reason."""
    disk = SimpleNamespace(f_bavail=free, f_frsize=1, f_blocks=1, f_flag=flags)
    monkeypatch.setattr(os, "statvfs", lambda _: disk)
    with pytest.raises(StorageFailed, match=rf"x.db: {what}.*Hint: "), translating_errors(tmp_path / "x.db"):
        sqlite3.connect(tmp_path / "none" / "x.db")


def test_second_process_is_refused(tmp_path: Path) -> None:
    """A second run of the same tournament is an error that names the first run."""
    database = tmp_path / "t.db"
    with holder(database) as first:
        with pytest.raises(StoreRefused, match=rf"already running: pid {first.pid} on .+ since \d{{4}}-"):
            TournamentLock(database, "autumn").acquire()
        TournamentLock(database, "spring").acquire()
        first.communicate("end\n")
    with TournamentLock(database, "autumn"):
        pass


def test_lock_dies_with_its_process(tmp_path: Path) -> None:
    """The lock file of a killed process does not lock anything."""
    database = tmp_path / "t.db"
    with holder(database) as first:
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert lock_path(database, "autumn").read_text().startswith(f"pid {first.pid} ")
        with TournamentLock(database, "autumn") as lock:
            assert lock.path.read_text().startswith(f"pid {os.getpid()} ")


def test_second_lock_of_one_process(tmp_path: Path) -> None:
    """The same process cannot lock a tournament twice, but again after a release."""
    first, second = TournamentLock(tmp_path / "t.db", "autumn"), TournamentLock(tmp_path / "t.db", "autumn")
    first.acquire()
    with pytest.raises(StoreRefused):
        second.acquire()
    first.release()
    first.release()
    second.acquire()
    second.release()


def test_link_is_not_followed(tmp_path: Path) -> None:
    """A symbolic link in place of a lock file is an error, and its target is not changed."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    lock_path(tmp_path / "t.db", "autumn").symlink_to(victim)
    with pytest.raises(StorageFailed):
        TournamentLock(tmp_path / "t.db", "autumn").acquire()
    assert victim.read_text() == "mine"


def test_odd_text_in_the_file(tmp_path: Path) -> None:
    """The text of a lock file is shown on one line without control characters."""
    first = TournamentLock(tmp_path / "t.db", "autumn")
    first.acquire()
    first.path.write_bytes(b"pid 1\x1b[2J\xff\nmore" + b"x" * 9999)
    with pytest.raises(StoreRefused) as refused:
        TournamentLock(tmp_path / "t.db", "autumn").acquire()
    assert "\x1b" not in str(refused.value)
    assert "more" not in str(refused.value)
    first.release()


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    """A lock that cannot be created is a StorageFailed."""
    with pytest.raises(StorageFailed):
        TournamentLock(tmp_path / "nowhere" / "t.db", "autumn").acquire()


@pytest.mark.parametrize(
    "name", ["autumn", "Autumn", "AUTUMN", "autumn.2", "autumn 2", "../../etc", "", "ä", "x" * 500]
)
def test_slug(name: str) -> None:
    """A slug is a safe file name of at most 64 characters."""
    for edition in (1, 2, 10_000):
        slug = slug_of(name, edition)
        assert 1 <= len(slug) <= 64
        assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
        assert slug[0] not in ".-"


def test_slugs_differ() -> None:
    """Different tournaments have different slugs."""
    names = ["autumn", "Autumn", "autumn.2", "autumn 2", "autumn-2", "autumn  2", "x" * 49, "x" * 50, "", "-"]
    slugs = [slug_of(name, edition) for name in names for edition in (1, 2, 3)]
    assert len(set(slugs)) == len(slugs)
    assert slug_of("autumn") == "autumn"


def test_the_file_goes_with_the_lock(tmp_path: Path) -> None:
    """A release removes the lock file, and the next run can take the lock."""
    with TournamentLock(tmp_path / "t.db", "autumn") as lock:
        assert lock.path.exists()
    assert not list(tmp_path.iterdir())


def test_a_file_of_another_stays(tmp_path: Path) -> None:
    """A release does not remove the lock file of another run."""
    first, second = (TournamentLock(tmp_path / "t.db", "autumn") for _ in range(2))
    first.acquire()
    first.path.unlink()
    second.acquire()
    first.release()
    with pytest.raises(StoreRefused):
        first.acquire()
    second.release()


def test_who_opened_the_file_before_it_went_locks_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that opened a lock file just before its removal locks the new file."""
    first, second = (TournamentLock(tmp_path / "t.db", "autumn") for _ in range(2))
    first.acquire()
    lock = fcntl.flock

    def late(fd: int, how: int) -> None:
        first.release()
        lock(fd, how)

    monkeypatch.setattr(fcntl, "flock", late)
    second.acquire()
    with pytest.raises(StoreRefused):
        TournamentLock(tmp_path / "t.db", "autumn").acquire()
    second.release()


@pytest.mark.parametrize("games", [0, 1])
def test_a_database_that_a_process_opens_twice(tmp_path: Path, games: int) -> None:
    """If a process opens a database a second time and closes it, other programs still see that it is in use.

    Otherwise, the next program that closes the database would remove the log of games that is in use.
    """
    path = tmp_path / "db"
    store, log = reported_played(path, ("Ada", "Bea"), options={"games_per_pairing": 4}, most=1)
    if not games:  # the log is empty after the last connection has closed
        store.close()
        store = Store.open(path)
        log = store.tournament("autumn")
    with store:
        for readonly in (False, True):
            assert database_exists(path)
            Store.open(path, create=False, readonly=readonly).close()
        words = f"from enginetour.store.tournaments import Store; Store.open({str(path)!r}, create=False).close()"
        subprocess.run([sys.executable, "-c", words], check=True, timeout=60)
        play_on(log, 1)
        assert log.last_number == 2
