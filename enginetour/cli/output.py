"""Console output that never delays a game, and the signals (Ctrl-C) of a run.

A stopped terminal (Ctrl-S), `| less` and a full pipe block a program that writes to them, possibly forever. Therefore
separate threads write to terminals and pipes. A plain file does not block, so the program writes to it directly.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import signal
import stat
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

import click

from enginetour.engines.process import block_ending_signals
from enginetour.model.game import Game, Note
from enginetour.reports.sheet import safe_text
from enginetour.tournament.scheduler import RunEnd, Scheduler, Screen, Watcher

if TYPE_CHECKING:
    from typing_extensions import Buffer


# Exit codes of a run, by its end; a run that was stopped has another one.
END_CODES = {RunEnd.FINISHED: 0, RunEnd.FAILED: 1, RunEnd.BLOCKED: 4, RunEnd.BUSY: 4}
INCIDENTS_CODE, STOPPED_CODE = 6, 8

# Output errors (closed pipe, full disk) never stop a tournament (reliability spec 3).

GONE = (errno.EPIPE, errno.EIO)  # the reader has ended, or the terminal is closed; later writes fail, too


class Console(Screen):
    """A watcher that passes everything to a screen. Errors of the output are reported once and never raised."""

    def __init__(self) -> None:
        self.screen = Watcher()
        self._lost_output = False

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Pass a finished game to the screen."""
        self.try_to(lambda: self.screen.game(number, game, notes))

    def event(self, slot: int, name: str, payload: Any) -> None:
        """Pass an event to the screen if it shows games in progress. Called in the thread of the slots."""
        show = getattr(self.screen, "event", None)
        if show is not None:
            self.try_to(lambda: show(slot, name, payload))

    def trouble(self, text: str) -> None:
        """Pass a message to the screen."""
        self.try_to(lambda: self.screen.trouble(text))

    def shows_moves(self) -> bool:
        """Return whether the screen shows the moves of games."""
        return self.screen.shows_moves()

    def progress(self, scheduler: Scheduler) -> None:
        """Pass the progress to the screen."""
        self.try_to(lambda: self.screen.progress(scheduler))

    def echo(self, text: str) -> None:
        """Print a line on stderr."""
        self.try_to(lambda: click.echo(safe_text(text), err=True))

    def try_to(self, output: Callable[[], None]) -> None:
        """Call `output`. The first error of writing is reported on stderr; later errors are ignored."""
        try:
            output()
        except (OSError, UnicodeError) as error:
            _close_lost_streams()
            if not self._lost_output:
                self._lost_output = True
                text = f"the output cannot be written ({error}); the tournament continues"
                with contextlib.suppress(OSError, UnicodeError):
                    click.echo(text, err=True)


