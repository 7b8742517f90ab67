"""Start both engines of a game, or reuse engines that are still running after an earlier game (engine pool)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from enginetour.engines.cecp import CecpEngine
from enginetour.engines.machine import load_average, peak_memory_kb
from enginetour.engines.position import Position
from enginetour.engines.process import end_all
from enginetour.engines.protocol import Ask, Engine, Script, Setup
from enginetour.model.errors import EngineCrashed, EngineFault, EngineStalled, StartFailed
from enginetour.model.game import Incident
from enginetour.model.task import EngineSpec, Rules, Side
from enginetour.referee.clock import MS, Clock
from enginetour.referee.link import Link
from enginetour.referee.quickgames import SharedProcessor
from enginetour.referee.talk import open_engines, run_scripts
from enginetour.referee.waits import EngineWaits, ProcessorShortage

MEMORY_INTERVAL_NS = 5_000 * MS  # ns between two measurements of memory; each takes 0.3 ms during a game (measured)


class Seat:
    """One side of a game in progress."""

    def __init__(self, side: Side, rules: Rules, *, white: bool) -> None:
        self.side = side
        self.white = white
        self.name = side.spec.name
        self.clock = Clock(side, rules.hang_limit)
        self.searched = False  # True if the engine was asked for a move in this game
        self.draw_claimed = False  # True if the engine claimed a draw and has not moved since
        self.offers_draw = False  # True if the engine's offer of a draw is valid
        self.warnings: list[str] = []
        self.began_ns = time.monotonic_ns()
        self.asked_ns = 0  # CLOCK_MONOTONIC time of the last `go` in this game
        self.look_ns = 0  # CLOCK_MONOTONIC time of the next measurement of memory
        self.engine: Engine  # the engine of this seat; only set if the process was started
        self.present: Engine | None = None  # the same engine, or None if the process was not started
        self._most_kb: int | None = None  # the largest measured memory of the engine
        self.waits: EngineWaits | None = None  # only set during a game

    @property
    def color(self) -> str:
        """The color of the side in texts: ``White`` or ``Black``."""
        return "White" if self.white else "Black"

    def sit(self, engine: Engine | None) -> None:
        """Assign an engine process to the seat, or None."""
        self.present, self._most_kb = engine, None
        if engine is not None:
            self.engine = engine

    def score(self) -> int | None:
        """Return the last exact score of the last search in centipawns, from this side's point of view, or None.

        A search that is stopped early often ends with a bound. Adjudication does not use bounds, as in fastchess.
        """
        return self.engine.search_info(self.engine.search_text, white=self.white, bounds=False).score

    def cpu_ms(self, *, whole: bool = True) -> int | None:
        """Return the processor time of the engine in ms since its start, or None if its process is not running."""
        return None if self.present is None else self.present.process.cpu_ms(whole=whole)

    def look(self) -> int | None:
        """Measure the engine's memory. Return the largest value so far in kB, or None if there is no value."""
        self.look_ns = time.monotonic_ns() + MEMORY_INTERVAL_NS
        if self.present is not None and (held := peak_memory_kb(self.present.process.engine_pid)):
            self._most_kb = max(held, self._most_kb or 0)
        return self._most_kb


# The engine pool, and the start of a game.

WARNING_LINES = 20  # lines stored with a warning; with an abnormal end, 50 lines are stored (reliability 1)
POOL_SIZE = 2  # maximum number of engines that a slot keeps running (runner spec 14)


class EnginePool:
    """At most two running engines between games. An engine that cannot be used again is ended.

    The pool also contains data that outlive a game: `sharing`, `shortage`, and the warnings that were reported.
    """

    def __init__(self) -> None:
        self.sharing = SharedProcessor()
        self.shortage = ProcessorShortage()
        self._engines: list[Engine] = []
        self.warned: set[tuple[str, str]] = set()  # (engine, kind of warning) that this slot has reported
        self._partings: list[Incident] = []

    def take(self, *specs: EngineSpec) -> list[Engine | None]:
        """Return a running engine for each spec, or None. End all other engines, so that they use no processor time."""
        taken: list[Engine | None] = []
        for spec in specs:
            found = next((engine for engine in self._engines if engine.spec == spec and usable(engine)), None)
            if found is not None:
                self._engines.remove(found)
            taken.append(found)
        self.close_all()
        return taken

    def give_back(self, *engines: Engine) -> None:
        """Keep the engines that can play another game, and end the others."""
        kept = [engine for engine in engines if usable(engine)][:POOL_SIZE]
        self.end(*(engine for engine in engines if engine not in kept))
        self._engines += kept
        self.end(*self._engines[:-POOL_SIZE])
        del self._engines[:-POOL_SIZE]

    def close_all(self) -> None:
        """End all engines of the pool at the same time."""
        self.end(*self._engines)
        self._engines = []

    def end(self, *engines: Engine) -> None:
        """End engines. Record incidents if they do not exit or leave processes running."""
        end_engines(list(engines))
        for engine in engines:
            if engine.process.deaf:
                self._warn(engine, "shutdown-warning", "did not exit after quit; enginetour ended it with a signal")
            if engine.process.orphans:
                self._warn(engine, "orphan-warning", f"left processes behind: {', '.join(engine.process.orphans)}")

    def replace(self, engine: Engine, why: str) -> None:
        """End an engine that could not begin a game, and record an incident. A new process will play the game."""
        engine.spoiled = why
        status = engine.process.exit_status()  # read before enginetour ends the process
        self.end(engine)
        traffic, stderr = engine.process.traffic(), engine.process.stderr()
        cause = f"restarted because the old process could not begin {'another' if engine.games else 'a'} game: {why}"
        incident = Incident(engine.spec.name, "restart", cause, 0, traffic, stderr, status, load_average=load_average())
        self._partings.append(incident)

    def partings(self) -> list[Incident]:
        """Return the incidents of engines that were ended since the last call."""
        incidents, self._partings = self._partings, []
        return incidents

    def _warn(self, engine: Engine, category: str, cause: str) -> None:
        name = engine.spec.name
        if (name, category) not in self.warned:
            self.warned.add((name, category))
            traffic, stderr = engine.process.traffic(WARNING_LINES), engine.process.stderr(WARNING_LINES)
            status = engine.process.exit_status()
            self._partings.append(
                Incident(name, category, cause, 0, traffic, stderr, status, load_average=load_average())
            )


