"""Start engines by their protocols, and run the dialogs of several in parallel: handshakes, pings, timeouts."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from enginetour.engines.cecp import CecpEngine
from enginetour.engines.process import NEVER_NS, SLICE_NS, EngineProcess, kill_running_engines, wait
from enginetour.engines.protocol import DISCARD_READS, MS, Engine, Script
from enginetour.engines.starting import Launch
from enginetour.engines.uci import UciEngine
from enginetour.engines.wire import Message
from enginetour.model.errors import EngineCrashed, EngineFault, MachineFailure, StartFailed
from enginetour.model.task import EngineSpec
from enginetour.referee.link import Link

_EXIT_NS = 50_000_000  # ns to wait for an exit; within 200 ms after end of file a crash is recorded (reliability 2.2)
WAIT_REPORT_NS = 5_000_000_000  # ns; the live event "waits" gives the reason for a longer wait without a running clock
_STATUS_NS = 1_000_000_000  # ns to wait for the status of a dead engine, which is reported late on a busy machine

_T = TypeVar("_T")


def open_engine(spec: EngineSpec, launch: Launch | None = None) -> Engine:
    """Start an engine without its handshake, which the caller runs as a script. Raises StartFailed."""
    return UciEngine(spec, launch) if spec.protocol == "uci" else CecpEngine(spec, launch)


def open_engines(*specs: EngineSpec) -> list[Engine | StartFailed]:
    """Start engines at the same time; return for each the engine, or StartFailed if it cannot start.

    Raises MachineFailure if this machine cannot start processes; then all these engines have been ended.
    """
    opened: list[Engine | StartFailed] = []
    waiting: deque[Launch | StartFailed] = deque()
    try:
        for spec in specs:
            waiting.append(_attempt(partial(Launch, spec)))
        for spec in specs:
            launch = waiting.popleft()
            opened.append(_attempt(partial(open_engine, spec, launch)) if isinstance(launch, Launch) else launch)
    except BaseException:
        for launch in waiting:
            if isinstance(launch, Launch):
                launch.drop()
        for engine in opened:
            if isinstance(engine, Engine):
                engine.kill()
        raise
    return opened


def _attempt(start: Callable[[], _T]) -> _T | StartFailed:
    try:
        return start()
    except StartFailed as fault:
        return fault


_AnyScript = Generator[int, Message | None, Any]


class _Talk:
    """A script in progress: its deadline and its result."""

    def __init__(self, engine: Engine, script: _AnyScript) -> None:
        self.engine = engine
        self.script = script
        self.deadline = 0
        self.result: Any = None
        self.running = True
        self._awaited: tuple[str, str] | None = None
        self._wait_told_ns = 0  # CLOCK_MONOTONIC time at which the current wait is reported
        self._step(lambda: next(script))

    def _step(self, go: Any) -> None:
        try:
            self.deadline = go()
        except StopIteration as end:
            self.result = end.value
            self.running = False
        except EngineFault as fault:
            self.result = fault
            self.running = False

    def turn(self, now: int) -> None:
        """Send the script all messages that were read. Then send it None after a timeout, or raise a crash in it.

        `now` is the time right after the wait for output (CLOCK_MONOTONIC, ns). A later time would be wrong, because
        output may have arrived since then.
        """
        engine = self.engine
        self._hear()
        for _ in range(DISCARD_READS):  # read the remaining output of an engine that closed its input
            if not (self.running and engine.process.broken and engine.pull()):
                break
            self._hear()
        if self.running and (engine.dead or engine.process.broken):
            self._step(lambda: self.script.throw(EngineCrashed(describe_exit(engine))))
        while self.running and now >= self.deadline:
            self._step(lambda: self.script.send(None))

    def _hear(self) -> None:
        while self.running and (message := self.engine.next_message()) is not None:
            self._step(lambda message=message: self.script.send(message))

    def tell_wait(self, link: Link) -> None:
        """Report once, after some seconds, what the script is waiting for. A quirk of the engine sets the limit."""
        awaited, now = self.engine.awaited, time.monotonic_ns()
        if awaited != self._awaited:
            self._awaited, self._wait_told_ns = awaited, now + WAIT_REPORT_NS
        elif awaited is not None and self.running and now >= self._wait_told_ns:
            self._wait_told_ns = NEVER_NS
            (what, setting), spec = awaited, self.engine.spec
            limit = getattr(spec.quirks, setting)
            text = f"enginetour waits for {spec.name}: {what} (at most {limit:g} s, {setting})"
            link.tell("waits", {"engine": spec.name, "for": what, "limit": limit, "setting": setting, "text": text})

    @property
    def until(self) -> int:
        """The time at which the script continues even without new output (CLOCK_MONOTONIC, ns)."""
        due = self.engine.due_ns
        return self.deadline if due is None else min(self.deadline, due)


def run_scripts(
    scripts: Mapping[Engine, _AnyScript], link: Link, late: Callable[[int], None] = lambda _: None
) -> dict[Engine, Any]:
    """Run each engine's script to its end. Return the value that each script returned, or the EngineFault it raised.

    After each wait, `late` is called with the ns by which the wait ended too late, which is not an engine's fault.
    Raises MachineFailure if a stop is requested.
    """
    talks = [_Talk(engine, script) for engine, script in scripts.items()]
    for talk in talks:
        talk.turn(time.monotonic_ns())
    while running := [talk for talk in talks if talk.running]:
        now = time.monotonic_ns()
        until = max(now, min(now + SLICE_NS, *(talk.until for talk in running)))
        wake = wait([talk.engine.process for talk in running], link.control_fd, until)
        woke = time.monotonic_ns()
        late(woke - until)
        if wake.control:
            check_stop(link)
        for talk in running:
            if talk.engine.process in wake.readable:
                talk.engine.pull()
            talk.turn(woke)
            talk.tell_wait(link)
    return {talk.engine: talk.result for talk in talks}


def check_stop(link: Link) -> None:
    """Read the control pipe. Raise MachineFailure if the game must be dropped now."""
    if link.stopping() == "now":
        raise MachineFailure("stopped: the game is dropped and played again later")


def wait_for_stop(link: Link, until_ns: int) -> None:
    """Wait until `until_ns` (CLOCK_MONOTONIC). Raise MachineFailure if a stop is requested in this time."""
    while wait((), link.control_fd, until_ns).control and time.monotonic_ns() < until_ns:
        check_stop(link)


def describe_exit(engine: Engine) -> str:
    """Return a description of how a process ended. This waits briefly for the exit status."""
    until = time.monotonic_ns() + _EXIT_NS
    _await_exit(engine, until)
    if engine.process.is_dead:
        _await_exit(engine, until + _STATUS_NS)
    return engine.process.exit_status() or f"{_gone_by(engine.process)} but is still running"


def _gone_by(process: EngineProcess) -> str:
    if process.eof or not process.broken:
        return "closed its output"
    return "does not read its input" if process.out.full else "closed its input"


def _await_exit(engine: Engine, until_ns: int) -> None:
    while not engine.process.exited and time.monotonic_ns() < until_ns:
        wait((engine.process,), None, until_ns)


@dataclass(frozen=True, slots=True)
class Handshaken:
    """An engine after its handshake (None if it could not be started), and the fault, if there was one."""

    engine: Engine | None
    fault: EngineFault | None = None
    handshake_ms: int = 0


def handshake_all(specs: Sequence[EngineSpec], link: Link) -> list[Handshaken]:
    """Start engines and run their handshakes. If a stop is requested, kill all engines and raise MachineFailure."""
    took: dict[Engine, int] = {}

    def timed(engine: Engine, begun: int) -> Script:
        try:
            yield from engine.handshake()
        finally:
            took[engine] = (time.monotonic_ns() - begun) // MS

    try:
        opened = open_engines(*specs)
        begun = time.monotonic_ns()
        running = [engine for engine in opened if isinstance(engine, Engine)]
        ends = run_scripts({engine: timed(engine, begun) for engine in running}, link)
    except BaseException:
        kill_running_engines()
        raise
    return [
        Handshaken(engine, end if isinstance(end := ends[engine], EngineFault) else None, took[engine])
        if isinstance(engine, Engine)
        else Handshaken(None, engine)
        for engine in opened
    ]
