"""Ratings as they stand before a round, in thousandths of a point, so that equal ones are equal on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from enginetour.formats.pairing.field import Field, Member
from enginetour.formats.pairing.rerating import by_likelihood

MILLI = 1000  # units in a point


def entry_ratings(field: Field) -> tuple[int, ...]:
    """What everybody came with; a late entrant without a rating comes as an average one."""
    known = [member.rating for member in field.members if member.rating is not None]
    middle = fmean(known) if known else 0.0
    return tuple(round(MILLI * (middle if member.rating is None else member.rating)) for member in field.members)


def current_ratings(field: Field) -> tuple[int, ...]:
    """Those moved by the games so far: greatest likelihood, two virtual draws of everybody at its entry."""
    entry = entry_ratings(field)
    if not any(turn.games for row in field.history for turn in row):
        return entry
    return tuple(round(MILLI * rating) for rating in by_likelihood(field, [rating / MILLI for rating in entry]))


def refuse_unrated(members: Sequence[Member]) -> None:
    """ValueError that names whoever brings no rating, and the key to set."""
    missing = [member.name for member in members if member.rating is None]
    if missing:
        raise ValueError(f"no rating of {', '.join(missing)}: set rating = ... under [[entrants]] of each")


def remarks_on_unrated(field: Field) -> tuple[str, ...]:
    """What is taken for those who joined without a rating."""
    late = [field.members[place].name for place in field.present if field.members[place].rating is None]
    return tuple(f"{name} brought no rating: the average of the others is taken" for name in late)


def in_order(ratings: Sequence[int], members: Sequence[int]) -> list[int]:
    """Members by rating, best first, then in entry order."""
    return sorted(members, key=lambda place: (-ratings[place], place))
