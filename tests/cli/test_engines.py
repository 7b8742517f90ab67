"""The progress line of `enginetour engines check`."""

from __future__ import annotations

import io
import sys

import pytest

from enginetour.cli.engines import ERASE, StepLine
from enginetour.referee.compliance.course import HANDSHAKE, run_checks, steps_of
from enginetour.referee.compliance.exam import ComplianceTask
from enginetour.tournament.probing import examine_each
from tests.support.engines import Eavesdropper, scripted

# The line that tells how far an examination is.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, term: str = "xterm") -> str:
    """Return what two engines with one step each write to the terminal."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLUMNS", "40")
    line = StepLine(["a", "b\x1b[2J"])
    line.step(1, 58, "the first thing that an engine is asked to do")
    line.clear()
    line.step(2, 58, "more")
    line.clear()
    return stream.getvalue()


def test_it_stands_in_one_line_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The progress line fits the window, replaces itself and is erased; control characters of names are replaced."""
    told = shown(monkeypatch, Terminal())
    assert told.startswith(ERASE) and told.endswith(ERASE)
    first, second = (part for part in told.split(ERASE) if part)
    assert first == "a: step 1 of 58, the first thing that an engine"[:39]
    assert second.startswith("b") and second.endswith("step 2 of 58, more")
    assert "\x1b" not in first + second


@pytest.mark.parametrize(("stream", "term"), [(io.StringIO(), "xterm"), (Terminal(), "dumb")])
def test_elsewhere_nothing_is_written(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, term: str) -> None:
    """A file and a dumb terminal get no progress line."""
    assert shown(monkeypatch, stream, term) == ""


def test_each_step_is_told_before_it_is_taken() -> None:
    """Each step is reported before it runs, with its number and description."""
    link = Eavesdropper()
    run_checks(ComplianceTask(scripted("uci"), ("new-game", "quit-idle")), link)
    words = {step.key: step.what for step in steps_of("uci")}
    assert [payload for name, payload in link.told if name == "step"] == [
        (0, 2, HANDSHAKE),
        (1, 2, words["new-game"]),
        (2, 2, words["quit-idle"]),
    ]


def test_a_slot_passes_the_steps_on() -> None:
    """A slot process passes all steps on before the result."""
    heard: list[tuple[int, int, str]] = []
    for _ in examine_each([scripted("uci")], ("quit-idle",), lambda *step: heard.append(step)):
        assert [number for number, _, _ in heard] == [0, 1]
    assert heard[0] == (0, 1, HANDSHAKE)
