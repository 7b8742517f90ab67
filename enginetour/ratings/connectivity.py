"""Who can be compared with whom: pools, mutually reachable groups, the unbeaten and the winless.

An arrow leads from whoever took anything (win or draw) to whom it was taken from. Ratings of greatest likelihood
are finite exactly when everybody reaches everybody along the arrows (Ford 1957).
Engines without a game are in no pool and no group.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from enginetour.ratings.pairs import Counts, Index, Pairs, pairs_of

MOST_ROUNDS = 100  # a round reads all arrows; only chains of versions are longer
Parts = tuple[tuple[str, ...], ...]


def pools(counts: Counts | Pairs) -> Parts:
    """Engines linked by games, directly or through others; largest pool first, names sorted."""
    pairs = pairs_of(counts)
    if _walked(pairs):
        return _all_met(pairs)
    takers, givers = np.append(pairs.white, pairs.black), np.append(pairs.black, pairs.white)
    if _one(pairs, takers, givers):
        return _all_met(pairs)
    import networkx as nx

    graph = nx.Graph(zip(pairs.white.tolist(), pairs.black.tolist(), strict=True))
    return _named(pairs, nx.connected_components(graph))


def groups(counts: Counts | Pairs, joined: Collection[str] = ()) -> Parts:
    """Mutually reachable engines; largest group first. `joined` are linked by other means, as fixed anchors are."""
    pairs = pairs_of(counts)
    if _walked(pairs):
        return _all_met(pairs)
    took, gave = pairs.wins + pairs.draws > 0, pairs.losses + pairs.draws > 0
    ends = np.searchsorted(np.array(pairs.names), sorted(joined)) if joined else np.zeros(0, dtype=np.intp)
    linked = np.array(list(pairwise(ends)), dtype=np.intp).reshape(-1, 2)
    takers = np.concatenate((pairs.white[took], pairs.black[gave], linked[:, 0], linked[:, 1]))
    givers = np.concatenate((pairs.black[took], pairs.white[gave], linked[:, 1], linked[:, 0]))
    if _one(pairs, takers, givers):
        return _all_met(pairs)
    import networkx as nx

    graph = nx.DiGraph(zip(takers.tolist(), givers.tolist(), strict=True))
    return _named(pairs, nx.strongly_connected_components(graph))


def unbeaten(counts: Counts | Pairs) -> tuple[str, ...]:
    """Engines that won every game they played, by name."""
    pairs = pairs_of(counts)
    return tuple(
        name for name, won, all_ in zip(pairs.names, pairs.record[0], pairs.played, strict=True) if won == all_ > 0
    )


def winless(counts: Counts | Pairs) -> tuple[str, ...]:
    """Engines that lost every game they played, by name."""
    pairs = pairs_of(counts)
    return tuple(
        name for name, lost, all_ in zip(pairs.names, pairs.record[2], pairs.played, strict=True) if lost == all_ > 0
    )


def _walked(pairs: Pairs) -> bool:
    """Are all in one group already by the games of a few as White? True is certain; a dense pool needs a dozen of them.

    A row tells both arrows between its two, so the same engines are walked along the arrows and against them.
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


def _one(pairs: Pairs, takers: Index, givers: Index) -> bool:
    """Does one engine reach all that met somebody, and do all reach it? The usual case, without a graph library."""
    met = pairs.played > 0
    if not met.any():
        return False
    first = int(np.argmax(met))
    return all(_reached(*ends, first, met) for ends in ((takers, givers), (givers, takers)))


def _reached(tails: Index, heads: Index, first: int, met: NDArray[np.bool_]) -> bool:
    """All that met somebody, along the arrows; False also after so many rounds that a graph library is quicker."""
    seen = ~met
    seen[first] = True
    for _ in range(MOST_ROUNDS):
        seen[heads[seen[tails]]] = True
        if seen.all():
            return True
    return False


def _all_met(pairs: Pairs) -> Parts:
    return (tuple(name for name, games in zip(pairs.names, pairs.played, strict=True) if games),)


def _named(pairs: Pairs, parts: Iterable[set[int]]) -> Parts:
    named = (tuple(sorted(pairs.names[place] for place in part)) for part in parts)
    return tuple(sorted(named, key=lambda part: (-len(part), part)))
