"""Where engines wait between two games of a slot, with their processes alive."""

from __future__ import annotations

from enginetour.engines.cecp import CecpEngine
from enginetour.engines.machine import load_now
from enginetour.engines.process import end_all
from enginetour.engines.protocol import Engine
from enginetour.model.game import Incident
from enginetour.model.task import EngineSpec
from enginetour.referee.queueing import Crowd
from enginetour.referee.together import Together

SOME_TRAFFIC = 20  # lines kept with a warning; with an abnormal end it is 50 (reliability 1)
ROOM = 2  # engines a slot keeps alive at most (runner spec 14)


class EngineShelf:
    """At most two live engines, and what is known of quick ones. What may not be used again is ended, not kept."""

    def __init__(self) -> None:
        self.together = Together()
        self.crowd = Crowd()
        self._engines: list[Engine] = []
        self.warned: set[tuple[str, str]] = set()  # (engine, kind of warning) told by this slot
        self._partings: list[Incident] = []

    def take(self, *specs: EngineSpec) -> list[Engine | None]:
        """A waiting engine for each spec, or None; all others are ended, so that they cost nobody's clock anything."""
        taken: list[Engine | None] = []
        for spec in specs:
            found = next((engine for engine in self._engines if engine.spec == spec and usable(engine)), None)
            if found is not None:
                self._engines.remove(found)
            taken.append(found)
        self.close_all()
        return taken

    def give_back(self, *engines: Engine) -> None:
        """Keep those that may play another game, end the others."""
        kept = [engine for engine in engines if usable(engine)][:ROOM]
        self.end(*(engine for engine in engines if engine not in kept))
        self._engines += kept
        self.end(*self._engines[:-ROOM])
        del self._engines[:-ROOM]

    def close_all(self) -> None:
        """End every waiting engine, all at the same time."""
        self.end(*self._engines)
        self._engines = []

    def end(self, *engines: Engine) -> None:
        """End them for good, and keep what was wrong with it."""
        end(list(engines))
        for engine in engines:
            if engine.process.deaf:
                self._warn(engine, "shutdown-warning", "ignored quit; ended by a signal")
            if engine.process.orphans:
                self._warn(engine, "orphan-warning", f"left behind: {', '.join(engine.process.orphans)}")

    def replace(self, engine: Engine, why: str) -> None:
        """End one that could not begin a game: a new process plays it, and each time is an incident."""
        engine.spoiled = why
        status = engine.process.exit_status()  # before the end that we make of it
        self.end(engine)
        traffic, stderr = engine.process.traffic(), engine.process.stderr()
        cause = f"a new process, the old one could not begin {'another' if engine.games else 'a'} game: {why}"
        told = Incident(engine.spec.name, "restart", cause, 0, traffic, stderr, status, load=load_now())
        self._partings.append(told)

    def partings(self) -> list[Incident]:
        """What was wrong with engines that were ended since the last call."""
        told, self._partings = self._partings, []
        return told

    def _warn(self, engine: Engine, category: str, cause: str) -> None:
        name = engine.spec.name
        if (name, category) not in self.warned:
            self.warned.add((name, category))
            traffic, stderr = engine.process.traffic(SOME_TRAFFIC), engine.process.stderr(SOME_TRAFFIC)
            status = engine.process.exit_status()
            self._partings.append(Incident(name, category, cause, 0, traffic, stderr, status, load=load_now()))


def usable(engine: Engine) -> bool:
    """Whether it may be asked for another game: alive, fenced, nothing owed, and willing (`reuse`)."""
    if engine.spoiled or engine.dead or engine.process.eof or engine.process.broken or not engine.ready:
        return False
    if engine.spec.quirks.restart or engine.spec.restart == "on" or engine.thinking:
        return False
    return (
        engine.spec.restart == "off" or not isinstance(engine, CecpEngine) or engine.features.on("reuse", default=True)
    )


def end(engines: list[Engine]) -> None:
    """`quit` to those that listen, the ladder for all; dead and spoiled ones at once."""
    for engine in engines:
        if engine.spoiled or engine.dead:
            engine.kill()
    end_all([engine.process for engine in engines if not engine.process.closed])
