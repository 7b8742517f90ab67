"""EPM pairing system for Go: McMahon groups, floats from the middle, backtracking.

Groups are made by McMahon scores; the lists of opponents are sorted by the older Gotha function without a handicap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field as Setting

from enginetour.formats.base import ForbidFamily, Strict
from enginetour.formats.pairing import standings
from enginetour.formats.pairing.criteria import Criterion, OlderGotha, Span, lineup_of, random_by_seed, weigh
from enginetour.formats.pairing.draw import last_bye, last_meetings
from enginetour.formats.pairing.field import CERTIFIED, Dice, Field, Paired
from enginetour.formats.pairing.gorounds import (
    Pairs,
    Restrictions,
    Worth,
    assign_colors,
    best_round,
    group_of,
    score_groups,
)
from enginetour.formats.pairing.tiebreaks import Absence
from enginetour.formats.rounds import Reason
from enginetour.formats.starts import ABSENCE, Starting, StartingOptions

# EPM: floats from the middle of odd groups, then backtracking with a pointer into each member's list of opponents.
#
# 1  the groups are visited from the top; from an odd group, the member nearest the middle floats to the next group,
#    where it meets the member nearest the middle
# 2  each member has a list of unmet opponents, ordered by weight, and a pointer into this list
# 3  the highest unpaired member moves its pointer to the first free opponent, and the pair is stored
# 4  if it has no free opponent left, the last pair is undone, its higher member continues with its list, and the
#    pointers of all lower members return to the start
# 5  if the pointer of the highest member reaches the end, there is no round, and the next choice of floats is tried
#
# Source: Vuorinen 2010 on EPM. It is enginetour's choice to try other floats and to limit the number of steps.


class TooLong(Exception):
    """The allowed number of steps is used up."""


class Steps:
    """Counter of remaining steps that raises TooLong at its end."""

    def __init__(self, most: int) -> None:
        self.left = most

    def step(self) -> None:
        """Count one move of a pointer, or the start of one choice of floats."""
        if not self.left:
            raise TooLong
        self.left -= 1


def floats(field: Field, groups: Sequence[Sequence[int]], bars: Restrictions) -> Iterator[Pairs]:
    """Yield all choices of pairs between groups that make the groups even, beginning with those nearest the middles.

    Groups and their members are ordered best first. Of equally near choices, those nearer the middle of the upper group
    come first, then those with better places. The choices of the lowest group change most often.
    """
    odd = next((number for number, group in enumerate(groups) if len(group) % 2), None)
    if odd is None:
        yield []
        return
    upper = groups[odd]
    below = next((number for number in range(odd + 1, len(groups)) if groups[number]), None)
    if below is None:
        return
    lower = groups[below]
    choices = sorted(
        (_off(down, upper) + _off(up, lower), _off(down, upper), down, up)
        for down in range(len(upper))
        for up in range(len(lower))
        if bars.allow(field, upper[down], lower[up])
    )
    for _, _, down, up in choices:
        pair = upper[down], lower[up]
        rest = [[member for member in group if member not in pair] for group in groups]
        for others in floats(field, rest, bars):
            yield [pair, *others]


def _off(place: int, group: Sequence[int]) -> int:
    return abs(2 * place - len(group) + 1)


def backtracked(field: Field, order: Sequence[int], worth: Worth, bars: Restrictions, steps: Steps) -> Pairs | None:
    """Return the pairs of the first round found, from the top, or None if there is none.

    `order` has the members, best first.
    """
    wanted = {
        one: sorted(
            (other for other in order if other != one and bars.allow(field, one, other)),
            key=lambda other: -worth(one, other),
        )
        for one in order
    }
    pointer = dict.fromkeys(order, 0)
    place = {member: at for at, member in enumerate(order)}
    free = set(order)
    stored: Pairs = []
    while free:
        highest = min(free, key=place.__getitem__)
        pair = _next_pair(highest, wanted[highest], pointer, free, steps)
        while pair is None:
            if not stored:
                return None
            highest, other = stored.pop()
            free |= {highest, other}
            for lower in order[place[highest] + 1 :]:
                pointer[lower] = 0
            pair = _next_pair(highest, wanted[highest], pointer, free, steps)
        stored.append(pair)
        free -= set(pair)
    return stored


def _next_pair(
    one: int, wanted: Sequence[int], pointer: dict[int, int], free: set[int], steps: Steps
) -> tuple[int, int] | None:
    while pointer[one] < len(wanted):
        steps.step()
        other = wanted[pointer[one]]
        pointer[one] += 1
        if other in free:
            return one, other
    return None


def first_round(
    field: Field, groups: Sequence[Sequence[int]], worth: Worth, bars: Restrictions, steps: Steps
) -> Pairs | None:
    """Return the pairs of a round in the order of their groups, or None if no valid round was found.

    The pairs include those of entrants who play outside their group.
    """
    order = [member for group in groups for member in group]
    for chosen in floats(field, groups, bars):
        steps.step()
        floating = {member for pair in chosen for member in pair}
        pairs = backtracked(field, [member for member in order if member not in floating], worth, bars, steps)
        if pairs is not None:
            return sorted([*pairs, *chosen], key=lambda pair: min(map(order.index, pair)))
    return None


class EpmOptions(StartingOptions):
    """Settings of EPM."""

    absence: Absence = Setting(default="pairing-only", description=ABSENCE)
    seeding: Literal["fold", "slip", "split-random"] = Setting(
        default="split-random",
        description="Ideal pairs of entrants with equal scores, in the lists of opponents: fold, slip or split-random "
        "(Gotha documentation, 2005).",
    )
    exempt_wins: bool = Setting(
        default=False,
        description="Ignore origin and family for entrants that have won half of all rounds (Gotha, 2005).",
    )
    steps: int = Setting(
        default=100_000,
        ge=1,
        le=10_000_000,
        description="Maximum number of search steps. If they do not lead to a round, all pairs of the round are "
        "matched at once (enginetour's choice).",
    )
    forbid_family: ForbidFamily = False
    strict: Strict = False


class Epm(Starting):
    """Pairing system with backtracking from the top.

    If the number of entrants is odd, the last of those with the fewest byes gets the bye (Vuorinen 2010).
    """

    unplayed = "own"
    options: EpmOptions

    def pair(self, field: Field) -> Paired:
        """Return the first round found, or the heaviest round if there is none or too many steps are needed."""
        field = replace(field, counted=self.scores(field))
        bars, order = Restrictions(self.options.strict, self.options.forbid_family), self._ranked(field)
        byes = (last_bye(field, order),) if len(order) % 2 else ()
        order = [member for member in order if member not in byes]
        worth = self._worth(field)
        try:
            pairs = first_round(field, score_groups(field, order), worth, bars, Steps(self.options.steps))
            why = "no choice of floats leads to a valid round"
        except TooLong:
            pairs, why = None, f"no valid round in {self.options.steps} steps"
        if pairs is not None:
            return Paired(assign_colors(field, pairs, "epm"), byes, "by rule (exhaustive search)")
        pairs, broken = best_round(field, order, worth, bars)
        remarks = (f"{why}: all pairs are matched at once, with the same weights", *broken)
        return Paired(assign_colors(field, pairs, "epm"), byes, f"fallback: {why}; {CERTIFIED}", remarks)

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """Return the criteria for the order of the lists of opponents, with their values for this pair."""
        number = {member: at for at, member in enumerate(field.present)}
        a, b = np.array([number[one]]), np.array([number[other]])
        return tuple(
            Reason(criterion.name, int(criterion.value(a, b)[0]), criterion.most, criterion.source)
            for criterion in self._criteria(field)
        )

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """Explain the groups and floats, and the place of each entrant in the other one's list of opponents."""
        field = replace(field, counted=self.scores(field))
        bars, worth = Restrictions(self.options.strict, self.options.forbid_family), self._worth(field)
        names = [member.name for member in field.members]
        order = [member for member in self._ranked(field) if member not in paired.byes]
        mates = {at: sum(board.pair) - at for board in paired.boards for at in board.pair}
        groups = [group_of(field, at) for at in (one, other)]
        texts = [] if groups[0] == groups[1] else [
            f"groups of MMS {groups[0]} and {groups[1]}: in an odd group, the entrant nearest the middle floats; then "
            "each entrant is paired by its list of opponents"
        ]  # fmt: skip
        for place, wanted in ((one, other), (other, one)):
            if place not in mates or wanted not in mates:
                continue
            free = [at for at in order if at != place and bars.allow(field, place, at)]
            ranked = sorted(free, key=lambda at: -worth(place, at))
            where = {at: f"number {ranked.index(at) + 1} of {len(ranked)}" for at in ranked}
            mate = mates[place]
            got = "" if mate == wanted else f"; the opponent is {names[mate]}, {where.get(mate, 'not allowed')}"
            texts.append(f"in the list of {names[place]}, {names[wanted]} is {where.get(wanted, 'not allowed')}{got}")
        return (*texts, *super().rules(field, paired, one, other))

    def _ranked(self, field: Field) -> list[int]:
        """Return the members in the order of McMahon score, SOS, rating and entry; it does not depend on the table."""
        groups = standings.order_by_codes(field, self.codes, field.present, self.pairing_terms(field))
        return [
            member for _, tied in groups for member in sorted(tied, key=lambda at: -(field.members[at].rating or 0))
        ]

    def _worth(self, field: Field) -> Worth:
        weights = weigh(self._criteria(field), len(field.present))
        number = {member: at for at, member in enumerate(field.present)}
        return lambda one, other: int(weights[number[one], number[other]])

    def _criteria(self, field: Field) -> tuple[Criterion, ...]:
        """Return the criteria of the older Gotha function, with groups of half wins."""
        scores = self.scores(field)
        most, least = (2 * limit(scores[-1], default=0) // field.win for limit in (max, min))
        lineup = lineup_of(field, scores, Span(most, most - least + 1, 2), self._ranked(field))
        enough = field.win * field.rounds
        exempt = [self.options.exempt_wins and 2 * field.scores[at] >= enough for at in field.present]
        chance = random_by_seed(Dice(field.seed, "epm", field.number, "pairs"), len(field.members))
        met = last_meetings(field, lineup, forfeits=False) > 0
        return OlderGotha(
            field, lineup, met, chance, np.array(exempt, dtype=np.bool_), seeding=self.options.seeding
        ).criteria()
