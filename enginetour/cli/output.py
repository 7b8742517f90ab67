"""Console output that never delays a game, and the signals (Ctrl-C) of a run.

A stopped terminal (Ctrl-S), `| less` and a full pipe block whoever writes to them, for ever if nobody comes back. A
plain file does not, and is written to directly.
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
from enginetour.tournament.scheduler import Scheduler, Watcher

if TYPE_CHECKING:
    from typing_extensions import Buffer


# Output errors (closed pipe, full disk) never harm the tournament (reliability spec 3).

GONE = (errno.EPIPE, errno.EIO)  # the reader has ended, the terminal is closed: neither comes back


class Console(Watcher):
    """Passes everything on to a screen for as long as that can be written to."""

    def __init__(self) -> None:
        self.screen = Watcher()
        self._lost_output = False

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Pass it on."""
        self.try_to(lambda: self.screen.game(number, game, notes))

    def event(self, slot: int, name: str, payload: Any) -> None:
        """Pass it on to a screen that tells of games under way; called from the thread of the slots."""
        tell = getattr(self.screen, "event", None)
        if tell is not None:
            self.try_to(lambda: tell(slot, name, payload))

    def trouble(self, text: str) -> None:
        """Pass it on."""
        self.try_to(lambda: self.screen.trouble(text))

    def progress(self, scheduler: Scheduler) -> None:
        """Pass it on."""
        self.try_to(lambda: self.screen.progress(scheduler))

    def echo(self, text: str) -> None:
        """A line on stderr."""
        self.try_to(lambda: click.echo(safe_text(text), err=True))

    def try_to(self, output: Callable[[], None]) -> None:
        """Print something that may be lost; the first loss is reported on stderr."""
        try:
            output()
        except (OSError, UnicodeError) as error:
            _give_up_the_gone()
            if not self._lost_output:
                self._lost_output = True
                words = f"the screen cannot be written to ({error}); the tournament goes on"
                with contextlib.suppress(OSError, UnicodeError):
                    click.echo(words, err=True)


def _give_up_the_gone(errors: Sequence[int] = GONE) -> None:
    """Send to nowhere what would go to a stream whose reader is gone, so that nothing fails at the very end either."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            if error.errno in errors:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)


def discard_output() -> None:
    """At the end of a run: unsaid words on a full disk must not become its exit code."""
    _give_up_the_gone((*GONE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


# Threads write the output: a slow reader never delays games.

KEPT_BYTES = 1 << 20  # unread words of a night: some 10 000 games; what comes after them is lost, and counted
PIECE = 4096  # bytes a write: PIPE_BUF, pipe(7)
LAST_WORDS_S = 10.0  # for a reader that takes nothing at the end
_HURRY_S = 0.3  # the same after SIGTERM, which has 5 s in all (reliability spec 3)
LOOK_S = 0.1  # between two looks at whether somebody is in a hurry


class NonBlockingStream(io.RawIOBase):
    """A descriptor that is written to by a thread; takes everything at once, and raises what its last write raised."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._lost = 0  # lines that found no room
        self._taken = 0  # writes that went out
        self._trouble: OSError | None = None
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._pour, name="outlet", daemon=True)
        self._thread.start()

    @property
    def name(self) -> int:
        """As a file opened by its descriptor has it."""
        return self._number

    def fileno(self) -> int:
        """The descriptor itself: for its size, and to ask whether it is a terminal."""
        return self._number

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return os.isatty(self._number)

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, words: Buffer, /) -> int:
        """Take the words, or lose them; OSError once when the reader was found gone."""
        chunk = bytes(words)
        size = len(chunk)
        with self._change:
            if self._trouble is not None:
                trouble, self._trouble = self._trouble, None
                raise trouble
            if self._bytes + len(chunk) > KEPT_BYTES:
                self._lost += chunk.count(b"\n")
                return size
            if self._lost:
                chunk = b"... %d lines nobody read are left out\n" % self._lost + chunk
                self._lost = 0
            self._waiting.append(chunk)
            self._bytes += len(chunk)
            self._change.notify_all()
        return size

    def waits(self) -> bool:
        """Whether words are still to go out."""
        with self._change:
            return self._bytes > 0

    def drain(self, hurried: Callable[[], bool]) -> None:
        """Wait until all is out: as long as somebody reads, and a little longer."""
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
    """Stdout and stderr never block until the end of this, which waits for their readers unless somebody is `hurried`.

    Both go by one thread where they are the same terminal or pipe, so that their lines keep their order.
    """
    before = (sys.stdout, sys.stderr)
    outlets: dict[tuple[int, int], NonBlockingStream] = {}
    sys.stdout, sys.stderr = (_by_thread(stream, outlets) for stream in before)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, AttributeError):  # AttributeError: it was closed before we were started
                stream.flush()
        sys.stdout, sys.stderr = before
        for outlet in outlets.values():
            outlet.drain(hurried)


def _by_thread(stream: TextIO, outlets: dict[tuple[int, int], NonBlockingStream]) -> TextIO:
    try:
        number = stream.fileno()
        found = os.fstat(number)
    except (OSError, AttributeError):  # AttributeError: as above
        return stream
    if not (stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode) or os.isatty(number)):
        return stream
    key = (found.st_dev, found.st_ino)
    if key not in outlets:
        outlets[key] = NonBlockingStream(number)
    return io.TextIOWrapper(outlets[key], stream.encoding, stream.errors, write_through=True)


# Signals of one run, and a time limit for stopping: a hanging disk or a long step does not delay it.

# Signals after which games in the air are dropped at once; SIGINT first lets them end.
_HARD = (signal.SIGTERM, signal.SIGHUP)
_BEFORE_S = 0.7  # from a signal to the end where no game is in the loop's hands yet: 1 s is promised
_PLAYING_S = 4.5  # from a hard one to the end of a run: 5 s are promised (reliability spec 3)
EARLY = "stopped before the first game"
_MANY = 4096  # bytes, one a signal
_ENOUGH = 0  # a byte that is no signal: nobody listens any more


class SignalState:
    """What was sent to this process while `noting`; false as long as nothing was.

    A thread of its own takes the signals, which are blocked in all others: a thread that waits for a disk that hangs
    takes none. The wake-up descriptor has a byte for each of them; Python would make one of all that come in one step.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.act: Callable[[], None] | None = None  # wakes the loop, once there is one
        self.last_line = ""  # on stderr if the run cannot be stopped in time
        self._until: float | None = None  # CLOCK_MONOTONIC s at which this process ends, whatever it does
        self._is_noting = False

    def __bool__(self) -> bool:
        return bool(self.numbers)

    @property
    def code(self) -> int:
        """The exit code of a process that the last signal ended, as shells count."""
        return 128 + self.numbers[-1]

    @property
    def name(self) -> str:
        """The name of the last signal."""
        return signal.Signals(self.numbers[-1]).name

    def is_hard(self) -> bool:
        """Whether the games in progress are dropped: after SIGTERM, SIGHUP, or a second signal."""
        return len(self.numbers) > 1 or any(number in _HARD for number in self.numbers)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note signals from now on. What was ignored at start stays so (nohup, a shell's ``&``). Twice is once."""
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
            signal.signal(noted, lambda *_: None)  # its byte is what counts
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
        """In the thread that takes the signals."""
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
        """End now, as by SIGKILL: nothing announced is lost, and slots end with us, their engines with them."""
        words = f"enginetour: {self.last_line}\n".encode() if self.last_line else b""
        poll = select.poll()
        poll.register(2, select.POLLOUT)
        if words and poll.poll(0):
            os.write(2, words)
        os._exit(self.code)
