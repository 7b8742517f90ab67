"""Pin a slot and its engines to one processor while they play very fast games (CPU affinity).

Waking a process on another processor takes longer than a very fast answer, and the slot and its engines never work at
the same time. Pinning is only used where measurements show that it saves time. Two engines first play a game without
pinning. If this game was fast, their next games are pinned. If pinned games take longer, because another process uses
the processor, pinning pauses for a while. If a search becomes slow, all processes are released. Until then, another
process may use some of an engine's time, so its clock must be long.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from enginetour.engines.machine import find_cores
from enginetour.engines.strays import MOST_PROCESSES, read_proc
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.clock import MS

if TYPE_CHECKING:
    import socket

    from enginetour.engines.process import EngineProcess
    from enginetour.referee.startup import Seat


# A slot and its engines use one processor for a while. Each slot of a machine uses a different processor.
#
# Processes that take turns do not need two processors, and a sleeping processor takes time to wake up.

SHARE_PROCESSOR = "ENGINETOUR_TOGETHER"  # environment variable of a slot; not empty if pinning is allowed
# Claims are abstract socket names, unix(7), because the kernel frees such a name when its owner ends. In containers
# with separate networks, the names are separate, too.
TURNS, OWN = "\0enginetour/processor/{}", "\0enginetour/own-processor/{}"
_PROCESSOR = 36  # index of the last processor of the process, among the fields after its name: proc_pid_stat(5)


class ProcessorClaim:
    """The claim of one slot to a processor of a core. It ends with `close`."""

    def __init__(self, core: tuple[int, ...], processor: int, *, own: bool = False) -> None:
        """Claim a processor for pinning, or for a slot with its own cores (`own`). Raises OSError if it is claimed."""
        self.processor = processor
        self._core = core
        self._door = _door()
        try:
            self._door.bind((OWN if own else TURNS).format(processor))
        except OSError:
            self._door.close()
            raise

    @property
    def is_owned(self) -> bool:
        """True if the core now belongs to a tournament with its own cores."""
        return _is_owned(self._core)

    def close(self) -> None:
        """Give up the claim."""
        self._door.close()


def claim_processor(but: int | None = None) -> ProcessorClaim | None:
    """Claim a processor for pinning, close to the current one, because the kernel placed this process there.

    The processor `but` is only claimed if no other processor is free. If there are enough cores, each slot gets its own
    core. Returns None if all processors are claimed or there is only one.
    """
    cores = find_cores(1).cores
    here = next((at for at, core in enumerate(cores) if _here() in core), 0)
    cores = cores[here:] + cores[:here]
    free = [(core, core[0]) for core in cores] + [(core, other) for core in cores for other in core[1:]]
    free.sort(key=lambda one: one[1] == but)
    for core, processor in free if len(free) > 1 else ():
        if not _is_owned(core):
            with suppress(OSError):
                return ProcessorClaim(core, processor)
    return None


def claim_engine_processors(processors: Iterable[int]) -> list[ProcessorClaim]:
    """Claim the processors of a slot with its own cores. From their next game on, other slots do not use them."""
    found = []
    for processor in processors:
        with suppress(OSError):  # another tournament has also claimed it
            found.append(ProcessorClaim((processor,), processor, own=True))
    return found


class PinnedThreads:
    """The calling thread and the threads of engines, pinned to one processor until `part` is called.

    Raises OSError if a thread must not run on this processor, must not run on any other, or cannot be pinned, or if an
    engine has too many processes. In these cases, all threads get their previous processors again.
    """

    def __init__(self, processor: int, engines: Sequence[EngineProcess]) -> None:
        self.engines = engines
        self._here = {processor}
        self._own = os.sched_getaffinity(0)
        self._before: dict[int, set[int]] = {}
        self._gather(new=True)

    def again(self) -> None:
        """Pin the threads again for the next game, including threads that `part` did not release."""
        self._gather(new=False)

    def part(self) -> None:
        """Give all threads their previous processors again. Threads that are just starting need another call."""
        self._free(_threads([engine.family() for engine in self.engines]))

    def _free(self, threads: Iterable[int]) -> None:
        for thread in threads:
            with suppress(OSError):
                if os.sched_getaffinity(thread) == self._here:  # otherwise another program has pinned it meanwhile
                    os.sched_setaffinity(thread, self._before.get(thread, self._own))

    def _gather(self, *, new: bool) -> None:
        families = [engine.family() for engine in self.engines]
        if max(map(len, families), default=0) >= MOST_PROCESSES:
            raise OSError
        self._before = {}
        try:
            for thread in _threads(families):
                with suppress(ProcessLookupError):  # the thread has ended
                    before = os.sched_getaffinity(thread)
                    if before == self._here and not new:
                        before = self._own
                    elif not self._here < before:
                        raise PermissionError
                    os.sched_setaffinity(thread, self._here)
                    self._before[thread] = before
        except OSError:
            self._free(self._before)
            raise


def _threads(families: Sequence[Sequence[int]]) -> Iterator[int]:
    yield 0
    for family in families:
        for pid in family:
            with suppress(OSError):
                yield from map(int, os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208 - numbers


def _here() -> int:
    stat = read_proc("/proc/self/stat")
    return int(stat[stat.rindex(b")") + 2 :].split()[_PROCESSOR])


def _is_owned(core: tuple[int, ...]) -> bool:
    with _door() as door:
        return any(door.connect_ex(OWN.format(processor)) == 0 for processor in core)


def _door() -> socket.socket:
    import socket  # imported here for a faster start

    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


# Pinned games: a slot and its engines take turns on one processor as long as all answers are fast.

# Pinned games with 0.2 ms or 0.5 ms per ply take 0.9 times as long as others; with 1 ms per ply they take the same
# time. Games of the same two engines differ by a factor of 1.1. (All are measured; the values below are chosen.)
QUICK_NS = MS // 2  # maximum average time per ply of a game without pinning, for the next games to be pinned
WORSE = 1.5  # pinning has not saved time if the time per ply is more than this factor times the time without pinning
# a search that takes longer is no longer pinned; with a shorter limit, the kernel's timer would lengthen each wait
SLOW_NS = 10 * MS
LEAST_MS = 10_000  # minimum time for a move, so that delays by other processes are small in comparison
_LEAST_PLIES = 8  # minimum length of a game whose time is used as a measurement
_MISSES = 3  # after this number of successive games with a slow answer or an early end, pinning pauses
FRESH = 64  # pinned games until the time without pinning is measured again; the first game is often the slowest
_PAUSE_NS, _LONGEST_PAUSE_NS = 1000 * MS, 64_000 * MS  # pause if pinning did not save time; doubled each time
MOST_PAIRS = 4096  # maximum number of pairs whose speed is stored

_Pair = frozenset[tuple[str, TimeControl]]


class SharedProcessor:
    """The pinning of one slot: measured times of fast games, and the current game."""

    def __init__(self) -> None:
        self._may = bool(os.environ.get(SHARE_PROCESSOR))
        self._apart: dict[_Pair, _Apart] = {}  # pairs whose last game without pinning was fast
        self._claim: ProcessorClaim | None = None
        self._paid_not: int | None = None  # the last processor where pinning did not save time
        self._gathered: PinnedThreads | None = None
        self._misses = 0
        self._pause_ns, self._not_before_ns = _PAUSE_NS, 0
        self._game: _Game | None = None
        self.quick_ns = 0  # longest time for an answer while pinned; 0 if not pinned

    def begin(self, seats: Sequence[Seat], played: int) -> None:
        """Start to measure a game, before its first `go`. `played` is the number of plies of the opening."""
        self.close()
        begun_ns = time.monotonic_ns()
        if not self._may or not all(map(_takes_turns, seats)):
            self.leave()
            return
        pair = frozenset((seat.name, seat.clock.tc) for seat in seats)
        if pair in self._apart and begun_ns >= self._not_before_ns:
            self._gather([seat.engine.process for seat in seats])
        else:
            self._let_go()
        self._game = _Game(pair, self.quick_ns > 0, played, begun_ns)

    def part(self) -> None:
        """End the pinning of all processes."""
        self.quick_ns = 0
        if self._gathered is not None:
            self._gathered.part()

    def end(self, played: int) -> None:
        """End the measurement of a game. Only the first call per game has an effect."""
        game, self._game = self._game, None
        if game is None:
            return
        stayed = self.quick_ns > 0
        self.part()
        plies = played - game.played
        each_ns = (time.monotonic_ns() - game.begun_ns) / max(1, plies)
        if not game.together:
            self._learn(game.pair, plies, each_ns)
        elif not stayed or plies < _LEAST_PLIES:
            self._misses += 1
            if self._misses == _MISSES:
                self._give_up()
        else:
            self._compare(game.pair, each_ns)

    def close(self) -> None:
        """End the pinning of a game without a measurement."""
        self._game = None
        if self.quick_ns:
            self.part()

    def leave(self) -> None:
        """End the pinning and give up the claim to the processor."""
        self._let_go()
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def _learn(self, pair: _Pair, plies: int, each_ns: float) -> None:
        if plies < _LEAST_PLIES:
            return
        if each_ns > QUICK_NS:
            self._apart.pop(pair, None)
            self.leave()
            return
        if len(self._apart) >= MOST_PAIRS:
            self._apart.clear()
        self._apart[pair] = _Apart(each_ns)

    def _compare(self, pair: _Pair, each_ns: float) -> None:
        apart = self._apart.pop(pair)
        if each_ns > WORSE * apart.each_ns:
            self._give_up()
            return
        self._misses, self._pause_ns = 0, _PAUSE_NS
        if apart.games < FRESH:
            self._apart[pair] = _Apart(apart.each_ns, apart.games + 1)

    def _let_go(self) -> None:
        """End the pinning of all processes, including those that an earlier `part` did not reach."""
        self.part()
        self._gathered = None

    def _gather(self, engines: Sequence[EngineProcess]) -> None:
        if self._claim is not None and self._claim.is_owned:
            self.leave()
        try:
            self._claim = self._claim or claim_processor(but=self._paid_not)
            if self._claim is None:
                self._wait()
                return
            if self._gathered is not None and set(self._gathered.engines) == set(engines):
                self._gathered.again()
            else:
                self._let_go()
                self._gathered = PinnedThreads(self._claim.processor, engines)
            self.quick_ns = SLOW_NS
        except OSError:  # for example, a process belongs to another user or has pinned itself
            self._give_up()

    def _give_up(self) -> None:
        """Stop pinning for a while. After that, another processor is tried."""
        if self._claim is not None:
            self._paid_not = self._claim.processor
        self._misses = 0
        self.leave()
        self._wait()

    def _wait(self) -> None:
        self._not_before_ns = time.monotonic_ns() + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, _LONGEST_PAUSE_NS)


class _Apart(NamedTuple):
    """The time per ply of a game without pinning, and one plus the number of pinned games after it."""

    each_ns: float
    games: int = 1


class _Game(NamedTuple):
    """The current game. `played` is the number of plies before the measurement began."""

    pair: _Pair
    together: bool
    played: int
    begun_ns: int


def _takes_turns(seat: Seat) -> bool:
    """Return whether a side may be pinned: one thread, enough time, and not the engine's first game.

    In the first game some engines count processors, so they must not be pinned.
    """
    return seat.side.spec.threads == 1 and seat.clock.limit_ms >= LEAST_MS and seat.engine.games > 1
