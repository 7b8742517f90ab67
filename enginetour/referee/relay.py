"""One ply: send `go`, wait, read, judge and pass the move on. Python does this, and compiled code for plain plies.

`Relay` makes every decision about the input and output of a ply, and about an engine that is late, does not respond or
crashes (runner spec sections 3 to 5, reliability spec section 2). If the compiled part was built, `native.Relay` plays
plain plies in the same way. It stops before anything unusual: a line out of turn, an odd or late answer, an answer that
ends the game, a full pipe, a signal, a late wake-up. So every decision is written only once, in Python (see
enginetour/native/README.md).
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import chess

from enginetour.engines.position import MAX_LINE, read_move
from enginetour.engines.process import NEVER_NS, SLICE_NS, Wake, wait
from enginetour.engines.protocol import Ask
from enginetour.engines.uci_lines import go_limits
from enginetour.engines.wire import Message, MessageKind, escape_text
from enginetour.interop.compiled import native
from enginetour.model.errors import EngineCrashed, EngineFault
from enginetour.model.game import Termination
from enginetour.model.task import GameTask
from enginetour.referee import verdict as verdicts
from enginetour.referee.adjudication import Counters
from enginetour.referee.clock import MS, Interruptions
from enginetour.referee.ends import DrawClaims
from enginetour.referee.record import RawPly, Record
from enginetour.referee.startup import search_request
from enginetour.referee.talk import check_stop, describe_exit, run_scripts, wait_for_stop
from enginetour.referee.verdict import Verdict

if TYPE_CHECKING:
    from enginetour.engines.position import Position
    from enginetour.referee.adjudication import End
    from enginetour.referee.ends import RuleEnds
    from enginetour.referee.link import Link
    from enginetour.referee.quickgames import SharedProcessor
    from enginetour.referee.startup import Seat


class GameState(NamedTuple):
    """The objects of a game in progress that the parts of the referee share."""

    task: GameTask
    position: Position
    ends: RuleEnds
    record: Record
    seats: tuple[Seat, Seat]  # White's seat, Black's seat
    link: Link
    halts: Interruptions


@dataclass(slots=True)
class _SearchTimes:
    """Times of the current search in ns. `answered_ns` and `go_ns` are CLOCK_MONOTONIC times, the others are delays."""

    answered_ns: int = 0  # time of the opponent's answer before the search; 0 if it had none or a book move followed
    go_ns: int = 0  # time right after `go` was written
    write_ns: int = 0  # duration of the write of `go`
    gap_ns: int = 0  # time from the opponent's answer to the write of `go`
    late_ns: int = 0  # delay of this process in the waits of the search

    def own_ns(self, waited_ns: int) -> int:
        """Return the delay that the referee may have caused. `waited_ns` is this process's wait for a processor."""
        return self.write_ns + self.gap_ns + self.late_ns + waited_ns


_CRASH_LOOK_NS = 100 * MS  # wait before a crash is recorded, because a stop may have ended the engine (reliability 1)
_ANSWER = MessageKind.ANSWER  # a local name is faster than looking up the member each time
_READ = Wake((), control=False, heard=True)  # used if some output has been read already


