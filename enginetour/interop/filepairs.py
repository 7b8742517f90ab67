"""The games of files that came in pairs on one opening, counted by the points they brought, for a list's errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from enginetour.interop.gameopenings import NOT_TOLD
from enginetour.interop.tally import UNFINISHED, name_text
from enginetour.ratings.pairs import PAIR_POINTS, Openings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from enginetour.interop.gamecolumns import Games


def openings_of_games(
    games: Games, naming: Callable[[str], str | None], names: Sequence[str], taken: NDArray[np.bool_]
) -> Openings:
    """The pairs among the games that are `taken`, of engines that are called one of `names`.

    As `gameopenings.Partners` finds them: the first game of two engines on an opening with the first on it with
    colours swapped, the second with the second, in the order of the files.
    """
    place = {name: number for number, name in enumerate(sorted(names))}
    called = [naming(name_text(raw)) for raw in games.names]
    places = np.array([-1 if name is None else place.get(name, -1) for name in called])
    white, black = (places[np.array(end, dtype=np.intp)] for end in (games.white, games.black))
    results, openings = np.array(games.results), np.array(games.openings)
    met = taken & (white >= 0) & (black >= 0) & (white != black) & (results < UNFINISHED) & (openings != NOT_TOLD)
    turned = (white > black)[met]  # White is the one whose name sorts last
    points = np.where(turned, results[met], 2 - results[met])
    match = np.minimum(white, black)[met] * len(place) + np.maximum(white, black)[met]
    alike = np.stack((match, openings[met]))
    rank = _ranks(np.stack((*alike, turned)))
    order = np.lexsort((turned, rank, *alike))
    keys = np.stack((*alike, rank))[:, order]
    first = np.flatnonzero((keys[:, 1:] == keys[:, :-1]).all(axis=0))
    brought = points[order][first] + points[order][first + 1]
    matches, row = np.unique(match[order][first], return_inverse=True)
    counts = np.zeros((len(matches), len(PAIR_POINTS)), dtype=np.int64)
    np.add.at(counts, (row, brought), 1)
    shown = sorted(place)
    ends = zip(*(end.tolist() for end in np.divmod(matches, max(1, len(place)))), strict=True)
    lines = ((c[0], c[1], c[2], c[3], c[4]) for c in counts.tolist())
    return {(shown[one], shown[other]): line for (one, other), line in zip(ends, lines, strict=True)}


def _ranks(columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many equal columns stand before each."""
    order = np.lexsort(columns)  # stable: equal ones stay in their order
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (columns[:, order][:, 1:] != columns[:, order][:, :-1]).any(axis=0)
    places = np.arange(len(order))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = places - np.maximum.accumulate(np.where(new, places, 0)) if len(order) else places
    return ranks
