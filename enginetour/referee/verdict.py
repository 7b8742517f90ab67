"""Verdicts: whose fault a time loss, crash, stall or illegal move is, or lag of the machine; when a game is void."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace

import chess

from enginetour.engines.machine import KILLED_PREFIX
from enginetour.engines.position import is_plainly_legal, play, read_move, written
from enginetour.engines.wire import LONGEST_PV, MATE, Message, MessageKind, SearchInfo, escape_text
from enginetour.model.errors import EngineFault
from enginetour.model.game import Outcome, Termination
from enginetour.model.mating import can_mate
from enginetour.model.task import Rules
from enginetour.referee.adjudication import End
from enginetour.referee.clock import MS, Clock
from enginetour.referee.seats import Seat
from enginetour.referee.startup import ILLEGAL_INSTRUCTION

# Who is to blame for what, by the tables of the reliability spec (sections 1 and 2): play, loss or void.

_MOMENT_NS = 1_000 * MS  # two ends farther apart have two causes
# What a machine, its service manager or its user ends processes with; signal(7).
_FROM_OUTSIDE = tuple(f"signal {number}" for number in (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM))
_ABORTS = 2  # games given up after which `*` loses: the third time (reliability 2.5)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a game ended. `culprit` None: nobody's fault; abnormal ends become an incident."""

    outcome: Outcome
    termination: Termination
    cause: str
    culprit: Seat | None = None
    category: str = ""
    fatal: bool = False  # the culprit's process may not be used again
    own_ns: int | None = None  # at a flag: what the referee itself may have cost

    @property
    def void(self) -> bool:
        """The game does not count."""
        return self.outcome is Outcome.VOID


def by_rule(end: End) -> Verdict:
    """The board ended the game."""
    outcome, termination, cause = end
    return Verdict(outcome, termination, cause)


def loss(seat: Seat, termination: Termination, cause: str, *, category: str = "", fatal: bool = True) -> Verdict:
    """The opponent wins."""
    outcome = Outcome.BLACK if seat.white else Outcome.WHITE
    return Verdict(outcome, termination, cause, seat, category or termination.value, fatal)


def void(seat: Seat | None, category: str, cause: str, termination: Termination = Termination.ABORTED) -> Verdict:
    """The game does not count and is played again."""
    return Verdict(Outcome.VOID, termination, cause, seat, category, fatal=True)


def claimed_draw(seat: Seat, why: str) -> Verdict:
    """Its claim of a draw was true."""
    return Verdict(Outcome.DRAW, Termination.CLAIM, f"Draw by {why}, claimed by {seat.color}")


def illegal(seat: Seat, text: str, board: chess.Board, *, ignored: bool = False) -> Verdict:
    """No legal move: as at a flag (FIDE 7.5.5). `ignored`: it may have ignored the position it was given."""
    words = f"{seat.color} makes an illegal move: {escape_text(text) or repr(text)} in {board.fen()}"
    if read_move(board, text, lenient_promotion=True)[0] is not None:
        words += "; it promotes to no piece: with lenient_promotion = true under [quirks] that is a queen"
    elif ignored:
        words += "; it may have ignored the position"
    return _unless_no_mate(loss(seat, Termination.ILLEGAL_MOVE, words), seat, board)


def _unless_no_mate(lost: Verdict, seat: Seat, board: chess.Board) -> Verdict:
    """A loss, or a draw where the opponent cannot mate; the seat is at fault in both."""
    if can_mate(board, not seat.white):
        return lost
    return replace(lost, outcome=Outcome.DRAW, cause=f"{lost.cause}; the opponent cannot mate")


def resignation(seat: Seat) -> Verdict:
    """A resignation is no fault."""
    outcome = Outcome.BLACK if seat.white else Outcome.WHITE
    return Verdict(outcome, Termination.RESIGN, f"{seat.color} resigns")


def overrun(clock: Clock, elapsed_ns: int, when: str) -> str:
    """How late an answer was, the margin not counted, and when it came."""
    over = " ".join(filter(None, (f"{clock.overrun_ms(elapsed_ns)} ms over", clock.hang_words)))
    return f"{over}, {when}"


def flag(
    seat: Seat,
    board: chess.Board,
    rules: Rules,
    over_ns: int | None,
    own_ns: int,
    words: str,
    *,
    waited_ns: int | None = None,
) -> Verdict:
    """A flag: the opponent wins, or draws if it cannot mate by any series of legal moves (FIDE 6.9).

    The error budget is `own_ns`, what the referee itself may have cost, and `waited_ns`, how long the machine may have
    kept the engine waiting for a processor. A smaller overrun is doubtful. Without an answer (`over_ns` None) nothing
    is: the engine had another second to answer `stop`. The hang limit is not a clock, so that the referee's share does
    not count; there the move is doubtful if the engine waited for half of it.
    """
    cause = f"{seat.color} loses on time, {words}"
    margin = "" if seat.clock.hang_words else f"margin {seat.clock.margin_ms} ms; "
    waited = "" if waited_ns is None else f"; its process waited up to {waited_ns / MS:.1f} ms for a processor"
    cause += f" ({margin}referee's own share up to {own_ns / MS:.1f} ms{waited})"
    budget_ns = own_ns + (waited_ns or 0)
    if seat.clock.hang_words:
        doubtful = over_ns is not None and 2 * (waited_ns or 0) > seat.clock.flag_ns()
    else:
        doubtful = over_ns is not None and over_ns < budget_ns
    if doubtful:
        cause += "; doubtful"
        if rules.doubtful_flag == "void":
            return replace(void(None, "host", cause, Termination.TIME), own_ns=own_ns)
    verdict = loss(seat, Termination.TIME, cause, fatal=False)  # fenced: it may play on
    return replace(_unless_no_mate(verdict, seat, board), own_ns=own_ns)