class Relay:
    """The relay of one game: plays its plies, from the first position in which an engine is to move to the verdict.

    `play_book` plays the book moves of the side to move. It returns whether there were any, and how they ended the
    game.
    """

    def __init__(self, state: GameState, play_book: Callable[[], tuple[bool, End | None]]) -> None:
        self._state, self._play_book = state, play_book
        self._task, self._position, self._ends, self._record, self._seats, self._link, self._halts = state
        self._draws = DrawClaims(self._seats, self._ends, by_agreement=self._task.rules.draw_offers)
        self._search = _SearchTimes()
        self._compiled: CompiledRelay | None = None

    def play(self, sharing: SharedProcessor) -> Verdict:
        """Play until the game is over. Both engines must be ready. Raises MachineFailure if a stop is requested."""
        if _is_plain(self._task, self._position, self._seats):
            self._compiled = CompiledRelay(self._state, sharing)
        while (verdict := self._plies()) is None:
            pass
        return verdict

    def close(self) -> None:
        """Release the memory and the descriptor of the compiled part."""
        if self._compiled is not None:
            self._compiled.close()

    def own_ns(self) -> int:
        """Return the delay of the current move that the referee may have caused, in ns (runner spec 3)."""
        return self._search.own_ns(self._record.waited_now())

    def _plies(self) -> Verdict | None:
        if self._compiled is None or not self._compiled.takes(self._search):
            return self._ply()
        left = self._compiled.run()
        if left.end is not None:
            return verdicts.by_rule(left.end)
        if not left.thinking:
            return self._ply()
        seat, other = self._sides()
        return self._answered(seat, other, self._await(seat, other, read=left.heard))

    def _sides(self) -> tuple[Seat, Seat]:  # the side to move, and the other side
        return self._seats if self._position.board.turn == chess.WHITE else self._seats[::-1]

    def _ply(self) -> Verdict | None:
        played, end = self._play_book()
        if end is not None:
            return verdicts.by_rule(end)
        self._search.answered_ns = 0 if played else self._search.answered_ns
        seat, other = self._sides()
        ask = search_request(self._position, seat, other)
        if (verdict := self._approach(seat, other, ask)) is not None:
            return verdict
        # No clock is running during the lines before `go`, so they are not a delay by the referee.
        relayed = self._search.answered_ns and not seat.engine.needs_preparation(ask)
        search, before_ns = self._search, time.monotonic_ns()
        search.go_ns = seat.asked_ns = seat.engine.go(ask)
        search.write_ns, search.late_ns = search.go_ns - before_ns, 0
        search.gap_ns = before_ns - search.answered_ns if relayed else 0
        if relayed:
            self._record.relayed(search.gap_ns)
        self._record.search_begun(seat, other, search.go_ns)
        seat.searched = True
        return self._answered(seat, other, self._await(seat, other))

    def _approach(self, seat: Seat, other: Seat, ask: Ask) -> Verdict | None:
        engine = seat.engine
        for message in engine.discard():
            if (verdict := self._talk(seat, message, thinking=False)) is not None:
                return verdict
        if engine.dead or engine.process.broken:
            return self._crash(seat, other)
        if (verdict := self._draws.asked(seat)) is not None:
            return verdict
        if engine.needs_preparation(ask):
            fault = run_scripts({engine: engine.approach(ask)}, self._link, self._halts.overslept)[engine]
            if isinstance(fault, EngineFault):
                return self._at_fence(seat, other, fault)
        return None

    def _await(self, seat: Seat, other: Seat, *, read: bool = False) -> Message | Verdict:
        """Wait for the answer and return it, or return the verdict if the game ends before it.

        Do bookkeeping while there is nothing to read. `read` is true if some output was read but not yet processed.
        """
        engine, record, control = seat.engine, self._record, self._link.control_fd
        processes = process, other_process = engine.process, other.engine.process
        deadline = self._search.go_ns + seat.clock.wait_ns()
        now = time.monotonic_ns()
        verdict = self._overhear(other)  # process output that the opponent sent together with its last answer
        while verdict is None:
            due = deadline if (owed := engine.due_ns) is None else min(deadline, owed)
            working = record.due_ns <= now and not read
            until = now if working else max(now, min(due, record.due_ns, now + SLICE_NS))
            if read:
                wake, read = _READ, False
            else:
                wake = wait(processes, control, 0) if working else wait(processes, control, until, engine.read_chatter)
            now = time.monotonic_ns()
            self._search.late_ns += self._halts.woke(now, until, NEVER_NS if working else due)
            if now >= seat.look_ns:
                record.watch(seat)
            spoke = process in wake.readable
            if spoke or wake.heard or now >= due:
                if spoke:
                    engine.pull()
                while (message := engine.next_message()) is not None:
                    if message.kind is _ANSWER:
                        return message
                    if (verdict := self._talk(seat, message, thinking=True)) is not None:
                        return verdict
                if engine.dead:
                    return self._crash(seat, other)
            if process.out.broken:
                return self._last_words(seat, other)
            if other_process in wake.readable:
                other.engine.pull()
                verdict = self._overhear(other)
            if wake.control:
                check_stop(self._link)
            if verdict is None and now >= deadline:  # not a later time: output may have arrived since the wait
                return engine.held_back_answer() or self._silence(seat)
            if (
                working and not spoke
            ):  # only the output of this engine delays bookkeeping; the other may never be silent
                record.step()
        return verdict

    def _last_words(self, seat: Seat, other: Seat) -> Message | Verdict:
        """Process the last output of an engine that closed its input. Output that it has already sent still counts."""
        for message in seat.engine.discard():
            last = message if message.kind is MessageKind.ANSWER else self._talk(seat, message, thinking=True)
            if last is not None:
                return last
        return seat.engine.held_back_answer() or self._crash(seat, other)

    def _overhear(self, other: Seat) -> Verdict | None:
        while not other.engine.silent and (message := other.engine.next_message()) is not None:
            if (verdict := self._talk(other, message, thinking=False)) is not None:
                return verdict
        return None

    def _talk(self, seat: Seat, message: Message, *, thinking: bool) -> Verdict | None:
        verdict = verdicts.by_message(seat, message, thinking=thinking, aborts=self._task.aborts)
        if verdict is None:
            verdict = self._draws.heard(seat, message, thinking=thinking)
        if verdict is None or not thinking:
            return verdict
        if message.kind is not MessageKind.OFFER:  # after an offer the engine continues its search
            seat.engine.search_over()
        late = self._late(seat, message)
        return verdict if late is None or late.void else late

    def _answered(self, seat: Seat, other: Seat, message: Message | Verdict) -> Verdict | None:
        if isinstance(message, Verdict):
            return message
        clock, engine = seat.clock, seat.engine
        if (late := self._late(seat, message)) is not None:
            return late
        elapsed, move = message.stamp_ns - self._search.go_ns, _read_answer(seat, message, self._position)
        if move is None:
            if message.cut:
                return self._crash(seat, other)
            # If a second answer arrives before the flag, it counts (runner spec 5.6), because the first answer may
            # belong to an earlier search.
            question = {engine: engine.question(self._search.go_ns + clock.flag_ns())}
            second = run_scripts(question, self._link, self._halts.overslept)[engine]
            if isinstance(second, Message):  # otherwise there is no second answer, or the engine has crashed
                message, elapsed = second, second.stamp_ns - self._search.go_ns
                move = _read_answer(seat, message, self._position)
        if move is None:
            ignored = clock.moves == 0 and self._task.opening.fen is not None
            return verdicts.illegal(seat, message.text, self._position.board, ignored=ignored)
        spent = clock.charge(elapsed, other.clock)
        if spent is None:
            return self._flag(seat, elapsed, "after an answer to an earlier search")
        end = self._ends.answered(move, seat.score)
        self._search.answered_ns = message.stamp_ns
        self._record.enter(RawPly(seat, spent, clock.rest_ms, engine.search_text, mark=self._ends.mark(end)))
        if self._halts.reason:
            return verdicts.void(None, "host", self._halts.reason)
        if end is not None:
            return verdicts.by_rule(end)
        return self._draws.answered(seat)

    # Failures of an engine during a game: it is late, does not answer, stalls or crashes (reliability spec section 2).
    #
    # The first cause counts: a crash after the flag is a time loss. This class finds out what happened, and
    # `verdict.py` decides who is at fault.

    def _late(self, seat: Seat, message: Message) -> Verdict | None:
        in_time = (elapsed := message.stamp_ns - self._search.go_ns) < seat.clock.flag_ns()
        return None if in_time else self._flag(seat, elapsed, f"with answer {escape_text(message.text)!r}")

    def _silence(self, seat: Seat) -> Verdict:
        """Handle a deadline without an answer: send stop, read the outstanding answer, report the true overrun."""
        flag_ns = self._search.go_ns + seat.clock.flag_ns()
        engine, own_ns = seat.engine, self.own_ns()  # later waits are not a delay of the move
        used_ns = 0 if seat.waits is None else seat.waits.used_ns()
        run_scripts({engine: engine.settle()}, self._link, self._halts.overslept)
        if seat.draw_claimed:
            text = f"{seat.color} claims a draw without reason and does not move"
            return verdicts.loss(seat, Termination.FALSE_CLAIM, text)
        if engine.late_ns:
            return self._flag(seat, engine.late_ns - self._search.go_ns, "after stop", own_ns=own_ns)
        late = time.monotonic_ns() - flag_ns
        text = f"no answer {late / 1e9:.1f} s after {seat.clock.hang_limit_text or 'the flag'}"
        starved = seat.waits is not None and seat.waits.is_kept_waiting(used_ns)
        if starved:
            text += " because the engine got no processor"
        return self._flag(seat, late + seat.clock.flag_ns(), "", text, own_ns=own_ns, starved=starved)

    def _flag(
        self,
        seat: Seat,
        elapsed_ns: int,
        when: str,
        text: str = "",
        *,
        own_ns: int | None = None,
        starved: bool = False,
    ) -> Verdict:
        """Return the verdict for an engine that exceeded its time.

        `when` describes the late answer, or the end of the process. `text` is given if there was neither of them.
        `own_ns` is the delay of the referee, if it was measured earlier. `starved` is true if the engine could not
        answer, because it got no processor.
        """
        answered, text = starved or not text, text or verdicts.overrun(seat.clock, elapsed_ns, when)
        if self._halts.reason:
            return verdicts.void(None, "host", f"{seat.color}: {text}; {self._halts.reason}", Termination.TIME)
        over_ns = elapsed_ns - seat.clock.flag_ns() if answered else None
        own_ns = self.own_ns() if own_ns is None else own_ns
        waited_ns = None if seat.waits is None else seat.waits.machine_ns()
        if starved:  # the engine is still waiting, and the kernel only counts a wait after its end
            waited_ns = max(waited_ns or 0, elapsed_ns)
        return verdicts.flag(seat, self._position.board, self._task.rules, over_ns, own_ns, text, waited_ns=waited_ns)

    def _at_fence(self, seat: Seat, other: Seat, fault: EngineFault) -> Verdict:
        if isinstance(fault, EngineCrashed):
            return self._crash(seat, other)
        return verdicts.stall(seat, fault, self._halts.reason)

    def _crash(self, seat: Seat, other: Seat) -> Verdict:
        """Return the verdict for a crash. Check for a stop first, because a service manager ends all processes."""
        seen_ns = seat.engine.stamp_ns if seat.engine.dead else time.monotonic_ns()
        wait_for_stop(self._link, time.monotonic_ns() + _CRASH_LOOK_NS)
        other.engine.pull()
        if seat.engine.thinking and not seat.engine.pondering and seen_ns - self._search.go_ns >= seat.clock.flag_ns():
            return self._flag(seat, seen_ns - self._search.go_ns, f"its process ended: {describe_exit(seat.engine)}")
        if other.engine.process.eof and verdicts.ended_together(
            seen_ns, other.engine.stamp_ns, self._search.answered_ns
        ):
            return verdicts.both_ended(seat, describe_exit(seat.engine), describe_exit(other.engine))
        return verdicts.crash(seat, describe_exit(seat.engine))


