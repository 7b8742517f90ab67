"""The games of two engines in PGN files, in pairs on one opening: what a sequential test looks at."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from enginetour.interop.gamecolumns import Games
from enginetour.interop.gameopenings import Partners
from enginetour.interop.tally import UNFINISHED, name_text, normal_name
from enginetour.model.errors import UsageRefused, called, near, not_called

Met = list[tuple[Hashable, int]]


def match_games(games: Games, naming: Callable[[str], str | None], one: str, other: str) -> Met:
    """(what the two games of a pair share, half points of `one`) in the order of the files.

    Only even games of standard chess with a result. UsageRefused for names that have no games here, or have not met.
    """
    one, other = meant_engines(games, naming, (one, other))
    sides = {one: 0, other: 1}
    names = [naming(name_text(raw)) for raw in games.names]
    places = np.array([-1 if name is None else sides.get(name, -1) for name in names])
    white, black = (places[np.array(end, dtype=np.intp)] for end in (games.white, games.black))
    met = (white >= 0) & (black >= 0) & (white != black) & (np.array(games.results) < UNFINISHED)
    met[[*games.odds, *games.variants]] = False
    wanted = np.flatnonzero(met)
    if not len(wanted):
        step = "without a game there is nothing to test"
        raise UsageRefused(f"{one!r} and {other!r} have not met here", place="--sprt", step=step)
    found: Met = []
    partners = Partners[int]()
    for place in wanted.tolist():
        is_white = bool(white[place] == 0)
        points = 2 - games.results[place] if is_white else games.results[place]
        key = partners.pair_of((one, other), games.openings[place], "white" if is_white else "black", place)
        found.append((key, points))
    return found


def meant_engines(games: Games, naming: Callable[[str], str | None], words: tuple[str, str]) -> tuple[str, str]:
    """The two engines of a test, by their names or the beginnings of them."""
    known = sorted({name for raw in games.names if (name := naming(name_text(raw))) is not None})
    found = [called(normal_name(word), known) for word in words]
    for word, name in zip(words, found, strict=True):
        if name is None:
            raise UsageRefused(
                f"{word!r} has no games here{not_called(word, known) or near(word, known[:50])}", place="--sprt"
            )
    one, other = map(str, found)
    if one == other:
        raise UsageRefused(f"{words[0]!r} and {words[1]!r} are one engine, a test needs two", place="--sprt")
    return one, other
