"""Floats, seeding inside a group, byes, and the boards with colors for a matching."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from enginetour.formats.pairing import matching
from enginetour.formats.pairing.criteria import PROGRAM, Criterion, Flags, Ints, Lineup, PairRandom, Value
from enginetour.formats.pairing.field import CERTIFIED, WHITE, Board, Dice, Field, Unpairable

# Floats of an odd group: entrants whose float undoes an earlier one come first, then a position or a rule decides.
#
# rule          floats down                      floats up                        source
# position      top, middle or bottom            top, middle or bottom            Gotha
# sos-even      highest SOS                      lowest SOS                       Gerlach, as reconstructed
# godraw        lost the last round              floated down last time and won   GoDraw
# information   -                                most wins, to an opponent        Vuorinen 2010
#                                                100-300 points above the
#                                                strongest it has beaten
# compensate    undoes an earlier float          undoes an earlier float          Gotha
# fide          bottom; floats of two rounds     top                              FIDE C.04.3

FloatPosition = Literal["top", "middle", "bottom"]
FloatRule = Literal["position", "sos-even", "godraw", "information", "compensate", "fide"]
_REACH = 4  # OpenGotha 3.51: at this distance of the groups, a pair is not a float
MEMORY: dict[str, int] = {"fide": 2, "godraw": 1}  # recent rounds in which floats count: FIDE C.04.3; GoDraw
_WINDOW = (100.0, 300.0)  # rating points above the strongest beaten opponent, Vuorinen 2010


@dataclass(frozen=True, slots=True, eq=False)
class FloatSuitability:
    """Suitability of each member for a float down and up, from 0 to half a unit; `pair` adds at most half a unit."""

    down: Ints
    up: Ints
    pair: Value | None = None


def floats(lineup: Lineup, suited: FloatSuitability, unit: int = 2 * 10**7, *, compensate: bool = True) -> Criterion:
    """Return the criterion for pairs between near groups; its value is at most five units.

    It is two units if neither entrant has floated in this direction, plus one unit for each float that undoes an
    earlier one. It is 0 if both have floated in this direction before.
    """
    group, kind = lineup.group, lineup.category
    was_down, was_up = (lineup.down > 0).astype(np.int64), (lineup.up > 0).astype(np.int64)
    above = below = np.full(len(lineup), unit, dtype=np.int64)
    if compensate:
        above = unit * (1 - was_down + (lineup.up > lineup.down))
        below = unit * (1 - was_up + (lineup.down > lineup.up))
    reach = _REACH * lineup.span.step

    def downwards(upper: Ints, lower: Ints) -> Ints:
        worth = above[upper] + below[lower]
        if compensate:
            worth = np.where(was_down[upper] & was_up[lower], 0, worth)
        worth = worth + suited.down[upper] + suited.up[lower]
        return worth if suited.pair is None else worth + suited.pair(upper, lower)

    def value(one: Ints, other: Ints) -> Ints:
        gap = group[other] - group[one]
        worth = np.where(gap > 0, downwards(one, other), downwards(other, one))
        if lineup.span.categories > 1:
            apart = abs(kind[one] - kind[other]) + 1
            worth = worth // apart // apart // apart // apart
        return np.where((gap != 0) & (abs(gap) < reach), worth, 0)

    return Criterion("floats", 5 * unit, PROGRAM, value)


def by_position(lineup: Lineup, down: FloatPosition, up: FloatPosition, unit: int = 2 * 10**7) -> FloatSuitability:
    """Return the suitability by the place of each member in its group."""
    return FloatSuitability(_position(lineup, down, unit // 2), _position(lineup, up, unit // 2))


def _position(lineup: Lineup, where: FloatPosition, most: int) -> Ints:
    size, place = lineup.size, lineup.place
    off = {"top": place, "middle": abs(2 * place - size + 1), "bottom": size - 1 - place}[where]
    return most * (size - 1 - off) // size


def by_rule(
    field: Field, lineup: Lineup, rule: FloatRule, sos: Sequence[int], unit: int = 2 * 10**7
) -> FloatSuitability:
    """Return the suitability by a rule other than `position`; `sos` has the SOS of each member in the lineup."""
    most, there = unit // 2, lineup.member.tolist()
    nothing = np.zeros(len(lineup), dtype=np.int64)
    if rule == "sos-even":
        rank = _ranks(lineup, np.array(sos, dtype=np.int64))
        return FloatSuitability(most * (lineup.size - 1 - rank) // lineup.size, most * rank // lineup.size)
    if rule == "fide":
        return by_position(lineup, "bottom", "top", unit)
    if rule == "compensate" or not field.history:
        return FloatSuitability(nothing, nothing)
    if rule == "godraw":
        last = field.history[-1]
        won = [2 * last[at].points > field.win for at in there]
        lost = [last[at].paired and 2 * last[at].points < field.win for at in there]
        returns = (lineup.down > 0) & np.array(won)
        return FloatSuitability(most * np.array(lost, dtype=np.int64), most * returns.astype(np.int64))
    return _information(field, lineup, most)


def _ranks(lineup: Lineup, values: Ints) -> Ints:
    """Return the rank of each value inside its group, 0 for the highest; equal values are ordered by place."""
    order = np.lexsort((lineup.place, -values, lineup.group))
    first = np.searchsorted(lineup.group[order], lineup.group[order])
    rank = np.empty(len(lineup), dtype=np.int64)
    rank[order] = np.arange(len(lineup)) - first
    return rank


def _information(field: Field, lineup: Lineup, most: int) -> FloatSuitability:
    """Return the suitability by the rule `information`; entrants without a rating get 0."""
    known = [float("nan") if member.rating is None else member.rating for member in field.members]
    wins, strongest = [0] * len(known), [float("nan")] * len(known)
    for row in field.history:
        for member, turn in enumerate(row):
            if turn.opponent is not None and turn.met and 2 * turn.points > field.win:
                wins[member] += 1
                strongest[member] = float(np.fmax(strongest[member], known[turn.opponent]))
    there = lineup.member
    rating, beaten, won = np.array(known)[there], np.array(strongest)[there], np.array(wins, dtype=np.int64)[there]

    def pair(upper: Ints, lower: Ints) -> Ints:
        ahead = rating[upper] - beaten[lower]
        fits: Flags = (ahead >= _WINDOW[0]) & (ahead <= _WINDOW[1])
        return np.where(fits, most, 0)

    return FloatSuitability(np.zeros(len(lineup), dtype=np.int64), most * won // max(1, int(won.max(initial=0))), pair)


# Seeding: ideal opponents inside a group of n, numbered 0 .. n-1 by placement.
#
# name           ideal opponent of p                   source
# fold           n-1-p                                 thesis 2010, Gotha
# slip           p + n/2 (translation)                 thesis 2010, Gotha
# split-random   random one of the other half          Gotha
# double-fold    fold each half: 16 as 1-8, 2-7, 16-9  thesis 2010, its example
# adjacent       the neighbor                          thesis 2010
# random         random one                            thesis 2010
#
# The value falls with the square of the distance from the ideal opponent.

Seeding = Literal["fold", "slip", "split-random", "double-fold", "adjacent", "random"]
_SPREAD = 5  # OpenGotha 3.51: a random number removes up to a fifth of the value of a pair between the halves


def seeding(lineup: Lineup, kind: Seeding, chance: PairRandom, most: int = 5 * 10**6) -> Criterion:
    """Return the criterion for ideal pairs inside a group; its value is 0 between groups."""
    group, size, place, member = lineup.group, lineup.size, lineup.place, lineup.member

    def value(one: Ints, other: Ints) -> Ints:
        p, q, n = place[one], place[other], size[one]
        if kind == "random":
            worth = chance(member[one], member[other], most)
        elif kind == "split-random":
            across = (2 * p < n) != (2 * q < n)
            worth = np.where(across, most - chance(member[one], member[other], most // _SPREAD), 0)
        else:
            off, of = _DISTANCES[kind](p, q, n)
            worth = most - most * off // of * off // of
        return np.where(group[one] == group[other], worth, 0)

    return Criterion("seeding", most, PROGRAM if kind in ("fold", "slip", "split-random") else "Vuorinen 2010", value)


def _double_fold(p: Ints, q: Ints, n: Ints) -> tuple[Ints, Ints]:
    """Return the distance from the ideal and the largest distance, both doubled to avoid fractions.

    For a pair between the halves, the larger of the distances in both halves counts.
    """
    upper = abs(2 * (p + q + 1) - n)
    lower = abs(2 * (p + q + 1) - 3 * n)
    p_above, q_above = 2 * p < n, 2 * q < n
    inside = np.where(p_above, upper, lower)
    return np.where(p_above == q_above, inside, np.maximum(upper, lower)), 2 * n


_DISTANCES: dict[str, Callable[[Ints, Ints, Ints], tuple[Ints, Ints]]] = {
    "fold": lambda p, q, n: (abs(p + q - np.maximum(n - 1, 1)), np.maximum(n - 1, 1)),
    "slip": lambda p, q, n: (abs(2 * abs(p - q) - n), n),
    "double-fold": _double_fold,
    "adjacent": lambda p, q, n: (abs(abs(p - q) - 1), n),
}
"""(places, places, size of the group) -> the distance of each pair from its ideal, and the largest distance."""

_BYE_WEIGHT = 1000  # Gotha: weight of an earlier bye, compared to bands and scores


def gotha_bye(field: Field, bands: Sequence[int], points: Sequence[int]) -> int:
    """Return the member with the smallest band + 2 * McMahon score + 1000 * byes; if several are equal, the last.

    `points` has the McMahon scores of all members, in the unit of `Field.points`.
    """
    return min(
        field.present,
        key=lambda at: ((bands[at] + _BYE_WEIGHT * field.byes(at)) * field.win + 2 * points[at], -at),
    )


def last_bye(field: Field, order: Sequence[int]) -> int:
    """Return the last member among those with the fewest byes; `order` is best first. Source: Vuorinen 2010."""
    return min(reversed(order), key=field.byes)


IN_TWO_STEPS = f"{CERTIFIED}: first for the floats, then inside the renumbered groups"


def last_meetings(field: Field, lineup: Lineup, *, forfeits: bool) -> Ints:
    """Return a matrix with the latest round (from 1) in which each pair met, or 0 if it never met.

    With `forfeits`, forfeited games count too.
    """
    rounds = np.zeros((len(lineup), len(lineup)), dtype=np.int64)
    numbers = {member: at for at, member in enumerate(lineup.member.tolist())}
    for number, row in enumerate(field.history, 1):
        for member, at in numbers.items():
            turn = row[member]
            if forfeits and turn.opponent in numbers:
                rounds[at, numbers[turn.opponent]] = number
    for member, at in numbers.items():
        for opponent, number in field.meetings[member].items():  # meetings can contain pairs that are only forbidden
            if opponent in numbers:
                rounds[at, numbers[opponent]] = max(number, rounds[at, numbers[opponent]])
    return rounds


def bar_levels(meetings: Ints, kin: Flags | None) -> Ints:
    """Return the level at which each pair is forbidden.

    It is 0 for allowed pairs, 1 for the same family, and higher for a rematch; a recent rematch has a higher level.
    """
    related = np.zeros(meetings.shape, dtype=np.int64) if kin is None else kin.astype(np.int64)
    return np.where(meetings > 0, meetings + 1, related)


def fix_floats(pairs: Sequence[tuple[int, int]], member: Ints, group: Ints) -> tuple[Flags, Flags]:
    """Return the members of these pairs that float, and a matrix of the pairs that are no longer possible.

    `member` has the places in the entry order that occur in `pairs`; `group` has the group of each member.
    """
    number = {at: index for index, at in enumerate(member.tolist())}
    apart = group[:, None] != group
    floating = np.zeros(len(member), dtype=np.bool_)
    across = [(number[one], number[other]) for one, other in pairs if apart[number[one], number[other]]]
    for pair in across:
        floating[list(pair)] = True
    apart |= floating[:, None] | floating
    for one, other in across:
        apart[one, other] = apart[other, one] = False
    return floating, apart


def pair_heaviest(
    field: Field,
    members: Ints,
    weights: Ints,
    meetings: Ints,
    kin: Flags | None,
    *,
    strict: bool,
    apart: Flags | None = None,
) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
    """Return the pairs of the heaviest round, as places in the entry order, and remarks about them.

    The matrices are over `members`. Rematches and pairs of the same family (`kin`) are forbidden. If there is no such
    round, the fewest possible pairs of the same family are used. If this is not enough, the fewest and least recent
    rematches are used. Pairs in `apart` are always forbidden. Raises Unpairable if a rematch is needed and `strict` is
    set, or if a member has no possible opponent.
    """
    met = meetings > 0
    related = np.zeros(met.shape, dtype=np.bool_) if kin is None else kin
    try:
        found = matching.relaxed_matching(weights, related.astype(np.int64), met if apart is None else met | apart)
    except matching.Unpairable as error:
        if strict:
            raise Unpairable(_without_rematch(field, members, error.shortage)) from None
        found = matching.relaxed_matching(weights, bar_levels(meetings, kin), apart)
    return _described(field, members, found.pairs, meetings, related)


def _without_rematch(field: Field, members: Ints, shortage: matching.Shortage) -> str:
    lacking = [field.members[members[at]].name for part in shortage.parts for at in part]
    shown = ", ".join(lacking[:8]) + (" ..." if len(lacking) > 8 else "")
    return (
        f"no round without a rematch exists: {shortage.left_over} of {shown} would have no opponent. "
        "Hint: set strict = false to allow rematches"
    )


def _described(
    field: Field, members: Ints, pairs: Sequence[tuple[int, int]], meetings: Ints, related: Flags
) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
    remarks: list[str] = []
    drawn: list[tuple[int, int]] = []
    for one, other in pairs:
        places = int(members[one]), int(members[other])
        names = " - ".join(field.members[at].name for at in places)
        if meetings[one, other]:
            remarks.append(f"{names} is a rematch of round {meetings[one, other]} and cannot be avoided")
        elif related[one, other]:
            remarks.append(f"{names} belong to the same family, and this pair cannot be avoided")
        drawn.append(places)
    return drawn, tuple(remarks)


def assign_colors(
    field: Field,
    lineup: Lineup,
    pairs: Sequence[tuple[int, int]],
    dice: Dice,
    stones: Value | None,
    strength: Ints,
    *,
    named: PairRandom | None = None,
) -> tuple[Board, ...]:
    """Return boards with their colors, best group first.

    With a handicap, the stronger entrant has White. Otherwise White goes to the entrant with the smaller color balance
    (Gotha), then to the entrant that had Black last, then to a random entrant. If `named` is given, entrants with equal
    balance get their colors from its random numbers, as in OpenGotha.
    """
    number = {int(member): at for at, member in enumerate(lineup.member)}
    boards: list[tuple[tuple[int, int, int], Board]] = []
    for one, other in sorted(pairs):
        a, b = number[one], number[other]
        given = 0 if stones is None else int(stones(np.array([a]), np.array([b]))[0])
        if given:
            first = bool(strength[a] >= strength[b])
        else:
            wants = [(int(lineup.balance[at]), _last_color(field, member)) for at, member in ((a, one), (b, other))]
            if named is not None and wants[0][0] == wants[1][0]:
                first = int(named(np.array([one]), np.array([other]), 1)[0]) == 0
            else:
                first = wants[0] < wants[1] if wants[0] != wants[1] else dice.below(2) == 0
        board = Board(one, other, given) if first else Board(other, one, given)
        upper, lower = sorted([(int(lineup.group[at]), int(lineup.place[at])) for at in (a, b)])
        boards.append(((*upper, lower[0]), board))
    return tuple(board for _, board in sorted(boards, key=lambda item: item[0]))


def _last_color(field: Field, member: int) -> int:
    """Return 1 if the last game was with White, -1 if it was with Black, and 0 if there is no such game."""
    for row in reversed(field.history):
        if row[member].met and row[member].color:
            return 1 if row[member].color == WHITE else -1
    return 0
