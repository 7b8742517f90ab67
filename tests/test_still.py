"""One view for many readings."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from enginetour.store.tournaments import Store
from tests.storing import add_game, game, open_log


def test_unchanging(tmp_path: Path) -> None:
    """What is written meanwhile is not seen, by no later reading either, and the writer is not held up."""
    store, log = open_log(tmp_path / "t.db")
    with store, Store.open(tmp_path / "t.db", readonly=True) as reader:
        with reader.database.still():
            add_game(log, game())
            assert reader.tournament("autumn").games() == []
            assert len(log.games()) == 1
            assert reader.tournament("autumn").last_position == 0
        assert reader.tournament("autumn").last_position == 1


def test_of_its_thread(tmp_path: Path) -> None:
    """Other threads of the same database see what is new, and a view that ends in a failure has ended."""
    store, log = open_log(tmp_path / "t.db")
    with store, ThreadPoolExecutor(1) as other:
        with pytest.raises(ValueError, match="on purpose"), store.database.still():
            other.submit(add_game, log, game()).result()
            assert len(other.submit(log.games).result()) == 1
            assert log.games() == []
            raise ValueError("on purpose")
        assert len(log.games()) == 1


def test_one_in_another(tmp_path: Path) -> None:
    """They are one view, to the end of the outer one."""
    store, log = open_log(tmp_path / "t.db")
    with store, Store.open(tmp_path / "t.db", readonly=True) as reader, reader.database.still():
        with reader.database.still():
            add_game(log, game())
        assert reader.tournament("autumn").games() == []
