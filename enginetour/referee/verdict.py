"""Verdicts: whose fault a time loss, crash, stall or illegal move is, or lag of the machine; when a game is void."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace

import chess

from enginetour.engines.machine import KILLED_PREFIX
from enginetour.engines.position import read_move
from enginetour.engines.wire import Message, MessageKind, escape_text
from enginetour.model.errors import EngineFault
from enginetour.model.game import Outcome, Termination
from enginetour.model.mating import can_mate
from enginetour.model.task import Rules
from enginetour.referee.adjudication import End
from enginetour.referee.clock import MS, Clock
from enginetour.referee.startup import ILLEGAL_INSTRUCTION, Seat

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
    if said.kind is MessageKind.RESIGN:
        return resignation(seat)
    if said.kind is MessageKind.ABORT:
        words = f"{seat.color} gives the game up: {escape_text(said.text)}"
        if aborts >= _ABORTS:
            return loss(seat, Termination.ABORTED, words, category="engine-abort")
        return void(seat, "engine-abort", words)
    if said.kind is MessageKind.REFUSED_MOVE:
        if not (thinking or seat.searched):  # as in the fence after the opening's moves, only later
            return void(seat, "unsupported", f"{seat.color} refuses the opening: {escape_text(said.text)}")
        return loss(seat, Termination.FALSE_CLAIM, f"{seat.color} calls a legal move illegal: {escape_text(said.text)}")
    if said.kind is MessageKind.RESULT and (thinking or seat.searched):
        return _claim(seat, said.text)
    return None


def _claim(seat: Seat, result: str) -> Verdict | None:
    if result == "1/2-1/2":
        seat.draw_claimed = True  # tested with the board, and with the next move
        return None
    if (result == "1-0") == seat.white:
        return loss(seat, Termination.FALSE_CLAIM, f"{seat.color} claims a win that is not on the board")
    return resignation(seat)
