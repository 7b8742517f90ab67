"""Fields of tournaments in rounds, played with dice."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import replace
from itertools import combinations

from enginetour.formats.pairing.field import BLACK, WHITE, Field, Kind, Member, Paired, Turn

ABSENCES = (Turn(), Turn(), Turn(Kind.HALF_BYE, points=1), Turn(Kind.FULL_BYE, points=2))


def entered(count: int, rounds: int) -> Field:
    """So many members, E1 the first, before round 1."""
    members = tuple(Member(f"E{number}") for number in range(1, count + 1))
    return Field(members, (), tuple(range(count)), rounds)


def unmet(count: int, pairs: Collection[tuple[int, int]]) -> Field:
    """A field in which all have met but these pairs, lower first: pointless games."""
    field = entered(count, count * count)
    met = [pair for pair in combinations(range(count), 2) if pair not in pairs]
    return replace(field, history=tuple(_only(count, *pair) for pair in met))


def _only(count: int, one: int, other: int) -> tuple[Turn, ...]:
    row = [Turn()] * count
    row[one], row[other] = Turn(Kind.PLAYED, other), Turn(Kind.PLAYED, one)
    return tuple(row)


def after(field: Field, paired: Paired, dice: random.Random, trouble: float = 0.0, draws: float = 0.4) -> Field:
    """One round later: some games are forfeited and some members are away next time, as often as `trouble` says."""
    row = [Turn()] * len(field.members)
    for member in set(range(len(row))) - set(field.present):
        row[member] = dice.choice(ABSENCES)
    for board in paired.boards:
        points = 1 if dice.random() < draws else dice.choice([0, 2])
        kind = Kind.FORFEIT if points != 1 and dice.random() < trouble else Kind.PLAYED
        colours = (WHITE, BLACK) if kind is Kind.PLAYED else (0, 0)
        row[board.white] = Turn(kind, board.black, colours[0], points, games=1)
        row[board.black] = Turn(kind, board.white, colours[1], 2 - points, games=1)
    for member in paired.byes:
        row[member] = Turn(Kind.BYE, points=field.win)
    present = tuple(member for member in range(len(row)) if dice.random() >= trouble)
    return Field(field.members, (*field.history, tuple(row)), present, field.rounds, field.win, field.seed)
