"""How an engine fails in a game under way: it is late, silent, stalled or gone (reliability spec section 2).

The first cause wins: an end that comes late is a flag. Here it is found out what happened, who is to blame for it is
in `verdict.py`.
"""

from __future__ import annotations

import time

from enginetour.engines.position import Position
from enginetour.engines.wire import Said, printable
from enginetour.model.errors import EngineCrashed, EngineFault
from enginetour.model.game import Termination
from enginetour.model.task import Rules
from enginetour.referee import verdict
from enginetour.referee.bookkeeping import Books
from enginetour.referee.clock import MS, Halts
from enginetour.referee.converse import converse, ended, heed_until
from enginetour.referee.link import Link
from enginetour.referee.referee_seats import Seat
from enginetour.referee.search import Search
from enginetour.referee.verdict import Verdict

CRASH_LOOK_NS = 100 * MS  # before a crash is booked: a stop may have ended the engine (reliability 1)


class Failures:
    """Those of one game, each looked into until it is a verdict."""

    def __init__(
        self, rules: Rules, position: Position, search: Search, books: Books, link: Link, halts: Halts
    ) -> None:
        self._rules = rules
        self._position = position
        self._search = search
        self._books = books
        self._link = link
        self._halts = halts

    def own_ns(self) -> int:
        """What we ourselves may have cost the move under way: the error budget (runner spec 3)."""
        return self._search.own_ns(self._books.waited_now())

    def late(self, seat: Seat, said: Said) -> Verdict | None:
        """A flag, if it said that too late."""
        in_time = (elapsed := said.stamp_ns - self._search.go_ns) < seat.clock.flag_ns()
        return None if in_time else self.flag(seat, elapsed, f"with {printable(said.text)!r}")

    def silence(self, seat: Seat) -> Verdict:
        """The deadline and its grace have passed: stop, take the owed answer, tell the true overrun."""
        flag_ns = self._search.go_ns + seat.clock.flag_ns()
        engine, own_ns = seat.engine, self.own_ns()  # what we wait from here on excuses nothing
        used_ns = 0 if seat.queue is None else seat.queue.used_ns()
        converse({engine: engine.settle()}, self._link, self._halts.overslept)
        if seat.draw_claimed:
            words = f"{seat.color} claims a draw that is none and does not move"
            return verdict.loss(seat, Termination.FALSE_CLAIM, words)
        if engine.late_ns:
            return self.flag(seat, engine.late_ns - self._search.go_ns, "after stop", own_ns=own_ns)
        late = time.monotonic_ns() - flag_ns
        words = f"no answer {late / 1e9:.1f} s after {seat.clock.hang_words or 'the flag'}"
        starved = seat.queue is not None and seat.queue.is_kept_waiting(used_ns)
        if starved:
            words += ", for want of a processor"
        return self.flag(seat, late + seat.clock.flag_ns(), "", words, own_ns=own_ns, starved=starved)

    def flag(
        self,
        seat: Seat,
        elapsed_ns: int,
        when: str,
        words: str = "",
        *,
        own_ns: int | None = None,
        starved: bool = False,
    ) -> Verdict:
        """Its time was over. `when` tells of its answer or its end, `words` instead that neither came.

        `own_ns` is our share, where it ended before now; `starved`: it could not answer, as it did not run at all.
        """
        answered, words = starved or not words, words or verdict.overrun(seat.clock, elapsed_ns, when)
        if self._halts.words:
            return verdict.void(None, "host", f"{seat.color}: {words}; {self._halts.words}", Termination.TIME)
        over_ns = elapsed_ns - seat.clock.flag_ns() if answered else None
        own_ns = self.own_ns() if own_ns is None else own_ns
        waited_ns = None if seat.queue is None else seat.queue.machine_ns()
        if starved:  # it waits still, and the kernel counts a wait when it is over
            waited_ns = max(waited_ns or 0, elapsed_ns)
        return verdict.flag(seat, self._position.board, self._rules, over_ns, own_ns, words, waited_ns=waited_ns)

    def at_fence(self, seat: Seat, other: Seat, fault: EngineFault) -> Verdict:
        """It ended before its `go`, or did not answer the fence."""
        if isinstance(fault, EngineCrashed):
            return self.crash(seat, other)
        return verdict.stall(seat, fault, self._halts.words)

    def crash(self, seat: Seat, other: Seat) -> Verdict:
        """Look for a stop first: a service manager ends engines and us in one go."""
        seen_ns = seat.engine.stamp_ns if seat.engine.dead else time.monotonic_ns()
        heed_until(self._link, time.monotonic_ns() + CRASH_LOOK_NS)
        other.engine.pull()
        if seat.engine.thinking and not seat.engine.pondering and seen_ns - self._search.go_ns >= seat.clock.flag_ns():
            return self.flag(seat, seen_ns - self._search.go_ns, f"when it ended: {ended(seat.engine)}")
        if other.engine.process.eof and verdict.at_once(seen_ns, other.engine.stamp_ns, self._search.answered_ns):
            return verdict.both_ended(seat, ended(seat.engine), ended(other.engine))
        return verdict.crash(seat, ended(seat.engine))
