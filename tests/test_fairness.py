"""What is told of the machine and the referee beside a game."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.engines.machine import Workload, processor
from enginetour.model.game import SideRecord, Termination
from enginetour.reports.games import machine_lines
from tests.playing import game, scripted, sound
from tests.storing import add_game, open_log
from tests.storing import game as storing_game
from tests.touring import read, tour

BUSY = replace(storing_game(), load=3.14, cores=2, steal=0.051, relay_us=(100, 900, 2100), own_us=3300)


def test_words() -> None:
    """Load, steal, relay gap and own share, each where it was measured."""
    assert list(machine_lines(BUSY)) == [
        "machine: load 3.1 on 2 processors, 5.1% of their time taken by the host: busy, clocks may have suffered",
        "referee: an answer became the opponent's go after 0.1 ms, 99 % within 0.9, at most 2.1",
        "referee: its own share of the late move was at most 3.3 ms (relay gap, late wake-ups)",
    ]
    assert list(machine_lines(replace(storing_game(), load=2.0, cores=2, steal=0.0))) == [
        "machine: load 2.0 on 2 processors"
    ]
    assert list(machine_lines(storing_game())) == []
    waited = replace(storing_game(), white=SideRecord(waited_ms=12), black=SideRecord(waited_ms=0))
    assert list(machine_lines(waited)) == ["engines waited for a processor: Fruit 12 ms, Toga 0 ms of the game"]


def test_real_play() -> None:
    """A game knows its machine; a time loss has the referee's own share beside it, another end has none."""
    lost = game(scripted(fault="hang"), sound(), white_tc="0.2", doubtful_flag="loss")
    assert lost.termination is Termination.TIME
    assert lost.own_us is not None
    assert lost.load is not None
    assert lost.cores
    assert game(scripted(fault="crash"), sound()).own_us is None


def test_what_a_game_keeps_of_its_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processor, stolen time, and how fast answers were relayed: in the middle, nearly always, at worst."""
    monkeypatch.setattr(Workload, "steal", lambda _: 0.25)
    played = game(sound(), sound())
    assert (played.hardware, played.steal) == (processor(), 0.25)
    assert played.relay_us is not None
    median, high, largest = played.relay_us
    assert 0 < median <= high <= largest


def test_stored_and_shown(tmp_path: Path) -> None:
    """The store keeps it; lists flag games at a load beyond the processors, and have no column where none was."""
    (tmp_path / "results").mkdir()
    store, log = open_log(tmp_path / "results" / "enginetour.db")
    with store:
        add_game(log, replace(storing_game(), load=1.5, cores=2))
        assert "load" not in tour(tmp_path, "games").stdout
        assert "referee ms" not in tour(tmp_path, "games").stdout
        add_game(log, replace(BUSY, pairing=storing_game(meeting=2).pairing, white=SideRecord(waited_ms=7)))
        assert log.game(2).game.white.waited_ms == 7
        assert log.game(2).game.own_us == 3300
    assert [(row["load"], row["busy"]) for row in read(tmp_path, "games")] == [(1.5, False), (3.14, True)]
    listed = tour(tmp_path, "games").stdout.splitlines()
    assert ["3.1/2" in line for line in listed if "Fruit" in line] == [False, True]
    assert ["3.3" in line for line in listed if "Fruit" in line] == [False, True]
    assert any("referee ms" in line for line in listed)
    assert "busy, clocks may have suffered" in tour(tmp_path, "games", "2").stdout
    assert read(tmp_path, "games", "2")["steal"] == 0.051
