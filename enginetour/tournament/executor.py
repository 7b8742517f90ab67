"""Local executor: slot processes on this machine that play the games."""

from __future__ import annotations

import itertools
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import enginetour
from enginetour.engines import strays
from enginetour.engines.machine import CPUS, FILES, Cores, most_files, set_affinity
from enginetour.engines.pipes import STDERR_CAP, ByteRing, Doorbell, Outbox, last_lines
from enginetour.engines.process import block_ending_signals, describe_status
from enginetour.engines.sandbox import (
    HIDDEN_RESULTS,
    SCRATCH_ROOT,
    make_scratch,
    remove_leftover_scratch,
    remove_scratch,
    retag,
)
from enginetour.model.errors import InternalFailure, MachineFailure, TourError
from enginetour.model.game import Game
from enginetour.model.task import GameTask, ProbeResult, ProbeTask, ReenactResult, ReenactTask
from enginetour.referee.link import VERSION, Environment, Frames, Stop, frame
from enginetour.referee.quickgames import SHARE_PROCESSOR

if TYPE_CHECKING:
    from enginetour.referee.compliance.exam import Compliance, ComplianceTask


READ_SIZE = 64 * 1024  # bytes; the capacity of a pipe, pipe(7)
SLOT = (sys.executable, "-P", "-m", "enginetour.referee.slot")  # -P: do not import from the current directory
START_PARALLEL = 4  # engines (runner spec 14)
STOP_LIMIT = 3.0  # s for "stop now" (reliability spec 3)
_TERM_AFTER = 1.2  # s after "stop now"; normally the slot has ended its engines and itself by then
_KILL_AFTER = 2.0  # s; everything must be dead within 3 s (reliability spec 3)
KILL_WAIT = 1.0  # s; only a process that hangs in the kernel takes longer
# Signals that internal errors cause; a host does not send them.
_OF_BUGS = frozenset((signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT))
_LENGTHS = {"hello": 2, "event": 3, "result": 2, "failed": 2, "internal": 2}  # of a slot's messages, by kind
_LEAVE_AFTER = 6.0  # s for an idle slot to end two engines normally: 2.5 s each (reliability spec 4.4), and 1 s more

Listener = Callable[[int, str, object], None]


@dataclass(frozen=True, slots=True)
class SlotSettings:
    """How slots are started and what their engines may use.

    Attributes:
        tag: Mark of every process of slots and engines. `end_leftovers` finds them by it after a crash.
        cores: Separate processor cores for the engines of each slot. Slots use other cores if there are enough.
        together: Whether a slot may share a processor with the engines of a quick game.
        start_parallel: Largest number of engines that start at the same time. The two engines of a game always may.
        hidden: A directory that sandboxes hide in addition to the usual ones.
    """

    tag: str = field(default_factory=lambda: f"place-{os.urandom(8).hex()}")
    cores: Cores | None = None
    together: bool = False
    start_parallel: int = START_PARALLEL
    hidden: Path | None = None

    def environment(self, tag: str) -> dict[str, str]:
        """Return the variables of a slot process with its own tag."""
        hidden = "" if self.hidden is None else str(self.hidden)
        return {strays.TAG: tag, SHARE_PROCESSOR: "1" * self.together, HIDDEN_RESULTS: hidden}


@dataclass(slots=True)
class SlotTask:
    """A task in the queue or in a slot: its message, its preferred slot, and its future."""

    message: bytes
    prefer: int | None
    engines: int = 1  # number of engines that it may have to start
    future: Future[Any] = field(default_factory=Future)

    def fail(self, why: str, *, internal: bool = False) -> None:
        """End the task with a failure of the machine, or with an `internal` error."""
        self.future.set_exception(InternalFailure(why) if internal else MachineFailure(why))


