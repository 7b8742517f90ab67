"""Each check of both protocols finds a fault, one per check; `make night` runs all of them.

The night has checks that take seconds (`features`, `limit-movetime`), and slow checks in the second protocol.
"""

from __future__ import annotations

from types import ModuleType

import pytest

from enginetour.engines import cecp
from enginetour.engines.protocol import MS
from enginetour.referee.compliance import common, exam
from enginetour.referee.compliance.course import steps_of
from tests.night.test_compliance_faults import FAULTS, OWN
from tests.referee.compliance.test_course import TOGETHER
from tests.support.engines import Protocol, hasty, patient, taken

# Found by missing output: only that wait is shortened. All else may take as long as a busy machine needs.
SHORT: dict[str, tuple[tuple[ModuleType, str], ...]] = {
    "pieces": ((exam, "ANSWER_S"),),
    "crlf": ((exam, "ANSWER_S"),),
    "ping-thinking": ((exam, "ANSWER_S"),),
    "quit-thinking": ((common, "QUIT_WAIT"),),
    "eof": ((common, "QUIT_WAIT"),),
    "eof-thinking": ((common, "QUIT_WAIT"),),
    "sigterm": ((common, "TERM_WAIT"),),
    "stop": ((exam, "OWED_S"),),
    "second-uci": ((exam, "ANSWER_S"),),
    "move-now": ((exam, "OWED_S"),),
}
SILENT_NS = 500 * MS  # an engine without features is silent for this time
BY_DAY = {  # in test_course.py
    *((protocol, key) for protocol, faults in TOGETHER.items() for _, key, _ in faults),
    *((protocol, key) for protocol in TOGETHER for key in ("lines-together", "limit-nodes", "variants")),
}
ONE_PROTOCOL: dict[str, Protocol] = {
    "lines-pieces": "uci",
    "lines-crlf": "cecp",
    "ping-thinking": "cecp",
    "quit-thinking": "cecp",
    "eof-idle": "cecp",
    "eof-thinking": "uci",
    "sigterm-idle": "uci",
    "sigterm-thinking": "cecp",
}


def rows() -> list[tuple[Protocol, str, str, str, str]]:
    """Return the first row of each check, of each protocol."""
    protocols: tuple[Protocol, ...] = ("uci", "cecp")
    found: dict[tuple[Protocol, str], tuple[Protocol, str, str, str, str]] = {}
    for protocol in protocols:
        for key, fault, verdict, words in (*FAULTS, *OWN[protocol]):
            elsewhere = (protocol, key) in BY_DAY
            if not elsewhere and ONE_PROTOCOL.get(key, protocol) == protocol:
                found.setdefault((protocol, key), (protocol, key, fault, verdict, words))
    return list(found.values())


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten waits for output that never comes."""
    hasty(monkeypatch)
    patient(monkeypatch)
    monkeypatch.setattr(exam, "QUIET_S", 1.0)


@pytest.mark.parametrize(
    ("protocol", "key", "fault", "verdict", "words"),
    [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in rows()],
)
def test_a_step_finds_its_fault(
    protocol: Protocol, key: str, fault: str, verdict: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check finds its fault, with verdict and text."""
    for module, name in SHORT.get(fault, ()):
        monkeypatch.setattr(module, name, 0.5)
    if fault == "no-features":
        monkeypatch.setattr(cecp, "SILENT_NS", SILENT_NS)
    found = taken(protocol, fault, key)
    (step,) = (step for step in found.steps if step.key == key)
    assert (step.verdict, words in step.words) == (verdict, True), step
    assert found.fit == (verdict != "FAIL")


@pytest.mark.parametrize(("protocol", "beginning"), [("uci", "position-"), ("cecp", "limit-")])
def test_no_place_and_no_limit_excuses_an_illegal_move(protocol: Protocol, beginning: str) -> None:
    """Each check of positions and limits tests the move."""
    keys = [step.key for step in steps_of(protocol) if step.key.startswith(beginning) and step.key != "limit-nodes"]
    found = taken(protocol, "illegal", *keys)
    assert {step.key for step in found.steps[1:]} == set(keys)
    assert [step for step in found.steps[1:] if "illegal move" not in step.words] == []
