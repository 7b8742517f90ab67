"""The fixed form of double elimination: a tree of the unbeaten, and one of those with a loss into which they drop.

Losers of the first round meet their neighbours; from then on a round among the lower tree's winners follows one against
those who drop from the next upper round, who come in from the far end. Where that is a rematch they change places.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from enginetour.formats.formats_knockout import Duel
from enginetour.formats.pairing.matching import relaxed_matching

Node = int | None  # a member's place; nobody
Couple = tuple[Node, Node]


@dataclass(frozen=True, slots=True)
class Double:
    """Before a round: both trees from left to right. `drops` are the losers of each upper round, in its order."""

    upper: tuple[Node, ...]
    depth: int  # rounds of the upper tree
    reset: bool
    lower: tuple[Node, ...] = ()
    drops: tuple[tuple[Node, ...], ...] = ()
    turn: int = 1
    met: frozenset[frozenset[Node]] = frozenset()

    @property
    def last(self) -> bool:
        """Only the winners of both trees are left."""
        return self.turn >= 2 * self.depth

    def couples(self) -> tuple[list[Couple], list[Couple]]:
        """Neighbours in the upper and in the lower tree; at last the two winners."""
        if self.last:
            return [(self.upper[0], self.lower[0])], []
        if self.turn == 1 or self.turn % 2 == 0:
            return _neighbours(self.upper), _neighbours(self.lower)
        return _neighbours(self.upper), self._dropped(self.drops[self.turn // 2])

    def matches(self) -> list[tuple[int, int]]:
        """Couples of which both are there."""
        upper, lower = self.couples()
        return [(one, other) for one, other in (*upper, *lower) if one is not None and other is not None]

    def left(self, there: Collection[int]) -> Double:
        """Without who is gone, before the next round that has a match: rounds of passes alone are skipped."""

        def here(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
            return tuple(node if node in there else None for node in nodes)

        tree = replace(self, upper=here(self.upper), lower=here(self.lower), drops=tuple(map(here, self.drops)))
        while not tree.last and not tree.matches():
            tree = tree.after(())
        return tree

    def after(self, duels: Sequence[Duel]) -> Double:
        """With the winners of these matches, whoever passed, and the losers where they drop to."""
        by_couple: dict[frozenset[Node], Duel] = {frozenset((duel.white, duel.black)): duel for duel in duels}
        through: list[tuple[Node, ...]] = []
        for couples in self.couples():
            found = [(couple, by_couple.get(frozenset(couple))) for couple in couples]
            through.append(tuple(duel.winner if duel else couple[couple[0] is None] for couple, duel in found))
        later = replace(self, turn=self.turn + 1, met=self.met | by_couple.keys())
        if self.last:
            again = self.reset and self.turn == 2 * self.depth and through[0] == self.lower
            return later if again else replace(later, upper=through[0], lower=(None,))
        fallen = tuple(
            duel.loser if (duel := by_couple.get(frozenset(couple))) else None for couple in self.couples()[0]
        )
        lower = fallen if self.turn == 1 else through[1]
        return replace(later, upper=through[0] or self.upper, lower=lower, drops=(*self.drops, fallen))

    def _dropped(self, drops: tuple[Node, ...]) -> list[Couple]:
        """The lower tree from left to right against the drops from right to left, moved as little as rematches ask."""
        count = len(drops)
        seats = np.arange(2 * count)
        weights = (2 * count) ** 2 - (seats[:, None] + seats[None, :] - 2 * count + 1) ** 2
        nodes = (*self.lower, *drops)
        met = np.array([[int(frozenset((one, other)) in self.met) for other in nodes] for one in nodes])
        sides = seats < count
        found = relaxed_matching(weights, met, sides[:, None] == sides[None, :])
        return [(self.lower[one], nodes[other]) for one, other in found.pairs]


def _neighbours(nodes: tuple[Node, ...]) -> list[Couple]:
    return list(zip(nodes[::2], nodes[1::2], strict=True)) if len(nodes) > 1 else []