class SlotProcess:
    """A slot process. Raises MachineFailure if it cannot be started.

    Create it in a thread that outlives it, because its parent-death signal belongs to that thread.
    """

    def __init__(self, index: int, tag: str, command: Sequence[str], settings: SlotSettings) -> None:
        self.index = index
        self.tag = tag
        self._tags = {tag}  # all tags that its engines have had
        self.work: SlotTask | None = None
        self.starting = 0  # number of engines that may be starting in it
        self.leaving = False
        self.left_unasked = False  # it closed its output, although it was not asked to end
        self.broken = False  # its output contains data that a slot never sends
        self.signals: list[tuple[float, int]] = []  # (CLOCK_MONOTONIC s, signal) to send
        self.scratch = make_scratch(tag)
        engines = settings.cores.engines(index) if settings.cores else ()
        environment = _environment(self.scratch) | {CPUS: ",".join(map(str, engines))} | settings.environment(tag)
        pipe = subprocess.PIPE
        try:
            self.process = subprocess.Popen(
                command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True
            )
        except OSError as error:
            remove_scratch(self.scratch)
            raise MachineFailure(f"slot {index} cannot be started: {error.strerror}") from error
        try:
            self.pidfd = os.pidfd_open(self.process.pid)
        except OSError as error:  # the process took the last descriptor
            self.process.kill()
            self.process.wait()
            self._close()
            raise MachineFailure(f"slot {index} cannot be watched: {error.strerror}") from error
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.stdin = self.process.stdin.fileno()
        self.stdout = self.process.stdout.fileno()
        self.stderr = self.process.stderr.fileno()
        for end in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(end, False)
        self.out = Outbox(self.stdin, cap=None)
        self._held: list[bytes] | None = []  # messages that wait for the slot's version
        self._frames = Frames()
        self._errors = ByteRing(STDERR_CAP)

    def _close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]  # all three are pipes
        remove_scratch(self.scratch)

    def pin(self, cores: Cores | None, slots: int) -> None:
        """Bind the slot process and this process to cores that the engines of this number of slots do not use."""
        if cores is not None:
            cores.keep_off(slots)
            set_affinity(self.process.pid, cores.others(self.index, slots))

    def reassign(self, tag: str, settings: SlotSettings) -> None:
        """Use another tag and other settings for the next tasks. The slot must be idle."""
        self.tag = tag
        self._tags.add(tag)
        retag(self.scratch, tag)
        self._send(frame(Environment(settings.environment(tag))))

    @property
    def idle(self) -> bool:
        """Return whether it can take a task."""
        return self.work is None and not self.leaving

    def start(self, work: SlotTask) -> None:
        """Send a task. The slot must be idle."""
        self.work, self.starting = work, work.engines
        self._send(work.message)

    def accept(self, version: str) -> bool:
        """Check the version that the slot sent. The task of a slot of another version fails, and the slot must end."""
        held, self._held = self._held or [], None
        if version == VERSION:
            for message in held:
                self.out.send(message)
            return True
        work, self.work = self.work, None
        if work is not None:
            what = f"enginetour was updated during this run: from {VERSION} to {version}"
            work.future.set_exception(TourError(what, step="start the run again with the same command"))
        return False

    def _send(self, message: bytes) -> None:
        if self._held is None:
            self.out.send(message)
        else:
            self._held.append(message)

    def leave(self, *, now: bool) -> None:
        """Ask the slot to end after its game or, if `now` is true, at once. A slot that does not end gets signals."""
        if not self.leaving or now:
            self._held = None if now else self._held
            self._send(frame(Stop(now)))
        self.leaving = True
        begun = time.monotonic()
        if now:
            self.signals = [(begun + _TERM_AFTER, signal.SIGTERM), (begun + _KILL_AFTER, signal.SIGKILL)]
        elif self.work is None:
            self.signals = [(begun + _LEAVE_AFTER, signal.SIGKILL)]

    def send_signals(self) -> float | None:
        """Send the signals that are due. Return the time of the next one, or None if there is none."""
        while self.signals and self.signals[0][0] <= time.monotonic():
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, self.signals.pop(0)[1])
        return self.signals[0][0] if self.signals else None

    def read(self) -> tuple[list[Any], bool]:
        """Read once. Return the complete messages, and whether more may come. Invalid data ends the stream."""
        try:
            chunk = os.read(self.stdout, READ_SIZE)
        except BlockingIOError:
            return [], True
        messages = self._frames.feed(chunk)
        known = [one for one in messages if isinstance(one, tuple) and len(one) == _LENGTHS.get(one[0] if one else "")]
        self.broken = self._frames.broken or len(known) < len(messages)
        return known, bool(chunk) and not self.broken

    def read_errors(self) -> bool:
        """Read stderr once; return whether more may come."""
        try:
            chunk = os.read(self.stderr, READ_SIZE)
        except BlockingIOError:
            return True
        self._errors.append(chunk)
        return bool(chunk)

    def reap(self) -> tuple[str, bool]:
        """End the slot's remaining processes and close everything.

        Return how it ended, and whether by an internal error.
        """
        strays.wait_for_exit([self.pidfd], time.monotonic_ns() + int(KILL_WAIT * 1e9))
        returncode = self.process.poll()
        strays.kill_tagged(self._tags)
        self.read_errors()
        self._close()
        os.close(self.pidfd)
        how = "cannot be killed" if returncode is None else describe_status(returncode)
        if self.broken:
            how = f"another process wrote into its pipe; {how}"
        last = " | ".join(last_lines(bytes(self._errors), 3))
        unasked = self.left_unasked or not self.leaving
        internal = unasked and returncode is not None and (returncode >= 0 or -returncode in _OF_BUGS)
        return f"slot {self.index} ended ({how})" + (f": {last}" if last else ""), internal or self.broken


