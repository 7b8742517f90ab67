"""Steps of both protocols: how it ends, asked to, left alone, or told by a signal, idle and thinking."""

from __future__ import annotations

import signal
from functools import partial

from enginetour.engines.process import QUIT_WAIT, TERM_WAIT
from enginetour.model.errors import EngineCrashed
from enginetour.referee.compliance.exam import Exam, Step
from enginetour.referee.compliance.verdicts import Complaint

THOUGHT_S = 0.1  # s until it is surely thinking


def _begin(exam: Exam, *, thinking: bool) -> None:
    """A process of its own, in a search without end if asked."""
    exam.drop()
    exam.loose()
    if not thinking:
        return
    if exam.spec.protocol == "uci":
        exam.send("position startpos", "go infinite")
    else:
        exam.send("new", "level 0 60 0", "go")
    exam.pause(THOUGHT_S)


def _quit(exam: Exam, *, thinking: bool) -> str:
    _begin(exam, thinking=thinking)
    exam.send("quit")
    return _ended(exam, QUIT_WAIT, "quit", code=True)


def _alone(exam: Exam, *, thinking: bool) -> str:
    _begin(exam, thinking=thinking)
    exam.close_input()
    return _ended(exam, QUIT_WAIT, "the end of its input")


def _signal(exam: Exam, *, thinking: bool) -> str:
    _begin(exam, thinking=thinking)
    exam.signal(signal.SIGTERM)
    return _ended(exam, TERM_WAIT, "SIGTERM")


def _ended(exam: Exam, seconds: float, what: str, *, code: bool = False) -> str:
    """Whether it has gone; what is left of it is ended."""
    try:
        gone = exam.exits(seconds)
    except EngineCrashed:
        gone = True
    status = exam.status() if gone else ""
    exam.drop()
    if not gone:
        raise Complaint(f"alive {seconds:g} s after {what}: ended by a signal, nothing is left behind")
    if code and status not in ("exit 0", ""):
        raise Complaint(f"ends by {status}; after quit that is no event")
    return status


def _silent(exam: Exam) -> str:
    """What it wrote to stderr so far."""
    exam.ready()
    told = exam.stderr()
    if told:
        raise Complaint(f"writes to stderr: {told[-1][:80]!r}; kept with incidents")
    return ""


STEPS: tuple[Step, ...] = (
    Step("stderr", "nothing on stderr", _silent, "warn"),
    Step("quit-idle", "quit", partial(_quit, thinking=False), "warn"),
    Step("quit-thinking", "quit while it thinks", partial(_quit, thinking=True), "warn"),
    Step("eof-idle", "the end of its input", partial(_alone, thinking=False), "warn"),
    Step("eof-thinking", "the end of its input while it thinks", partial(_alone, thinking=True), "warn"),
    Step("sigterm-idle", "SIGTERM", partial(_signal, thinking=False), "warn"),
    Step("sigterm-thinking", "SIGTERM while it thinks", partial(_signal, thinking=True), "warn"),
)
