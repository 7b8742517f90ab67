"""EPM: floats from the middle of odd groups, then backtracking with a pointer into everybody's list of opponents.

1  from the top, each odd group floats the member nearest its middle to the one nearest the middle of the next
2  everybody has a list of unmet opponents by weight, and a pointer into it
3  the highest unpaired moves its pointer on to the first free opponent, and the pair is stored
4  none left: the last pair is undone and its higher member goes on; pointers of all below it start again
5  no round if the pointer of the highest runs out: then the next float is tried

Source: Vuorinen 2010 on EPM. That the next floats are tried, and a limit of steps, are our decisions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginetour.formats.pairing.exact import Bars, Pairs, Worth
from enginetour.formats.pairing.field import Field


class TooLong(Exception):
    """The steps allowed are used up."""


class Steps:
    """Counts down; TooLong at the end."""

    def __init__(self, most: int) -> None:
        self.left = most

    def step(self) -> None:
        """One pointer moved on, or one choice of floats begun."""
        if not self.left:
            raise TooLong
        self.left -= 1


def floats(field: Field, groups: Sequence[Sequence[int]], bars: Bars) -> Iterator[Pairs]:
    """All choices of pairs between groups that make these even, nearest to the middles first, the lowest group's last.

    Groups are best first, their members too; of equally near ones those nearer the middle of the upper group, then the
    better placed.
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
    """Half places from the middle."""
    return abs(2 * place - len(group) + 1)


def backtracked(field: Field, order: Sequence[int], worth: Worth, bars: Bars, steps: Steps) -> Pairs | None:
    """The first round found, pairs from the top; None if there is none. `order` is best first."""
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
    field: Field, groups: Sequence[Sequence[int]], worth: Worth, bars: Bars, steps: Steps
) -> tuple[Pairs | None, int]:
    """Pairs, floats among them at the place of their group, and how many choices of floats were begun."""
    order = [member for group in groups for member in group]
    tried = 0
    for chosen in floats(field, groups, bars):
        steps.step()
        tried += 1
        floating = {member for pair in chosen for member in pair}
        pairs = backtracked(field, [member for member in order if member not in floating], worth, bars, steps)
        if pairs is not None:
            return sorted([*pairs, *chosen], key=lambda pair: min(map(order.index, pair))), tried
    return None, tried
