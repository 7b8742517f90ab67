"""Fields of tournaments in rounds, played with dice."""

from __future__ import annotations

import random

from enginetour.field import BLACK, WHITE, Field, Kind, Member, Paired, Turn

ABSENCES = (Turn(), Turn(), Turn(Kind.HALF_BYE, points=1), Turn(Kind.FULL_BYE, points=2))


def entered(count: int, rounds: int) -> Field:
    """So many members, E1 the first, before round 1."""
    members = tuple(Member(f"E{number}") for number in range(1, count + 1))
    return Field(members, (), tuple(range(count)), rounds)


def after(field: Field, paired: Paired, dice: random.Random, trouble: float = 0.0) -> Field:
    """One round later: some games are forfeited and some members are away next time, as often as `trouble` says."""
    row = [Turn()] * len(field.members)
    for member in set(range(len(row))) - set(field.present):
        row[member] = dice.choice(ABSENCES)
    for board in paired.boards:
        points = dice.choice([0, 1, 1, 2, 2])
        kind = Kind.FORFEIT if points != 1 and dice.random() < trouble else Kind.PLAYED
        colours = (WHITE, BLACK) if kind is Kind.PLAYED else (0, 0)
        row[board.white] = Turn(kind, board.black, colours[0], points, games=1)
        row[board.black] = Turn(kind, board.white, colours[1], 2 - points, games=1)
    for member in paired.byes:
        row[member] = Turn(Kind.BYE, points=field.win)
    present = tuple(member for member in range(len(row)) if dice.random() >= trouble)
    return Field(field.members, (*field.history, tuple(row)), present, field.rounds, field.win, field.seed)
