"""The chess clock of one side (time left, flag), and how long engines and referee waited for a processor.

Clocks are in milliseconds outside and in nanoseconds inside.

Source: proc(5), schedstat: for each thread the nanoseconds on a processor, and those in a run queue.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from enginetour.engines.machine import (
    allowed_processors,
    cpu_clock_id,
    is_busy,
    load_average,
    process_cpu_ns,
    processor_count,
    runnable_threads,
)
from enginetour.engines.process import SLICE_NS
from enginetour.engines.strays import read_proc
from enginetour.model.task import Side
from enginetour.model.timecontrol import TimeControl

# The clock of one side: integer milliseconds outside, nanoseconds inside (runner spec section 3).
#
# The charge of a move is its elapsed time cut down to whole milliseconds, as fastchess and cutechess-cli do.

MS = 1_000_000  # nanoseconds in a millisecond
SLEPT_NS = 1_000 * MS  # suspended for longer in a game: it is void (reliability 3)
_OVERSLEPT_NS = 1_000 * MS  # a wait that ends so much too late: the game is void (reliability 3)
_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)  # Linux has it
LATE_WAKE_NS = 20 * MS  # beyond its deadline a wait ends only if this process was stopped or starved
_FREEZE_NS = 100 * MS  # so late a busy machine seldom wakes anybody: it was frozen (our choice)
GRACE_NS = 100 * MS  # the wait goes on after the flag, only to learn the true overrun (runner spec 3)


class Clock:
    """Time left of one side under its own control."""

    def __init__(self, side: Side, hang_limit: float) -> None:
        self.tc: TimeControl = side.tc
        self.margin_ms = side.margin_ms
        self._hang_ms = int(hang_limit * 1000)
        self.stage = 0  # under way, from 0
        self.margin_uses = 0
        self.longest_ms = 0
        self.total_ms = 0
        self.moves = 0
        self.least_ms: int | None = None
        self.rest_ms: int | None = None  # None: no clock, a limit for each move
        self.moves_to_go = 0  # 0: the stage lasts to the end
        self._flag_of: int | None = None  # the rest for which the flag was reckoned
        self._flag_ns = 0
        self.increment_ms = 0  # of the stage under way
        if self.tc.stages:
            stage = self.tc.stage(0)
            self.increment_ms = stage.increment_ms
            self.rest_ms = stage.base_ms + stage.increment_ms
            self.moves_to_go = stage.moves

    @property
    def limit_ms(self) -> int:
        """Whole milliseconds after which this move is late, the margin not counted."""
        if self.rest_ms is not None:
            return self.rest_ms
        return self.tc.movetime_ms if self.tc.movetime_ms is not None else self._hang_ms

    @property
    def hang_words(self) -> str:
        """The hang limit in words, where nothing else limits the time of a move; else ""."""
        timed = self.rest_ms is not None or self.tc.movetime_ms is not None
        return "" if timed else f"the hang limit of {self._hang_ms / 1000:g} s"

    @property
    def _margin_ms(self) -> int:
        return 0 if self.hang_words else self.margin_ms

    def flag_ns(self) -> int:
        """Nanoseconds of thought from which the move has lost on time."""
        if self._flag_of != self.rest_ms or not self._flag_ns:  # several times a ply, and it changes once
            self._flag_of, self._flag_ns = self.rest_ms, (self.limit_ms + self._margin_ms + 1) * MS
        return self._flag_ns

    def wait_ns(self) -> int:
        """Nanoseconds after the start at which waiting for the answer ends."""
        return self.flag_ns() + GRACE_NS

    def shown_ms(self) -> int | None:
        """What engines are told: whole milliseconds, never below 1 (two surveyed engines hang on less)."""
        return None if self.rest_ms is None else max(1, self.rest_ms)

    def charge(self, elapsed_ns: int, other: Clock | None = None) -> int | None:
        """Book one move that was in time; its milliseconds. None: it was late, nothing is booked.

        Between two hourglasses what it takes off this clock runs to the `other`.
        """
        if elapsed_ns >= self.flag_ns():
            return None
        spent = elapsed_ns // MS
        self.moves += 1
        self.total_ms += spent
        self.longest_ms = max(self.longest_ms, spent)
        if spent > self.limit_ms:
            self.margin_uses += 1
        if self.rest_ms is not None:
            self._run_down(spent, other)
        return spent

    def _run_down(self, spent: int, other: Clock | None) -> None:
        assert self.rest_ms is not None
        left = max(0, self.rest_ms - spent)
        if self.tc.hourglass and other is not None and other.tc.hourglass and other.rest_ms is not None:
            other.rest_ms += self.rest_ms - left
        self.least_ms = left if self.least_ms is None else min(self.least_ms, left)
        if self.moves_to_go == 1:
            self.stage += 1
            stage = self.tc.stage(self.stage)
            self.moves_to_go, self.increment_ms = stage.moves, stage.increment_ms
            left += stage.base_ms
        elif self.moves_to_go:
            self.moves_to_go -= 1
        self.rest_ms = left + self.increment_ms

    def overrun_ms(self, elapsed_ns: int) -> int:
        """Milliseconds beyond the clock (not beyond clock and margin) of a late answer."""
        return elapsed_ns // MS - self.limit_ms


class OwnWaits:
    """How long this process waited for a CPU, from the kernel: a part of the referee's own error budget."""

    def __init__(self) -> None:
        self.file: int | None = None
        with suppress(OSError):
            self.file = os.open("/proc/self/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def look(self) -> bytes:
        """What the kernel says now, to be read by `waited_ns` if ever (proc(5), schedstat); b"" where it does not."""
        return b"" if self.file is None else os.pread(self.file, 128, 0)

    @staticmethod
    def waited_ns(said: bytes) -> int:
        """Nanoseconds since the process began, 0 where the kernel does not tell."""
        fields = said.split()
        return int(fields[1]) if len(fields) > 1 else 0

    def close(self) -> None:
        """Give the descriptor back."""
        if self.file is not None:
            os.close(self.file)
            self.file = None


class Interruptions:
    """What kept the referee from the clock since it was made: the machine's sleep, SIGSTOP or a freeze of us."""

    def __init__(self) -> None:
        self._slept_ns = suspended_ns()
        self.continued = False
        self._overslept_ns = 0
        self._before: Any = None
        with suppress(ValueError):  # outside the main thread nobody hears signals
            self._before = signal.signal(signal.SIGCONT, self._note)

    def overslept(self, late_ns: int) -> None:
        """A wait ended so long after its due: if that is too much, something kept this process from running."""
        self._overslept_ns = max(self._overslept_ns, late_ns)

    def woke(self, now_ns: int, until_ns: int, due_ns: int) -> int:
        """A wait until `until_ns` has ended, in a longer one that is over at `due_ns`; how much of it may be our own.

        Past the due the engine had no grace meanwhile, and by GRACE_NS is that behind the flag. Before it a freeze of
        the machine, of which nobody is told, has kept the engine from thinking; it began in this slice of the wait.
        """
        self.overslept(now_ns - until_ns)
        if now_ns > due_ns + LATE_WAKE_NS:
            return now_ns - due_ns + 2 * GRACE_NS
        return now_ns - until_ns + SLICE_NS if now_ns > until_ns + _FREEZE_NS else 0

    def _note(self, number: int, frame: object) -> None:
        del number, frame
        self.continued = True

    @property
    def words(self) -> str:
        """What happened, "" for nothing."""
        if self.continued:
            return "the referee's process was stopped during a move"
        if self._overslept_ns > _OVERSLEPT_NS:
            return f"the referee woke up {self._overslept_ns / 1e9:.1f} s late"
        return "the machine was suspended during a move" if suspended_ns() - self._slept_ns > SLEPT_NS else ""

    def close(self) -> None:
        """Leave the signal to whom it belonged."""
        if self._before is not None:
            signal.signal(signal.SIGCONT, self._before)


def suspended_ns() -> int:
    """Nanoseconds this machine has been suspended since boot; a growth in a move voids the game."""
    return 0 if _BOOTTIME is None else time.clock_gettime_ns(_BOOTTIME) - time.monotonic_ns()


# How long an engine waited for a processor: its part of the error budget, as far as the machine caused it.

MARK_NS = 1_000_000  # between two marks at least: searches that are sooner over are not told apart
MOST_THREADS = 8  # of an engine that are marked, the oldest: 0.75 us each (measured)
MOST_MARKS = 2 * MOST_THREADS  # with the clocks of their processes
# An answer passes through the thread that reads, the one that searches, and the last helper that is waited for. The
# waits of these add up; the other threads of a process wait beside them.
_HOPS = 3
_GONE_NS = 50_000  # on a processor, of threads that have ended: starting one and searching takes longer
LONG_NS = 10 * MS  # a wait in a move that is worth a warning, where it is also a 20th of both sides' moves:
LONG_PART = 20  # 2 % of the moves at 1+0.02 on an idle machine, 30 % at three times as many processes (measured)
CROWDED = 0.05  # of the moves with a long wait, from which people are warned
CALM = 0.02  # and below which no longer
_SAMPLE, SAMPLES = 20, 5  # moves that are looked at together, and how many such samples are remembered
TELL_NS = 1000 * MS  # between two warnings of a slot
_REACTION_NS = 10 * MS  # on a processor, in which an engine that was told to stop can react


class EngineWaits:
    """The threads of an engine when a game begins; `family` tells its processes, which may have become more since."""

    def __init__(self, pid: int, family: Callable[[], list[int]] | None = None) -> None:
        self._pid = pid
        self._family = family or (lambda: [pid])
        self._whose: list[_Whose] = []
        self.files: list[int] = []  # to be read by `_told`: of threads, and the clock of each process
        self._open()
        self._begun = self._marked = self._look()
        self._marked_ns = 0
        self.marks = 0  # moves that were told apart
        self.long = 0  # those in which the engine waited long

    def mark(self, now_ns: int) -> None:
        """From here on, CLOCK_MONOTONIC `now_ns`, counts what a move waited; or from a mark of less than 1 ms ago."""
        if now_ns < self._marked_ns + MARK_NS:
            return
        said = self._look()
        if self._marked_ns:
            self.marks += 1
            waited = max(self._waits(self._marked, said), default=0)
            self.long += waited > LONG_NS and waited * LONG_PART > now_ns - self._marked_ns
        self._marked, self._marked_ns = said, now_ns

    def marked(self, said: list[bytes], now_ns: int) -> None:
        """A mark that compiled code made; it counts long waits by itself."""
        self._marked, self._marked_ns = said, now_ns

    def machine_ns(self) -> int | None:
        """How long the machine may have kept the engine waiting since the last mark. None where nothing is known.

        Its own threads compete with each other where they are more than its processors. What the machine takes is
        processor time that the engine did not get, so it is never more than that.
        """
        window = time.monotonic_ns() - self._marked_ns
        found = {process.pid: process for process in self._since_mark(window)}
        if not any(process.waits for process in found.values()):
            return None
        waited = sum(sum(sorted(process.waits)[-_HOPS:]) for process in found.values())
        used = sum(process.clock for process in found.values())
        if any(process.clock - process.ran > _GONE_NS for process in found.values()) and is_busy():
            waited = max(waited, window - used)  # it answered by a thread that has ended: all that is known of its wait
        return max(0, min(waited, window, self._processors() * window - used))

    def of_game_ms(self) -> float | None:
        """Since the beginning, the thread that waited longest."""
        waits = self._waits(self._begun, self._look())
        return max(waits) / MS if waits else None

    def used_ns(self) -> int:
        """Processor time of all its processes."""
        return sum(map(process_cpu_ns, self._family()))

    def is_kept_waiting(self, used_ns: int) -> bool:
        """Whether it wants to run and has hardly run since `used_ns` was all that it had used."""
        return self.used_ns() - used_ns < _REACTION_NS and any(
            _state(pid, thread) == "R" for pid in self._family() for thread in _threads(pid)
        )

    def close(self) -> None:
        """Give the descriptors back."""
        for file in self.files:
            if file >= 0:
                os.close(file)
        self.files.clear()

    def _open(self) -> None:
        for pid in self._family():
            if len(self.files) >= MOST_MARKS:
                return
            if process_cpu_ns(pid) and sum(file < 0 for file in self.files) < MOST_THREADS:
                self._whose.append(_Whose(pid, 0))
                self.files.append(cpu_clock_id(pid))
            for thread in _threads(pid):
                if sum(file >= 0 for file in self.files) < MOST_THREADS:
                    with suppress(OSError):  # it is gone, or the kernel does not tell
                        self.files.append(os.open(_schedstat(pid, thread), os.O_RDONLY | os.O_CLOEXEC))
                        self._whose.append(_Whose(pid, thread))

    def _look(self) -> list[bytes]:
        return [_told(file) for file in self.files]

    def _waits(self, before: list[bytes], after: list[bytes]) -> list[int]:
        return [
            OwnWaits.waited_ns(now) - OwnWaits.waited_ns(then)
            for whose, then, now in zip(self._whose, before, after, strict=True)
            if whose.thread and then and now
        ]

    def _since_mark(self, window: int) -> Iterator[_Process]:
        """What its processes did since; a thread that is not marked at most all that it ever did."""
        pairs = list(zip(self._whose, self._marked, self._look(), strict=True))
        full = len(self.files) - sum(file < 0 for file in self.files) >= MOST_THREADS
        marked = {whose for whose, _, _ in pairs}
        for pid in dict.fromkeys([*(whose.pid for whose in marked), *self._family()]):
            own = [(whose, then, now) for whose, then, now in pairs if whose.pid == pid and then and now]
            spans = [(_ran_ns(now) - _ran_ns(then), now, then) for whose, then, now in own if whose.thread]
            waits = [OwnWaits.waited_ns(now) - OwnWaits.waited_ns(then) for _, now, then in spans]
            ran = sum(span[0] for span in spans)
            for thread in () if full else _threads(pid):
                if _Whose(pid, thread) not in marked:
                    said = read_proc(_schedstat(pid, thread))
                    waits.append(min(window, OwnWaits.waited_ns(said)))
                    ran += min(window, _ran_ns(said))
            clock = next((_ran_ns(now) - _ran_ns(then) for whose, then, now in own if not whose.thread), None)
            yield _Process(pid, waits, ran, ran if clock is None else clock)

    def _processors(self) -> int:
        try:
            return min(len(os.sched_getaffinity(self._pid)), allowed_processors().count)
        except OSError:
            return allowed_processors().count


class ProcessorShortage:
    """In how many of the last moves of a slot engines waited long: whether its clocks can be relied on."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int]] = deque(maxlen=SAMPLES)
        self._marks = self._long = 0
        self._crowded = False
        self._next_ns = 0

    def add(self, marks: int, long: int) -> dict[str, object] | None:
        """Count moves; the live event "crowd" where there is something to tell."""
        self._marks += marks
        self._long += long
        if self._marks < _SAMPLE:
            return None
        self._samples.append((self._marks, self._long))
        self._marks = self._long = 0
        all_marks, all_long = (sum(counts) for counts in zip(*self._samples, strict=True))
        share, before, now = all_long / all_marks, self._crowded, time.monotonic_ns()
        self._crowded = all_long > 1 and share > (CALM if before else CROWDED)
        if not (before or self._crowded) or (self._crowded and now < self._next_ns):
            return None
        self._next_ns = now + TELL_NS
        load = max(load_average() or 0.0, float(runnable_threads()))  # the average of a minute comes late
        return {"crowded": self._crowded, "share": share, "load": load, "processors": processor_count() or 1}


class _Whose(NamedTuple):
    pid: int
    thread: int  # 0: the clock of the process


class _Process(NamedTuple):
    """Of one process in a move, ns: the wait of each thread, what these ran, what all of its threads ran."""

    pid: int
    waits: list[int]
    ran: int
    clock: int


def _threads(pid: int) -> list[int]:
    """Oldest first; none of a process that is gone."""
    try:
        return sorted(map(int, os.listdir(f"/proc/{pid}/task")))  # noqa: PTH208 - numbers
    except OSError:
        return []


def _schedstat(pid: int, thread: int) -> str:
    return f"/proc/{pid}/task/{thread}/schedstat"


def _state(pid: int, thread: int) -> str:
    text = read_proc(f"/proc/{pid}/task/{thread}/stat")
    return text[text.rindex(b")") + 2 :][:1].decode() if text else ""


def _ran_ns(said: bytes) -> int:
    fields = said.split(None, 1)
    return int(fields[0]) if fields else 0


def _told(file: int) -> bytes:
    """Of a thread; a negative number is the clock of a process."""
    try:
        return os.pread(file, 128, 0) if file >= 0 else b"%d" % time.clock_gettime_ns(file)
    except OSError:  # the thread has ended
        return b""
