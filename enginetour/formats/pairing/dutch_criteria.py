"""The criteria of a bracket as digits of a weight, most important first.

Digits are symmetric matrices over the cards in order and the bye; a criterion counted score by score is one digit a
score, the highest first. That the rest of the round stays legal is no digit: the face sees to it.
Source: FIDE C.04.3, criteria C6 to C21.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enginetour.formats.pairing.bye import Bye
from enginetour.formats.pairing.colours import Due
from enginetour.formats.pairing.costs import Allowed, Numbers
from enginetour.formats.pairing.preparation import Card, Float

Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Digits:
    """Of a bracket that ends before card `inside`, the next one before card `following`."""

    cards: Sequence[Card]
    moved: int
    inside: int
    following: int
    bye: Bye | None

    def all(self) -> Iterator[Numbers]:
        """C6 to C21, one or more digits each."""
        size = len(self.cards)
        above = np.triu(np.ones((size, size), dtype=np.bool_), 1)
        here, below = above.copy(), above.copy()
        here[:, : self.moved] = here[:, self.inside :] = False
        below[:, : self.inside] = below[:, self.following :] = False
        yield self._digit(here)
        yield from self._by_score(here)
        yield self._digit(below)
        yield from self._by_score(below)
        if self.bye and self.bye.here:
            yield self._unplayed(self.bye.score)
        for good in self._colours():
            yield self._digit(here & good)
        for back in (0, 1):
            yield from self._floats(here, back)
        for back in (0, 1):
            yield from self._float_scores(here, back)

    def _digit(self, upper: NDArray[np.bool_ | np.int64]) -> Numbers:
        """Both ways round, with the bye where the field is odd."""
        size = len(self.cards)
        digit = np.zeros((size + size % 2,) * 2, dtype=np.int64)
        digit[:size, :size] = upper
        return digit + digit.T

    @property
    def _scores(self) -> NDArray[np.int64]:
        return np.array([card.score for card in self.cards], dtype=np.int64)

    def _by_score(self, counted: Allowed) -> Iterator[Numbers]:
        """Pairs counted by the score of the higher one; the last count follows from their sum."""
        scores = self._scores
        for score in sorted(set(scores[counted.any(axis=1)].tolist()), reverse=True)[:-1]:
            yield self._digit(counted & (scores == score)[:, None])

    def _unplayed(self, score: int) -> Numbers:
        """C9: the bye goes to who played most, since all others of that score are in a pair."""
        played = [card.played for card in self.cards]
        those = sorted((card.played for card in self.cards if card.score == score), reverse=True)
        worth = [
            len(those) - 1 - those[::-1].index(number) if card.score == score else 0
            for card, number in zip(self.cards, played, strict=True)
        ]
        mine = np.array(worth, dtype=np.int64)
        return self._digit(np.triu(mine[:, None] + mine, 1))

    def _colours(self) -> Iterator[Allowed]:
        """Pairs good in C10 to C13: difference small, no third colour in a row, wishes met, strong wishes met."""
        colours = [card.colours for card in self.cards]
        wish = np.array([each.wish for each in colours])
        due = np.array([each.due for each in colours])
        size = abs(np.array([each.difference for each in colours]))
        twice = np.array([each.twice for each in colours])
        same = (wish[:, None] == wish) & (wish != 0)
        wide = size > 1
        yield ~(same & wide[:, None] & wide)
        absolute = due == Due.ABSOLUTE
        equal = size[:, None] == size
        both_twice = (twice[:, None] == twice) & (twice != 0)
        hi_yields = (size[:, None] < size) & (twice == -wish)[:, None]
        lo_yields = (size[:, None] > size) & (twice == -wish)
        third = np.where(equal, both_twice, hi_yields | lo_yields)
        yield ~(same & absolute[:, None] & absolute & third)
        yield ~same
        strong = due >= Due.STRONG
        yield ~(same & strong[:, None] & strong & ~(absolute[:, None] & absolute))

    def _marks(self, back: int) -> tuple[Marks, Marks, Allowed, Allowed]:
        """Who floated down, who up; which pairs have two of one order, which an upper from a higher score."""
        scores = self._scores
        down = np.array([card.floats[back] is Float.DOWN for card in self.cards])
        up = np.array([card.floats[back] is Float.UP for card in self.cards])
        return down, up, scores[:, None] <= scores, scores[:, None] > scores

    def _floats(self, here: Allowed, back: int) -> Iterator[Numbers]:
        """C14 to C17: who floated down is paired here; who floated up does not meet a higher score."""
        down, up, level, higher = self._marks(back)
        yield self._digit(here * (down.astype(np.int64) + (level & down[:, None])))
        yield self._digit(here & ~(higher & up))

    def _float_scores(self, here: Allowed, back: int) -> Iterator[Numbers]:
        """C18 to C21: the same by scores."""
        down, up, _, higher = self._marks(back)
        scores = self._scores
        values = sorted(set(scores[: self.inside].tolist()), reverse=True)
        for score in values:
            those = down & (scores == score)
            yield self._digit(here * (those.astype(np.int64) + those[:, None]))
        for score in values[:-1]:
            yield self._digit(here & (scores == score)[:, None] & ~(higher & up))


COLOUR_CRITERIA = (
    ("difference of colours stays small", "C10"),
    ("no third colour in a row", "C11"),
    ("colour wishes met", "C12"),
    ("strong colour wishes met", "C13"),
)
UP_CRITERIA = (("no second float up, a round back", "C15"), ("no second float up, two rounds back", "C17"))


def of_pair(cards: Sequence[Card], *, colour_blind: bool) -> Iterator[tuple[str, bool, str]]:
    """What the criteria say of two cards in order: (criterion, met, its number); not those of a whole bracket."""
    digits = Digits(cards, int(cards[0].score != cards[1].score), 2, 2, None)
    yield "inside one score group", cards[0].score == cards[1].score, "C6"
    if not colour_blind:
        for (name, number), good in zip(COLOUR_CRITERIA, digits._colours(), strict=True):
            yield name, bool(good[0, 1]), number
    for back, (name, number) in enumerate(UP_CRITERIA):
        _, up, _, higher = digits._marks(back)
        yield name, not (higher[0, 1] and up[1]), number
