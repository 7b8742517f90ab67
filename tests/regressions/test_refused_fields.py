from __future__ import annotations

from pathlib import Path

import pytest

from tests.touring import config, tour


@pytest.mark.parametrize(
    ("system", "settings", "words"),
    [("swiss", "rounds = 9", "at most 3"), ("dutch", "rounds = 4", "at most 3"), ("scheveningen", "team = 4", "team")],
)
def test_a_field_that_cannot_be_paired(tmp_path: Path, system: str, settings: str, words: str) -> None:
    """More rounds than opponents was told as a failure of our own, with a trace."""
    path = config(tmp_path, ("wren1", "wren2", "wren3", "wren4"), system, settings)
    for command in ("check", "run"):
        done = tour(tmp_path, command, str(path), expect=3)
        assert words in done.stderr and f"{path}:" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("system", "settings", "words"),
    [
        ("gauntlet", "cycles = 1000000000", "2,000,000,000 games (pairs 2, cycles 1000000000, games_per_pairing 1)"),
        ("roundrobin", "cycles = 9\ngames_per_pairing = 100000000", "are too many: at most 2,000,000"),
        ("scheveningen", "cycles = 1000000000\nteam = 1", "are too many: at most 2,000,000"),
        ("bubble", "size = 2\nunpark_threshold = 1\ngames_per_pairing = 1000000000", "less than or equal to 10000"),
        ("cup", "games_per_pairing = 1000000000", "less than or equal to 10000"),
        ("swiss", "rounds = 1\ngames_per_pairing = 1000000000", "less than or equal to 10000"),
    ],
)
def test_games_without_end(tmp_path: Path, system: str, settings: str, words: str) -> None:
    """All were listed until the memory was full, without a word."""
    path = config(tmp_path, ("wren1", "wren2", "wren3"), system, settings)
    assert words in tour(tmp_path, "check", str(path), expect=3).stderr
