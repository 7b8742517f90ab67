"""A copy of a database while others write to it."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from enginetour.model.errors import StoreRefused, TourError, UsageRefused
from enginetour.model.game import Outcome
from enginetour.store import backup
from enginetour.store.backup import back_up
from enginetour.store.database import version_of
from enginetour.store.tournaments import Store
from tests.storing import add_game, game, open_log


def test_one_state_while_somebody_writes(tmp_path: Path) -> None:
    """The copy holds what was committed before it, and no part of a transaction that is open."""
    store, log = open_log(tmp_path / "t.db")
    with store:
        add_game(log, game())
        with store.database.writing() as connection:
            connection.exec_driver_sql("DELETE FROM notes")
            connection.exec_driver_sql("UPDATE games SET outcome = '0-1'")
            made = back_up(tmp_path / "t.db", tmp_path / "copy.db")
    assert made.bytes == (tmp_path / "copy.db").stat().st_size
    with Store.open(tmp_path / "copy.db", create=False) as copy:
        assert [line.outcome for line in copy.tournament("autumn").games()] == [Outcome.WHITE]


def test_replaced_on_request_only(tmp_path: Path) -> None:
    """An older copy gives way only when told to, and then to a newer state."""
    store, log = open_log(tmp_path / "t.db")
    with store:
        back_up(tmp_path / "t.db", tmp_path / "copy.db")
        add_game(log, game())
        with pytest.raises(UsageRefused, match="--replace"):
            back_up(tmp_path / "t.db", tmp_path / "copy.db")
        Store.open(tmp_path / "copy.db", create=False, readonly=True).close()  # leaves side files behind
        back_up(tmp_path / "t.db", tmp_path / "copy.db", replace=True)
    with Store.open(tmp_path / "copy.db", create=False) as copy:
        assert len(copy.tournament("autumn").games()) == 1


def test_what_is_never_replaced(tmp_path: Path) -> None:
    """The database itself, also by a link; a file of somebody else; a database somebody has open."""
    store, _ = open_log(tmp_path / "t.db")
    other, _ = open_log(tmp_path / "other.db")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "link.db").symlink_to(tmp_path / "t.db")
    with store, other:
        for name, words in (("t", "itself"), ("link", "itself"), ("other", "in use")):
            with pytest.raises(UsageRefused, match=words):
                back_up(tmp_path / "t.db", tmp_path / f"{name}.db", replace=True)
        with pytest.raises(UsageRefused, match="no SQLite database"):
            back_up(tmp_path / "t.db", tmp_path / "notes.txt", replace=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_log_of_another_database_is_not_adopted(tmp_path: Path) -> None:
    """SQLite would take the old log for that of the copy."""
    open_log(tmp_path / "t.db")[0].close()
    (tmp_path / "copy.db-wal").write_bytes(b"pages of another")
    with pytest.raises(UsageRefused, match="log of a database"):
        back_up(tmp_path / "t.db", tmp_path / "copy.db")


@pytest.mark.parametrize("fault", ["damaged", "full", "lost row"])
def test_nothing_bears_the_name_before_all_is_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """A copy that cannot be finished or verified leaves no file, whatever is wrong."""
    path, target = tmp_path / "t.db", tmp_path / "copies" / "copy.db"
    target.parent.mkdir()
    store, log = open_log(path)
    with store:
        for number in range(1, 30):
            add_game(log, game(meeting=number))
    if fault == "damaged":
        whole = bytearray(path.read_bytes())
        whole[8 * 4096 : 9 * 4096] = b"\x55" * 4096
        path.write_bytes(bytes(whole))
    elif fault == "full":
        real = sqlite3.connect

        def small(*place: object, **kept: object) -> sqlite3.Connection:
            made: sqlite3.Connection = real(*place, **kept)  # type: ignore[call-overload]
            made.execute("PRAGMA max_page_count=2")
            return made

        monkeypatch.setattr(sqlite3, "connect", small)
        monkeypatch.setattr(backup, "connected", lambda path, mode: real(f"{path.as_uri()}?{mode}", uri=True))
    else:
        monkeypatch.setattr(backup, "_verified", lambda _: {})
    with pytest.raises(TourError):
        back_up(path, target)
    assert list(target.parent.iterdir()) == []


def test_refusals(tmp_path: Path) -> None:
    """No database, no folder: one line, and nothing made."""
    with pytest.raises(StoreRefused, match="no database yet"):
        back_up(tmp_path / "t.db", tmp_path / "copy.db")
    open_log(tmp_path / "t.db")[0].close()
    with pytest.raises(UsageRefused, match="no such folder"):
        back_up(tmp_path / "t.db", tmp_path / "none" / "copy.db")
    assert [path.name for path in tmp_path.iterdir()] == ["t.db"]


def test_nothing_to_back_up(tmp_path: Path) -> None:
    """A file to which nothing was ever committed is named as it is, and no copy is made of it."""
    (tmp_path / "t.db").touch()
    with pytest.raises(StoreRefused, match=r"t\.db: holds no tournament yet"):
        back_up(tmp_path / "t.db", tmp_path / "copy.db")
    with pytest.raises(StoreRefused, match="no database yet"):
        back_up(tmp_path / "other.db", tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir()] == ["t.db"]


@pytest.mark.parametrize("moment", ["locking", "ending"])
def test_two_backups_leave_each_other_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """One that ends in the moment the other looks for its lock keeps its copy; one that begins then keeps its file."""
    store, log = open_log(tmp_path / "t.db")
    target, beside = tmp_path / "copy.db", tmp_path / ".copy.db.new"
    with store:
        add_game(log, game())
    whole = back_up(tmp_path / "t.db", tmp_path / "whole.db").path.read_bytes()
    flock = fcntl.flock

    def overtaken(mark: Any, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        beside.write_bytes(whole)
        beside.rename(target)
        flock(mark, operation)

    def followed(place: Path) -> int:
        if place == target:
            beside.write_text("the next one's")
        return version_of(place)

    if moment == "locking":
        monkeypatch.setattr(fcntl, "flock", overtaken)
        with pytest.raises(UsageRefused, match="--replace"):
            back_up(tmp_path / "t.db", target)
        assert target.read_bytes() == whole
        assert not beside.exists()
    else:
        monkeypatch.setattr(backup, "version_of", followed)
        back_up(tmp_path / "t.db", target)
        assert beside.read_text() == "the next one's"


def test_only_its_owner_may_write_to_a_copy(tmp_path: Path) -> None:
    """As SQLite makes a database, whatever the umask leaves open."""
    store, _ = open_log(tmp_path / "t.db")
    store.close()
    before = os.umask(0)
    try:
        made = back_up(tmp_path / "t.db", tmp_path / "copy.db")
    finally:
        os.umask(before)
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o644
