"""AccelRat, the pairing system of the American Go Association: entrants of similar rating meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field as Setting

from enginetour.formats.base import ForbidFamily, Strict
from enginetour.formats.pairing import tiebreaks
from enginetour.formats.pairing.draw import last_bye
from enginetour.formats.pairing.field import CERTIFIED, Dice, Field, Member, Paired
from enginetour.formats.pairing.gorounds import (
    MILLI,
    Pairs,
    Restrictions,
    assign_colors,
    best_round,
    current_ratings,
    gopair_bye,
    order_by_rating,
    refuse_unrated,
    remarks_on_unrated,
    same_family,
    same_origin,
)
from enginetour.formats.rounds import PairingSystem, Reason, RoundsOptions

# AccelRat pairs from the top: each member meets the unmet member with the smallest undesirability, which is
#
# |rating gap| / 100 + 0.5 for the same family + 0.1 for the same origin + `mismatch` for different origins.
#
# It is computed in units of 10^-5. `mismatch` is for tournaments in which the origins stand for hardware.

UNIT = 100 * MILLI  # thousandths of a rating point per 1 of undesirability (AGA: a stone of 100 points)


class AccelRatOptions(RoundsOptions):
    """Settings of AccelRat."""

    family: float = Setting(
        default=0.5,
        ge=0,
        le=100,
        description="Undesirability of a pair of the same family; 1 equals 100 rating points (AGA: same club).",
    )
    origin: float = Setting(
        default=0.1,
        ge=0,
        le=100,
        description="Undesirability of a pair of the same origin; 1 equals 100 rating points (AGA: same larger group).",
    )
    mismatch: float = Setting(
        default=0.0,
        ge=0,
        le=100,
        description="Undesirability of a pair of different origins, useful if origins stand for hardware; 1 equals "
        "100 rating points (an addition to AccelRat).",
    )
    bye: Literal["thesis", "gopair"] = Setting(
        default="thesis",
        description="Who gets the bye, among the entrants with the fewest byes. thesis: the entrant with the lowest "
        "rating (Vuorinen 2010); gopair: a random entrant of the middle 80 % that has lost a game and missed no round "
        "(gopair manual 2005).",
    )
    forbid_family: ForbidFamily = False
    strict: Strict = False


@dataclass(frozen=True, slots=True)
class Undesirability:
    """Function for the undesirability of a pair; `ratings` are in thousandths of a point."""

    field: Field
    ratings: tuple[int, ...]
    options: AccelRatOptions

    def terms(self, one: int, other: int) -> tuple[tuple[str, int], ...]:
        """Return the name and the value of each part of the undesirability of a pair."""
        differ = bool(self.field.members[one].origin and self.field.members[other].origin) and not same_origin(
            self.field, one, other
        )
        return (
            ("rating gap", abs(self.ratings[one] - self.ratings[other])),
            ("same family", round(UNIT * self.options.family) * same_family(self.field, one, other)),
            ("same origin", round(UNIT * self.options.origin) * same_origin(self.field, one, other)),
            ("mismatch", round(UNIT * self.options.mismatch) * differ),
        )

    def __call__(self, one: int, other: int) -> int:
        """Return the undesirability of a pair."""
        return sum(value for _, value in self.terms(one, other))


def _from_the_top(order: Sequence[int], undesirability: Undesirability, bars: Restrictions) -> Pairs | None:
    """Pair from the top; return None at a dead end. `order` has the members, best first.

    If two opponents are equally good, the one with the higher rating is chosen.
    """
    left, pairs = list(order), []
    while left:
        highest = left.pop(0)
        free = [other for other in left if bars.allow(undesirability.field, highest, other)]
        if not free:
            return None
        nearest = min(free, key=lambda other: undesirability(highest, other))
        left.remove(nearest)
        pairs.append((highest, nearest))
    return pairs


class AccelRat(PairingSystem):
    """Pairing system that pairs by the current ratings, from the top; points do not count."""

    codes = ("RATING",)
    options: AccelRatOptions

    def __init__(self, options: AccelRatOptions) -> None:
        super().__init__(options)
        self.version = 1 + (options.bye == "gopair")  # version 1 dropped gopair's conditions for a bye in another order

    def check(self, members: tuple[Member, ...]) -> None:
        """Raise ValueError if the field cannot be paired or an entrant has no rating."""
        super().check(members)
        refuse_unrated(members)

    def pair(self, field: Field) -> Paired:
        """Pair from the top; after a dead end, return the round with the smallest sum of undesirability."""
        bars = Restrictions(self.options.strict, self.options.forbid_family)
        ratings = current_ratings(field)
        order = order_by_rating(ratings, field.present)
        byes: tuple[int, ...] = ()
        if len(order) % 2:
            dice = Dice(field.seed, "accelrat", field.number, "bye")
            by_lot = self.options.bye == "gopair"
            byes = (gopair_bye(field, order, ratings, dice) if by_lot else last_bye(field, order),)
            order.remove(byes[0])
        undesirability = Undesirability(field, ratings, self.options)
        pairs, remarks = _from_the_top(order, undesirability, bars), remarks_on_unrated(field)
        guarantee = "by rule"
        if pairs is None:
            pairs, broken = best_round(field, order, lambda one, other: -undesirability(one, other), bars)
            guarantee = f"fallback: dead end when pairing from the top, so the smallest sum is used; {CERTIFIED}"
            remarks = (
                *remarks,
                "dead end when pairing from the top: the round with the smallest sum of undesirability is used",
                *broken,
            )
        return Paired(assign_colors(field, pairs, "accelrat"), byes, guarantee, remarks)

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """Return the parts of the undesirability as negative values."""
        terms = Undesirability(field, current_ratings(field), self.options).terms(one, other)
        return tuple(Reason(name, -value, 0, "AGA AccelRat") for name, value in terms)

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """Explain at which step from the top the two were paired, and with which opponents."""
        ratings = current_ratings(field)
        undesirability = Undesirability(field, ratings, self.options)
        names = [member.name for member in field.members]
        steps = {place: (step, board.pair) for step, board in enumerate(paired.boards, 1) for place in board.pair}
        texts = []
        for place in order_by_rating(ratings, [one, other]):
            if place in steps:
                step, pair = steps[place]
                high, low = order_by_rating(ratings, pair)
                gap = undesirability(high, low) / UNIT
                texts.append(f"step {step} from the top: {names[high]} meets {names[low]}, undesirability {gap:.2f}")
        texts = list(dict.fromkeys(texts)) if paired.guarantee == "by rule" else [paired.guarantee]
        return (*texts, *super().rules(field, paired, one, other))

    def terms(self, field: Field) -> tiebreaks.PlacementTerms:
        """Return the terms of the table, with the ratings after all games so far."""
        ratings = tuple(rating / MILLI for rating in current_ratings(field))
        return replace(super().terms(field), ratings=ratings)
