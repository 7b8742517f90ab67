"""A database seen before the store is loaded: whether a tournament would be its first of that name."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from enginetour.store.glimpse import is_new
from enginetour.store.tournaments import Store
from tests.storing import draft


def test_a_name_is_new_until_the_store_has_it(tmp_path: Path) -> None:
    """Also while somebody writes, and through a link; nothing is left beside the file that was not there."""
    path, link = tmp_path / "o'x #1.db", tmp_path / "link.db"
    assert is_new(path, "autumn")
    link.symlink_to(path)
    with Store.open(path) as store:
        store.create_tournament(draft("autumn"))
        assert [is_new(path, name) for name in ("autumn", "Autumn", "spring")] == [False, True, True]
    before = sorted(tmp_path.iterdir())
    assert [is_new(place, "autumn") for place in (path, link)] == [False, False]
    assert [is_new(place, "spring") for place in (path, link)] == [True, True]
    assert sorted(tmp_path.iterdir()) == before


def test_in_doubt_it_is_not_new(tmp_path: Path) -> None:
    """An empty file, one of another program, a folder, one whose creation was cut, one that is locked."""
    empty, text, foreign, busy = (tmp_path / name for name in ("empty", "text", "foreign", "busy"))
    empty.touch()
    text.write_text("no database")
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE birds (name)")
    assert not any(is_new(path, "autumn") for path in (empty, text, foreign, tmp_path))
    with Store.open(busy):
        pass
    assert is_new(busy, "autumn")
    (tmp_path / "busy-journal").write_bytes(b"x")
    assert not is_new(busy, "autumn")
