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
from enginetour.engines.uci_lines import plain_line
from enginetour.engines.wire import Message, SearchInfo, escape_text
from enginetour.model.errors import EngineCrashed, EngineFault
from enginetour.model.task import EngineSpec, LimitName, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.clock import Clock
from enginetour.referee.link import Link
from enginetour.referee.probe import search
from enginetour.referee.talk import check_stop, describe_exit, open_engine, run_scripts

Verdict = Literal["ok", "warn", "FAIL", "not offered"]
_Gravity = Literal["warn", "FAIL"]
HintValue = int | float | bool | str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComplianceTask:
    """The task to check whether an engine follows its protocol. `only` names the checks to run; if empty, all run."""

    spec: EngineSpec
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of one check. `key` is its fixed name, `what` its description, and `words` what was observed."""

    key: str
    what: str
    verdict: Verdict
    words: str = ""


@dataclass(frozen=True, slots=True)
class Compliance:
    """The results of all checks. `hints` are suggestions (key, value) for the engine file, as in ``quirks.KEY``."""

    protocol: str
    own_name: str = ""
    author: str = ""
    handshake_ms: int = 0
    steps: tuple[StepResult, ...] = ()
    hints: tuple[tuple[str, HintValue], ...] = ()

    @property
    def fit(self) -> bool:
        """True if no check failed, so that the engine can play."""
        return all(step.verdict != "FAIL" for step in self.steps)

    def count(self, verdict: Verdict) -> int:
        """Return the number of checks with this verdict."""
        return sum(step.verdict == verdict for step in self.steps)


class StepFault(Exception):
    """Raised if a check finds a fault. If `gravity` is given, it replaces the gravity of the check."""

    def __init__(
        self, words: str, gravity: _Gravity | None = None, *, hints: tuple[tuple[str, HintValue], ...] = ()
    ) -> None:
        super().__init__(words)
        self.words = words
        self.gravity = gravity
        self.hints = hints


class NotSupported(Exception):
    """Raised if the engine does not support the feature that the check tests."""


_EVERY_LIMIT: frozenset[LimitName] = frozenset({"clock", "movetime", "nodes", "depth"})
PATIENCE_S = 10.0  # s; limit of a move without a clock, the same as for a handshake (runner spec 6)
SHORT_PATIENCE_S = 3.0  # s; for a limit that the engine file does not list; depth 3 may take this long (engines spec 1)
_MARGIN_MS = 1_000  # ms; time margin, so that a busy machine does not make a check fail
ANSWER_S = 2.0  # s; limit of the answer to a ping (runner spec 5.2)
OWED_S = 1.0  # s; limit of the answer to `stop` or `?` (runner spec 5.2)
THOUGHT_S = 0.1  # s; after this time the engine is certainly searching
MOVE_S = 5.0  # s; limit of a move after ponderhit with a clock of 2 s, with a reserve for a busy machine
QUIET_S = 0.3  # s of expected silence; 1.5 times as long as enginetour delays a possible echo


@dataclass(frozen=True, slots=True)
class Step:
    """One check. `run` returns what was observed, or raises StepFault, NotSupported or EngineFault."""

    key: str
    what: str
    run: Callable[[EngineSession], str]
    gravity: _Gravity = "FAIL"


@dataclass(frozen=True, slots=True)
class Answer:
    """A legal move of the engine. `raw` is the output of the search."""

    move: chess.Move
    elapsed_ms: int
    raw: bytes
    info: SearchInfo


class EngineSession:
    """The engine under test. A process is started when it is needed, and ended when its state is unknown."""

    def __init__(self, task: ComplianceTask, link: Link) -> None:
        self.spec = replace(task.spec, limits=_EVERY_LIMIT)  # limits that the engine file does not list are tested too
        self.limits = task.spec.limits
        self.link = link
        self.hints: dict[str, HintValue] = {}
        self.heard: list[str] = []  # lines before the line that the last `until` returned
        self._engine: Engine | None = None
        self._loose = False  # True after lines bypassed the adapter, whose data may now be wrong

    # These methods use the adapter, as in a game.

    def ready(self) -> Engine:
        """Return the engine when it is ready for a game. Raises EngineFault if it does not start."""
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
        """Kill the process."""
        if self._engine is not None:
            self._engine.kill()
        self._engine = None

    def new_game(self, position: Position, tc: TimeControl) -> Engine:
        """Prepare a new game without a search. If the process does not support the time control, start another one."""
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
        """Start a search in a new game and return after `seconds`. The search continues."""
        engine = self.new_game(position, tc)
        ask = _ask(position, tc, Clock(Side(self.spec, tc, _MARGIN_MS), PATIENCE_S))
        run_scripts({engine: search(engine, ask, time.monotonic_ns() + int(seconds * 1e9))}, self.link)
        return engine

    def move(self, position: Position, tc: TimeControl, patience_s: float = PATIENCE_S) -> Answer:
        """Play one move of a new game. Raises StepFault if the move is illegal or does not arrive in time."""
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
        return Answer(move, elapsed_ms, raw, engine.search_info(raw, white=board.turn))

    # These methods send lines that bypass the adapter.

    @property
    def process(self) -> EngineProcess:
        """The current process, or the previous process if none is running."""
        assert self._engine is not None
        return self._engine.process

    def loose(self) -> Engine:
        """Return the engine for lines that bypass its adapter. Earlier output of the engine is discarded."""
        if self._engine is not None and (self._engine.thinking or self._engine.spoiled):
            self.drop()
        engine, self._loose = self._engine or self._start(), True
        while engine.pull():
            pass
        while engine.intake.line() is not None:
            pass
        return engine

    def send(self, *lines: str, end: str = "\n") -> None:
        """Send all lines in one write. With the quirk `line_delay_ms`, send them one by one, as in a game."""
        if not self.spec.quirks.line_delay_ms:
            self.write("".join(f"{line}{end}" for line in lines))
            return
        for line in lines:
            # Output that arrives during the pause is stored and read later.
            deadline = time.monotonic_ns() + self.spec.quirks.line_delay_ms * MS
            while time.monotonic_ns() < deadline and not self.process.eof:
                self._pull(deadline)
            self.write(f"{line}{end}")

    def _pull(self, deadline: int) -> None:
        """Wait for output until the deadline, and read it once."""
        assert self._engine is not None
        if wait((self.process,), self.link.control_fd, deadline).control:
            check_stop(self.link)
        self._engine.pull()

    def write(self, text: str) -> None:
        """Send this ASCII text, without a line end, in one write."""
        self.process.write(text.encode("ascii"))

    def until(self, wanted: Callable[[str], bool], seconds: float) -> str | None:
        """Return the first line for which `wanted` is true, or None after `seconds`.

        Earlier lines are stored in `heard`. Raises EngineCrashed if the process ends.
        """
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
        """Return the first line whose first word is `wanted`. Raise StepFault(fault) if none arrives in time."""
        line = self.until(lambda line: line.split(None, 1)[0] == wanted, ANSWER_S if seconds is None else seconds)
        if line is None:
            raise StepFault(fault, hints=hints)
        return line

    def pause(self, seconds: float) -> list[str]:
        """Wait for `seconds` and return the lines that the engine sent."""
        kept: list[str] = []
        self.until(lambda line: bool(kept.append(line)), seconds)  # type: ignore[func-returns-value]
        return kept

    def exits(self, seconds: float) -> bool:
        """Return whether the process ends within `seconds`. Its output is discarded."""
        process, deadline = self.process, time.monotonic_ns() + int(seconds * 1e9)
        while not process.exited and time.monotonic_ns() < deadline:
            if wait((process,), self.link.control_fd, deadline).control:
                check_stop(self.link)
            process.read()
        return process.exited

    def require_ping(self) -> None:
        """Raise NotSupported if a CECP engine does not declare ping. This does not check that the engine is ready."""
        if not (isinstance(self._engine, CecpEngine) and self._engine.features.on("ping")):
            raise NotSupported("the engine does not declare the feature ping")

    def last_words(self) -> str:
        """Return the last line of stderr as the end of a message, or "" if stderr is empty."""
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
