"""McMahon starting scores: bands, bar, floor, groups.

band      floor((rating - base) / width): one grade, by default 100 points
bar       the band from which on all start alike, so that each of them can still win
floor     the band up to which all start alike
start     min(max(band, floor), bar) - zero + correction, in won matches
groups    bands merged until there are as many as the rounds can mix; then a start is the group's number from below

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

_CONTENDERS = 8  # our decision: entrants that are enough for the top group, or twice the rounds if that is more
_CONTENTION = 300.0  # our decision: points behind the best from which a tournament can still be won
_ROWS = (  # Vuorinen 2010, table of groups for five rounds: entrants up to, fewest groups, most groups
    *((20, 1, 4), (30, 3, 6), (50, 5, 8), (70, 6, 10), (90, 9, 12)),
    *((110, 10, 15), (150, 11, 20), (200, 12, 25)),
)
_MOST_GROUPS = 20  # Vuorinen 2010: 170 entrants and more have 20 groups or more
_TABLE_ROUNDS = 5  # Vuorinen 2010: the rounds the table is for
_UNPLAYED = (Kind.ABSENT, Kind.BYE, Kind.HALF_BYE, Kind.FULL_BYE)


@dataclass(frozen=True, slots=True)
class Starts:
    """What the members of a field begin with, by place in the entry order, and the span of it without corrections."""

    bands: tuple[int, ...]
    wins: tuple[int, ...]  # the start of each
    top: int  # of the bar
    bottom: int  # of the floor


def band(rating: float, base: float = 0.0, width: float = 100.0) -> int:
    """The grade a rating belongs to; 0 begins at `base`."""
    return int((rating - base) // width)


def bands(members: Sequence[Member], base: float = 0.0, width: float = 100.0) -> list[int]:
    """Return the grade of each member, by its rating where it brings none; without a rating the lowest there is."""
    lowest = min((member.rating for member in members if member.rating is not None), default=0.0)
    ratings = (lowest if member.rating is None else member.rating for member in members)
    return [
        band(rating, base, width) if member.band is None else member.band
        for member, rating in zip(members, ratings, strict=True)
    ]


def first_round_members(field: Field) -> tuple[int, ...]:
    """Who was to be paired in round 1: limits follow from them alone, so nobody's start moves when somebody joins."""
    if not field.history:
        there = field.present if field.bye is None else tuple(sorted((*field.present, field.bye)))
        return there or tuple(range(len(field.members)))
    first = field.history[0]
    there = tuple(member for member, turn in enumerate(first) if turn.paired or turn.kind is Kind.BYE)
    return there or tuple(range(len(first)))


def bar_of(ratings: Sequence[float], bands: Sequence[int], rounds: int) -> int:
    """Return the band of the smaller of two top groups: enough entrants, or all within `CONTENTION` of the best."""
    enough = max(2 * rounds, _CONTENDERS)
    best = max(ratings)
    winnable = min(grade for grade, rating in zip(bands, ratings, strict=True) if rating >= best - _CONTENTION)
    return max(winnable, sorted(bands, reverse=True)[min(enough, len(bands)) - 1])


def floor_of(ratings: Sequence[float], bands: Sequence[int], rounds: int) -> int:
    """The same from below."""
    return -bar_of([-rating for rating in ratings], [-grade for grade in bands], rounds)


def band_starts(bands: Sequence[int], bar: int, floor: int, zero: int, corrections: Sequence[int]) -> Starts:
    """One point more for each band between floor and bar; `zero` is the band that starts from nothing."""
    wins = (min(max(grade, floor), bar) - zero + more for grade, more in zip(bands, corrections, strict=True))
    return Starts(tuple(bands), tuple(wins), bar - zero, floor - zero)


def group_starts(limits: Sequence[int], bands: Sequence[int], corrections: Sequence[int]) -> Starts:
    """One point more for each group; `limits` are the lowest bands of the groups, from below."""
    groups = (max(0, bisect_right(limits, grade) - 1) for grade in bands)
    wins = (group + more for group, more in zip(groups, corrections, strict=True))
    return Starts(tuple(bands), tuple(wins), len(limits) - 1, 0)


def groups_wanted(entrants: int, rounds: int) -> int:
    """Return the number of groups for these rounds: the middle of the table's row, fewer for more rounds."""
    low, high = _row(entrants)
    return _for_rounds(Fraction(low + high, 2), rounds)


def fewest_groups(entrants: int, rounds: int) -> int:
    """Return the low end of the table's row for these rounds; at least 2 (our decision) where its middle allows."""
    return max(_for_rounds(Fraction(_row(entrants)[0]), rounds), min(2, groups_wanted(entrants, rounds)))


def _row(entrants: int) -> tuple[int, int]:
    """Return fewest and most groups of the first row that is long enough."""
    return next(((low, high) for most, low, high in _ROWS if entrants <= most), (_MOST_GROUPS, _MOST_GROUPS))


def _for_rounds(groups: Fraction, rounds: int) -> int:
    return max(1, (groups * _TABLE_ROUNDS / rounds + Fraction(1, 2)) // 1)


def merge_bands(bands: Sequence[int], wanted: int) -> tuple[int, ...]:
    """Return the lowest bands of at most `wanted` groups, none of them of one entrant unless it is alone.

    Groups of one entrant are merged first, then groups beyond `wanted`: always the two neighbors that are smallest
    together, and of equal ones those nearer an end, which makes large ends and a small middle. The result has as many
    groups as the bands allow, up to `wanted`.
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
    """Return how many groups the bands allow: those of several entrants, and neighbors alone in theirs by two."""
    counts = Counter(bands)
    runs = groupby(counts[grade] == 1 for grade in sorted(counts))
    sizes = ((alone, sum(1 for _ in run)) for alone, run in runs)
    return max(1, sum(size // 2 if alone else size for alone, size in sizes))


def clamp_bands(bands: Sequence[int], bar: int, floor: int) -> list[int]:
    """Return the bands with those above the bar as the bar and those below the floor as the floor."""
    return [min(max(grade, floor), bar) for grade in bands]


def spread_limits(
    bands: Sequence[int], bar: int, floor: int, *, fewest: int, rises: bool, falls: bool
) -> tuple[int, int]:
    """Return bar and floor moved until they leave `fewest` groups, or as many as the bands allow.

    The bar rises and the floor falls, where they may, by one band at a time, at the larger end first.
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
    """Starts and all points of every member before each round so far and now, in points as `Field.points`.

    An `absence` is worth half a win; the sum of what unplayed rounds brought is rounded down to `whole` wins.
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
