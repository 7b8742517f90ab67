"""One alternating tree at a time: the primal-dual search that matches two more vertices and keeps all duals feasible.

Outer (S) blossoms are at even distance from the root, inner (T) at odd, the rest is free. While the search grows by
`grown`, duals of outer vertices sink and those of inner ones rise by as much; both are stored as if from the start of
the stage, so that a step costs nothing but its own row: slack = stored - grown * (1 outer end, 2 outer ends).
Source: Edmonds 1965; Gabow 1974 for the least slack kept per vertex.
"""

from __future__ import annotations

import numpy as np

from enginetour.formats.pairing.blossoms import Link, Nest, Vertices
from enginetour.formats.pairing.costs import Costs, Numbers, TooWide

FREE, OUTER, INNER = 0, 1, 2


class Search:
    """Duals y and blossoms over a matching; slack = cost + y + y + 2 * z of each blossom around both, never below 0."""

    def __init__(self, costs: Costs, y: Numbers, mate: list[int]) -> None:
        self.costs = costs
        self.y = y
        self.nest = Nest(mate)
        self.closed = np.zeros(len(mate), dtype=np.bool_)  # vertices of trees that cannot be augmented
        self._begin(-1)

    def extend(self, root: int) -> bool:
        """Match the exposed `root` and one other; False if no allowed pairs do, and the tree shows why."""
        self._begin(root)
        self._outer(int(self.nest.outermost[root]))
        while (found := self._step()) is None:
            pass
        return found

    def end(self) -> None:
        """Bring the stored duals up to date and undo blossoms that carry nothing. TooWide beyond the limit."""
        self.y[self.state == OUTER] -= self.grown
        self.y[self.state == INNER] += self.grown
        for number in self.label:
            self._settle_z(number)
        self.costs.within(self.y)
        self.nest.open_empty()

    def tree(self) -> tuple[list[int], list[Vertices]]:
        """Inner vertices, and the vertices of each outer blossom: a tree that cannot be augmented holds no other."""
        inner = np.flatnonzero(self.state == INNER).tolist()
        return inner, [self.nest.members(number) for number, label in self.label.items() if label == OUTER]

    def _begin(self, root: int) -> None:
        count, far = len(self.y), self.costs.far
        self.grown = 0
        self.label: dict[int, int] = {}
        self.carried: dict[int, int] = {}  # stored z of inner shrunk blossoms: used up when `grown` reaches it
        self.entry: dict[int, Link] = {}  # of inner blossoms: the outer vertex it was reached from, the vertex inside
        self.state = np.zeros(count, dtype=np.int8)
        self.least = self.costs.filled(far)  # stored slack to the nearest outer vertex
        self.nearest = np.full(count, -1)
        # an event comes when 2 * grown reaches least * factor + offset
        self.factor, self.offset = np.full(count, 2), self.costs.filled(0)
        exposed = [v for v, m in enumerate(self.nest.mate) if m < 0 and v != root]
        for vertex in exposed:  # odd, so that among equal events the one that ends the search comes first
            self.offset[self.nest.members(int(self.nest.outermost[vertex]))] = -1
        self.factor[self.closed], self.offset[self.closed] = 0, 2 * far
        self.when = self.least * self.factor + self.offset

    def _step(self) -> bool | None:
        """The next event; True when it augmented the matching, False when there is none."""
        far, nest = self.costs.far, self.nest
        vertex = int(self.when.argmin())
        when = int(self.when[vertex])
        if self.carried and 2 * min(self.carried.values()) <= when:
            number = min(self.carried, key=lambda b: (self.carried[b], b))
            self.grown = self.carried[number]
            self._expand(number)
            return None
        if when >= far // 2:
            return False
        near = int(self.nearest[vertex])
        number, outer = int(nest.outermost[vertex]), int(nest.outermost[near])
        if number == outer:
            self._look_outside(vertex)
            return None
        self.grown = (when + 1) // 2
        if self.grown > self.costs.limit:
            raise TooWide
        if self.state[vertex] == OUTER:
            self._shrink(near, vertex)
        elif nest.mate[nest.base(number)] < 0:
            self._augment(near, vertex)
            return True
        else:
            self._inner(number, (near, vertex))
            self._outer(int(nest.outermost[nest.mate[nest.base(number)]]))
        return None

    def _relabel(self, number: int, state: int, shift: int) -> None:
        """Labels of a blossom and its vertices; their stored duals and slacks move by `shift`, so as to stay true."""
        members = self.nest.members(number)
        self.y[members] += shift
        self.least[members] += shift
        self.state[members] = state
        self.factor[members] = (2, 1, 0)[state]
        self.offset[members] = (0, 0, 2 * self.costs.far)[state]

    def _inner(self, number: int, entry: Link) -> None:
        self._relabel(number, INNER, -self.grown)
        self.label[number], self.entry[number] = INNER, entry
        if number in self.nest.shrunk:
            self.nest.shrunk[number].z += self.grown
            self.carried[number] = self.nest.shrunk[number].z
        members = self.nest.members(number)
        self.when[members] = 2 * self.costs.far

    def _outer(self, number: int) -> None:
        self._relabel(number, OUTER, self.grown)
        self.label[number] = OUTER
        if number in self.nest.shrunk:
            self.nest.shrunk[number].z -= self.grown
        self._scan(self.nest.members(number), self.nest.members(number))

    def _scan(self, vertices: Vertices, own: Vertices) -> None:
        """Slacks from new outer vertices to all outside their own blossom."""
        matrix, y, least, nearest = self.costs.matrix, self.y, self.least, self.nearest
        for vertex in vertices.tolist():
            row = matrix[vertex] + y
            row += y[vertex]
            row[own] = self.costs.far
            nearer = row < least
            np.copyto(least, row, where=nearer)
            np.copyto(nearest, vertex, where=nearer)
        np.multiply(least, self.factor, out=self.when)
        self.when += self.offset

    def _look_outside(self, vertex: int) -> None:
        """What was nearest to an outer vertex is in its own blossom by now: find the nearest outside again."""
        row = self.costs.matrix[vertex] + self.y + self.y[vertex]
        row[(self.state != OUTER) | (self.nest.outermost == self.nest.outermost[vertex])] = self.costs.far
        self.nearest[vertex] = near = int(row.argmin())
        self.least[vertex] = self.when[vertex] = row[near]

    def _settle_z(self, number: int) -> None:
        """The stored z of a labelled blossom becomes the true one."""
        if number in self.nest.shrunk:
            self.nest.shrunk[number].z += self.grown if self.label[number] == OUTER else -self.grown
            self.carried.pop(number, None)

    def _up(self, number: int) -> Link:
        """From a blossom of the tree towards the root: a vertex inside and one in the next."""
        if self.label[number] == INNER:
            return self.entry[number][::-1]
        base = self.nest.base(number)
        return base, self.nest.mate[base]

    def _path(self, vertex: int) -> list[int]:
        """Blossoms from a vertex of the tree to the root."""
        path = [int(self.nest.outermost[vertex])]
        while (above := self._up(path[-1])[1]) >= 0:
            path.append(int(self.nest.outermost[above]))
        return path

    def _shrink(self, one: int, other: int) -> None:
        """Two outer vertices met: the way between them in the tree and their pair are a new outer blossom."""
        left, right = self._path(one), self._path(other)
        shared = set(left) & set(right)
        left, (top, *_) = [b for b in left if b not in shared], [b for b in left if b in shared]
        right = [b for b in right if b not in shared]
        links = [self._up(b)[::-1] for b in reversed(left)] + [(one, other)] + [self._up(b) for b in right]
        children = [top, *reversed(left), *right]
        turned = [child for child in children if self.label[child] == INNER]
        for child in children:
            self._settle_z(child)
        for child in turned:
            self._relabel(child, OUTER, 2 * self.grown)
        for child in children:
            del self.label[child]
        number = self.nest.shrink(children, links, -self.grown)
        self.label[number] = OUTER
        self._scan(np.concatenate([self.nest.members(child) for child in turned]), self.nest.members(number))

    def _expand(self, number: int) -> None:
        """An inner blossom carries nothing any more: the even way through it stays in the tree, the rest is free."""
        entry = self.entry.pop(number)
        self._settle_z(number)
        self._relabel(number, FREE, self.grown)
        del self.label[number]
        start = self.nest.child_holding(number, entry[1])
        blossom = self.nest.open(number)
        self._inner(blossom.children[start], entry)
        way = blossom.even_way(start)
        for (_, outer, _), (_, inner, link) in zip(way[::2], way[1::2], strict=True):
            self._inner(inner, link)
            self._outer(outer)
        members = blossom.members
        self.when[members] = self.least[members] * self.factor[members] + self.offset[members]

    def _augment(self, near: int, vertex: int) -> None:
        """Exchange matched and unmatched pairs from an exposed blossom back to the root."""
        nest = self.nest
        nest.rebase(int(nest.outermost[vertex]), vertex)
        while True:
            outer = int(nest.outermost[near])
            _, above = self._up(outer)
            nest.rebase(outer, near)
            nest.mate[near], nest.mate[vertex] = vertex, near
            if above < 0:
                return
            inner = int(nest.outermost[above])
            near, vertex = self.entry[inner]
            nest.rebase(inner, vertex)
