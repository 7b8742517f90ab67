"""Engine process: one running engine, its pipes, the wait for its output, and how a hung engine is killed."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from enginetour.engines import launch, machine, sandbox, starting, strays
from enginetour.engines.machine import CpuTime
from enginetour.engines.pipes import STDERR_CAP, ByteRing, Outbox, Traffic, escape_bytes, last_lines
from enginetour.engines.sandbox import BWRAP, BWRAP_PACKAGE, SHELL_SIGNAL, explain_no_landlock
from enginetour.engines.starting import STRAY, Launch, launcher_records
from enginetour.model.errors import MachineFailure, StartFailed
from enginetour.model.task import EngineSpec

# The only wait: a single poll over all pipes of several engines and the control descriptor.

NEVER_NS = 1 << 62  # a time that is never reached
# longest part of a wait, because a process does not get a signal if it was frozen (freezer cgroup, docker pause)
SLICE_NS = 100_000_000


class Wake(NamedTuple):
    """The reason why a wait ended: output of engines, the control descriptor, or neither (the deadline)."""

    readable: tuple[EngineProcess, ...]  # engines to read from; their `read` may return nothing
    control: bool  # whether the control descriptor is ready
    heard: bool = False  # whether the output of the first engine has already been read, and was not only chatter


@dataclass(frozen=True, slots=True)
class _Polled:
    """A poll over all descriptors that can become ready. It is valid until one of them changes (see `turns`)."""

    processes: tuple[EngineProcess, ...]
    control_fd: int | None
    turns: int
    poll: select.poll
    where: dict[int, EngineProcess]
    ended: tuple[EngineProcess, ...]  # processes that have ended; `read` returns their last output, and then their end
    watched: tuple[EngineProcess, ...]  # processes with a memory limit


def wait(
    processes: Sequence[EngineProcess],
    control_fd: int | None,
    deadline_ns: int,
    chatter: Callable[[], int] | None = None,
) -> Wake:
    """Wait until an engine has output or has ended, the control descriptor is ready, or the deadline is reached.

    During the wait, stderr is drained, waiting input is written, and memory limits are checked; nothing moves the
    deadline.

    Args:
        processes: the engines.
        control_fd: the control descriptor, or None.
        deadline_ns: the deadline, CLOCK_MONOTONIC in ns.
        chatter: called to read from the first engine if only this engine has output. It returns the time of the output
            if the output needs no answer, so that the wait continues, or otherwise 0. Engines report about ten
            iterations per move, and returning to the caller for each took 10 % of the processor time of a ply
            (measured).
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
        # Whole ms, rounded up, so that there is no busy loop before the deadline.
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
    """Return the poll for these processes; if nothing has changed, return the poll of the last wait."""
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


# The end of engines: `quit`, SIGTERM, SIGKILL, for all engines together (reliability spec 4.4). No process may remain.

QUIT_WAIT = 1.5  # seconds to wait after `quit` (reliability spec 4.4)
TERM_WAIT = 1.0  # seconds to wait after SIGTERM (reliability spec 4.4)
_KILL_WAIT = 1.0  # seconds to wait after SIGKILL; only needed for a process that hangs in the kernel

running_engines: set[EngineProcess] = set()  # engines that this process has started and not ended


def end_all(processes: Iterable[EngineProcess]) -> None:
    """End engines with `quit`, and then with signals, in at most 2.5 s for all of them together.

    Engines that ignored `quit` are marked as `deaf`.
    """
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
            process.read()  # because an engine that waits for room in its output cannot read `quit`
        alive = [process for process in alive if not process.exited]
    return alive


def _kill_all(processes: Iterable[EngineProcess]) -> None:
    """Kill the process groups of engines and the processes that left them; reap all of them and clean up.

    A second call does nothing.
    """
    open_ones = [process for process in processes if not process.closed]
    if not open_ones:
        return
    before = strays.process_table()  # before the kill, because the parents of processes are unknown afterwards
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
        away = {seen.pid: _describe(seen) for seen in [*escaped[process], *own] if seen.session not in sessions}
        # A process that stayed in the session of its engine is not an orphan, even if it ended a moment later.
        strangers = [seen for seen in adopted if seen.pid not in away and seen.session not in sessions]
        away |= {seen.pid: f"{_describe(seen)} of {names}" for seen in strangers}
        process.orphans = (*left[process], *away.values())


def kill_running_engines() -> None:
    """Kill every engine that this process started and has not ended."""
    _kill_all(tuple(running_engines))


def _describe(seen: strays.ProcessInfo) -> str:
    still = strays.process_info(seen.pid)
    alive = still is not None and still.started == seen.started and still.state != "Z"
    return f"{escape_bytes(seen.name.encode())} ({seen.pid}){' could not be killed' if alive else ''}"


_UNKNOWN = "ended; the exit status is unknown"
READ_SIZE = 64 * 1024  # maximum number of bytes in one read (runner spec 2)


