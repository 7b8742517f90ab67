"""Blossoms: odd sets of vertices shrunk into one, nested, each a cycle of smaller ones matched but for its base.

Numbers below n are vertices, each a trivial blossom; larger numbers are shrunk ones. Source: Edmonds 1965.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vertices = NDArray[np.intp]
Link = tuple[int, int]  # vertices: one in a child, one in the next


@dataclass(slots=True, eq=False)
class Blossom:
    """`links[k]` joins child k to the next, the last to child 0; child 0 holds `base`, 1-2, 3-4 ... are matched."""

    children: list[int]
    links: list[Link]
    base: int
    members: Vertices
    z: int

    def even_way(self, start: int) -> list[tuple[int, int, Link]]:
        """Steps (child, next child, link) from the child at `start` to child 0, the first along a matched link."""
        size = len(self.children)
        if start % 2:
            places = [*range(start, size), 0]
            joins = [self.links[place] for place in range(start, size)]
        else:
            places = list(range(start, -1, -1))
            joins = [self.links[place - 1][::-1] for place in range(start, 0, -1)]
        ids = [self.children[place] for place in places]
        return list(zip(ids, ids[1:], joins, strict=False))


class Nest:
    """All blossoms over n vertices and the matching they hold; -1 is the mate of an exposed vertex."""

    def __init__(self, mate: list[int]) -> None:
        self.mate = mate
        self.outermost = np.arange(len(mate))  # of each vertex
        self.shrunk: dict[int, Blossom] = {}
        self._around: dict[int, int] = {}
        self._next = len(mate)
        self._alone = np.arange(len(mate)).reshape(-1, 1)

    def members(self, number: int) -> Vertices:
        """Vertices inside."""
        return self.shrunk[number].members if number in self.shrunk else self._alone[number]

    def base(self, number: int) -> int:
        """The one vertex not matched inside."""
        return self.shrunk[number].base if number in self.shrunk else number

    def shrink(self, children: list[int], links: list[Link], z: int) -> int:
        """A new outermost blossom; child 0 gives it its base."""
        members = np.concatenate([self.members(child) for child in children])
        number, self._next = self._next, self._next + 1
        self.shrunk[number] = Blossom(children, links, self.base(children[0]), members, z)
        for child in children:
            self._around[child] = number
        self.outermost[members] = number
        return number

    def open(self, number: int) -> Blossom:
        """Undo the shrinking of an outermost blossom; its children are outermost then."""
        blossom = self.shrunk.pop(number)
        for child in blossom.children:
            del self._around[child]
            self.outermost[self.members(child)] = child
        return blossom

    def open_empty(self) -> None:
        """Undo outermost blossoms with z = 0, and what they held likewise."""
        waiting = [number for number in self.shrunk if number not in self._around]
        while waiting:
            number = waiting.pop()
            if self.shrunk[number].z == 0:
                waiting += [child for child in self.open(number).children if child in self.shrunk]

    def child_holding(self, number: int, vertex: int) -> int:
        """Place among the children of the one with that vertex."""
        while (outer := self._around[vertex]) != number:
            vertex = outer
        return self.shrunk[number].children.index(vertex)

    def rebase(self, number: int, vertex: int) -> None:
        """Match all inside but for that vertex, by exchanging along the cycles."""
        waiting = [(number, vertex)]
        while waiting:
            number, vertex = waiting.pop()
            if number not in self.shrunk:
                continue
            blossom = self.shrunk[number]
            start = self.child_holding(number, vertex)
            waiting.append((blossom.children[start], vertex))
            for one, other, (a, b) in blossom.even_way(start)[1::2]:
                self.mate[a], self.mate[b] = b, a
                waiting += [(one, a), (other, b)]
            blossom.children = blossom.children[start:] + blossom.children[:start]
            blossom.links = blossom.links[start:] + blossom.links[:start]
            blossom.base = vertex
