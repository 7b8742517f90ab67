"""Run the compliance checks of an engine (`engines check`), in the order of its protocol."""

from __future__ import annotations

from collections.abc import Sequence

from enginetour.engines.process import kill_running_engines
from enginetour.model.errors import EngineCrashed, EngineFault
from enginetour.model.task import ProbeTask
from enginetour.referee.compliance import cecp, common, uci
from enginetour.referee.compliance.exam import (
    Compliance,
    ComplianceTask,
    EngineSession,
    HintValue,
    NotSupported,
    Step,
    StepFault,
    StepResult,
    Verdict,
)
from enginetour.referee.link import Link
from enginetour.referee.probe import probe

HANDSHAKE = "start, handshake, options, quit"
TRIES = 2  # of a step that went wrong


def steps_of(protocol: str) -> tuple[Step, ...]:
    """All steps after the handshake, in their order: as in a game first, line by line then, the ends last."""
    own = uci if protocol == "uci" else cecp
    return (
        *own.DECLARED,
        *common.PLAY_STEPS,
        *common.OPTION_STEPS,
        *common.LINE_STEPS,
        *own.STEPS,
        *common.ENDING_STEPS,
    )


def run_checks(task: ComplianceTask, link: Link) -> Compliance:
    """The whole course, or the steps named; nothing of the engine is alive afterwards.

    An event "step" comes before each: its number, the handshake's is 0, how many there are, and what it is.
    Raises MachineFailure when told to stop now.
    """
    steps = [step for step in steps_of(task.spec.protocol) if not task.only or step.key in task.only]
    link.tell("step", (0, len(steps), HANDSHAKE))
    first = probe(ProbeTask(task.spec), link)
    hints: dict[str, HintValue] = {}
    passed = [_begun(first.problems, first.handshake_ms, hints)]
    if not first.problems:
        session = EngineSession(task, link)
        try:
            passed += _taken(session, steps)
        except BaseException:
            kill_running_engines()
            raise
        session.drop()
        hints |= session.hints
    return Compliance(
        task.spec.name,
        task.spec.protocol,
        first.own_name,
        first.author,
        first.handshake_ms,
        tuple(passed),
        tuple(hints.items()),
    )


def _begun(problems: Sequence[str], handshake_ms: int, hints: dict[str, HintValue]) -> StepResult:
    if any("line_delay_ms" in problem for problem in problems):
        hints["quirks.line_delay_ms"] = 100  # runner spec 7, as for the surveyed one
    words = "; ".join(problems) or f"ready after {handshake_ms} ms"
    return StepResult("handshake", HANDSHAKE, "FAIL" if problems else "ok", words)


def _taken(session: EngineSession, steps: Sequence[Step]) -> list[StepResult]:
    """Every step; what went wrong is tried once more, for a busy machine is nobody's fault."""
    passed = []
    for number, step in enumerate(steps, 1):
        session.link.tell("step", (number, len(steps), step.what))
        verdict, words, hints = _tried(session, step)
        if verdict in ("warn", "FAIL") and TRIES > 1:
            session.drop()
            again, words_again, hints = _tried(session, step)
            if again == "ok":
                words, hints = f"only at the second try, at the first: {words}", {}
                verdict = "warn"
            else:
                verdict, words = again, words_again
        session.hints |= hints
        if verdict in ("warn", "FAIL"):
            session.drop()  # what it owes would be heard in the next step
        passed.append(StepResult(step.key, step.what, verdict, words))
    return passed


def _tried(session: EngineSession, step: Step) -> tuple[Verdict, str, dict[str, HintValue]]:
    try:
        return "ok", step.run(session), {}
    except NotSupported as missing:
        return "not offered", str(missing), {}
    except StepFault as complaint:
        return complaint.gravity or step.gravity, complaint.words, dict(complaint.hints)
    except EngineFault as fault:
        words = f"{fault.detail}{session.last_words()}"
        session.drop()
        return step.gravity, f"it ended: {words}" if isinstance(fault, EngineCrashed) else words, {}