def _close_lost_streams(errors: Sequence[int] = GONE) -> None:
    """Redirect to /dev/null each stream that fails with one of these errors, so that Python's exit does not fail."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            if error.errno in errors:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, stream.fileno())
                os.close(null)


# Threads write the output, so that a slow reader never delays games.

KEPT_BYTES = 1 << 20  # maximum number of bytes that wait for the reader (about 10,000 games); later lines are dropped
PIECE = 4096  # maximum number of bytes in one write: PIPE_BUF, pipe(7)
LAST_WORDS_S = 10.0  # seconds to wait at the end of the run for a reader that does not read
_HURRY_S = 0.3  # the same wait after SIGTERM, which must end the run within 5 s (reliability spec 3)
LOOK_S = 0.1  # seconds between two checks for a signal


class NonBlockingStream(io.RawIOBase):
    """A stream with a thread that writes to a descriptor. `write` returns at once and raises earlier errors."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._lost = 0  # lines that were dropped
        self._taken = 0  # writes that succeeded
        self._trouble: OSError | None = None
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._pour, name="outlet", daemon=True)
        self._thread.start()

    @property
    def name(self) -> int:
        """Return the descriptor, like the `name` of a file that was opened with a descriptor."""
        return self._number

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._number

    def isatty(self) -> bool:
        """Return whether the descriptor is a terminal."""
        return os.isatty(self._number)

    def writable(self) -> bool:
        """Return True, because this stream is only for output."""
        return True

    def write(self, data: Buffer, /) -> int:
        """Keep the data for the thread, or drop it if too much data waits. Raise the error of an earlier write once."""
        chunk = bytes(data)
        size = len(chunk)
        with self._change:
            if self._trouble is not None:
                trouble, self._trouble = self._trouble, None
                raise trouble
            if self._bytes + len(chunk) > KEPT_BYTES:
                self._lost += chunk.count(b"\n")
                return size
            if self._lost:
                chunk = b"... %d lines left out, because the output was not read\n" % self._lost + chunk
                self._lost = 0
            self._waiting.append(chunk)
            self._bytes += len(chunk)
            self._change.notify_all()
        return size

    def waits(self) -> bool:
        """Return whether data waits for the reader."""
        with self._change:
            return self._bytes > 0

    def drain(self, hurried: Callable[[], bool]) -> None:
        """Wait until all data is written, or until the reader has not read for 10 s (0.3 s if `hurried()` is true)."""
        with self._change:
            taken, since = self._taken, time.monotonic()
            while self._bytes:
                self._change.wait(LOOK_S)
                if self._taken != taken:
                    taken, since = self._taken, time.monotonic()
                if time.monotonic() - since > (_HURRY_S if hurried() else LAST_WORDS_S):
                    return

    def _pour(self) -> None:
        block_ending_signals()
        while True:
            with self._change:
                while not self._waiting:
                    self._change.wait()
                chunk = self._waiting.popleft()
            try:
                for begin in range(0, len(chunk), PIECE):
                    self._put(chunk[begin : begin + PIECE])
            except OSError as error:
                with self._change:
                    self._trouble = error
            with self._change:
                self._bytes -= len(chunk)
                self._change.notify_all()

    def _put(self, piece: bytes) -> None:
        while piece:
            piece = piece[os.write(self._number, piece) :]
            with self._change:
                self._taken += 1


@contextmanager
def nonblocking_output(hurried: Callable[[], bool]) -> Iterator[None]:
    """Make stdout and stderr non-blocking. At the end, wait for their readers, but only briefly if `hurried()` is true.

    If both are the same terminal or pipe, one thread writes the output of both, so that the lines stay in order.
    """
    before = (sys.stdout, sys.stderr)
    outlets: dict[tuple[int, int], NonBlockingStream] = {}
    sys.stdout, sys.stderr = (_by_thread(stream, outlets) for stream in before)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, AttributeError):  # AttributeError: the stream was closed when the program started
                stream.flush()
        sys.stdout, sys.stderr = before
        for outlet in outlets.values():
            outlet.drain(hurried)


@contextmanager
def attended(signals: SignalState) -> Iterator[None]:
    """Note signals and make the output non-blocking.

    At the end, output that cannot be written is discarded, so that a full disk does not change the exit code.
    """
    with signals.noting(), nonblocking_output(lambda: bool(signals)):
        try:
            yield
        finally:
            _close_lost_streams((*GONE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


def _by_thread(stream: TextIO, outlets: dict[tuple[int, int], NonBlockingStream]) -> TextIO:
    try:
        number = stream.fileno()
        found = os.fstat(number)
    except (OSError, AttributeError):  # AttributeError: the stream was closed when the program started
        return stream
    if not (stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode) or os.isatty(number)):
        return stream
    key = (found.st_dev, found.st_ino)
    if key not in outlets:
        outlets[key] = NonBlockingStream(number)
    return io.TextIOWrapper(outlets[key], stream.encoding, stream.errors, write_through=True)


# Signals of one run, and a time limit for stopping, which applies even if a disk hangs or a step takes long.

# Signals that stop the games in progress at once; after SIGINT, they may finish.
_HARD = (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))  # Windows has no SIGHUP
_BEFORE_S = 0.7  # seconds from a signal to the end of a run before its first game; the documented limit is 1 s
_PLAYING_S = 4.5  # seconds from a hard signal to the end of a run; the documented limit is 5 s (reliability spec 3)
EARLY = "stopped before the first game"
_MANY = 4096  # maximum number of bytes in one read; each signal is one byte
_ENOUGH = 0  # byte that is not the number of a signal; it ends the listening thread


