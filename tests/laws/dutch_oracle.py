"""A simple and slow implementation of the Dutch system, with weights of hundreds of digits and networkx.

It only shares the preparation of entrants with the program, which recorded tournaments check. Weights, matching and
completion of brackets are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import networkx as nx

from enginetour.formats.pairing.dutch_criteria import Float, PlayerCard, player_cards
from enginetour.formats.pairing.field import Field

Weigh = Callable[[int, int], int]


class Illegal(Exception):
    """There is no legal round."""


def oracle(field: Field, accelerated: int = 0) -> tuple[set[frozenset[int]], tuple[int, ...]]:
    """Return pairs and byes as places; Illegal if there is no legal round."""
    return Round(field, player_cards(field, accelerated)).paired()


class Round:
    def __init__(self, field: Field, there: Sequence[PlayerCard]) -> None:
        self.field, self.there = field, there
        self.base = len(there) + 1
        self.scores = sorted({card.score for card in there})
        self.unit = {score: (self.base + 1) ** i for i, score in enumerate(self.scores)}
        self.size = (self.base + 1) ** len(self.scores)
        self.candidates: set[int] = set()

    def paired(self) -> tuple[set[frozenset[int]], tuple[int, ...]]:
        there = self.there
        bye_score, single = self.bye() if len(there) % 2 else (None, False)
        if bye_score is None and len(_matched(self.graph(range(len(there)), lambda _i, _j: 1))) < len(there):
            raise Illegal
        if bye_score is not None:
            self.candidates = {i for i, c in enumerate(there) if not c.barred and c.score <= bye_score}
        found: set[frozenset[int]] = set()
        left, moved = list(range(len(there))), list[int]()
        while len(left) > len(moved):
            score = there[next(i for i in left if i not in moved)].score
            residents = [i for i in left if i not in moved and there[i].score == score]
            lower = [i for i in left if i not in moved and i not in residents]
            following = [i for i in lower if there[i].score == there[lower[0]].score]
            pairs, mates = self.bracket(left, moved, residents, following, bye_score if single else None)
            found |= {frozenset((there[i].place, there[j].place)) for i, j in pairs}
            taken = {i for pair in pairs for i in pair}
            left = [i for i in left if i not in taken]
            moved = [i for i in (*moved, *residents) if i in left]
            low = set(lower) - set(following)
            single = bye_score is not None and bool(following) and bye_score >= there[following[0]].score
            single = single and not any(mates.get(i) in low for i in (*moved, *following))
        return found, tuple(there[i].place for i in left)

    def compatible(self, i: int, j: int) -> bool:
        one, other = self.there[i], self.there[j]
        if self.field.met(one.place, other.place):
            return False
        both = one.colors.due == other.colors.due == 3 and one.colors.wish == other.colors.wish
        return not both or one.top or other.top

    def graph(self, vertices: Sequence[int], weigh: Weigh) -> nx.Graph:
        graph = nx.Graph()
        graph.add_weighted_edges_from(
            (i, j, weigh(i, j)) for i in vertices for j in vertices if i < j and self.compatible(i, j)
        )
        return graph

    def bye(self) -> tuple[int, bool]:
        there, index = self.there, {score: i for i, score in enumerate(self.scores)}
        count, top = len(there), self.scores[-1]

        def weigh(i: int, j: int) -> int:
            one, other = there[i], there[j]
            weight = 1 + one.barred + other.barred
            weight = weight * (count * len(self.scores) + 1) + index[one.score] + index[other.score]
            return weight * (count + 1) + int(one.score == other.score == top)

        mates = _matched(self.graph(range(count), weigh))
        alone = [i for i in range(count) if i not in mates]
        if len(alone) != 1 or there[alone[0]].barred:
            raise Illegal
        first = [i for i in range(count) if there[i].score == top]
        inside = all(i not in mates or mates[i] in first for i in first)
        return there[alone[0]].score, there[alone[0]].score >= top and inside

    def bracket(
        self, left: list[int], moved: list[int], residents: list[int], following: list[int], single: int | None
    ) -> tuple[list[tuple[int, int]], dict[int, int]]:
        down, held, below = set(moved), set(residents), set(following)
        plain: Weigh = lambda i, j: self.weight(i, j, held, below, left, single)  # noqa: E731
        m, k = len(moved), len(residents)
        step: int = (k + 2) ** m
        scale = (2 << m) * step

        def first(i: int, j: int) -> int:
            weight = plain(i, j) * scale
            if i in down and j in held:
                x, y = moved.index(i), residents.index(j)
                weight += int((step << m - 1 - x) + (k - y) * (k + 2) ** (m - 1 - x))
            return weight

        graph = self.graph(left, first)
        graph.remove_edges_from([(i, j) for i in moved for j in moved])
        mates = _matched(graph)
        pairs = [(i, mates[i]) for i in moved if mates.get(i) in held]
        fixed = {i for pair in pairs for i in pair}
        rest = [i for i in residents if i not in fixed]
        number = {i: place for place, i in enumerate(rest)}
        p, kk = sum(mates.get(i) in number for i in rest) // 2, len(rest)
        q = kk + 1

        def second(i: int, j: int) -> int:
            inner = i in number and j in number
            x, y = (number[i], number[j]) if inner else (0, 0)
            digits = (
                (kk + 1, x < p),
                ((kk + 1) ** 2, kk - x),
                (2 ** (kk + 2), 2**p - 2**x if x < p else 0),
                (2 ** (kk + 1), 2 ** (kk - x) if x >= p else 0),
                (q**kk, q ** (kk - 1 - x) * (kk - y)),
            )
            weight = plain(i, j)
            for base, value in digits:
                weight = weight * base + (value if inner else 0)
            return weight

        graph = self.graph([i for i in left if i not in fixed], second)
        graph.remove_edges_from([(i, j) for i in moved for j in (*moved, *rest) if i not in fixed])
        mates = _matched(graph)
        return pairs + [(i, mates[i]) for i in rest if mates.get(i, -1) in number and i < mates[i]], mates

    def weight(self, i: int, j: int, held: set[int], below: set[int], left: list[int], single: int | None) -> int:
        """Return the criteria as digits of a number; `single` is the score of the bye if it is in this bracket."""
        hi, lo, n = self.there[i], self.there[j], self.base
        c, m = int(j in held), int(j in below)
        mine, other = hi.colors, lo.colors
        same = mine.wish == other.wish != 0
        absolute = mine.due == other.due == 3
        d, e = abs(mine.difference), abs(other.difference)
        smaller = mine if d < e else other
        third = mine.twice == other.twice != 0 if d == e else smaller.twice == -smaller.wish
        weight = 1 + (i not in self.candidates) + (j not in self.candidates)
        digits = [
            (n, c),
            (self.size * n, c * self.unit[hi.score]),
            (n, m),
            (self.size * n, m * self.unit[hi.score]),
            (n * n, sum(self.games(card, left) for card in (hi, lo) if card.score == single)),
            (n, c * (not (d > 1 and e > 1 and same))),
            (n, c * (not (absolute and same and third))),
            (n, c * (not same)),
            (n, c * (not (mine.due >= 2 and other.due >= 2 and not absolute and same))),
        ]
        upper = hi.score > lo.score
        for back in (0, 1):
            f, g = hi.floats[back], lo.floats[back]
            digits += [
                (2 * n, c * ((g == Float.DOWN) + (not upper and f == Float.DOWN))),
                (n, c * (not (upper and g == Float.UP))),
            ]
        for back in (0, 1):
            f, g = hi.floats[back], lo.floats[back]
            down = (g == Float.DOWN) * self.unit[lo.score] + (f == Float.DOWN) * self.unit[hi.score]
            digits += [
                (self.size * n, c * down),
                (self.size * n, c * self.unit[hi.score] * (not (upper and g == Float.UP))),
            ]
        for base, value in digits:
            weight = weight * base + value
        return weight

    def games(self, card: PlayerCard, left: list[int]) -> int:
        """Return the last position of an entrant's number of games among those with its score, most games first."""
        others = sorted((self.there[i].played for i in left if self.there[i].score == card.score), reverse=True)
        return max(place for place, played in enumerate(others) if played == card.played)


def _matched(graph: nx.Graph) -> dict[int, int]:
    pairs = nx.max_weight_matching(graph)
    return dict(pairs) | {j: i for i, j in pairs}