def _read_answer(seat: Seat, message: Message, at: Position) -> chess.Move | None:
    """Return the legal move that an answer means, or None. Add a warning if its form is unusual."""
    lenient = seat.side.spec.quirks.lenient_promotion
    move, odd = read_move(at.board, message.text, lenient_promotion=lenient, usual=at.usual, check=at.check)
    if move is not None and odd and not seat.engine.is_usual_form(message.text):
        seat.engine.note("odd-move", f"wrote {escape_text(message.text)!r} for {move.uci()}")
    return move


# Plain plies of a game in compiled code (runner spec 4).

# Reasons why compiled code returns, as in native/relay.h. After all other reasons, Python plays the ply.
_PLAIN, _BOOKS, _STIRRED, _SLOW = range(4)


class CompiledEnd(NamedTuple):
    """How a run of plain plies ended."""

    end: End | None  # the end of the game by adjudication
    thinking: bool  # True if a search is in progress
    heard: bool  # True if some output of this search has been read already


class CompiledRelay:
    """The plain plies of one game, played by `native.Relay`. `_is_plain` must be true for the game.

    Create it after both engines are ready. It stops before the first event that is not plain, without processing this
    event. `Relay` then continues with the output that was read and with its timestamps.
    """

    def __init__(self, state: GameState, sharing: SharedProcessor) -> None:
        assert native is not None
        task, position, ends, record, seats, link, halts = state
        self._position, self._ends, self._record, self._seats, self._halts = position, ends, record, seats, halts
        self._control = () if link.control_fd is None else ((link.control_fd, select.EPOLLIN, "c"),)
        judge = self._judge if ends.adjudicator.needs_scores else None
        self._own = native.Relay(
            position.moves, record.raw.append, record.gaps.append, RawPly, halts, judge,
            record.queue_fd, task.rules.repetition, ends.halfmoves, ends.max_plies, MAX_LINE,
        )  # fmt: skip
        for seat in seats:
            process = seat.engine.process
            threads = [] if seat.waits is None else seat.waits.files
            limits = go_limits(seat.clock.tc).encode("ascii")
            self._own.seat(seat.white, seat, process.stdin_fd, process.stdout_fd, process.note, limits, threads)
        self._turns = -1  # number of changes of the polled descriptors when they were last passed to compiled code
        self._search = _SearchTimes()
        self._sharing, self._begun = sharing, False

    def close(self) -> None:
        """Release the memory and the descriptor. This is needed because the compiled object refers to `_judge`."""
        self._sharing.close()
        del self._own

    def takes(self, search: _SearchTimes) -> bool:
        """Give the game to compiled code before a search. Return False if Python must play the next ply."""
        if not all(seat.engine.is_plain and seat.waits is not None for seat in self._seats):
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
            self._sharing.begin(self._seats, len(position.moves))
        return True

    def run(self) -> CompiledEnd:
        """Play plies until one is not plain. Write the record while there is nothing to read."""
        record, (white, black) = self._record, self._seats
        while True:
            self._watch()
            why = self._own.run(*record.terms(), black.look_ns, white.look_ns, self._sharing.quick_ns)
            record.count_waits(self._own.crowd())
            if why == _STIRRED:
                for seat in self._seats:
                    seat.engine.process.drain_stderr()
            elif why == _BOOKS:
                seat = white if self._own.turn() else black
                if time.monotonic_ns() >= seat.look_ns:
                    record.watch(seat)
                record.work(self._own.stirs)
            elif why == _SLOW:
                self._sharing.part()
            else:
                return self._leave()

    def _watch(self) -> None:
        processes = [seat.engine.process for seat in self._seats]
        turns = sum(process.turns + process.out.turns for process in processes)
        if turns != self._turns:
            self._turns = turns
            self._own.watch((*self._control, *(one for process in processes for one in process.beside())))

    def _judge(self, seat: Seat, turn: bool, halfmoves: int, number: int, score: int | None) -> End | None:  # noqa: FBT001
        """Adjudicate a position that does not end the game by the rules. `score` is the score that the engine sent."""
        if score is not None and seat.side.spec.quirks.whitepov and not seat.white:
            score = -score
        return self._ends.adjudicator.by_score(Counters(turn, halfmoves, number), score)

    def _leave(self) -> CompiledEnd:
        self._sharing.end(len(self._position.moves))
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
            self._record.search_goes_on(seat, other, go_ns, waited, gap_ns if answered_ns else None)
            if text:
                seat.engine.take_over(text, stamp)
            if unread:
                seat.engine.process.out.send(unread[taken:])
            if now:
                search.late_ns = self._halts.woke(now, until, go_ns + seat.clock.wait_ns())
        elif unread:
            seat.engine.take_over(unread, stamp)
        return CompiledEnd(end, thinking, bool(text))

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
        if marked_ns and seat.waits is not None:
            seat.waits.marked(marked, marked_ns)


def _is_plain(task: GameTask, position: Position, seats: tuple[Seat, Seat]) -> bool:
    """Return whether compiled code is available and can play plies of this game."""
    if native is None or not position.usual or task.rules.tables is not None:
        return False
    for seat in seats:
        spec = seat.side.spec
        if spec.protocol != "uci" or spec.ponder or spec.quirks.line_delay_ms or spec.resources.memory is not None:
            return False
        if seat.side.own_book is not None or seat.side.tc.hourglass:
            return False
    return True