def usable(engine: Engine) -> bool:
    """Return whether an engine can play another game: running, ready, no outstanding answer, and reuse allowed."""
    if engine.spoiled or engine.dead or engine.process.eof or engine.process.broken or not engine.ready:
        return False
    if engine.spec.quirks.restart or engine.spec.restart == "on" or engine.thinking:
        return False
    return (
        engine.spec.restart == "off" or not isinstance(engine, CecpEngine) or engine.features.on("reuse", default=True)
    )


def end_engines(engines: list[Engine]) -> None:
    """End engines with `quit` first and then with signals. Dead and spoiled engines are killed at once."""
    for engine in engines:
        if engine.spoiled or engine.dead:
            engine.kill()
    end_all([engine.process for engine in engines if not engine.process.closed])


ILLEGAL_INSTRUCTION = "signal 4"  # SIGILL; signal(7)
STARTS = 3  # maximum number of starts of an engine that loses its input at its start, as in a probe (reliability 1)


def prepare_engines(
    seats: Sequence[Seat], position: Position, link: Link, pool: EnginePool, late: Callable[[int], None]
) -> dict[Seat, EngineFault]:
    """Take both engines from the pool or start them, and prepare the game. Return the faults by seat.

    `late` is called as in `run_scripts`.

    If an engine from the pool crashes or stalls before the game, it is started again once, without a loss (reliability
    2.1). An engine that loses its input at its start is started again up to twice.
    """
    names = {seat: other.name for seat in seats for other in seats if other is not seat}

    def prepare(seats: Sequence[Seat]) -> dict[Seat, EngineFault]:
        faults: dict[Seat, EngineFault] = {}
        empty = [seat for seat in seats if seat.present is None]
        for seat, opened in zip(empty, open_engines(*(seat.side.spec for seat in empty)), strict=True):
            if isinstance(opened, StartFailed):
                faults[seat] = opened
            else:
                seat.sit(opened)
        taken = [seat for seat in seats if seat.present is not None]
        scripts = {seat.engine: _script(seat.engine, Setup(position, seat.side.tc, names[seat])) for seat in taken}
        ends = run_scripts(scripts, link, late)
        return faults | {seat: start_fault(end) for seat in taken if isinstance(end := ends[seat.engine], EngineFault)}

    for seat, engine in zip(seats, pool.take(*(seat.side.spec for seat in seats)), strict=True):
        if engine is not None and not engine.supports(seat.side.tc):
            pool.end(engine)
            engine = None  # as if the pool had contained no engine for this seat
        seat.sit(engine)
    again = [seat for seat in seats if seat.present is not None]
    faults = prepare(seats)
    worn = {seat for seat in again if isinstance(faults.get(seat), EngineCrashed | EngineStalled | StartFailed)}
    for _ in range(STARTS - 1):
        slow = {seat for seat, fault in faults.items() if fault.category == "start-timeout"}
        worn |= {seat for seat in slow if seat.present is not None and seat.present.lost_input}
        if not worn or set(faults) - worn:
            break
        for seat in worn:
            if seat.present is not None:
                pool.replace(seat.present, faults[seat].detail)
            seat.sit(None)
        faults = prepare([seat for seat in seats if seat in worn])
        worn = set()
    return faults


def _script(engine: Engine, setup: Setup) -> Script:
    if not engine.ready:
        yield from engine.handshake()
    yield from engine.new_game(setup)


def start_fault(fault: EngineFault) -> EngineFault:
    """Return the fault for a failure before the first search: a crash is a start failure, a stall a start timeout."""
    if isinstance(fault, EngineCrashed):
        text = f"ended at start: {fault.detail}"
        if fault.detail.startswith(ILLEGAL_INSTRUCTION):
            text += "; the binary may be built for another processor"
        return StartFailed(text, category="start-failure")
    if isinstance(fault, EngineStalled):
        return StartFailed(fault.detail, category="start-timeout")
    return fault


def search_request(position: Position, seat: Seat, other: Seat) -> Ask:
    """Return the request for a move to the side to move (`seat`), with the current times of both clocks."""
    own, theirs = seat.clock, other.clock
    return Ask(
        position,
        seat.white,
        own.tc,
        own.shown_ms(),
        theirs.shown_ms(),
        own.increment_ms,
        theirs.increment_ms,
        own.moves_to_go,
        other.offers_draw,
        own.stage,
    )


def incident_of(
    seat: Seat, category: str, cause: str, ply: int, lines: int = 50, *, own_ns: int | None = None
) -> Incident:
    """Return an incident with the last lines of the engine log and of stderr, and with measured values."""
    found = Incident(seat.name, category, cause, ply, load_average=load_average())
    if seat.present is None:
        return found
    process = seat.engine.process
    return replace(
        found,
        traffic=process.traffic(lines),
        stderr=process.stderr(20),
        status=process.exit_status(),
        last_go_us=round((seat.asked_ns - process.started_ns) / 1000) if seat.asked_ns else None,
        memory_kb=seat.look(),
        referee_us=None if own_ns is None else own_ns // 1000,
    )
