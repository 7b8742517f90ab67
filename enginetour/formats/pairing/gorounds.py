"""Shared code of older Go pairing programs: best round, ratings, colors, byes, score groups."""

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

Pairs = list[tuple[int, int]]
Worth = Callable[[int, int], int]
"""(member, member) -> weight of the pair; the function is symmetric."""


@dataclass(frozen=True, slots=True)
class Restrictions:
    """Forbidden pairs: rematches and, with `forbid_family`, pairs of the same family.

    With `strict`, there are no exceptions.
    """

    strict: bool = False
    forbid_family: bool = False

    def allow(self, field: Field, one: int, other: int) -> bool:
        """Return whether the pair is not forbidden."""
        return not field.met(one, other) and not (self.forbid_family and same_family(field, one, other))


def same_family(field: Field, one: int, other: int) -> bool:
    """Return whether both belong to the same family (author or code base); an empty name is not a family."""
    return field.members[one].family.casefold() == field.members[other].family.casefold() != ""


def same_origin(field: Field, one: int, other: int) -> bool:
    """Return whether both have the same origin; an empty name is not an origin."""
    return field.members[one].origin.casefold() == field.members[other].origin.casefold() != ""


def best_round(field: Field, there: Sequence[int], worth: Worth, bars: Restrictions) -> tuple[Pairs, tuple[str, ...]]:
    """Return the heaviest round of the members `there`, and remarks on the restrictions that it breaks.

    If there is no round without forbidden pairs, the fewest possible pairs of the same family are used, and then the
    fewest and least recent rematches. Pairs keep the order of `there`. Raises Unpairable if a restriction would be
    broken and `strict` is set.
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
        raise Unpairable("; ".join(remarks) + ". Hint: set strict = false to allow it")
    return pairs, remarks


def pair_matrices(field: Field, there: Sequence[int], worth: Worth) -> tuple[Numbers, Numbers, Numbers]:
    """Return three matrices over `there`: weights, pairs of the same family, and latest rounds.

    The second matrix has 1 for the same family. The third has the latest round in which the pair met, or 0.
    """
    weights, kin, again = (np.zeros((len(there), len(there)), dtype=np.int64) for _ in range(3))
    for row, one in enumerate(there):
        for column, other in enumerate(there[:row]):
            weights[row, column] = worth(one, other)
            kin[row, column] = same_family(field, one, other)
            again[row, column] = field.meetings[one].get(other, 0)
    return weights + weights.T, kin + kin.T, again + again.T


def rematch(field: Field, one: int, other: int) -> str:
    """Describe the rematch of a pair, with the round of its last game."""
    names = f"{field.members[one].name} - {field.members[other].name}"
    return f"{names} is a rematch of round {field.meetings[one][other]}"


def broken_restrictions(field: Field, one: int, other: int, bars: Restrictions) -> tuple[str, ...]:
    """Return a sentence for each restriction that this pair breaks."""
    remarks = []
    if field.met(one, other):
        remarks.append(f"{rematch(field, one, other)} and cannot be avoided")
    if bars.forbid_family and same_family(field, one, other):
        names = f"{field.members[one].name} - {field.members[other].name}"
        remarks.append(f"{names} belong to the same family, and this pair cannot be avoided")
    return tuple(remarks)


MILLI = 1000  # units per rating point; integers make equal ratings equal on all machines


def entry_ratings(field: Field) -> tuple[int, ...]:
    """Return the configured ratings in thousandths of a point; an entrant without a rating gets the average."""
    known = [member.rating for member in field.members if member.rating is not None]
    middle = fmean(known) if known else 0.0
    return tuple(round(MILLI * (middle if member.rating is None else member.rating)) for member in field.members)


def current_ratings(field: Field) -> tuple[int, ...]:
    """Return the most likely ratings after all games so far, in thousandths of a point.

    Each entrant also has two virtual draws against its entry rating.
    """
    entry = entry_ratings(field)
    if not any(turn.games for row in field.history for turn in row):
        return entry
    return tuple(round(MILLI * rating) for rating in by_likelihood(field, [rating / MILLI for rating in entry]))


ENTRY_DRAWS = 2  # AccelRat: number of virtual draws against the entry rating
Score = tuple[int, int, int]  # wins, draws, losses


def match_scores(field: Field) -> list[list[tuple[int, int, Score]]]:
    """Return the played matches of each round: two places, the lower first, and the score of the first one.

    The number of games in a match is the sum of its two scores, so it is 1 if matches are scored instead of games.
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
    """Return the most likely Elo ratings by place in the entry order; byes and forfeits do not count.

    Each member has `ENTRY_DRAWS` draws against an engine fixed at its entry rating.
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
    """Return GoR ratings as in Vuorinen 2010, with epsilon 0.

    Raises InputRefused if an entry rating is below the floor of GoR, which is 100.
    """
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
    """Raise ValueError with the names of all members without a rating, if there are any."""
    missing = [member.name for member in members if member.rating is None]
    if missing:
        step = "set rating = ... in the [[entrants]] section of each of these entrants"
        raise ValueError(f"no rating: {', '.join(missing)}. Hint: {step}")


def remarks_on_unrated(field: Field) -> tuple[str, ...]:
    """Return a remark for each present entrant without a rating."""
    late = [field.members[place].name for place in field.present if field.members[place].rating is None]
    return tuple(f"{name} has no rating; the average of the others is used" for name in late)


def order_by_rating(ratings: Sequence[int], members: Sequence[int]) -> list[int]:
    """Return the members in the order of their ratings, best first; equal ratings are in entry order."""
    return sorted(members, key=lambda place: (-ratings[place], place))


def whites(field: Field, member: int) -> int:
    """Return the number of rounds with White; gopair uses it instead of the balance (manual, 2005)."""
    return sum(turn.met and turn.color == WHITE for turn in field.turns(member))


def assign_colors(
    field: Field, pairs: Iterable[tuple[int, int]], system: str, count: Callable[[Field, int], int] = Field.balance
) -> tuple[Board, ...]:
    """Return boards in the order of the pairs.

    White goes to the member with the lower `count`, then to the one that had Black in the last round in which their
    colors differed, then to a random one. If a match has both colors, only the random choice is left.
    """
    return tuple(Board(*_white_first(field, *pair, system, count)) for pair in pairs)


def _white_first(
    field: Field, one: int, other: int, system: str, count: Callable[[Field, int], int]
) -> tuple[int, int]:
    had = count(field, one) - count(field, other)
    if had == 0:
        latest = zip(_back(field, one), _back(field, other), strict=False)  # the rounds that both have played
        had = next((mine - theirs for mine, theirs in latest if mine != theirs), 0)
    if had == 0:
        low, high = sorted((one, other))
        had = 1 - 2 * Dice(field.seed, system, field.number, "colours", low, high).below(2)
        one, other = low, high
    return (other, one) if had > 0 else (one, other)


def _back(field: Field, member: int) -> list[int]:
    return [turn.color for turn in reversed(field.turns(member)) if turn.met and turn.color]


# The bye in gopair: an entrant marked BYE, otherwise a random entrant from the middle of the rating order.
#
# Candidates are the entrants of the middle 80 % that have lost a game, have missed no round and stay to the end. If
# there are none, the conditions are dropped one by one, in this order: staying, no missed round, the middle, a loss.
# The bye goes to a random one of the candidates with the fewest missed rounds. Source: gopair manual, 2005.

_CUT = 10  # gopair manual 2005: a tenth at each end of the rating order is excluded


def candidates(field: Field, there: Sequence[int]) -> list[int]:
    """Return the members in `there` with the fewest byes, in the same order."""
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
    """Return the member that gets the bye; the last step of the choice is random.

    Members in `marked` are preferred. Members in `leaving` miss a later round.
    """
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
    """Return the number of rounds without an opponent, including byes."""
    return sum(not turn.paired for turn in field.turns(member))


def _lost(field: Field, member: int) -> bool:
    """Return whether the member scored less than an opponent in some round, over the board or not."""
    return any(
        turn.opponent is not None and turn.points < row[turn.opponent].points
        for turn, row in zip(field.turns(member), field.history, strict=True)
    )


def group_of(field: Field, member: int, number: int = -1) -> int:
    """Return the score group of a member: its score in whole wins, or its McMahon score, rounded down.

    `number` is the index of the round before which the score counts; the default is the current score.
    """
    return (field.counted or field.points)[number][member] // field.win


def score_groups(field: Field, there: Sequence[int]) -> list[list[int]]:
    """Return groups of members with equal scores, the highest first."""
    groups: dict[int, list[int]] = {}
    for member in there:
        groups.setdefault(group_of(field, member), []).append(member)
    return [groups[score] for score in sorted(groups, reverse=True)]
