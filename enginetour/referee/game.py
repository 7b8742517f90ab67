"""One game: relays each move first, records it afterward."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import chess

from enginetour.engines.machine import processor_count, processor_name
from enginetour.engines.pipes import escape_bytes
from enginetour.engines.position import Position, read_move
from enginetour.engines.process import NEVER_NS, SLICE_NS, Wake, wait
from enginetour.engines.protocol import Ask
from enginetour.engines.wire import Message, MessageKind, escape_text
from enginetour.model.errors import EngineCrashed, EngineFault, InputRefused, MachineFailure, Untellable
from enginetour.model.game import Game, Incident, Opening, Termination
from enginetour.model.task import GameTask, OwnBook, Rules
from enginetour.referee import verdict as verdicts
from enginetour.referee.adjudication import End
from enginetour.referee.books import Books, RawPly
from enginetour.referee.clock import MS, Halts
from enginetour.referee.ends import Draws, Ends, ends_of
from enginetour.referee.link import Link
from enginetour.referee.relay import Relay, Search, is_plain
from enginetour.referee.seats import Seat
from enginetour.referee.startup import EngineShelf, incident, question, sit_down
from enginetour.referee.talk import converse, ended, heed, heed_until
from enginetour.referee.verdict import Verdict

if TYPE_CHECKING:
    from enginetour.openings.polyglot import Book


# The end of a game for its engines: fenced, told the result, kept for the next one or ended.


def told(
    verdict: Verdict, seats: Sequence[Seat], absent: Sequence[Seat], position: Position, own_ns: int
) -> list[Incident]:
    """One incident for each engine at fault; where the host is, for the engine whose turn it was.

    `own_ns` is what the referee itself may have cost the move under way.
    """
    if not verdict.category:
        return []
    guilty = list(absent) or [verdict.culprit or seats[0 if position.board.turn else 1]]
    ply = len(position.moves)
    own = None if absent else own_ns
    return [incident(seat, verdict.category, verdict.cause, ply, own_ns=own) for seat in guilty]


def part(verdict: Verdict, seats: Sequence[Seat], absent: Sequence[Seat], link: Link) -> None:
    """Mark who may not play again, take owed answers, tell the result. Nothing of it for a game that never began."""
    for seat in absent:
        if seat.present is not None:
            seat.present.spoiled = seat.present.spoiled or verdict.cause
    if absent:
        return
    if verdict.fatal:
        kept = verdict.culprit is not None and verdict.culprit.side.spec.restart == "off"
        for seat in () if kept else seats if verdict.culprit is None else (verdict.culprit,):
            seat.engine.spoiled = seat.engine.spoiled or verdict.cause
    owing = [seat.engine for seat in seats if seat.engine.thinking and not seat.engine.spoiled]
    converse({engine: engine.settle() for engine in owing}, link)
    listening = [seat.engine for seat in seats if not seat.engine.spoiled and not seat.engine.dead]
    words = {engine: engine.game_over(verdict.outcome.value, verdict.cause) for engine in listening}
    converse({engine: engine.say(*lines) for engine, lines in words.items() if lines}, link)


def leave(seats: Sequence[Seat], shelf: EngineShelf) -> None:
    """Engines back to the shelf; those that may not play again are ended, all at the same time."""
    shelf.give_back(*(seat.present for seat in seats if seat.present is not None))


# A game as it is told: its beginning to whoever looks on, its record to the store.

LONGEST_LINE = 4_096  # bytes of a line in a log of traffic: more than the longest `position` (runner spec 6)


def beginning(task: GameTask, position: Position, seats: Sequence[Seat]) -> dict[str, object]:
    """The live event "start": who plays, from where, the clocks in milliseconds; `at` in UTC seconds."""
    return {
        "white": task.pairing.white,
        "black": task.pairing.black,
        "opening": task.opening.name,
        "variant": task.opening.variant,
        "fen": task.opening.fen,
        "moves": list(position.moves),
        "clocks": [seat.clock.rest_ms for seat in seats],
        "tc": [str(task.white.tc), str(task.black.tc)],
        "at": time.time(),
    }


def written(
    task: GameTask, verdict: Verdict, books: Books, seats: Sequence[Seat], started: float, incidents: Sequence[Incident]
) -> Game:
    """The record of a game that has just ended; White's seat first."""
    white, black = seats
    return Game(
        pairing=task.pairing,
        outcome=verdict.outcome,
        termination=verdict.termination,
        cause=verdict.cause,
        culprit=verdict.culprit.name if verdict.culprit is not None else "",
        category=verdict.category,
        opening=task.opening,
        moves=tuple(books.moves),
        white=books.side_record(white),
        black=books.side_record(black),
        white_tc=str(task.white.tc),
        black_tc=str(task.black.tc),
        final_fen=books.final_fen,
        started=started,
        ended=time.time(),
        relay_us=books.relay_us(),
        incidents=tuple(incidents),
        replay=task.replay,
        hardware=processor_name(),
        load=books.workload.load(),
        cores=processor_count(),
        steal=books.workload.steal(),
        own_us=None if verdict.own_ns is None else verdict.own_ns // 1000,
        traffic=_traffic(seats) if task.log_traffic else (),
    )


