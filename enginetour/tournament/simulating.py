"""Simulations in processes, which end with this process because their pipes are closed then."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Generic, Self, TypeVar

from enginetour.model.errors import TourError

_Result = TypeVar("_Result")
Task = tuple[int, int]  # two numbers, for example of a format and of a simulated night


class Simulators(Generic[_Result]):
    """Processes that call `simulate` with the numbers of a task; with one process, it is this one."""

    def __init__(self, simulate: Callable[[int, int], _Result], processes: int) -> None:
        self._simulate, self._count = simulate, processes
        self._workers: dict[Connection[Any, Any], SpawnProcess] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in [*self._workers]:
            self._end(pipe)

    def play(self, tasks: Iterable[Task], until: float, latest: float) -> Iterator[tuple[Task, _Result]]:
        """Yield the results of the tasks that begin before the time `until` and end before `latest`."""
        if self._count > 1:
            yield from self._play_elsewhere(iter(tasks), until, latest)
            return
        for task in tasks:
            if time.monotonic() >= until:
                return
            yield task, self._simulate(*task)

    def _play_elsewhere(self, tasks: Iterator[Task], until: float, latest: float) -> Iterator[tuple[Task, _Result]]:
        busy: dict[Connection[Any, Any], Task] = {}

        def give(pipe: Connection[Any, Any]) -> None:
            if time.monotonic() < until and (task := next(tasks, None)) is not None:
                pipe.send(task)
                busy[pipe] = task

        while len(self._workers) < self._count:
            self._start()
        for pipe in self._workers:
            give(pipe)
        while busy and (ready := wait([*busy], max(0.0, latest - time.monotonic()))):
            for pipe in busy.keys() & {*ready}:
                task = busy.pop(pipe)
                try:
                    result: _Result = pipe.recv()
                except EOFError:
                    step = "run the command again with --processes 1"
                    raise TourError("a process of the simulation has ended unexpectedly", step=step) from None
                give(pipe)
                yield task, result
        for pipe in busy:  # their simulations take too long
            self._end(pipe)

    def _start(self) -> None:
        """Start a process that ignores Ctrl-C. It ends with this process, which does not ignore it."""
        spawn = multiprocessing.get_context("spawn")
        own, other = spawn.Pipe()
        process = spawn.Process(target=_serve, args=(other, self._simulate), daemon=True)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            process.start()
        finally:
            signal.signal(signal.SIGINT, before)
        other.close()
        self._workers[own] = process

    def _end(self, pipe: Connection[Any, Any]) -> None:
        process = self._workers.pop(pipe)
        process.terminate()
        process.join()
        pipe.close()


def _serve(pipe: Connection[Any, Any], simulate: Callable[[int, int], object]) -> None:
    """Simulate what another process asks for, until the pipe closes."""
    try:
        while True:
            pipe.send(simulate(*pipe.recv()))
    except (EOFError, OSError):
        return
