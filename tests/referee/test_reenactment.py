"""Tests of referee/reenactment: an engine gets the same lines again, and repeats its fault or not."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from enginetour.cli.games import is_reproduced
from enginetour.engines import protocol as protocol_module
from enginetour.model.game import Game, Incident, Opening, Outcome, Pairing, Termination
from enginetour.model.task import EngineSpec, GameTask, ReenactResult, ReenactTask, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import clock, reenactment
from enginetour.referee.link import Link
from enginetour.referee.reenactment import reenact
from tests.support.engines import BOTH, HURRIED, LONG, Protocol, game, hurry, scripted, sound


def task(played: Game, spec: EngineSpec, *, white: bool = True, hang_limit: float = 60.0, **more: Any) -> ReenactTask:
    """Return a task as the command line makes it, but faster."""
    own = Side(spec, TimeControl.parse(played.white_tc if white else played.black_tc))
    other = Side(sound(), TimeControl.parse(LONG))
    seats = (own, other) if white else (other, own)
    moves = tuple((move.uci, move.elapsed_ms) for move in played.moves if not move.book)
    whole = GameTask(played.pairing, *seats, played.opening, Rules(hang_limit=hang_limit))
    return ReenactTask(whole, white, moves, **{"speed": 100.0, **more})


def grave(played: Game) -> Incident:
    (found,) = (incident for incident in played.incidents if not incident.is_warning)
    return found


CASES = [
    ("crash", {}, "crash", "exit 3"),
    ("segv", {}, "crash", "SIGSEGV"),
    ("illegal", {}, "illegal-move", "e2e5"),
    ("hang", {"white_tc": HURRIED}, "time", "no answer"),
    ("late", {"white_tc": HURRIED}, "time", "answered after"),
]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch, answered: None) -> None:
    """Wait for an answer, or for a claim after a move, as long as a busy machine needs."""
    del answered
    monkeypatch.setattr(reenactment, "OWED_NS", 60_000 * protocol_module.MS)


@pytest.mark.usefixtures("patient")
@BOTH
@pytest.mark.parametrize(("fault", "settings", "category", "words"), CASES, ids=[case[0] for case in CASES])
def test_what_happened_happens_again(
    protocol: Protocol,
    fault: str,
    settings: dict[str, Any],
    category: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fault in the third search is repeated, because earlier searches are repeated."""
    hurry(monkeypatch, search=2, ms=100)
    if fault == "late":  # it is awaited, however busy the machine is
        monkeypatch.setattr(clock, "GRACE_NS", 60_000 * protocol_module.MS)
    if fault == "hang":
        monkeypatch.setattr(protocol_module, "OWED_NS", 100 * protocol_module.MS)
    spec = scripted(protocol, fault, at=3, seconds=0.58)
    played = game(spec, sound(), doubtful_flag="loss", **settings)
    found = reenact(task(played, spec), Link())
    assert (found.category, found.ply) == (category, 4), found
    assert words in found.words
    assert is_reproduced(grave(played), found)


def test_the_last_search_alone() -> None:
    """The last search alone repeats a fault of the position, not a fault of an earlier search."""
    for at, category in ((1, "crash"), (3, "")):
        spec = scripted("uci", "crash", at=3)
        played = game(spec, sound())
        found = reenact(task(played, scripted("uci", "crash", at=at), last_only=True), Link())
        assert (found.category, found.ply) == (category, 4)


