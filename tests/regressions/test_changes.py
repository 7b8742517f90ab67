"""What is said when people change a tournament."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.touring import config, tour

ENGINES = ("wren1", "wren2", "wren3")


def stopped(folder: Path, system: str, settings: str) -> None:
    """A tournament with one game played."""
    tour(folder, "run", config(folder, ENGINES, system, settings).name, "--max-games", "1", expect=8)


def test_each_sentence_of_a_change_stands_alone(tmp_path: Path) -> None:
    """Nothing is said twice, every sentence has its end."""
    stopped(tmp_path, "roundrobin", "cycles = 2")
    assert tour(tmp_path, "withdraw", "Wren 2").stdout.startswith("Wren 2 withdraws; ")
    assert tour(tmp_path, "add", "wren4").stdout == "Wren 4 joins with 4 games, after all others.\n"
    said = tour(tmp_path, "replace", "Wren 1", "wren5").stdout
    assert said.startswith("Wren 5 takes the place of Wren 1. Wren 1 withdraws; ")
    assert "others. Wren 5 joins" in said
    assert said.endswith(".\n")


def test_an_engine_of_the_same_name_needs_another(tmp_path: Path) -> None:
    """The option that gives one is told."""
    stopped(tmp_path, "roundrobin", "")
    refused = tour(tmp_path, "add", "wren1", expect=2)
    assert refused.stderr.splitlines()[-1].endswith("; give the newcomer another name with --name")


@pytest.mark.parametrize("number", ["9" * 30, "999"])
def test_a_game_that_cannot_be(tmp_path: Path, number: str) -> None:
    """A number beyond every store is no failure of ours."""
    stopped(tmp_path, "roundrobin", "")
    assert "games lists them" in tour(tmp_path, "void", number, expect=2).stderr


def test_a_void_game_says_what_it_was(tmp_path: Path) -> None:
    """The list shows that it was struck out, and its result and end then."""
    stopped(tmp_path, "roundrobin", "")
    tour(tmp_path, "void", "1", "--why", "swapping")
    assert "struck out, was " in tour(tmp_path, "games").stdout
