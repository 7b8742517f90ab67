"""``python -m enginetour.referee.slot``: the process of one slot. Tasks come on fd 0, results go to fd 1.

The slot loads the rules of chess but no database, and plays one game at a time in a single thread. It ends with the
scheduler: at end of file on fd 0, or by the parent-death signal SIGTERM, which leaves time to end the processes that
engines started. If this takes too long, an alarm kills the slot, and its engines end with it.
"""

from __future__ import annotations

import errno
import gc
import os
import select
import signal
from collections import deque
from typing import TYPE_CHECKING, Any

from enginetour.engines import strays
from enginetour.engines.machine import CPUS
from enginetour.engines.pipes import Outbox
from enginetour.engines.process import kill_running_engines, unblock_signals
from enginetour.engines.sandbox import remove_scratch_root
from enginetour.model.errors import MachineFailure
from enginetour.model.task import GameTask, ProbeTask, ReenactTask
from enginetour.referee.link import VERSION, Environment, Frames, Link, Stop, Stopping, frame
from enginetour.referee.quickgames import claim_engine_processors

if TYPE_CHECKING:
    from enginetour.referee.compliance.exam import ComplianceTask


READ_SIZE = 64 * 1024  # bytes; the capacity of a pipe: pipe(7)
GARBAGE = 20_000  # new objects between two garbage collections; a game of 600 moves creates few cyclic objects
# Errors of the machine, not of enginetour: no space, memory, descriptors or processes left, or a disk that fails.
_OF_HOST = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN)
)
LAST_BREATH = 2.0  # s after "now" until the alarm kills the slot; the executor waits for 3 s (reliability spec 3)


class PipeLink(Link):
    """The slot's ends of its pipes. `control_fd` is an epoll descriptor for the control pipe and signals."""

    def __init__(self, control: int, results: int) -> None:
        self._control = control
        self._frames = Frames()
        self._tasks: deque[GameTask | ProbeTask | ReenactTask | ComplianceTask | Environment] = deque()
        self._stopping: Stopping = ""
        os.set_blocking(control, False)
        os.set_blocking(results, False)
        self._out = Outbox(results, cap=None)
        self._alarm, alarm = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
        self._epoll = select.epoll()
        self._epoll.register(control, select.EPOLLIN)
        self._epoll.register(self._alarm, select.EPOLLIN)
        self.control_fd = self._epoll.fileno()

    def stopping(self) -> Stopping:
        """Read new messages and return the state. "now" is the final state and sets the alarm."""
        for fd, _ in self._epoll.poll(0):
            try:
                chunk = os.read(fd, READ_SIZE)
            except BlockingIOError:
                continue
            except OSError:
                chunk = b""
            if fd == self._control:
                self._receive(chunk)
        return self._stopping

    def next_task(self) -> GameTask | ProbeTask | ReenactTask | ComplianceTask | Environment | None:
        """Wait for the next task. Return None if the slot must end and no task from before the stop is left."""
        while (stopping := self.stopping()) != "now":
            if self._tasks:
                return self._tasks.popleft()
            if stopping:
                break
            self._epoll.poll()
        return None

    def tell(self, name: str, payload: object) -> None:
        """Send an event if the pipe has room for it now."""
        self._out.push()
        if not len(self._out):
            self._out.send(frame(("event", name, payload)))

    def report(self, kind: str, value: object) -> None:
        """Send a result and wait until the executor has read it, has ended, or requests an immediate stop."""
        self._out.send(frame((kind, value)))
        poll = select.poll()
        poll.register(self._out.fd, select.POLLOUT)
        poll.register(self._epoll.fileno(), select.POLLIN)
        while len(self._out) and not self._out.broken and self.stopping() != "now":
            poll.poll()
            self._out.push()

    def stop_now(self) -> None:
        """Request the immediate end. If the slot hangs, the alarm ends it by its default action."""
        self._stopping = "now"
        signal.setitimer(signal.ITIMER_REAL, LAST_BREATH)

    def _receive(self, chunk: bytes) -> None:
        if not chunk:
            self._epoll.unregister(self._control)
            self.stop_now()
            return
        messages = self._frames.feed(chunk)
        if self._frames.broken:  # another process wrote into the pipe, so its content cannot be trusted
            self._epoll.unregister(self._control)
            self.stop_now()
            return
        for message in messages:
            if not isinstance(message, Stop):
                self._tasks.append(message)
            elif message.now:
                self.stop_now()
            elif not self._stopping:
                self._stopping = "finish"


def serve(link: PipeLink) -> None:
    """Run tasks until the slot must end. Engines may stay alive between tasks."""
    from enginetour.referee.game import play
    from enginetour.referee.probe import probe
    from enginetour.referee.startup import EnginePool

    # Loaded objects are excluded from garbage collections, which took 5 % of the time of a ply (measured).
    gc.freeze()
    gc.set_threshold(GARBAGE)
    pool = EnginePool()
    own = claim_engine_processors(map(int, filter(None, os.environ.get(CPUS, "").split(","))))
    while (task := link.next_task()) is not None:
        if isinstance(task, Environment):
            pool.close_all()
            os.environ.update(task.variables)
            pool = EnginePool()
            continue
        try:
            result: Any
            if isinstance(task, GameTask):
                result = play(task, link, pool)
            elif isinstance(task, ProbeTask):
                result = probe(task, link)
            elif isinstance(task, ReenactTask):
                from enginetour.referee.reenactment import reenact  # imported here for a faster start

                result = reenact(task, link)
            else:
                from enginetour.referee.compliance.course import run_checks as examine  # as above

                result = examine(task, link)
            link.report("result", result)
        except Exception as error:  # after any error, the game is not recorded and the slot continues
            kill_running_engines()
            pool = EnginePool()
            if not isinstance(error, MachineFailure):
                import traceback  # imported here for a faster start

                traceback.print_exc()
            is_internal = not (
                isinstance(error, MachineFailure | MemoryError) or getattr(error, "errno", None) in _OF_HOST
            )
            text = str(error) if isinstance(error, MachineFailure) else f"the slot failed: {error!r}"
            link.report("internal" if is_internal else "failed", text)
    for each in own:
        each.close()
    if link.stopping() != "now":
        pool.close_all()


def main() -> None:
    """Make this process a slot: protect its pipes from other output, handle signals, adopt orphans, and run tasks."""
    control, results = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)  # all printed text goes to stderr, whose last lines the executor stores
    link = PipeLink(control, results)
    for number in (signal.SIGALRM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)  # the parent process may have set them to be ignored
    signal.signal(signal.SIGTERM, lambda *_: link.stop_now())
    signal.signal(signal.SIGHUP, lambda *_: link.stop_now())
    # SIGINT is handled by the scheduler; it has an empty handler here, because engines would inherit SIG_IGN
    signal.signal(signal.SIGINT, lambda *_: None)
    strays.adopt_orphans()
    strays.set_parent_death_signal(signal.SIGTERM)
    unblock_signals()
    try:
        link.report("hello", VERSION)
        serve(link)
    finally:
        kill_running_engines()
        remove_scratch_root()


if __name__ == "__main__":
    main()
