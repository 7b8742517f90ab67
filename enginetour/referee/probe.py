"""Probe an engine before a tournament: start, handshake, options, variant, quit."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from enginetour.engines.cecp import CecpEngine
from enginetour.engines.process import kill_running_engines
from enginetour.engines.protocol import Ask, Engine, Hearing
from enginetour.engines.wire import MessageKind
from enginetour.model.errors import Unsupported
from enginetour.model.task import ProbeResult, ProbeTask
from enginetour.model.variants import STANDARD
from enginetour.referee.link import Link
from enginetour.referee.startup import end_engines, start_fault
from enginetour.referee.talk import Handshaken, handshake_all, wait_for_stop

AGAIN_S = (1.0, 5.0)  # s before the second and third attempt, as after a failed start (reliability spec 1)

TABLES = "syzygypath"  # name of the UCI option, in lower case; enginetour also uses it for the CECP command egtpath


@dataclass(slots=True)
class _Findings:
    name: str
    steps: list[tuple[str, bool, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    category: str = ""
    handshake_ms: int = 0
    settled: bool = False  # another attempt would fail, too: wrong option, missing program or other protocol

    def good(self, what: str, words: str = "") -> None:
        self.steps.append((what, True, words))

    def bad(self, what: str, problem: str, category: str, *, settled: bool = False) -> None:
        self.steps.append((what, False, problem))
        self.problems.append(problem)
        self.category = self.category or category
        self.settled = self.settled or settled


def probe(task: ProbeTask, link: Link) -> ProbeResult:
    """Test one engine in up to three attempts. All engine processes are ended afterwards.

    The steps of the result include failed attempts. Raises MachineFailure if a stop is requested.
    """
    failed: list[tuple[str, bool, str]] = []
    for pause in AGAIN_S:
        found, report = _try(task, link)
        if found.settled or not found.problems:
            break
        failed.append(("earlier attempt", False, found.problems[0]))
        wait_for_stop(link, time.monotonic_ns() + int(pause * 1e9))
    else:
        _, report = _try(task, link)
    return replace(report, steps=(*failed, *report.steps))


def _try(task: ProbeTask, link: Link) -> tuple[_Findings, ProbeResult]:
    found = _Findings(task.spec.name)
    (greeted,) = handshake_all([task.spec], link)
    engine = greeted.engine
    if engine is None:
        assert greeted.fault is not None
        found.bad("start", greeted.fault.detail, greeted.fault.category, settled=True)
        return found, _report(found, None)
    try:
        if _is_ready(engine, greeted, found, link):
            _declares(engine, task.variant, found)
    except BaseException:
        kill_running_engines()
        raise
    _leave(engine, found)
    return found, _report(found, engine)


def _is_ready(engine: Engine, greeted: Handshaken, found: _Findings, link: Link) -> bool:
    found.handshake_ms = greeted.handshake_ms
    if greeted.fault is not None:
        fault = start_fault(greeted.fault)
        settled = fault.category == "bad-option"
        stderr = "".join(f"; stderr: {line}" for line in engine.process.stderr(1))
        problems = [*engine.problems] if settled else [f"{fault.detail}{stderr}"]
        # An engine that sends no protocol output within the limit does not support the protocol, unless a quirk is set.
        if fault.category == "start-timeout" and not engine.spec.quirks.tells_features:
            settled = engine.reads_single_lines or not (engine.own_name or engine.declared)
        if not settled and _starts_without_tables(engine, link):
            hint = "set no_tablebases = true in [quirks] of the engine file"
            problems.append(f"the engine only starts without tablebases. Hint: {hint}")
            settled = True
        for problem in problems:
            found.bad("handshake", problem, fault.category, settled=settled)
        return False
    found.good("handshake", f"{engine.own_name or 'no name'}, {found.handshake_ms} ms")
    if "no-features" in engine.notes:
        found.good("features", engine.notes["no-features"])
    found.good("options", f"{len(engine.declared)} declared, {len(engine.spec.options)} set")
    return True


def _declares(engine: Engine, variant: str, found: _Findings) -> None:
    try:
        engine.variant_lines(variant)
    except Unsupported as fault:
        found.bad("variant", fault.detail, "unsupported", settled=True)
    else:
        if variant != STANDARD:
            found.good("variant", f"declares {variant}")


def _starts_without_tables(engine: Engine, link: Link) -> bool:
    """Return whether the engine starts if it does not get the path of tablebases."""
    spec = engine.spec
    rest = tuple((name, value) for name, value in spec.offered if name.casefold() != TABLES)
    if rest == spec.offered:
        return False
    (other,) = handshake_all([replace(spec, offered=rest)], link)
    if other.engine is not None:
        end_engines([other.engine])
    return other.fault is None


def search(engine: Engine, ask: Ask, deadline: int) -> Hearing:
    """Run one search and return its answer, or None if there is no answer by `deadline` (CLOCK_MONOTONIC, ns)."""
    if engine.needs_approach:
        yield from engine.approach(ask)
    engine.go(ask)
    while (message := (yield from engine.receive(deadline))) is not None:
        if message.kind is MessageKind.ANSWER:
            return message
    return None


def _leave(engine: Engine, found: _Findings) -> None:
    if found.problems and (engine.dead or engine.spoiled or not engine.ready):
        engine.kill()
        return
    end_engines([engine])
    if engine.process.deaf:
        found.steps.append(("quit", False, "did not exit after quit; enginetour ended it with a signal"))
    else:
        found.good("quit")


def _report(found: _Findings, engine: Engine | None) -> ProbeResult:
    return ProbeResult(
        name=found.name,
        own_name=engine.own_name if engine is not None else "",
        author=engine.author if engine is not None else "",
        options=engine.declared if engine is not None else (),
        features=tuple(sorted(engine.features.values.items())) if isinstance(engine, CecpEngine) else (),
        steps=tuple(found.steps),
        problems=tuple(found.problems),
        category=found.category,
        handshake_ms=found.handshake_ms,
    )
