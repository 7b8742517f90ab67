"""Tests of model/task: time odds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.model.task import EngineSpec, Side, with_time_odds
from enginetour.model.timecontrol import MAX_ODDS, TimeControl, odds_divisor
from tests.support.tournaments import config, read, tour

RATED = "".join(f'\n[[entrants]]\nengine = "wren{n}"\nrating = {rating}' for n, rating in ((1, 1000), (2, 1290)))

OLD = '\n[[entrants]]\nname = "Old"\ncommand = ["true"]\nprotocol = "cecp"\nrating = 1500'
WHOLE, GIVEN = "60,depth=1", "22.289,depth=1"


def test_formula() -> None:
    """Seven bands are ten doublings, more than the largest odds; no bands are no odds."""
    assert odds_divisor(0) == 1
    assert odds_divisor(1) == pytest.approx(2 ** (10 / 7))
    assert odds_divisor(3) == pytest.approx(19.504, abs=0.001)
    assert odds_divisor(4) == odds_divisor(7) == MAX_ODDS == 32


def test_table() -> None:
    """A table replaces the formula, and its last value repeats."""
    assert [odds_divisor(bands, [2, 4, 64]) for bands in range(5)] == [1, 2, 4, 64, 64]


@pytest.mark.parametrize(
    ("control", "by", "expected"),
    [
        ("10+0.1", 4, "2.5+0.025"),
        ("40/60:20/30+0.5", 3, "40/20:20/10+0.166"),
        ("0+0.001", 32, "0+0.001"),
        ("movetime=0.1", 32, "movetime=0.003"),
        ("nodes=1000", 3, "nodes=333"),
        ("60,depth=8", 2, "30,depth=8"),
        ("60,nodes=10", 32, "1.875,nodes=1"),
        ("hourglass=10", 4, "hourglass=2.5"),
    ],
)
def test_divided(control: str, by: float, expected: str) -> None:
    """Times and nodes are divided and rounded down, never to zero; depth and the moves of a stage do not change."""
    shorter = TimeControl.parse(control).divided(by)
    assert str(shorter) == expected
    assert TimeControl.parse(str(shorter)) == shorter


def test_depth_alone_cannot_be_divided() -> None:
    """Depth alone cannot be divided."""
    assert not TimeControl.parse("depth=4").is_divisible
    assert all(TimeControl.parse(text).is_divisible for text in ("1+0", "movetime=1", "nodes=5", "1,depth=4"))


@given(bands=st.integers(-9, 9), base=st.integers(1, 80_000))
def test_only_the_giver_has_less(bands: int, base: int) -> None:
    """A positive handicap shortens White's clock, a negative one Black's; both time margins stay."""
    tc = TimeControl.parse(f"{base}+1")
    side = Side(EngineSpec("e", ("/e",), "uci"), tc, 70)
    white, black = with_time_odds(side, side, bands)
    assert (white.tc == tc) == (bands <= 0)
    assert (black.tc == tc) == (bands >= 0)
    giver = white if bands > 0 else black
    assert giver.tc == tc.divided(odds_divisor(abs(bands)))
    assert white.margin_ms == black.margin_ms == 70


def test_a_game_at_odds_is_played_so(tmp_path: Path) -> None:
    """The stronger side has the shorter clock with both colors; games, PGN, standings and lists show it."""
    path = config(tmp_path, (), "roundrobin", "games_per_pairing = 2\nhandicap = {}", RATED, tc="60,depth=1")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    tour(tmp_path, "run", str(path))
    games = read(tmp_path, "games")
    controls = [(game["white"], game["handicap"], game["white_tc"], game["black_tc"]) for game in games]
    assert controls == [("Wren 2", 1, GIVEN, WHOLE), ("Wren 1", -1, WHOLE, GIVEN)]
    shown = tour(tmp_path, "games").stdout
    assert f"White 1: {GIVEN} v {WHOLE}" in shown
    assert f"Black 1: {WHOLE} v {GIVEN}" in shown
    told = tour(tmp_path, "games", "2").stdout
    for tag in ('[Handicap "Black gives 1"]', f'[WhiteTimeControl "{WHOLE}"]', f'[BlackTimeControl "{GIVEN}"]'):
        assert tag in told
    assert [line["odds"] for line in read(tmp_path, "standings")["table"]] == [2, 2]
    assert "games at time odds, not rated: 2; the engine giving odds scored" in tour(tmp_path, "ratings").stdout
    even, whole = (read(tmp_path, "ratings", "--all", *words) for words in ((), ("--odds",)))
    assert (even["games"], whole["games"]) == (0, 2)
    assert any("games left out: 2 by odds" in line for line in even["caption"])


@pytest.mark.parametrize(
    ("settings", "more", "tc", "told"),
    [
        ("handicap = {}", "", "depth=3", "time odds cannot shorten depth=3 of Wren 1"),
        ("handicap = {}", OLD, "movetime=1", 'found movetime=0.371). Hint: use a clock such as "10+0.1", or remove'),
        ("handicap = { ceiling = 2 }", OLD, 'movetime=2"\nodds = [2, 4]\n#"', "found movetime=0.5). Hint: use a clock"),
        ("handicap = {}", "", '9"\nodds = [4, 2]\n#"', "do not decrease"),
        ("handicap = {}", "", '9"\nodds = []\n#"', "do not decrease"),
        ("handicap = {}", "", '9"\nodds = [1]\n#"', "greater than 1"),
        ("cycles = 1", "", '9"\nodds = [2]\n#"', "odds requires a handicap"),
        ("handicap = {}", '\n[[entrants]]\nengine = "wren3"', "9", "rating for every entrant (missing: Wren 3)"),
        ("handicap = { per = 0 }", "", "9", "format.handicap.per"),
    ],
)
def test_refused(tmp_path: Path, settings: str, more: str, tc: str, told: str) -> None:
    """Odds that an engine does not support, or that nothing uses, are errors with a line before the first game."""
    path = config(tmp_path, (), "roundrobin", settings, RATED + more, tc=tc)
    refused = tour(tmp_path, "check", str(path), expect=3).stderr
    assert told in refused
    assert f"{path.name}:" in refused


def test_odds_are_frozen(tmp_path: Path) -> None:
    """A resume with another table of odds is an error."""
    path = config(tmp_path, (), "roundrobin", "games_per_pairing = 2\nhandicap = {}", RATED, tc="60,depth=1")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    path.write_text(path.read_text().replace('depth=1"', 'depth=1"\nodds = [2]'))
    assert "play.odds cannot change" in tour(tmp_path, "run", str(path), expect=5).stderr
