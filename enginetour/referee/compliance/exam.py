"""Engine sessions for compliance checks, and the results of the checks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import chess

from enginetour.engines.cecp import CecpEngine
from enginetour.engines.position import Position, read_move
from enginetour.engines.process import EngineProcess, wait
from enginetour.engines.protocol import MS, POKE_NS, Ask, Engine, Setup
from enginetour.engines.start import open_engine
from enginetour.engines.uci_lines import plain_line
from enginetour.engines.wire import Message, SearchInfo, escape_text
from enginetour.model.errors import EngineCrashed, EngineFault
from enginetour.model.task import EngineSpec, LimitName, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.clock import Clock
from enginetour.referee.link import Link
from enginetour.referee.probe import search
from enginetour.referee.talk import check_stop, describe_exit, run_scripts

Verdict = Literal["ok", "warn", "FAIL", "not offered"]
_Gravity = Literal["warn", "FAIL"]
HintValue = int | float | bool | str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComplianceTask:
    """Check whether an engine follows its protocol; `only` names the checks to run, empty for all."""

    spec: EngineSpec
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepResult:
    """Result of one check: `key` is its stable name, `what` its description, `words` what was observed."""

    key: str
    what: str
    verdict: Verdict
    words: str = ""


@dataclass(frozen=True, slots=True)
class Compliance:
    """Results of all checks. `hints` are (key of the engine file, value), with the prefix ``quirks.`` for a quirk."""

    name: str
    protocol: str
    own_name: str = ""
    author: str = ""
    handshake_ms: int = 0
    steps: tuple[StepResult, ...] = ()
    hints: tuple[tuple[str, HintValue], ...] = ()

    @property
    def fit(self) -> bool:
        """Return whether no check failed, so that the engine can play."""
        return all(step.verdict != "FAIL" for step in self.steps)

    def count(self, verdict: Verdict) -> int:
        """Return the number of checks with this verdict."""
        return sum(step.verdict == verdict for step in self.steps)


class StepFault(Exception):
    """A check found a fault; `gravity` replaces the gravity of the check."""

    def __init__(
        self, words: str, gravity: _Gravity | None = None, *, hints: tuple[tuple[str, HintValue], ...] = ()
    ) -> None:
        super().__init__(words)
        self.words = words
        self.gravity = gravity
        self.hints = hints


class NotSupported(Exception):
    """The engine does not support what the check tests."""


_EVERY_LIMIT: frozenset[LimitName] = frozenset({"clock", "movetime", "nodes", "depth"})
PATIENCE_S = 10.0  # s for a move without a clock, as for a handshake (runner spec 6)
SHORT_PATIENCE_S = 3.0  # s for a limit that the engine file omits; depth 3 may take so long (engines spec 1)
_MARGIN_MS = 1_000  # ms; a busy machine must not make a check fail
ANSWER_S = 2.0  # s for the answer to a ping (runner spec 5.2)
OWED_S = 1.0  # s for the answer to `stop` or `?` (runner spec 5.2)
THOUGHT_S = 0.1  # s after which the engine is certainly searching
MOVE_S = 5.0  # s for a move after ponderhit with a clock of 2 s, with reserve for a busy machine
QUIET_S = 0.3  # s of expected silence: 1.5 times as long as a possible echo is held back


@dataclass(frozen=True, slots=True)
class Step:
    """One check. `run` returns what was observed, or raises StepFault, NotSupported or an EngineFault."""

    key: str
    what: str
    run: Callable[[EngineSession], str]
    gravity: _Gravity = "FAIL"


@dataclass(frozen=True, slots=True)
class Answer:
    """A legal move of the engine; `raw` is the output of its search."""

    move: chess.Move
    text: str
    elapsed_ms: int
    raw: bytes
    info: SearchInfo


class EngineSession:
    """The engine under test. Starts a process when one is needed, and ends it when its state is unknown."""

    def __init__(self, task: ComplianceTask, link: Link) -> None:
        self.spec = replace(task.spec, limits=_EVERY_LIMIT)  # limits that the engine file omits are tested too
        self.limits = task.spec.limits
        self.link = link
        self.hints: dict[str, HintValue] = {}
        self.heard: list[str] = []  # lines before the one that the last `until` returned
        self._engine: Engine | None = None
        self._loose = False  # lines bypassed the adapter, which no longer knows the state of the engine

    # Through the adapter, as in a game.

    def ready(self) -> Engine:
        """Return the engine, ready for a game. Raises EngineFault if it does not start."""
        if self._engine is not None and (self._loose or self._engine.spoiled or self._engine.thinking):
            self.drop()
        return self._engine or self._start()

    def _start(self) -> Engine:
        engine = self._engine = open_engine(self.spec)
        self._loose = False
        fault = run_scripts({engine: engine.handshake()}, self.link)[engine]
        if isinstance(fault, EngineFault):
            self.drop()
            raise fault
        return engine

    def drop(self) -> None:
        """End the process now."""
        if self._engine is not None:
            self._engine.kill()
        self._engine = None

    def new_game(self, position: Position, tc: TimeControl) -> Engine:
        """Prepare a new game without a search. A time control of another kind may need a new process."""
        engine = self.ready()
        if not engine.supports(tc):
            self.drop()
            engine = self.ready()
        fault = run_scripts({engine: engine.new_game(Setup(position, tc))}, self.link)[engine]
        if isinstance(fault, EngineFault):
            self._loose = True
            raise fault
        return engine

    def think(self, position: Position, tc: TimeControl, seconds: float) -> Engine:
        """Start a search in a new game, and return after `seconds` while the search continues."""
        engine = self.new_game(position, tc)
        ask = _ask(position, tc, Clock(Side(self.spec, tc, _MARGIN_MS), PATIENCE_S))
        run_scripts({engine: search(engine, ask, time.monotonic_ns() + int(seconds * 1e9))}, self.link)
        return engine

    def move(self, position: Position, tc: TimeControl, patience_s: float = PATIENCE_S) -> Answer:
        """Play one move of a new game. Raises StepFault if there is no move in time, or an illegal one."""
        engine, board = self.new_game(position, tc), position.board
        clock = Clock(Side(self.spec, tc, _MARGIN_MS), patience_s)
        begun = time.monotonic_ns()
        script = search(engine, _ask(position, tc, clock), begun + clock.wait_ns())
        message = run_scripts({engine: script}, self.link)[engine]
        elapsed_ms = ((message.stamp_ns if isinstance(message, Message) else time.monotonic_ns()) - begun) // MS
        if not isinstance(message, Message):
            self._loose = True
            raise message or StepFault(f"no move within {elapsed_ms / 1000:.1f} s")
        move, _ = read_move(board, message.text, lenient_promotion=self.spec.quirks.lenient_promotion)
        if move is None:
            raise StepFault(f"illegal move {escape_text(message.text)!r} in {board.fen()}")
        raw = engine.search_text
        return Answer(move, message.text, elapsed_ms, raw, engine.search_info(raw, white=board.turn))

    # Lines that bypass the adapter.

    @property
    def process(self) -> EngineProcess:
        """The current process, or the last one."""
        assert self._engine is not None
        return self._engine.process

    def loose(self) -> Engine:
        """Return the engine for lines that bypass its adapter; drop its earlier output."""
        if self._engine is not None and (self._engine.thinking or self._engine.spoiled):
            self.drop()
        engine, self._loose = self._engine or self._start(), True
        while engine.pull():
            pass
        while engine.intake.line() is not None:
            pass
        return engine

    def send(self, *lines: str, end: str = "\n") -> None:
        """Send all lines in one write, or one by one with `line_delay_ms`, as in a game."""
        if not self.spec.quirks.line_delay_ms:
            self.write("".join(f"{line}{end}" for line in lines))
            return
        for line in lines:
            # Output during the pause is kept and read later.
            deadline = time.monotonic_ns() + self.spec.quirks.line_delay_ms * MS
            while time.monotonic_ns() < deadline and not self.process.eof:
                self._pull(deadline)
            self.write(f"{line}{end}")

    def _pull(self, deadline: int) -> None:
        """Read once when output arrives; return at the deadline without output."""
        assert self._engine is not None
        if wait((self.process,), self.link.control_fd, deadline).control:
            check_stop(self.link)
        self._engine.pull()

    def write(self, text: str) -> None:
        """Send exactly this ASCII text in one write."""
        self.process.write(text.encode("ascii"))

    def until(self, wanted: Callable[[str], bool], seconds: float) -> str | None:
        """Return the first wanted line, or None after `seconds`; earlier lines are in `heard`. Raises EngineCrashed."""
        engine = self._engine
        assert engine is not None
        self.heard = []
        deadline = time.monotonic_ns() + int(seconds * 1e9)
        poke = time.monotonic_ns() + POKE_NS if self.spec.quirks.line_delay_ms else deadline  # as in a game
        while True:
            while (raw := engine.intake.line()) is not None:
                line = plain_line(raw)
                if line and wanted(line):
                    return line
                if line:
                    self.heard.append(line)
            if engine.process.eof or engine.process.broken:
                raise EngineCrashed(describe_exit(engine))
            if time.monotonic_ns() >= deadline:
                return None
            if time.monotonic_ns() >= poke:
                poke = deadline
                self.write("\n")
            self._pull(min(poke, deadline))

    def expect(
        self, wanted: str, fault: str, seconds: float | None = None, *, hints: tuple[tuple[str, HintValue], ...] = ()
    ) -> str:
        """Return the first line that begins with `wanted`; raise StepFault(fault) if none comes in time."""
        line = self.until(lambda line: line.split(None, 1)[0] == wanted, ANSWER_S if seconds is None else seconds)
        if line is None:
            raise StepFault(fault, hints=hints)
        return line

    def pause(self, seconds: float) -> list[str]:
        """Wait for `seconds` and return the lines received."""
        kept: list[str] = []
        self.until(lambda line: bool(kept.append(line)), seconds)  # type: ignore[func-returns-value]
        return kept

    def exits(self, seconds: float) -> bool:
        """Return whether the process ends within `seconds`; its output is read and dropped."""
        process, deadline = self.process, time.monotonic_ns() + int(seconds * 1e9)
        while not process.exited and time.monotonic_ns() < deadline:
            if wait((process,), self.link.control_fd, deadline).control:
                check_stop(self.link)
            process.read()
        return process.exited

    def declares(self, feature: str) -> bool:
        """Return whether a CECP engine declares a feature, without a check that it is ready."""
        return isinstance(self._engine, CecpEngine) and self._engine.features.on(feature)

    def last_words(self) -> str:
        """Return the last line of stderr as the end of a message, "" without one."""
        last = () if self._engine is None else self.process.stderr(1)
        return f"; stderr: {last[0]}" if last else ""


def _ask(position: Position, tc: TimeControl, clock: Clock) -> Ask:
    return Ask(
        position,
        white=position.board.turn,
        tc=tc,
        own_ms=clock.shown_ms(),
        own_increment_ms=clock.increment_ms,
        moves_to_go=clock.moves_to_go,
    )
