"""A game as it is told: its beginning to whoever looks on, its record to the store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from operator import itemgetter

from enginetour.engines.machine import processor, processors
from enginetour.engines.pipes import printable
from enginetour.engines.position import Position
from enginetour.model.game import Game, Incident
from enginetour.model.task import GameTask
from enginetour.referee.bookkeeping import Books
from enginetour.referee.referee_seats import Seat
from enginetour.referee.verdict import Verdict

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
        hardware=processor(),
        load=books.workload.load(),
        cores=processors(),
        steal=books.workload.steal(),
        own_us=None if verdict.own_ns is None else verdict.own_ns // 1000,
        traffic=_traffic(seats) if task.log_traffic else (),
    )


def _traffic(seats: Sequence[Seat]) -> tuple[str, ...]:
    """Both engines in one, in the order of time: ``0.012345 White < bestmove e2e4``, seconds since the game began."""
    began = min(seat.began_ns for seat in seats)
    told = [
        (stamp, f"{(stamp - began) / 1e9:.6f} {seat.color} {way} {printable(line, LONGEST_LINE)}")
        for seat in seats
        if seat.present is not None
        for stamp, way, line in seat.present.process.traffic_since(began)
    ]
    return tuple(words for _, words in sorted(told, key=itemgetter(0)))
