"""One game between two engines: relay first, books afterwards (runner spec sections 3 to 5 and 10)."""

from __future__ import annotations

import time
from dataclasses import replace

import chess

from enginetour.engines.position import Position
from enginetour.engines.process import NEVER_NS, SLICE_NS, Wake, wait
from enginetour.engines.protocol import Ask
from enginetour.engines.wire import Said, What
from enginetour.model.errors import EngineFault, Untellable
from enginetour.model.game import Game
from enginetour.model.task import GameTask
from enginetour.referee import record
from enginetour.referee import verdict as verdicts
from enginetour.referee.answers import read_answer, second_answer
from enginetour.referee.bookkeeping import Books
from enginetour.referee.bookplies import OwnBooks, play_opening
from enginetour.referee.clock import Halts
from enginetour.referee.converse import converse, heed
from enginetour.referee.draws import Draws
from enginetour.referee.ends import ends_of
from enginetour.referee.failures import Failures
from enginetour.referee.link import Link
from enginetour.referee.parting import leave, part, told
from enginetour.referee.referee_seats import Seat, question, sit_down
from enginetour.referee.relay import Relay, is_plain
from enginetour.referee.scribe import RawPly
from enginetour.referee.search import Search
from enginetour.referee.shelf import EngineShelf
from enginetour.referee.verdict import Verdict

_ANSWER = What.ANSWER  # an enumeration looks its members up by name, each time
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
        self._own_books = OwnBooks(self.seats, self._position)
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
        play_opening(self._task.opening, self._position, self._ends, self._books)
        faults = sit_down(self.seats, self._position, self._link, self._shelf, self._halts.overslept)
        self._books.begin(*self.seats)
        if faults and self._task.spare is not None and all(isinstance(each, Untellable) for each in faults.values()):
            leave(self.seats, self._shelf)
            return None
        if faults:
            return self._finish(verdicts.at_start(faults, self._halts.words), tuple(faults))
        self._link.tell("start", record.beginning(self._task, self._position, self.seats))
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

    def _concluded(self, seat: Seat, other: Seat, said: Said | Verdict) -> Verdict | None:
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

    def _await(self, seat: Seat, other: Seat, *, read: bool = False) -> Said | Verdict:
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

    def _last_words(self, seat: Seat, other: Seat) -> Said | Verdict:
        """It closed its input and can hear nothing more: what it has said by now still counts."""
        for said in seat.engine.discard():
            last = said if said.what is What.ANSWER else self._talk(seat, said, thinking=True)
            if last is not None:
                return last
        return seat.engine.overdue() or self._failures.crash(seat, other)

    def _overhear(self, other: Seat) -> Verdict | None:
        """What the side that is not to move says."""
        while not other.engine.silent and (said := other.engine.heard()) is not None:
            if (verdict := self._talk(other, said, thinking=False)) is not None:
                return verdict
        return None

    def _talk(self, seat: Seat, said: Said, *, thinking: bool) -> Verdict | None:
        verdict = verdicts.of_talk(seat, said, thinking=thinking, aborts=self._task.aborts)
        if verdict is None:
            verdict = self._draws.heard(seat, said, thinking=thinking)
        if verdict is None or not thinking:
            return verdict
        if said.what is not What.OFFER:  # who offers thinks on
            seat.engine.search_over()
        late = self._failures.late(seat, said)
        return verdict if late is None or late.void else late

    # Judging an answer.

    def _answered(self, seat: Seat, other: Seat, said: Said) -> Verdict | None:
        clock, engine = seat.clock, seat.engine
        if (late := self._failures.late(seat, said)) is not None:
            return late
        elapsed, move = said.stamp_ns - self._search.go_ns, read_answer(seat, said, self._position)
        if move is None:
            if said.cut:
                return self._failures.crash(seat, other)
            second = second_answer(seat, self._search.go_ns + clock.flag_ns(), self._link, self._halts.overslept)
            if second is not None:
                said, elapsed = second, second.stamp_ns - self._search.go_ns
                move = read_answer(seat, said, self._position)
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
        return record.written(self._task, verdict, self._books, self.seats, self._started, incidents)
