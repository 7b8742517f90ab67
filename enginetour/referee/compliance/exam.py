"""The engine process under compliance checks, and the results of the checks (pass, warning, failure)."""

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
    """Take an engine through its protocol's course; `only` names the steps, empty means all."""

    spec: EngineSpec
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepResult:
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
    steps: tuple[StepResult, ...] = ()
    hints: tuple[tuple[str, HintValue], ...] = ()

    @property
    def fit(self) -> bool:
        """No step failed: it can play."""
        return all(step.verdict != "FAIL" for step in self.steps)

    def count(self, verdict: Verdict) -> int:
        """How many steps ended so."""
        return sum(step.verdict == verdict for step in self.steps)


class StepFault(Exception):
    """Something that is not as it should be; without a gravity the step's own counts."""

    def __init__(
        self, words: str, gravity: _Gravity | None = None, *, hints: tuple[tuple[str, HintValue], ...] = ()
    ) -> None:
        super().__init__(words)
        self.words = words
        self.gravity = gravity
        self.hints = hints


class NotSupported(Exception):
    """The engine does not have what the step is about."""


_EVERY_LIMIT: frozenset[LimitName] = frozenset({"clock", "movetime", "nodes", "depth"})
PATIENCE_S = 10.0  # s for a move without a clock, as a handshake (runner spec 6)
SHORT_PATIENCE_S = 3.0  # s for a limit its file leaves out: depth 3 may take so long (engines spec 1)
_MARGIN_MS = 1_000  # a move on a busy machine is not judged to the millisecond
ANSWER_S = 2.0  # s for a ping (runner spec 5.2)
OWED_S = 1.0  # s for the answer to `stop` or `?` (runner spec 5.2)
THOUGHT_S = 0.1  # s until it is surely thinking
MOVE_S = 5.0  # s for a move after ponderhit with a clock of 2 s: its clock, and room for a busy machine
QUIET_S = 0.3  # s in which nothing is to come: as long as an echo is held back, and half of that again


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a course. `run` returns what was seen, or raises StepFault, NotSupported or an EngineFault."""

    key: str
    what: str
    run: Callable[[EngineSession], str]
    gravity: _Gravity = "FAIL"


@dataclass(frozen=True, slots=True)
class Answer:
    """A legal answer: `raw` is the output of its search."""

    move: chess.Move
    text: str
    elapsed_ms: int
    raw: bytes
    thought: SearchInfo


class EngineSession:
    """The engine of a course; a process is started when one is needed, and dropped once it cannot be trusted."""

    def __init__(self, task: ComplianceTask, link: Link) -> None:
        self.spec = replace(task.spec, limits=_EVERY_LIMIT)  # what its file leaves out is tried too
        self.limits = task.spec.limits
        self.link = link
        self.hints: dict[str, HintValue] = {}
        self.heard: list[str] = []  # lines of the last `until`
        self._engine: Engine | None = None
        self._loose = False  # lines went around the adapter: it no longer knows where its engine stands

    # Through the adapter, as in a game.

    def ready(self) -> Engine:
        """The engine, ready for a game. EngineFault when it does not start."""
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
        """Told of a game, not yet thinking. A control of another kind takes a new process where it has to."""
        engine = self.ready()
        if not engine.suits(tc):
            self.drop()
            engine = self.ready()
        fault = run_scripts({engine: engine.new_game(Setup(position, tc))}, self.link)[engine]
        if isinstance(fault, EngineFault):
            self._loose = True
            raise fault
        return engine

    def think(self, position: Position, tc: TimeControl, seconds: float) -> Engine:
        """A new game, and a search that is left alone after so long."""
        engine = self.new_game(position, tc)
        ask = _ask(position, tc, Clock(Side(self.spec, tc, _MARGIN_MS), PATIENCE_S))
        run_scripts({engine: search(engine, ask, time.monotonic_ns() + int(seconds * 1e9))}, self.link)
        return engine

    def move(self, position: Position, tc: TimeControl, patience_s: float = PATIENCE_S) -> Answer:
        """One move of a new game. StepFault: none in time, or not a legal one."""
        engine, board = self.new_game(position, tc), position.board
        clock = Clock(Side(self.spec, tc, _MARGIN_MS), patience_s)
        begun = time.monotonic_ns()
        script = search(engine, _ask(position, tc, clock), begun + clock.wait_ns())
        said = run_scripts({engine: script}, self.link)[engine]
        elapsed_ms = ((said.stamp_ns if isinstance(said, Message) else time.monotonic_ns()) - begun) // MS
        if not isinstance(said, Message):
            self._loose = True
            raise said or StepFault(f"no move within {elapsed_ms / 1000:.1f} s")
        move, _ = read_move(board, said.text, lenient_promotion=self.spec.quirks.lenient_promotion)
        if move is None:
            raise StepFault(f"not a legal move: {escape_text(said.text)!r} in {board.fen()}")
        raw = engine.search_text
        return Answer(move, said.text, elapsed_ms, raw, engine.thought(raw, white=board.turn))

    # Line by line.

    @property
    def process(self) -> EngineProcess:
        """The one that runs, or ran last."""
        assert self._engine is not None
        return self._engine.process

    def loose(self) -> Engine:
        """The engine for talk around its adapter; what it said before is forgotten."""
        if self._engine is not None and (self._engine.thinking or self._engine.spoiled):
            self.drop()
        engine, self._loose = self._engine or self._start(), True
        while engine.pull():
            pass
        while engine.intake.line() is not None:
            pass
        return engine

    def send(self, *lines: str, end: str = "\n") -> None:
        """All lines in one write; those of a reader of single lines one by one, as in a game."""
        if not self.spec.quirks.line_delay_ms:
            self.write("".join(f"{line}{end}" for line in lines))
            return
        for line in lines:
            # The pause before a line for a reader of single lines; what it says meanwhile is heard later.
            deadline = time.monotonic_ns() + self.spec.quirks.line_delay_ms * MS
            while time.monotonic_ns() < deadline and not self.process.eof:
                self._pull(deadline)
            self.write(f"{line}{end}")

    def _pull(self, deadline: int) -> None:
        """One read when something comes, or at the deadline without."""
        assert self._engine is not None
        if wait((self.process,), self.link.control_fd, deadline).control:
            check_stop(self.link)
        self._engine.pull()

    def write(self, text: str) -> None:
        """Exactly these bytes in one write."""
        self.process.write(text.encode("ascii"))

    def until(self, wanted: Callable[[str], bool], seconds: float) -> str | None:
        """The first line that is wanted, or None; those before it are in `heard`. EngineCrashed when it ends."""
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
        """The first line that begins with a word, within the time for a ping; StepFault with these words otherwise."""
        line = self.until(lambda line: line.split(None, 1)[0] == wanted, ANSWER_S if seconds is None else seconds)
        if line is None:
            raise StepFault(fault, hints=hints)
        return line

    def pause(self, seconds: float) -> list[str]:
        """Listen for so long; what was said."""
        kept: list[str] = []
        self.until(lambda line: bool(kept.append(line)), seconds)  # type: ignore[func-returns-value]
        return kept

    def exits(self, seconds: float) -> bool:
        """Whether its process ends within so long; what it says meanwhile is read and forgotten."""
        process, deadline = self.process, time.monotonic_ns() + int(seconds * 1e9)
        while not process.exited and time.monotonic_ns() < deadline:
            if wait((process,), self.link.control_fd, deadline).control:
                check_stop(self.link)
            process.read()
        return process.exited

    def declares(self, feature: str) -> bool:
        """Of a CECP engine, without a look at whether it is ready."""
        return isinstance(self._engine, CecpEngine) and self._engine.features.on(feature)

    def last_words(self) -> str:
        """The last line on stderr of the process, "" without one."""
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
