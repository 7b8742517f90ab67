"""Which games would make one list of several: the fewest between pools, the fewest points between groups.

Pools need a game each with the largest. Groups are nodes of a graph without cycles, arrows as in `connectivity`; as
many more arrows make it one group as there are groups that nobody took anything from, or that took nothing from
others, whichever are more (Eswaran and Tarjan 1976).
"""

from __future__ import annotations

from collections.abc import Callable

from enginetour.ratings.connectivity import Parts
from enginetour.ratings.pairs import Pairs, Vector

MOST_TOLD = 3  # further ones are counted: a caption is a line
MOST_GROUPS = 200  # with more, hardly anything was played yet


def connecting_games(pairs: Pairs, pools: Parts) -> tuple[tuple[str, str], ...]:
    """One game of the largest pool with every other, between the engines of each that played most."""
    known = [max(pool, key=_by(pairs, pairs.played)) for pool in pools]
    return tuple((known[0], other) for other in known[1:])


def connecting_points(pairs: Pairs, groups: Parts) -> tuple[tuple[str, str], ...]:
    """(who takes, from whom) a win or a draw each; fewest of them, none of more than 200 groups.

    Likeliest first choice: the best scorer of the weaker group against the worst of the stronger.
    """
    if not 1 < len(groups) <= MOST_GROUPS:
        return ()
    reach = _reach(pairs, groups)
    share = pairs.scored / pairs.played.clip(1.0)
    best = [max(group, key=_by(pairs, share)) for group in groups]
    worst = [max(group, key=_by(pairs, -share)) for group in groups]
    return tuple((best[taker], worst[giver]) for taker, giver in _arrows(reach))


def games_told(games: tuple[tuple[str, str], ...], *, numbered: bool) -> str:
    """A line of a caption; `numbered`: pools have the numbers that the list shows."""
    told = [
        f"a game {one} - {other} would connect {f'pools 1 and {number}' if numbered else 'their pools'}"
        for number, (one, other) in enumerate(games[:MOST_TOLD], 2)
    ]
    return ", ".join(told) + _more(len(games))


def points_told(points: tuple[tuple[str, str], ...]) -> str:
    """A line of a caption."""
    told = [f"a point of {taker} against {giver}" for taker, giver in points[:MOST_TOLD]]
    return " and ".join(told) + _more(len(points)) + " would make them one group"


def _arrows(reach: dict[int, set[int]]) -> list[tuple[int, int]]:
    """(from a group that took nothing, to one that nobody took anything from) until each reaches each.

    `reach`: the latter to the former ones they reach. While there are two of both, an arrow from one's end to
    another with an end of its own settles one of each.
    """
    found = []
    while len(reach) > 1 and len(ends := sorted(set().union(*reach.values()))) > 1:
        end, to = next((end, to) for end in ends for to in sorted(reach) if _settles(reach, end, to))
        found.append((end, to))
        gained = reach.pop(to)
        reach = {own: (seen | gained if end in seen else seen) - {end} for own, seen in reach.items()}
    ends = sorted(set().union(*reach.values()))
    return [*found, *((end, to) for to in sorted(reach) for end in ends)]


def _settles(reach: dict[int, set[int]], end: int, to: int) -> bool:
    """Somebody else reaches the end, and where the arrow leads another end is reached."""
    return bool(reach[to] - {end}) and any(end in seen for own, seen in reach.items() if own != to)


def _reach(pairs: Pairs, groups: Parts) -> dict[int, set[int]]:
    """From every group that nobody outside took anything from, to the groups it reaches that took nothing outside."""
    import networkx as nx

    group = {name: number for number, names in enumerate(groups) for name in names}
    of = [group.get(name, -1) for name in pairs.names]
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(groups)))
    for white, black, won, drawn, lost in zip(
        *(column.tolist() for column in (pairs.white, pairs.black, pairs.wins, pairs.draws, pairs.losses)), strict=True
    ):
        ends = of[white], of[black]
        if ends[0] != ends[1]:
            if won or drawn:
                graph.add_edge(*ends)
            if lost or drawn:
                graph.add_edge(*ends[::-1])
    last = {number for number in graph if not graph.out_degree(number)}
    return {number: nx.descendants(graph, number) & last for number in graph if not graph.in_degree(number)}


def _by(pairs: Pairs, column: Vector) -> Callable[[str], tuple[float, int]]:
    """Largest first, then by name."""
    value = dict(zip(pairs.names, column.tolist(), strict=True))
    order = {name: -place for place, name in enumerate(pairs.names)}
    return lambda name: (value[name], order[name])


def _more(count: int) -> str:
    return f" and {count - MOST_TOLD} more" if count > MOST_TOLD else ""
