"""Plain plies, compiled where a C compiler exists: its input, its output, and the Python equivalent.

`native.Relay` asks, waits, reads, judges and passes on as `referee/game.py` does, and stops before the first thing that
is not plain: a line out of turn, an odd, late or last answer, a full pipe, a signal, a wake-up that came late. Nothing
of that has been acted on; the game takes over what was read, with its stamps, as if it had read it itself. So whatever
decides anything is written once, in Python.
"""

from __future__ import annotations

import select
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from enginetour.engines.position import MAX_LINE, written
from enginetour.engines.uci_lines import go_limits
from enginetour.model.task import GameTask
from enginetour.referee.adjudication import Counters
from enginetour.referee.books import Books, RawPly
from enginetour.referee.clock import Halts
from enginetour.referee.compiled import native

if TYPE_CHECKING:
    from enginetour.engines.position import Position
    from enginetour.referee.adjudication import End
    from enginetour.referee.ends import Ends
    from enginetour.referee.link import Link
    from enginetour.referee.quickgames import Together
    from enginetour.referee.seats import Seat


# The search under way, as the referee measures it (runner spec 3).


@dataclass(slots=True)
class Search:
    """Stamps are CLOCK_MONOTONIC in ns; all but the stamps is what we ourselves may have cost the move."""

    answered_ns: int = 0  # of the answer that is to be relayed, or was; 0: none, a first move or one of a book
    go_ns: int = 0  # right after the write
    write_ns: int = 0  # how long that took
    gap_ns: int = 0  # from the answer to the write
    late_ns: int = 0  # how late this process itself was for the wait under way

    def own_ns(self, waited_ns: int) -> int:
        """The error budget; `waited_ns`: for a processor, by the kernel."""
        return self.write_ns + self.gap_ns + self.late_ns + waited_ns


# The plies of a game to which nothing unusual happens, in compiled code (runner spec 4).

_PLAIN, _BOOKS, _STIRRED, _SLOW = range(4)  # why a run came back, as in native/relay.h; all else is the game's


class Left(NamedTuple):
    """How the plain plies ended."""

    end: End | None  # adjudicated
    thinking: bool  # a search is under way
    heard: bool  # there is something to hear in it already


