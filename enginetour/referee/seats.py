"""One side of a game in progress: its engine, its clock, the memory (RAM) that the engine uses.

The dead hold nothing any more, so living ones are looked at now and then, while nobody waits for us.
"""

from __future__ import annotations

import time

from enginetour.engines.machine import peak_memory_kb
from enginetour.engines.protocol import Engine
from enginetour.model.task import Rules, Side
from enginetour.referee.clock import MS, Clock
from enginetour.referee.waits import EngineWaits

MEMORY_INTERVAL_NS = 1_000 * MS  # between two looks: some 50 us each (measured), so they cost a game nothing


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
        self.engine: Engine  # that sits here; only after `prepare_engines` has found no fault
        self.present: Engine | None = None  # the engine, if it came so far
        self._most_kb: int | None = None  # that its engine was seen to hold
        self.waits: EngineWaits | None = None  # while a game goes on

    @property
    def color(self) -> str:
        """``White`` or ``Black``, for sentences."""
        return "White" if self.white else "Black"

    def sit(self, engine: Engine | None) -> None:
        """Give the seat to a process."""
        self.present, self._most_kb = engine, None
        if engine is not None:
            self.engine = engine

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
        self.look_ns = time.monotonic_ns() + MEMORY_INTERVAL_NS
        if self.present is not None and (held := peak_memory_kb(self.present.process.engine_pid)):
            self._most_kb = max(held, self._most_kb or 0)
        return self._most_kb
