"""Pairing for information: most entropy, largest expected rating change, or grade probing.

system     a pair is worth                                              source
entropy    H = -sum p log2 p over the results a game can have           Vuorinen 2010, 2.2
gor-drift  eps (con S + con S), or 2 S(1-S)(con + con)                  Vuorinen 2010, 2.2.2; Fisher's information
probe      -|rating of the opponent - aim|, from the sides that aim     Vuorinen 2010, grade probing

The whole round has the greatest sum. Ratings rank: who meets equals all the time scores half of the points.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from math import log2
from typing import Literal

import numpy as np
from pydantic import Field as Setting
from pydantic import model_validator

from enginetour.formats.pairing import standings, tiebreaks
from enginetour.formats.pairing.draw import last_bye
from enginetour.formats.pairing.field import Field, Member, Paired, Unpairable
from enginetour.formats.pairing.gorounds import (
    CERTIFIED,
    MILLI,
    Restrictions,
    Worth,
    assign_colours,
    broken_restrictions,
    by_gor,
    current_ratings,
    entry_ratings,
    order_by_rating,
    pair_matrices,
    refuse_unrated,
    remarks_on_unrated,
    same_family,
)
from enginetour.formats.pairing.matching import relaxed_matching
from enginetour.formats.rounds import PairingSystem, Reason, RoundsOptions, WeightedRound
from enginetour.ratings.elo import expected_score
from enginetour.ratings.gor import EPS, FLOOR, con, egf_expected, expected_total_change

UNIT = 10**12  # a bit, or a point of change, in units of the weight (our decision)
_Milli = tuple[int, ...]  # ratings in thousandths of a point


class _InformationOptions(RoundsOptions):
    rerate: bool = Setting(default=True, description="whether ratings are made anew after each round")
    forbid_family: bool = Setting(
        default=False, description="whether one family must not meet, unless there is no round without; else only "
        "between rounds worth the same"
    )  # fmt: skip
    strict: bool = Setting(
        default=False, description="whether to stop when no round is left without a rematch; else the fewest, oldest"
    )


class EntropyOptions(_InformationOptions):
    """Settings of `entropy`."""

    model: Literal["gor", "elo", "elo-draw"] = Setting(
        default="elo", description="expectation: gor (Vuorinen 2010, epsilon 0), elo, elo-draw with three results"
    )
    draw_rate: float = Setting(
        default=0.45, ge=0, le=1, description="elo-draw: draws between equals, falling to none as 1-|2e-1| (ours)"
    )
    integer_steps: bool = Setting(
        default=False, description="gor: its width in whole points, as in the printed tables (Vuorinen 2010)"
    )


class DriftOptions(_InformationOptions):
    """Settings of `gor-drift`."""

    change: Literal["drift", "absolute"] = Setting(
        default="drift",
        description="drift: points added to the pool (Vuorinen 2010, 2.2.2); absolute: points moved either way",
    )
    eps: float = Setting(default=EPS, ge=0, lt=1, description="drift: against deflation, by con (Vuorinen 2010)")

    @model_validator(mode="after")
    def _something_drifts(self) -> DriftOptions:
        if self.change == "drift" and self.eps == 0:
            raise ValueError('without eps nothing drifts and all pairs are equal: change = "absolute" needs none')
        return self


class ProbeOptions(_InformationOptions):
    """Settings of `probe`."""

    model: Literal["gor", "elo"] = Setting(default="elo", description="how ratings are made anew")
    from_round: int = Setting(
        default=3, ge=2, description="first round that aims; before it, equals meet (Vuorinen 2010: 3)"
    )
    aim: float = Setting(
        default=250.0,
        ge=0,
        le=10_000,
        description="points above the strongest beaten, at most up to the middle between it and the weakest lost to; "
        "after more losses than wins, below the weakest lost to (Vuorinen 2010: 200 to 300)",
    )


class Information(PairingSystem):
    """One matching of greatest sum a round. Subclasses say what a pair is worth and by which model ratings move."""

    name = ""
    codes = ("RATING",)
    options: _InformationOptions

    def __init__(self, options: _InformationOptions) -> None:
        super().__init__(options)
        self.model: str = getattr(options, "model", "gor")  # of the ratings: gor, elo or elo-draw
        self.integer_steps: bool = getattr(options, "integer_steps", False)  # of the width of GoR

    def check(self, members: tuple[Member, ...]) -> None:
        """ValueError for missing ratings too, unless Elo starts a field that has none, and below the floor of GoR."""
        super().check(members)
        if self.model == "gor" or _rated(members):
            refuse_unrated(members)
        low = [member.name for member in members if member.rating is not None and member.rating < FLOOR]
        if self.model == "gor" and low:
            raise ValueError(
                f"{', '.join(low)} below {FLOOR:g}, where GoR begins: set rating = ... on the Go scale under "
                "[[entrants]] of each"
            )

    def ratings(self, field: Field) -> _Milli:
        """Of everybody now, in thousandths."""
        entry = entry_ratings(field)
        if not self.options.rerate:
            return entry
        if self.model == "gor":
            brought = [max(FLOOR, rating / MILLI) for rating in entry]  # a late entrant is not refused
            return tuple(round(MILLI * rating) for rating in by_gor(field, brought, integer_steps=self.integer_steps))
        return current_ratings(field)

    @abstractmethod
    def worth(self, field: Field, ratings: _Milli) -> tuple[Worth, int]:
        """What pairs are worth before this round, and the most that any can be."""

    def pair(self, field: Field) -> Paired:
        """The next round; Unpairable only if strict, or when there is nobody."""
        weighed = self.weighed(field)
        found = relaxed_matching(weighed.weights, weighed.barred)
        bars = Restrictions(self.options.strict, self.options.forbid_family)
        pairs = [(weighed.members[one], weighed.members[other]) for one, other in found.pairs]
        unwanted = tuple(remark for pair in pairs for remark in broken_restrictions(field, *pair, bars))
        if bars.strict and unwanted:
            raise Unpairable("; ".join(unwanted) + "; strict = false allows it")
        taken = remarks_on_unrated(field) if _rated(field.members) else ()
        byes = tuple(member for member in field.present if member not in weighed.members)
        return Paired(assign_colours(field, pairs, self.name), byes, CERTIFIED, (*taken, *unwanted))

    def weighed(self, field: Field) -> WeightedRound:
        """Members by rating. Families are a bar below any rematch; of two rematches the latest is the higher."""
        ratings = self.ratings(field)
        there = order_by_rating(ratings, field.present)
        if len(there) % 2:
            there.remove(self._bye(field, ratings))
        worth, _ = self.worth(field, ratings)
        weights, kin, again = pair_matrices(field, there, worth)
        barred = np.where(again > 0, again + 1, kin * self.options.forbid_family)
        return WeightedRound(tuple(there), weights + 1 - kin, barred)

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """The worth of the pair, and the one unit that keeps families apart."""
        worth, most = self.worth(field, self.ratings(field))
        return (
            Reason(self.name, worth(one, other), most, "Vuorinen 2010"),
            Reason("families apart", int(not same_family(field, one, other)), 1, "our decision"),
        )

    def terms(self, field: Field) -> tiebreaks.PlacementTerms:
        """With the ratings after all games so far."""
        return self._terms(field, self.ratings(field))

    def _terms(self, field: Field, ratings: _Milli) -> tiebreaks.PlacementTerms:
        return replace(super().terms(field), ratings=tuple(rating / MILLI for rating in ratings))

    def _bye(self, field: Field, ratings: _Milli) -> int:
        """The last of the table with the fewest byes (Vuorinen 2010)."""
        groups = standings.order_by_codes(field, self.order, field.present, self._terms(field, ratings))
        return last_bye(field, [member for _, tied in groups for member in tied])


class Entropy(Information):
    """The results that are hardest to foretell."""

    name = "entropy"
    options: EntropyOptions

    def worth(self, _field: Field, ratings: _Milli) -> tuple[Worth, int]:
        """Bits."""

        def bits(one: int, other: int) -> int:
            return round(UNIT * entropy(self.results(ratings[one] / MILLI, ratings[other] / MILLI)))

        return bits, round(UNIT * log2(3 if self.model == "elo-draw" else 2))

    def results(self, one: float, other: float) -> tuple[float, ...]:
        """How likely each result is between two ratings, the weaker one's win first."""
        if self.model == "gor":
            return egf_expected(min(one, other), max(one, other), eps=0.0, integer_steps=self.integer_steps)
        share = expected_score(-abs(one - other))
        drawn = self.options.draw_rate * 2 * share if self.model == "elo-draw" else 0.0
        return share - drawn / 2, drawn, 1 - share - drawn / 2