def _traffic(seats: Sequence[Seat]) -> tuple[str, ...]:
    """Both engines in one, in the order of time: ``0.012345 White < bestmove e2e4``, seconds since the game began."""
    began = min(seat.began_ns for seat in seats)
    told = [
        (stamp, f"{(stamp - began) / 1e9:.6f} {seat.color} {way} {escape_bytes(line, LONGEST_LINE)}")
        for seat in seats
        if seat.present is not None
        for stamp, way, line in seat.present.process.traffic_since(began)
    ]
    return tuple(words for _, words in sorted(told, key=itemgetter(0)))


# What an engine answered: the move it means, and whether it had two answers to give (runner spec 5.6).


def _read_answer(seat: Seat, said: Message, at: Position) -> chess.Move | None:
    """The legal move it means; an odd form is noted once."""
    lenient = seat.side.spec.quirks.lenient_promotion
    move, odd = read_move(at.board, said.text, lenient_promotion=lenient, usual=at.usual, check=at.check)
    if move is not None and odd and not seat.engine.usual(said.text):
        seat.engine.note("odd-move", f"wrote {escape_text(said.text)!r} for {move.uci()}")
    return move


def _second_answer(seat: Seat, flag_ns: int, link: Link, late: Callable[[int], None]) -> Message | None:
    """A second answer after an illegal one, up to CLOCK_MONOTONIC `flag_ns`, or None, also after a death meanwhile."""
    second = converse({seat.engine: seat.engine.question(flag_ns)}, link, late)[seat.engine]
    return second if isinstance(second, Message) else None


# Plies that no engine is asked for: the opening's, and those of the book we play from for one side.


def _play_opening(opening: Opening, position: Position, ends: Ends, books: Books) -> None:
    """ValueError for one that ends the game."""
    for text in opening.moves:
        move = position.board.parse_uci(text)
        books.enter(RawPly(move, None))
        if ends.push(move) is not None:
            raise ValueError(f"opening {opening.name!r} ends the game at {text}")


class _OwnBooks:
    """The books of the two sides in one game. A side that is out of its book once stays out of it."""

    def __init__(self, seats: Sequence[Seat], position: Position) -> None:
        self._position = position
        self._open = {seat.white: (seat, seat.side.own_book) for seat in seats if seat.side.own_book is not None}
        self._books: dict[str, Book] = {}

    def play(self, ends: Ends, books: Books) -> tuple[bool, End | None]:
        """Play as long as whoever is to move has a book move: whether any was played, and how it ended the game.

        MachineFailure when a book that was there at the start of the run cannot be read here and now.
        """
        played = False
        while (found := self._open.get(self._position.board.turn)) is not None:
            seat, book = found
            move = self._move(book)
            if move is None:
                del self._open[self._position.board.turn]
                break
            books.enter(RawPly(move, seat, 0, seat.clock.rest_ms, book=True))
            played = True
            end = ends.answered(move, lambda: None)
            if end is not None:
                return True, end
        return played, None

    def _move(self, book: OwnBook) -> chess.Move | None:
        if len(self._position.moves) >= book.plies:
            return None
        if book.path not in self._books:
            try:
                from enginetour.openings.polyglot import Book  # here, for a quicker start

                self._books[book.path] = Book(Path(book.path))
            except InputRefused as refused:
                raise MachineFailure(f"own book {book.path}: {refused.what}") from None
        return self._books[book.path].move(self._position.board, book.choice, book.seed, len(self._position.moves))

    def close(self) -> None:
        """Give the files back."""
        for book in self._books.values():
            book.close()


# How an engine fails in a game under way: it is late, silent, stalled or gone (reliability spec section 2).
#
# The first cause wins: an end that comes late is a flag. Here it is found out what happened, who is to blame for it is
# in `verdict.py`.

