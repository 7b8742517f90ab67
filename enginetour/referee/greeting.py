"""Engines side by side from nothing to ready: what one takes to load costs the other nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from enginetour.engines.process import kill_living
from enginetour.engines.protocol import MS, Engine, Script
from enginetour.engines.start import open_engines
from enginetour.model.errors import EngineFault
from enginetour.model.task import EngineSpec
from enginetour.referee.converse import converse
from enginetour.referee.link import Link


@dataclass(frozen=True, slots=True)
class Greeted:
    """An engine after its handshake, None where it could not be started; what went wrong."""

    engine: Engine | None
    fault: EngineFault | None = None
    handshake_ms: int = 0


def greet(specs: Sequence[EngineSpec], link: Link) -> list[Greeted]:
    """Start them and shake hands. Raises MachineFailure when told to stop now; then none is alive."""
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
        ends = converse({engine: timed(engine, begun) for engine in running}, link)
    except BaseException:
        kill_living()
        raise
    return [
        Greeted(engine, end if isinstance(end := ends[engine], EngineFault) else None, took[engine])
        if isinstance(engine, Engine)
        else Greeted(None, engine)
        for engine in opened
    ]
