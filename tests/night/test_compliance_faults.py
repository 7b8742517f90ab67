"""Every step of both compliance tests finds its fault."""

from __future__ import annotations

import pytest

from tests.support.engines import Protocol, hasty, taken

pytestmark = pytest.mark.night


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use short waits."""
    hasty(monkeypatch)


# Step, fault, verdict and text, for both protocols.
FAULTS = [
    ("position-start", "illegal", "FAIL", "illegal move 'a1a1'"),
    ("position-passing-only", "no-passing", "warn", "illegal move"),
    ("position-promotion-only", "bare-promotion", "FAIL", "illegal move 'a7a8'"),
    ("position-double-check", "dies-in-double-check", "FAIL", "process ended"),
    ("castling-960", "corner-rooks", "warn", "illegal move"),
    ("limit-depth", "deep", "FAIL", "searched to depth 12 (limit 3)"),
    ("limit-movetime", "late", "warn", "ms late (time margin 100 ms)"),
    ("score", "no-score", "warn", "no score before the move"),
    ("variation", "other-variation", "warn", "but the variation begins with"),
    ("point-of-view", "view", "warn", "scores are from White's point of view"),
    ("options-spin", "dies-of-Skill", "warn", "process ended"),
    ("options-combo", "dies-of-Style", "warn", "process ended"),
    ("options-string", "dies-of-Motto", "warn", "process ended"),
    ("lines-together", "drops-lines", "FAIL", "answers 1 of 4 pings sent in one write"),
    ("lines-pieces", "pieces", "warn", "sent in two pieces"),
    ("lines-crlf", "crlf", "warn", "that ends with CR LF"),
    ("lines-empty", "empty", "warn", "process ended"),
    ("lines-unknown", "unknown", "warn", "process ended"),
    ("ping-once", "double-pong", "warn", "answers a ping 2 times"),
    ("ping-thinking", "ping-thinking", "warn", "during a search (enginetour does not send"),
    ("name", "nameless", "warn", "tables use the name of the engine file"),
    ("stderr", "stderr", "warn", "writes to stderr: 'warning: no book'"),
    ("quit-idle", "quit", "warn", "still running 0.5 s after quit"),
    ("quit-idle", "exit-code", "warn", "exit status after quit: exit 3"),
    ("quit-thinking", "quit-thinking", "warn", "still running 0.5 s after quit"),
    ("eof-idle", "eof", "warn", "still running 0.5 s after end of input"),
    ("eof-thinking", "eof-thinking", "warn", "still running 0.5 s after end of input"),
    ("sigterm-idle", "sigterm", "warn", "still running 0.5 s after SIGTERM"),
    ("sigterm-thinking", "sigterm", "warn", "still running 0.5 s after SIGTERM"),
]
OWN: dict[Protocol, list[tuple[str, str, str, str]]] = {
    "uci": [
        ("author", "authorless", "warn", "no id author"),
        ("position-rights", "illegal", "FAIL", "illegal move"),
        ("position-long", "long", "FAIL", "process ended"),
        ("limit-nodes", "few-nodes", "FAIL", "searched 6 nodes (limit 20000)"),
        ("limit-nodes", "many-nodes", "FAIL", "searched 9000000 nodes (limit 2000)"),
        ("variation", "variation", "warn", "illegal move a1a1 in the variation"),
        ("options-read", "default", "warn", "the default is not a declared value: Skill"),
        ("options-check", "dies-of-Calm", "warn", "process ended"),
        ("options-button", "dies-of-Clear Hash", "warn", "process ended"),
        ("info", "info", "warn", "unknown keyword 'speed' in"),
        ("stop", "stop", "warn", "no answer to stop within 1 s"),
        ("idle-stop", "idle-stop", "warn", "'bestmove 0000' without a search"),
        ("second-uci", "second-uci", "warn", "no uciok after a second uci"),
        ("strange-option", "strange-option", "warn", "process ended"),
        ("endless", "early", "warn", "before stop"),
        ("endless", "stop", "warn", "no bestmove within 0.5 s after stop"),
        ("ponder-hit", "early", "warn", "during pondering"),
        ("ponder-hit", "ponder-hit", "warn", "after ponderhit"),
        ("ponder-hit", "bad-ponder", "warn", "illegal ponder move"),
        ("ponder-hit", "no-ponder", "not offered", "the engine does not declare the option Ponder"),
        ("ponder-miss", "stop", "warn", "no bestmove within 0.5 s after stop"),
    ],
    "cecp": [
        ("features", "no-features", "warn", "and protocol 1 is assumed"),
        ("features", "done", "warn", "do not end with done=1"),
        ("ping", "no-ping", "warn", "200 ms of silence"),
        ("setboard", "no-setboard", "warn", "openings must be moves"),
        ("position-rights", "no-setboard", "not offered", "position not supported"),
        ("variants", "variants", "FAIL", "normal is missing in the feature variants"),
        ("level-fraction", "level", "FAIL", "to 'level 0 0:05 0.05'"),
        ("force", "force", "FAIL", "moves in force mode"),
        ("force-claims", "claims", "warn", "claims a result in force mode: '1/2-1/2"),
        ("illegal", "illegal-talk", "warn", "accepts an illegal move without an error message"),
        ("output", "output", "warn", "no readable search output; last line: 'depth"),
        ("ponder", "hard", "warn", "process ended"),
        ("memory", "memory", "FAIL", "although it declares memory"),
        ("cores", "cores", "FAIL", "although it declares smp"),
        ("result-idle", "result", "warn", "process ended"),
        ("result-thinking", "result", "warn", "process ended"),
        ("move-now", "move-now", "warn", "no move within 0.5 s after ?"),
        ("draw", "draw", "warn", "moves at once after a draw offer"),
    ],
}
CASES = [
    *((protocol, *row) for row in FAULTS for protocol in ("uci", "cecp")),
    *((protocol, *row) for protocol, rows in OWN.items() for row in rows),
]


@pytest.mark.parametrize(
    ("protocol", "key", "fault", "verdict", "words"),
    [pytest.param(*case, id=f"{case[0]}-{case[1]}-{case[2]}") for case in CASES],
)
def test_a_step_finds_its_fault(protocol: Protocol, key: str, fault: str, verdict: str, words: str) -> None:
    """The step has the expected verdict and text."""
    found = taken(protocol, fault, key)
    (step,) = (step for step in found.steps if step.key == key)
    assert (step.verdict, words in step.words) == (verdict, True), step
    assert found.fit == (verdict != "FAIL")
