"""Margins: the defaults, and whose word counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.model.task import EngineSpec, Quirks
from enginetour.referee.clock import MS, Clock
from enginetour.tournament.config.entrants import side_of
from enginetour.tournament.config.load import load
from tests.touring import config


@pytest.mark.parametrize(
    ("play", "own", "late", "margins"),
    [
        ("", "", (0, 0), (50, 50)),
        ("", "", (300, 40), (50, 50)),
        ("", "", (300, 250), (250, 250)),
        ("", 'tc = "movetime=1"', (0, 250), (100, 100)),
        ("", 'tc = "movetime=1"', (300, 0), (300, 300)),
        ("", 'black_tc = "movetime=1"', (0, 0), (50, 100)),
        ("margin_ms = 20", 'black_tc = "movetime=1"', (300, 250), (20, 20)),
        ("margin_ms = 20", "margin_ms = 0", (0, 250), (0, 0)),
    ],
)
def test_margins(tmp_path: Path, play: str, own: str, late: tuple[int, int], margins: tuple[int, int]) -> None:
    """50 ms on a clock, 100 for a fixed time, or as the engine is known; the tournament's, then the entrant's."""
    path = config(tmp_path, (), "roundrobin", "", f'\n[[entrants]]\nengine = "wren1"\n{own}', tc=f'9"\n{play}\n#')
    loaded = load(path)
    quirks = Quirks(movetime_margin_ms=late[0], clock_margin_ms=late[1])
    side = side_of(loaded, EngineSpec("E", ("/e",), "uci", quirks=quirks), loaded.entrants[0])
    assert tuple(side.playing(white=white).margin_ms for white in (True, False)) == margins


def test_each_engine_has_its_own_flag(tmp_path: Path) -> None:
    """Two entrants of one tournament with two margins are late at two moments."""
    more = "".join(f'\n[[entrants]]\nengine = "wren{number}"\nmargin_ms = {10 * number}' for number in (1, 2))
    loaded = load(config(tmp_path, (), "roundrobin", "", more, tc="1"))
    spec = EngineSpec("E", ("/e",), "uci")
    flags = [Clock(side_of(loaded, spec, section), 60.0).flag_ns() for section in loaded.entrants]
    assert flags == [1_011 * MS, 1_021 * MS]


@pytest.mark.parametrize(
    ("play", "own", "option"),
    [
        ("", "", "false"),
        ("ponder = true", "", "true"),
        ("", "ponder = true", "true"),
        ("ponder = true", "ponder = false", "false"),
        ("ponder = true", "options = { PONDER = false }", "false"),
    ],
)
def test_ponder_goes_over_the_engine_file(tmp_path: Path, play: str, own: str, option: str) -> None:
    """Engine files say Ponder = false for all other games; the entrant's own options have the last word."""
    path = config(tmp_path, (), "roundrobin", "", f'\n[[entrants]]\nengine = "wren1"\n{own}', tc=f'9"\n{play}\n#')
    loaded = load(path)
    filed = EngineSpec("E", ("/e",), "uci", options=(("Hash", "16"), ("Ponder", "false")))
    spec = side_of(loaded, filed, loaded.entrants[0]).spec
    assert spec.options == (("Hash", "16"), ("Ponder", option))
    assert spec.ponder == (("Ponder", "true") in spec.offered)
    assert spec.ponder == (option == "true" or "options" in own)
