"""Pin a slot and its engines to one processor while they play very fast games (CPU affinity).

Waking a process on another processor takes longer than a very fast answer, and the slot and its engines never work at
the same time. Whether pinning saves time is measured: a game of two engines is played without pinning, and if it was
fast, their next games are pinned. If these take longer, because another process uses the processor, pinning pauses for
a while. During a search that is no longer fast, all are released; until then another process may take some of an
engine's time, so its clock must be long.
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


# One processor for a slot and its engines for a while; each slot of a machine uses another one.
#
# Processes that take turns do not need two processors, and a sleeping processor takes time to wake up.

SHARE_PROCESSOR = "ENGINETOUR_TOGETHER"  # environment of a slot: not empty if pinning is allowed
# Abstract names, unix(7): the kernel frees a name when its owner ends. Containers with their own networks do not see
# each other's names.
TURNS, OWN = "\0enginetour/processor/{}", "\0enginetour/own-processor/{}"
_PROCESSOR = 36  # the processor on which it ran last, after the name: proc_pid_stat(5)


class ProcessorClaim:
    """The claim of one slot to a processor of a core, until `close`."""

    def __init__(self, core: tuple[int, ...], processor: int, *, own: bool = False) -> None:
        """Claim a processor for turns, or as the slot's `own`. Raises OSError if another slot has that claim."""
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
        """Return whether the core now belongs to a tournament with its own cores."""
        return _is_owned(self._core)

    def close(self) -> None:
        """Give up the claim."""
        self._door.close()


def claim_processor(but: int | None = None) -> ProcessorClaim | None:
    """Claim a processor for turns, near the current one, where the kernel found room; `but` only if no other is free.

    Each slot gets its own core if there are enough. Returns None if all are claimed or there is only one.
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
    """Claim the processors of a slot with its own cores: from the next game on, no slot takes turns there."""
    found = []
    for processor in processors:
        with suppress(OSError):  # another tournament has it too
            found.append(ProcessorClaim((processor,), processor, own=True))
    return found


class PinnedThreads:
    """The calling thread and engines, with all their processes, pinned to one processor until `part`.

    Raises OSError if one of them may not run there, may run nowhere else, or cannot be pinned, or if there are more
    processes than are examined in a game. Then all have the processors they had before.
    """

    def __init__(self, processor: int, engines: Sequence[EngineProcess]) -> None:
        self.engines = engines
        self._here = {processor}
        self._own = os.sched_getaffinity(0)
        self._before: dict[int, set[int]] = {}
        self._gather(new=True)

    def again(self) -> None:
        """Pin the processes for their next game, with those that `part` did not reach."""
        self._gather(new=False)

    def part(self) -> None:
        """Let the processes run on their earlier processors; a later call also reaches those that were starting."""
        self._free(_threads([engine.family() for engine in self.engines]))

    def _free(self, threads: Iterable[int]) -> None:
        for thread in threads:
            with suppress(OSError):
                if os.sched_getaffinity(thread) == self._here:  # otherwise another program has pinned it since
                    os.sched_setaffinity(thread, self._before.get(thread, self._own))

    def _gather(self, *, new: bool) -> None:
        families = [engine.family() for engine in self.engines]
        if max(map(len, families), default=0) >= MOST_PROCESSES:
            raise OSError
        self._before = {}
        try:
            for thread in _threads(families):
                with suppress(ProcessLookupError):  # it has ended
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
    import socket  # here, for a quicker start of slots

    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


# Pinned games: a slot and its engines take turns on one processor while answers come at once.

# Measured: pinned games of 0.2 ms per ply take 0.9 x the time, of 0.5 ms also 0.9 x, of 1 ms the same time. Games of
# the same two engines differ by 1.1 x. Values without a measurement are chosen.
QUICK_NS = MS // 2  # most time per ply, on average over a game
WORSE = 1.5  # x the time per ply without pinning
# a search that takes longer is no longer pinned; a shorter limit would add the kernel's tick to each wait
SLOW_NS = 10 * MS
LEAST_MS = 10_000  # least time for a move, in comparison with which delays are small
_LEAST_PLIES = 8  # fewest plies of a game that is a measurement
_MISSES = 3  # games in a row with a slow answer or an early end, as when another process uses the processor
FRESH = 64  # pinned games until the time without pinning is measured again: the first game is often the slowest
_PAUSE_NS, _LONGEST_PAUSE_NS = 1000 * MS, 64_000 * MS  # pause if pinning did not save time, doubled each time
MOST_PAIRS = 4096  # pairs whose speed is remembered

_Pair = frozenset[tuple[str, TimeControl]]


class SharedProcessor:
    """The pinning of one slot: what it knows about fast games, and the game it plays."""

    def __init__(self) -> None:
        self._may = bool(os.environ.get(SHARE_PROCESSOR))
        self._apart: dict[_Pair, _Apart] = {}  # pairs whose last game without pinning was fast
        self._claim: ProcessorClaim | None = None
        self._paid_not: int | None = None  # the processor that was given up last
        self._gathered: PinnedThreads | None = None
        self._misses = 0
        self._pause_ns, self._not_before_ns = _PAUSE_NS, 0
        self._game: _Game | None = None
        self.quick_ns = 0  # longest time for an answer while pinned; 0: not pinned

    def begin(self, seats: Sequence[Seat], played: int) -> None:
        """Start to measure a game before its first `go`; `played` is the number of plies of its opening."""
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
        """Release all processes to any processor."""
        self.quick_ns = 0
        if self._gathered is not None:
            self._gathered.part()

    def end(self, played: int) -> None:
        """End the measurement of a game; only the first call per game counts."""
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
        """End the pinning of a game, whatever ended the game."""
        self._game = None
        if self.quick_ns:
            self.part()

    def leave(self) -> None:
        """Leave the processor to others."""
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
        """Release all processes, also those that were being started before."""
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
        except OSError:  # a process of another user, or one that pinned itself
            self._give_up()

    def _give_up(self) -> None:
        """Stop pinning for a while, and try another processor after that."""
        if self._claim is not None:
            self._paid_not = self._claim.processor
        self._misses = 0
        self.leave()
        self._wait()

    def _wait(self) -> None:
        self._not_before_ns = time.monotonic_ns() + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, _LONGEST_PAUSE_NS)


class _Apart(NamedTuple):
    """Time per ply of a game without pinning, and the number of pinned games since."""

    each_ns: float
    games: int = 1


class _Game(NamedTuple):
    """The current game; `played` is the number of plies before its measurement."""

    pair: _Pair
    together: bool
    played: int
    begun_ns: int


def _takes_turns(seat: Seat) -> bool:
    """Return whether a side may be pinned: one thread and enough time. In a first game some count processors."""
    return seat.side.spec.threads == 1 and seat.clock.limit_ms >= LEAST_MS and seat.engine.games > 1
