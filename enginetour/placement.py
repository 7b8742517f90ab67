"""The order of a field: score first, then codes, each of which splits those still tied on everything before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from enginetour.field import Field
from enginetour.model import Placed

Criterion = Callable[[Field, Sequence[int]], Sequence[int]]
"""(field, members still tied) -> a value for each of these, more is better."""


def points(field: Field, tied: Sequence[int]) -> Sequence[int]:
    """Half points of all games, unplayed rounds included."""
    return [field.scores[member] for member in tied]


# code -> criterion
CODES: dict[str, Criterion] = {"PTS": points}


def ordered(field: Field, codes: Sequence[str], members: Sequence[int]) -> list[tuple[tuple[int, ...], list[int]]]:
    """Members of equal values together, best first, each group in entry order."""
    keys: dict[int, tuple[int, ...]] = dict.fromkeys(sorted(members), ())
    for code in codes:
        fresh: dict[int, tuple[int, ...]] = {}
        for key, tied in _groups(keys):
            fresh |= {member: (*key, value) for member, value in zip(tied, CODES[code](field, tied), strict=True)}
        keys = {member: fresh[member] for member in keys}
    return _groups(keys)


def table(field: Field, codes: Sequence[str], members: Sequence[int]) -> tuple[Placed, ...]:
    """Standings by the codes; whoever is tied on all of them shares a rank."""
    lines: list[Placed] = []
    for key, tied in ordered(field, codes, members):
        rank = len(lines) + 1
        breaks = tuple(zip(codes, key, strict=True))
        lines += [
            Placed(rank, field.members[member].name, field.scores[member], field.games(member), "", breaks)
            for member in tied
        ]
    return tuple(lines)


def _groups(keys: dict[int, tuple[int, ...]]) -> list[tuple[tuple[int, ...], list[int]]]:
    by_key = sorted(keys, key=lambda member: keys[member], reverse=True)
    return [(key, list(tied)) for key, tied in groupby(by_key, key=lambda member: keys[member])]
