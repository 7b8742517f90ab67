"""Blossom algorithm: primal-dual search for a maximum-weight perfect matching.

Outer (S) blossoms are at even distance from the root, inner (T) blossoms at odd distance, and the others are free.
While the search grows by `grown`, the duals of outer vertices decrease by this amount, and the duals of inner vertices
increase by it. Duals and slacks are stored with their values at the start of the stage, so that a step computes only
one row. The slack is then the stored value minus `grown` for a pair of an outer and a free vertex, or minus twice
`grown` for two outer vertices. Source: Edmonds 1965; Gabow 1974 for the least slack per vertex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Blossoms: odd sets of vertices, each shrunk into one. They are nested: each is a cycle of smaller blossoms. Inside a
# blossom, all vertices except its base are matched with each other.
#
# Numbers below n are vertices, each a trivial blossom; larger numbers are shrunk blossoms. Source: Edmonds 1965.

_Vertices = NDArray[np.intp]
_Link = tuple[int, int]  # a vertex in a child, and a vertex in the next child


@dataclass(slots=True, eq=False)
class _Blossom:
    """A shrunk blossom: `links[k]` connects child k with the next child, and the last child with child 0.

    Child 0 contains `base`. Children 1 and 2 are matched, 3 and 4, and so on.
    """

    children: list[int]
    links: list[_Link]
    base: int
    members: _Vertices
    z: int

    def even_way(self, start: int) -> list[tuple[int, int, _Link]]:
        """Return the steps (child, next child, link) from child `start` to child 0; the first link is matched."""
        size = len(self.children)
        if start % 2:
            places = [*range(start, size), 0]
            joins = [self.links[place] for place in range(start, size)]
        else:
            places = list(range(start, -1, -1))
            joins = [self.links[place - 1][::-1] for place in range(start, 0, -1)]
        ids = [self.children[place] for place in places]
        return list(zip(ids, ids[1:], joins, strict=False))


class _Nest:
    """All blossoms over n vertices and their matching; the mate of an exposed vertex is -1."""

    def __init__(self, mate: list[int]) -> None:
        self.mate = mate
        self.outermost = np.arange(len(mate))  # outermost blossom of each vertex
        self.shrunk: dict[int, _Blossom] = {}
        self._around: dict[int, int] = {}
        self._next = len(mate)
        self._alone = np.arange(len(mate)).reshape(-1, 1)

    def members(self, number: int) -> _Vertices:
        return self.shrunk[number].members if number in self.shrunk else self._alone[number]

    def base(self, number: int) -> int:
        """Return the vertex that is not matched inside the blossom."""
        return self.shrunk[number].base if number in self.shrunk else number

    def shrink(self, children: list[int], links: list[_Link], z: int) -> int:
        """Make a new outermost blossom with the base of child 0."""
        members = np.concatenate([self.members(child) for child in children])
        number, self._next = self._next, self._next + 1
        self.shrunk[number] = _Blossom(children, links, self.base(children[0]), members, z)
        for child in children:
            self._around[child] = number
        self.outermost[members] = number
        return number

    def open(self, number: int) -> _Blossom:
        """Undo an outermost blossom; its children become outermost."""
        blossom = self.shrunk.pop(number)
        for child in blossom.children:
            del self._around[child]
            self.outermost[self.members(child)] = child
        return blossom

    def open_empty(self) -> None:
        """Undo outermost blossoms with z = 0, and then their children with z = 0, and so on."""
        waiting = [number for number in self.shrunk if number not in self._around]
        while waiting:
            number = waiting.pop()
            if self.shrunk[number].z == 0:
                waiting += [child for child in self.open(number).children if child in self.shrunk]

    def child_holding(self, number: int, vertex: int) -> int:
        """Return the index of the child that contains a vertex."""
        while (outer := self._around[vertex]) != number:
            vertex = outer
        return self.shrunk[number].children.index(vertex)

    def rebase(self, number: int, vertex: int) -> None:
        """Make `vertex` the base, by exchanging matched and unmatched links along the cycles."""
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


# Weights in the form that the search needs: doubled, converted to costs, with very high costs for forbidden pairs.
#
# 64-bit integers (machine words) are used if nothing can overflow, else Python's integers; the algorithms are the same.

Numbers = NDArray[Any]  # int64, or object with Python integers
Allowed = NDArray[np.bool_]
# heaviest minus lightest weight in machine words (pairing spec 7); duals can grow by 5 more bits
WORD_SPREAD = 1 << 50
_WORD_FAR = 1 << 60  # twice this number plus a dual fits into a machine word
_HEADROOM = 5  # bits between the largest dual and `far`, so that sums of four duals and a cost stay below `far`
_SPARE = 8  # bits of `far` above n times the spread, with Python's integers; duals are at most a few times n * spread


class TooWide(Exception):
    """A dual variable is too large for machine words; the search must be repeated with Python's integers."""


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """`matrix` is 2 * (heaviest - weight), even and at least 0, and `far` for a forbidden pair."""

    matrix: Numbers
    far: int
    heaviest: int

    @property
    def limit(self) -> int:
        """Return the largest allowed absolute value of a dual variable."""
        return self.far >> _HEADROOM

    def filled(self, value: int) -> Numbers:
        """Return an array with one number per vertex, in the type of the matrix."""
        return np.full(len(self.matrix), value, dtype=self.matrix.dtype)

    def within(self, duals: Numbers) -> None:
        """Raise TooWide if a dual is beyond the limit."""
        if len(duals) and max(int(duals.max()), -int(duals.min())) > self.limit:
            raise TooWide