def crash(seat: Seat, status: str) -> Verdict:
    """Its end in a game: a loss, but for a binary of another CPU and for an engine that was never asked."""
    if status.startswith(ILLEGAL_INSTRUCTION) and not seat.clock.moves:
        return void(seat, "start-failure", f"{seat.color}: {status}; binary built for another CPU?")
    if not seat.searched:
        return void(seat, "crash", f"{seat.color} ended before its first move: {status}")
    category = "crash (memory)" if status.startswith(KILLED_PREFIX) else ""
    return loss(seat, Termination.CRASH, f"{seat.color} disconnects: {status}", category=category)


def ended_together(end_ns: int, other_ns: int, answered_ns: int) -> bool:
    """Whether two engines ended at the same moment; one that answered at `answered_ns` was not gone by then."""
    return end_ns > answered_ns and abs(end_ns - other_ns) < _MOMENT_NS


def both_ended(seat: Seat, *statuses: str) -> Verdict:
    """Both at the same moment: void, and by itself neither may do so without end: `seat`, whose turn it was, is named.

    Where a signal from outside ended one of them it is the machine's failure: whatever ends engines ended both.
    """
    words = f"both engines ended: {', '.join(statuses)}"
    outside = any(status.partition(" (")[0] in _FROM_OUTSIDE for status in statuses)
    return void(None, "host", words) if outside else void(seat, "crash", words)


def stall(seat: Seat, fault: EngineFault, halt: str = "") -> Verdict:
    """No answer to a fence: a loss; void before its first move, and after a `halt` of the machine."""
    if halt:
        return void(None, "host", f"{seat.color}: {fault.detail}; {halt}")
    if not seat.searched:
        return void(seat, fault.category, f"{seat.color}: {fault.detail}")
    return loss(seat, Termination.STALL, f"{seat.color}'s connection stalls: {fault.detail}")


def start_failed(faults: dict[Seat, EngineFault], halt: str = "") -> Verdict:
    """A game that could not begin: void. With both at fault the first is named, the words name both.

    After a `halt` of the machine nobody was too slow.
    """
    seat = next(iter(faults))
    cause = "; ".join(f"{seat.name}: {fault.detail}" for seat, fault in faults.items())
    if halt and all(fault.category == "start-timeout" for fault in faults.values()):
        return void(None, "host", f"{cause}; {halt}")
    return void(seat, faults[seat].category, cause)


def by_message(seat: Seat, said: Message, *, thinking: bool, aborts: int) -> Verdict | None:
    """What a CECP line other than a move does to the game (runner spec 7, table); None: nothing, or not yet."""
    if said.what is MessageKind.RESIGN:
        return resignation(seat)
    if said.what is MessageKind.ABORT:
        words = f"{seat.color} gives the game up: {escape_text(said.text)}"
        if aborts >= _ABORTS:
            return loss(seat, Termination.ABORTED, words, category="engine-abort")
        return void(seat, "engine-abort", words)
    if said.what is MessageKind.REFUSED_MOVE:
        if not (thinking or seat.searched):  # as in the fence after the opening's moves, only later
            return void(seat, "unsupported", f"{seat.color} refuses the opening: {escape_text(said.text)}")
        return loss(seat, Termination.FALSE_CLAIM, f"{seat.color} calls a legal move illegal: {escape_text(said.text)}")
    if said.what is MessageKind.RESULT and (thinking or seat.searched):
        return _claim(seat, said.text)
    return None


def _claim(seat: Seat, result: str) -> Verdict | None:
    if result == "1/2-1/2":
        seat.draw_claimed = True  # tested with the board, and with the next move
        return None
    if (result == "1-0") == seat.white:
        return loss(seat, Termination.FALSE_CLAIM, f"{seat.color} claims a win that is not on the board")
    return resignation(seat)


# What an engine says about its own search, held against the board and against its next words (runner spec 12).
#
# kind           what was found
# no-score       a move without any scored line, where it had a choice
# pv-other       its last PV, of a score that is no bound, does not begin with the move it played
# pv-illegal     a move of its last PV cannot be played (UCI only: in CECP a PV is free text)
# mate-late      it said mate in n and had not mated with its n-th move
# mate-lost      it said that it mates, and with its next move that it is mated
#
# Counted and told, never a verdict: none of it changes a game.

