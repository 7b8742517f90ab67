"""McMahon starting scores: bands, bar, floor, groups.

band      floor((rating - base) / width): one grade, by default 100 points
bar       entrants in this band and in higher bands start with the same score, so that each of them can still win
floor     entrants in this band and in lower bands start with the same score
start     min(max(band, floor), bar) - zero + correction, in won matches
groups    bands are merged until the number of groups suits the rounds; then a start is the number of the group

Sources: Vuorinen 2010, section 3.5; documentation of Gotha, about 2005.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from enginetour.formats.pairing.field import Field, Kind, Member

_CONTENDERS = 8  # enginetour's choice: number of entrants in the top group, or twice the rounds if that is more
_CONTENTION = 300.0  # enginetour's choice: an entrant at most this many points below the best one can win
_ROWS = (  # Vuorinen 2010, table for five rounds: largest number of entrants, fewest groups, most groups
    *((20, 1, 4), (30, 3, 6), (50, 5, 8), (70, 6, 10), (90, 9, 12)),
    *((110, 10, 15), (150, 11, 20), (200, 12, 25)),
)
_MOST_GROUPS = 20  # Vuorinen 2010: 170 entrants and more have 20 groups or more
_TABLE_ROUNDS = 5  # Vuorinen 2010: number of rounds of the table
_UNPLAYED = (Kind.ABSENT, Kind.BYE, Kind.HALF_BYE, Kind.FULL_BYE)


@dataclass(frozen=True, slots=True)
class Starts:
    """Starting scores of the members by place in the entry order, and their range without corrections."""

    bands: tuple[int, ...]
    wins: tuple[int, ...]  # starting score of each member
    top: int  # start of the bar
    bottom: int  # start of the floor


def band(rating: float, base: float = 0.0, width: float = 100.0) -> int:
    """Return the band of a rating; band 0 begins at `base`."""
    return int((rating - base) // width)


def bands(members: Sequence[Member], base: float = 0.0, width: float = 100.0) -> list[int]:
    """Return the band of each member, from its grade or else from its rating.

    A member without both gets the band of the lowest rating.
    """
    lowest = min((member.rating for member in members if member.rating is not None), default=0.0)
    ratings = (lowest if member.rating is None else member.rating for member in members)
    return [
        band(rating, base, width) if member.band is None else member.band
        for member, rating in zip(members, ratings, strict=True)
    ]


def first_round_members(field: Field) -> tuple[int, ...]:
    """Return the members to be paired in round 1.

    Bar, floor and groups depend only on these members, so a starting score does not change when an entrant joins.
    """
    if not field.history:
        there = field.present if field.bye is None else tuple(sorted((*field.present, field.bye)))
        return there or tuple(range(len(field.members)))
    first = field.history[0]
    there = tuple(member for member, turn in enumerate(first) if turn.paired or turn.kind is Kind.BYE)
    return there or tuple(range(len(first)))


def bar_of(ratings: Sequence[float], bands: Sequence[int], rounds: int) -> int:
    """Return the bar, which is the lowest band of the smaller of two top groups.

    One group has enough entrants for the rounds. The other one has all entrants within `_CONTENTION` of the best.
    """
    enough = max(2 * rounds, _CONTENDERS)
    best = max(ratings)
    winnable = min(grade for grade, rating in zip(bands, ratings, strict=True) if rating >= best - _CONTENTION)
    return max(winnable, sorted(bands, reverse=True)[min(enough, len(bands)) - 1])


def floor_of(ratings: Sequence[float], bands: Sequence[int], rounds: int) -> int:
    """Return the floor, which is computed like the bar but from the bottom."""
    return -bar_of([-rating for rating in ratings], [-grade for grade in bands], rounds)


def band_starts(bands: Sequence[int], bar: int, floor: int, zero: int, corrections: Sequence[int]) -> Starts:
    """Return starting scores that grow by one win per band between floor and bar; the band `zero` starts with 0."""
    wins = (min(max(grade, floor), bar) - zero + more for grade, more in zip(bands, corrections, strict=True))
    return Starts(tuple(bands), tuple(wins), bar - zero, floor - zero)


def group_starts(limits: Sequence[int], bands: Sequence[int], corrections: Sequence[int]) -> Starts:
    """Return starting scores that grow by one win per group; `limits` has the lowest band of each group."""
    groups = (max(0, bisect_right(limits, grade) - 1) for grade in bands)
    wins = (group + more for group, more in zip(groups, corrections, strict=True))
    return Starts(tuple(bands), tuple(wins), len(limits) - 1, 0)


def groups_wanted(entrants: int, rounds: int) -> int:
    """Return the best number of groups: the middle of the row in the table, adjusted to the number of rounds."""
    low, high = _row(entrants)
    return _for_rounds(Fraction(low + high, 2), rounds)


def fewest_groups(entrants: int, rounds: int) -> int:
    """Return the smallest good number of groups: the lower value in the row of the table, adjusted to the rounds.

    It is at least 2 if the middle of the row is at least 2.
    """
    return max(_for_rounds(Fraction(_row(entrants)[0]), rounds), min(2, groups_wanted(entrants, rounds)))


def _row(entrants: int) -> tuple[int, int]:
    """Return the fewest and the most groups of the first row with enough entrants."""
    return next(((low, high) for most, low, high in _ROWS if entrants <= most), (_MOST_GROUPS, _MOST_GROUPS))


def _for_rounds(groups: Fraction, rounds: int) -> int:
    return max(1, (groups * _TABLE_ROUNDS / rounds + Fraction(1, 2)) // 1)


def merge_bands(bands: Sequence[int], wanted: int) -> tuple[int, ...]:
    """Return the lowest bands of at most `wanted` groups; a group has one entrant only if it is the only group.

    Groups of one entrant are merged first. Then groups are merged until there are at most `wanted`. In each step, the
    two neighbors with the fewest entrants together are merged. If several are equal, the ones nearer to an end are
    merged, so that groups are large at the ends and small in the middle.
    """
    counts = Counter(bands)
    groups = [(grade, counts[grade]) for grade in sorted(counts)]
    while len(groups) > 1:
        seams = [at for at in range(len(groups) - 1) if 1 in (groups[at][1], groups[at + 1][1])]
        if not seams and len(groups) > wanted:
            seams = [*range(len(groups) - 1)]
        if not seams:
            break
        last = len(groups) - 2
        seam = min(seams, key=lambda at: (groups[at][1] + groups[at + 1][1], min(at, last - at), at))
        groups[seam : seam + 2] = [(groups[seam][0], groups[seam][1] + groups[seam + 1][1])]
    return tuple(grade for grade, _ in groups)


def most_groups(bands: Sequence[int]) -> int:
    """Return the largest possible number of groups if no group has only one entrant.

    Each band with several entrants can be a group, and so can two neighboring bands with one entrant each.
    """
    counts = Counter(bands)
    runs = groupby(counts[grade] == 1 for grade in sorted(counts))
    sizes = ((alone, sum(1 for _ in run)) for alone, run in runs)
    return max(1, sum(size // 2 if alone else size for alone, size in sizes))


def clamp_bands(bands: Sequence[int], bar: int, floor: int) -> list[int]:
    """Return the bands limited to the range from floor to bar."""
    return [min(max(grade, floor), bar) for grade in bands]


def spread_limits(
    bands: Sequence[int], bar: int, floor: int, *, fewest: int, rises: bool, falls: bool
) -> tuple[int, int]:
    """Return bar and floor after moving them apart until there are `fewest` groups, or as many as possible.

    With `rises` the bar can move up, and with `falls` the floor can move down, by one band at a time. The end with more
    entrants moves first.
    """
    widest = clamp_bands(bands, max(bands) if rises else bar, min(bands) if falls else floor)
    wanted = min(fewest, most_groups(widest))
    while most_groups(clamp_bands(bands, bar, floor)) < wanted:
        above = min((grade for grade in bands if rises and grade > bar), default=None)
        below = max((grade for grade in bands if falls and grade < floor), default=None)
        if above is None and below is None:
            break
        at_bar, at_floor = sum(grade >= bar for grade in bands), sum(grade <= floor for grade in bands)
        if above is not None and (below is None or at_bar >= at_floor):
            bar = above
        elif below is not None:
            floor = below
    return bar, floor


def mcmahon_points(
    field: Field, wins: Sequence[int], *, absence: bool = True, whole: bool = True
) -> tuple[tuple[int, ...], ...]:
    """Return the McMahon scores of all members before each round and now, in the unit of `Field.points`.

    With `absence`, each absence counts half a win. With `whole`, the sum of the points of unplayed rounds is rounded
    down to whole wins.
    """
    played = [start * field.win for start in wins]
    rested = [0] * len(wins)
    rows = [tuple(played)]
    for row in field.history:
        for member, turn in enumerate(row):
            if turn.kind not in _UNPLAYED:
                played[member] += turn.points
            elif turn.kind is not Kind.ABSENT:
                rested[member] += turn.points
            elif absence:
                rested[member] += field.win // 2
        step = field.win if whole else 1
        rows.append(tuple(one + other // step * step for one, other in zip(played, rested, strict=True)))
    return tuple(rows)
