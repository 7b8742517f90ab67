"""The one wait: a single poll over all pipes of several engines and the control descriptor."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from enginetour.supervise.process import EngineProcess


NEVER_NS = 1 << 62  # a time that does not come


class Wake(NamedTuple):
    """Why a wait ended: engines to `read` from (the read may find nothing), the control descriptor; or neither."""

    readable: tuple[EngineProcess, ...]
    control: bool


def wait(processes: Sequence[EngineProcess], control_fd: int | None, deadline_ns: int) -> Wake:
    """Wait until an engine has output or ended, control speaks, or CLOCK_MONOTONIC reaches the deadline (ns).

    On the way stderr is drained, waiting input is pushed, and who has a memory limit is looked at; nothing of it, nor
    any output, moves the deadline.
    """
    for process in processes:
        process.catch_up()
    while True:
        poll, where = _polled(processes, control_fd)
        ended = [process for process in processes if process.exited and not process.eof]  # its last words, then its end
        now = time.monotonic_ns()
        left = pause = 0 if ended else deadline_ns - now
        for process in processes:
            pause = min(pause, process.watch_ns - now)
        # Whole ms, rounded up: no busy loop before the deadline.
        ready = poll.poll(-(-pause // 1_000_000) if pause > 0 else 0)
        control = False
        readable: dict[EngineProcess, None] = dict.fromkeys(ended)
        for fd, _ in ready:
            if fd == control_fd:
                control = True
            elif where[fd].woke(fd):
                readable[where[fd]] = None
        for process in processes:
            if process.watch_ns < NEVER_NS:
                process.watch()
        if readable or control or left <= 0:
            return Wake(tuple(readable), control)
        for process in processes:
            process.catch_up()


def _polled(processes: Sequence[EngineProcess], control_fd: int | None) -> tuple[select.poll, dict[int, EngineProcess]]:
    """A poll over all that can still say something, that of last time where nothing of it has changed."""
    state = control_fd, *[(process, process.openings()) for process in processes]
    if processes and processes[0].polled is not None and processes[0].polled[0] == state:
        return processes[0].polled[1:]
    poll = select.poll()
    where: dict[int, EngineProcess] = {}
    for process in processes:
        process.register(poll, where)
    if control_fd is not None:
        poll.register(control_fd, select.POLLIN)
    if processes:
        processes[0].polled = state, poll, where
    return poll, where
