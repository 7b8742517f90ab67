"""Pin a slot and its engines to one processor while they play very fast games (CPU affinity).

To wake somebody up on another processor costs more than such an answer, and they never have anything to do at the same
time. Whether it pays is measured: a game of two engines is played apart, and if it was quick, their next ones together;
where that takes longer, because somebody else wants that processor, they stay apart for a while. In a search that is no
longer quick all are let go; before that a neighbour may take some of an engine's time, so its clock must be long.
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


# A slot and its engines on one processor for a while, and which: slots of one machine each have another.
#
# What takes turns has nothing to do side by side, and a processor that sleeps takes its time to wake up.

SHARE_PROCESSOR = "ENGINETOUR_TOGETHER"  # in a slot's environment: not empty where it may be done
# Abstract names, unix(7): the kernel frees one when whoever bound it has gone. Containers with networks of their own
# do not see each other's.
TURNS, OWN = "\0enginetour/processor/{}", "\0enginetour/own-processor/{}"
_PROCESSOR = 36  # on which it ran last, behind the name: proc_pid_stat(5)


class ProcessorClaim:
    """A processor of a core for one slot, until `close`."""

    def __init__(self, core: tuple[int, ...], processor: int, *, own: bool = False) -> None:
        """For turns, or as its `own`. OSError if another slot has it for that."""
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
        """Whether its core is one of a tournament with cores of its own, by now."""
        return _is_owned(self._core)

    def close(self) -> None:
        """Leave it to others."""
        self._door.close()


def claim_processor(but: int | None = None) -> ProcessorClaim | None:
    """A processor for turns, `but` only if there is no other: near where we are, for there the kernel found room.

    A core of each slot if there are enough. None where all are taken, or there is but one.
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
    """Those of the engines of a slot with cores of its own: nobody takes turns there from the next game on."""
    found = []
    for processor in processors:
        with suppress(OSError):  # another tournament has it too
            found.append(ProcessorClaim((processor,), processor, own=True))
    return found


class PinnedThreads:
    """The calling thread and engines, with all that they started, on one processor until `part`, and `again`.

    OSError if one of them may not run there, or nowhere else, or cannot be bound, and for more processes than are
    looked at in a game; all are as they were then.
    """

    def __init__(self, processor: int, engines: Sequence[EngineProcess]) -> None:
        self.engines = engines
        self._here = {processor}
        self._own = os.sched_getaffinity(0)
        self._before: dict[int, set[int]] = {}
        self._gather(new=True)

    def again(self) -> None:
        """In their next game; who was left behind by the last one is one of them."""
        self._gather(new=False)

    def part(self) -> None:
        """As they were. Once more after a while is for who was being started meanwhile."""
        self._free(_threads([engine.family() for engine in self.engines]))

    def _free(self, threads: Iterable[int]) -> None:
        for thread in threads:
            with suppress(OSError):
                if os.sched_getaffinity(thread) == self._here:  # else it has been bound by somebody else since
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


# Quick games on one processor: a slot and its engines take turns there, as long as answers come at once.

# Measured: games of 0.2 ms a ply take 0.9 x the time, of 0.5 ms 0.9 x too, of 1 ms as much as apart; by the same two
# engines they differ by 1.1 x. What has no figure is our choice.
QUICK_NS = MS // 2  # a ply at most, on the average of a game
WORSE = 1.5  # x the time of a ply apart
SLOW_NS = 10 * MS  # an answer that takes so long is waited for apart; sooner than the kernel's tick costs each wait
LEAST_MS = 10_000  # for a move, beside which that is nothing
_LEAST_PLIES = 8  # of a game that says anything
_MISSES = 3  # games in a row with a slow answer, or broken off: a processor that somebody else has looks like that
FRESH = 64  # games until their time apart is measured anew: the first one is often the coldest
_PAUSE_NS, _LONGEST_PAUSE_NS = 1000 * MS, 64_000 * MS  # where it did not pay, each time twice as long
MOST_PAIRS = 4096  # of which is known how quick they are

_Pair = frozenset[tuple[str, TimeControl]]


class SharedProcessor:
    """What a slot knows of quick games, and the one it plays."""

    def __init__(self) -> None:
        self._may = bool(os.environ.get(SHARE_PROCESSOR))
        self._apart: dict[_Pair, _Apart] = {}  # of those whose last game apart was quick
        self._claim: ProcessorClaim | None = None
        self._paid_not: int | None = None  # the processor that we left last
        self._gathered: PinnedThreads | None = None
        self._misses = 0
        self._pause_ns, self._not_before_ns = _PAUSE_NS, 0
        self._game: _Game | None = None
        self.quick_ns = 0  # that an answer may take; 0: any time

    def begin(self, seats: Sequence[Seat], played: int) -> None:
        """Before the first `go` of a game that has so many plies from its opening."""
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
        """Everybody may run anywhere again."""
        self.quick_ns = 0
        if self._gathered is not None:
            self._gathered.part()

    def end(self, played: int) -> None:
        """The plies that were like each other are over; only the first call of a game says anything."""
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
        """The game is over, however."""
        self._game = None
        if self.quick_ns:
            self.part()

    def leave(self) -> None:
        """The processor is for others."""
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
        """Who was being started when all were is let go too."""
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
        except OSError:  # another user's, or bound by its own will
            self._give_up()

    def _give_up(self) -> None:
        """For a while, and to try another one then."""
        if self._claim is not None:
            self._paid_not = self._claim.processor
        self._misses = 0
        self.leave()
        self._wait()

    def _wait(self) -> None:
        self._not_before_ns = time.monotonic_ns() + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, _LONGEST_PAUSE_NS)


class _Apart(NamedTuple):
    """What a ply of a game apart took, and how many were played together since."""

    each_ns: float
    games: int = 1


class _Game(NamedTuple):
    """The one that is played: so many plies were, when it began."""

    pair: _Pair
    together: bool
    played: int
    begun_ns: int


def _takes_turns(seat: Seat) -> bool:
    """One thread, time enough; and no first game, in which some look how many processors there are."""
    return seat.side.spec.threads == 1 and seat.clock.limit_ms >= LEAST_MS and seat.engine.games > 1
