"""gopair: the score of a pair, and the adjustment that keeps the best games for later rounds.

HANDICAPS  rating gap, a band  wins gap, a win  same family  met
MAX        -1                  -1.5             -2           -16
MIN         0                  -1.5              0           -16

Source: gopair manual (Augustin 2005). Scores are integers, `Scores.unit` to 1, so that sums are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from enginetour.formats.pairing.current import MILLI
from enginetour.formats.pairing.exact import CERTIFIED, Pairs, Worth, same_family
from enginetour.formats.pairing.field import Field
from enginetour.formats.pairing.matching import best_matching

Early = Literal["adjusted", "literal", "off"]
BAND = 100 * MILLI  # a band is 100 points, ratings come in thousandths


@dataclass(frozen=True, slots=True)
class Scores:
    """The manual's scores of one field; `ratings` in thousandths, `odds` for HANDICAPS MAX."""

    field: Field
    ratings: tuple[int, ...]
    odds: bool

    @property
    def unit(self) -> int:
        """What 1 is: divisible by all that scores are fractions of."""
        return 2 * BAND * self.field.win

    def terms(self, one: int, other: int) -> tuple[tuple[str, int], ...]:
        """Each part by name, none above 0."""
        field, scores = self.field, self.field.scores
        gap = abs(self.ratings[one] - self.ratings[other])
        return (
            ("rating gap", -2 * field.win * gap * self.odds),
            ("wins gap", -3 * BAND * abs(scores[one] - scores[other])),
            ("same family", -2 * self.unit * (self.odds and same_family(field, one, other))),
            ("met", -16 * self.unit * field.met(one, other)),
        )

    def __call__(self, one: int, other: int) -> int:
        """The sum."""
        return sum(value for _, value in self.terms(one, other))


def depth(field: Field, early: Early) -> int:
    """How many of the best opponents are spared, and one more: N of the manual.

    Rounds less this one leave the last two as they are; "minus 2", as printed, would leave the last four.
    """
    if early == "off":
        return 0
    return max(0, field.rounds - field.number - (2 if early == "literal" else 0))


def adjustments(scores: Scores, there: Sequence[int], early: Early) -> dict[tuple[int, int], int]:
    """What is added to the score of a pair (lower place first), in sum of both its sides."""
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


def worth_of(scores: Scores, order: Sequence[int], early: Early) -> Worth:
    """Of any two of `order`, with what keeps games for later."""
    added = adjustments(scores, order, early)
    worth = {
        (min(pair), max(pair)): scores(*pair) + added.get((min(pair), max(pair)), 0) for pair in combinations(order, 2)
    }
    return lambda one, other: worth[min(one, other), max(one, other)]


def best_pairs(scores: Scores, order: Sequence[int], early: Early, window: int | None) -> tuple[Pairs, str]:
    """Pairs and their guarantee; `order` by rating. With a window the top of it is paired, then it moves on."""
    value = worth_of(scores, order, early)
    if window is None or window >= len(order):
        return _heaviest(order, value), CERTIFIED
    left, pairs = list(order), []
    while left:
        pair = next(pair for pair in _heaviest(left[:window], value) if left[0] in pair)
        pairs.append(pair)
        left = [member for member in left if member not in pair]
    return pairs, f"by rule: best of the first {window} each time"


def _heaviest(there: Sequence[int], worth: Worth) -> Pairs:
    """Whoever has met: the score has that in it already."""
    weights = [[0 if one == other else worth(one, other) for other in there] for one in there]
    return [(there[one], there[other]) for one, other in best_matching(weights).pairs]
