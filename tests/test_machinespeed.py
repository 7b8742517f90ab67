"""Clocks by the speed of the machine: measured once, kept with the tournament, in every game's record."""

from __future__ import annotations

import bz2
import threading
import time
from pathlib import Path

import pytest

from enginetour.engines import machine
from enginetour.engines.machine import Machine, here
from enginetour.model.task import EngineSpec, Side, Terms
from enginetour.model.timecontrol import TimeControl
from enginetour.store.tournaments import Store
from tests.touring import config, read, tour

OLD = '\n[[entrants]]\nname = "Old"\ncommand = ["true"]\nprotocol = "cecp"\n'


def test_the_work_is_the_same_everywhere() -> None:
    """Other bytes would be another measure."""
    text = machine.work()
    assert len(text) == 799_999
    assert text.startswith(b"d8h8 e2d1 a5f2 f8d4 ")
    assert machine.speed(rounds=1) > 0


def test_other_threads_make_no_machine_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of one process measure at the same moment."""

    spent: list[int] = []

    def busy() -> None:
        begun = time.thread_time_ns()
        sum(range(3_000_000))
        spent.append(time.thread_time_ns() - begun)

    def beside(*_: object) -> None:
        other = threading.Thread(target=busy)
        other.start()
        other.join()

    monkeypatch.setattr(bz2, "compress", beside)
    charged = len(machine.work()) * 1000 / (machine.speed(rounds=1) * machine.REFERENCE)
    assert charged < spent[0] / 10


@pytest.mark.parametrize(
    ("control", "speed", "expected"),
    [
        ("10+0.1", 2.0, "5+0.05"),
        ("40/60", 0.5, "40/120"),
        ("1,nodes=10", 0.1, "10,nodes=10"),
        ("depth=9", 3.0, "depth=9"),
    ],
)
def test_times_are_divided_and_nodes_are_not(control: str, speed: float, expected: str) -> None:
    """A machine twice as fast has half the time; a number of nodes is the same work anywhere."""
    side = Side(EngineSpec("E", ("/e",), "uci"), TimeControl.parse(control), black=Terms(TimeControl.parse("1"), 9))
    played = side.playing(white=True).at_speed(speed)
    assert (str(played.tc), played.speed) == (expected, speed)
    assert side.at_speed(None) is side


def test_what_was_measured_here_is_not_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another host or processor is another machine; a number of the user's own needs no measure."""
    monkeypatch.setattr(machine, "speed", lambda: 1.5)
    first = here("measure")
    assert first.speed == 1.5
    monkeypatch.setattr(machine, "speed", lambda: 7.0)
    assert here("measure", first.to_json()) == first
    assert here("measure", {**first.to_json(), "host": "elsewhere"}).speed == 7.0
    assert here("measure", {**first.to_json(), "processor": "another"}).speed == 7.0
    assert here(2.0, first.to_json()).speed == 2.0
    assert here(None, first.to_json()).speed is None
    assert Machine("h", "p", 1.6).words == "speed 1.6 of h (p): times are multiplied by 0.625"


def test_a_tournament_is_played_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """check and run tell it, the games have the clocks they were played by, a resume takes what was measured."""
    monkeypatch.setattr(machine, "speed", lambda: 2.0)
    tc = '60+1,depth=1"\nspeed = "measure"\n#'
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "games_per_pairing = 2", tc=tc)
    assert "times are multiplied by 0.500" in tour(tmp_path, "check", str(path)).stdout
    assert "times are multiplied by 0.500" in tour(tmp_path, "run", str(path), "--max-games", "1", expect=8).stdout
    monkeypatch.setattr(machine, "speed", lambda: 5.0)
    tour(tmp_path, "run", str(path))
    assert {(line["white_tc"], line["black_tc"]) for line in read(tmp_path, "games")} == {("30+0.5,depth=1",) * 2}
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        log = store.tournament("trial")
        assert log.config["machine"] == machine.here(2.0).to_json()
        assert [(log.game(number).game.white.speed, log.game(number).game.black.speed) for number in (1, 2)] == [
            (2.0, 2.0)
        ] * 2


@pytest.mark.parametrize(
    ("speed", "tc", "words"),
    [
        ('"measure"', "movetime=1", "Old takes a fixed time a move in whole seconds only, found movetime=1.003"),
        ("1.5", "movetime=1", "found movetime=0.666"),
        ("0.1", "86400", "Wren 1: 86400 times 10 is more than a day"),
        ('"fast"', "9", "play.speed"),
        ("0", "9", "play.speed"),
    ],
)
def test_refused(tmp_path: Path, speed: str, tc: str, words: str) -> None:
    """What an engine cannot be told, and what is no speed, at its line."""
    path = config(tmp_path, ("wren1",), "roundrobin", "", OLD, tc=f'{tc}"\nspeed = {speed}\n#')
    line = path.read_text().splitlines().index(f"speed = {speed}") + 1
    refused = tour(tmp_path, "check", str(path), expect=3).stderr
    assert words in refused
    assert f"trial.toml:{line}" in refused


def test_a_clock_of_more_than_a_day_is_refused_once_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only then is it known; nothing was written."""
    monkeypatch.setattr(machine, "speed", lambda: 0.1)
    path = config(tmp_path, ("wren1", "wren3"), "roundrobin", "", tc='20000,depth=1"\nspeed = "measure"\n#')
    assert "more than a day" in tour(tmp_path, "run", str(path), expect=3).stderr


def test_a_speed_that_keeps_whole_seconds_is_taken(tmp_path: Path) -> None:
    """Half a machine: two seconds a move, which every CECP engine can be told."""
    path = config(tmp_path, ("wren2", "wren4"), "roundrobin", "", tc='movetime=1"\nspeed = 0.5\n#')
    tour(tmp_path, "check", str(path))