def integers(weights: ArrayLike) -> Numbers:
    """Return a square matrix as int64, or as objects if int64 is too small.

    Raises ValueError if the matrix is not square or has other values than integers.
    """
    matrix = np.asarray(weights)
    if matrix.size == 0:
        matrix = np.zeros((0, 0), dtype=np.int64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"weights must be a square matrix (found shape {matrix.shape})")
    if matrix.dtype.kind == "O":
        if not all(type(weight) is int for weight in matrix.flat):
            raise ValueError("weights must be Python integers. Hint: scale fractions and convert numpy scalars")
    elif matrix.dtype.kind == "u":
        matrix = matrix.astype(object)
    elif matrix.dtype.kind == "i":
        matrix = matrix.astype(np.int64, copy=False)
    else:
        raise ValueError(f"weights must be integers (found {matrix.dtype}). Hint: scale them")
    return matrix


def allowed_pairs(weights: Numbers, forbidden: ArrayLike | None) -> Allowed:
    """Return the pairs outside the diagonal that are not forbidden.

    Raises ValueError if weights or forbidden pairs are not symmetric.
    """
    if forbidden is None:
        allowed = np.ones(weights.shape, dtype=np.bool_)
    else:
        given = np.asarray(forbidden)
        if given.shape != weights.shape or given.dtype != np.bool_:
            raise ValueError(f"forbidden must be a boolean matrix of shape {weights.shape}")
        allowed = ~given
    np.fill_diagonal(allowed, val=False)
    if (allowed != allowed.T).any() or ((weights != weights.T) & allowed).any():
        raise ValueError("weights and forbidden must be symmetric")
    return allowed


