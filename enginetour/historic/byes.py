"""Who rests in an odd field with gopair: a marked one, else one by lot from the middle, of those with fewest byes.

The middle 80 % by rating that have lost a game and missed no round. Source: gopair manual, 2005. What is done
when there is nobody of that kind is our decision.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from enginetour.field import Dice, Field, Kind
from enginetour.historic.current import in_order

CUT = 10  # gopair manual 2005: a tenth at each end of the rating order is not asked


def candidates(field: Field, there: Sequence[int]) -> list[int]:
    """Those of `there` with the fewest byes, in its order."""
    fewest = min(map(field.byes, there))
    return [member for member in there if field.byes(member) == fewest]


def gopair_bye(
    field: Field, there: Sequence[int], ratings: Sequence[int], dice: Dice, marked: Collection[int] = ()
) -> int:
    """One by lot. If nobody fits: first losses are not asked, then missed rounds only counted, then the middle goes."""
    asked = candidates(field, there)
    pool = [member for member in asked if member in marked] or _pool(field, there, asked, ratings)
    return dice.shuffled(sorted(pool))[0]


def _pool(field: Field, there: Sequence[int], asked: Sequence[int], ratings: Sequence[int]) -> list[int]:
    by_rating, cut = in_order(ratings, there), len(there) // CUT
    middle = set(by_rating[cut : len(there) - cut])
    inside = [member for member in asked if member in middle]
    full = [member for member in inside if not _missed(field, member)]
    lost = [member for member in full if field.number == 1 or _lost(field, member)]
    return lost or full or _least_missed(field, inside) or _least_missed(field, asked)


def _least_missed(field: Field, members: Sequence[int]) -> list[int]:
    fewest = min((_missed(field, member) for member in members), default=0)
    return [member for member in members if _missed(field, member) == fewest]


def _missed(field: Field, member: int) -> int:
    return sum(turn.kind is Kind.ABSENT for turn in field.turns(member))


def _lost(field: Field, member: int) -> bool:
    """It scored less than an opponent in some round, over the board or not."""
    return any(
        turn.opponent is not None and turn.points < row[turn.opponent].points
        for turn, row in zip(field.turns(member), field.history, strict=True)
    )
