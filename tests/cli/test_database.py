"""`enginetour db`: check, backup, upgrade."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from enginetour.store.tables import SCHEMA_VERSION
from tests.cli.test_main import invoke
from tests.support.databases import add_game, game, meddled, older, open_log
from tests.support.tournaments import audit, config, read, running, tour, unwrapped


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a workspace with one recorded game."""
    (tmp_path / "results").mkdir()
    path = tmp_path / "results" / "enginetour.db"
    opened, log = open_log(path)
    with opened:
        add_game(log, game())
    return path


def test_while_a_tournament_runs(tmp_path: Path) -> None:
    """Check and backup work while a tournament runs, and the tournament continues."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "cycles = 10\ngames_per_pairing = 2")
    (tmp_path / "results").mkdir()
    with running(tmp_path, path) as process:
        assert read(tmp_path, "db", "check")["sound"]
        copied = read(tmp_path, "db", "backup", "copy.db")
        assert copied["rows"] > 0
        assert process.ended()[0] == 0
    assert audit(tmp_path) == 20
    found = read(tmp_path, "db", "check", "--db", "copy.db")
    assert found["sound"]
    assert 0 < found["games"] <= 20


def test_findings_are_lines_and_exit_5(store: Path, tmp_path: Path) -> None:
    """Each finding is one line on stdout; JSON has the same findings; the exit code is 5."""
    meddled(store, "UPDATE pair_counts SET wins = 7")
    done = tour(tmp_path, "db", "check", expect=5)
    assert [line for line in done.stdout.splitlines() if "stored as +7" in line]
    assert "finding" in done.stderr
    found = unwrapped(tour(tmp_path, "db", "check", "--json", expect=5).stdout)
    assert not found["sound"]
    assert len(found["findings"]) == len(done.stdout.splitlines())


def test_upgrade_keeps_the_old_one_beside(tmp_path: Path) -> None:
    """An upgrade prints both schemas and the backup, which has the old schema; a second upgrade does nothing."""
    path = tmp_path / "t.db"
    older(path)
    done = tour(tmp_path, "db", "check", "--db", "t.db", expect=5)
    assert "enginetour db upgrade" in done.stderr
    found = read(tmp_path, "db", "upgrade", "--db", "t.db")
    assert (found["from"], found["to"]) == (6, SCHEMA_VERSION)
    kept = sqlite3.connect(found["backup"])
    assert kept.execute("PRAGMA user_version").fetchone() == (6,)
    kept.close()
    assert "nothing to upgrade" in tour(tmp_path, "db", "upgrade", "--db", "t.db").stdout


def test_no_database(tmp_path: Path) -> None:
    """Without a database, the error is one line with the next step, and no database is created."""
    (tmp_path / "results").mkdir()
    for words in (("check",), ("backup", "copy.db"), ("upgrade",)):
        assert "create it with enginetour run" in tour(tmp_path, "db", *words, expect=5).stderr
    assert list((tmp_path / "results").iterdir()) == []


@pytest.mark.parametrize("command", ["check", "backup", "upgrade"])
def test_help_has_an_example(command: str) -> None:
    """Every command of `db` has help with an example."""
    told = invoke("db", command, "--help").output
    assert f"Example: enginetour db {command}" in told
    assert max(map(len, told.splitlines())) <= 80
