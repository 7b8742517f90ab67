"""Tests of backup, copy and upgrade."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from enginetour.model.errors import StorageFailed, StoreRefused, TourError, UsageRefused
from enginetour.model.game import Outcome
from enginetour.store import backup
from enginetour.store.address import Address, parse_address
from enginetour.store.backup import back_up, copy_store
from enginetour.store.check import inspect
from enginetour.store.database import schema_version
from enginetour.store.tables import METADATA, SCHEMA_VERSION
from enginetour.store.tournaments import Store
from tests.support.databases import (
    Server,
    add_game,
    counts_are_kept,
    draft,
    full_game,
    game,
    meddled,
    older_on_server,
    open_log,
    sound_log,
)
from tests.support.tournaments import tour

# Backups while other processes write.


def test_one_state_while_somebody_writes(tmp_path: Path) -> None:
    """The copy has all committed rows and no rows of an open transaction."""
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
    """An older copy is only replaced with `replace`."""
    store, log = open_log(tmp_path / "t.db")
    with store:
        back_up(tmp_path / "t.db", tmp_path / "copy.db")
        add_game(log, game())
        with pytest.raises(UsageRefused, match="--replace"):
            back_up(tmp_path / "t.db", tmp_path / "copy.db")
        Store.open(tmp_path / "copy.db", create=False, readonly=True).close()  # which leaves side files
        back_up(tmp_path / "t.db", tmp_path / "copy.db", replace=True)
    with Store.open(tmp_path / "copy.db", create=False) as copy:
        assert len(copy.tournament("autumn").games()) == 1


def test_what_is_never_replaced(tmp_path: Path) -> None:
    """The database itself, a file of another program and a database in use are never replaced."""
    store, _ = open_log(tmp_path / "t.db")
    other, _ = open_log(tmp_path / "other.db")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "link.db").symlink_to(tmp_path / "t.db")
    with store, other:
        for name, words in (("t", "itself"), ("link", "itself"), ("other", "in use")):
            with pytest.raises(UsageRefused, match=words):
                back_up(tmp_path / "t.db", tmp_path / f"{name}.db", replace=True)
        with pytest.raises(UsageRefused, match="not a SQLite database"):
            back_up(tmp_path / "t.db", tmp_path / "notes.txt", replace=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_log_of_another_database_is_not_adopted(tmp_path: Path) -> None:
    """A file with the name of the copy's log is an error, because SQLite would read it."""
    open_log(tmp_path / "t.db")[0].close()
    (tmp_path / "copy.db-wal").write_bytes(b"pages of another")
    with pytest.raises(UsageRefused, match="the log of a database"):
        back_up(tmp_path / "t.db", tmp_path / "copy.db")


@pytest.mark.parametrize("fault", ["damaged", "full", "lost row"])
def test_nothing_bears_the_name_before_all_is_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """A copy that cannot be finished or verified leaves no file, and the error names the file that was asked for."""
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
        monkeypatch.setattr(backup, "connect", lambda path, mode: real(f"{path.as_uri()}?{mode}", uri=True))
    else:
        monkeypatch.setattr(backup, "_verify", lambda _: {})
    with pytest.raises(TourError) as refused:
        back_up(path, target)
    assert refused.value.place == str(target)
    assert list(target.parent.iterdir()) == []


def test_refusals(tmp_path: Path) -> None:
    """A missing database or directory is an error, and no file is created."""
    with pytest.raises(StoreRefused, match="database does not exist"):
        back_up(tmp_path / "t.db", tmp_path / "copy.db")
    open_log(tmp_path / "t.db")[0].close()
    with pytest.raises(UsageRefused, match="directory does not exist"):
        back_up(tmp_path / "t.db", tmp_path / "none" / "copy.db")
    assert [path.name for path in tmp_path.iterdir()] == ["t.db"]


def test_nothing_to_back_up(tmp_path: Path) -> None:
    """An empty file is not backed up."""
    (tmp_path / "t.db").touch()
    with pytest.raises(StoreRefused, match=r"t\.db: does not contain a tournament"):
        back_up(tmp_path / "t.db", tmp_path / "copy.db")
    with pytest.raises(StoreRefused, match="database does not exist"):
        back_up(tmp_path / "other.db", tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir()] == ["t.db"]


@pytest.mark.parametrize("moment", ["locking", "ending"])
def test_two_backups_leave_each_other_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """Two backups at the same time do not damage each other's files."""
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
        return schema_version(place)

    if moment == "locking":
        monkeypatch.setattr(fcntl, "flock", overtaken)
        with pytest.raises(UsageRefused, match="--replace"):
            back_up(tmp_path / "t.db", target)
        assert target.read_bytes() == whole
        assert not beside.exists()
    else:
        monkeypatch.setattr(backup, "schema_version", followed)
        back_up(tmp_path / "t.db", target)
        assert beside.read_text() == "the next one's"


def test_only_its_owner_may_write_to_a_copy(tmp_path: Path) -> None:
    """A copy has the permissions of a new SQLite database, whatever the umask allows."""
    store, _ = open_log(tmp_path / "t.db")
    store.close()
    before = os.umask(0)
    try:
        made = back_up(tmp_path / "t.db", tmp_path / "copy.db")
    finally:
        os.umask(before)
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o644


