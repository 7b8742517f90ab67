"""One view for many readings."""

from __future__ import annotations

from pathlib import Path

from enginetour.store.snapshot import snapshot
from enginetour.store.tournaments import Store
from tests.storing import game, open_log


def test_unchanging(tmp_path: Path) -> None:
    """What is written meanwhile is not seen, by no later reading either, and the writer is not held up."""
    store, log = open_log(tmp_path / "t.db")
    with store, snapshot(store.database) as still:
        log.record_game(game())
        assert Store(still).tournament("autumn").games() == []
        assert len(log.games()) == 1
        assert Store(still).tournament("autumn").last_position == 0
