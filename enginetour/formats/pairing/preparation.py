"""What the Dutch system knows of every entrant before a round: score, colours, floats, and whether a bye is barred."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from enginetour.formats.pairing.colours import Colours
from enginetour.formats.pairing.field import Field, Kind


class Float(StrEnum):
    """How a round took an entrant out of its score group."""

    NONE = ""
    DOWN = "D"
    UP = "U"


@dataclass(frozen=True, slots=True)
class Card:
    """One entrant before a round. `score` is in half points, virtual ones included; `floats` of the last two rounds."""

    place: int
    score: int
    colours: Colours
    floats: tuple[Float, Float]
    barred: bool  # had a bye or a win's points without a game: no further bye (C2)
    played: int  # rounds
    top: bool  # more than half of the maximum before the last round: two may both be due the same colour

    @property
    def order(self) -> tuple[int, int]:
        """Score first, then pairing number."""
        return -self.score, self.place


def cards(field: Field, accelerated: int = 0, *, colour_blind: bool = False) -> list[Card]:
    """Of all present, in order. `accelerated` rounds have virtual points (Baku)."""
    before = [
        [points + extra for points, extra in zip(row, virtual_points(field, number, accelerated), strict=True)]
        for number, row in enumerate(field.points, 1)
    ]
    found = [_card(field, before, member) for member in field.present]
    if colour_blind:
        found = [replace(card, colours=Colours()) for card in found]
    return sorted(found, key=lambda card: card.order)


def virtual_points(field: Field, number: int, accelerated: int) -> list[int]:
    """What round `number` adds to every score for its pairing: as a file says, else by the Baku acceleration.

    FIDE Handbook C.04.
    The first half of those to be paired in round 1, rounded up to an even number, and whoever stands among them get
    the points of a win in the first half of the accelerated rounds, rounded up, and those of a draw in the others.
    """
    if field.virtual:
        return list(field.virtual[number - 1]) if number <= len(field.virtual) else [0] * len(field.members)
    if number > accelerated:
        return [0] * len(field.members)
    there = sorted(field.before(1).present if field.history else field.present)  # later entrants stand behind
    upper = there[: 2 * -(-len(there) // 4)]
    extra = field.win if number <= -(-accelerated // 2) else field.win // 2
    return [extra if place <= max(upper, default=-1) else 0 for place in range(len(field.members))]


def entered(field: Field) -> list[int]:
    """Members that count in the parity of pairing numbers: present, or paired or given the bye before."""
    return [
        member
        for member in range(len(field.members))
        if member in field.present
        or member == field.bye
        or any(turn.paired or turn.kind is Kind.BYE for turn in field.turns(member))
    ]


def _card(field: Field, before: list[list[int]], member: int) -> Card:
    turns = field.turns(member)
    last = field.number == field.rounds
    return Card(
        place=member,
        score=before[-1][member],
        colours=Colours.of([turn.colour for turn in turns if turn.met and turn.colour]),
        floats=(_float(field, before, member, 1), _float(field, before, member, 2)),
        barred=any(turn.kind is Kind.BYE or (not turn.met and turn.points >= field.win) for turn in turns),
        played=sum(turn.met for turn in turns),
        top=last and 2 * before[-1][member] > len(turns) * field.win,
    )


def _float(field: Field, before: list[list[int]], member: int, back: int) -> Float:
    """In the round `back` rounds ago: down against a lower score, up against a higher one (FIDE C.04.3 1.4).

    A bye, or more points without a game than a loss is worth, is down too, whatever the bye is worth (1.4.3).
    """
    if back > len(field.history):
        return Float.NONE
    turn = field.history[-back][member]
    if not turn.met or turn.opponent is None:
        return Float.DOWN if turn.kind is Kind.BYE or turn.points > field.loss else Float.NONE
    scores = before[-back - 1]
    mine, other = scores[member], scores[turn.opponent]
    return Float.DOWN if mine > other else Float.UP if mine < other else Float.NONE