# Copies from one backend to another.


def filled(place: Address) -> Address:
    store, log = open_log(place)
    with store:
        add_game(log, game())
        add_game(log, full_game())
        add_game(log, game("Phalanx", "HoiChess", Outcome.DRAW))
    return place


def test_there_and_back(place: Address, server: Server, tmp_path: Path) -> None:
    """Copies between files and a server have the same digest and the same games."""
    filled(place)
    there = parse_address(server.schema())
    back, again = tmp_path / "back.db", tmp_path / "again.db"
    made = [copy_store(source, target) for source, target in ((place, there), (there, back), (back, again))]
    assert len(set(made)) == 1
    assert made[0].tournaments == 1
    assert made[0].rows == sum(rows(back).values())
    for copy in (there, back, again):
        with Store.open(copy, create=False) as store:
            log = store.tournament()
            assert log.game(2).game == full_game()
            assert add_game(log, game("Toga", "Phalanx")) == 4  # keys continue
            assert store.create_tournament(draft("spring")).edition == 1
            assert counts_are_kept(log)


def rows(path: Path) -> dict[str, int]:
    connection = sqlite3.connect(path)
    found = {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in METADATA.tables}
    connection.close()
    return found


def test_an_empty_store(place: Address, tmp_path: Path) -> None:
    """The copy of an empty database is empty and can be used."""
    Store.open(place).close()
    assert copy_store(place, tmp_path / "copy.db").rows == 0
    open_log(tmp_path / "copy.db")[0].close()


def test_a_target_that_holds_something(place: Address, tmp_path: Path) -> None:
    """A target with tournaments is not changed, and a database is not copied onto itself."""
    source = filled(tmp_path / "source.db")
    filled(place)
    with pytest.raises(UsageRefused, match="the tournament 'autumn' already exists"):
        copy_store(source, place)
    with Store.open(place) as store:
        assert len(store.tournament().games()) == 3
    other = tmp_path / "other.db"
    with Store.open(other) as store:
        store.create_tournament(draft("spring"))
    with pytest.raises(UsageRefused, match=r"is not empty: it contains the tournament 'spring'"):
        copy_store(source, other)
    for itself in (source, place):
        with pytest.raises(UsageRefused, match="is the database itself"):
            copy_store(itself, itself)


def test_nothing_to_copy(place: Address, tmp_path: Path) -> None:
    """A missing source is an error, and no file is created."""
    with pytest.raises(StoreRefused, match="database does not exist"):
        copy_store(place, tmp_path / "copy.db")
    assert os.listdir(tmp_path) == []


def test_a_copy_that_is_not_what_was_read(place: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that differs leaves no rows and no new file."""
    source = filled(tmp_path / "source.db")
    others = count()
    monkeypatch.setattr(backup, "_digest", lambda blocks: (sum(map(len, blocks)), str(next(others))))
    with pytest.raises(StorageFailed, match="differs from the source"):
        copy_store(source, place)
    monkeypatch.undo()
    if isinstance(place, Path):
        assert not place.exists()
    assert copy_store(source, place).tournaments == 1


def test_cells_that_no_server_takes(server: Server, tmp_path: Path) -> None:
    """The error for a cell that a server cannot store names its table."""
    source = tmp_path / "source.db"
    filled(source)
    meddled(source, "UPDATE games SET plies = 'many' WHERE number = 2")
    with pytest.raises(StoreRefused, match="the table 'games' cannot be copied"):
        copy_store(source, parse_address(server.schema()))


def test_a_backup_of_a_server_is_a_file(server: Server, tmp_path: Path) -> None:
    """The backup of a database on a server is a SQLite database, and can be replaced."""
    place = parse_address(server.schema())
    store, log = sound_log(place)
    with store:
        made = back_up(place, tmp_path / "copy.db")
        add_game(log, game())
        with pytest.raises(UsageRefused, match="--replace"):
            back_up(place, tmp_path / "copy.db")
        assert back_up(place, tmp_path / "copy.db", replace=True).rows > made.rows
    assert os.listdir(tmp_path) == ["copy.db"]
    with Store.open(tmp_path / "copy.db", readonly=True) as store:
        assert inspect(store).findings == ()
        assert len(store.tournament().games()) == 1


def test_the_commands(server: Server, tmp_path: Path) -> None:
    """`db copy`, `backup`, `check` and `upgrade` accept both kinds of addresses."""
    filled(tmp_path / "t.db")
    url = server.schema()
    assert "written and verified: 1 tournament, " in tour(tmp_path, "db", "copy", "t.db", url).stdout
    assert "nothing to upgrade" in tour(tmp_path, "db", "upgrade", "--db", url).stdout
    assert "written and verified" in tour(tmp_path, "db", "backup", "b.db", "--db", url).stdout
    url = older_on_server(server, tmp_path)
    assert "enginetour db upgrade" in tour(tmp_path, "db", "check", "--db", url, expect=5).stderr
    done = tour(tmp_path, "db", "upgrade", "--db", url).stdout
    assert f"schema 6 upgraded to {SCHEMA_VERSION}; backup: {server.schema_of(url)}_schema_6" in done
    assert "nothing to upgrade" in tour(tmp_path, "db", "upgrade", "--db", url).stdout
