"""Who has White: whoever had it less often, then who had Black when their colours last differed, then by lot."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from enginetour.formats.pairing.field import WHITE, Board, Dice, Field

Count = Callable[[Field, int], int]
"""(field, member) -> what White goes to the smaller of."""


def balance(field: Field, member: int) -> int:
    """Whites less Blacks."""
    return field.balance(member)


def whites(field: Field, member: int) -> int:
    """Whites alone, as gopair counts (its manual, 2005)."""
    return sum(turn.met and turn.colour == WHITE for turn in field.turns(member))


def seated(field: Field, pairs: Iterable[tuple[int, int]], system: str, count: Count = balance) -> tuple[Board, ...]:
    """Boards in the order of the pairs. Where a match has both colours there is nothing to even out, only the lot."""
    return tuple(Board(*_white_first(field, *pair, system, count)) for pair in pairs)


def _white_first(field: Field, one: int, other: int, system: str, count: Count) -> tuple[int, int]:
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
    """Its colours, the latest first."""
    return [turn.colour for turn in reversed(field.turns(member)) if turn.met and turn.colour]
