"""FIDE Dutch as a format.

A pairing number is the place in the entry order; with ``order = "rating"`` that is the FIDE initial ranking.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import Field as Setting

from enginetour.formats.pairing.dutch import Law, by_brackets
from enginetour.formats.pairing.dutch_criteria import Card, cards, colour_of_first, entered, of_pair, placed
from enginetour.formats.pairing.field import BLACK, WHITE, Board, Dice, Field, Paired
from enginetour.formats.rounds import PairingSystem, Reason, RoundsOptions

# The FIDE Dutch system, exact: every bracket by lexicographic matching of the whole rest of the round, with proof.
#
# module       what is there                                 criteria of FIDE C.04.3
# preparation  score, floats, barred bye of every entrant
# colours      preferences, who has White
# legal        absolute criteria; what gives when none fits  C1 to C4
# bye          the score that the bye goes to                C5
# criteria     how good the pairs of a bracket are           C6 to C21
# bracket      moved down, remainder, exchanges

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


# The FIDE Dutch system as a format: what chess users mean by a Swiss.

COLOURS = {"white": WHITE, "black": BLACK}


class DutchOptions(RoundsOptions):
    """Settings of the Dutch system."""

    rounds: int = Setting(default=7, ge=1, le=1000, description="rounds in all; the last has a relaxed colour rule")
    initial_colour: Literal["lot", "white", "black"] = Setting(
        default="lot", description="colour of the first entrant in round 1; FIDE C.04.3: drawn by lot (from the seed)"
    )
    acceleration: Literal["none", "baku"] = Setting(
        default="none",
        description="baku: virtual points for the upper half in the first half of the rounds (FIDE Handbook C.04)",
    )
    forbid_family: bool = Setting(
        default=False, description="whether entrants of one family must not meet; FIDE knows no families"
    )
    strict: bool = Setting(
        default=False,
        description="whether to stop when no legal round is left; else the law is broken least: rematches last of all, "
        "the fewest and the least recent",
    )


class Dutch(PairingSystem):
    """Rounds by the Dutch system; colours count for nothing when every match has both."""

    codes = ("PTS", "BH-C1", "BH", "SB", "DE")
    unplayed = "fide"
    bye = "the lowest score that leaves the others pairable, then the fewest unplayed games (FIDE C.04.3)"
    options: DutchOptions

    def pair(self, field: Field) -> Paired:
        """The next round; Unpairable only if strict."""
        options = self.options
        lot = (WHITE, BLACK)[Dice(field.seed, "dutch", "initial colour").below(2)]
        return pair_dutch(
            field,
            initial_colour=COLOURS.get(options.initial_colour, lot),
            accelerated=self._accelerated,
            colour_blind=options.games_per_pairing > 1,
            forbid_family=options.forbid_family,
            strict=options.strict,
        )

    def alone(self, field: Field) -> Paired:
        """A bye that nobody has twice without a remark."""
        return self.pair(field) if field.present else super().alone(field)

    @property
    def _accelerated(self) -> int:
        return (self.options.rounds + 1) // 2 if self.options.acceleration == "baku" else 0

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """Each criterion that speaks of a pair; those of a whole bracket show in the round that would be made."""
        blind = self.options.games_per_pairing > 1
        told = explain(field, one, other, accelerated=self._accelerated, colour_blind=blind)
        return tuple(Reason(name, int(met), 1, f"FIDE C.04.3 {number}") for name, met, number in told)

    def boards_ahead(self, field: Field, rounds_left: int) -> tuple[int, int]:
        """All of them; a strict tournament may end before."""
        boards = len(field.present) // 2 * rounds_left
        return 0 if self.options.strict else boards, boards
