"""What keeps the referee from its clock: the machine's sleep, and a slot that was stopped in a whole run."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from enginetour.engines.process import Wake
from enginetour.model.game import Outcome
from enginetour.referee import clock, relay, talk
from enginetour.referee import game as game_module
from enginetour.referee.talk import Link
from enginetour.store.tournaments import Store
from tests import playing
from tests.forked import Forked, scripted
from tests.lives import slots_of
from tests.playing import game, sound
from tests.touring import audit, config, entrant, left_running, tour

# Answers at once, but the first search of all waits for the pipe beside it.
HELD = """\
import os, sys
moves, plies, held = ["g1f3", "g8f6", "f3g1", "f6g8"], 0, True
for line in sys.stdin:
    words = line.split()
    if words[0] == "position":
        plies = len(words[words.index("moves") + 1:]) if "moves" in words else 0
    if words[0] == "go":
        if held and not os.path.exists({here!r} + "/was-held"):
            open({here!r} + "/was-held", "w").close()
            open({here!r} + "/held", "w").close()
            open({here!r} + "/gate").read()
        print("bestmove", moves[plies % 4], flush=True)
    print({{"uci": "uciok", "isready": "readyok"}}.get(words[0], ""), flush=True)
"""


def test_a_game_the_machine_slept_through_is_void(monkeypatch: pytest.MonkeyPatch) -> None:
    """BOOTTIME has run ahead of MONOTONIC by more than a second: whose time it was nobody can tell."""
    slept = [0]

    class Sleeping(Link):
        def tell(self, name: str, payload: object) -> None:
            slept[0] += 3_000_000_000 * (name == "start")

    monkeypatch.setattr(clock, "slept_ns", lambda: slept[0])
    played = game(sound(), sound(), link=Sleeping())
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", "")
    assert "suspended" in played.cause


class Frozen:
    """Waits of a module, one of which this process and all clocks but the machine's own sleep through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: ModuleType, seconds: float, at: int) -> None:
        self._offset, self._seconds, self.left = 0, seconds, at
        now, wait = time.monotonic_ns, module.wait

        def held(*words: Any) -> Any:
            self.left -= 1
            if self.left:
                return wait(*words)
            self._offset = int(self._seconds * 1e9)
            return Wake((), control=False)

        monkeypatch.setattr(relay, "native", None)  # it waits by itself
        monkeypatch.setattr(time, "monotonic_ns", lambda: now() + self._offset)
        monkeypatch.setattr(module, "wait", held)


@pytest.mark.parametrize(("seconds", "void"), [(0.9, False), (5.0, True)])
def test_a_freeze_shorter_than_the_clock_is_charged_to_nobody(
    seconds: float, void: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A freezer of control groups gives no signal, and the machine's sleep does not grow: a wait was far too long."""
    Frozen(monkeypatch, game_module, seconds, at=2)
    played = game(sound(), sound(), white_tc="60", black_tc="60")
    assert (played.outcome is Outcome.VOID, played.category) == (void, "host" if void else "")
    assert ("woke up" in played.cause) == void


def test_a_freeze_over_the_flag_blames_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """What froze us froze the engine, which answers a moment after us: that moment made it lose on time."""
    Frozen(monkeypatch, game_module, 0.9, at=1)
    late = playing.scripted("uci", "late", at=1, seconds=0.05)
    played = game(late, sound(), white_tc="0.5", doubtful_flag="void")
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", ""), played.cause
    assert "after stop" in played.cause and "doubtful" in played.cause


def test_a_freeze_before_the_flag_blames_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took an engine's time without a word, and it lost by less than that."""
    Frozen(monkeypatch, game_module, 0.45, at=2)
    late = playing.scripted("uci", "late", at=1, seconds=0.15)
    played = game(late, sound(), white_tc="0.5", doubtful_flag="void")
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", ""), played.cause
    assert "doubtful" in played.cause


@pytest.mark.parametrize(("where", "words"), [("at its start", "no uciok"), ("before a move", "no answer to a ping")])
def test_a_freeze_in_a_fence_is_no_stall(where: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that is waited for outside its clock was too slow by the machine's own pause."""
    frozen = Frozen(monkeypatch, talk, 20.0, at=1 if where == "at its start" else 0)
    converse = talk.converse

    def before_a_move(*told: Any) -> Any:
        frozen.left = 1
        return converse(*told)

    if where == "before a move":
        monkeypatch.setattr(game_module, "converse", before_a_move)
    played = game(sound(fence="wait"), sound(), white_tc="60", black_tc="60")
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", "")
    assert words in played.cause and "the referee woke up" in played.cause


def test_a_slot_that_was_stopped_replays_its_game(tmp_path: Path) -> None:
    """SIGSTOP and SIGCONT in a move: void, played again with the same colours, and nobody is blamed."""
    (tmp_path / "results").mkdir()
    (tmp_path / "held.py").write_text(HELD.format(here=str(tmp_path)))
    for name in ("held", "gate"):
        os.mkfifo(tmp_path / name)
    more = entrant("Held", [sys.executable, "-S", str(tmp_path / "held.py")])
    path = config(tmp_path, (), "roundrobin", "", more + scripted("Ada", "uci"), tc="600")
    path.write_text(path.read_text().replace("[play]", "[play]\nopenings = { plies = 0 }"))
    run = Forked(tmp_path, ["run", str(path)], tmp_path / "errors")
    (tmp_path / "held").read_text()
    (slot,) = slots_of(run.pid)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        os.kill(slot, number)
    (tmp_path / "gate").write_text("")
    assert run.ended()[0] == 0
    audit(tmp_path)
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        first, second = store.tournament("trial").full_games()
    assert (first.game.outcome, first.game.category, first.game.culprit) == (Outcome.VOID, "host", "")
    assert (second.game.pairing, second.game.replay) == (first.game.pairing, 1)
    assert second.game.outcome is Outcome.DRAW
    assert left_running(tmp_path) == []
    told = tour(tmp_path, "games", "1").stdout + tour(tmp_path, "report").stdout
    told += (tmp_path / "results" / "trial-report" / "index.html").read_text()
    assert "incident: the machine, host" in told
    assert "1 incident to look at: the machine (1)" in told
