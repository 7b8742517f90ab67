"""The bubble history, and one round robin of it in full."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.databases import BUBBLE, reported_played
from tests.support.tournaments import read, tour

FOUR = ("Fruit 2.1", "Toga II", "Phalanx XXV", "HoiChess")


def bubble(folder: Path, names: tuple[str, ...], most: int = 10_000) -> Path:
    """Return a workspace with a bubble tournament of random results, with at most this many games."""
    (folder / "results").mkdir()
    store, _ = reported_played(folder / "results" / "enginetour.db", names, "bubble", BUBBLE, name="trial", most=most)
    store.close()
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished bubble of five engines, one of them with the longest allowed name."""
    return bubble(tmp_path_factory.mktemp("bubble"), (*FOUR, "x" * 100))


def test_the_bubble_history_fits_the_window(folder: Path) -> None:
    """Long names are shortened in the table of both rankings, and a note says what the order by rating is."""
    both = tour(folder, "bubble").stdout.split("final ranking")[1]
    assert "order by rating: by all games, with the starting list as prior information" in both
    assert max(map(len, both.splitlines())) <= 80


def test_a_round_robin_in_full(folder: Path) -> None:
    """A round robin is shown with its crosstable, its decision, parked engines and the interim ranking."""
    steps = read(folder, "bubble")["steps"]
    for step in steps:
        told = read(folder, "bubble", "--step", str(step["step"]))
        assert told["decision"] == step["decision"]
        assert [(row["engine"], row["points"]) for row in told["table"]] == [
            (row["engine"], row["points"]) for row in step["table"]
        ]
        for row in told["table"]:
            signs = "".join(row["against"].values())
            assert row["points"] == signs.count("1") + signs.count("=") / 2
            assert len(row["against"]) == len(told["table"]) - 1
        assert {line["name"] for line in told["ranking"] if line["status"] == "parked"} == set(told["parked"])
    assert [line["status"] for line in told["ranking"]] == ["final"] * 5
    words = tour(folder, "bubble", "--step", str(len(steps))).stdout
    assert "wins the edition" in words
    assert "parked, longest wait first: none" in words
    assert "interim ranking" in words


def test_an_unfinished_edition_has_no_final_order(tmp_path: Path) -> None:
    """While engines still play, the ranking is not called final."""
    bubble(tmp_path, FOUR, most=7)
    told = tour(tmp_path, "bubble").stdout
    assert "ranking so far" in told
    assert "final ranking" not in told


def test_a_round_robin_that_is_still_played(tmp_path: Path) -> None:
    """A round robin in progress has a table of its games, but no decision."""
    bubble(tmp_path, FOUR[:3], most=1)
    told = read(tmp_path, "bubble", "--step", "1")
    assert told["decision"] is None
    assert sum(row["points"] for row in told["table"]) == 1
    assert "in progress" in tour(tmp_path, "bubble", "--step", "1").stdout
    assert "must be between 1 and 1 (found 2)" in tour(tmp_path, "bubble", "--step", "2", expect=2).stderr
