"""Shared code of the older Go pairing programs: best round, ratings, colors, byes, score groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from enginetour.formats.pairing.field import WHITE, Board, Dice, Field, Member, Unpairable
from enginetour.formats.pairing.matching import Matching, relaxed_matching
from enginetour.formats.pairing.matching import Unpairable as NoMatching
from enginetour.formats.pairing.rerating import by_likelihood

# The round with the greatest sum, and the restrictions that it breaks if no other round exists.

CERTIFIED = "maximum weight, certified"
Pairs = list[tuple[int, int]]
Worth = Callable[[int, int], int]
"""(member, member) -> what the pair adds to the sum; the same both ways."""


@dataclass(frozen=True, slots=True)
class Restrictions:
    """What may not be: rematches, and families among themselves; unless nothing else is possible and not `strict`."""

    strict: bool = False
    forbid_family: bool = False

    def allow(self, field: Field, one: int, other: int) -> bool:
        """The pair breaks neither bar."""
        return not field.met(one, other) and not (self.forbid_family and same_family(field, one, other))


def same_family(field: Field, one: int, other: int) -> bool:
    """Of one author or code; an empty name is no family."""
    family = field.members[one].family.casefold()
    return family != "" and family == field.members[other].family.casefold()


def same_origin(field: Field, one: int, other: int) -> bool:
    """Of one other grouping; an empty name is none."""
    origin = field.members[one].origin.casefold()
    return origin != "" and origin == field.members[other].origin.casefold()


def best_round(field: Field, there: Sequence[int], worth: Worth, bars: Restrictions) -> tuple[Pairs, tuple[str, ...]]:
    """The heaviest round of those there, and remarks on bars it had to break.

    Families give way first, then rematches: as few as possible, then the least recent. Pairs keep the order of `there`.
    Unpairable if `strict` and a bar would have to give way.
    """
    count = len(there)
    if not count:
        return [], ()
    weights, kin, again = ([[0] * count for _ in there] for _ in range(3))
    for row, one in enumerate(there):
        for column, other in enumerate(there[:row]):
            weights[row][column] = weights[column][row] = worth(one, other)
            kin[row][column] = kin[column][row] = int(bars.forbid_family and same_family(field, one, other))
            again[row][column] = again[column][row] = field.meetings[one].get(other, 0)
    found = _matched(weights, kin, again, bars)
    pairs = [(there[one], there[other]) for one, other in found.pairs]
    remarks = tuple(remark for pair in pairs for remark in broken_restrictions(field, *pair, bars))
    if bars.strict and remarks:
        raise Unpairable("; ".join(remarks) + "; strict = false allows it")
    return pairs, remarks


def _matched(weights: list[list[int]], kin: list[list[int]], again: list[list[int]], bars: Restrictions) -> Matching:
    met = [[bool(number) for number in row] for row in again]
    try:
        return relaxed_matching(weights, kin, met)
    except NoMatching:
        flat = [weight for row in weights for weight in row]
        unit = len(weights) * (max(flat) - min(flat) + 1) if bars.forbid_family else 0
        lowered = [
            [weight - unit * own for weight, own in zip(row, bar, strict=True)]
            for row, bar in zip(weights, kin, strict=True)
        ]
        return relaxed_matching(lowered, again)


def rematch(field: Field, one: int, other: int) -> str:
    """Who meets again, and when they last did."""
    names = f"{field.members[one].name} - {field.members[other].name}"
    return f"{names} is a rematch of round {field.meetings[one][other]}"


def broken_restrictions(field: Field, one: int, other: int, bars: Restrictions) -> tuple[str, ...]:
    """A sentence for each bar this pair breaks."""
    remarks = []
    if field.met(one, other):
        remarks.append(f"{rematch(field, one, other)}: none without it")
    if bars.forbid_family and same_family(field, one, other):
        names = f"{field.members[one].name} - {field.members[other].name}"
        remarks.append(f"{names} are of one family: none without it")
    return tuple(remarks)


# Ratings as they stand before a round, in thousandths of a point, so that equal ones are equal on every machine.

MILLI = 1000  # units in a point


def entry_ratings(field: Field) -> tuple[int, ...]:
    """What everybody came with; a late entrant without a rating comes as an average one."""
    known = [member.rating for member in field.members if member.rating is not None]
    middle = fmean(known) if known else 0.0
    return tuple(round(MILLI * (middle if member.rating is None else member.rating)) for member in field.members)


def current_ratings(field: Field) -> tuple[int, ...]:
    """Those moved by the games so far: greatest likelihood, two virtual draws of everybody at its entry."""
    entry = entry_ratings(field)
    if not any(turn.games for row in field.history for turn in row):
        return entry
    return tuple(round(MILLI * rating) for rating in by_likelihood(field, [rating / MILLI for rating in entry]))


def refuse_unrated(members: Sequence[Member]) -> None:
    """ValueError that names whoever brings no rating, and the key to set."""
    missing = [member.name for member in members if member.rating is None]
    if missing:
        raise ValueError(f"no rating of {', '.join(missing)}: set rating = ... under [[entrants]] of each")


def remarks_on_unrated(field: Field) -> tuple[str, ...]:
    """What is taken for those who joined without a rating."""
    late = [field.members[place].name for place in field.present if field.members[place].rating is None]
    return tuple(f"{name} brought no rating: the average of the others is taken" for name in late)


def order_by_rating(ratings: Sequence[int], members: Sequence[int]) -> list[int]:
    """Members by rating, best first, then in entry order."""
    return sorted(members, key=lambda place: (-ratings[place], place))


# Colors: fewer Whites first, then Black in the last round in which their colors differed, then by lot.

_Count = Callable[[Field, int], int]
"""(field, member) -> what White goes to the smaller of."""


def _balance(field: Field, member: int) -> int:
    """Whites less Blacks."""
    return field.balance(member)


def whites(field: Field, member: int) -> int:
    """Whites alone, as gopair counts (its manual, 2005)."""
    return sum(turn.met and turn.colour == WHITE for turn in field.turns(member))


def assign_colours(
    field: Field, pairs: Iterable[tuple[int, int]], system: str, count: _Count = _balance
) -> tuple[Board, ...]:
    """Boards in the order of the pairs. Where a match has both colours there is nothing to even out, only the lot."""
    return tuple(Board(*_white_first(field, *pair, system, count)) for pair in pairs)


def _white_first(field: Field, one: int, other: int, system: str, count: _Count) -> tuple[int, int]:
    had = count(field, one) - count(field, other)
    if had == 0:
        latest = zip(_back(field, one), _back(field, other), strict=False)  # as far back as both have played
        had = next((mine - theirs for mine, theirs in latest if mine != theirs), 0)
    if had == 0:
        low, high = sorted((one, other))
        had = 1 - 2 * Dice(field.seed, system, field.number, "colours", low, high).below(2)
        one, other = low, high
    return (other, one) if had > 0 else (one, other)


def _back(field: Field, member: int) -> list[int]:
    """Its colours, the latest first."""
    return [turn.colour for turn in reversed(field.turns(member)) if turn.met and turn.colour]


# The bye of an odd field with gopair: an entrant marked BYE, otherwise one by lot from the middle of the rating order.
#
# The candidates are the middle 80 % that have lost a game, missed no round and stay to the end. If nobody is left, the
# conditions are dropped one after the other, in the order of gopair: to stay, no missed round, the middle, a loss. Of
# the candidates that remain, those that missed the fewest rounds are drawn from. Source: gopair manual, 2005.

_CUT = 10  # gopair manual 2005: a tenth at each end of the rating order is not asked


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
    by_rating, cut = order_by_rating(ratings, there), len(there) // _CUT
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


# Members of equal wins or McMahon scores together; half a win belongs to the whole one below (Vuorinen 2010).


def group_of(field: Field, member: int, number: int = -1) -> int:
    """Whole wins, or the McMahon score, before a round, by default now; halves belong to the group below."""
    return (field.counted or field.points)[number][member] // field.win


def score_groups(field: Field, there: Sequence[int]) -> list[list[int]]:
    """Members of equal scores together, the highest first."""
    groups: dict[int, list[int]] = {}
    for member in there:
        groups.setdefault(group_of(field, member), []).append(member)
    return [groups[score] for score in sorted(groups, reverse=True)]
