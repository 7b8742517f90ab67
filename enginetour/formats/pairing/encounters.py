"""Codes that look at the tied alone: who beat whom among them, and what counts when all else is level."""

from __future__ import annotations

from collections.abc import Sequence

from enginetour.formats.pairing.ledger import Ledger
from enginetour.formats.pairing.tiebreaks import Tally, direct_encounter

Mutual = dict[int, dict[int, Tally]]  # each of the tied -> those of them it met -> what it scored


def direct(ledger: Ledger, tied: Sequence[int]) -> list[int]:
    """DE: half points against the others of the tied; 0 for all unless all have met."""
    found = direct_encounter(tied, _mutual(ledger, tied))
    return [found[member] for member in tied]


def simple(ledger: Ledger, tied: Sequence[int]) -> list[int]:
    """SDC: how many of the tied each has beaten; 0 for all unless each pair has met and none is level."""
    met = _mutual(ledger, tied)
    decided = all(
        other in met[one] and met[one][other].half_points != met[other][one].half_points
        for one in tied
        for other in tied
        if one != other
    )
    return [len(_beaten(met, member)) if decided else 0 for member in tied]


def confrontation(ledger: Ledger, tied: Sequence[int]) -> list[int]:
    """DC: the layers of the tied sorted by who beat whom, from 0 at the bottom; who beat each other in a ring are one.

    Whoever nobody else of the tied has beaten is in the top layer. Our decision where the published order leaves
    strangers open: as high as possible.
    """
    met = _mutual(ledger, tied)
    below = {member: _reached(met, member) for member in tied}
    layers = dict.fromkeys(tied, 0)
    left = set(tied)
    depth = 0
    while left:
        top = {one for one in left if all(other in below[one] for other in left if one in below[other])}
        for member in top:
            layers[member] = depth
        left -= top
        depth += 1
    return [depth - 1 - layers[member] for member in tied]


def least_predictable_removed(ledger: Ledger, tied: Sequence[int]) -> list[int]:
    """LPR: half points without the game whose expectation is nearest 1/2, the latest of several.

    That is the smallest gap between the ratings; games without two of them can be predicted by nobody and stay.
    """
    found = []
    for member in tied:
        own = ledger.ratings[member]
        games = [
            (abs(own - other), -number, turn.points)
            for number, turn in enumerate(ledger.turns[member])
            if turn.met and turn.opponent is not None
            if own is not None and (other := ledger.ratings[turn.opponent]) is not None
        ]
        found.append(ledger.field.scores[member] - (min(games)[2] if games else 0))
    return found


def _mutual(ledger: Ledger, tied: Sequence[int]) -> Mutual:
    met: Mutual = {member: {} for member in tied}
    for member in tied:
        for turn in ledger.turns[member]:
            if turn.met and turn.opponent in met:
                old = met[member].get(turn.opponent, Tally())
                points, wins = old.half_points + turn.points, old.wins + ledger.won(turn)
                met[member][turn.opponent] = Tally(points, old.games + 1, wins)
    return met


def _beaten(met: Mutual, member: int) -> list[int]:
    return [other for other, tally in met[member].items() if tally.half_points > met[other][member].half_points]


def _reached(met: Mutual, member: int) -> set[int]:
    """Whom it has beaten, and whom they have, and so on."""
    found: set[int] = set()
    ahead = [member]
    while ahead:
        fresh = [other for other in _beaten(met, ahead.pop()) if other not in found]
        found.update(fresh)
        ahead += fresh
    return found
