"""Codes made of ratings: whole points, halves rounded up (C.07 section 10)."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, fsum

from enginetour.formats.pairing.ledger import Ledger

# FIDE Handbook B.02, table 8.1.1: rating difference of a score of 50 %, 51 % ... 100 %
DIFFERENCES = (
    *(0, 7, 14, 21, 29, 36, 43, 50, 57, 65),
    *(72, 80, 87, 95, 102, 110, 117, 125, 133, 141),
    *(149, 158, 166, 175, 184, 193, 202, 211, 220, 230),
    *(240, 251, 262, 273, 284, 296, 309, 322, 336, 351),
    *(366, 383, 401, 422, 444, 470, 501, 538, 589, 677),
    800,
)


def rating(ledger: Ledger, tied: Sequence[int]) -> list[int]:
    """As it is now; 0 without one, as in a TRF."""
    return [_whole(ledger.ratings[member] or 0.0) for member in tied]


def opponents_average(ledger: Ledger, tied: Sequence[int]) -> list[int]:
    """ARO: over rated opponents met over the board (C.07 15.2); 0 without one."""
    return [_whole(fsum(met) / len(met)) if met else 0 for met, _ in (_rated(ledger, member) for member in tied)]


def performance(ledger: Ledger, tied: Sequence[int]) -> list[int]:
    """TPR: ARO and the difference that FIDE's table has for the score against them; 0 without one."""
    found = []
    for member, average in zip(tied, opponents_average(ledger, tied), strict=True):
        met, points = _rated(ledger, member)
        if met:
            percent = _whole(100 * points / (ledger.field.win * len(met)))
            average += DIFFERENCES[percent - 50] if percent >= 50 else -DIFFERENCES[50 - percent]
        found.append(average)
    return found


def _rated(ledger: Ledger, member: int) -> tuple[list[float], int]:
    """Ratings of the rated opponents, and half points against them."""
    met, points = [], 0
    for turn in ledger.turns[member]:
        if turn.met and turn.opponent is not None and (other := ledger.ratings[turn.opponent]) is not None:
            met.append(other)
            points += turn.points
    return met, points


def _whole(number: float) -> int:
    return floor(number + 0.5)
