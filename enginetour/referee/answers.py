"""What an engine answered: the move it means, and whether it had two answers to give (runner spec 5.6)."""

from __future__ import annotations

from collections.abc import Callable

import chess

from enginetour.engines.position import Position, read_move
from enginetour.engines.wire import Said, printable
from enginetour.referee.converse import converse
from enginetour.referee.link import Link
from enginetour.referee.referee_seats import Seat


def read_answer(seat: Seat, said: Said, at: Position) -> chess.Move | None:
    """The legal move it means; an odd form is noted once."""
    lenient = seat.side.spec.quirks.lenient_promotion
    move, odd = read_move(at.board, said.text, lenient_promotion=lenient, usual=at.usual, check=at.check)
    if move is not None and odd and not seat.engine.usual(said.text):
        seat.engine.note("odd-move", f"wrote {printable(said.text)!r} for {move.uci()}")
    return move


def second_answer(seat: Seat, flag_ns: int, link: Link, late: Callable[[int], None]) -> Said | None:
    """A second answer after an illegal one, up to CLOCK_MONOTONIC `flag_ns`, or None, also after a death meanwhile."""
    second = converse({seat.engine: seat.engine.question(flag_ns)}, link, late)[seat.engine]
    return second if isinstance(second, Said) else None
