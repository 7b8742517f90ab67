"""Large suites, of which only what can be needed is looked at, were not looked at in some runs before game 1."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from enginetour.openings import choice, suites
from enginetour.openings.choice import OpeningSettings
from tests.touring import audit, config, entrant, tour

GOOD = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n"
OVER = "7k/5Q2/6K1/8/8/8/8/8 b - -\n"  # stalemate
MANY = 40
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of forty positions is a large one."""
    monkeypatch.setattr(suites, "LARGE", 1000)


def written(folder: Path, *bad: int) -> None:
    """A suite whose positions of those numbers, from 1 on, are over."""
    lines = [OVER if number in bad else GOOD for number in range(1, MANY + 1)]
    (folder / "suite.epd").write_text("".join(lines))


def tournament(folder: Path, engines: tuple[str, ...], settings: str = "", *, order: str = "file", **more: str) -> Path:
    """A configuration that plays from the suite; `order` is that of the starting list."""
    path = config(folder, engines, "roundrobin", settings or "games_per_pairing = 1", more.get("entrants", ""))
    suite = f'[play.openings]\nfile = "suite.epd"\norder = "{more.get("dealt", "sequential")}"\n[report]'
    text = path.read_text().replace("[report]", suite).replace("seed = 4", f'seed = 4\norder = "{order}"')
    path.write_text(text)
    return path


@pytest.mark.parametrize("order", ["rating", "standings"])
def test_a_starting_list_by_what_the_database_knows(tmp_path: Path, order: str) -> None:
    """Who stands where says nothing about how many openings are needed."""
    written(tmp_path, 1)
    path = tournament(tmp_path, ("wren1", "wren2"), order=order)
    for command in ("check", "run"):
        assert "suite.epd:1: bad opening, stalemate" in tour(tmp_path, command, str(path), expect=3).stderr
    assert not (tmp_path / "results").exists()


def test_an_edition_deals_in_its_own_order(tmp_path: Path) -> None:
    """The first openings of the second edition are looked at, not those of the first."""
    written(tmp_path)
    path = tournament(tmp_path, ("wren1", "wren2"), dealt="random")
    read = OpeningSettings(file="suite.epd")
    suite = choice.load(read, seed=4, legs=1, folder=tmp_path)
    first, second = (suite.seeded(4 + (number - 1) * (1 << 32))._place(0) + 1 for number in (1, 2))
    assert first != second
    written(tmp_path, second)
    tour(tmp_path, "run", str(path))
    for command in (("check", str(path)), ("run", str(path), "--new")):
        assert f"suite.epd:{second}: bad opening, stalemate" in tour(tmp_path, *command, expect=3).stderr
    assert audit(tmp_path) == 1
    path.write_text(path.read_text().replace("games_per_pairing = 1", "games_per_pairing = 1\ncycles = 2"))
    for command in (("check", str(path)), ("run", str(path))):  # the first edition goes on: nothing of it is bad
        tour(tmp_path, *command)
    assert audit(tmp_path) == 2


def test_what_comes_next_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a tournament is longer than what is looked at: the first openings were again at each resume."""
    monkeypatch.setattr(choice, "AHEAD", 10)
    written(tmp_path, 14)
    path = tournament(tmp_path, ("wren1", "wren2"), "games_per_pairing = 1\ncycles = 20")
    tour(tmp_path, "run", str(path), "--max-games", "12", expect=8)
    for command in ("check", "run"):
        assert "suite.epd:14: bad opening, stalemate" in tour(tmp_path, command, str(path), expect=3).stderr
    assert audit(tmp_path) == 12


def test_encounters_are_numbered_past_games(tmp_path: Path) -> None:
    """Those of an engine that has left are not played, and the numbers go on behind them."""
    written(tmp_path, 8, 9, 10, 11, 12)
    path = tournament(tmp_path, ("wren1", "wren2", "wren3", "wren4"))
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    tour(tmp_path, "withdraw", "Wren 4")
    tour(tmp_path, "run", str(path))
    played = audit(tmp_path)
    path.write_text(path.read_text().replace("games_per_pairing = 1", "games_per_pairing = 1\ncycles = 2"))
    for command in ("check", "run"):
        assert "suite.epd:8: bad opening, stalemate" in tour(tmp_path, command, str(path), expect=3).stderr
    assert audit(tmp_path) == played


def test_more_cycles_with_an_engine_gone(tmp_path: Path) -> None:
    """What a larger tournament needs beyond what was looked at is looked at before it grows."""
    written(tmp_path, 14)  # of 12 games, then 14
    program = tmp_path / "guest"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {ROOT / 'engines' / 'wren.py'}\n")
    program.chmod(0o755)
    guest = entrant("Guest", ["./guest"])
    path = tournament(tmp_path, ("wren1", "wren2"), "games_per_pairing = 2\ncycles = 2", entrants=guest)
    tour(tmp_path, "run", str(path))
    tour(tmp_path, "withdraw", "Guest")
    program.unlink()
    path.write_text(path.read_text().replace("cycles = 2", "cycles = 3"))
    assert "suite.epd:14: bad opening, stalemate" in tour(tmp_path, "run", str(path), expect=3).stderr
    assert audit(tmp_path) == 12
