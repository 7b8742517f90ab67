"""The end of a game for its engines: fenced, told the result, kept for the next one or ended."""

from __future__ import annotations

from collections.abc import Sequence

from enginetour.engines.position import Position
from enginetour.model.game import Incident
from enginetour.referee.converse import converse
from enginetour.referee.link import Link
from enginetour.referee.referee_seats import Seat, incident
from enginetour.referee.shelf import EngineShelf
from enginetour.referee.verdict import Verdict


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
