"""A database gone over: nothing is found in a sound one, and each damage in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.store.check import Inspection, inspect
from enginetour.store.tournaments import Store
from tests.storing import meddled
from tests.touring import config, tour


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished tournament, an import and an edition of a list of both."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "results").mkdir()
    config(folder, ("wren1", "wren2", "wren3"), "roundrobin", "games_per_pairing = 2")
    tour(folder, "run", "trial.toml")
    tour(folder, "export", "pgn", "-o", "games.pgn")
    tags = (folder / "games.pgn").read_text().replace('[Event "trial"]', '[Event "elsewhere"]')
    (folder / "games.pgn").write_text(tags)
    tour(folder, "import", "games.pgn", "--name", "files")
    tour(folder, "lists", "define", "all")
    tour(folder, "publish", "all")
    return folder / "results" / "enginetour.db"


def inspected(played: Path, folder: Path, *statements: str) -> Inspection:
    """A copy of it after somebody's statements, gone over."""
    path = folder / "t.db"
    path.write_bytes(played.read_bytes())
    meddled(path, *statements)
    with Store.open(path, create=False, readonly=True) as store:
        return inspect(store)


def test_sound(played: Path, tmp_path: Path) -> None:
    """A tournament, an import and an edition, and nothing to find."""
    found = inspected(played, tmp_path)
    assert found.findings == found.unreplayed == ()
    assert (found.tournaments, found.games, found.imports, found.editions) == (1, 6, 1, 1)


@pytest.mark.parametrize(
    "statement, place, words",
    [
        ("UPDATE pair_counts SET wins = wins + 1 WHERE rowid = 1", "tournament trial", "kept as +"),
        ("DELETE FROM notes WHERE ordinal = 1", "tournament trial", "when the log is replayed"),
        ("UPDATE games SET outcome = 'won' WHERE number = 2", "tournament trial", "game 2 cannot be read"),
        ("UPDATE moves SET moves = x'00' WHERE game = 3", "tournament trial", "game 3 cannot be read"),
        ("DELETE FROM moves WHERE game = 3", "tournament trial", "game 3 has no moves"),
        ("DELETE FROM events WHERE position = 4", "tournament trial", "5 events up to number 6"),
        ("UPDATE games SET plies = plies + 1 WHERE number = 1", "tournament trial", "its record says"),
        ("DELETE FROM imported_games WHERE id = 2", "import files", "brought 6 games, 5 are there"),
        ("UPDATE imports SET digests = x'00'", "import files", "digests for 6 games"),
        ("UPDATE imports SET digests = zeroblob(48)", "imports", "5 imported games are there twice"),
        ("UPDATE imports SET counts = x'0000'", "import files", "cannot be read"),
        ("UPDATE edition_lines SET rating = rating + 1 WHERE ordinal = 1", "edition 1 of all", "1 lines"),
        ("UPDATE lists SET definition = '{'", "edition 1 of all", "revision 1 cannot be read"),
        ("UPDATE tournaments SET config = '[]' WHERE name = 'trial'", "tournament trial", "cannot be read"),
    ],
)
def test_found(played: Path, tmp_path: Path, statement: str, place: str, words: str) -> None:
    """Each change behind our back is told in its place."""
    found = inspected(played, tmp_path, statement)
    assert any(finding.place == place and words in finding.what for finding in found.findings), found.findings


def test_log_of_another_format_version(played: Path, tmp_path: Path) -> None:
    """It cannot be replayed here, and that is no damage."""
    found = inspected(played, tmp_path, "UPDATE tournaments SET format_version = 99 WHERE name = 'trial'")
    assert found.findings == ()
    assert "version 99" in found.unreplayed[0].what
