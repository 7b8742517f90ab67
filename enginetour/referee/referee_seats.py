"""Both engines at the board before the clocks run: started, shaken hands with, told the game, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from enginetour.engines.machine import load_now
from enginetour.engines.position import Position
from enginetour.engines.protocol import Ask, Engine, Script, Setup
from enginetour.engines.start import open_engines
from enginetour.model.errors import EngineCrashed, EngineFault, EngineStalled, StartFailed
from enginetour.model.game import Incident
from enginetour.model.task import Rules, Side
from enginetour.referee.clock import Clock
from enginetour.referee.converse import converse
from enginetour.referee.link import Link
from enginetour.referee.queueing import EngineQueue
from enginetour.referee.seats import LOOK_NS, Footprint
from enginetour.referee.shelf import EngineShelf

ILLEGAL_INSTRUCTION = "signal 4"  # SIGILL; signal(7)
STARTS = 3  # of an engine that is deaf at its start, as of a probe (reliability 1)


class Seat:
    """One side of a game under way."""

    def __init__(self, side: Side, rules: Rules, *, white: bool) -> None:
        self.side = side
        self.white = white
        self.name = side.spec.name
        self.clock = Clock(side, rules.hang_limit)
        self.searched = False  # set thinking in this game
        self.draw_claimed = False  # said "1/2-1/2" and has not moved since
        self.offers_draw = False  # its offer stands
        self.warnings: list[str] = []
        self.began_ns = time.monotonic_ns()
        self.asked_ns = 0  # CLOCK_MONOTONIC of its last `go` in this game
        self.look_ns = 0  # when its memory is due to be looked at
        self.engine: Engine  # that sits here; only after `sit_down` has found no fault
        self.present: Engine | None = None  # the engine, if it came so far
        self._footprint: Footprint | None = None
        self.queue: EngineQueue | None = None  # while a game goes on

    @property
    def color(self) -> str:
        """``White`` or ``Black``, for sentences."""
        return "White" if self.white else "Black"

    def sit(self, engine: Engine | None) -> None:
        """Give the seat to a process."""
        self.present, self._footprint = engine, None
        if engine is not None:
            self.engine, self._footprint = engine, Footprint(engine.process.engine_pid)

    def score(self) -> int | None:
        """What its last search came to, in centipawns for itself; None when it did not tell.

        A bound, as a search that is cut short often ends with, is no score that the engine stands by: the last exact
        one counts, as in fastchess.
        """
        return self.engine.thought(self.engine.search_text, white=self.white, bounds=False).score

    def cpu_ms(self, *, whole: bool = True) -> int | None:
        """Processor time of its engine since its start; None when it never came, or has been ended."""
        return None if self.present is None else self.present.process.cpu_ms(whole=whole)

    def look(self) -> int | None:
        """The most memory its engine was seen to hold, in kB; None when it never came."""
        self.look_ns = time.monotonic_ns() + LOOK_NS
        return None if self._footprint is None else self._footprint.look()


def sit_down(
    seats: Sequence[Seat], position: Position, link: Link, shelf: EngineShelf, late: Callable[[int], None]
) -> dict[Seat, EngineFault]:
    """Take both engines from the shelf or start them, and prepare the game. What went wrong, by seat.

    `late` as `converse` calls it.

    An engine that dies or stalls at a second game is started anew once: not its loss (reliability 2.1). One that is
    deaf at its start, which its file says it is not, up to twice.
    """
    for seat, engine in zip(seats, shelf.take(*(seat.side.spec for seat in seats)), strict=True):
        if engine is not None and not engine.suits(seat.side.tc):
            shelf.end(engine)
            engine = None  # nobody of use was on the shelf
        seat.sit(engine)
    again = [seat for seat in seats if seat.present is not None]
    names = {seat: other.name for seat in seats for other in seats if other is not seat}
    faults = _prepare(seats, names, position, link, late)
    worn = {seat for seat in again if isinstance(faults.get(seat), EngineCrashed | EngineStalled | StartFailed)}
    for _ in range(STARTS - 1):
        slow = {seat for seat, fault in faults.items() if fault.category == "start-timeout"}
        worn |= {seat for seat in slow if seat.present is not None and seat.present.deaf_at_start}
        if not worn or set(faults) - worn:
            break
        for seat in worn:
            if seat.present is not None:
                shelf.replace(seat.present, faults[seat].detail)
            seat.sit(None)
        faults = _prepare([seat for seat in seats if seat in worn], names, position, link, late)
        worn = set()
    return faults


def _prepare(
    seats: Sequence[Seat],
    names: Mapping[Seat, str],
    position: Position,
    link: Link,
    late: Callable[[int], None],
) -> dict[Seat, EngineFault]:
    faults: dict[Seat, EngineFault] = {}
    empty = [seat for seat in seats if seat.present is None]
    for seat, opened in zip(empty, open_engines(*(seat.side.spec for seat in empty)), strict=True):
        if isinstance(opened, StartFailed):
            faults[seat] = opened
        else:
            seat.sit(opened)
    taken = [seat for seat in seats if seat.present is not None]
    scripts = {seat.engine: _script(seat.engine, Setup(position, seat.side.tc, names[seat])) for seat in taken}
    ends = converse(scripts, link, late)
    for seat in taken:
        end = ends[seat.engine]
        if isinstance(end, EngineFault):
            faults[seat] = start_fault(end)
    return faults


def _script(engine: Engine, setup: Setup) -> Script:
    if not engine.ready:
        yield from engine.handshake()
    yield from engine.new_game(setup)


def start_fault(fault: EngineFault) -> EngineFault:
    """A fault before the first search, named as what it is: a death is a start failure, silence a start time-out."""
    if isinstance(fault, EngineCrashed):
        words = f"ended at start: {fault.detail}"
        if fault.detail.startswith(ILLEGAL_INSTRUCTION):
            words += "; binary built for another CPU?"
        return StartFailed(words, category="start-failure")
    if isinstance(fault, EngineStalled):
        return StartFailed(fault.detail, category="start-timeout")
    return fault


def question(position: Position, seat: Seat, other: Seat) -> Ask:
    """What the side to move is asked, with both clocks as they stand."""
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


def incident(
    seat: Seat, category: str, cause: str, ply: int, lines: int = 50, *, own_ns: int | None = None
) -> Incident:
    """What a tester must see, with the last lines of traffic and stderr and what was measured beside."""
    found = Incident(seat.name, category, cause, ply, load=load_now())
    if seat.present is None:
        return found
    process = seat.engine.process
    return replace(
        found,
        traffic=process.traffic(lines),
        stderr=process.stderr(20),
        status=process.exit_status(),
        asked_us=round((seat.asked_ns - process.started_ns) / 1000) if seat.asked_ns else None,
        memory_kb=seat.look(),
        own_us=None if own_ns is None else own_ns // 1000,
    )