class EngineProcess:
    """One running engine. All descriptors are non-blocking; only its start (about 10 ms) and its end wait.

    The end of the engine sets `orphans` (processes that it left behind) and `deaf` (whether it ignored `quit`).

    Args:
        spec: the engine to start.
        tag: text in the environment of the engine, by which its processes are recognized.
        launch: the start of the engine, if it has already begun.

    Raises:
        StartFailed: the program cannot be run.
        MachineFailure: this machine cannot start a process.
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
        self.engine_pid = inside[0] if inside else self.pid  # process id of the engine outside the namespace
        self._left = started.early
        self._cpu = CpuTime(self.pid, self.engine_pid)
        self._over = ""  # text about the memory limit for which the engine was killed
        self.watch_ns = self.started_ns if spec.resources.memory is not None else NEVER_NS
        self.eof = False
        self.exited = False  # whether the process has ended; a child may keep its pipes open
        self.closed = False
        self.orphans: tuple[str, ...] = ()
        self.deaf = False
        self._stderr_open = True
        # whether stderr has output; it is read after stdout, so that it does not delay time stamps (runner spec 2)
        self.stderr_due = False
        self.out = Outbox(self.stdin_fd)
        self.turns = 0  # number of times that one of its descriptors reached its end
        self.polled: _Polled | None = None  # the last poll of `wait`
        self._traffic = Traffic(self.started_ns)
        self.note = self._traffic.extend
        self._stderr = ByteRing(STDERR_CAP)
        self._status = ""
        running_engines.add(self)

    @property
    def broken(self) -> bool:
        """Return whether the engine has closed its input or left more than 64 KiB unread."""
        return self.out.broken

    def write(self, data: bytes) -> int:
        """Write once, and keep the data that the pipe does not take. Return the time (CLOCK_MONOTONIC, ns) after it."""
        self.out.send(data)
        stamp = time.monotonic_ns()
        self._traffic.append(b">", stamp, data)
        return stamp

    def close_input(self) -> None:
        """Close the stdin of the engine; nothing more can be written."""
        self.out.gone()
        with suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]  # a pipe

    def read(self) -> tuple[bytes, int]:
        """Read stdout once. Return the data, or b"" if there are none, and the time after the read.

        The time is CLOCK_MONOTONIC in ns. At the end of the output, `eof` is set.
        """
        if self.eof:
            return b"", time.monotonic_ns()
        try:
            data = self._read(READ_SIZE)  # None if there is no output, which is faster than an exception
        except OSError:
            data = b""
        stamp = time.monotonic_ns()
        if data:
            self._traffic.append(b"<", stamp, data)
        elif (
            data is not None or self.exited
        ):  # a child may keep the pipe open, but its output is not output of the engine
            self.eof = True
            self.turns += 1
        return data or b"", stamp

    def drain_stderr(self) -> None:
        """Read at most 64 KiB of stderr into the ring buffer."""
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
        """Return the last lines of the engine log, escaped and cut, as in ``12.345678 < bestmove e2e4``."""
        return self._traffic.lines(last)

    def traffic_since(self, ns: int) -> list[tuple[int, str, bytes]]:
        """Return time, direction and text of the lines of the engine log since `ns` (CLOCK_MONOTONIC)."""
        return self._traffic.whole(ns)

    def stderr(self, last: int = 20) -> tuple[str, ...]:
        """Return the last lines of stderr, escaped and cut."""
        if not self.closed:
            self.drain_stderr()
        return last_lines(bytes(self._stderr), last)

    @property
    def is_dead(self) -> bool:
        """Return whether the engine itself has ended. Its exit status may not be known yet."""
        seen = None if self.exited else strays.process_info(self.engine_pid)
        return seen is None or seen.state in "ZX"

    def exit_status(self) -> str:
        """Return a text such as ``exit 1`` or ``signal 11 (SIGSEGV)``, or "" while the engine runs."""
        if not self._status and not self.closed:
            # WNOWAIT: as long as the process is not reaped, no other process group can get its number
            try:
                seen = os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # the kernel has reaped it, because an embedding program ignores SIGCHLD
                self._status = _UNKNOWN
                return self._status
            if seen is not None:
                code = seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status
                if self.spec.sandbox == "bwrap" and code > SHELL_SIGNAL:
                    code = SHELL_SIGNAL - code
                self._status = self._over or describe_status(code)
        return self._status

    def end(self) -> None:
        """End the engine with `quit`, SIGTERM and SIGKILL, in at most 2.5 s."""
        end_all((self,))

    def kill(self) -> None:
        """Kill the engine and all its processes now, reap them, and remove the scratch directory."""
        _kill_all((self,))

    def signal(self, number: int) -> None:
        """Send a signal to the process group of the engine, unless it has been reaped.

        After that, the number of the group may belong to other processes. In a namespace, this is the group of the
        launcher, which passes SIGTERM on. If the launcher is killed, the whole namespace ends.
        """
        if not self.closed and self.exit_status() != _UNKNOWN:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def watch(self) -> None:
        """Check the memory of the engine if a check is due, and kill it if it exceeds its limit."""
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
        """Return the process ids of the engine and all its descendants, without the launcher."""
        if self.init is None:
            return strays.process_tree(self.pid)
        return strays.process_tree(self.init)[1:]

    def register(self, poll: select.poll, where: dict[int, EngineProcess]) -> None:
        """Register every descriptor that can become ready in a poll."""
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
        if not self.broken:  # with 0, a poll still reports that the other end is closed
            poll.register(self.stdin_fd, select.POLLOUT if len(self.out) else 0)
            where[self.stdin_fd] = self

    def beside(self) -> tuple[tuple[int, int, str], ...]:
        """Return descriptor, events and kind of each descriptor that can become ready, except stdout.

        The kind is s for stderr and x for the end of the process or of its input.
        """
        found = ((self.pidfd, select.EPOLLIN, "x"), (self.stdin_fd, 0, "x"))
        return (*found, (self.stderr_fd, select.EPOLLIN, "s")) if self._stderr_open else found

    def woke(self, fd: int) -> bool:
        """Handle a descriptor that is ready. Return whether `read` has output or an end, or the input is `broken`."""
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
        """Return the processor time of the engine in ms since its start (see `CpuTime`), after its end the last value.

        Return None if it is not known.
        """
        return self._cpu.last_ms if self.closed else self._cpu.ms(whole=whole)

    def left(self) -> list[str]:
        """Return the processes that the engine left in its PID namespace, as the namespace's init reported them.

        Each is ``NAME (PID)``, with the process id in the namespace.
        """
        if self._report is not None and not self.closed:
            with suppress(OSError):
                self._left += os.read(self._report, READ_SIZE)
        records = [record[1:] for record in launcher_records(self._left) if record[0] == STRAY][: strays.MOST_PROCESSES]
        return [f"{escape_bytes(bytes.fromhex(name.decode()))} ({number.decode()})" for number, name in records]

    def forget(self) -> None:
        """Reap the process, close the pipes and remove the scratch directory. Called after the process has ended."""
        self.exit_status()
        while self._stderr_open and len(self._stderr) < STDERR_CAP:
            before = len(self._stderr)
            self.drain_stderr()
            if len(self._stderr) == before:
                break
        self.closed = self.eof = self.exited = True
        self.turns += 1
        self.polled = None  # because its descriptors may soon belong to other files
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
    """Return ``exit 1`` or ``signal 11 (SIGSEGV)`` for a return code of subprocess."""
    if returncode >= 0:
        return f"exit {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"
    return f"signal {-returncode} ({name})"


# Only the main thread gets signals that end the program, as a signal to another thread does not wake it (signal(7)).

ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


def block_ending_signals() -> None:
    """Block ending signals in a thread other than the main thread. Call it first; child processes inherit the mask."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)


