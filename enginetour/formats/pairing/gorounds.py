"""Shared code of the older Go pairing programs: best round, ratings, colors, byes, score groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from enginetour.formats.pairing.blossom import Numbers
from enginetour.formats.pairing.field import WHITE, Board, Dice, Field, Member, Unpairable
from enginetour.formats.pairing.matching import Unpairable as NoMatching
from enginetour.formats.pairing.matching import relaxed_matching
from enginetour.ratings.gor import GorSettings, begin
from enginetour.ratings.incremental import RatedGame, rate
from enginetour.ratings.likelihood import fit

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
    return field.members[one].family.casefold() == field.members[other].family.casefold() != ""


def same_origin(field: Field, one: int, other: int) -> bool:
    """Of one other grouping; an empty name is none."""
    return field.members[one].origin.casefold() == field.members[other].origin.casefold() != ""


def best_round(field: Field, there: Sequence[int], worth: Worth, bars: Restrictions) -> tuple[Pairs, tuple[str, ...]]:
    """The heaviest round of those there, and remarks on bars it had to break.

    Families give way first, then rematches: as few as possible, then the least recent. Pairs keep the order of `there`.
    Unpairable if `strict` and a bar would have to give way.
    """
    weights, kin, again = pair_matrices(field, there, worth)
    kin *= bars.forbid_family
    try:
        found = relaxed_matching(weights, kin, again > 0)
    except NoMatching:
        unit = len(there) * (int(np.ptp(weights)) + 1)
        found = relaxed_matching(weights - unit * kin, again)
    pairs = [(there[one], there[other]) for one, other in found.pairs]
    remarks = tuple(remark for pair in pairs for remark in broken_restrictions(field, *pair, bars))
    if bars.strict and remarks:
        raise Unpairable("; ".join(remarks) + "; strict = false allows it")
    return pairs, remarks


def pair_matrices(field: Field, there: Sequence[int], worth: Worth) -> tuple[Numbers, Numbers, Numbers]:
    """What each pair of `there` is worth, 1 where it is of one family, and the round of its last meeting or 0."""
    weights, kin, again = (np.zeros((len(there), len(there)), dtype=np.int64) for _ in range(3))
    for row, one in enumerate(there):
        for column, other in enumerate(there[:row]):
            weights[row, column] = worth(one, other)
            kin[row, column] = same_family(field, one, other)
            again[row, column] = field.meetings[one].get(other, 0)
    return weights + weights.T, kin + kin.T, again + again.T


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


MILLI = 1000  # units in a point of ratings, so that equal ones are equal on every machine


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


ENTRY_DRAWS = 2  # AccelRat: virtual draws that hold everybody at its entry rating
Score = tuple[int, int, int]  # wins, draws, losses


def match_scores(field: Field) -> list[list[tuple[int, int, Score]]]:
    """Round by round the matches played: two places, the lower first, and what the first of them did.

    A match counts as many games as its two scores have points together, so it is one game where matches are scored.
    """
    rounds = []
    for row in field.history:
        played = []
        for member, turn in enumerate(row):
            other = turn.opponent
            if turn.met and other is not None and member < other:
                wins, draws = divmod(turn.points, 2)
                losses = (row[other].points - draws) // 2
                played.append((member, other, (wins, draws, losses)))
        rounds.append(played)
    return rounds


def by_likelihood(field: Field, entry: Sequence[float]) -> list[float]:
    """The most likely Elo ratings, by place in the entry order; byes and forfeits count nothing.

    Each has `ENTRY_DRAWS` draws against an engine fixed at its entry rating.
    """
    names = [f"{place:06}" for place in range(len(entry))]
    counts: dict[tuple[str, str], Score] = {(name, f"{name} at entry"): (0, ENTRY_DRAWS, 0) for name in names}
    for played in match_scores(field):
        for one, other, (wins, draws, losses) in played:
            pair = names[one], names[other]
            before = counts.get(pair, (0, 0, 0))
            counts[pair] = (before[0] + wins, before[1] + draws, before[2] + losses)
    anchors = {f"{name} at entry": rating for name, rating in zip(names, entry, strict=True)}
    found = fit(counts, anchors=anchors).by_name()
    return [found[name] for name in names]


def by_gor(field: Field, entry: Sequence[float], *, integer_steps: bool = False) -> list[float]:
    """GoR of the thesis with epsilon 0. InputRefused when somebody enters below its floor of 100."""
    games: list[RatedGame] = []
    for number, played in enumerate(match_scores(field), 1):
        for one, other, (wins, draws, losses) in played:
            for points in (*(2,) * wins, *(1,) * draws, *(0,) * losses):
                games.append(RatedGame(str(one), str(other), points, len(games) + 1, str(number)))
    settings = GorSettings(variant="egf", eps=0.0, integer_steps=integer_steps)
    start = {str(place): rating for place, rating in enumerate(entry)}
    found = start | {event.engine: event.after for event in rate(games, begin(settings, start))}
    return [found[str(place)] for place in range(len(entry))]


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


def whites(field: Field, member: int) -> int:
    """Whites alone, as gopair counts (its manual, 2005)."""
    return sum(turn.met and turn.colour == WHITE for turn in field.turns(member))


def assign_colours(
    field: Field, pairs: Iterable[tuple[int, int]], system: str, count: Callable[[Field, int], int] = Field.balance
) -> tuple[Board, ...]:
    """Boards in the order of the pairs.

    White goes to whoever has less in `count`, then to who had Black in the last round in which their colors differed,
    then by lot. Where a match has both colors there is nothing to even out, only the lot.
    """
    return tuple(Board(*_white_first(field, *pair, system, count)) for pair in pairs)


def _white_first(
    field: Field, one: int, other: int, system: str, count: Callable[[Field, int], int]
) -> tuple[int, int]:
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


def group_of(field: Field, member: int, number: int = -1) -> int:
    """Whole wins, or the McMahon score, before a round, by default now; halves belong to the group below."""
    return (field.counted or field.points)[number][member] // field.win


def score_groups(field: Field, there: Sequence[int]) -> list[list[int]]:
    """Members of equal scores together, the highest first."""
    groups: dict[int, list[int]] = {}
    for member in there:
        groups.setdefault(group_of(field, member), []).append(member)
    return [groups[score] for score in sorted(groups, reverse=True)]
