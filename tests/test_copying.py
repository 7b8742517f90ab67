"""A store put on another ground: all of it, compared, and counted on from there."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from enginetour.model.errors import StorageFailed, StoreRefused, UsageRefused
from enginetour.model.game import Outcome
from enginetour.store import backup
from enginetour.store.address import Address, address_of
from enginetour.store.backup import back_up, copy_store
from enginetour.store.check import inspect
from enginetour.store.tables import METADATA
from enginetour.store.tournaments import Store
from tests.servers import Server
from tests.storing import add_game, counts_are_kept, draft, full_game, game, meddled, open_log, sound_log
from tests.touring import tour


def filled(place: Address) -> Address:
    store, log = open_log(place)
    with store:
        add_game(log, game())
        add_game(log, full_game())
        add_game(log, game("Phalanx", "HoiChess", Outcome.DRAW))
    return place


def test_there_and_back(place: Address, server: Server, tmp_path: Path) -> None:
    """From a file or a server to a server, to a file, to another file: the same digest, and every game as it was."""
    filled(place)
    there = address_of(server.schema())
    back, again = tmp_path / "back.db", tmp_path / "again.db"
    made = [copy_store(source, target) for source, target in ((place, there), (there, back), (back, again))]
    assert len(set(made)) == 1
    assert made[0].tournaments == 1
    assert made[0].rows == sum(rows(back).values())
    for copy in (there, back, again):
        with Store.open(copy, create=False) as store:
            log = store.tournament()
            assert log.game(2).game == full_game()
            assert add_game(log, game("Toga", "Phalanx")) == 4  # keys are counted on
            assert store.create_tournament(draft("spring")).edition == 1
            assert counts_are_kept(log)


def rows(path: Path) -> dict[str, int]:
    connection = sqlite3.connect(path)
    found = {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in METADATA.tables}
    connection.close()
    return found


def test_an_empty_store(place: Address, tmp_path: Path) -> None:
    """Of a store without a tournament an empty one is made, which takes its first."""
    Store.open(place).close()
    assert copy_store(place, tmp_path / "copy.db").rows == 0
    open_log(tmp_path / "copy.db")[0].close()


def test_a_target_that_holds_something(place: Address, tmp_path: Path) -> None:
    """A store with a tournament of the same name, or with any other, stays as it is; so does the source itself."""
    source = filled(tmp_path / "source.db")
    filled(place)
    with pytest.raises(UsageRefused, match="has a tournament 'autumn' already"):
        copy_store(source, place)
    with Store.open(place) as store:
        assert len(store.tournament().games()) == 3
    other = tmp_path / "other.db"
    with Store.open(other) as store:
        store.create_tournament(draft("spring"))
    with pytest.raises(UsageRefused, match="holds 'spring' already"):
        copy_store(source, other)
    for itself in (source, place):
        with pytest.raises(UsageRefused, match="is the database itself"):
            copy_store(itself, itself)


def test_nothing_to_copy(place: Address, tmp_path: Path) -> None:
    """A source that is not there is refused, and nothing is made for it."""
    with pytest.raises(StoreRefused, match="no database yet"):
        copy_store(place, tmp_path / "copy.db")
    assert os.listdir(tmp_path) == []


def test_a_copy_that_is_not_what_was_read(place: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference leaves no row behind, and no file that was not there."""
    source = filled(tmp_path / "source.db")
    monkeypatch.setattr(backup, "_digest", lambda *_: (0, "another"))
    with pytest.raises(StorageFailed, match="is not what was read"):
        copy_store(source, place)
    monkeypatch.undo()
    if isinstance(place, Path):
        assert not place.exists()
    assert copy_store(source, place).tournaments == 1


def test_cells_that_no_server_takes(server: Server, tmp_path: Path) -> None:
    """A row that somebody changed to what no column of a server holds is named by its table."""
    source = tmp_path / "source.db"
    filled(source)
    meddled(source, "UPDATE games SET plies = 'many' WHERE number = 2")
    with pytest.raises(StoreRefused, match="the table 'games' cannot be copied"):
        copy_store(source, address_of(server.schema()))


def test_a_backup_of_a_server_is_a_file(server: Server, tmp_path: Path) -> None:
    """A backup of a database on a server opens like any other, and gives way to a newer one when told to."""
    place = address_of(server.schema())
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
    """`db copy`, `backup`, `check` and `upgrade` take either kind of address."""
    filled(tmp_path / "t.db")
    url = server.schema()
    assert "written and verified: 1 tournament, " in tour(tmp_path, "db", "copy", "t.db", url).stdout
    assert "nothing to upgrade" in tour(tmp_path, "db", "upgrade", "--db", url).stdout
    assert "written and verified" in tour(tmp_path, "db", "backup", "b.db", "--db", url).stdout
    for statement in ("ALTER TABLE imports DROP COLUMN odds", "ALTER TABLE imported_games DROP COLUMN black_tc"):
        server.ask_there(url, statement)
    for name in ("handicap", "opening", "termination"):
        server.ask_there(url, f"ALTER TABLE imported_games DROP COLUMN {name}")
    for name in ("status", "load", "asked_us", "memory_kb", "own_us"):
        server.ask_there(url, f"ALTER TABLE incidents DROP COLUMN {name}")
    server.ask_there(url, "COMMENT ON TABLE tournaments IS 'enginetour, schema 3'")
    assert "enginetour db upgrade" in tour(tmp_path, "db", "check", "--db", url, expect=5).stderr
    assert "schema 3 upgraded to 7; in one transaction" in tour(tmp_path, "db", "upgrade", "--db", url).stdout
    assert "nothing to upgrade" in tour(tmp_path, "db", "upgrade", "--db", url).stdout