_CRASH_LOOK_NS = 100 * MS  # before a crash is booked: a stop may have ended the engine (reliability 1)


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

    def late(self, seat: Seat, said: Message) -> Verdict | None:
        """A flag, if it said that too late."""
        in_time = (elapsed := said.stamp_ns - self._search.go_ns) < seat.clock.flag_ns()
        return None if in_time else self.flag(seat, elapsed, f"with {escape_text(said.text)!r}")

    def silence(self, seat: Seat) -> Verdict:
        """The deadline and its grace have passed: stop, take the owed answer, tell the true overrun."""
        flag_ns = self._search.go_ns + seat.clock.flag_ns()
        engine, own_ns = seat.engine, self.own_ns()  # what we wait from here on excuses nothing
        used_ns = 0 if seat.queue is None else seat.queue.used_ns()
        converse({engine: engine.settle()}, self._link, self._halts.overslept)
        if seat.draw_claimed:
            words = f"{seat.color} claims a draw that is none and does not move"
            return verdicts.loss(seat, Termination.FALSE_CLAIM, words)
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
        answered, words = starved or not words, words or verdicts.overrun(seat.clock, elapsed_ns, when)
        if self._halts.words:
            return verdicts.void(None, "host", f"{seat.color}: {words}; {self._halts.words}", Termination.TIME)
        over_ns = elapsed_ns - seat.clock.flag_ns() if answered else None
        own_ns = self.own_ns() if own_ns is None else own_ns
        waited_ns = None if seat.queue is None else seat.queue.machine_ns()
        if starved:  # it waits still, and the kernel counts a wait when it is over
            waited_ns = max(waited_ns or 0, elapsed_ns)
        return verdicts.flag(seat, self._position.board, self._rules, over_ns, own_ns, words, waited_ns=waited_ns)

    def at_fence(self, seat: Seat, other: Seat, fault: EngineFault) -> Verdict:
        """It ended before its `go`, or did not answer the fence."""
        if isinstance(fault, EngineCrashed):
            return self.crash(seat, other)
        return verdicts.stall(seat, fault, self._halts.words)

    def crash(self, seat: Seat, other: Seat) -> Verdict:
        """Look for a stop first: a service manager ends engines and us in one go."""
        seen_ns = seat.engine.stamp_ns if seat.engine.dead else time.monotonic_ns()
        heed_until(self._link, time.monotonic_ns() + _CRASH_LOOK_NS)
        other.engine.pull()
        if seat.engine.thinking and not seat.engine.pondering and seen_ns - self._search.go_ns >= seat.clock.flag_ns():
            return self.flag(seat, seen_ns - self._search.go_ns, f"when it ended: {ended(seat.engine)}")
        if other.engine.process.eof and verdicts.at_once(seen_ns, other.engine.stamp_ns, self._search.answered_ns):
            return verdicts.both_ended(seat, ended(seat.engine), ended(other.engine))
        return verdicts.crash(seat, ended(seat.engine))


# One game between two engines: relay first, books afterwards (runner spec sections 3 to 5 and 10).

_ANSWER = MessageKind.ANSWER  # an enumeration looks its members up by name, each time
_READ = Wake((), control=False, heard=True)  # what there is to hear has been read


def play(task: GameTask, link: Link, shelf: EngineShelf) -> Game:
    """Play one game to its end; an engine's failure comes back as a Game.

    Raises MachineFailure when told to stop now or when this machine cannot start a process, ValueError for an
    opening that cannot be played; both engines are dead then. An engine that cannot be told where the opening begins
    plays from the task's spare one.
    """
    contest = Contest(task, link, shelf)
    try:
        game = contest.play()
    except BaseException:
        for seat in contest.seats:
            if seat.present is not None:
                seat.present.kill()
        shelf.together.leave()
        raise
    finally:
        contest.close()
    if game is not None:
        return game
    assert task.spare is not None
    return play(replace(task, opening=task.spare, spare=None), link, shelf)


