"""gopair pairing system (Augustin 2005): rounds with the largest sum of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Literal

import numpy as np
from pydantic import BeforeValidator, field_validator
from pydantic import Field as Setting

from enginetour.formats.base import FEWEST, lists_as_tuples
from enginetour.formats.pairing.blossom import Numbers
from enginetour.formats.pairing.field import CERTIFIED, Board, Dice, Field, Member, Paired
from enginetour.formats.pairing.gorounds import (
    MILLI,
    Pairs,
    Worth,
    assign_colors,
    current_ratings,
    entry_ratings,
    gopair_bye,
    order_by_rating,
    refuse_unrated,
    remarks_on_unrated,
    rematch,
    same_family,
    whites,
)
from enginetour.formats.pairing.matching import best_matching
from enginetour.formats.pairing.schedule import berger
from enginetour.formats.pairing.standings import Codes
from enginetour.formats.rounds import PairingSystem, Reason, RoundsOptions, WeightedRound

# gopair: the score of a pair, and the adjustment that keeps the best games for later rounds.
#
# HANDICAPS  rating gap per band  wins gap per win  same family  met
# MAX        -1                   -1.5              -2           -16
# MIN         0                   -1.5               0           -16
#
# Source: gopair manual (Augustin 2005). A score of 1 is the integer `Scores.unit`, so that sums are exact.

Early = Literal["adjusted", "literal", "off"]
BAND = 100 * MILLI  # thousandths of a rating point per band of 100 points


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of pairs by gopair's manual; `ratings` are in thousandths, and `odds` is true for HANDICAPS MAX."""

    field: Field
    ratings: tuple[int, ...]
    odds: bool

    @property
    def unit(self) -> int:
        """Return the integer for a score of 1; with it, all scores are integers."""
        return 2 * BAND * self.field.win

    def terms(self, one: int, other: int) -> tuple[tuple[str, int], ...]:
        """Return the name and the value of each part of a pair's score; no value is above 0."""
        field, scores = self.field, self.field.scores
        gap = abs(self.ratings[one] - self.ratings[other])
        return (
            ("rating gap", -2 * field.win * gap * self.odds),
            ("wins gap", -3 * BAND * abs(scores[one] - scores[other])),
            ("same family", -2 * self.unit * (self.odds and same_family(field, one, other))),
            ("met", -16 * self.unit * field.met(one, other)),
        )

    def __call__(self, one: int, other: int) -> int:
        """Return the score of a pair."""
        return sum(value for _, value in self.terms(one, other))


def depth(field: Field, early: Early) -> int:
    """Return N of the manual: one more than the number of best opponents that are saved for later rounds.

    N is the number of rounds minus the number of this round, so the scores of the last two rounds are not adjusted. The
    manual prints "minus 2" in addition; then the last four rounds would not be adjusted.
    """
    if early == "off":
        return 0
    return max(0, field.rounds - field.number - (2 if early == "literal" else 0))


def adjustments(scores: Scores, there: Sequence[int], early: Early) -> dict[tuple[int, int], int]:
    """Return the adjustment of each pair's score, summed over both members; in a pair, the lower place is first."""
    field, ratings, spared = scores.field, scores.ratings, depth(scores.field, early)
    added: dict[tuple[int, int], int] = {}
    if spared < 2:
        return added
    top = sorted(there, key=lambda place: (-field.scores[place], -ratings[place], place))[: 2 * spared]
    for one in top:
        others = sorted(
            (other for other in there if other != one),
            key=lambda other: (-scores(one, other), abs(ratings[one] - ratings[other]), other),
        )
        if len(others) < spared:
            continue
        least = 2 * scores(one, others[spared - 1]) or -scores.unit  # a score of 0 counts as -0.5
        for other in others[: spared - 1]:
            pair = min(one, other), max(one, other)
            added[pair] = added.get(pair, 0) + least
    return added


def _worth_of(scores: Scores, order: Sequence[int], early: Early) -> Worth:
    """Return the weight function with the adjustment for later rounds."""
    added = adjustments(scores, order, early)
    worth = {
        (min(pair), max(pair)): scores(*pair) + added.get((min(pair), max(pair)), 0) for pair in combinations(order, 2)
    }
    return lambda one, other: worth[min(one, other), max(one, other)]


def best_pairs(scores: Scores, order: Sequence[int], early: Early, window: int | None) -> tuple[Pairs, str]:
    """Return the pairs of a round and their guarantee.

    With a `window`, the first members of `order` are matched, the pair of the highest one is taken, and the window
    moves on.
    """
    value = _worth_of(scores, order, early)
    if window is None or window >= len(order):
        return _heaviest(order, value), CERTIFIED
    left, pairs = list(order), []
    while left:
        pair = next(pair for pair in _heaviest(left[:window], value) if left[0] in pair)
        pairs.append(pair)
        left = [member for member in left if member not in pair]
    return pairs, f"by rule: each pair is taken from the best matching of the first {window} unpaired entrants"


