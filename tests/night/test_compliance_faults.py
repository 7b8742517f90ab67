"""Every step of both courses finds its fault."""

from __future__ import annotations

import pytest

from tests.support.engines import Protocol, hasty, taken

pytestmark = pytest.mark.night


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """No long waits."""
    hasty(monkeypatch)


# step, fault, verdict, words; in both protocols.
FAULTS = [
    ("position-start", "illegal", "FAIL", "not a legal move: 'a1a1'"),
    ("position-passing-only", "no-passing", "warn", "not a legal move"),
    ("position-promotion-only", "bare-promotion", "FAIL", "not a legal move: 'a7a8'"),
    ("position-double-check", "dies-in-double-check", "FAIL", "it ended"),
    ("castling-960", "corner-rooks", "warn", "not a legal move"),
    ("limit-depth", "deep", "FAIL", "searched 12 plies where 3 were asked"),
    ("limit-movetime", "late", "warn", "ms late, the margin is 100"),
    ("score", "no-score", "warn", "no score before its move"),
    ("variation", "other-variation", "warn", "its variation begins with"),
    ("point-of-view", "view", "warn", "scores from White's side"),
    ("options-spin", "dies-of-Skill", "warn", "it ended"),
    ("options-combo", "dies-of-Style", "warn", "it ended"),
    ("options-string", "dies-of-Motto", "warn", "it ended"),
    ("lines-together", "drops-lines", "FAIL", "answers 1 of 4 pings in one write"),
    ("lines-pieces", "pieces", "warn", "that came in two pieces"),
    ("lines-crlf", "crlf", "warn", "that ended with CR LF"),
    ("lines-empty", "empty", "warn", "it ended"),
    ("lines-unknown", "unknown", "warn", "it ended"),
    ("ping-once", "double-pong", "warn", "answers it 2 times"),
    ("ping-thinking", "ping-thinking", "warn", "while it thinks; it is never asked then"),
    ("name", "nameless", "warn", "by its file's"),
    ("stderr", "stderr", "warn", "writes to stderr: 'warning: no book'"),
    ("quit-idle", "quit", "warn", "alive 0.5 s after quit"),
    ("quit-idle", "exit-code", "warn", "ends by exit 3"),
    ("quit-thinking", "quit-thinking", "warn", "alive 0.5 s after quit"),
    ("eof-idle", "eof", "warn", "alive 0.5 s after the end of its input"),
    ("eof-thinking", "eof-thinking", "warn", "alive 0.5 s after the end of its input"),
    ("sigterm-idle", "sigterm", "warn", "alive 0.5 s after SIGTERM"),
    ("sigterm-thinking", "sigterm", "warn", "alive 0.5 s after SIGTERM"),
]
OWN: dict[Protocol, list[tuple[str, str, str, str]]] = {
    "uci": [
        ("author", "authorless", "warn", "no id author"),
        ("position-rights", "illegal", "FAIL", "not a legal move"),
        ("position-long", "long", "FAIL", "it ended"),
        ("limit-nodes", "few-nodes", "FAIL", "searched 6 nodes where 20000 were asked"),
        ("limit-nodes", "many-nodes", "FAIL", "searched 9000000 nodes where 2000 were asked"),
        ("variation", "variation", "warn", "an illegal move in its variation: a1a1"),
        ("options-read", "default", "warn", "a default that is not allowed: Skill"),
        ("options-check", "dies-of-Calm", "warn", "it ended"),
        ("options-button", "dies-of-Clear Hash", "warn", "it ended"),
        ("info", "info", "warn", "the word 'speed' in"),
        ("stop", "stop", "warn", "no answer to stop within 1 s"),
        ("idle-stop", "idle-stop", "warn", "'bestmove 0000' where nothing was asked"),
        ("second-uci", "second-uci", "warn", "no second uciok"),
        ("strange-option", "strange-option", "warn", "it ended"),
        ("endless", "early", "warn", "before stop"),
        ("endless", "stop", "warn", "no bestmove within 0.5 s of stop"),
        ("ponder-hit", "early", "warn", "while it ponders"),
        ("ponder-hit", "ponder-hit", "warn", "of ponderhit"),
        ("ponder-hit", "bad-ponder", "warn", "an illegal move to ponder on"),
        ("ponder-hit", "no-ponder", "not offered", "no option Ponder"),
        ("ponder-miss", "stop", "warn", "no bestmove within 0.5 s of stop"),
    ],
    "cecp": [
        ("features", "no-features", "warn", "taken as protocol 1"),
        ("features", "done", "warn", "no done=1"),
        ("ping", "no-ping", "warn", "200 ms of quiet"),
        ("setboard", "no-setboard", "warn", "openings need moves"),
        ("position-rights", "no-setboard", "not offered", "cannot be told"),
        ("variants", "variants", "FAIL", "normal is not among its variants"),
        ("level-fraction", "level", "FAIL", "to 'level 0 0:05 0.05'"),
        ("force", "force", "FAIL", "moves in force mode"),
        ("force-claims", "claims", "warn", "claims in force mode: '1/2-1/2"),
        ("illegal", "illegal-talk", "warn", "takes an illegal move without a word"),
        ("output", "output", "warn", "no line of thought that can be read, as 'depth"),
        ("ponder", "hard", "warn", "it ended"),
        ("memory", "memory", "FAIL", "ends it, though it declares memory"),
        ("cores", "cores", "FAIL", "ends it, though it declares smp"),
        ("result-idle", "result", "warn", "it ended"),
        ("result-thinking", "result", "warn", "it ended"),
        ("move-now", "move-now", "warn", "no move within 0.5 s of ?"),
        ("draw", "draw", "warn", "moves at once when a draw is offered"),
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
    """Its verdict, and in words what was seen."""
    found = taken(protocol, fault, key)
    (step,) = (step for step in found.steps if step.key == key)
    assert (step.verdict, words in step.words) == (verdict, True), step
    assert found.fit == (verdict != "FAIL")
