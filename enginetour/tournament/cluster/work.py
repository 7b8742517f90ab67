"""A game on its way through a cluster, from the scheduler's wish to its end."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from enginetour.model.errors import InternalFailure, MachineFailure
from enginetour.model.task import GameTask
from enginetour.tournament.cluster.machines import Encounter

MOST_TRIES = 3  # machines that may fail one game before the scheduler hears of it (reliability spec 1)


@dataclass(eq=False)
class Work:
    """`failed` are the machines that failed it; `tried` is the present try, `number` that of all tries of the run."""

    task: GameTask
    prefer: int | None
    future: Future[Any] = field(default_factory=Future)
    failed: set[str] = field(default_factory=set)
    tries: int = 0
    number: int = 0
    begun: bool = False
    tried: asyncio.Task[None] | None = None

    @property
    def encounter(self) -> Encounter:
        """Its games are all on one machine."""
        pairing = self.task.pairing
        return (*pairing.pair, pairing.meeting)

    @property
    def words(self) -> str:
        """``WHITE - BLACK``."""
        return f"{self.task.pairing.white} - {self.task.pairing.black}"

    def begin(self) -> bool:
        """It cannot be taken back from now on; False where that has been done."""
        self.begun = self.begun or self.future.set_running_or_notify_cancel()
        return self.begun

    def fail(self, why: str, *, ours: bool = False) -> None:
        """The host failed it for good, or `ours`: enginetour itself, on any machine."""
        if self.begin():
            self.future.set_exception(InternalFailure(why) if ours else MachineFailure(why))

    def failed_by(self, machine: str) -> bool:
        """One more machine did; whether another one should try."""
        self.tries += 1
        self.failed.add(machine)
        return self.tries < MOST_TRIES