class Drift(Information):
    """The most points added to the pool, or moved."""

    name = "gor-drift"
    options: DriftOptions

    def worth(self, _field: Field, ratings: _Milli) -> tuple[Worth, int]:
        """Points of GoR, at most those of two entrants at its floor."""

        def points(one: int, other: int) -> int:
            weaker, stronger = sorted((ratings[one] / MILLI, ratings[other] / MILLI))
            if self.options.change == "drift":
                return round(UNIT * expected_total_change(weaker, stronger, eps=self.options.eps))
            share = egf_expected(weaker, stronger, eps=0.0)[0]
            return round(UNIT * 2 * share * (1 - share) * (con(weaker) + con(stronger)))

        return points, round(UNIT * con(FLOOR) * (self.options.eps if self.options.change == "drift" else 1))


class Probe(Information):
    """Winners meet entrants above the strongest they have beaten, losers below the weakest that beat them.

    Wins and losses together bound the level: the aim is not beyond the middle of the two.
    """

    name = "probe"
    version = 2  # 1: losses did not limit the aim, and entrants without an aim pulled others back
    options: ProbeOptions

    def worth(self, field: Field, ratings: _Milli) -> tuple[Worth, int]:
        """Thousandths of a point off the aim, both sides together; 0 is the most.

        Where only one side is aimed away from its own rating, that side counts twice (our decision): the other side
        would pull it back to its equals.
        """
        aims = self.aims(field, ratings)

        def off(one: int, other: int) -> int:
            gaps = {one: abs(ratings[other] - aims[one]), other: abs(ratings[one] - aims[other])}
            aimed = [at for at in gaps if aims[at] != ratings[at]]
            return -2 * gaps[aimed[0]] if len(aimed) == 1 else -sum(gaps.values())

        return off, 0

    def aims(self, field: Field, ratings: _Milli) -> _Milli:
        """Return the rating at which each member is aimed, in thousandths."""
        return tuple(self._aim(field, member, ratings) for member in range(len(field.members)))

    def _aim(self, field: Field, member: int, ratings: _Milli) -> int:
        """Return the rating at which an entrant is aimed, its own if it has won as often as it has lost.

        The middle between the strongest beaten and the weakest lost to is our decision, and so is the own rating,
        which is the aim before the first round that aims, too.
        """
        beaten: list[int] = []
        lost: list[int] = []
        for turn, row in zip(field.turns(member), field.history, strict=True):
            if turn.met and turn.opponent is not None:
                theirs = row[turn.opponent].points
                if turn.points != theirs:
                    (beaten if turn.points > theirs else lost).append(ratings[turn.opponent])
        if field.number < self.options.from_round or len(beaten) == len(lost):
            return ratings[member]
        reach = round(MILLI * self.options.aim)
        middle = (max(beaten) + min(lost)) // 2 if beaten and lost else None
        if len(beaten) > len(lost):
            above = max(beaten) + reach
            return above if middle is None else min(above, middle)
        below = min(lost) - reach
        return below if middle is None else max(below, middle)


def entropy(chances: tuple[float, ...]) -> float:
    """-sum p log2 p, in bits; what cannot happen tells nothing."""
    return -sum(chance * log2(chance) for chance in chances if chance > 0)


def _rated(members: Sequence[Member]) -> bool:
    return any(member.rating is not None for member in members)
