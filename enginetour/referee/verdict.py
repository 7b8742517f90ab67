"""Verdicts: who is at fault (engine or machine) for a time loss, crash, stall or illegal move, and void games."""

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

# The tables of the reliability spec (sections 1 and 2) define for each failure who is at fault: play on, loss or void.

_MOMENT_NS = 1_000 * MS  # if two engines end within this time, they have ended for the same reason
# Signals with which a machine, a service manager or a user ends processes; signal(7).
_FROM_OUTSIDE = tuple(f"signal {number}" for number in (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM))
_ABORTS = 2  # number of games that an engine may abort with `*`; the next one is a loss (reliability 2.5)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a game ended. `culprit` is None if no engine is at fault. An abnormal end is recorded as an incident."""

    outcome: Outcome
    termination: Termination
    cause: str
    culprit: Seat | None = None
    category: str = ""
    fatal: bool = False  # True if the culprit's process must not be used again
    own_ns: int | None = None  # for a time loss, the delay that the referee itself may have caused

    @property
    def void(self) -> bool:
        """True if the game does not count."""
        return self.outcome is Outcome.VOID


def by_rule(end: End) -> Verdict:
    """Return the verdict for an end by the rules or by adjudication."""
    outcome, termination, cause = end
    return Verdict(outcome, termination, cause)


def loss(seat: Seat, termination: Termination, cause: str, *, category: str = "", fatal: bool = True) -> Verdict:
    """Return the verdict that the opponent wins."""
    outcome = Outcome.BLACK if seat.white else Outcome.WHITE
    return Verdict(outcome, termination, cause, seat, category or termination.value, fatal)


def void(seat: Seat | None, category: str, cause: str, termination: Termination = Termination.ABORTED) -> Verdict:
    """Return the verdict that the game does not count and is played again."""
    return Verdict(Outcome.VOID, termination, cause, seat, category, fatal=True)


def claimed_draw(seat: Seat, why: str) -> Verdict:
    """Return the verdict for a correct claim of a draw."""
    return Verdict(Outcome.DRAW, Termination.CLAIM, f"Draw by {why}, claimed by {seat.color}")


def illegal(seat: Seat, text: str, board: chess.Board, *, ignored: bool = False) -> Verdict:
    """Return the verdict for an illegal move: a loss, or a draw if the opponent cannot mate (FIDE 7.5.5).

    `ignored` is true if the engine may have ignored the start position.
    """
    cause = f"{seat.color} makes an illegal move: {escape_text(text) or repr(text)} in {board.fen()}"
    if read_move(board, text, lenient_promotion=True)[0] is not None:
        cause += "; the promotion piece is missing (with lenient_promotion = true under [quirks], it is a queen)"
    elif ignored:
        cause += "; the engine may have ignored the start position"
    return _unless_no_mate(loss(seat, Termination.ILLEGAL_MOVE, cause), seat, board)


def _unless_no_mate(lost: Verdict, seat: Seat, board: chess.Board) -> Verdict:
    """Return `lost`, or a draw if the opponent cannot mate. The engine is at fault in both cases."""
    if can_mate(board, not seat.white):
        return lost
    return replace(lost, outcome=Outcome.DRAW, cause=f"{lost.cause}; the opponent cannot mate")


def resignation(seat: Seat) -> Verdict:
    """Return the verdict for a resignation, which is not a fault."""
    outcome = Outcome.BLACK if seat.white else Outcome.WHITE
    return Verdict(outcome, Termination.RESIGN, f"{seat.color} resigns")


def overrun(clock: Clock, elapsed_ns: int, when: str) -> str:
    """Return a text about how late an answer was, without the time margin. `when` describes when it came."""
    return f"{clock.overrun_ms(elapsed_ns)} ms over {clock.hang_limit_text or 'the limit'}, {when}"


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
    """Return the verdict for a time loss: the opponent wins, or draws if it cannot mate (FIDE 6.9).

    `over_ns` is the overrun, or None if there was no answer. The error budget is the sum of `own_ns`, the delay of the
    referee, and `waited_ns`, the time that the engine may have waited for a processor. A time loss with an overrun
    below the error budget is doubtful. Without an answer it is never doubtful, because the engine had another second
    to answer `stop`. The hang limit is not a clock, so the delay of the referee does not count there. In this case, the
    time loss is doubtful if the engine waited for more than half of the hang limit.
    """
    cause = f"{seat.color} loses on time, {words}"
    margin = "" if seat.clock.hang_limit_text else f"time margin {seat.clock.margin_ms} ms; "
    waited = "" if waited_ns is None else f"; the engine waited up to {waited_ns / MS:.1f} ms for a processor"
    cause += f" ({margin}referee delay up to {own_ns / MS:.1f} ms{waited})"
    budget_ns = own_ns + (waited_ns or 0)
    if seat.clock.hang_limit_text:
        doubtful = over_ns is not None and 2 * (waited_ns or 0) > seat.clock.flag_ns()
    else:
        doubtful = over_ns is not None and over_ns < budget_ns
    if doubtful:
        cause += "; doubtful"
        if rules.doubtful_flag == "void":
            return replace(void(None, "host", cause, Termination.TIME), own_ns=own_ns)
    verdict = loss(seat, Termination.TIME, cause, fatal=False)  # not fatal, because `stop` and a ping check the engine
    return replace(_unless_no_mate(verdict, seat, board), own_ns=own_ns)