class Contest:
    """A game under way: board, seats, books, and the ply being played."""

    def __init__(self, task: GameTask, link: Link, shelf: EngineShelf) -> None:
        self._task = task
        self._link = link
        self._shelf = shelf
        self._started = time.time()
        self._position = Position(task.opening.fen, task.opening.variant)
        self._ends = ends_of(task, self._position)
        self._white, self._black = Seat(task.white, task.rules, white=True), Seat(task.black, task.rules, white=False)
        self.seats = (self._white, self._black)
        self._draws = Draws(self.seats, self._ends, by_agreement=task.rules.draw_offers)
        self._books = Books(self._position, link, shelf, task.keep_lines)
        self._own_books = _OwnBooks(self.seats, self._position)
        self._search = Search()
        self._halts = Halts()
        self._failures = Failures(task.rules, self._position, self._search, self._books, link, self._halts)
        self._relay: Relay | None = None  # for plain plies; None: all are played here

    def close(self) -> None:
        """Give back what the game held open."""
        if self._relay is not None:  # first: it lets go who is bound
            self._relay.close()
        self._books.release()
        self._own_books.close()
        self._halts.close()

    def play(self) -> Game | None:
        """From the opening to the record; None if the game is to begin at the task's spare opening."""
        _play_opening(self._task.opening, self._position, self._ends, self._books)
        faults = sit_down(self.seats, self._position, self._link, self._shelf, self._halts.overslept)
        self._books.begin(*self.seats)
        if faults and self._task.spare is not None and all(isinstance(each, Untellable) for each in faults.values()):
            leave(self.seats, self._shelf)
            return None
        if faults:
            return self._finish(verdicts.at_start(faults, self._halts.words), tuple(faults))
        self._link.tell("start", beginning(self._task, self._position, self.seats))
        if is_plain(self._task, self._position, self.seats):
            self._relay = Relay(
                self._task, self._position, self._ends, self._books, self.seats, self._link, self._halts,
                self._shelf.together,
            )  # fmt: skip
        while (verdict := self._plies()) is None:
            pass
        return self._finish(verdict)

    def _plies(self) -> Verdict | None:
        """Plain ones as many as there are, and the one that is not."""
        if self._relay is None or not self._relay.takes(self._search):
            return self._ply()
        left = self._relay.run()
        if left.end is not None:
            return verdicts.by_rule(left.end)
        if not left.thinking:
            return self._ply()
        seat, other = self._sides()
        return self._concluded(seat, other, self._await(seat, other, read=left.heard))

    def _sides(self) -> tuple[Seat, Seat]:  # who is to move, and who is not
        return self.seats if self._position.board.turn == chess.WHITE else (self._black, self._white)

    def _ply(self) -> Verdict | None:
        played, end = self._own_books.play(self._ends, self._books)
        if end is not None:
            return verdicts.by_rule(end)
        self._search.answered_ns = 0 if played else self._search.answered_ns
        seat, other = self._sides()
        ask = question(self._position, seat, other)
        if (verdict := self._approach(seat, other, ask)) is not None:
            return verdict
        # What is said ahead of `go` takes its time on nobody's clock: no part of the referee's own share.
        relayed = self._search.answered_ns and not seat.engine.stands_apart(ask)
        search, before_ns = self._search, time.monotonic_ns()
        search.go_ns = seat.asked_ns = seat.engine.go(ask)
        search.write_ns, search.late_ns = search.go_ns - before_ns, 0
        search.gap_ns = before_ns - search.answered_ns if relayed else 0
        if relayed:
            self._books.relayed(search.gap_ns)
        self._books.search_begun(seat, other, search.go_ns)
        seat.searched = True
        return self._concluded(seat, other, self._await(seat, other))

    def _concluded(self, seat: Seat, other: Seat, said: Message | Verdict) -> Verdict | None:
        return said if isinstance(said, Verdict) else self._answered(seat, other, said)

    def _approach(self, seat: Seat, other: Seat, ask: Ask) -> Verdict | None:
        """Everything that stands before `go`, on nobody's clock."""
        engine = seat.engine
        for said in engine.discard():
            if (verdict := self._talk(seat, said, thinking=False)) is not None:
                return verdict
        if engine.dead or engine.process.broken:
            return self._failures.crash(seat, other)
        if (verdict := self._draws.asked(seat)) is not None:
            return verdict
        if engine.stands_apart(ask):
            fault = converse({engine: engine.approach(ask)}, self._link, self._halts.overslept)[engine]
            if isinstance(fault, EngineFault):
                return self._failures.at_fence(seat, other, fault)
        return None

    def _await(self, seat: Seat, other: Seat, *, read: bool = False) -> Message | Verdict:
        """The answer, or what ended the game instead. Books are kept while nothing has come.

        `read`: some of what it said has been read and not heard.
        """
        engine, books, control = seat.engine, self._books, self._link.control_fd
        processes = process, other_process = engine.process, other.engine.process
        deadline = self._search.go_ns + seat.clock.wait_ns()
        now = time.monotonic_ns()
        verdict = self._overhear(other)  # what came with its answer and was not yet heard
        while verdict is None:
            due = deadline if (owed := engine.due_ns) is None else min(deadline, owed)
            working = books.due_ns <= now and not read
            until = now if working else max(now, min(due, books.due_ns, now + SLICE_NS))
            if read:
                wake, read = _READ, False
            else:
                wake = wait(processes, control, 0) if working else wait(processes, control, until, engine.chatter)
            now = time.monotonic_ns()
            self._search.late_ns += self._halts.woke(now, until, NEVER_NS if working else due)
            if now >= seat.look_ns:
                books.watch(seat)
            spoke = process in wake.readable
            if spoke or wake.heard or now >= due:
                if spoke:
                    engine.pull()
                while (said := engine.heard()) is not None:
                    if said.what is _ANSWER:
                        return said
                    if (verdict := self._talk(seat, said, thinking=True)) is not None:
                        return verdict
                if engine.dead:
                    return self._failures.crash(seat, other)
            if process.out.broken:
                return self._last_words(seat, other)
            if other_process in wake.readable:
                other.engine.pull()
                verdict = self._overhear(other)
            if wake.control:
                heed(self._link)
            if verdict is None and time.monotonic_ns() >= deadline:
                return engine.overdue() or self._failures.silence(seat)
            if working and not spoke:  # the other one may talk without end
                books.step()
        return verdict

    def _last_words(self, seat: Seat, other: Seat) -> Message | Verdict:
        """It closed its input and can hear nothing more: what it has said by now still counts."""
        for said in seat.engine.discard():
            last = said if said.what is MessageKind.ANSWER else self._talk(seat, said, thinking=True)
            if last is not None:
                return last
        return seat.engine.overdue() or self._failures.crash(seat, other)

    def _overhear(self, other: Seat) -> Verdict | None:
        """What the side that is not to move says."""
        while not other.engine.silent and (said := other.engine.heard()) is not None:
            if (verdict := self._talk(other, said, thinking=False)) is not None:
                return verdict
        return None

    def _talk(self, seat: Seat, said: Message, *, thinking: bool) -> Verdict | None:
        verdict = verdicts.of_talk(seat, said, thinking=thinking, aborts=self._task.aborts)
        if verdict is None:
            verdict = self._draws.heard(seat, said, thinking=thinking)
        if verdict is None or not thinking:
            return verdict
        if said.what is not MessageKind.OFFER:  # who offers thinks on
            seat.engine.search_over()
        late = self._failures.late(seat, said)
        return verdict if late is None or late.void else late

    # Judging an answer.

    def _answered(self, seat: Seat, other: Seat, said: Message) -> Verdict | None:
        clock, engine = seat.clock, seat.engine
        if (late := self._failures.late(seat, said)) is not None:
            return late
        elapsed, move = said.stamp_ns - self._search.go_ns, _read_answer(seat, said, self._position)
        if move is None:
            if said.cut:
                return self._failures.crash(seat, other)
            second = _second_answer(seat, self._search.go_ns + clock.flag_ns(), self._link, self._halts.overslept)
            if second is not None:
                said, elapsed = second, second.stamp_ns - self._search.go_ns
                move = _read_answer(seat, said, self._position)
        if move is None:
            ignored = clock.moves == 0 and self._task.opening.fen is not None
            return verdicts.illegal(seat, said.text, self._position.board, ignored=ignored)
        spent = clock.charge(elapsed, other.clock)
        if spent is None:
            return self._failures.flag(seat, elapsed, "after a stale answer")
        end = self._ends.answered(move, seat.score)
        self._search.answered_ns = said.stamp_ns
        self._books.enter(RawPly(move, seat, spent, clock.rest_ms, engine.search_text, mark=self._ends.mark(end)))
        if self._halts.words:
            return verdicts.void(None, "host", self._halts.words)
        if end is not None:
            return verdicts.by_rule(end)
        return self._draws.answered(seat)

    # The record.

    def _finish(self, verdict: Verdict, absent: tuple[Seat, ...] = ()) -> Game:
        """Write the books, fence what still owes an answer, keep or end the engines."""
        own_ns = self._failures.own_ns() if verdict.own_ns is None else verdict.own_ns
        self._books.close()
        incidents = self._books.incidents + told(verdict, self.seats, absent, self._position, own_ns)
        part(verdict, self.seats, absent, self._link)
        leave(self.seats, self._shelf)
        incidents += self._shelf.partings()
        self._link.tell("end", {"outcome": verdict.outcome.value, "cause": verdict.cause})
        return written(self._task, verdict, self._books, self.seats, self._started, incidents)
