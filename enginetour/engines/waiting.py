"""The one wait: a single poll over all pipes of several engines and the control descriptor."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from enginetour.engines.process import EngineProcess


NEVER_NS = 1 << 62  # a time that does not come
SLICE_NS = 100_000_000  # of a wait: whoever is frozen as a whole (freezer cgroup, docker pause) learns it by no signal


class Wake(NamedTuple):
    """Why a wait ended: engines to `read` from (the read may find nothing), the control descriptor, or none of it."""

    readable: tuple[EngineProcess, ...]
    control: bool
    heard: bool = False  # the first engine was read from, and said more than chatter


@dataclass(frozen=True, slots=True)
class Polled:
    """A poll over all that can still say something, good as long as nothing of it changes (`turns`)."""

    processes: tuple[EngineProcess, ...]
    control_fd: int | None
    turns: int
    poll: select.poll
    where: dict[int, EngineProcess]
    ended: tuple[EngineProcess, ...]  # first their last words, then their end
    watched: tuple[EngineProcess, ...]  # those with a memory limit


def wait(
    processes: Sequence[EngineProcess],
    control_fd: int | None,
    deadline_ns: int,
    chatter: Callable[[], int] | None = None,
) -> Wake:
    """Wait until an engine has output or ended, control speaks, or CLOCK_MONOTONIC reaches the deadline (ns).

    On the way stderr is drained, waiting input is pushed, and who has a memory limit is looked at; nothing of it, nor
    any output, moves the deadline. `chatter` reads from the first engine when it alone has spoken and returns the stamp
    of what needs no answer, so that the wait goes on, or 0: engines tell of ten iterations a move, and a tenth of what
    a ply cost the processor was the way to whoever waits and back (measured).
    """
    for process in processes:
        if process.stderr_due:
            process.drain_stderr()
    while True:
        polled = _polled(processes, control_fd)
        left = 0 if deadline_ns <= 0 or polled.ended else deadline_ns - time.monotonic_ns()
        pause = left
        for process in polled.watched:
            pause = min(pause, process.watch_ns - time.monotonic_ns())
        # Whole ms, rounded up: no busy loop before the deadline.
        ready = polled.poll.poll(-(-pause // 1_000_000) if pause > 0 else 0)
        if chatter is not None and not polled.watched:
            while len(ready) == 1 and ready[0][0] == processes[0].stdout_fd:
                if not (stamp := chatter()):
                    return Wake((), control=False, heard=True)
                if (left := deadline_ns - stamp) <= 0:
                    return Wake((), control=False)
                ready = polled.poll.poll(-(-left // 1_000_000))
        control = False
        readable = polled.ended
        for fd, _ in ready:
            if fd == control_fd:
                control = True
            elif (process := polled.where[fd]).woke(fd) and process not in readable:
                readable = *readable, process
        for process in polled.watched:
            process.watch()
        if readable or control or left <= 0:
            return Wake(readable, control)
        for process in processes:
            if process.stderr_due:
                process.drain_stderr()


def _polled(processes: Sequence[EngineProcess], control_fd: int | None) -> Polled:
    """What there is to poll, as it was last time where nothing of it has changed."""
    turns = 0
    for process in processes:
        turns += process.turns + process.out.turns
    kept = processes[0].polled if processes else None
    if kept and kept.turns == turns and kept.control_fd == control_fd and kept.processes == tuple(processes):
        return kept
    poll = select.poll()
    where: dict[int, EngineProcess] = {}
    for process in processes:
        process.register(poll, where)
    if control_fd is not None:
        poll.register(control_fd, select.POLLIN)
    ended = tuple(process for process in processes if process.exited and not process.eof)
    watched = tuple(process for process in processes if process.watch_ns < NEVER_NS)
    polled = Polled(tuple(processes), control_fd, turns, poll, where, ended, watched)
    if processes:
        processes[0].polled = polled
    return polled