def crash(seat: Seat, status: str) -> Verdict:
    """Return the verdict for an engine whose process ended during a game: a loss.

    The game is void if the binary seems to be built for another processor, or if the engine was never asked for a move.
    """
    if status.startswith(ILLEGAL_INSTRUCTION) and not seat.clock.moves:
        return void(seat, "start-failure", f"{seat.color}: {status}; the binary may be built for another processor")
    if not seat.searched:
        return void(seat, "crash", f"{seat.color} ended before its first move: {status}")
    category = "crash (memory)" if status.startswith(KILLED_PREFIX) else ""
    return loss(seat, Termination.CRASH, f"{seat.color} disconnects: {status}", category=category)


def ended_together(end_ns: int, other_ns: int, answered_ns: int) -> bool:
    """Return whether two engines ended at the same time.

    `end_ns` and `other_ns` are the times of their ends. `answered_ns` is the time of the last relayed answer. If the
    first engine ended before this answer, the result is False.
    """
    return end_ns > answered_ns and abs(end_ns - other_ns) < _MOMENT_NS


def both_ended(seat: Seat, *statuses: str) -> Verdict:
    """Return the verdict for two engines that ended at the same time: void.

    The culprit is the engine to move (`seat`), so that engines cannot repeat this without limit. If a signal from
    outside ended one of the engines, the machine is at fault instead.
    """
    text = f"both engines ended: {', '.join(statuses)}"
    outside = any(status.partition(" (")[0] in _FROM_OUTSIDE for status in statuses)
    return void(None, "host", text) if outside else void(seat, "crash", text)


def stall(seat: Seat, fault: EngineFault, halt: str = "") -> Verdict:
    """Return the verdict for an engine that does not answer a ping: a loss.

    The game is void if the engine was not asked for a move before, or after a `halt` of the machine.
    """
    if halt:
        return void(None, "host", f"{seat.color}: {fault.detail}; {halt}")
    if not seat.searched:
        return void(seat, fault.category, f"{seat.color}: {fault.detail}")
    return loss(seat, Termination.STALL, f"{seat.color}'s connection stalls: {fault.detail}")


def start_failed(faults: dict[Seat, EngineFault], halt: str = "") -> Verdict:
    """Return the verdict for a game that could not begin: void.

    If both engines are at fault, the first engine is the culprit, and the cause names both. After a `halt` of the
    machine, a start timeout is not an engine's fault.
    """
    seat = next(iter(faults))
    cause = "; ".join(f"{seat.name}: {fault.detail}" for seat, fault in faults.items())
    if halt and all(fault.category == "start-timeout" for fault in faults.values()):
        return void(None, "host", f"{cause}; {halt}")
    return void(seat, faults[seat].category, cause)


def by_message(seat: Seat, message: Message, *, thinking: bool, aborts: int) -> Verdict | None:
    """Return the verdict after a CECP line that is not a move (runner spec 7, table), or None if the game continues."""
    if message.kind is MessageKind.RESIGN:
        return resignation(seat)
    if message.kind is MessageKind.ABORT:
        text = f"{seat.color} aborts the game: {escape_text(message.text)}"
        if aborts >= _ABORTS:
            return loss(seat, Termination.ABORTED, text, category="engine-abort")
        return void(seat, "engine-abort", text)
    if message.kind is MessageKind.REFUSED_MOVE:
        if not (thinking or seat.searched):  # the engine rejects a move of the opening
            return void(seat, "unsupported", f"{seat.color} rejects the opening: {escape_text(message.text)}")
        return loss(seat, Termination.FALSE_CLAIM, f"{seat.color} rejects a legal move: {escape_text(message.text)}")
    if message.kind is MessageKind.RESULT and (thinking or seat.searched):
        return _claim(seat, message.text)
    return None


def _claim(seat: Seat, result: str) -> Verdict | None:
    if result == "1/2-1/2":
        seat.draw_claimed = True  # the claim is checked on the board now, and after the next move of the engine
        return None
    if (result == "1-0") == seat.white:
        return loss(seat, Termination.FALSE_CLAIM, f"{seat.color} claims a win that is not on the board")
    return resignation(seat)
