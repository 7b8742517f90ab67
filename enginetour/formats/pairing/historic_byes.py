"""The bye of an odd field with gopair: an entrant marked BYE, otherwise one by lot from the middle of the rating order.

The candidates are the middle 80 % that have lost a game, missed no round and stay to the end. If nobody is left, the
conditions are dropped one after the other, in the order of gopair: to stay, no missed round, the middle, a loss. Of the
candidates that remain, those that missed the fewest rounds are drawn from. Source: gopair manual, 2005.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from enginetour.formats.pairing.current import in_order
from enginetour.formats.pairing.field import Dice, Field

CUT = 10  # gopair manual 2005: a tenth at each end of the rating order is not asked


def candidates(field: Field, there: Sequence[int]) -> list[int]:
    """Those of `there` with the fewest byes, in its order."""
    fewest = min(map(field.byes, there))
    return [member for member in there if field.byes(member) == fewest]


def gopair_bye(
    field: Field,
    there: Sequence[int],
    ratings: Sequence[int],
    dice: Dice,
    *,
    marked: Collection[int] = (),
    leaving: Collection[int] = (),
) -> int:
    """One by lot. If some of `there` are `marked`, they are all candidates; `leaving` ones miss a later round."""
    asked = [member for member in there if member in marked] or _pool(field, there, ratings, leaving)
    fewest = min(_missed(field, member) for member in asked)
    return dice.shuffled(sorted(member for member in asked if _missed(field, member) == fewest))[0]


def _pool(field: Field, there: Sequence[int], ratings: Sequence[int], leaving: Collection[int]) -> list[int]:
    by_rating, cut = in_order(ratings, there), len(there) // CUT
    conditions = [
        {member for member in there if member not in leaving},
        {member for member in there if not _missed(field, member)},
        set(by_rating[cut : len(there) - cut]),
        {member for member in there if field.number == 1 or _lost(field, member)},
    ]
    while conditions:
        if pool := set.intersection(*conditions):
            return sorted(pool)
        conditions.pop(0)
    return list(there)


def _missed(field: Field, member: int) -> int:
    """Rounds without an opponent, for a bye too."""
    return sum(not turn.paired for turn in field.turns(member))


def _lost(field: Field, member: int) -> bool:
    """It scored less than an opponent in some round, over the board or not."""
    return any(
        turn.opponent is not None and turn.points < row[turn.opponent].points
        for turn, row in zip(field.turns(member), field.history, strict=True)
    )
