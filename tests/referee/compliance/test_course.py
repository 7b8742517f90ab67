"""Tests of the checks of UCI and CECP: a sound engine passes, and checks find their faults."""

from __future__ import annotations

import pytest

from enginetour.referee.compliance.course import steps_of
from tests.support.engines import BOTH, Protocol, hasty, patient, taken


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten all waits."""
    hasty(monkeypatch)


@BOTH
def test_a_sound_engine_passes_the_whole_course(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sound engine passes more than sixty checks, except those it does not support."""
    patient(monkeypatch)
    found = taken(protocol, "")
    odd = [(step.key, step.verdict, step.words) for step in found.steps if step.verdict not in ("ok", "not offered")]
    assert not odd
    assert found.fit
    assert len(found.steps) == len(steps_of(protocol)) + 1 > 60
    assert dict(found.hints) == ({} if protocol == "uci" else {"quirks.st_fraction": True})
    assert found.own_name == "Examinee"
    missing = {step.key for step in found.steps if step.verdict == "not offered"}
    assert missing == (set() if protocol == "uci" else {"limit-nodes"})


# Faults of one engine at the same time: fault, check, text.
TOGETHER: dict[Protocol, list[tuple[str, str, str]]] = {
    "uci": [
        ("nameless", "name", "tables use the name of the engine file"),
        ("authorless", "author", "no id author"),
        ("other-variation", "variation", "but the variation begins with"),
        ("view", "point-of-view", "scores are from White's point of view"),
        ("default", "options-read", "the default is not a declared value: Skill"),
        ("info", "info", "unknown keyword 'speed' in"),
        ("idle-stop", "idle-stop", "'bestmove 0000' without a search"),
        ("bad-ponder", "ponder-hit", "illegal ponder move"),
        ("corner-rooks", "castling-960", "illegal move 'a1a1'"),
        ("stderr", "stderr", "writes to stderr: 'warning: no book'"),
        ("exit-code", "quit-idle", "exit status after quit: exit 3"),
    ],
    "cecp": [
        ("nameless", "name", "tables use the name of the engine file"),
        ("view", "point-of-view", "scores are from White's point of view"),
        ("claims", "force-claims", "claims a result in force mode: '1/2-1/2"),
        ("illegal-talk", "illegal", "accepts an illegal move without an error message"),
        ("draw", "draw", "moves at once after a draw offer"),
        ("double-pong", "ping-once", "answers a ping 2 times"),
        ("stderr", "stderr", "writes to stderr: 'warning: no book'"),
        ("exit-code", "quit-idle", "exit status after quit: exit 3"),
    ],
}


@BOTH
def test_what_does_not_hinder_a_game_is_a_warning(protocol: Protocol) -> None:
    """Faults that do not prevent a game are warnings; the point of view gives a hint."""
    rows = TOGETHER[protocol]
    found = taken(protocol, ",".join(fault for fault, _, _ in rows), *(key for _, key, _ in rows))
    told = {step.key: step for step in found.steps}
    for _, key, words in rows:
        assert told[key].verdict == "warn", told[key]
        assert words in told[key].words
    assert found.fit
    assert dict(found.hints) == {"quirks.whitepov": True}


@pytest.mark.parametrize(
    ("protocol", "key", "fault", "words"),
    [
        ("uci", "position-one-move", "illegal", "illegal move 'a1a1'"),
        ("cecp", "position-promotion-only", "bare-promotion", "illegal move 'a7a8'"),
        ("uci", "position-double-check", "dies-in-double-check", "process ended"),
        ("cecp", "variants", "variants", "normal is missing in the feature variants"),
    ],
)
def test_what_would_lose_games_is_a_failure(protocol: Protocol, key: str, fault: str, words: str) -> None:
    """Illegal moves, crashes in a game and other games than chess are failures."""
    found = taken(protocol, fault, key)
    assert words in found.steps[-1].words
    assert found.steps[-1].verdict == "FAIL"
    assert not found.fit


def test_a_limit_that_is_not_obeyed_is_left_out_of_the_file() -> None:
    """An unsupported limit is a failure with a hint if the file lists it, else not."""
    found = taken("uci", "ignores-nodes", "limit-nodes")
    assert found.steps[-1].verdict == "FAIL"
    assert dict(found.hints) == {"limits": ("clock", "depth", "movetime")}
    without = taken("uci", "ignores-nodes", "limit-nodes", limits=("clock", "movetime"))
    assert (without.steps[-1].verdict, without.fit) == ("not offered", True)
    obeyed = taken("uci", "", "limit-nodes", limits=("clock",))
    assert "supported, but nodes is not listed in `limits` of the engine file" in obeyed.steps[-1].words


def test_nodes_that_are_not_understood() -> None:
    """An engine that moves at once with nodes, as Ethereal 12, fails."""
    found = taken("uci", "few-nodes", "limit-nodes")
    assert (found.steps[-1].verdict, found.steps[-1].words) == ("FAIL", "searched 6 nodes (limit 20000)")
    assert dict(found.hints) == {"limits": ("clock", "depth", "movetime")}


def test_nodes_of_an_engine_that_always_moves_at_once() -> None:
    """An engine whose searches are shorter than the limit anyway, such as a beginner's level, passes."""
    (step,) = (step for step in taken("uci", "short", "limit-nodes").steps if step.key == "limit-nodes")
    assert (step.verdict, step.words.partition(", ")[2]) == ("ok", "6 nodes reported, as without a limit")


def test_one_line_at_a_time_is_a_hint() -> None:
    """An engine that loses the rest of a write gives a hint to pause between lines."""
    found = taken("uci", "drops-lines", "lines-together")
    assert found.steps[-1].verdict == "FAIL"
    assert dict(found.hints) == {"quirks.line_delay_ms": 100}
    assert taken("uci", "drops-lines", "lines-together", line_delay_ms=20).fit


def test_a_line_that_it_cannot_bear_is_left_out() -> None:
    """An engine that crashes after `computer` gives a hint, and never gets it with no_computer."""
    found = taken("cecp", "computer", "computer")
    assert "exits or stops answering after 'computer'" in found.steps[-1].words
    assert dict(found.hints) == {"quirks.no_computer": True}
    bears = taken("cecp", "computer", "level-moves", "computer", no_computer=True)
    assert {step.key: step.verdict for step in bears.steps[1:]} == {"computer": "not offered", "level-moves": "ok"}


def test_who_moves_before_it_is_told_to_obeys_as_well() -> None:
    """A move from a book before `?` is not a fault."""
    found = taken("cecp", "from-book", "move-now")
    assert found.steps[-1].key == "move-now"
    assert found.steps[-1].verdict in ("not offered", "ok"), found.steps[-1].words


def test_an_engine_that_does_not_start_takes_no_course() -> None:
    """An engine that does not start has one failed step."""
    found = taken("uci", "no-such-protocol", program="/bin/false")
    assert [(step.key, step.verdict) for step in found.steps] == [("handshake", "FAIL")]
    assert not found.fit
