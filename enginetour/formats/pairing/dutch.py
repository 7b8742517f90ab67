"""FIDE Dutch: legality, brackets.

First the pairs of those moved down with residents, then the remainder, each as a lexicographic matching of the whole
rest of the round: what is decided here leaves the round below pairable, and the next bracket as good as it can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from enginetour.formats.pairing.blossom import Numbers
from enginetour.formats.pairing.dutch_criteria import Bye, Card, Digits
from enginetour.formats.pairing.field import Field, Unpairable
from enginetour.formats.pairing.matching import Face
from enginetour.formats.pairing.matching import Unpairable as NoMatching

# One bracket of the Dutch system: who is paired inside it, who floats down.

_EXPONENTS = 16  # binary digits in one weight: a field of 5000 leaves them room in a machine word


def by_brackets(face: Face, there: Sequence[Card], bye: Bye | None) -> tuple[list[tuple[int, int]], tuple[int, ...]]:
    """A whole round from the top: pairs as places among the cards in order, higher first, and everybody's mates.

    The face is of all legal rounds, over the cards and, in an odd field, the bye as the last vertex.
    """
    pairs: list[tuple[int, int]] = []
    mates, left, moved = list(face.mates), list(range(len(face.mates))), 0
    while len(rest := [vertex for vertex in left if vertex < len(there)]) > moved:
        inside = moved + _same(there, rest[moved:])
        following = inside + _same(there, rest[inside:])
        part = face.part(left, tuple(mates))
        found, local = _Bracket(part, [there[vertex] for vertex in rest], moved, inside, following, bye).paired()
        for vertex, mate in zip(left, local, strict=True):
            mates[vertex] = left[mate]
        pairs += [(left[one], left[other]) for one, other in found]
        taken = {vertex for pair in found for vertex in pair}
        if bye and following > inside:
            here = bye.score >= there[rest[inside]].score
            low = range(following, len(rest))
            bye = Bye(bye.score, here and all(local[v] not in low for v in range(following) if v not in taken))
        moved = inside - len(taken)
        left = [vertex for number, vertex in enumerate(left) if number not in taken]
    return pairs, tuple(mates)


def _same(there: Sequence[Card], vertices: list[int]) -> int:
    """How many of them from the first on have one score."""
    return sum(there[vertex].score == there[vertices[0]].score for vertex in vertices)


@dataclass(frozen=True, slots=True)
class _Bracket:
    """In order: moved down up to `moved`, residents of one score up to `inside`, the next score up to `following`.

    The face is over these cards and, in an odd field, the bye as the last vertex.
    """

    face: Face
    cards: Sequence[Card]
    moved: int
    inside: int
    following: int
    bye: Bye | None

    def paired(self) -> tuple[list[tuple[int, int]], tuple[int, ...]]:
        """Final pairs as places among the cards, higher first, and the mates of a whole legal round with them."""
        moved, inside = self.moved, self.inside
        allowed = np.ones_like(self.face.allowed)
        allowed[:moved, :moved] = False
        face = self.face.within(allowed).best(Digits(self.cards, moved, inside, self.following, self.bye).all())
        face = face.best(self._moved_down())
        pairs = [(i, face.mates[i]) for i in range(moved) if moved <= face.mates[i] < inside]
        fixed = {vertex for pair in pairs for vertex in pair}
        rest = [vertex for vertex in range(moved, inside) if vertex not in fixed]
        loose = [vertex for vertex in range(moved) if vertex not in fixed]
        allowed = np.ones_like(face.allowed)
        allowed[np.ix_(loose, rest)] = allowed[np.ix_(rest, loose)] = False
        for one, other in pairs:
            allowed[[one, other], :] = allowed[:, [one, other]] = False
            allowed[one, other] = allowed[other, one] = True
        face = _remainder(face.within(allowed), rest)
        inside_rest = set(rest)
        pairs += [(i, face.mates[i]) for i in rest if face.mates[i] > i and face.mates[i] in inside_rest]
        return pairs, face.mates

    def _moved_down(self) -> Iterator[Numbers]:
        """The highest of them are paired, then each from the highest on gets the highest resident."""
        residents, size = range(self.moved, self.inside), len(self.face.mates)
        for i in range(self.moved):
            yield _pairs(size, i, residents, [1] * len(residents))
        for i in range(self.moved):
            yield _pairs(size, i, residents, list(range(len(residents), 0, -1)))


def _remainder(face: Face, rest: list[int]) -> Face:
    """The best rounds for residents that no one from above has: `rest` in order."""
    held = set(rest)
    count = sum(face.mates[i] > i and face.mates[i] in held for i in rest)
    if not count:
        return face
    size = len(face.mates)
    upper = np.zeros((size, size), dtype=np.int64)
    for number, i in enumerate(rest[:count]):
        upper[i, rest[number + 1 :]] = upper[rest[number + 1 :], i] = 1
    face = face.best([upper])
    highs = _highs(face, rest)
    if highs != rest[:count]:
        face = face.best(_exchanges(size, rest, count))
        highs = _highs(face, rest)
    return _in_order(face, rest, highs)


def _highs(face: Face, rest: list[int]) -> list[int]:
    held = set(rest)
    return [i for i in rest if face.mates[i] > i and face.mates[i] in held]


def _exchanges(size: int, rest: list[int], count: int) -> Iterator[Numbers]:
    """Smallest sum of the numbers on top, then the lowest leave the upper half, then the highest come up."""
    total = np.zeros((size, size), dtype=np.int64)
    for number, i in enumerate(rest):
        total[i, rest[number + 1 :]] = total[rest[number + 1 :], i] = len(rest) - number
    yield total
    leaving = [(number, -1) for number in range(count - 1, -1, -1)]
    coming = [(number, 1) for number in range(count, len(rest))]
    for way in (leaving, coming):
        for start in range(0, len(way), _EXPONENTS):
            some = way[start : start + _EXPONENTS]
            digit = np.zeros((size, size), dtype=np.int64)
            for exponent, (number, sign) in enumerate(reversed(some)):
                i, below = rest[number], rest[number + 1 :]
                digit[i, below] = digit[below, i] = sign << exponent
            yield digit


def _in_order(face: Face, rest: list[int], highs: list[int]) -> Face:
    """Each on top from the first on gets the highest opponent."""
    size = len(face.mates)
    digits = []
    for i in highs:
        below = [j for j in rest if j > i]
        digits.append(_pairs(size, i, below, list(range(len(below), 0, -1))))
    return face.best(digits)


def _pairs(size: int, i: int, others: Sequence[int], values: list[int]) -> Numbers:
    """A digit that looks at the pairs of one entrant only."""
    digit = np.zeros((size, size), dtype=np.int64)
    digit[i, others] = digit[others, i] = values
    return digit


# Which rounds are legal: nobody meets twice, no absolute colour clash, no bye after a bye or a win without a game.
#
# When there is no such round, the one that breaks these as little as can be: no rematch if that can be had by other
# means, else the fewest, then the least recent; then the fewest second byes, then families, then clashes of colour.

SHOWN = 8  # names in a message


class Law:
    """The bars of a round, over the cards in order and, in an odd field, the bye as the last vertex."""

    def __init__(self, field: Field, cards: Sequence[Card], *, forbid_family: bool) -> None:
        self.field = field
        self.cards = cards
        size = len(cards) + len(cards) % 2
        self.met = np.zeros((size, size), dtype=np.int64)  # the round of the last meeting
        self.kin, self.clash, self.second_bye = (np.zeros((size, size), dtype=np.bool_) for _ in range(3))
        for i, one in enumerate(cards):
            family = field.members[one.place].family
            for j, other in enumerate(cards[:i]):
                self.met[i, j] = self.met[j, i] = field.meetings[one.place].get(other.place, 0)
                clash = one.colours.clashes(other.colours) and not (one.top or other.top)
                self.clash[i, j] = self.clash[j, i] = clash
                kin = forbid_family and family != "" and family == field.members[other.place].family
                self.kin[i, j] = self.kin[j, i] = kin
            if len(cards) % 2:
                self.second_bye[i, -1] = self.second_bye[-1, i] = one.barred

    def face(self, *, strict: bool) -> tuple[Face, bool]:
        """All legal rounds, or all that break the law least (then False). Unpairable if strict and there is none."""
        barred = (self.met > 0) | self.kin | self.clash | self.second_bye
        anything = ~np.eye(len(barred), dtype=np.bool_)
        try:
            return Face.of(anything & ~barred), True
        except NoMatching as error:
            if strict:
                raise Unpairable(self._why(error)) from None
        return Face.of(anything).best(self._breaches()), False

    def remarks(self, pairs: Sequence[tuple[int, int]]) -> tuple[str, ...]:
        """What must be told of pairs of vertices, the lower first."""
        names = [self.field.members[card.place].name for card in self.cards]
        told = []
        for one, other in pairs:
            if self.met[one, other]:
                told.append(f"{names[one]} and {names[other]} meet again, last in round {self.met[one, other]}")
            if self.kin[one, other]:
                told.append(f"{names[one]} and {names[other]} are of one family")
            if self.clash[one, other]:
                told.append(f"{names[one]} and {names[other]} are both due the same colour")
            if self.second_bye[one, other]:
                told.append(f"{names[one]} gets the bye, but already had a bye or a win without a game (C2)")
        return tuple(told)

    def _breaches(self) -> list[Numbers]:
        latest = [self.met == number for number in sorted(set(self.met.flat) - {0}, reverse=True)]
        return [-bar.astype(np.int64) for bar in (self.met > 0, *latest, self.second_bye, self.kin, self.clash)]

    def _why(self, error: NoMatching) -> str:
        lacking = error.shortage
        names = [
            self.field.members[self.cards[vertex].place].name
            for part in lacking.parts
            for vertex in part
            if vertex < len(self.cards)
        ]
        who = ", ".join(names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")
        return f"no legal round is left for {who}; strict = false allows the fewest rematches"
