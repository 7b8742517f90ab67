"""Small tournaments in rounds for tests of pairing systems, written as their results."""

from __future__ import annotations

import random
from collections.abc import Sequence

from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Field, Kind, Member, Paired, Turn

MARKS = {"0": 0, "=": 1, "1": 2}


def field_of(members: Sequence[Member], *rounds: str, total: int = 5, win: int = 2, seed: int = 1) -> Field:
    """Rounds such as ``"A1B C=D E"``: the left has White and scores 1, = or 0; a letter alone rests; others are absent.

    ``A+B`` is won by forfeit. With `win` above 2 each match has both colours and goes as its mark says.
    """
    history = []
    for text in rounds:
        row = [Turn() for _ in members]
        for word in text.split():
            one = ord(word[0]) - ord("A")
            if len(word) == 1:
                row[one] = Turn(Kind.BYE, points=win)
                continue
            other, forfeit = ord(word[2]) - ord("A"), word[1] == "+"
            points = win * MARKS["1" if forfeit else word[1]] // 2
            kind, games = (Kind.FORFEIT, 0) if forfeit else (Kind.PLAYED, win // 2)
            colours = (WHITE, BLACK) if win == 2 else (NEITHER, NEITHER)
            row[one] = Turn(kind, other, colours[0], points, 0, games)
            row[other] = Turn(kind, one, colours[1], win - points, 0, games)
        history.append(tuple(row))
    return Field(tuple(members), tuple(history), tuple(range(len(members))), total, win, seed)


def rated(*ratings: float, families: str = "", origins: str = "") -> tuple[Member, ...]:
    """Members A, B ... with these ratings; a letter of `families`, `origins` each, a blank for none."""
    return tuple(
        Member(chr(ord("A") + place), rating, families[place : place + 1].strip(), origins[place : place + 1].strip())
        for place, rating in enumerate(ratings)
    )


def random_field(seed: int, count: int, rounds: int) -> Field:
    """So many rounds of legal pairs at random, with draws, byes and now and then an absence or a forfeit."""
    dice = random.Random(seed)
    members = tuple(
        Member(f"E{place}", float(dice.randint(1000, 2000)), dice.choice(["", "f", "g"]), dice.choice(["", "x", "y"]))
        for place in range(count)
    )
    field = Field(members, (), tuple(range(count)), 5)
    for _ in range(rounds):
        there = [place for place in range(count) if dice.random() < 0.95]
        dice.shuffle(there)
        row = [Turn() for _ in members]
        while len(there) > 1:
            one = there.pop()
            other = next((place for place in there if not field.met(one, place)), None)
            if other is None:
                continue
            there.remove(other)
            points = dice.choice([0, 1, 2])
            kind = Kind.FORFEIT if points != 1 and dice.random() < 0.05 else Kind.PLAYED
            row[one] = Turn(kind, other, WHITE, points, 0, int(kind is Kind.PLAYED))
            row[other] = Turn(kind, one, BLACK, 2 - points, 0, int(kind is Kind.PLAYED))
        if there:
            row[there[0]] = Turn(Kind.BYE, points=2)
        field = Field(members, (*field.history, tuple(row)), field.present, 5)
    return field


def names(field: Field, paired: Paired) -> str:
    """``"AB CD, E"``: each pair in the order of entry, who rests after the comma."""
    called = [member.name for member in field.members]
    pairs = " ".join("".join(called[place] for place in board.pair) for board in paired.boards)
    return pairs + "".join(f", {called[place]}" for place in paired.byes)
