"""What a manager and the workers of its cluster say to each other: frozen, picklable, nothing of stores."""

from __future__ import annotations

from dataclasses import dataclass

from enginetour.model.task import EngineSpec, GameTask
from enginetour.model.timecontrol import TimeControl
from enginetour.tournament.places import START_PARALLEL


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an entrant comes from: the id of its engine file, and the options its configuration puts over it."""

    engine: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Demand:
    """What a machine needs for the games of a tournament. `origins` are by the names of `specs`."""

    specs: tuple[EngineSpec, ...]
    origins: tuple[tuple[str, Origin], ...] = ()
    folders: tuple[str, ...] = ()  # of tablebases
    tables: int = 0  # files of WDL and DTZ tables in them
    variant: str = "standard"
    books: tuple[tuple[str, str], ...] = ()  # path, digest
    processors: int = 1  # of the hungriest game
    hash_mb: int = 0  # of the two largest tables
    crowded: bool = False  # more games than processors are meant
    start_parallel: int = START_PARALLEL  # engines that start at once at most
    clocks: tuple[TimeControl, ...] = ()  # all that are played by, where they go by the machine's speed

    def origin(self, name: str) -> Origin | None:
        """Of an entrant; None of one that has no engine file."""
        return dict(self.origins).get(name)

    @property
    def scaled(self) -> bool:
        """Clocks go by the machine's speed."""
        return bool(self.clocks)


@dataclass(frozen=True, slots=True)
class Found:
    """What a worker says of itself; it may play where it lacks nothing. `speed` as in `pace`, 0 if not measured."""

    host: str
    processor: str = ""
    speed: float = 0.0
    lacks: tuple[str, ...] = ()
    processors: int = 0  # as many as the worker may use at once
    affinity: frozenset[int] = frozenset()  # among which; workers of a machine may share them
    memory_mb: int = 0
    group: str = ""  # with a quota, as in `Allowed`; workers of a machine may share that too


@dataclass(frozen=True, slots=True)
class Order:
    """One game for one worker; `seat` is the slot there that has its engines, if one has."""

    run: str
    tag: str
    seat: int
    task: GameTask


# What comes back for an order: ("result", Game), ("failed", words) of the machine, ("internal", words) of our own
# failure, ("lacks", words) of its equipment, ("anew", words) where it has to look again what it has.
Reply = tuple[str, object]
