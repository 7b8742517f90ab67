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
