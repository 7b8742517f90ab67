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

from enginetour.formats.pairing.bracket import by_brackets
from enginetour.formats.pairing.bye import placed
from enginetour.formats.pairing.colours import colour_of_first
from enginetour.formats.pairing.dutch_criteria import of_pair
from enginetour.formats.pairing.field import WHITE, Board, Field, Paired
from enginetour.formats.pairing.legal import Law
from enginetour.formats.pairing.preparation import Card, cards, entered

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
    pairs, mates = by_brackets(face, there, bye)
    rests = [(mates[-1], len(there))] if bye else []
    seats = _colours(field, initial_colour)
    boards = tuple(Board(*seats(there[one], there[other])) for one, other in sorted(pairs))
    byes = tuple(there[one].place for one, _ in rests)
    guarantee = "; ".join(
        words for words, said in ((BREACH, not legal), (CERTIFIED, True), (EVEN, colour_blind)) if said
    )
    remarks = law.remarks(sorted(pairs) + rests) + ((EVEN,) if colour_blind else ())
    return Paired(boards, byes, guarantee, remarks, accelerated)


def explain(
    field: Field, one: int, other: int, *, accelerated: int = 0, colour_blind: bool = False
) -> list[tuple[str, bool, str]]:
    """What the criteria say of a pair that is there: (criterion, met, its number in FIDE C.04.3)."""
    pair = [card for card in cards(field, accelerated, colour_blind=colour_blind) if card.place in (one, other)]
    return [("not met before", not field.met(one, other), "C1"), *of_pair(pair, colour_blind=colour_blind)]


def _colours(field: Field, initial: int) -> Callable[[Card, Card], tuple[int, int]]:
    """Who has White of a pair, higher first: places, White's first. Late entrants shift the parity of numbers."""
    number = {member: count for count, member in enumerate(entered(field), 1)}

    def seats(first: Card, second: Card) -> tuple[int, int]:
        without = initial if number[first.place] % 2 else -initial
        white = colour_of_first(first.colours, second.colours, without) == WHITE
        return (first.place, second.place) if white else (second.place, first.place)

    return seats