class SignalState:
    """The signals that this process received within `noting`. As a bool, it is false if there were none.

    One thread receives all signals; they are blocked in the other threads, because a thread that waits for a hanging
    disk does not receive signals. Signals are counted by the bytes of the wake-up descriptor, because Python's handlers
    merge equal signals that arrive together.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        # Called after each signal to wake the scheduler's loop; set when the loop starts.
        self.act: Callable[[], None] | None = None
        self.last_line = ""  # printed on stderr if the run does not stop in time
        self._until: float | None = None  # time (CLOCK_MONOTONIC, s) at which this process ends in any case
        self._is_noting = False

    def __bool__(self) -> bool:
        return bool(self.numbers)

    @property
    def code(self) -> int:
        """Return the exit code that shells use for the last signal: 128 + its number."""
        return 128 + self.numbers[-1]

    @property
    def name(self) -> str:
        """Return the name of the last signal, such as SIGINT."""
        return signal.Signals(self.numbers[-1]).name

    def is_hard(self) -> bool:
        """Return whether games in progress must stop at once, because of SIGTERM, SIGHUP or a second signal."""
        return len(self.numbers) > 1 or any(number in _HARD for number in self.numbers)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Receive signals, except those that the parent process ignored (nohup, a shell's ``&``). Can be nested."""
        if self._is_noting:
            yield
            return
        bell, ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        before: dict[int, Any] = {}
        for number in (signal.SIGINT, *_HARD):
            if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGTERM:
                before[number] = signal.getsignal(number)
        earlier = signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, before)
        for noted in before:
            signal.signal(noted, lambda *_: None)  # nothing to do, because the byte in the pipe is read instead
        listener = threading.Thread(target=self._listen, args=(bell, frozenset(before)), name="signals", daemon=True)
        listener.start()
        self._is_noting = True
        try:
            yield
        finally:
            self._is_noting = False
            os.write(ring, bytes((_ENOUGH,)))
            listener.join()
            for noted, action in before.items():
                signal.signal(noted, action)
            signal.set_wakeup_fd(earlier)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(bell)
            os.close(ring)

    def _listen(self, bell: int, noted: frozenset[int]) -> None:
        """Receive signals in this thread, and read them from the pipe."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, noted)
        poll = select.poll()
        poll.register(bell, select.POLLIN)
        while True:
            left = None if self._until is None else max(0.0, self._until - time.monotonic()) * 1000
            if not poll.poll(left):
                self._give_up()
            with suppress(BlockingIOError):
                received = os.read(bell, _MANY)
                self.numbers += (number for number in received if number in noted)
                if _ENOUGH in received:
                    signal.pthread_sigmask(signal.SIG_BLOCK, noted)
                    return
            if self.numbers:
                self._act()

    def _act(self) -> None:
        if self._until is None and (self.act is None or self.is_hard()):
            self._until = time.monotonic() + (_BEFORE_S if self.act is None else _PLAYING_S)
        if self.act is not None:
            self.act()

    def _give_up(self) -> None:
        """Print the last line if possible, and end the process at once, as SIGKILL does.

        The games that were reported are stored. Slots and engines end with the process.
        """
        line = f"enginetour: {self.last_line}\n".encode() if self.last_line else b""
        poll = select.poll()
        poll.register(2, select.POLLOUT)
        if line and poll.poll(0):
            os.write(2, line)
        os._exit(self.code)