KINDS = ("no-score", "pv-other", "pv-illegal", "mate-late", "mate-lost")
PIECE = 8  # plies of a PV looked at in one step: 30 us (measured), a step of bookkeeping (runner spec 15)
_COORDINATES = re.compile(r"[a-h][1-8][a-h][1-8][qrbnk]?")
_NUMBER = re.compile(r"(?:\d+\.+)?")
_MATE_RANGE = 1000  # moves; farther ones are no distances any engine has seen


class SearchClaims:
    """The claims of one side in one game; `usual`: FIDE's rules hold, and the boards' castling rights are clean."""

    def __init__(self, *, reads_pv: bool, usual: bool) -> None:
        self._reads_pv = reads_pv
        self._usual = usual
        self._due: int | None = None  # number of the own move by which a promised mate is on the board
        self._moves = 0
        self._number = 0  # of the move, as the PGN has it: openings and positions begin anywhere
        self._mates = False  # its last score was a mate of its own
        self._found: dict[str, tuple[int, str]] = {}

    def heard(
        self, thought: SearchInfo, move: chess.Move, board: chess.Board, elapsed_ms: int
    ) -> Iterator[None] | None:
        """Look at a search whose move is about to be made on `board`; what is left to look at piece by piece.

        Of a PV as many plies are looked at as the search took milliseconds: 10 us a ply are 1 % of the time then.
        """
        self._moves += 1
        self._number = board.fullmove_number
        if thought.score is None:
            if board.legal_moves.count() > 1:
                self._tell("no-score", f"played {move.uci()} without any scored line")
            return None
        self._mate(thought.score, thought.bound)
        pv = thought.pv.split()
        if not pv or thought.bound:  # that of a search that failed: it leads nowhere
            return None
        first = move if pv[0] == move.uci() else self._first(pv, board)
        if first is not None and first != move:
            self._tell("pv-other", f"played {move.uci()}, and its last PV begins with {first.uci()}")
        if not self._reads_pv or elapsed_ms < 1:
            return None
        whole = pv if len(thought.pv) < LONGEST_PV else pv[:-1]
        return self._line(whole[:elapsed_ms], board.copy(stack=False), self._number)

    @property
    def is_quiet(self) -> bool:
        """Nothing was promised that the next search might break."""
        return not self._mates and self._due is None

    def passed(self) -> None:
        """A search of whose score and PV there is nothing to tell, after others that were quiet."""
        self._moves += 1

    def _mate(self, score: int, bound: int) -> None:
        counts = MATE - _MATE_RANGE <= abs(score) <= MATE  # beyond it engines have scales of their own
        mates = counts and score > 0 and bound >= 0
        if self._due is not None and self._moves > self._due:
            late = self._moves - self._due
            self._tell("mate-late", f"had not mated {late} move{'s' * (late != 1)} after it should have")
            self._due = None
        if self._mates and counts and score < 0 and bound <= 0:
            self._tell("mate-lost", f"said mate, and a move later that it is mated in {MATE + score}")
            self._due = None
        if mates:
            due = self._moves + max(1, MATE - score) - 1
            self._due = due if self._due is None else min(due, self._due)
        self._mates = mates

    def _first(self, pv: list[str], board: chess.Board) -> chess.Move | None:
        """The first move of a PV, None where it cannot be told."""
        for word in pv[:3]:  # a number, dots, a mark of a bound may stand before it
            text = _NUMBER.sub("", word, count=1)
            try:
                return board.parse_uci(text.lower()) if _COORDINATES.fullmatch(text.lower()) else board.parse_san(text)
            except ValueError:
                if self._reads_pv:
                    return None
        return None

    def _line(self, pv: list[str], board: chess.Board, number: int) -> Iterator[None]:
        for ply, word in enumerate(pv):
            if not (self._usual and _played(board, word)):
                try:
                    move = board.parse_uci(word.lower())
                    if not move:
                        raise ValueError
                except ValueError:
                    words = f"its PV goes on with {escape_text(word)!r}, illegal at {board.fen()}"
                    self._tell("pv-illegal", words, number)  # other searches were heard since
                    return
                board.push(move)
            if ply % PIECE == PIECE - 1:
                yield

    def _tell(self, kind: str, words: str, number: int | None = None) -> None:
        count, first = self._found.get(kind, (0, f"move {self._number if number is None else number}: {words}"))
        self._found[kind] = count + 1, first

    def broken(self) -> tuple[tuple[str, int, str], ...]:
        """(kind, how often, words of the first) of what did not hold."""
        return tuple((kind, *self._found[kind]) for kind in KINDS if kind in self._found)


def _played(board: chess.Board, word: str) -> bool:
    """Whether that is a move of which it is soon seen that it is legal; it is played then."""
    if len(word) != 4:
        return False
    try:
        move = written(word)
    except ValueError:
        return False
    if not is_plainly_legal(board, move):
        return False
    play(board, move)
    return True
