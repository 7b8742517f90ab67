"""What a command had read stayed in its view while somebody paged through it: a running tournament's log only grew."""

from __future__ import annotations

import io
import sqlite3
import sys
from contextlib import chdir
from itertools import count
from pathlib import Path

import pytest

from enginetour.cli.main import main
from enginetour.store.definition import ListDefinition, define
from enginetour.store.tournaments import Store
from tests.storing import add_game, game, sound_log
from tests.touring import tour

NUMBERS = count(1)


class Pager(io.StringIO):
    """Standard output; while it is written to somebody else writes, and the log is to be folded into the file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.held: list[bool] = []

    def write(self, text: str) -> int:
        with Store.open(self.path, create=False) as store:
            define(store, f"list {next(NUMBERS)}", ListDefinition())
        with sqlite3.connect(self.path, timeout=0) as raw:
            self.held.append(bool(raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]))
        raw.close()
        return super().write(text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tournament with a game, and a list of it."""
    made = tmp_path_factory.mktemp("paged")
    (made / "results").mkdir()
    store, log = sound_log(made / "results" / "enginetour.db")
    with store:
        add_game(log, game())
    tour(made, "lists", "define", "all")
    tour(made, "publish", "all")
    return made


@pytest.mark.parametrize(
    "words",
    [
        *("standings", "crosstable --json", "games", "games 1", "games 1 --json", "lists", "diff all"),
        *("ratings --all --sprt Fruit Toga 0 5", "editions all 1", "imports --csv", "history Fruit"),
        *("export pgn", "export json"),
    ],
)
def test_whoever_reads_slowly_holds_nobody_up(folder: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first word on the view is let go of."""
    pager = Pager(folder / "results" / "enginetour.db")
    monkeypatch.setattr(sys, "argv", ["enginetour", *words.split()])
    monkeypatch.setattr(sys, "stdout", pager)
    with chdir(folder), pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (None, 0)
    assert pager.held
    assert not any(pager.held)