def unblock_signals() -> None:
    """Unblock all signals in the main thread of a process that inherited blocked signals, after it has set handlers."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


_TRUNCATE_ABI = 3  # first version of the Landlock interface that keeps engines from emptying files (Linux 6.2)


def describe_safeguards() -> str:
    """Return a line about the safeguards of this machine: PID namespace, cgroup and sandboxes.

    For example: ``engines run in: PID namespace, no cgroup (...); sandboxes: bwrap yes, landlock yes``.
    """
    why = _namespace_missing()
    own = f"no PID namespace ({why}; enginetour ends remaining processes itself)" if why else "PID namespace"
    wrapped = "yes" if shutil.which(BWRAP) else f"no (apt install {BWRAP_PACKAGE})"
    sandboxes = f"sandboxes: bwrap {wrapped}, landlock {_landlock()}"
    return f"engines run in: {own}, no cgroup (enginetour checks memory limits); {sandboxes}"


def _namespace_missing() -> str:
    """Start a process. Return why it does not get a PID namespace, or "" if it gets one."""
    try:
        EngineProcess(EngineSpec("trial", (sys.executable, "-I", "-S", "-c", ""), "uci", dir="scratch")).kill()
    except (MachineFailure, StartFailed) as failure:
        return str(failure)
    return starting.why_no_namespace()


def root_warning() -> str:
    """Return a warning if the user is root, or "" for other users."""
    if os.geteuid():
        return ""
    return (
        "enginetour and its engines run as root: without a sandbox, engines can do anything on this machine; in a "
        "sandbox, they have no capabilities, but they still own the system's files. Hint: use another user."
    )


def _landlock() -> str:
    if os.uname().machine not in launch.MACHINES:
        return f"no (enginetour does not have a filter of system calls for {os.uname().machine})"
    try:
        return "yes" if launch.abi() >= _TRUNCATE_ABI else "yes, but an engine can empty files (Linux before 6.2)"
    except OSError as error:
        return f"no ({explain_no_landlock(error.errno)})"
