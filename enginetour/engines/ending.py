"""The end of engines: `quit`, SIGTERM, SIGKILL, all at once (reliability spec 4.4), and nothing left behind."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from enginetour.engines import strays
from enginetour.engines.pipes import printable
from enginetour.engines.waiting import wait

if TYPE_CHECKING:
    from enginetour.engines.process import EngineProcess


QUIT_WAIT = 1.5  # s after `quit`, reliability spec 4.4
TERM_WAIT = 1.0  # s after SIGTERM, reliability spec 4.4
KILL_WAIT = 1.0  # s; only a process stuck in the kernel needs any

living: set[EngineProcess] = set()  # started by this process and not ended


def end_all(processes: Iterable[EngineProcess]) -> None:
    """Ask, then insist: at most 2.5 s for all of them together. Those that ignored `quit` are marked `deaf`."""
    open_ones = [process for process in processes if not process.closed]
    for process in open_ones:
        process.write(b"quit\n")
    deaf = _still_alive(open_ones, QUIT_WAIT)
    for process in deaf:
        process.deaf = True
        process.signal(signal.SIGTERM)
    _still_alive(deaf, TERM_WAIT)
    kill_all(open_ones)


def _still_alive(processes: list[EngineProcess], seconds: float) -> list[EngineProcess]:
    deadline = time.monotonic_ns() + int(seconds * 1e9)
    alive = [process for process in processes if not process.exited]
    while alive and time.monotonic_ns() < deadline:
        for process in wait(alive, None, deadline).readable:
            process.read()  # an engine that is still writing could not see `quit`
        alive = [process for process in alive if not process.exited]
    return alive


def kill_all(processes: Iterable[EngineProcess]) -> None:
    """SIGKILL to the groups now; then what left its group or session; then reap and wipe. Twice does nothing."""
    open_ones = [process for process in processes if not process.closed]
    if not open_ones:
        return
    before = strays.table()  # while parents live: afterwards nobody knows whose child it was
    escaped = {
        process: [
            seen
            for seen in strays.descendants(process.pid, before)
            if seen.group not in (process.pid, process.engine_pid) and seen.state != "Z"
        ]
        for process in open_ones
    }
    for process in open_ones:
        process.signal(signal.SIGKILL)
    for process in open_ones:
        strays.end(escaped[process])
    handles = [fd for process in open_ones for fd in (process.pidfd, process.init_fd) if fd is not None]
    strays.ended_by(handles, time.monotonic_ns() + int(KILL_WAIT * 1e9))
    left = {process: process.left() for process in open_ones}
    tagged = strays.end_tagged(process.tag for process in open_ones)
    for process in open_ones:
        process.forget()
    adopted = strays.end_adopted({process.pid: process.tag for process in living})
    names = " or ".join(process.spec.name for process in open_ones)
    sessions = {pid for process in open_ones for pid in (process.pid, process.engine_pid)}
    for process in open_ones:
        own = [seen for seen, tag in tagged if tag == process.tag]
        away = {seen.pid: _told(seen) for seen in [*escaped[process], *own] if seen.session not in sessions}
        # What stayed in its session died with its group, some a moment later: no orphan.
        strangers = [seen for seen in adopted if seen.pid not in away and seen.session not in sessions]
        away |= {seen.pid: f"{_told(seen)} of {names}" for seen in strangers}
        process.orphans = (*left[process], *away.values())


def kill_living() -> None:
    """SIGKILL to every engine this process started and has not ended."""
    kill_all(tuple(living))


def _told(seen: strays.Seen) -> str:
    still = strays.look(seen.pid)
    alive = still is not None and still.started == seen.started and still.state != "Z"
    return f"{printable(seen.name.encode())} ({seen.pid}){' could not be killed' if alive else ''}"
