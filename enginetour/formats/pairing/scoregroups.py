"""Members of equal wins or McMahon scores together; half a win belongs to the whole one below (Vuorinen 2010)."""

from __future__ import annotations

from collections.abc import Sequence

from enginetour.formats.pairing.field import Field


def group_of(field: Field, member: int, number: int = -1) -> int:
    """Whole wins, or the McMahon score, before a round, by default now; halves belong to the group below."""
    return (field.counted or field.points)[number][member] // field.win


def score_groups(field: Field, there: Sequence[int]) -> list[list[int]]:
    """Members of equal scores together, the highest first."""
    groups: dict[int, list[int]] = {}
    for member in there:
        groups.setdefault(group_of(field, member), []).append(member)
    return [groups[score] for score in sorted(groups, reverse=True)]