class Relay:
    """One game's, of which `is_plain` holds. Made after both engines sat down."""

    def __init__(
        self,
        task: GameTask,
        position: Position,
        ends: Ends,
        books: Books,
        seats: tuple[Seat, Seat],
        link: Link,
        halts: Halts,
        together: Together,
    ) -> None:
        assert native is not None
        self._position, self._ends, self._books, self._seats, self._halts = position, ends, books, seats, halts
        self._control = () if link.control_fd is None else ((link.control_fd, select.EPOLLIN, "c"),)
        judge = self._judge if ends.adjudicator.needs_scores else None
        self._own = native.Relay(
            position.moves, books.raw.append, books.gaps.append, RawPly, written, halts, judge,
            books.queue_fd, task.rules.repetition, ends.halfmoves, ends.max_plies, MAX_LINE,
        )  # fmt: skip
        for seat in seats:
            process = seat.engine.process
            threads = [] if seat.queue is None else seat.queue.files
            limits = go_limits(seat.clock.tc).encode("ascii")
            self._own.seat(seat.white, seat, process.stdin_fd, process.stdout_fd, process.note, limits, threads)
        self._turns = -1  # of what is polled
        self._search = Search()
        self._together, self._begun = together, False

    def close(self) -> None:
        """Give its memory and descriptor back: it and `_judge` hold each other."""
        self._together.close()
        del self._own

    def takes(self, search: Search) -> bool:
        """Take the game over before a search, if all is as plain as it was; else its next ply is Python's."""
        if not all(seat.engine.is_plain and seat.queue is not None for seat in self._seats):
            return False
        self._search = search
        position = self._position
        if not self._own.take(
            position.board, position.line, position.words_begun, len(position.moves), position.anchor,
            position.begun_at, self._ends.seen, search.answered_ns,
        ):  # fmt: skip
            return False
        for seat in self._seats:
            clock = seat.clock
            rest, least = (-1 if ms is None else ms for ms in (clock.rest_ms, clock.least_ms))
            self._own.clock(
                seat.white, rest, clock.increment_ms, clock.margin_ms, clock.moves_to_go,
                clock.flag_ns(), clock.limit_ms, least, clock.longest_ms,
            )  # fmt: skip
        if not self._begun:
            self._begun = True
            self._together.begin(self._seats, len(position.moves))
        return True

    def run(self) -> Left:
        """Plain plies up to the first that is not; books are kept on the way, while nothing has come."""
        books, (white, black) = self._books, self._seats
        while True:
            self._watch()
            why = self._own.run(*books.terms(), black.look_ns, white.look_ns, self._together.quick_ns)
            books.crowd(self._own.crowd())
            if why == _STIRRED:
                for seat in self._seats:
                    seat.engine.process.drain_stderr()
            elif why == _BOOKS:
                seat = white if self._own.turn() else black
                if time.monotonic_ns() >= seat.look_ns:
                    books.watch(seat)
                books.work(self._own.stirs)
            elif why == _SLOW:
                self._together.part()
            else:
                return self._leave()

    def _watch(self) -> None:
        processes = [seat.engine.process for seat in self._seats]
        turns = sum(process.turns + process.out.turns for process in processes)
        if turns != self._turns:
            self._turns = turns
            self._own.watch((*self._control, *(one for process in processes for one in process.beside())))

    def _judge(self, seat: Seat, turn: bool, halfmoves: int, number: int, score: int | None) -> End | None:  # noqa: FBT001
        """The adjudicator's word on a position that no rule ends; the score is as the engine wrote it."""
        if score is not None and seat.side.spec.quirks.whitepov and not seat.white:
            score = -score
        return self._ends.adjudicator.by_score(Counters(turn, halfmoves, number), score)

    def _leave(self) -> Left:
        """Bring everything up to where the relay stands."""
        self._together.end(len(self._position.moves))
        thinking, text, stamp, go_ns, write_ns, gap_ns, answered_ns, waited, now, until, taken, unread, end = (
            self._own.ply()
        )
        line, words_begun, anchor, self._ends.seen = self._own.give(self._position.board)
        self._position.resume(line, anchor, words_begun=words_begun)
        for seat in self._seats:
            self._update(seat, go_ns, thinking=thinking and seat.white == self._own.turn())
        seat, other = self._seats if self._own.turn() else self._seats[::-1]
        if answered_ns:
            other.engine.stamp_ns = answered_ns
        search = self._search
        search.answered_ns = answered_ns
        if thinking:
            search.go_ns, search.write_ns, search.late_ns = go_ns, write_ns, 0
            search.gap_ns = gap_ns if answered_ns else 0
            self._books.search_goes_on(seat, other, go_ns, waited, gap_ns if answered_ns else None)
            if text:
                seat.engine.take_over(text, stamp)
            if unread:
                seat.engine.process.out.send(unread[taken:])
            if now:
                search.late_ns = self._halts.woke(now, until, go_ns + seat.clock.wait_ns())
        elif unread:
            seat.engine.take_over(unread, stamp)
        return Left(end, thinking, bool(text))

    def _update(self, seat: Seat, go_ns: int, *, thinking: bool) -> None:
        rest, to_go, moves, total, longest, least, margin_uses, searches, asked, marked, marked_ns = self._own.clocked(
            seat.white
        )
        if not searches:
            return
        clock = seat.clock
        clock.rest_ms, clock.least_ms = (None if ms < 0 else ms for ms in (rest, least))
        clock.moves_to_go, clock.longest_ms = to_go, longest
        clock.moves += moves
        clock.total_ms += total
        clock.margin_uses += margin_uses
        seat.searched, seat.asked_ns = True, asked
        seat.engine.searched(searches, go_ns if thinking else asked, thinking=thinking)
        if marked_ns and seat.queue is not None:
            seat.queue.marked(marked, marked_ns)


def is_plain(task: GameTask, position: Position, seats: tuple[Seat, Seat]) -> bool:
    """Not where compiled code is missing, or something in the game is not plain from its first to its last ply."""
    if native is None or not position.usual or task.rules.tables is not None:
        return False
    for seat in seats:
        spec = seat.side.spec
        if spec.protocol != "uci" or spec.ponder or spec.quirks.line_delay_ms or spec.resources.memory is not None:
            return False
        if seat.side.own_book is not None or seat.side.tc.hourglass:
            return False
    return True