def _environment(scratch: Path) -> dict[str, str]:
    """Return the environment of this process, with PYTHONPATH if an interpreter would not find the package."""
    ours = dict(os.environ)
    root = Path(enginetour.__file__).resolve().parents[1]
    if root.name not in ("site-packages", "dist-packages"):
        ours["PYTHONPATH"] = os.pathsep.join(filter(None, (str(root), ours.get("PYTHONPATH"))))
    return ours | {SCRATCH_ROOT: str(scratch)}


def report_wait(slot: int, name: str, payload: object) -> None:
    """Print events before the first game: a line on stderr if an engine starts slowly."""
    del slot
    if name == "waits" and isinstance(payload, Mapping):
        with suppress(OSError, ValueError):  # stderr is closed
            sys.stderr.write(f"{payload['text']}\n")
            sys.stderr.flush()


class LocalExecutor:
    """Slots on this machine. They start when they are first needed, and one thread manages all of them.

    `on_event(slot, name, payload)` is called in this thread. `command` is the command that starts a slot.
    """

    def __init__(
        self,
        slots: int,
        on_event: Listener | None = None,
        settings: SlotSettings | None = None,
        *,
        command: Sequence[str] = SLOT,
    ) -> None:
        self.settings = settings or SlotSettings()
        self._size = slots
        self._on_event = on_event
        self._command = command
        self._serial = itertools.count(1)
        self._slots: dict[int, SlotProcess] = {}
        self._leaving: set[SlotProcess] = set()  # slots that get signals if they do not end
        self._starting = 0  # number of engines that may be starting in all slots
        self._queue: deque[SlotTask] = deque()
        self._bell = Doorbell()  # the only object that other threads use
        self._closing = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._bell.fd, selectors.EVENT_READ, lambda _: self._bell.answer())
        self._awaited: list[threading.Event] = []  # set when no slot process is alive
        self._thread = threading.Thread(target=self._run, name="executor", daemon=True)
        self._thread.start()

    def submit(
        self, task: GameTask | ProbeTask | ReenactTask | ComplianceTask, prefer: int | None = None
    ) -> Future[Game | ProbeResult | ReenactResult | Compliance]:
        """Queue a task. `prefer` is the index of a slot, which is used if it is free.

        The future raises MachineFailure if the slot was killed or stopped, or could not get a resource; InternalFailure
        after an internal error; and TourError if the slot has another version of enginetour.

        Raise RuntimeError after `stop` or `close`.
        """
        work = SlotTask(frame(task), prefer, 2 if isinstance(task, GameTask) else 1)
        if not self._bell.ask(lambda: self._queue.append(work), work=True):
            raise RuntimeError(f"no new games: {self._bell.refusing}")
        return work.future

    def reassign(self, slots: int, on_event: Listener | None, settings: SlotSettings) -> None:
        """Change the settings of all further tasks. No task may be queued or running.

        Slots are kept, except if the settings contain cores: a slot is bound to its cores when it starts.
        """

        def act() -> None:
            self._size, self._on_event, self.settings = slots, on_event, settings
            for slot in self._slots.values():
                if slot.leaving:
                    continue
                if settings.cores is not None or slot.index >= slots:
                    self._leave(slot, now=False)
                else:
                    slot.reassign(self._next_tag(), settings)
                    self._watch_input(slot)

        self._bell.ask(act)

    def start(self) -> None:
        """Start the first slot now, instead of with the first task."""
        self._bell.ask(self._start_first)

    def abandon(self) -> None:
        """Fail queued and running tasks now; later tasks are accepted."""
        self._bell.ask(self._abandon)

    def resize(self, slots: int) -> None:
        """Change the number of slots; a surplus slot ends after its game."""
        self._bell.ask(lambda: self._resize(slots))

    def stop(self, *, now: bool) -> None:
        """Start no new games and fail queued games.

        If `now` is true, also fail games in progress, and return when all slots and engines have ended (3 s). Otherwise
        return at once; games in progress play to their end.
        """
        self._bell.refuse("the executor was stopped")
        dead = threading.Event()
        asked = self._bell.ask(lambda: self._stop(dead, now=now))
        if asked and now and threading.current_thread() is not self._thread:
            dead.wait(STOP_LIMIT)

    def close(self) -> None:
        """End all processes and the thread, and close all descriptors. A second call does nothing.

        Games in progress are dropped. An idle slot ends its engines normally, `quit` first (2.5 s at most).
        """
        self._bell.refuse("the executor was closed")
        self._bell.ask(self._close)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # All methods below run in the executor's thread.

    def _run(self) -> None:
        why = "the executor was closed"
        block_ending_signals()
        try:
            while not self._closing or self._slots:
                due = [next_one for slot in self._leaving if (next_one := slot.send_signals()) is not None]
                left = max(0.0, min(due) - time.monotonic()) if due else None
                for key, events in self._selector.select(left):
                    if key.fd in self._selector.get_map():  # an earlier event of this loop may have closed it
                        key.data(events)
                self._assign()
                if not self._slots:
                    self._all_dead()
        except BaseException as error:
            why = f"the executor failed: {error!r}"
            raise
        finally:
            self._clear(why)

    def _clear(self, why: str) -> None:
        self._bell.fall_silent(why)  # a task that was submitted at the last moment is in the queue now
        for slot in list(self._slots.values()):
            slot.process.kill()
            how, _ = slot.reap()
            if slot.work is not None:
                slot.work.fail(f"{how}; {why}")
        self._slots.clear()
        self._drop_queue(why)
        self._selector.close()
        self._bell.close()
        self._all_dead()

    def _all_dead(self) -> None:
        while self._awaited:
            self._awaited.pop().set()

    def _start_first(self) -> None:
        if not self._slots:
            with suppress(MachineFailure):  # the first task tries again, and its future raises the error
                self._start(0)

    def _resize(self, slots: int) -> None:
        self._size = slots
        for slot in self._slots.values():
            slot.pin(self.settings.cores, slots)
            if slot.index >= slots and not slot.leaving:
                self._leave(slot, now=False)

    def _stop(self, dead: threading.Event, *, now: bool) -> None:
        self._awaited.append(dead)
        self._drop_queue("the executor was stopped")
        for slot in self._slots.values():
            self._leave(slot, now=now)

    def _close(self) -> None:
        self._closing = True
        self._drop_queue("the executor was closed")
        for slot in self._slots.values():
            if slot.work is not None or not slot.leaving:
                self._leave(slot, now=slot.work is not None)

    def _abandon(self) -> None:
        self._drop_queue("the task was dropped")
        for slot in self._slots.values():
            if slot.work is not None:
                self._leave(slot, now=True)

    def _drop_queue(self, why: str) -> None:
        while self._queue:
            work = self._queue.popleft()
            if work.future.set_running_or_notify_cancel():
                work.fail(why)

    def _assign(self) -> None:
        while self._queue:
            index = self._free(self._queue[0].prefer)
            starting = self._starting
            if index is None or (starting and starting + self._queue[0].engines > self.settings.start_parallel):
                return
            work = self._queue.popleft()
            if not work.future.set_running_or_notify_cancel():
                continue
            try:
                slot = self._slots.get(index) or self._start(index)
            except MachineFailure as failure:
                work.future.set_exception(failure)
                continue
            slot.start(work)
            self._starting += slot.starting
            self._watch_input(slot)

    def _free(self, prefer: int | None) -> int | None:
        """Return the preferred slot if it is free, otherwise one whose process runs, or one without a process."""
        if prefer is not None and 0 <= prefer < self._size and self._is_free(prefer):
            return prefer
        free = [index for index in range(self._size) if self._is_free(index)]
        return min(free, key=lambda index: (index not in self._slots, index), default=None)

    def _is_free(self, index: int) -> bool:
        return index not in self._slots or self._slots[index].idle

    def _note_start(self, slot: SlotProcess) -> None:
        self._starting -= slot.starting
        slot.starting = 0

    def _start(self, index: int) -> SlotProcess:
        slot = SlotProcess(index, self._next_tag(), self._command, self.settings)
        slot.pin(self.settings.cores, self._size)
        self._slots[index] = slot
        self._selector.register(slot.stdout, selectors.EVENT_READ, lambda _: self._read(slot))
        self._selector.register(slot.stderr, selectors.EVENT_READ, lambda _: self._read_errors(slot))
        self._selector.register(slot.pidfd, selectors.EVENT_READ, lambda _: self._ended(slot))
        return slot

    def _next_tag(self) -> str:
        return f"{self.settings.tag}/{os.getpid()}-{next(self._serial)}"

    def _leave(self, slot: SlotProcess, *, now: bool) -> None:
        slot.leave(now=now)
        self._leaving.add(slot)
        self._watch_input(slot)

    def _watch_input(self, slot: SlotProcess) -> None:
        watched = slot.stdin in self._selector.get_map()
        if len(slot.out) and not watched:
            self._selector.register(slot.stdin, selectors.EVENT_WRITE, lambda _: self._push(slot))
        elif not len(slot.out) and watched:
            self._selector.unregister(slot.stdin)

    def _push(self, slot: SlotProcess) -> None:
        slot.out.push()
        self._watch_input(slot)

    def _read(self, slot: SlotProcess) -> None:
        messages, open_still = slot.read()
        for message in messages:
            self._handle(slot, *message)
        if not open_still:
            self._selector.unregister(slot.stdout)
            slot.left_unasked = not slot.leaving
            self._leave(slot, now=True)  # it sends nothing more, so it must end, by a signal if necessary

    def _handle(self, slot: SlotProcess, kind: str, *values: Any) -> None:
        if kind == "event":
            if values[0] == "start":
                self._note_start(slot)
            if self._on_event is not None:
                self._on_event(slot.index, *values)
            return
        if kind == "hello":
            if not slot.accept(*values):
                self._leave(slot, now=True)
            self._watch_input(slot)
            return
        self._note_start(slot)
        work, slot.work = slot.work, None
        if slot.leaving and not slot.signals:
            self._leave(slot, now=False)  # it only has to end its engines
        if work is not None and kind == "result":
            work.future.set_result(values[0])
        elif work is not None:
            work.fail(str(values[0]), internal=kind == "internal")

    def _read_errors(self, slot: SlotProcess) -> None:
        if not slot.read_errors():
            self._selector.unregister(slot.stderr)

    def _ended(self, slot: SlotProcess) -> None:
        while slot.stdout in self._selector.get_map():
            messages, open_still = slot.read()
            for message in messages:
                self._handle(slot, *message)
            if not messages or not open_still:
                self._selector.unregister(slot.stdout)
        for fd in (slot.stdin, slot.stderr, slot.pidfd):
            if fd in self._selector.get_map():
                self._selector.unregister(fd)
        self._note_start(slot)
        self._leaving.discard(slot)
        how, internal = slot.reap()
        del self._slots[slot.index]
        if slot.work is not None:
            slot.work.fail(how, internal=internal)


def probe_executor(hidden: Path | None = None, *, start: bool = False) -> LocalExecutor:
    """Return an executor that probes a few engines at a time. Sandboxes hide the directory `hidden`.

    The caller must close it. If `start` is true, the first slot starts now and loads while the caller continues, unless
    the limit of open files is too low for a run: the caller needs these files until it reports the limit.
    """
    executor = LocalExecutor(min(START_PARALLEL, os.cpu_count() or 1), report_wait, SlotSettings(hidden=hidden))
    if start and ((most := most_files()) is None or most >= FILES):
        executor.start()
    return executor


def end_leftovers(tag: str) -> tuple[str, ...]:
    """End slots and engines of an earlier run with this tag and remove its scratch files; return their names.

    The caller must hold the lock, which proves that the earlier run has ended.
    """
    ended = tuple(f"{seen.name} ({seen.pid})" for seen, _ in strays.kill_tagged((tag,)))
    remove_leftover_scratch(tag)
    return ended
