"""Connectivity of a rating list: rating pools, connected components, and the games that would connect them.

An arrow leads from an engine that took points (win or draw) to the engine that lost them. Maximum-likelihood ratings
are finite exactly if every engine reaches every other engine along the arrows (Ford 1957). Engines without a game are
in no pool and in no component.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from enginetour.ratings.pairs import Counts, Index, Pairs, Vector, pairs_of

_MOST_ROUNDS = 100  # each round reads all arrows; only chains of versions need more rounds
Parts = tuple[tuple[str, ...], ...]


def pools(counts: Counts | Pairs) -> Parts:
    """Return the pools: engines linked by games, directly or through others; largest pool first, names sorted."""
    pairs = pairs_of(counts)
    if _is_connected_quickly(pairs):
        return _all_met(pairs)
    takers, givers = np.append(pairs.white, pairs.black), np.append(pairs.black, pairs.white)
    if _is_connected(pairs, takers, givers):
        return _all_met(pairs)
    import networkx as nx

    graph = nx.Graph(zip(pairs.white.tolist(), pairs.black.tolist(), strict=True))
    return _named(pairs, nx.connected_components(graph))


def groups(counts: Counts | Pairs, joined: Collection[str] = ()) -> Parts:
    """Return the components of mutually reachable engines, largest component first.

    `joined` engines (fixed anchors) count as linked.
    """
    pairs = pairs_of(counts)
    if _is_connected_quickly(pairs):
        return _all_met(pairs)
    took, gave = pairs.wins + pairs.draws > 0, pairs.losses + pairs.draws > 0
    ends = np.searchsorted(np.array(pairs.names), sorted(joined)) if joined else np.zeros(0, dtype=np.intp)
    linked = np.array(list(pairwise(ends)), dtype=np.intp).reshape(-1, 2)
    takers = np.concatenate((pairs.white[took], pairs.black[gave], linked[:, 0], linked[:, 1]))
    givers = np.concatenate((pairs.black[took], pairs.white[gave], linked[:, 1], linked[:, 0]))
    if _is_connected(pairs, takers, givers):
        return _all_met(pairs)
    import networkx as nx

    graph = nx.DiGraph(zip(takers.tolist(), givers.tolist(), strict=True))
    return _named(pairs, nx.strongly_connected_components(graph))


def unbeaten(counts: Counts | Pairs) -> tuple[str, ...]:
    """Return the engines that won every game they played, by name."""
    pairs = pairs_of(counts)
    return tuple(
        name for name, won, all_ in zip(pairs.names, pairs.record[0], pairs.played, strict=True) if won == all_ > 0
    )


def winless(counts: Counts | Pairs) -> tuple[str, ...]:
    """Return the engines that lost every game they played, by name."""
    pairs = pairs_of(counts)
    return tuple(
        name for name, lost, all_ in zip(pairs.names, pairs.record[2], pairs.played, strict=True) if lost == all_ > 0
    )


def _is_connected_quickly(pairs: Pairs) -> bool:
    """Return True if the games of a few engines as White connect all engines; False is not certain.

    In a dense pool about 12 engines suffice. Each row contains the arrows of both directions, so the same engines are
    searched along the arrows and against them.
    """
    met = pairs.played > 0
    if not met.any():
        return False
    starts = np.searchsorted(pairs.white, np.arange(len(met) + 1)).tolist()
    for results in (pairs.wins, pairs.losses):
        first = int(np.argmax(met))
        seen, ahead = ~met, [first]
        seen[first] = True
        while ahead and not seen.all():
            engine = ahead.pop()
            rows = slice(starts[engine], starts[engine + 1])
            reached = pairs.black[rows][results[rows] + pairs.draws[rows] > 0]
            fresh = reached[~seen[reached]]
            seen[fresh] = True
            ahead += fresh.tolist()
        if not seen.all():
            return False
    return True


def _is_connected(pairs: Pairs, takers: Index, givers: Index) -> bool:
    """Return whether one engine reaches all engines with games, and all reach it; this usual case needs no networkx."""
    met = pairs.played > 0
    if not met.any():
        return False
    first = int(np.argmax(met))
    return all(_reached(*ends, first, met) for ends in ((takers, givers), (givers, takers)))


def _reached(tails: Index, heads: Index, first: int, met: NDArray[np.bool_]) -> bool:
    """Return whether all engines with games are reached; return False also if networkx would be faster."""
    seen = ~met
    seen[first] = True
    for _ in range(_MOST_ROUNDS):
        seen[heads[seen[tails]]] = True
        if seen.all():
            return True
    return False


def _all_met(pairs: Pairs) -> Parts:
    return (tuple(name for name, games in zip(pairs.names, pairs.played, strict=True) if games),)


def _named(pairs: Pairs, parts: Iterable[set[int]]) -> Parts:
    named = (tuple(sorted(pairs.names[place] for place in part)) for part in parts)
    return tuple(sorted(named, key=lambda part: (-len(part), part)))


# Games that would connect several pools, and points that would connect several components. Each pool needs one game
# with the largest pool. Components are the nodes of a graph without cycles. To make it one component, as many new
# arrows are necessary as there are components without an arrow in, or without an arrow out, whichever are more (Eswaran
# and Tarjan 1976).

_MOST_NAMED = 3  # number of games or points in a note; the others are only counted, so that the note fits a line
_MOST_GROUPS = 200  # if there are more components, only few games have been played


def connecting_games(pairs: Pairs, pools: Parts) -> tuple[tuple[str, str], ...]:
    """Return one game between the largest pool and each other pool, for the engines with most games."""
    known = [max(pool, key=_by(pairs, pairs.played)) for pool in pools]
    return tuple((known[0], other) for other in known[1:])


def connecting_points(pairs: Pairs, groups: Parts) -> tuple[tuple[str, str], ...]:
    """Return the fewest missing points as (engine that scores, opponent); empty for more than 200 components.

    The most likely results are preferred: the best scorer of the weaker component meets the worst of the stronger.
    """
    if not 1 < len(groups) <= _MOST_GROUPS:
        return ()
    reach = _reach(pairs, groups)
    share = pairs.scored / pairs.played.clip(1.0)
    best = [max(group, key=_by(pairs, share)) for group in groups]
    worst = [max(group, key=_by(pairs, -share)) for group in groups]
    return tuple((best[taker], worst[giver]) for taker, giver in _arrows(reach))


def format_connecting_games(games: tuple[tuple[str, str], ...], *, numbered: bool) -> str:
    """Return the note about missing games; `numbered` if the list shows pool numbers."""
    named = [
        f"a game {one} - {other} would connect {f'pools 1 and {number}' if numbered else 'their pools'}"
        for number, (one, other) in enumerate(games[:_MOST_NAMED], 2)
    ]
    return ", ".join(named) + _more(len(games))


def format_connecting_points(points: tuple[tuple[str, str], ...]) -> str:
    """Return the note about missing points."""
    named = [f"a win or draw of {taker} against {giver}" for taker, giver in points[:_MOST_NAMED]]
    return " and ".join(named) + _more(len(points)) + " would connect all engines"


def _arrows(reach: dict[int, set[int]]) -> list[tuple[int, int]]:
    """Return arrows (from a component without arrows out, to one without arrows in) that connect all components.

    `reach` maps components without arrows in to the components without arrows out that they reach. While there are
    several of both, an arrow between suitable components reduces both numbers by one.
    """
    found = []
    while len(reach) > 1 and len(ends := sorted(set().union(*reach.values()))) > 1:
        end, to = next((end, to) for end in ends for to in sorted(reach) if _reduces_both(reach, end, to))
        found.append((end, to))
        gained = reach.pop(to)
        reach = {own: (seen | gained if end in seen else seen) - {end} for own, seen in reach.items()}
    ends = sorted(set().union(*reach.values()))
    return [*found, *((end, to) for to in sorted(reach) for end in ends)]


def _reduces_both(reach: dict[int, set[int]], end: int, to: int) -> bool:
    """Return whether another component reaches `end`, and `to` reaches another end."""
    return bool(reach[to] - {end}) and any(end in seen for own, seen in reach.items() if own != to)


def _reach(pairs: Pairs, groups: Parts) -> dict[int, set[int]]:
    """Map each component without arrows in to the components without arrows out that it reaches."""
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
    value = dict(zip(pairs.names, column.tolist(), strict=True))
    order = {name: -place for place, name in enumerate(pairs.names)}
    return lambda name: (value[name], order[name])


def _more(count: int) -> str:
    return f" and {count - _MOST_NAMED} more" if count > _MOST_NAMED else ""
