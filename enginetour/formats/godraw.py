"""GoDraw pairing system: rounds by a guided random draw.

float    odd group: a member that lost the last round, to one of the next group that floated down and won
pair     a member of the largest origin against one of the second largest; families within them likewise
color    opponents that are due the other color; a balanced member gets a random one

Choices of enginetour where the source is silent: if no member fits, all members of the group do. If one origin is left,
it is paired inside, with different families while there are two. Equal sizes are drawn. Members without a family or
origin form a group of their own and can meet each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pydantic import Field as Setting

from enginetour.formats.base import ForbidFamily, Strict
from enginetour.formats.pairing.field import Dice, Field, Paired
from enginetour.formats.pairing.gorounds import (
    CERTIFIED,
    Pairs,
    Restrictions,
    assign_colours,
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
    """One attempt; `colours` is off if each match has both colors."""

    field: Field
    bars: Restrictions
    colours: bool
    dice: Dice

    def bye(self, there: Sequence[int]) -> int:
        """Draw one of the last group, among those with the fewest byes."""
        asked = candidates(self.field, there)
        last = min(group_of(self.field, member) for member in asked)
        return self._one([member for member in asked if group_of(self.field, member) == last])

    def pairs(self, there: Sequence[int]) -> Pairs:
        """Draw pairs from the top group down; Stuck if this draw does not lead to a round."""
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
        return one, self._one(self._other_colour(one, fits or self._free(one, rest)))

    def _families(self, members: list[int]) -> list[list[int]]:
        return self._buckets(members, lambda member: self.field.members[member].family.casefold())

    def _buckets(self, members: list[int], name: Names) -> list[list[int]]:
        """Group the members by name, the largest group first."""
        buckets: dict[str, list[int]] = {}
        for member in members:
            buckets.setdefault(name(member), []).append(member)
        return sorted(self.dice.shuffled(list(buckets.values())), key=len, reverse=True)

    def _other_colour(self, one: int, members: list[int]) -> list[int]:
        if not self.colours:
            return members
        wanted = self._wanted(one)
        return [member for member in members if self._wanted(member) != wanted] or members

    def _wanted(self, member: int) -> bool:
        """Return whether the member is due White; random for a balanced one."""
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
    """Return the lead over the opponent in the last round; 0 without an opponent."""
    turn = field.history[-1][member] if field.history else None
    if turn is None or turn.opponent is None:
        return 0
    return turn.points - field.history[-1][turn.opponent].points


def guides(field: Field, one: int, other: int, *, colours: bool) -> dict[str, bool]:
    """Return the properties that the draw prefers in a pair, in order, and whether the pair has them."""
    upper, lower = sorted((one, other), key=lambda member: -group_of(field, member))
    floats = group_of(field, upper) > group_of(field, lower)
    found = {"not met": not field.met(one, other), "one score group": not floats}
    if floats:
        found |= {
            "upper lost its last game": lost_last(field, upper),
            "lower floated down and won": fell_and_won(field, lower),
        }
    found |= {"two origins": _origin(field, one) != _origin(field, other)}
    found |= {"two families": not same_family(field, one, other)}
    return found | ({"matching colors": field.balance(one) * field.balance(other) < 0} if colours else {})


def preference(field: Field, one: int, other: int, *, colours: bool) -> int:
    """Return the preference of a pair for the whole round: 4 origins, 2 families, 1 colors, 1 a fitting float."""
    found = guides(field, one, other, colours=colours)
    floats = found.get("upper lost its last game", False) or found.get("lower floated down and won", False)
    return 4 * found["two origins"] + 2 * found["two families"] + found.get("matching colors", False) + floats


_JITTER = 1000  # enginetour's choice: steps per unit of preference, for a random choice among equal pairs


class GoDrawOptions(StartingOptions):
    """Settings of GoDraw."""

    attempts: int = Setting(
        default=100,
        ge=1,
        le=10_000,
        description="Maximum number of random attempts; after them, all pairs of the round are matched at once "
        "(enginetour's choice: 100).",
    )
    forbid_family: ForbidFamily = False
    strict: Strict = False


class GoDraw(Starting):
    """Rounds by a guided draw, from the top score group down."""

    unplayed = "own"
    bye = "a random entrant of the last score group, among those with the fewest byes (GoDraw, enginetour's choice)"
    options: GoDrawOptions

    def pair(self, field: Field) -> Paired:
        """Return the first complete draw; after the last attempt, one matching with the same preferences."""
        field = replace(field, counted=self.scores(field))
        options, colours = self.options, self.options.games_per_pairing == 1
        bars = Restrictions(options.strict, options.forbid_family)
        for attempt in range(1, options.attempts + 1):
            draw = Draw(field, bars, colours, Dice(field.seed, "godraw", field.number, attempt))
            byes, there = self._rest(draw)
            try:
                pairs = draw.pairs(there)
            except Stuck:
                continue
            return Paired(assign_colours(field, pairs, "godraw"), byes, f"by rule: random draw {attempt}")
        return self._whole(field, bars)

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """Return the properties that guide the draw in order, and whether the pair has them."""
        field = replace(field, counted=self.scores(field))
        colours = self.options.games_per_pairing == 1
        found = guides(field, one, other, colours=colours)
        return tuple(Reason(name, int(met), 1, "GoDraw, Vuorinen 2010") for name, met in found.items())

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """Explain groups, floats and the draw."""
        field = replace(field, counted=self.scores(field))
        upper, lower = sorted((one, other), key=lambda member: -group_of(field, member))
        names, groups = [member.name for member in field.members], [group_of(field, at) for at in (upper, lower)]
        if groups[0] == groups[1]:
            text = f"both are in the group of MMS {groups[0]}: a random draw with these preferences makes its pairs"
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
        """Match the whole round: near score groups first, then the preferences, then the draw."""
        colours, dice = self.options.games_per_pairing == 1, Dice(field.seed, "godraw", field.number, "whole")
        byes, there = self._rest(Draw(field, bars, colours, dice))
        there.sort(key=lambda member: (-group_of(field, member), member))
        group = 10 * _JITTER * len(there)  # more than all preferences of a round together

        def worth(one: int, other: int) -> int:
            gap = group_of(field, one) - group_of(field, other)
            lot = dice.below(_JITTER)
            return _JITTER * preference(field, one, other, colours=colours) + lot - group * gap * gap

        pairs, broken = best_round(field, there, worth, bars)
        stuck = f"no valid round in {self.options.attempts} random attempts"
        remarks = (f"{stuck}: all pairs are matched at once, by the preferences of the draw", *broken)
        return Paired(assign_colours(field, pairs, "godraw"), byes, f"fallback: {stuck}; {CERTIFIED}", remarks)
