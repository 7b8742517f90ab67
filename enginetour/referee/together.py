"""Quick games on one processor: a slot and its engines take turns there, as long as answers come at once.

To wake somebody up on another processor costs more than such an answer, and they never have anything to do at the same
time. Whether it pays is measured: the first game of two engines is played apart, and if it was quick, their next ones
together; where that takes longer, because somebody else wants that processor, they stay apart for a while. In a search
that is no longer quick all are let go, so what this can cost an engine is nothing beside the clocks that it asks for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from enginetour.referee.clock import MS
from enginetour.supervise.gathering import TOGETHER, Claim, Gathered, claim
from enginetour.timecontrol import TimeControl

if TYPE_CHECKING:
    from enginetour.referee.seats import Seat

QUICK_NS = MS // 2  # a ply at most, on the average of a game
SLOW_NS = 10 * MS  # an answer that takes so long is waited for apart
LEAST_MS = 10_000  # on a clock, beside which that is nothing
LEAST_PLIES = 8  # of a game that says anything
WORSE = 1.5  # x the time of a ply, by which games of the same engines do not differ (nodes=1: 1.1, measured)
PAUSE_NS, LONGEST_PAUSE_NS = 1000 * MS, 64_000 * MS  # after a game that was, each time twice as long
MOST_PAIRS = 4096  # of which is known how quick they are

_Pair = frozenset[tuple[str, TimeControl]]


class Together:
    """What a slot knows of quick games, and the one it plays."""

    def __init__(self) -> None:
        self._may = bool(os.environ.get(TOGETHER))
        self._apart: dict[_Pair, float] = {}  # ns a ply of their last game apart, where that was quick
        self._claim: Claim | None = None
        self._gathered: Gathered | None = None
        self._pause_ns, self._not_before_ns = PAUSE_NS, 0
        self._game: _Game | None = None
        self.quick_ns = 0  # that an answer may take; 0: any time

    def begin(self, seats: Sequence[Seat], played: int) -> None:
        """Before the first `go` of a game that has so many plies from its opening; on nobody's clock."""
        self._game = None  # one that broke off
        if not self._may or any(seat.side.spec.threads > 1 or _is_short(seat) for seat in seats):
            return
        pair = frozenset((seat.name, seat.clock.tc) for seat in seats)
        if pair in self._apart and time.monotonic_ns() >= self._not_before_ns:
            self._gather([seat.engine.process.engine_pid for seat in seats])
        self._game = _Game(pair, self._gathered is not None, played, time.monotonic_ns())

    def part(self) -> None:
        """Everybody may run anywhere again."""
        if self._gathered is not None:
            self._gathered.part()
            self._gathered, self.quick_ns = None, 0

    def end(self, played: int) -> None:
        """The plies that were like each other are over; only the first call of a game says anything."""
        game, self._game = self._game, None
        if game is None:
            return
        plies, took_ns, stayed = played - game.played, time.monotonic_ns() - game.begun_ns, self._gathered is not None
        self.part()
        if plies < LEAST_PLIES:
            return
        if not game.together:
            self._learn(game.pair, took_ns / plies)
        elif stayed and took_ns / plies > WORSE * self._apart[game.pair]:
            del self._apart[game.pair]
            self._give_up()
        elif stayed:
            self._pause_ns = PAUSE_NS

    def _learn(self, pair: _Pair, each_ns: float) -> None:
        if each_ns > QUICK_NS:
            self._apart.pop(pair, None)
            self._leave()
            return
        if len(self._apart) >= MOST_PAIRS:
            self._apart.clear()
        self._apart[pair] = each_ns

    def _gather(self, engines: Sequence[int]) -> None:
        self._claim = self._claim or claim()
        try:
            if self._claim is not None:
                self._gathered, self.quick_ns = Gathered(self._claim.processor, engines), SLOW_NS
                return
        except OSError:  # another user's, or bound by its own will
            pass
        self._give_up()

    def _give_up(self) -> None:
        """For a while."""
        self._leave()
        self._not_before_ns = time.monotonic_ns() + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, LONGEST_PAUSE_NS)

    def _leave(self) -> None:
        if self._claim is not None:
            self._claim.close()
            self._claim = None


class _Game(NamedTuple):
    """The one that is played: so many plies were, when it began."""

    pair: _Pair
    together: bool
    played: int
    begun_ns: int


def _is_short(seat: Seat) -> bool:
    return seat.clock.rest_ms is not None and seat.clock.rest_ms < LEAST_MS
