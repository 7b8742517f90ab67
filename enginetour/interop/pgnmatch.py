"""The games of two engines in PGN files, in pairs on one opening: what a sequential test looks at."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from enginetour.errors import UsageRefused
from enginetour.interop.gamecolumns import Games
from enginetour.interop.gameopenings import Partners
from enginetour.interop.tally import UNFINISHED, name_text, normal_name
from enginetour.nearmiss import near

Met = list[tuple[Hashable, int]]


def match_games(games: Games, naming: Callable[[str], str | None], one: str, other: str) -> Met:
    """(what the two games of a pair share, half points of `one`) in the order of the files.

    Only even games of standard chess with a result. UsageRefused for names that have no games here, or have not met.
    """
    one, other = normal_name(one), normal_name(other)
    called = [naming(name_text(raw)) for raw in games.names]
    _refuse_strangers(one, other, {name for name in called if name is not None})
    sides = {one: 0, other: 1}
    places = np.array([-1 if name is None else sides.get(name, -1) for name in called])
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


def _refuse_strangers(one: str, other: str, names: set[str]) -> None:
    for name in (one, other):
        if name not in names:
            raise UsageRefused(f"{name!r} has no games here{near(name, sorted(names)[:50])}", place="--sprt")
    if one == other:
        raise UsageRefused(f"{one!r} and {other!r} are one engine, a test needs two", place="--sprt")
