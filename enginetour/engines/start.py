"""Start engines: the only module that selects the class for a protocol."""

from __future__ import annotations

from collections import deque

from enginetour.engines.cecp import CecpEngine
from enginetour.engines.protocol import Engine
from enginetour.engines.starting import Launch
from enginetour.engines.uci import UciEngine
from enginetour.model.errors import StartFailed
from enginetour.model.task import EngineSpec


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
            waiting.append(_launched(spec))
        for spec in specs:
            launch = waiting.popleft()
            opened.append(launch if isinstance(launch, StartFailed) else _opened(spec, launch))
    except BaseException:
        for launch in waiting:
            if isinstance(launch, Launch):
                launch.drop()
        for engine in opened:
            if isinstance(engine, Engine):
                engine.kill()
        raise
    return opened


def _launched(spec: EngineSpec) -> Launch | StartFailed:
    try:
        return Launch(spec)
    except StartFailed as fault:
        return fault


def _opened(spec: EngineSpec, launch: Launch) -> Engine | StartFailed:
    try:
        return open_engine(spec, launch)
    except StartFailed as fault:
        return fault
