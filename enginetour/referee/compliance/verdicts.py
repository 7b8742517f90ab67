"""What a course finds out: one verdict a step, and what to write into the engine file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from enginetour.model.task import EngineSpec

Verdict = Literal["ok", "warn", "FAIL", "not offered"]
Gravity = Literal["warn", "FAIL"]
HintValue = int | float | bool | str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComplianceTask:
    """Take an engine through its protocol's course; `only` names the steps, empty means all."""

    spec: EngineSpec
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passed:
    """One step: `key` names it for good, `what` says it to people, `words` are what was seen."""

    key: str
    what: str
    verdict: Verdict
    words: str = ""


@dataclass(frozen=True, slots=True)
class Compliance:
    """A whole course. `hints` are (key of the engine file, value), ``quirks.`` in front of a quirk's."""

    name: str
    protocol: str
    own_name: str = ""
    author: str = ""
    handshake_ms: int = 0
    steps: tuple[Passed, ...] = ()
    hints: tuple[tuple[str, HintValue], ...] = ()

    @property
    def fit(self) -> bool:
        """No step failed: it can play."""
        return all(step.verdict != "FAIL" for step in self.steps)

    def count(self, verdict: Verdict) -> int:
        """How many steps ended so."""
        return sum(step.verdict == verdict for step in self.steps)


class Complaint(Exception):
    """Something that is not as it should be; without a gravity the step's own counts."""

    def __init__(
        self, words: str, gravity: Gravity | None = None, *, hints: tuple[tuple[str, HintValue], ...] = ()
    ) -> None:
        super().__init__(words)
        self.words = words
        self.gravity = gravity
        self.hints = hints


class NotOffered(Exception):
    """The engine does not have what the step is about."""
