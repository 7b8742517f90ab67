"""What rows of databases that others had changed broke; each was our own failure, or the end of the process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.storing import add_game, full_game, game, meddled, sound_log
from tests.touring import tour


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A game and the rating events of Elo."""
    (tmp_path / "results").mkdir()
    store, log = sound_log(tmp_path / "results" / "enginetour.db")
    with store:
        add_game(log, replace(full_game(), pairing=game().pairing, replay=0))
    tour(tmp_path, "ratings", "--all", "--system", "elo")
    tour(tmp_path, "lists", "define", "all")
    return tmp_path


@pytest.mark.parametrize(
    ("statement", "words", "told"),
    [
        # numpy's bincount wrote over the memory of the process
        ("UPDATE pair_counts SET black = 9223372036854775807", "ratings --all", "which no store has"),
        ("UPDATE games SET white_engine = 9223372036854775807", "ratings --all --tc *", "which no store has"),
        (
            "UPDATE games SET relay = '[\"7\",1,2]' WHERE number = 1",
            "games 1",
            "relay_us.0: Input should be a valid int",
        ),
        ("DELETE FROM rating_revisions", "ratings --all --system elo", "rating events of elo are of no revision"),
        ("UPDATE rating_revisions SET settings = '7'", "ratings --all --system elo", "ratings: cannot be read"),
        ("UPDATE lists SET made = 'x'", "lists show all", "row 1 of lists has 'x' as made"),
        ("UPDATE tournaments SET config = '7'", "standings", "tournament autumn: cannot be read"),
    ],
)
def test_told_in_a_line(folder: Path, statement: str, words: str, told: str) -> None:
    """The row or the place, what is in it, and the next step."""
    meddled(folder / "results" / "enginetour.db", statement)
    done = tour(folder, *words.split(), expect=5)
    assert told in done.stderr and done.stderr.count("enginetour: ") == 1 and "db check" in done.stderr
    tour(folder, "db", "check", expect=5)
