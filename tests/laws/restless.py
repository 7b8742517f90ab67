"""A simulated cluster in which machines come and go, and results are late, lost or doubled."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import CancelledError
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any

from distributed import KilledWorker

from enginetour.model.game import Game
from enginetour.model.task import GameTask
from enginetour.referee.link import VERSION
from enginetour.tournament.cluster.machines import GameOrder, ListedWorker, WorkerReport
from enginetour.tournament.cluster.worker import inspect_worker
from tests.support.engines import Promise

Verdict = Callable[[GameTask], Game]

KILLED = KilledWorker("key", SimpleNamespace(address="tcp://h:1"), 3)  # type: ignore[arg-type]


class Restless:
    """Replaces `Connection`; it has at most four random machines, and `troubles` is the frequency of failures."""

    def __init__(self, dice: random.Random, troubles: float, verdict: Verdict) -> None:
        self.dice, self.troubles, self.verdict = dice, troubles, verdict
        self.there: dict[str, ListedWorker] = {}
        self.air: list[tuple[GameTask, Promise]] = []
        self.homes: dict[tuple[str, str, int], set[str]] = defaultdict(set)  # machines by encounter
        self.is_open = True
        self._started = 0
        self._join()

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def workers(self) -> dict[str, ListedWorker] | None:
        self.is_open = self.dice.random() >= self.troubles
        if self.dice.random() < self.troubles:
            self.there.pop(self.dice.choice(list(self.there)))
        if not self.there or (len(self.there) < 4 and self.dice.random() < 0.2):
            self._join()
        return dict(self.there) if self.is_open else None

    def submit(self, task: Any, *words: Any, worker: str, slot: bool, key: str) -> Promise:
        answer = Promise()
        if task is resolve_name or task is inspect_worker:
            answer.settle(VERSION if task is resolve_name else WorkerReport(worker))
            return answer
        order: GameOrder = words[0]
        pairing = order.task.pairing
        self.homes[*pairing.pair, pairing.meeting].add(self.there[worker].name)
        self.air.append((order.task, answer))
        asyncio.get_running_loop().call_later(self.dice.choice([0, 0, 0.001]), self._answer)
        return answer

    def _join(self) -> None:
        """Add a worker; after a restart it has another address."""
        self._started += 1
        slots = self.dice.randint(1, 3)
        self.there[f"tcp://h:{self._started}"] = ListedWorker(f"m{self._started % 4}", "h", slots, slots)

    def _answer(self) -> None:
        task, answer = self.air.pop(self.dice.randrange(len(self.air)))
        if self.dice.random() < self.troubles:
            answer.settle(
                self.dice.choice([OSError("closed"), CancelledError(), KILLED, ("failed", "x"), ("recheck", "x")])
            )
            return
        answer.settle(("result", self.verdict(task)))
