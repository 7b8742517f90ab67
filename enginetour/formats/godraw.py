"""GoDraw pairing system: rounds by a guided random draw.

float    from an odd group, a member that lost the last round meets a member of the next group that floated down and won
pair     a member of the largest origin meets a member of the second largest; inside an origin, families count likewise
color    an opponent that is due the other color is preferred; a member with a balance of 0 gets a random color

The source does not define some cases. These are enginetour's choices: if no member has the property, all members of the
group are possible. If only one origin is left, its members meet each other, from different families as long as there
are two. Among origins or families of equal size, the order is random. Members without a family or origin form a
separate group and can meet each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pydantic import Field as Setting

from enginetour.formats.base import ForbidFamily, Strict
from enginetour.formats.pairing.field import CERTIFIED, Dice, Field, Paired
from enginetour.formats.pairing.gorounds import (
    Pairs,
    Restrictions,
    assign_colors,
    best_round,
    candidates,
    group_of,
    same_family,
    score_groups,
)
from enginetour.formats.rounds import Reason
from enginetour.formats.starts import Starting, StartingOptions

Names = Callable[[int], str]


class Stuck(Exception):
    """The drawn member has met all possible opponents, so this draw does not lead to a round."""


@dataclass(frozen=True, slots=True)
class Draw:
    """One attempt to draw a round; `colors` is false if each match has both colors."""

    field: Field
    bars: Restrictions
    colors: bool
    dice: Dice

    def bye(self, there: Sequence[int]) -> int:
        """Draw the member that gets the bye: one of the lowest group among those with the fewest byes."""
        asked = candidates(self.field, there)
        last = min(group_of(self.field, member) for member in asked)
        return self._one([member for member in asked if group_of(self.field, member) == last])

    def pairs(self, there: Sequence[int]) -> Pairs:
        """Draw pairs from the top group down. Raises Stuck if this draw does not lead to a round."""
        groups = score_groups(self.field, there)
        found: Pairs = []
        for number, group in enumerate(groups):
            if len(group) % 2:
                lower = next((below for below in groups[number + 1 :] if below), [])
                pair = self._float(group, lower)
                group.remove(pair[0])
                lower.remove(pair[1])
                found.append(pair)
            while group:
                pair = self._pair(group)
                group[:] = [member for member in group if member not in pair]
                found.append(pair)
        return found

    def _float(self, upper: list[int], lower: list[int]) -> tuple[int, int]:
        down = self._one([member for member in upper if lost_last(self.field, member)] or upper)
        free = self._free(down, lower)
        return down, self._one([member for member in free if fell_and_won(self.field, member)] or free)

    def _pair(self, group: list[int]) -> tuple[int, int]:
        origins = self._buckets(group, lambda member: _origin(self.field, member))
        families = self._families(origins[0])
        one = self._one(families[0])
        if len(origins) > 1:
            wanted = (self._families(origins[1])[0], origins[1])
        else:
            wanted = (families[1] if len(families) > 1 else [], group)
        apart = (
            [member for member in among if member != one and not same_family(self.field, one, member)]
            for among in wanted
        )
        fits = [member for member in next(filter(None, apart), []) if self.bars.allow(self.field, one, member)]
        rest = [member for member in group if member != one]
        return one, self._one(self._other_color(one, fits or self._free(one, rest)))

    def _families(self, members: list[int]) -> list[list[int]]:
        return self._buckets(members, lambda member: self.field.members[member].family.casefold())

    def _buckets(self, members: list[int], name: Names) -> list[list[int]]:
        """Group the members by name, the largest group first."""
        buckets: dict[str, list[int]] = {}
        for member in members:
            buckets.setdefault(name(member), []).append(member)
        return sorted(self.dice.shuffled(list(buckets.values())), key=len, reverse=True)

    def _other_color(self, one: int, members: list[int]) -> list[int]:
        if not self.colors:
            return members
        wanted = self._wanted(one)
        return [member for member in members if self._wanted(member) != wanted] or members

    def _wanted(self, member: int) -> bool:
        """Return whether the member is due White; the result is random if its color balance is 0."""
        balance = self.field.balance(member)
        return balance < 0 if balance else self.dice.below(2) == 0

    def _free(self, one: int, members: Sequence[int]) -> list[int]:
        free = [member for member in members if self.bars.allow(self.field, one, member)]
        if not free:
            raise Stuck
        return free

    def _one(self, members: Sequence[int]) -> int:
        return members[self.dice.below(len(members))]


def _origin(field: Field, member: int) -> str:
    return field.members[member].origin.casefold()


def lost_last(field: Field, member: int) -> bool:
    """Return whether a member scored less than its opponent in the last round."""
    return _last(field, member) < 0


def fell_and_won(field: Field, member: int) -> bool:
    """Return whether a member won against an opponent of a lower group in the last round."""
    if _last(field, member) <= 0:
        return False
    opponent = field.history[-1][member].opponent
    return opponent is not None and group_of(field, member, -2) > group_of(field, opponent, -2)


def _last(field: Field, member: int) -> int:
    """Return the member's points minus its opponent's points in the last round, or 0 if it had no opponent."""
    turn = field.history[-1][member] if field.history else None
    if turn is None or turn.opponent is None:
        return 0
    return turn.points - field.history[-1][turn.opponent].points


_LOST = "the upper entrant lost its last game"
_RETURNS = "the lower entrant floated down and won"


def guides(field: Field, one: int, other: int, *, colors: bool) -> dict[str, bool]:
    """Return the properties of pairs that the draw prefers, in order, and whether this pair has them."""
    upper, lower = sorted((one, other), key=lambda member: -group_of(field, member))
    floats = group_of(field, upper) > group_of(field, lower)
    found = {"not met": not field.met(one, other), "same score group": not floats}
    if floats:
        found |= {
            _LOST: lost_last(field, upper),
            _RETURNS: fell_and_won(field, lower),
        }
    found |= {"different origins": _origin(field, one) != _origin(field, other)}
    found |= {"different families": not same_family(field, one, other)}
    return found | ({"matching colors": field.balance(one) * field.balance(other) < 0} if colors else {})


def preference(field: Field, one: int, other: int, *, colors: bool) -> int:
    """Return the preference of a pair, for matching the whole round at once.

    It is 4 for different origins, plus 2 for different families, 1 for matching colors, and 1 for a suitable float.
    """
    found = guides(field, one, other, colors=colors)
    floats = found.get(_LOST, False) or found.get(_RETURNS, False)
    return (
        4 * found["different origins"] + 2 * found["different families"] + found.get("matching colors", False) + floats
    )


_JITTER = 1000  # enginetour's choice: units of weight per unit of preference, for a random choice among equal pairs


class GoDrawOptions(StartingOptions):
    """Settings of GoDraw."""

    attempts: int = Setting(
        default=100,
        ge=1,
        le=10_000,
        description="Maximum number of random attempts. If none leads to a round, all pairs of the round are matched "
        "at once (enginetour's choice: 100).",
    )
    forbid_family: ForbidFamily = False
    strict: Strict = False


class GoDraw(Starting):
    """Pairing system with a guided random draw, from the top score group down."""

    unplayed = "own"
    bye = "a random entrant of the last score group, among those with the fewest byes (GoDraw, enginetour's choice)"
    options: GoDrawOptions

    def pair(self, field: Field) -> Paired:
        """Return the first complete draw; if all attempts fail, match all pairs at once with the same preferences."""
        field = replace(field, counted=self.scores(field))
        options, colors = self.options, self.options.games_per_pairing == 1
        bars = Restrictions(options.strict, options.forbid_family)
        for attempt in range(1, options.attempts + 1):
            draw = Draw(field, bars, colors, Dice(field.seed, "godraw", field.number, attempt))
            byes, there = self._rest(draw)
            try:
                pairs = draw.pairs(there)
            except Stuck:
                continue
            return Paired(assign_colors(field, pairs, "godraw"), byes, f"by rule: random draw {attempt}")
        return self._whole(field, bars)

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """Return the properties that guide the draw, in order, and whether this pair has them."""
        field = replace(field, counted=self.scores(field))
        colors = self.options.games_per_pairing == 1
        found = guides(field, one, other, colors=colors)
        return tuple(Reason(name, int(met), 1, "GoDraw, Vuorinen 2010") for name, met in found.items())

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """Explain groups, floats and the draw."""
        field = replace(field, counted=self.scores(field))
        upper, lower = sorted((one, other), key=lambda member: -group_of(field, member))
        names, groups = [member.name for member in field.members], [group_of(field, at) for at in (upper, lower)]
        if groups[0] == groups[1]:
            text = f"both are in the group of MMS {groups[0]}; its pairs are drawn at random, with these preferences"
        else:
            text = (
                f"{names[upper]} is in the group of MMS {groups[0]}, {names[lower]} in the group of "
                f"MMS {groups[1]}: they can meet only if one of them floats from an odd group (down after a loss, up "
                "after a float down and a win)"
            )
        return (text, *super().rules(field, paired, one, other))

    def _rest(self, draw: Draw) -> tuple[tuple[int, ...], list[int]]:
        there = list(draw.field.present)
        if len(there) % 2 == 0:
            return (), there
        bye = draw.bye(there)
        return (bye,), [member for member in there if member != bye]

    def _whole(self, field: Field, bars: Restrictions) -> Paired:
        """Match the whole round at once, by near score groups, then by the preferences, then at random."""
        colors, dice = self.options.games_per_pairing == 1, Dice(field.seed, "godraw", field.number, "whole")
        byes, there = self._rest(Draw(field, bars, colors, dice))
        there.sort(key=lambda member: (-group_of(field, member), member))
        group = 10 * _JITTER * len(there)  # a weight above the sum of all preferences of a round

        def worth(one: int, other: int) -> int:
            gap = group_of(field, one) - group_of(field, other)
            lot = dice.below(_JITTER)
            return _JITTER * preference(field, one, other, colors=colors) + lot - group * gap * gap

        pairs, broken = best_round(field, there, worth, bars)
        stuck = f"no valid round in {self.options.attempts} random attempts"
        remarks = (f"{stuck}: all pairs are matched at once, by the preferences of the draw", *broken)
        return Paired(assign_colors(field, pairs, "godraw"), byes, f"fallback: {stuck}; {CERTIFIED}", remarks)
