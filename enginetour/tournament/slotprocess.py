"""The place's side of one slot process: how it is started, what goes in and out, how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import enginetour
from enginetour.engines import strays
from enginetour.engines.machine import CPUS, Cores, bind
from enginetour.engines.pipes import STDERR_CAP, ByteRing, Outbox, last_lines
from enginetour.engines.process import status_words
from enginetour.engines.sandbox import RESULTS, SCRATCH_ROOT, make_scratch, retag, wipe
from enginetour.model.errors import InternalFailure, MachineFailure, TourError
from enginetour.referee.quickgames import TOGETHER
from enginetour.referee.talk import VERSION, Environment, Frames, Stop, frame

READ_SIZE = 64 * 1024  # bytes, what a pipe holds: pipe(7)
SLOT = (sys.executable, "-P", "-m", "enginetour.referee.slot")  # -P: nothing is ever imported from the current folder
TERM_AFTER = 1.2  # s from "stop now"; the slot kills its engines and goes by itself well before
KILL_AFTER = 2.0  # s; so that everything is dead within 3 s (reliability spec 3)
KILL_WAIT = 1.0  # s; only a process stuck in the kernel needs any
OF_BUGS = frozenset(
    (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT)
)  # none is sent by a host
LENGTHS = {"hello": 2, "event": 3, "result": 2, "failed": 2, "internal": 2}  # of the messages of a slot
LEAVE_AFTER = 6.0  # s for an idle slot to end its engines politely: 2.5 s each way (reliability spec 4.4), twice


@dataclass(slots=True)
class Work:
    """A task on its way: its frame, the slot it would like, and whom to tell."""

    message: bytes
    prefer: int | None
    engines: int = 1  # that may have to be started for it
    future: Future[Any] = field(default_factory=Future)

    def settle(self, kind: str, value: Any) -> None:
        """What its slot said of it."""
        if kind == "result":
            self.future.set_result(value)
        else:
            self.fail(str(value), ours=kind == "internal")

    def fail(self, why: str, *, ours: bool = False) -> None:
        """The host failed it, or `ours`: enginetour itself."""
        self.future.set_exception(InternalFailure(why) if ours else MachineFailure(why))


class SlotProcess:
    """One slot process as its place sees it. Raises MachineFailure if it cannot be started.

    `hidden`: what sandboxes hide beside what they always hide.
    `engines`: the only processors on which its engines may run, all if empty; `together`: they may be bound to one.
    To be made in a thread that outlives it: its parent-death signal is bound to that thread.
    """

    def __init__(
        self,
        index: int,
        tag: str,
        command: Sequence[str],
        engines: Sequence[int] = (),
        *,
        together: bool = False,
        hidden: Path | None = None,
    ) -> None:
        self.index = index
        self.tag = tag
        self._tags = {tag}  # all that its engines had
        self.work: Work | None = None
        self.starting = 0  # engines that may be starting in it now
        self.leaving = False
        self.unasked = False  # it ended its output while nobody had told it to go
        self.broken = False  # its output holds what it cannot have said
        self.deadlines: list[tuple[float, int]] = []  # (CLOCK_MONOTONIC s, signal) still to come
        self.scratch = make_scratch(tag)
        try:
            self.process = subprocess.Popen(
                list(command),
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(self.scratch)
                | {CPUS: ",".join(map(str, engines))}
                | _variables(tag, together=together, hidden=hidden),
                start_new_session=True,
            )
        except OSError as error:
            wipe(self.scratch)
            raise MachineFailure(f"slot {index} cannot be started: {error.strerror}") from error
        try:
            self.pidfd = os.pidfd_open(self.process.pid)
        except OSError as error:  # it took the last descriptor
            self._undo()
            raise MachineFailure(f"slot {index} cannot be watched: {error.strerror}") from error
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.stdin = self.process.stdin.fileno()
        self.stdout = self.process.stdout.fileno()
        self.stderr = self.process.stderr.fileno()
        for end in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(end, False)
        self.out = Outbox(self.stdin, cap=None)
        self._held: list[bytes] | None = []  # what waits until it has said its version
        self._frames = Frames()
        self._complaints = ByteRing(STDERR_CAP)

    def _undo(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        wipe(self.scratch)

    def settle(self, cores: Cores | None, slots: int) -> None:
        """Its own process and ours off the cores of the engines of so many slots."""
        if cores is not None:
            cores.keep_off(slots)
            bind(self.process.pid, cores.others(self.index, slots))

    def reassign(self, tag: str, *, together: bool, hidden: Path | None) -> None:
        """Its next tasks are those of another tag; engines start with these settings. Only while it is idle."""
        self.tag = tag
        self._tags.add(tag)
        retag(self.scratch, tag)
        self._send(frame(Environment(_variables(tag, together=together, hidden=hidden))))

    @property
    def idle(self) -> bool:
        """Ready for a task."""
        return self.work is None and not self.leaving

    def give(self, work: Work) -> None:
        """Hand it a task; one at a time."""
        self.work, self.starting = work, work.engines
        self._send(work.message)

    def greet(self, version: str) -> None:
        """It is there. One of another version is told nothing but to go, and its task is our own failure."""
        held, self._held = self._held or [], None
        if version == VERSION:
            for message in held:
                self.out.send(message)
            return
        work, self.work = self.work, None
        self.leave(now=True)
        if work is not None:
            what = f"enginetour was updated while this run goes on: {VERSION} then, {version} now"
            work.future.set_exception(TourError(what, step="start it again by the same command"))

    def _send(self, message: bytes) -> None:
        if self._held is None:
            self.out.send(message)
        else:
            self._held.append(message)

    def leave(self, *, now: bool) -> None:
        """Tell it to go: after its game, or now, with signals to follow if it does not listen."""
        if not self.leaving or now:
            self._held = None if now else self._held
            self._send(frame(Stop(now)))
        self.leaving = True
        begun = time.monotonic()
        if now:
            self.deadlines = [(begun + TERM_AFTER, signal.SIGTERM), (begun + KILL_AFTER, signal.SIGKILL)]
        elif self.work is None:
            self.deadlines = [(begun + LEAVE_AFTER, signal.SIGKILL)]

    def insist(self) -> float | None:
        """Send what is due; the time of the next signal."""
        while self.deadlines and self.deadlines[0][0] <= time.monotonic():
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, self.deadlines.pop(0)[1])
        return self.deadlines[0][0] if self.deadlines else None

    def hear(self) -> tuple[list[Any], bool]:
        """Whole messages of one read that a slot may send, and whether more may come. A broken stream ends it."""
        try:
            chunk = os.read(self.stdout, READ_SIZE)
        except BlockingIOError:
            return [], True
        messages = self._frames.feed(chunk)
        known = [message for message in messages if _is_message(message)]
        self.broken = self._frames.broken or len(known) < len(messages)
        return known, bool(chunk) and not self.broken

    def hear_complaints(self) -> bool:
        """One read of stderr; whether more may come."""
        try:
            chunk = os.read(self.stderr, READ_SIZE)
        except BlockingIOError:
            return True
        self._complaints.append(chunk)
        return bool(chunk)

    def bury(self) -> tuple[str, bool]:
        """Reap it, end what it left behind, close everything; how it ended, and whether by our own failure."""
        strays.ended_by([self.pidfd], time.monotonic_ns() + int(KILL_WAIT * 1e9))
        returncode = self.process.poll()
        strays.end_tagged(self._tags)
        self.hear_complaints()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]  # all three are pipes
        os.close(self.pidfd)
        wipe(self.scratch)
        how = "it cannot be killed" if returncode is None else status_words(returncode)
        if self.broken:
            how = f"somebody else wrote into its pipe; {how}"
        said = " | ".join(last_lines(bytes(self._complaints), 3))
        ours = (
            (self.unasked or not self.leaving)
            and returncode is not None
            and (returncode >= 0 or -returncode in OF_BUGS)
        )
        return f"slot {self.index} ended ({how})" + (f": {said}" if said else ""), ours or self.broken


def _is_message(message: Any) -> bool:
    """One of those of `enginetour.referee.talk`, as far as its place looks at it."""
    return isinstance(message, tuple) and len(message) == LENGTHS.get(message[0] if message else "")


def _variables(tag: str, *, together: bool, hidden: Path | None) -> dict[str, str]:
    return {strays.TAG: tag, TOGETHER: "1" * together, RESULTS: "" if hidden is None else str(hidden)}


def _environment(scratch: Path) -> dict[str, str]:
    """Our own, so that it imports what we import; the package's folder only where an interpreter would not look."""
    ours = dict(os.environ)
    root = Path(enginetour.__file__).resolve().parents[1]
    if root.name not in ("site-packages", "dist-packages"):
        ours["PYTHONPATH"] = os.pathsep.join(filter(None, (str(root), ours.get("PYTHONPATH"))))
    return ours | {SCRATCH_ROOT: str(scratch)}
