"""Pairing for information: largest entropy, largest expected rating change, or grade probing.

system     weight of a pair                                             source
entropy    H = -sum p log2 p over the results of a game                 Vuorinen 2010, 2.2
gor-drift  eps (con S + con S), or 2 S(1-S)(con + con)                  Vuorinen 2010, 2.2.2; Fisher's information
probe      -|rating of the opponent - aim|, summed over both entrants   Vuorinen 2010, grade probing

The round with the largest sum is played. Tables are ordered by rating, because an entrant that always meets equally
strong opponents scores half of the points.
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

from enginetour.formats.base import Strict
from enginetour.formats.pairing import standings, tiebreaks
from enginetour.formats.pairing.draw import last_bye
from enginetour.formats.pairing.field import CERTIFIED, Field, Member, Paired, Unpairable
from enginetour.formats.pairing.gorounds import (
    MILLI,
    Restrictions,
    Worth,
    assign_colors,
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

UNIT = 10**12  # units of the weight per bit or per rating point (enginetour's choice)
_Milli = tuple[int, ...]  # ratings in thousandths of a point


class _InformationOptions(RoundsOptions):
    """Settings of all systems in this module."""

    rerate: bool = Setting(default=True, description="Update the ratings after each round.")
    forbid_family: bool = Setting(
        default=False,
        description="Do not pair entrants of the same family, unless no other round is possible. false: the family "
        "decides only between equal rounds.",
    )
    strict: Strict = False


class EntropyOptions(_InformationOptions):
    """Settings of `entropy`."""

    model: Literal["gor", "elo", "elo-draw"] = Setting(
        default="elo",
        description="Model of expected scores: gor (Vuorinen 2010, epsilon 0), elo, or elo-draw with draws as a third "
        "result.",
    )
    draw_rate: float = Setting(
        default=0.45,
        ge=0,
        le=1,
        description="Share of draws between equal entrants, from 0 to 1; only used with model = elo-draw. For an "
        "expected score e it is multiplied by 1 - |2e - 1| (enginetour's choice).",
    )
    integer_steps: bool = Setting(
        default=False,
        description="Round the parameter a of GoR, the width of its curve of expected scores, to whole points, as in "
        "the printed tables (Vuorinen 2010). Only used with model = gor.",
    )


class DriftOptions(_InformationOptions):
    """Settings of `gor-drift`."""

    change: Literal["drift", "absolute"] = Setting(
        default="drift",
        description="drift: rating points added to the pool (Vuorinen 2010, 2.2.2); absolute: rating points moved in "
        "either direction.",
    )
    eps: float = Setting(
        default=EPS,
        ge=0,
        lt=1,
        description="Deflation correction (epsilon) as a share of con; only used with change = drift (Vuorinen 2010).",
    )

    @model_validator(mode="after")
    def _something_drifts(self) -> DriftOptions:
        if self.change == "drift" and self.eps == 0:
            raise ValueError(
                'eps must be above 0 with change = "drift", because all pairs are equal otherwise (found 0). '
                'Hint: set eps, or change = "absolute"'
            )
        return self


class ProbeOptions(_InformationOptions):
    """Settings of `probe`."""

    model: Literal["gor", "elo"] = Setting(default="elo", description="Rating model for the updates after each round.")
    from_round: int = Setting(
        default=3,
        ge=2,
        description="First round in which each entrant has an aim, the rating of its ideal opponent; in earlier "
        "rounds, equal entrants meet (Vuorinen 2010: 3).",
    )
    aim: float = Setting(
        default=250.0,
        ge=0,
        le=10_000,
        description="Rating points from the strongest beaten opponent up to the aim. The aim is at most halfway "
        "between this opponent and the weakest opponent that won. After more losses than wins, the aim is below the "
        "weakest opponent that won (Vuorinen 2010: 200 to 300).",
    )


class Information(PairingSystem):
    """Pairing system in which each round has the largest sum of weights.

    Subclasses define the weight of a pair and the rating model.
    """

    name = ""
    codes = ("RATING",)
    options: _InformationOptions

    def __init__(self, options: _InformationOptions) -> None:
        super().__init__(options)
        self.model: str = getattr(options, "model", "gor")  # rating model: gor, elo or elo-draw
        self.integer_steps: bool = getattr(
            options, "integer_steps", False
        )  # whether the width of GoR's curve is rounded

    def check(self, members: tuple[Member, ...]) -> None:
        """Raise ValueError if ratings are missing or below the floor of GoR; with Elo, all ratings may be missing."""
        super().check(members)
        if self.model == "gor" or _rated(members):
            refuse_unrated(members)
        low = [member.name for member in members if member.rating is not None and member.rating < FLOOR]
        if self.model == "gor" and low:
            raise ValueError(
                f"ratings must be at least {FLOOR:g} for GoR (too low: {', '.join(low)}). "
                "Hint: set rating = ... on the Go scale in the [[entrants]] section of each of these entrants"
            )

    def ratings(self, field: Field) -> _Milli:
        """Return the current ratings of all members, in thousandths of a point."""
        entry = entry_ratings(field)
        if not self.options.rerate:
            return entry
        if self.model == "gor":
            brought = [max(FLOOR, rating / MILLI) for rating in entry]  # late entrants below the floor are accepted
            return tuple(round(MILLI * rating) for rating in by_gor(field, brought, integer_steps=self.integer_steps))
        return current_ratings(field)

    @abstractmethod
    def worth(self, field: Field, ratings: _Milli) -> tuple[Worth, int]:
        """Return the weight function for pairs of the next round, and the largest possible weight."""

    def pair(self, field: Field) -> Paired:
        """Return the next round. Raises Unpairable only if `strict` is set or no members are present."""
        weighed = self.weighed(field)
        found = relaxed_matching(weighed.weights, weighed.barred)
        bars = Restrictions(self.options.strict, self.options.forbid_family)
        pairs = [(weighed.members[one], weighed.members[other]) for one, other in found.pairs]
        unwanted = tuple(remark for pair in pairs for remark in broken_restrictions(field, *pair, bars))
        if bars.strict and unwanted:
            raise Unpairable("; ".join(unwanted) + ". Hint: set strict = false to allow it")
        taken = remarks_on_unrated(field) if _rated(field.members) else ()
        byes = tuple(member for member in field.present if member not in weighed.members)
        return Paired(assign_colors(field, pairs, self.name), byes, CERTIFIED, (*taken, *unwanted))

    def weighed(self, field: Field) -> WeightedRound:
        """Return the weights and the forbidden pairs, with members in the order of their ratings.

        Pairs of the same family are forbidden less than any rematch, and recent rematches more than older ones.
        """
        ratings = self.ratings(field)
        there = order_by_rating(ratings, field.present)
        if len(there) % 2:
            there.remove(self._bye(field, ratings))
        worth, _ = self.worth(field, ratings)
        weights, kin, again = pair_matrices(field, there, worth)
        barred = np.where(again > 0, again + 1, kin * self.options.forbid_family)
        return WeightedRound(tuple(there), weights + 1 - kin, barred)

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """Return the weight of the pair, and one more unit if the families are different."""
        worth, most = self.worth(field, self.ratings(field))
        return (
            Reason(self.name, worth(one, other), most, "Vuorinen 2010"),
            Reason("different families", int(not same_family(field, one, other)), 1, "enginetour's choice"),
        )

    def terms(self, field: Field) -> tiebreaks.PlacementTerms:
        """Return the terms of the table, with the ratings after all games so far."""
        return self._terms(field, self.ratings(field))

    def _terms(self, field: Field, ratings: _Milli) -> tiebreaks.PlacementTerms:
        return replace(super().terms(field), ratings=tuple(rating / MILLI for rating in ratings))

    def _bye(self, field: Field, ratings: _Milli) -> int:
        """Return the last entrant in the table among those with the fewest byes (Vuorinen 2010)."""
        groups = standings.order_by_codes(field, self.order, field.present, self._terms(field, ratings))
        return last_bye(field, [member for _, tied in groups for member in tied])


class Entropy(Information):
    """Pairing system that pairs entrants so that the results are as unpredictable as possible."""

    name = "entropy"
    options: EntropyOptions

    def worth(self, _field: Field, ratings: _Milli) -> tuple[Worth, int]:
        """Return the entropy of a game in units of `UNIT` per bit."""

        def bits(one: int, other: int) -> int:
            return round(UNIT * entropy(self.results(ratings[one] / MILLI, ratings[other] / MILLI)))

        return bits, round(UNIT * log2(3 if self.model == "elo-draw" else 2))

    def results(self, one: float, other: float) -> tuple[float, ...]:
        """Return the probability of each result between two ratings, beginning with a win of the weaker entrant."""
        if self.model == "gor":
            return egf_expected(min(one, other), max(one, other), eps=0.0, integer_steps=self.integer_steps)
        share = expected_score(-abs(one - other))
        drawn = self.options.draw_rate * 2 * share if self.model == "elo-draw" else 0.0
        return share - drawn / 2, drawn, 1 - share - drawn / 2


class Drift(Information):
    """Pairing system that pairs entrants so that ratings are expected to change as much as possible."""

    name = "gor-drift"
    options: DriftOptions

    def worth(self, _field: Field, ratings: _Milli) -> tuple[Worth, int]:
        """Return the expected change in GoR points; it is largest for two entrants at the floor of GoR."""

        def points(one: int, other: int) -> int:
            weaker, stronger = sorted((ratings[one] / MILLI, ratings[other] / MILLI))
            if self.options.change == "drift":
                return round(UNIT * expected_total_change(weaker, stronger, eps=self.options.eps))
            share = egf_expected(weaker, stronger, eps=0.0)[0]
            return round(UNIT * 2 * share * (1 - share) * (con(weaker) + con(stronger)))

        return points, round(UNIT * con(FLOOR) * (self.options.eps if self.options.change == "drift" else 1))


class Probe(Information):
    """Pairing system that finds the level of new engines.

    Winners meet opponents above the strongest one they have beaten, and losers meet opponents below the weakest one
    that has beaten them. The aim is at most halfway between these two.
    """

    name = "probe"
    version = 2  # in version 1, losses did not limit the aim, and entrants without an aim changed the pairs of others
    options: ProbeOptions

    def worth(self, field: Field, ratings: _Milli) -> tuple[Worth, int]:
        """Return the negative distance from the aim in thousandths of a point, summed over both entrants; 0 is best.

        If only one of the two has an aim that differs from its own rating, its distance counts twice (enginetour's
        choice). Otherwise the other entrant would prefer opponents of its own strength.
        """
        aims = self.aims(field, ratings)

        def off(one: int, other: int) -> int:
            gaps = {one: abs(ratings[other] - aims[one]), other: abs(ratings[one] - aims[other])}
            aimed = [at for at in gaps if aims[at] != ratings[at]]
            return -2 * gaps[aimed[0]] if len(aimed) == 1 else -sum(gaps.values())

        return off, 0

    def aims(self, field: Field, ratings: _Milli) -> _Milli:
        """Return the aim of each member, which is the rating of its ideal opponent, in thousandths of a point."""
        return tuple(self._aim(field, member, ratings) for member in range(len(field.members)))

    def _aim(self, field: Field, member: int, ratings: _Milli) -> int:
        """Return the aim of an entrant, which is its own rating if it has won as often as it has lost.

        In the rounds before `from_round`, the aim is also the own rating. This, and the limit in the middle between the
        strongest beaten opponent and the weakest opponent that won, are enginetour's choices.
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
    """Return -sum p log2 p in bits; impossible results add nothing."""
    return -sum(chance * log2(chance) for chance in chances if chance > 0)


def _rated(members: Sequence[Member]) -> bool:
    return any(member.rating is not None for member in members)
