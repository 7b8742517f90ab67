"""Statements that every game needs, by the driver and through all layers."""

from pathlib import Path

import pytest
from sqlalchemy import bindparam, func, insert, select

from enginetour.model.errors import StorageFailed, StoreRefused
from enginetour.store import database as prepared
from enginetour.store.database import Database, Prepared
from enginetour.store.tables import EVENTS, TOURNAMENTS

ROW = {"name": "t", "edition": 1, "slug": "t", "system": "bubble", "format_version": 1, "config": "{}", "seed": 7}
STAMP = {"created": 0.5, "version": "1"}


@pytest.mark.parametrize("layers", [False, True])
def test_both_ways_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, layers: bool) -> None:
    """The driver writes and finds what the layers do, with parameters of the statement's own."""
    if layers:
        monkeypatch.setattr(prepared, "driver_of", lambda _: None)
    known = Prepared(select(func.coalesce(func.max(TOURNAMENTS.c.id), 40) + bindparam("more")))
    new, event = Prepared(insert(TOURNAMENTS)), Prepared(insert(EVENTS))
    with Database.open(tmp_path / "t.db") as database:
        with database.writing() as connection:
            assert tuple(known.first(connection, {"more": 2})) == (42,)
            assert new.made(connection, {**ROW, **STAMP}) == 1
            row = {"tournament": 1, "position": 1, "kind": "withdrawn", "game": None, "payload": "{}", "at": 3}
            event.write(connection, row)
        with database.reading() as connection:
            assert connection.execute(select(EVENTS.c.at, EVENTS.c.payload)).one() == (3.0, "{}")


def test_rolled_back_and_translated(tmp_path: Path) -> None:
    """An error of the driver undoes all of its transaction; what is no mistake of ours is told in the user's words."""
    new = Prepared(insert(TOURNAMENTS))
    with Database.open(tmp_path / "t.db") as database:
        with pytest.raises(StoreRefused, match="locked"), database.writing() as connection:
            new.write(connection, {**ROW, **STAMP})
            raw = prepared.driver_of(connection)
            assert raw is not None
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # not within a transaction
        with pytest.raises(StorageFailed, match="full"), database.writing() as connection:
            raw = prepared.driver_of(connection)
            assert raw is not None
            raw.execute("PRAGMA max_page_count=1")
            new.write(connection, {**ROW, **STAMP, "config": "x" * 10**7})
        with database.reading() as connection:
            assert connection.execute(select(TOURNAMENTS.c.id)).all() == []
