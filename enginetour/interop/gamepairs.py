"""Pairs of games in files that share an opening, and matches of two engines read from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from enginetour.interop.gametags import UNKNOWN_OPENING, GameColumns, OpeningPairs
from enginetour.interop.tally import UNFINISHED, engine_name, normal_name
from enginetour.model.errors import UsageRefused, match_name, no_match_hint, suggest
from enginetour.ratings.pairs import PAIR_POINTS, Openings

if TYPE_CHECKING:
    from numpy.typing import NDArray


# The games of files that came in pairs on one opening, counted by the points they brought, for a list's errors.


def openings_of_games(
    games: GameColumns, naming: Callable[[str], str | None], names: Sequence[str], taken: NDArray[np.bool_]
) -> Openings:
    """The pairs among the games that are `taken`, of engines that are called one of `names`.

    As `OpeningPairs` finds them: the first game of two engines on an opening with the first on it with
    colours swapped, the second with the second, in the order of the files.
    """
    shown, white, black = games.sides(naming, sorted(names))
    results, openings = np.array(games.results), np.array(games.openings)
    met = (
        taken & (white >= 0) & (black >= 0) & (white != black) & (results < UNFINISHED) & (openings != UNKNOWN_OPENING)
    )
    turned = (white > black)[met]  # White is the one whose name sorts last
    points = np.where(turned, results[met], 2 - results[met])
    match = np.minimum(white, black)[met] * len(shown) + np.maximum(white, black)[met]
    alike = np.stack((match, openings[met]))
    rank = _ranks(np.stack((*alike, turned)))
    order = np.lexsort((turned, rank, *alike))
    keys = np.stack((*alike, rank))[:, order]
    first = np.flatnonzero((keys[:, 1:] == keys[:, :-1]).all(axis=0))
    brought = points[order][first] + points[order][first + 1]
    matches, row = np.unique(match[order][first], return_inverse=True)
    counts = np.zeros((len(matches), len(PAIR_POINTS)), dtype=np.int64)
    np.add.at(counts, (row, brought), 1)
    ends = zip(*(end.tolist() for end in np.divmod(matches, max(1, len(shown)))), strict=True)
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


# The games of two engines in PGN files, in pairs on one opening: what a sequential test looks at.

MatchGames = list[tuple[Hashable, int]]


def match_games(games: GameColumns, naming: Callable[[str], str | None], one: str, other: str) -> MatchGames:
    """(what the two games of a pair share, half points of `one`) in the order of the files.

    Only even games of standard chess with a result. UsageRefused for names that have no games here, or have not met.
    """
    one, other = meant_engines(games, naming, (one, other))
    _, white, black = games.sides(naming, (one, other))
    met = (white >= 0) & (black >= 0) & (white != black) & (np.array(games.results) < UNFINISHED)
    met[[*games.odds, *games.variants]] = False
    wanted = np.flatnonzero(met)
    if not len(wanted):
        step = "without a game there is nothing to test"
        raise UsageRefused(f"{one!r} and {other!r} have not met here", place="--sprt", step=step)
    found: MatchGames = []
    partners = OpeningPairs[int]()
    for place in wanted.tolist():
        is_white = bool(white[place] == 0)
        points = 2 - games.results[place] if is_white else games.results[place]
        key = partners.pair_of((one, other), games.openings[place], "white" if is_white else "black", place)
        found.append((key, points))
    return found


def meant_engines(games: GameColumns, naming: Callable[[str], str | None], words: tuple[str, str]) -> tuple[str, str]:
    """The two engines of a test, by their names or the beginnings of them."""
    known = sorted({name for raw in games.names if (name := naming(engine_name(raw))) is not None})
    found = [match_name(normal_name(word), known) for word in words]
    for word, name in zip(words, found, strict=True):
        if name is None:
            raise UsageRefused(
                f"{word!r} has no games here{no_match_hint(word, known) or suggest(word, known[:50])}", place="--sprt"
            )
    one, other = map(str, found)
    if one == other:
        raise UsageRefused(f"{words[0]!r} and {words[1]!r} are one engine, a test needs two", place="--sprt")
    return one, other
