"""Colours in the Dutch system: what an entrant is due, how badly, and who of a pair has White. Source: FIDE C.04.3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from enginetour.formats.pairing.field import NEITHER


class Due(IntEnum):
    """How strong a colour preference is; the order counts."""

    NOT = 0
    MILD = 1
    STRONG = 2
    ABSOLUTE = 3


@dataclass(frozen=True, slots=True)
class Colours:
    """Of the games played, and what follows. Colours are WHITE (1), BLACK (-1) or NEITHER (0)."""

    played: tuple[int, ...] = ()
    difference: int = 0  # Whites less Blacks
    twice: int = NEITHER  # the colour of the last two games or more, if it was the same
    wish: int = NEITHER
    due: Due = Due.NOT

    @classmethod
    def of(cls, played: Sequence[int]) -> Colours:
        """From the colours of the games played, oldest first; rounds without a game are left out."""
        difference = sum(played)
        last = played[-1] if played else NEITHER
        twice = last if tuple(played[-2:]) == (last, last) else NEITHER
        rarer = NEITHER if not difference else -1 if difference > 0 else 1
        if abs(difference) > 1:
            wish, due = rarer, Due.ABSOLUTE
        elif twice:
            wish, due = -twice, Due.ABSOLUTE
        elif difference:
            wish, due = rarer, Due.STRONG
        else:
            wish, due = -last, Due.MILD if played else Due.NOT
        return cls(tuple(played), difference, twice, wish, due)

    def clashes(self, other: Colours) -> bool:
        """Both have an absolute right to the same colour."""
        return self.due == other.due == Due.ABSOLUTE and self.wish == other.wish


def colour_of_first(first: Colours, second: Colours, without: int) -> int:
    """The colour of the one higher in order; `without` any preference of the two it gets this one."""
    if not first.wish and not second.wish:
        return without
    if first.wish != second.wish:
        return first.wish or -second.wish
    mine, other = ((colours.due, _size(colours)) for colours in (first, second))
    if mine != other:
        return first.wish if mine > other else -second.wish
    for ours, theirs in zip(reversed(first.played), reversed(second.played), strict=False):
        if ours != theirs:
            return -ours
    return first.wish


def _size(colours: Colours) -> int:
    """By which absolute preferences differ; the others do not."""
    return abs(colours.difference) if colours.due == Due.ABSOLUTE else 0