@pytest.mark.parametrize(
    ("fault", "control", "limit", "words"),
    [
        ("hang", "nodes=1", 0.2, "no answer within the hang limit of 0.2 s"),
        ("late", "depth=1", 0.2, r"answered after \d+ ms; allowed: the hang limit of 0.2 s"),
        ("", "nodes=1", 60.0, r"plays g1f3 after \d+ ms; allowed: the hang limit of 60 s"),
        ("", "movetime=60", 0.2, r"plays g1f3 after \d+ ms; allowed: 60000 ms and a time margin of 50 ms"),
    ],
    ids=["silent", "late", "in-time", "fixed-time"],
)
def test_the_limit_is_told_as_it_is(
    fault: str, control: str, limit: float, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In games by nodes or depth the hang limit is shown, which has no margin."""
    monkeypatch.setattr(protocol_module, "OWED_NS", 100 * protocol_module.MS)
    if fault == "late":  # it is awaited, however busy the machine is
        monkeypatch.setattr(clock, "GRACE_NS", 60_000 * protocol_module.MS)
    spec = scripted("uci", fault, at=1, seconds=0.25)
    pairing = Pairing(spec.name, "sound")
    lost = Game(pairing, Outcome.BLACK, Termination.TIME, white_tc=control, black_tc=LONG)
    found = reenact(task(lost, spec, hang_limit=limit), Link())
    assert re.fullmatch(words, found.words), found.words


@BOTH
def test_a_mended_engine_does_not_do_it_again(protocol: Protocol) -> None:
    """A repaired engine moves in time, and no process is left."""
    played = game(sound(), scripted(protocol, "crash", at=2))
    found = reenact(task(played, sound(protocol), white=False), Link())
    assert (found.category, found.status) == ("", "")
    assert found.words.startswith("plays f6g8 after")
    assert not is_reproduced(grave(played), found)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("fault", ["move-and-win", "abort"])
def test_claims(fault: str) -> None:
    """A claim of a CECP engine is repeated."""
    played = game(scripted("cecp", fault), sound())
    found = reenact(task(played, scripted("cecp", fault)), Link())
    assert is_reproduced(grave(played), found), found


@pytest.mark.usefixtures("patient")
def test_a_claim_behind_its_move() -> None:
    """A claim that came instead of a move counts a moment after a move too."""
    played = game(scripted("cecp", "win"), sound())
    found = reenact(task(played, scripted("cecp", "move-and-later-win", seconds=0.05)), Link())
    assert is_reproduced(grave(played), found), found
    assert (found.ply, found.text) == (2, "")


@pytest.mark.usefixtures("patient")
def test_a_claim_between_two_searches() -> None:
    """A claim between two searches is not lost."""
    played = game(scripted("cecp", "win", at=3), sound())
    again = task(played, scripted("cecp", "move-and-later-win", seconds=0.01), speed=1.0)
    again = replace(again, moves=(*again.moves[:-1], (again.moves[-1][0], 300)))
    found = reenact(again, Link())
    assert is_reproduced(grave(played), found), found


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("fault", "at", "ply"), [("move-and-later-win", 2, 4), ("win", 1, 0)])
def test_a_claim_when_an_earlier_search_is_stopped(
    fault: str, at: int, ply: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim is not lost if it arrives before the answer to `?` or with the pong after it."""
    monkeypatch.setattr(reenactment, "MS", 0)  # all earlier searches are stopped at once
    played = game(scripted("cecp", "win", at=3), sound())
    found = reenact(task(played, scripted("cecp", fault, at=at, seconds=0.01)), Link())
    assert (found.category, found.ply) == ("false-claim", ply), found


@pytest.mark.parametrize(("fault", "category"), [("exit-at-start", "start-failure"), ("silent", "start-timeout")])
def test_failed_starts(fault: str, category: str) -> None:
    """A failed start is repeated."""
    spec = scripted("uci", fault, handshake_timeout=0.5 if fault == "silent" else 20.0)
    played = game(spec, sound())
    found = reenact(task(played, spec), Link())
    assert (found.category, found.ply) == (category, 0)
    assert is_reproduced(grave(played), found)


def test_a_cecp_engine_that_moves_otherwise_cannot_go_on() -> None:
    """A CECP engine that plays another move cannot continue; in UCI every position is sent again."""
    played = game(scripted("cecp", "crash", at=3), sound())
    other = scripted("cecp", "crash", at=3, moves="b1c3 c3b1")
    found = reenact(task(played, other), Link())
    assert (found.category, found.ply) == ("other-way", 0)
    assert "b1c3 instead of g1f3" in found.words
    uci = replace(scripted("uci", "crash", at=3, moves="b1c3 c3b1"), name="crash")
    assert reenact(task(played, uci), Link()).category == "crash"


def test_an_opening_and_the_program_that_is_gone(tmp_path: Path) -> None:
    """The opening is on the board; a missing program is a failed start."""
    spec = scripted("uci", "crash", at=1)
    played = game(spec, sound(), opening=Opening("two", moves=("e2e3", "e7e6")))
    assert reenact(task(played, spec), Link()).ply == 2
    gone = replace(spec, command=(str(tmp_path / "gone"),))
    found = reenact(task(played, gone), Link())
    assert (found.category, "does not exist" in found.words) == ("start-failure", True)


def test_another_signal_is_another_crash() -> None:
    """Another signal or another illegal move is another incident."""
    old = Incident("x", "crash", "White disconnects: signal 11 (SIGSEGV)")
    assert is_reproduced(old, ReenactResult("crash", "", "signal 11 (SIGSEGV)"))
    assert not is_reproduced(old, ReenactResult("crash", "", "signal 1 (SIGHUP)"))
    assert not is_reproduced(old, ReenactResult("", "plays e2e4"))
    illegal = Incident("x", "illegal-move", "White makes an illegal move: e2e5 in 8/8")
    assert is_reproduced(illegal, ReenactResult("illegal-move", "", text="e2e5"))
    assert not is_reproduced(illegal, ReenactResult("illegal-move", "", text="e2e6"))