def _heaviest(there: Sequence[int], worth: Worth) -> Pairs:
    """Return the pairs with the largest sum; rematches are not forbidden, because the scores include them."""
    return [(there[one], there[other]) for one, other in best_matching(_weights(there, worth)).pairs]


def _weights(there: Sequence[int], worth: Worth) -> Numbers:
    return np.array([[0 if one == other else worth(one, other) for other in there] for one in there], dtype=np.int64)


class GopairOptions(RoundsOptions):
    """Settings of gopair, named like its directives."""

    placement: Codes = Setting(
        default=(),
        description="Order of the table: up to six codes such as MMS, BH-C1, DE. Default (enginetour's choice): PTS, "
        "SOS, SODOS.",
    )
    handicaps: Literal["max", "min"] = Setting(
        default="max", description="max: ratings and families count; min: only wins count (gopair manual 2005: max)."
    )
    early: Early = Setting(
        default="adjusted",
        description="adjusted: save the best opponents for later, except in the last two rounds; literal: save two "
        "opponents fewer, as printed in the manual; off: do not save opponents (NOEARLY).",
    )
    rerate: bool = Setting(
        default=True,
        description="Update the ratings from the games so far. Only used with handicaps = max. false corresponds to "
        "NORATS (gopair manual).",
    )
    method: Literal["ask", "best", "round_robin"] = Setting(
        default="ask",
        description="ask: stop if there are fewer than 1.5 opponents per round; best: pair the rounds anyway; "
        "round_robin: use Berger tables (gopair manual: PAIR BEST, PAIR ROUND_ROBIN).",
    )
    window: int | None = Setting(
        default=None,
        ge=2,
        description="Number of entrants from the top of the rating order that are paired at once; an even number. "
        "Default: all.",
    )
    bye: Annotated[tuple[str, ...], BeforeValidator(lists_as_tuples)] = Setting(
        default=(),
        description="Names of entrants marked BYE. If the number of entrants is odd, one of them gets the bye, even if "
        "it has already had one.",
    )
    drop: Annotated[dict[str, tuple[int, ...]], BeforeValidator(lists_as_tuples)] = Setting(
        default={},
        description="Names of entrants marked DROP, with the rounds they miss; an empty list means all rounds.",
    )

    @classmethod
    def most_rounds(cls, entrants: int) -> int:
        """Return the largest number of rounds with 1.5 opponents per round, so that `method` is not needed."""
        return max(1, 2 * super().most_rounds(entrants) // 3)

    @field_validator("window")
    @classmethod
    def _pairs_up(cls, window: int | None) -> int | None:
        if window is not None and window % 2:
            raise ValueError(f"window must be an even number (found {window})")
        return window


class Gopair(PairingSystem):
    """Pairing system in which each round has the largest sum of gopair's scores."""

    version = 2  # version 1 gave a marked entrant only one bye, and ignored later absences when it chose the bye
    codes = ("PTS", "SOS", "SODOS")  # enginetour's choice: gopair's manual does not have a table
    unplayed = "own"  # as in Vuorinen 2010, so that a bye does not lower SOS
    options: GopairOptions
    bye = "gopair"

    def __init__(self, options: GopairOptions) -> None:
        super().__init__(options)
        self.late_entry = options.method != "round_robin"  # Berger tables need a fixed number of seats

    def check(self, members: tuple[Member, ...]) -> None:
        """Raise ValueError for missing ratings, unknown names, too few entrants, or a round without a pair."""
        options, known = self.options, {member.name for member in members}
        refuse_unrated(members)
        for key, names in (("bye", options.bye), ("drop", tuple(options.drop))):
            for name in names:
                if name not in known:
                    raise ValueError(f"{key}: {name!r} is not an entrant")
        if len(members) < FEWEST:
            return  # an error follows when the round is paired
        opponents = len(members) + len(members) % 2 - 1
        if options.method == "ask" and 2 * opponents < 3 * options.rounds:
            raise ValueError(
                f"{options.rounds} rounds need at least 1.5 opponents per round (found {opponents} opponents for "
                f"{len(members)} entrants). "
                'Hint: set method = "round_robin" (recommended), or "best" to pair them anyway'
            )
        if options.method == "round_robin":
            super().check(members)
        for number in range(1, options.rounds + 1):
            if len(self._there(members, range(len(members)), number)) < FEWEST:
                raise ValueError(f"drop leaves fewer than two entrants in round {number}")

    def pair(self, field: Field) -> Paired:
        """Return the next round; no pair is forbidden, and each rematch adds a remark."""
        there = self._there(field.members, field.present, field.number)
        if len(there) < 2:
            return Paired(())
        if self.options.method == "round_robin":
            return self._by_table(field, there)
        scores, order, byes = self._prepared(field, there)
        pairs, guarantee = best_pairs(scores, order, self.options.early, self.options.window)
        again = (rematch(field, *pair) for pair in pairs if field.met(*pair))
        return Paired(
            assign_colors(field, pairs, "gopair", whites), byes, guarantee, (*remarks_on_unrated(field), *again)
        )

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """Return the terms of the manual, which are at most 0, and the adjustment for later rounds."""
        there = self._there(field.members, field.present, field.number)
        if self.options.method == "round_robin" or not {one, other} <= set(there):
            return ()
        scores, order, _ = self._prepared(field, there)
        early = adjustments(scores, order, self.options.early).get((min(one, other), max(one, other)), 0)
        terms = (*scores.terms(one, other), ("saved for later", early))
        return tuple(Reason(name, worth, 0, "gopair manual 2005") for name, worth in terms)

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """Explain Berger tables, byes and DROP."""
        there = self._there(field.members, field.present, field.number)
        names = {at: field.members[at].name for at in (one, other)}
        dropped = [f"{names[at]} is marked DROP for this round" for at in (one, other) if at not in there]
        if self.options.method != "round_robin":
            return (*dropped, *super().rules(field, paired, one, other))
        seats, count = {one, other}, len(field.members)
        number = next(number for number, pairs in enumerate(berger(count), 1) if seats in map(set, pairs))
        low, high = sorted(seats)
        return (
            f"Berger tables of {count}: seats {low + 1} and {high + 1} meet in round {number}",
            *dropped,
            *(f"{names[at]} has the bye: its seat has no opponent" for at in paired.byes if at in names),
        )

    def weighed(self, field: Field) -> WeightedRound | None:
        """Return the scores of the round, without forbidden pairs; None with Berger tables or a window."""
        there = self._there(field.members, field.present, field.number)
        window = self.options.window
        if self.options.method == "round_robin" or len(there) < 2 or (window and window < len(there)):
            return None
        scores, order, _ = self._prepared(field, there)
        weights = _weights(order, _worth_of(scores, order, self.options.early))
        return WeightedRound(tuple(order), weights, np.zeros_like(weights))

    def boards_ahead(self, field: Field, rounds_left: int) -> tuple[int, int]:
        """Return the fewest and the most boards of the remaining rounds, without dropped entrants.

        Berger tables may have fewer boards after a withdrawal.
        """
        boards = 0
        for number in range(field.number + 1, field.number + 1 + rounds_left):
            there = len(self._there(field.members, field.present, number))
            if there < 2:
                break
            boards += there // 2
        tables = self.options.method == "round_robin"
        absent = self.options.drop or len(field.present) < len(field.members)
        return 0 if tables and absent else boards, boards

    def _prepared(self, field: Field, there: Sequence[int]) -> tuple[Scores, list[int], tuple[int, ...]]:
        """Return the scores, the members to be paired in the order of their ratings, and the member with the bye."""
        odds = self.options.handicaps == "max"
        ratings = current_ratings(field) if odds and self.options.rerate else entry_ratings(field)
        byes = self._byes(field, there, ratings)
        order = [member for member in order_by_rating(ratings, there) if member not in byes]
        return Scores(field, ratings, odds), order, byes

    def _there(self, members: Sequence[Member], present: Sequence[int], number: int) -> list[int]:
        missing = {name for name, rounds in self.options.drop.items() if number in rounds or not rounds}
        return [place for place in present if members[place].name not in missing]

    def _byes(self, field: Field, there: Sequence[int], ratings: Sequence[int]) -> tuple[int, ...]:
        if len(there) % 2 == 0:
            return ()
        marked = [place for place in there if field.members[place].name in self.options.bye]
        leaving = [
            place
            for place in there
            if any(number > field.number for number in self.options.drop.get(field.members[place].name, ()))
        ]
        dice = Dice(field.seed, "gopair", field.number, "bye")
        return (gopair_bye(field, there, ratings, dice, marked=marked, leaving=leaving),)

    def _by_table(self, field: Field, there: Sequence[int]) -> Paired:
        """Return the round from the Berger tables; colors are reversed in every second cycle."""
        tables = berger(len(field.members))
        cycle, number = divmod(field.number - 1, len(tables))
        seats = [pair if cycle % 2 == 0 else pair[::-1] for pair in tables[number]]
        boards = tuple(Board(*pair) for pair in seats if set(pair) <= set(there))
        busy = {place for board in boards for place in board.pair}
        return Paired(boards, tuple(place for place in there if place not in busy), "by rule: Berger tables")
