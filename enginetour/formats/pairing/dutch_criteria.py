"""FIDE Dutch criteria C5 to C21 as digits of a weight; color preferences and the bye.

Digits are symmetric matrices over the cards in order and, if there is one, the bye. A criterion that is counted score
by score has one digit per score, beginning with the highest score. The rule that the rest of the round must stay legal
is not a digit; the face ensures it. Source: FIDE C.04.3, criteria C6 to C21.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray

from enginetour.formats.pairing.blossom import Allowed, Numbers
from enginetour.formats.pairing.field import NEITHER, Field, Kind
from enginetour.formats.pairing.matching import Face


class PreferenceStrength(IntEnum):
    """Strength of a color preference, in increasing order."""

    NOT = 0
    MILD = 1
    STRONG = 2
    ABSOLUTE = 3


@dataclass(frozen=True, slots=True)
class Colors:
    """Colors of the games played, and the resulting preference. Colors are WHITE (1), BLACK (-1) or NEITHER (0)."""

    played: tuple[int, ...] = ()
    difference: int = 0  # games with White minus games with Black
    twice: int = NEITHER  # color of the last two or more games, if it was the same
    wish: int = NEITHER
    due: PreferenceStrength = PreferenceStrength.NOT

    @classmethod
    def of(cls, played: Sequence[int]) -> Colors:
        """Return the preference from the colors of the games played, oldest first."""
        difference = sum(played)
        last = played[-1] if played else NEITHER
        twice = last if tuple(played[-2:]) == (last, last) else NEITHER
        rarer = NEITHER if not difference else -1 if difference > 0 else 1
        if abs(difference) > 1:
            wish, due = rarer, PreferenceStrength.ABSOLUTE
        elif twice:
            wish, due = -twice, PreferenceStrength.ABSOLUTE
        elif difference:
            wish, due = rarer, PreferenceStrength.STRONG
        else:
            wish, due = -last, PreferenceStrength.MILD if played else PreferenceStrength.NOT
        return cls(tuple(played), difference, twice, wish, due)

    def clashes(self, other: Colors) -> bool:
        """Return whether both have an absolute preference for the same color."""
        return self.due == other.due == PreferenceStrength.ABSOLUTE and self.wish == other.wish


def color_of_first(first: Colors, second: Colors, without: int) -> int:
    """Return the color of the higher entrant (`first`); it is `without` if neither entrant has a preference."""
    if not first.wish and not second.wish:
        return without
    if first.wish != second.wish:
        return first.wish or -second.wish
    mine, other = ((colors.due, _size(colors)) for colors in (first, second))
    if mine != other:
        return first.wish if mine > other else -second.wish
    for of_first, of_second in zip(reversed(first.played), reversed(second.played), strict=False):
        if of_first != of_second:
            return -of_first
    return first.wish


def _size(colors: Colors) -> int:
    return abs(colors.difference) if colors.due == PreferenceStrength.ABSOLUTE else 0


class Float(StrEnum):
    """Direction in which a round moved an entrant out of its score group."""

    NONE = ""
    DOWN = "D"
    UP = "U"


@dataclass(frozen=True, slots=True)
class PlayerCard:
    """One entrant before a round.

    `score` is in half points and includes virtual points. `floats` are the floats of the last two rounds, the latest
    first.
    """

    place: int
    score: int
    colors: Colors
    floats: tuple[Float, Float]
    barred: bool  # it gets no bye, because it had a bye or the points of a win without a game (C2)
    played: int  # number of rounds played over the board
    top: bool  # it has more than half of all points before the last round; two such entrants may be due the same color

    @property
    def order(self) -> tuple[int, int]:
        """Return the sort key: score, then pairing number."""
        return -self.score, self.place


def player_cards(field: Field, accelerated: int = 0, *, color_blind: bool = False) -> list[PlayerCard]:
    """Return the cards of all present entrants in order; `accelerated` rounds have virtual points (Baku)."""
    before = [
        [points + extra for points, extra in zip(row, virtual_points(field, number, accelerated), strict=True)]
        for number, row in enumerate(field.points, 1)
    ]
    found = [_card(field, before, member) for member in field.present]
    if color_blind:
        found = [replace(card, colors=Colors()) for card in found]
    return sorted(found, key=lambda card: card.order)


def virtual_points(field: Field, number: int, accelerated: int) -> list[int]:
    """Return the virtual points of all members in round `number`, from a file or else by Baku acceleration.

    The upper half (rounded up to an even number) of the entrants in round 1 get virtual points, and so do later
    entrants that are placed among them. They are the points of a win in the first half of the accelerated rounds
    (rounded up), and the points of a draw in the other accelerated rounds. Source: FIDE Handbook C.04.
    """
    if field.virtual:
        return list(field.virtual[number - 1]) if number <= len(field.virtual) else [0] * len(field.members)
    if number > accelerated:
        return [0] * len(field.members)
    there = sorted(field.before(1).present if field.history else field.present)  # without later entrants
    upper = there[: 2 * -(-len(there) // 4)]
    extra = field.win if number <= -(-accelerated // 2) else field.win // 2
    return [extra if place <= max(upper, default=-1) else 0 for place in range(len(field.members))]


def entered(field: Field) -> list[int]:
    """Return the members that are numbered when the parity of pairing numbers is determined.

    These are the members that are present, were paired in an earlier round, or have or had a bye.
    """
    return [
        member
        for member in range(len(field.members))
        if member in field.present
        or member == field.bye
        or any(turn.paired or turn.kind is Kind.BYE for turn in field.turns(member))
    ]


def _card(field: Field, before: list[list[int]], member: int) -> PlayerCard:
    turns = field.turns(member)
    last = field.number == field.rounds
    return PlayerCard(
        place=member,
        score=before[-1][member],
        colors=Colors.of([turn.color for turn in turns if turn.met and turn.color]),
        floats=(_float(field, before, member, 1), _float(field, before, member, 2)),
        barred=any(turn.kind is Kind.BYE or (not turn.met and turn.points >= field.win) for turn in turns),
        played=sum(turn.met for turn in turns),
        top=last and 2 * before[-1][member] > len(turns) * field.win,
    )


def _float(field: Field, before: list[list[int]], member: int, back: int) -> Float:
    """Return the float in the round `back` rounds ago: down against a lower score, up against a higher score (1.4).

    A bye, or more points without a game than a loss gives, also counts as a float down (1.4.3).
    """
    if back > len(field.history):
        return Float.NONE
    turn = field.history[-back][member]
    if not turn.met or turn.opponent is None:
        return Float.DOWN if turn.kind is Kind.BYE or turn.points > field.loss else Float.NONE
    scores = before[-back - 1]
    mine, other = scores[member], scores[turn.opponent]
    return Float.DOWN if mine > other else Float.UP if mine < other else Float.NONE


@dataclass(frozen=True, slots=True)
class Bye:
    """Bye of a round. `score` is the score of the entrant that gets it.

    `here` is true if this entrant is in the bracket to be paired now.
    """

    score: int
    here: bool


def settle_bye(face: Face, cards: Sequence[PlayerCard]) -> tuple[Face, Bye | None]:
    """Return the rounds in which the entrant with the bye has the lowest possible score; the bye is the last vertex."""
    if len(cards) % 2 == 0:
        return face, None
    scores = np.array([card.score for card in cards])
    digit = np.zeros(face.allowed.shape, dtype=np.int64)
    digit[-1, :-1] = digit[:-1, -1] = -scores
    face = face.best([digit])
    score = cards[face.mates[-1]].score
    top = int((scores == scores[0]).sum())
    if score < scores[0]:
        return face, Bye(score, here=False)
    inside = np.zeros(face.allowed.shape, dtype=np.int64)
    inside[:top, :top] = 1
    mates = face.best([inside]).mates
    return face, Bye(score, here=all(mate < top or mate == len(cards) for mate in mates[:top]))


_Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Bracket:
    """Bracket to be paired, with its cards in order.

    Entrants moved down are before index `moved`, residents before index `inside`, and the next score group before index
    `following`.
    """

    cards: Sequence[PlayerCard]
    moved: int
    inside: int
    following: int
    bye: Bye | None

    def digits(self) -> Iterator[Numbers]:
        """Yield C6 to C21 as digits of a weight, the most important first; each criterion has one or more digits."""
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
        for good in self._colors():
            yield self._digit(here & good)
        for back in (0, 1):
            yield from self._floats(here, back)
        for back in (0, 1):
            yield from self._float_scores(here, back)

    def _digit(self, upper: NDArray[np.bool_ | np.int64]) -> Numbers:
        """Make the upper triangle symmetric, and add the bye if the number of cards is odd."""
        size = len(self.cards)
        digit = np.zeros((size + size % 2,) * 2, dtype=np.int64)
        digit[:size, :size] = upper
        return digit + digit.T

    @property
    def _scores(self) -> NDArray[np.int64]:
        return np.array([card.score for card in self.cards], dtype=np.int64)

    def _by_score(self, counted: Allowed) -> Iterator[Numbers]:
        """Count pairs by the score of the higher entrant; the last count is omitted, because the sum determines it."""
        scores = self._scores
        for score in sorted(set(scores[counted.any(axis=1)].tolist()), reverse=True)[:-1]:
            yield self._digit(counted & (scores == score)[:, None])

    def _unplayed(self, score: int) -> Numbers:
        """Return the digit of C9: the bye goes to the entrant with the most games.

        The other entrants with its score are paired, so this minimizes their unplayed games.
        """
        played = [card.played for card in self.cards]
        those = sorted((card.played for card in self.cards if card.score == score), reverse=True)
        worth = [
            len(those) - 1 - those[::-1].index(number) if card.score == score else 0
            for card, number in zip(self.cards, played, strict=True)
        ]
        mine = np.array(worth, dtype=np.int64)
        return self._digit(np.triu(mine[:, None] + mine, 1))

    def _colors(self) -> Iterator[Allowed]:
        """Yield the pairs that meet each of the criteria C10 to C13.

        These are: a small color difference, no color three times in a row, color preferences, and strong color
        preferences.
        """
        colors = [card.colors for card in self.cards]
        wish = np.array([each.wish for each in colors])
        due = np.array([each.due for each in colors])
        size = abs(np.array([each.difference for each in colors]))
        twice = np.array([each.twice for each in colors])
        same = (wish[:, None] == wish) & (wish != 0)
        wide = size > 1
        yield ~(same & wide[:, None] & wide)
        absolute = due == PreferenceStrength.ABSOLUTE
        equal = size[:, None] == size
        both_twice = (twice[:, None] == twice) & (twice != 0)
        upper_yields = (size[:, None] < size) & (twice == -wish)[:, None]
        lower_yields = (size[:, None] > size) & (twice == -wish)
        third = np.where(equal, both_twice, upper_yields | lower_yields)
        yield ~(same & absolute[:, None] & absolute & third)
        yield ~same
        strong = due >= PreferenceStrength.STRONG
        yield ~(same & strong[:, None] & strong & ~(absolute[:, None] & absolute))

    def _marks(self, back: int) -> tuple[_Marks, _Marks, Allowed, Allowed]:
        """Return four arrays: entrants that floated down, entrants that floated up, and two kinds of pairs.

        The pairs are those in which the first score is at most the second, and those in which it is higher.
        """
        scores = self._scores
        down = np.array([card.floats[back] is Float.DOWN for card in self.cards])
        up = np.array([card.floats[back] is Float.UP for card in self.cards])
        return down, up, scores[:, None] <= scores, scores[:, None] > scores

    def _floats(self, here: Allowed, back: int) -> Iterator[Numbers]:
        """Yield the digits of C14 to C17.

        Entrants that floated down are paired here, and entrants that floated up do not get an opponent with a higher
        score.
        """
        down, up, level, higher = self._marks(back)
        yield self._digit(here * (down.astype(np.int64) + (level & down[:, None])))
        yield self._digit(here & ~(higher & up))

    def _float_scores(self, here: Allowed, back: int) -> Iterator[Numbers]:
        """Yield the digits of C18 to C21, which are the criteria C14 to C17 counted score by score."""
        down, up, _, higher = self._marks(back)
        scores = self._scores
        values = sorted(set(scores[: self.inside].tolist()), reverse=True)
        for score in values:
            those = down & (scores == score)
            yield self._digit(here * (those.astype(np.int64) + those[:, None]))
        for score in values[:-1]:
            yield self._digit(here & (scores == score)[:, None] & ~(higher & up))


_COLOR_CRITERIA = (
    ("small color difference", "C10"),
    ("no color three times in a row", "C11"),
    ("color preferences", "C12"),
    ("strong color preferences", "C13"),
)
_UP_CRITERIA = (
    ("no second float up after the last round", "C15"),
    ("no second float up after the round before the last", "C17"),
)


def check_pair(cards: Sequence[PlayerCard], *, color_blind: bool) -> Iterator[tuple[str, bool, str]]:
    """Yield for each criterion of a single pair its name, whether the pair meets it, and its number.

    `cards` has the two cards in order.
    """
    bracket = Bracket(cards, int(cards[0].score != cards[1].score), 2, 2, None)
    yield "inside the same score group", cards[0].score == cards[1].score, "C6"
    if not color_blind:
        for (name, number), good in zip(_COLOR_CRITERIA, bracket._colors(), strict=True):
            yield name, bool(good[0, 1]), number
    for back, (name, number) in enumerate(_UP_CRITERIA):
        _, up, _, higher = bracket._marks(back)
        yield name, not (higher[0, 1] and up[1]), number
