"""Databases with rows that another program has changed give one-line errors."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tournaments import config, tour

ODD: tuple[Any, ...] = (
    *(
        None,
        "",
        "x",
        "{}",
        "[]",
        "null",
        "7",
        '{"format":7}',
        "[[[1]]]",
        "[" * 5000,
        "nan",
        "\x1b\x00",
        b"",
        b"\xff\xfe",
    ),
    *(0, 1, -1, 2, 7, 1 << 31, (1 << 63) - 1, -(1 << 63), 0.5, 1e300, -1e18, float("inf"), "9" * 400, "8/8 w - - 0 1"),
)
READING = (
    *("status", "standings", "standings --pairing-report", "crosstable", "bubble", "bubble --step 1", "games"),
    *("games 1", "games 2 --json", "games --endings", "games --csv", "export pgn -o out.pgn", "export json"),
    *("export csv", "export trf", "ratings", "ratings --all", "ratings --all --variant chess960"),
    *("ratings --all --as-of 2100-01-01", "ratings --system elo", "ratings --all --head-to-head all"),
    *("ratings --all --hardware *", "history Wren_1", "history Wren_1 --list all", "lists", "lists show all"),
    *("editions", "editions all 1", "diff all", "imports", "import games.pgn --dry-run", "db check", "db check --json"),
)  # fmt: skip
EXPLAINED = (0, 2, 3, 5)  # success, unknown name, invalid input, invalid database


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a tournament with an annulled game, a bubble with a withdrawal, an import and editions."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "results").mkdir()
    config(folder, ("wren1", "wren2", "wren3"), "dutch", "rounds = 2", '\n[ratings]\nsystems = ["ml", "elo", "gor"]')
    config(folder, ("wren1", "wren2", "wren3"), name="up")
    for words in (
        *("run up.toml", "run trial.toml", "export pgn -o games.pgn", "void 1 --why odd", "withdraw Wren_3 -t up"),
        *("import games.pgn --name files", "lists define all", "publish all", "publish all --again"),
    ):
        tour(folder, *typed(words))
        if words.startswith("export"):
            tags = (folder / "games.pgn").read_text().replace('[Event "trial"]', '[Event "elsewhere"]')
            (folder / "games.pgn").write_text(tags)
    return folder


def typed(words: str) -> list[str]:
    """Return the arguments of a command; a space in a name is written ``_``."""
    return [word.replace("_", " ") for word in words.split()]


def spoil(path: Path, dice: random.Random) -> str:
    """Change one cell, one value of a cell's JSON, or one row; return which."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA ignore_check_constraints=ON")
        tables = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        table = dice.choice([name for name in tables if raw.execute(f'SELECT 1 FROM "{name}"').fetchone()])
        row = dice.choice([key for (key,) in raw.execute(f'SELECT rowid FROM "{table}"')])
        if dice.random() < 0.1:
            raw.execute(f'DELETE FROM "{table}" WHERE rowid = ?', (row,))
            return f"row {row} of {table} deleted"
        column = dice.choice([name for _, name, *_ in raw.execute(f'PRAGMA table_info("{table}")')])
        (value,) = raw.execute(f'SELECT "{column}" FROM "{table}" WHERE rowid = ?', (row,)).fetchone()
        odd = dice.choice(ODD)
        if isinstance(value, str) and value[:1] in ("[", "{") and dice.random() < 0.7:
            odd = json.dumps(_spoilt(json.loads(value), dice))
        try:
            raw.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (odd, row))
        except (sqlite3.IntegrityError, OverflowError):
            return "nothing: SQLite refuses it"
        return f"row {row} of {table}: {column} = {odd!r:.200}"


def _spoilt(value: Any, dice: random.Random) -> Any:
    if isinstance(value, dict | list) and value and dice.random() < 0.8:
        key = dice.choice(list(value) if isinstance(value, dict) else range(len(value)))
        inner = _spoilt(value[key], dice)
        return value | {key: inner} if isinstance(value, dict) else [*value[:key], inner, *value[key + 1 :]]
    return dice.choice([odd for odd in ODD if not isinstance(odd, bytes)])


@settings(max_examples=25, deadline=None)
@given(st.integers(min_value=0, max_value=1 << 32))
def test_a_spoilt_cell_is_told_in_a_line(played: Path, tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """A changed cell is ignored or gives a one-line error, never an internal failure."""
    dice = random.Random(seed)
    folder = tmp_path_factory.mktemp("spoilt")  # a new name, because an open file of another one would look removed
    (folder / "results").mkdir()
    shutil.copy(played / "games.pgn", folder)
    shutil.copy(played / "results" / "enginetour.db", folder / "results")
    spoil(folder / "results" / "enginetour.db", dice)
    for words in dice.sample(READING, 2):
        done = tour(folder, *typed(words), expect=None)
        assert done.returncode in EXPLAINED
        assert "--json" in words or done.stderr.count("enginetour: ") == (done.returncode != 0)
