"""Engine process: one running engine, its pipes, and how a hung one is killed."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from enginetour.engines import machine, sandbox, strays
from enginetour.engines.machine import CpuTime
from enginetour.engines.pipes import STDERR_CAP, ByteRing, Outbox, Traffic, escape_bytes, last_lines
from enginetour.engines.sandbox import SHELL_SIGNAL
from enginetour.engines.starting import STRAY, Launch, launcher_records
from enginetour.model.task import EngineSpec

# The one wait: a single poll over all pipes of several engines and the control descriptor.

NEVER_NS = 1 << 62  # a time that does not come
SLICE_NS = 100_000_000  # of a wait: whoever is frozen as a whole (freezer cgroup, docker pause) learns it by no signal


class Wake(NamedTuple):
    """Why a wait ended: engines to `read` from (the read may find nothing), the control descriptor, or none of it."""

    readable: tuple[EngineProcess, ...]
    control: bool
    heard: bool = False  # the first engine was read from, and said more than chatter


@dataclass(frozen=True, slots=True)
class _Polled:
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


def _polled(processes: Sequence[EngineProcess], control_fd: int | None) -> _Polled:
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
    polled = _Polled(tuple(processes), control_fd, turns, poll, where, ended, watched)
    if processes:
        processes[0].polled = polled
    return polled


# The end of engines: `quit`, SIGTERM, SIGKILL, all at once (reliability spec 4.4), and nothing left behind.

QUIT_WAIT = 1.5  # s after `quit`, reliability spec 4.4
TERM_WAIT = 1.0  # s after SIGTERM, reliability spec 4.4
_KILL_WAIT = 1.0  # s; only a process stuck in the kernel needs any

running_engines: set[EngineProcess] = set()  # started by this process and not ended


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
    _kill_all(open_ones)


def _still_alive(processes: list[EngineProcess], seconds: float) -> list[EngineProcess]:
    deadline = time.monotonic_ns() + int(seconds * 1e9)
    alive = [process for process in processes if not process.exited]
    while alive and time.monotonic_ns() < deadline:
        for process in wait(alive, None, deadline).readable:
            process.read()  # an engine that is still writing could not see `quit`
        alive = [process for process in alive if not process.exited]
    return alive


def _kill_all(processes: Iterable[EngineProcess]) -> None:
    """SIGKILL to the groups now; then what left its group or session; then reap and wipe. Twice does nothing."""
    open_ones = [process for process in processes if not process.closed]
    if not open_ones:
        return
    before = strays.process_table()  # while parents live: afterwards nobody knows whose child it was
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
        strays.kill_processes(escaped[process])
    handles = [fd for process in open_ones for fd in (process.pidfd, process.init_fd) if fd is not None]
    strays.wait_for_exit(handles, time.monotonic_ns() + int(_KILL_WAIT * 1e9))
    left = {process: process.left() for process in open_ones}
    tagged = strays.kill_tagged(process.tag for process in open_ones)
    for process in open_ones:
        process.forget()
    adopted = strays.kill_orphans({process.pid: process.tag for process in running_engines})
    names = " or ".join(process.spec.name for process in open_ones)
    sessions = {pid for process in open_ones for pid in (process.pid, process.engine_pid)}
    for process in open_ones:
        own = [seen for seen, tag in tagged if tag == process.tag]
        away = {seen.pid: _told(seen) for seen in [*escaped[process], *own] if seen.session not in sessions}
        # What stayed in its session died with its group, some a moment later: no orphan.
        strangers = [seen for seen in adopted if seen.pid not in away and seen.session not in sessions]
        away |= {seen.pid: f"{_told(seen)} of {names}" for seen in strangers}
        process.orphans = (*left[process], *away.values())


def kill_running_engines() -> None:
    """SIGKILL to every engine this process started and has not ended."""
    _kill_all(tuple(running_engines))


def _told(seen: strays.ProcessInfo) -> str:
    still = strays.process_info(seen.pid)
    alive = still is not None and still.started == seen.started and still.state != "Z"
    return f"{escape_bytes(seen.name.encode())} ({seen.pid}){' could not be killed' if alive else ''}"


_UNKNOWN = "ended, status unknown"
READ_SIZE = 64 * 1024  # bytes a read, runner spec 2


class EngineProcess:
    """One running engine. All descriptors are non-blocking; nothing here waits but the start (some 10 ms) and the end.

    `launch`: its own, where that has begun already.
    Raises StartFailed (the program cannot be run) or MachineFailure (no process can be started here).
    `orphans` and `deaf` are filled by the end: processes it left behind, and whether it ignored `quit`.
    """

    def __init__(self, spec: EngineSpec, *, tag: str = "", launch: Launch | None = None) -> None:
        launch = launch or Launch(spec, tag)
        started = launch.started()
        self.spec = spec
        self.tag, self.scratch = launch.tag, launch.scratch
        self.started_ns = time.monotonic_ns()
        self._process = started.process
        self.pid: int = started.process.pid
        self.stdin_fd, self.stdout_fd, self.stderr_fd = started.stdin, started.stdout, started.stderr
        self._read: Callable[[int], bytes | None] = started.process.stdout.read  # type: ignore[union-attr]  # unbuffered
        self.pidfd = started.pidfd
        self.init, self.init_fd, self._report = started.init, started.init_fd, started.report
        inside = strays.children(started.init) if started.init is not None else []
        self.engine_pid = inside[0] if inside else self.pid  # by its number outside
        self._left = started.early
        self._cpu = CpuTime(self.pid, self.engine_pid)
        self._over = ""  # what it exceeded and was killed for
        self.watch_ns = self.started_ns if spec.resources.memory is not None else NEVER_NS
        self.eof = False
        self.exited = False  # the process ended; its pipes may be held open by a child
        self.closed = False
        self.orphans: tuple[str, ...] = ()
        self.deaf = False
        self._stderr_open = True
        self.stderr_due = False  # the last wait saw some: read after stdout, so that it delays no stamp (runner spec 2)
        self.out = Outbox(self.stdin_fd)
        self.turns = 0  # how often a descriptor of it ceased to say anything
        self.polled: _Polled | None = None  # by `wait`
        self._traffic = Traffic(self.started_ns)
        self.note = self._traffic.extend
        self._stderr = ByteRing(STDERR_CAP)
        self._status = ""
        running_engines.add(self)

    @property
    def broken(self) -> bool:
        """It closed its input, or left 64 KiB unread."""
        return self.out.broken

    def write(self, data: bytes) -> int:
        """One write; what the pipe does not take is kept. Returns CLOCK_MONOTONIC ns right after it."""
        self.out.send(data)
        stamp = time.monotonic_ns()
        self._traffic.append(">", stamp, data)
        return stamp

    def close_input(self) -> None:
        """End of file at its stdin; nothing more can be written."""
        self.out.gone()
        with suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]  # a pipe

    def read(self) -> tuple[bytes, int]:
        """One read of stdout and CLOCK_MONOTONIC ns right after it; nothing there gives b"", the end sets `eof`."""
        if self.eof:
            return b"", time.monotonic_ns()
        try:
            data = self._read(READ_SIZE)  # None where there is nothing, which costs less than an exception
        except OSError:
            data = b""
        stamp = time.monotonic_ns()
        if data:
            self._traffic.append("<", stamp, data)
        elif data is not None or self.exited:  # a child that holds the pipe open says nothing for the engine
            self.eof = True
            self.turns += 1
        return data or b"", stamp

    def drain_stderr(self) -> None:
        """At most 64 KiB of stderr into the ring."""
        self.stderr_due = False
        if not self._stderr_open:
            return
        try:
            data = os.read(self.stderr_fd, READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._stderr.append(data)
        else:
            self._stderr_open = False
            self.turns += 1

    def traffic(self, last: int = 50) -> tuple[str, ...]:
        """The last lines sent and heard, escaped and cut: ``12.345678 < bestmove e2e4``."""
        return self._traffic.lines(last)

    def traffic_since(self, ns: int) -> list[tuple[int, str, bytes]]:
        """What of it is kept from CLOCK_MONOTONIC `ns` on, as it passed: stamp, direction, line."""
        return self._traffic.whole(ns)

    def stderr(self, last: int = 20) -> tuple[str, ...]:
        """The last lines of stderr, escaped and cut."""
        if not self.closed:
            self.drain_stderr()
        return last_lines(bytes(self._stderr), last)

    @property
    def is_dead(self) -> bool:
        """The engine itself has ended, though what tells how may still be on its way."""
        seen = None if self.exited else strays.process_info(self.engine_pid)
        return seen is None or seen.state in "ZX"

    def exit_status(self) -> str:
        """``exit 1``, ``signal 11 (SIGSEGV)``, or "" while it is alive."""
        if not self._status and not self.closed:
            # WNOWAIT: until it is reaped its number cannot be given to anybody else's process group
            try:
                seen = os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # SIGCHLD ignored by whoever embeds us: the kernel reaped it
                self._status = _UNKNOWN
                return self._status
            if seen is not None:
                code = seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status
                if self.spec.sandbox == "bwrap" and code > SHELL_SIGNAL:
                    code = SHELL_SIGNAL - code
                self._status = self._over or describe_status(code)
        return self._status

    def end(self) -> None:
        """`quit`, SIGTERM, SIGKILL: up to 2.5 s."""
        end_all((self,))

    def kill(self) -> None:
        """SIGKILL to the group now, find what got away, reap, wipe the scratch folder."""
        _kill_all((self,))

    def signal(self, number: int) -> None:
        """To its process group. Only before it is reaped: until then the number is its own.

        In a namespace that is the launcher's, which passes SIGTERM on and takes all along when it is killed.
        """
        if not self.closed and self.exit_status() != _UNKNOWN:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def watch(self) -> None:
        """If it is time to: look at its memory, and kill it where it is over its limit."""
        now = time.monotonic_ns()
        if now < self.watch_ns or self.exited or self.closed:
            return
        self.watch_ns = now + machine.MEMORY_CHECK_NS
        self._over = machine.memory_excess(self.family(), self.spec.resources.memory)
        if self._over:
            self.watch_ns = NEVER_NS
            self.cpu_ms()
            self.signal(signal.SIGKILL)

    def family(self) -> list[int]:
        """The process ids of the engine and all it started, the launcher's not among them."""
        if self.init is None:
            return strays.process_tree(self.pid)
        return strays.process_tree(self.init)[1:]

    def register(self, poll: select.poll, where: dict[int, EngineProcess]) -> None:
        """Put every descriptor that can still say something into a poll."""
        if self.closed:
            return
        if not self.eof:
            poll.register(self.stdout_fd, select.POLLIN)
            where[self.stdout_fd] = self
        if self._stderr_open:
            poll.register(self.stderr_fd, select.POLLIN)
            where[self.stderr_fd] = self
        if not self.exited:
            poll.register(self.pidfd, select.POLLIN)
            where[self.pidfd] = self
        if not self.broken:  # asked for nothing, a poll still tells when nobody reads any more
            poll.register(self.stdin_fd, select.POLLOUT if len(self.out) else 0)
            where[self.stdin_fd] = self

    def beside(self) -> tuple[tuple[int, int, str], ...]:
        """Descriptors, events and kinds of all but stdout that can still say something: s for stderr, x for an end."""
        told = ((self.pidfd, select.EPOLLIN, "x"), (self.stdin_fd, 0, "x"))
        return (*told, (self.stderr_fd, select.EPOLLIN, "s")) if self._stderr_open else told

    def woke(self, fd: int) -> bool:
        """What one ready descriptor means; True when `read` or `broken` has something to tell."""
        if fd == self.stdout_fd:
            return True
        if fd == self.pidfd:
            self.exited = True
            self.turns += 1
            return True
        if fd == self.stderr_fd:
            self.stderr_due = True
            return False
        if len(self.out):
            self.out.push()
        else:
            self.out.gone()
        return self.broken

    def cpu_ms(self, *, whole: bool = True) -> int | None:
        """Processor time since its start, see `CpuTime`; after its end as it was last told."""
        return self._cpu.last_ms if self.closed else self._cpu.ms(whole=whole)

    def left(self) -> list[str]:
        """What it left behind in its namespace, as its init told before that ended: ``name (number inside)``."""
        if self._report is not None and not self.closed:
            with suppress(OSError):
                self._left += os.read(self._report, READ_SIZE)
        told = [record[1:] for record in launcher_records(self._left) if record[0] == STRAY][: strays.MOST_PROCESSES]
        return [f"{escape_bytes(bytes.fromhex(name.decode()))} ({number.decode()})" for number, name in told]

    def forget(self) -> None:
        """Reap it, close the pipes, wipe the scratch folder; it must be dead."""
        self.exit_status()
        while self._stderr_open and len(self._stderr) < STDERR_CAP:
            before = len(self._stderr)
            self.drain_stderr()
            if len(self._stderr) == before:
                break
        self.closed = self.eof = self.exited = True
        self.turns += 1
        self.polled = None  # its numbers may be another's soon
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]  # all three are pipes
        for fd in (self.pidfd, self.init_fd, self._report):
            if fd is not None:
                os.close(fd)
        self._process.poll()
        if not self.spec.keep_scratch:
            sandbox.remove_scratch(self.scratch)
        running_engines.discard(self)


def describe_status(returncode: int) -> str:
    """``exit 1`` or ``signal 11 (SIGSEGV)`` from a return code as subprocess gives it."""
    if returncode >= 0:
        return f"exit {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"
    return f"signal {-returncode} ({name})"


# Signals that end us are for the main thread: one that is given to another thread does not wake it (signal(7)).

ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


def block_ending_signals() -> None:
    """For a thread beside the main one, first of all. What it starts inherits that until it says otherwise."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)


def unblock_signals() -> None:
    """For the main thread of what such a thread has started, once it has its handlers."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
