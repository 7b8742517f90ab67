"""Large suites of PGN games: read whole, checked as they are needed."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from enginetour.interop.files import shipped_suite
from enginetour.model.errors import InputRefused
from enginetour.openings import choice
from enginetour.openings.choice import OpeningSettings, OpeningSuite
from enginetour.openings.suites import HeldGames, read_suite
from tests.touring import config, tour

GOOD = '[Event "x"]\n\n1. e4 e5\n2. Nf3 Nc6 *\n\n'
ILLEGAL = '[Event "x"]\n\n1. e4 e5\n2. Ke3 *\n\n'
BROKEN = '[Event "x"]\n[Variant "atomic"]\n\n1. e4 *\n\n'


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four games are many."""
    monkeypatch.setattr(choice, "GAMES_AHEAD", 3)


def suite(tmp_path: Path, *games: str, **settings: object) -> OpeningSuite:
    """Those games, dealt in their order, one an encounter."""
    (tmp_path / "a.pgn").write_text("".join(games))
    read = OpeningSettings(file="a.pgn", order="sequential", **settings)  # type: ignore[arg-type]
    return choice.load(read, seed=1, legs=1, folder=tmp_path)


@pytest.mark.parametrize("plies", [None, 4, 0])
def test_they_are_those_that_are_checked_at_once(plies: int | None) -> None:
    """Place for place, numbers and names too."""
    held = HeldGames(shipped_suite(), plies)
    assert list(held) == list(read_suite(shipped_suite(), plies))
    assert held[-1] == held[59]
    assert held[3:9:2] == [held[3], held[5], held[7]]
    with pytest.raises(IndexError):
        held[60]


def test_only_what_is_needed_is_checked(tmp_path: Path) -> None:
    """A bad game far behind stops nobody; one that is needed is named by the line of its bad move."""
    found = suite(tmp_path, *[GOOD] * 4, ILLEGAL)
    assert isinstance(found.openings, HeldGames)
    found.check(4)
    bad = r"a\.pgn:24: bad opening, illegal or unreadable move 'Ke3' after 2 plies; mend it, or .*skip_bad = true"
    with pytest.raises(InputRefused, match=bad):
        found.openings[4]
    with pytest.raises(InputRefused, match=r"a\.pgn:4: bad opening, illegal"):
        suite(tmp_path, ILLEGAL, *[GOOD] * 4).check(1)
    with pytest.raises(InputRefused, match=r"a\.pgn:17: bad opening, illegal"):  # few: all of them
        suite(tmp_path, GOOD, GOOD, ILLEGAL.replace("\n", "\n\n\n\n", 1))


def test_what_is_no_game_is_refused_at_once(tmp_path: Path) -> None:
    """Reading finds it, wherever it stands; left out it is counted."""
    with pytest.raises(InputRefused, match=r"a\.pgn:21: bad opening, variant 'atomic'"):
        suite(tmp_path, *[GOOD] * 4, BROKEN)
    found = suite(tmp_path, *[GOOD] * 4, BROKEN, ILLEGAL, skip_bad=True)
    assert (len(found.openings), found.left_out.count) == (4, 2)


def test_a_tournament_from_a_large_suite(tmp_path: Path) -> None:
    """It is checked and played; lines too long for its games are refused as in a small one."""
    (tmp_path / "a.pgn").write_text("".join(itertools.repeat(GOOD, 8)))
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "games_per_pairing = 2")
    path.write_text(path.read_text().replace("[play]\n", '[play]\nopenings = { file = "a.pgn" }\n'))
    assert "openings: 8 from" in tour(tmp_path, "check", path.name).stdout
    tour(tmp_path, "run", path.name)
    assert '[OpeningPlies "4"]' in tour(tmp_path, "export", "pgn").stdout
    path.write_text(path.read_text().replace("[play]\n", "[play]\nmax_moves = 2\n"))
    assert (
        "max_moves 2 is reached within the opening 'x' of 4 plies"
        in tour(tmp_path, "check", path.name, expect=3).stderr
    )