def costs_of(weights: Numbers, allowed: Allowed, *, wide: bool = False) -> Costs:
    """Return the costs in machine words if the spread of the weights permits it, else as Python's integers.

    With `wide`, Python's integers are always used.
    """
    if not allowed.any():
        return Costs(np.full(weights.shape, _WORD_FAR, dtype=np.int64), _WORD_FAR, 0)
    known = weights[np.unravel_index(allowed.argmax(), allowed.shape)]
    lightest = int(np.min(weights, where=allowed, initial=known))
    heaviest = int(np.max(weights, where=allowed, initial=known))
    spread = heaviest - lightest
    if not wide and spread < WORD_SPREAD:
        # The difference can overflow for forbidden pairs only, where it is not used.
        matrix = np.where(allowed, heaviest - weights, _WORD_FAR // 2).astype(np.int64, copy=False)
        matrix *= 2
        return Costs(matrix, _WORD_FAR, heaviest)
    far = 1 << (spread.bit_length() + len(weights).bit_length() + _SPARE + _HEADROOM)
    wider = 2 * (heaviest - weights.astype(object))
    wider[~allowed] = far
    return Costs(wider, far, heaviest)


FREE, _OUTER, _INNER = 0, 1, 2


class Search:
    """Search for a matching, with its duals y and its blossoms.

    The slack of a pair is cost + y + y + 2 * z of the blossoms around both vertices. It is never below 0.
    """

    def __init__(self, costs: Costs, y: Numbers, mate: list[int]) -> None:
        self.costs = costs
        self.y = y
        self.nest = _Nest(mate)
        self.closed = np.zeros(len(mate), dtype=np.bool_)  # vertices of trees that cannot be augmented
        self._begin(-1)

    def extend(self, root: int) -> bool:
        """Match the exposed `root` and another exposed vertex; return False if this is impossible.

        Then `tree` shows why.
        """
        self._begin(root)
        self._outer(int(self.nest.outermost[root]))
        while (found := self._step()) is None:
            pass
        return found

    def end(self) -> None:
        """Update the stored duals and undo blossoms with z = 0. Raises TooWide if a dual is beyond the limit."""
        self.y[self.state == _OUTER] -= self.grown
        self.y[self.state == _INNER] += self.grown
        for number in self.label:
            self._settle_z(number)
        self.costs.within(self.y)
        self.nest.open_empty()

    def tree(self) -> tuple[list[int], list[_Vertices]]:
        """Return the inner vertices, and the vertices of each outer blossom of a tree that cannot be augmented."""
        inner = np.flatnonzero(self.state == _INNER).tolist()
        return inner, [self.nest.members(number) for number, label in self.label.items() if label == _OUTER]

    def _begin(self, root: int) -> None:
        count, far = len(self.y), self.costs.far
        self.grown = 0
        self.label: dict[int, int] = {}
        self.carried: dict[int, int] = {}  # stored z of inner shrunk blossoms; z is 0 when `grown` reaches this value
        # by inner blossom: the outer vertex from which the search reached it, and the vertex inside
        self.entry: dict[int, _Link] = {}
        self.state = np.zeros(count, dtype=np.int8)
        self.least = self.costs.filled(far)  # stored slack to the nearest outer vertex
        self.nearest = np.full(count, -1)
        # An event happens when 2 * grown reaches least * factor + offset.
        self.factor, self.offset = np.full(count, 2), self.costs.filled(0)
        exposed = [v for v, m in enumerate(self.nest.mate) if m < 0 and v != root]
        # an odd offset, so that of equal events the one that ends the search comes first
        for vertex in exposed:
            self.offset[self.nest.members(int(self.nest.outermost[vertex]))] = -1
        self.factor[self.closed], self.offset[self.closed] = 0, 2 * far
        self.when = self.least * self.factor + self.offset

    def _step(self) -> bool | None:
        """Process the next event; return True if it augmented the matching, and False if there is no event."""
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
        if self.state[vertex] == _OUTER:
            self._shrink(near, vertex)
        elif nest.mate[nest.base(number)] < 0:
            self._augment(near, vertex)
            return True
        else:
            self._inner(number, (near, vertex))
            self._outer(int(nest.outermost[nest.mate[nest.base(number)]]))
        return None

    def _relabel(self, number: int, state: int, shift: int) -> None:
        """Label a blossom and its vertices; `shift` keeps their stored duals and slacks correct."""
        members = self.nest.members(number)
        self.y[members] += shift
        self.least[members] += shift
        self.state[members] = state
        self.factor[members] = (2, 1, 0)[state]
        self.offset[members] = (0, 0, 2 * self.costs.far)[state]

    def _inner(self, number: int, entry: _Link) -> None:
        self._relabel(number, _INNER, -self.grown)
        self.label[number], self.entry[number] = _INNER, entry
        if number in self.nest.shrunk:
            self.nest.shrunk[number].z += self.grown
            self.carried[number] = self.nest.shrunk[number].z
        members = self.nest.members(number)
        self.when[members] = 2 * self.costs.far

    def _outer(self, number: int) -> None:
        self._relabel(number, _OUTER, self.grown)
        self.label[number] = _OUTER
        if number in self.nest.shrunk:
            self.nest.shrunk[number].z -= self.grown
        self._scan(self.nest.members(number), self.nest.members(number))

    def _scan(self, vertices: _Vertices, own: _Vertices) -> None:
        """Compute the slacks from new outer vertices to all vertices outside their own blossom."""
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
        """Find the nearest outer vertex again, because the stored one is now in the same blossom."""
        row = self.costs.matrix[vertex] + self.y + self.y[vertex]
        row[(self.state != _OUTER) | (self.nest.outermost == self.nest.outermost[vertex])] = self.costs.far
        self.nearest[vertex] = near = int(row.argmin())
        self.least[vertex] = self.when[vertex] = row[near]

    def _settle_z(self, number: int) -> None:
        """Replace the stored z of a labeled blossom by its true value."""
        if number in self.nest.shrunk:
            self.nest.shrunk[number].z += self.grown if self.label[number] == _OUTER else -self.grown
            self.carried.pop(number, None)

    def _up(self, number: int) -> _Link:
        """Return the link from a blossom of the tree towards the root: a vertex inside and one in the next blossom."""
        if self.label[number] == _INNER:
            return self.entry[number][::-1]
        base = self.nest.base(number)
        return base, self.nest.mate[base]

    def _path(self, vertex: int) -> list[int]:
        """Return the blossoms from a vertex of the tree to the root."""
        path = [int(self.nest.outermost[vertex])]
        while (above := self._up(path[-1])[1]) >= 0:
            path.append(int(self.nest.outermost[above]))
        return path

    def _shrink(self, one: int, other: int) -> None:
        """Shrink the cycle through two outer vertices and the tree into a new outer blossom."""
        left, right = self._path(one), self._path(other)
        shared = set(left) & set(right)
        left, (top, *_) = [b for b in left if b not in shared], [b for b in left if b in shared]
        right = [b for b in right if b not in shared]
        links = [self._up(b)[::-1] for b in reversed(left)] + [(one, other)] + [self._up(b) for b in right]
        children = [top, *reversed(left), *right]
        turned = [child for child in children if self.label[child] == _INNER]
        for child in children:
            self._settle_z(child)
        for child in turned:
            self._relabel(child, _OUTER, 2 * self.grown)
        for child in children:
            del self.label[child]
        number = self.nest.shrink(children, links, -self.grown)
        self.label[number] = _OUTER
        self._scan(np.concatenate([self.nest.members(child) for child in turned]), self.nest.members(number))

    def _expand(self, number: int) -> None:
        """Open an inner blossom with z = 0; its children on the even way stay in the tree, the others become free."""
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


# The start of the search is the fractional optimum: an assignment of each vertex to another one, and its duals. The
# cycles of the assignment are split into pairs.
#
# In the fractional optimum, a pair can count one half, so odd cycles are allowed. The search for a real matching then
# begins with one exposed vertex per odd cycle. Sources: Jonker and Volgenant 1987 (reductions, shortest paths);
# Applegate and Cook 1993 (this start).

_SWEEPS = 2  # number of augmenting row reductions, Jonker and Volgenant 1987
_BIDS = 4  # steps per vertex in one reduction; the remaining rows are assigned by shortest paths


def jump_start(costs: Costs) -> tuple[Numbers, list[int]] | None:
    """Return duals y and mates (-1: exposed), or None if there is no fractional perfect matching.

    All costs[i, j] + y[i] + y[j] are at least 0, and they are 0 between mates.
    """
    assigned = _Assignment(costs)
    if not assigned.complete():
        return None
    # The matrix is symmetric, so the inverse of the assignment is also optimal, and half of the duals is tight on both.
    return -(assigned.rows() + assigned.v) // 2, _split([int(column) for column in assigned.column])


def _split(column: list[int]) -> list[int]:
    """Return mates along the cycles of a permutation; the lowest vertex of an odd cycle stays exposed."""
    mate = [-1] * len(column)
    seen = [False] * len(column)
    for first in range(len(column)):
        cycle = []
        vertex = first
        while not seen[vertex]:
            seen[vertex] = True
            cycle.append(vertex)
            vertex = column[vertex]
        odd = len(cycle) % 2
        for one, other in zip(cycle[odd::2], cycle[odd + 1 :: 2], strict=True):
            mate[one], mate[other] = other, one
    return mate


class _Assignment:
    """Assignment of rows to columns at the lowest cost.

    For all pairs, u[i] + v[j] <= cost[i, j], with equality for assigned pairs. All these numbers are even.
    """

    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self.v = costs.matrix.min(axis=0)
        count = len(self.v)
        self.column = [-1] * count
        self.row = [-1] * count
        if not self._is_impossible():
            for place, vertex in enumerate(costs.matrix.argmin(axis=0).tolist()):
                if self.column[vertex] < 0:
                    self.column[vertex], self.row[place] = place, vertex

    def _is_impossible(self) -> bool:
        return bool((self.v >= self.costs.far // 2).any())

    def complete(self) -> bool:
        """Assign all rows; return False if the allowed pairs do not permit it."""
        if self._is_impossible():
            return False
        for _ in range(_SWEEPS):
            self._reduce()
        free = [vertex for vertex, column in enumerate(self.column) if column < 0]
        return all(self._augment(vertex) for vertex in free)

    def rows(self) -> Numbers:
        """Return the duals of the rows, computed from the assigned pairs."""
        places = np.array(self.column, dtype=np.intp)
        out: Numbers = self.costs.matrix[np.arange(len(places)), places] - self.v[places]
        return out

    def _reduce(self) -> None:
        """Assign free rows to their best columns, and lower the dual of a column until the second best is equal.

        A row can take its column from another row, which then becomes free.
        """
        far, v = self.costs.far, self.v
        waiting = [vertex for vertex, column in enumerate(self.column) if column < 0][::-1]
        for _ in range(_BIDS * len(v)):
            if not waiting:
                break
            vertex = waiting.pop()
            reduced = self.costs.matrix[vertex] - v
            best = int(reduced.argmin())
            least = int(reduced[best])
            reduced[best] = far
            second = int(reduced.argmin())
            gap = int(reduced[second]) - least
            if gap >= far // 2:
                continue
            if gap == 0 and self.row[best] >= 0:
                best = second
            driven = self.row[best]
            if gap == 0 and driven >= 0:
                continue  # an equal exchange would repeat forever
            v[best] -= gap
            self.column[vertex], self.row[best] = best, vertex
            if driven >= 0:
                self.column[driven] = -1
                waiting.append(driven)
        self.costs.within(v)

    def _augment(self, start: int) -> bool:
        """Assign one more row by a shortest path (Dijkstra on reduced costs)."""
        matrix, far, v = self.costs.matrix, self.costs.far, self.v
        open_v = v.copy()
        # Unassigned columns get odd numbers, so that of equal paths the one that ends there comes first.
        open_v[np.array(self.row) < 0] += 1
        length, before = self.costs.filled(far), np.full(len(v), -1)
        reached: list[tuple[int, int]] = []
        vertex, walked, dual = start, 0, 0
        while True:
            ways = matrix[vertex] - open_v
            ways += walked - dual
            shorter = ways < length
            np.copyto(length, ways, where=shorter)
            np.copyto(before, vertex, where=shorter)
            column = int(length.argmin())
            walked = int(length[column])
            if walked >= far // 2:
                return False
            if self.row[column] < 0:
                walked += 1
                break
            reached.append((column, walked))
            length[column], open_v[column] = far, -2 * far  # closed: no path is shorter than far
            vertex = self.row[column]
            dual = int(matrix[vertex, column] - v[column])
        for done, at in reached:
            v[done] += at - walked
        self.costs.within(v)
        while column >= 0:
            vertex = int(before[column])
            self.row[column] = vertex
            self.column[vertex], column = column, self.column[vertex]
        return True
