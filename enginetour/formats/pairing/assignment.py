"""The fractional optimum as a jump start: an assignment of every vertex to another, its duals, and its cycles split.

Pairs may count one half there, so odd cycles are allowed; what is left for the search for a real matching is one
exposed vertex per odd cycle. Sources: Jonker and Volgenant 1987 (reductions, shortest paths); Applegate and Cook 1993
(the jump start).
"""

from __future__ import annotations

import numpy as np

from enginetour.formats.pairing.costs import Costs, Numbers

SWEEPS = 2  # augmenting row reductions, Jonker and Volgenant 1987
BIDS = 4  # steps per vertex in one of them: wars over small differences are left to the shortest paths


def jump_start(costs: Costs) -> tuple[Numbers, list[int]] | None:
    """Duals y and mates (-1: exposed), every mate by a tight pair; None without even a fractional perfect matching.

    All costs[i, j] + y[i] + y[j] are at least 0 and exactly 0 between mates.
    """
    assigned = _Assignment(costs)
    if not assigned.complete():
        return None
    # the assignment and its inverse are both optimal, the matrix being symmetric: each half of y is tight on both
    return -(assigned.rows() + assigned.v) // 2, _split([int(column) for column in assigned.column])


def _split(column: list[int]) -> list[int]:
    """Mates along the cycles of a permutation; from an odd cycle its lowest vertex stays exposed."""
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
    """Rows to columns at least cost; u[i] + v[j] <= cost[i, j], equal where assigned. All numbers are even."""

    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self.v = costs.matrix.min(axis=0)
        count = len(self.v)
        self.column = [-1] * count
        self.row = [-1] * count
        if not self._hopeless():
            for place, vertex in enumerate(costs.matrix.argmin(axis=0).tolist()):
                if self.column[vertex] < 0:
                    self.column[vertex], self.row[place] = place, vertex

    def _hopeless(self) -> bool:
        return bool((self.v >= self.costs.far // 2).any())

    def complete(self) -> bool:
        """Assign all; False if that cannot be done with allowed pairs."""
        if self._hopeless():
            return False
        for _ in range(SWEEPS):
            self._reduce()
        free = [vertex for vertex, column in enumerate(self.column) if column < 0]
        return all(self._augment(vertex) for vertex in free)

    def rows(self) -> Numbers:
        """The rows' duals, by the assigned pairs."""
        places = np.array(self.column, dtype=np.intp)
        out: Numbers = self.costs.matrix[np.arange(len(places)), places] - self.v[places]
        return out

    def _reduce(self) -> None:
        """Each free row bids for its best column up to what the second best is worth, and may drive another out."""
        far, v = self.costs.far, self.v
        waiting = [vertex for vertex, column in enumerate(self.column) if column < 0][::-1]
        for _ in range(BIDS * len(v)):
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
                continue  # an equal exchange would go round in circles
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
        # odd numbers mark unassigned columns: among equal ways the one that ends comes first
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
            length[column], open_v[column] = far, -2 * far  # closed: no way is shorter than far
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
