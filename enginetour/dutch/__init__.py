"""The FIDE Dutch system, exact: every bracket by lexicographic matching of the whole rest of the round, with proof.

module       what is there                                 criteria of FIDE C.04.3
preparation  score, floats, barred bye of every entrant
colours      preferences, who has White
legal        absolute criteria; what gives when none fits  C1 to C4
bye          the score that the bye goes to                C5
criteria     how good the pairs of a bracket are           C6 to C21
bracket      moved down, remainder, exchanges
"""

from __future__ import annotations

from collections.abc import Callable

from enginetour.dutch.bracket import Bracket
from enginetour.dutch.bye import Bye, placed
from enginetour.dutch.colours import colour_of_first
from enginetour.dutch.legal import Law
from enginetour.dutch.preparation import Card, cards, entered
from enginetour.field import WHITE, Board, Field, Paired
from enginetour.matching.faces import Face

__all__ = ["pair_dutch"]

CERTIFIED = "maximum weight, certified"
BREACH = "fallback: no legal round is left, the law is broken as little as can be"
EVEN = "colours are even in each match: not FIDE Dutch"


def pair_dutch(
    field: Field,
    *,
    initial_colour: int = WHITE,
    accelerated: int = 0,
    colour_blind: bool = False,
    forbid_family: bool = False,
    strict: bool = False,
) -> Paired:
    """The next round by the Dutch system, boards in order of their higher entrant.

    `initial_colour` is that of the first entrant in round 1; so many rounds are `accelerated` (Baku). `colour_blind`:
    matches have both colours, so colours count for nothing. Unpairable only if `strict` and no legal round is left.
    """
    there = cards(field, accelerated, colour_blind=colour_blind)
    law = Law(field, there, forbid_family=forbid_family)
    face, legal = law.face(strict=strict)
    face, bye = placed(face, there)
    pairs, mates = _by_brackets(face, there, bye)
    rests = [(mates[-1], len(there))] if bye else []
    seats = _colours(field, initial_colour)
    boards = tuple(Board(*seats(there[one], there[other])) for one, other in sorted(pairs))
    byes = tuple(there[one].place for one, _ in rests)
    guarantee = "; ".join(
        words for words, said in ((BREACH, not legal), (CERTIFIED, True), (EVEN, colour_blind)) if said
    )
    remarks = law.remarks(sorted(pairs) + rests) + ((EVEN,) if colour_blind else ())
    return Paired(boards, byes, guarantee, remarks)


def _by_brackets(face: Face, there: list[Card], bye: Bye | None) -> tuple[list[tuple[int, int]], tuple[int, ...]]:
    """All pairs as places among the cards, higher first, and the mates of everybody."""
    pairs: list[tuple[int, int]] = []
    mates, left, moved = list(face.mates), list(range(len(face.mates))), 0
    while len(rest := [vertex for vertex in left if vertex < len(there)]) > moved:
        inside = moved + _same(there, rest[moved:])
        following = inside + _same(there, rest[inside:])
        part = face.part(left, tuple(mates))
        found, local = Bracket(part, [there[vertex] for vertex in rest], moved, inside, following, bye).paired()
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


def _same(there: list[Card], vertices: list[int]) -> int:
    """How many of them from the first on have one score."""
    return sum(there[vertex].score == there[vertices[0]].score for vertex in vertices)


def _colours(field: Field, initial: int) -> Callable[[Card, Card], tuple[int, int]]:
    """Who has White of a pair, higher first: places, White's first. Late entrants shift the parity of numbers."""
    number = {member: count for count, member in enumerate(entered(field), 1)}

    def seats(first: Card, second: Card) -> tuple[int, int]:
        without = initial if number[first.place] % 2 else -initial
        white = colour_of_first(first.colours, second.colours, without) == WHITE
        return (first.place, second.place) if white else (second.place, first.place)

    return seats
