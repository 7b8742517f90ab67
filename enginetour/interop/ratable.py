"""Which games of files can be rated, under which names, and which are left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enginetour.interop.gamecolumns import Games
from enginetour.interop.gamefilter import of_variant, variants_of
from enginetour.interop.naming import Naming
from enginetour.interop.selection import LeftOut, places_of
from enginetour.interop.tally import UNFINISHED, name_text, text
from enginetour.ratings.pairs import RatedGame


@dataclass(frozen=True, slots=True, eq=False)
class Ratable:
    """Sides as places in `names`, results as the tally has them; `wanted` are the places of games that can be rated."""

    naming: Naming
    names: tuple[str, ...]
    white: NDArray[np.int64]
    black: NDArray[np.int64]
    results: NDArray[np.int64]
    wanted: NDArray[np.intp]
    left_out: LeftOut


def rated_games(
    games: Games, naming: Naming, names: Collection[str], taken: NDArray[np.bool_], files: Sequence[str]
) -> Iterator[RatedGame]:
    """The games taken between two of these names, in order, for systems that rate game by game or event by event.

    An event is a file, or an Event tag where those were kept. Odds of unknown size count as none.
    """
    called = [name if name in names else None for name in (naming(name_text(raw)) for raw in games.names)]
    results = np.array(games.results)
    tags = [" ".join(text(raw).split()) for raw in games.event_tags]
    file_of = np.searchsorted(np.array(games.ends), np.arange(len(results)), side="right")
    for place in np.flatnonzero(taken & (results < UNFINISHED)).tolist():
        white, black = called[games.white[place]], called[games.black[place]]
        if white is not None and black is not None and white != black:
            event = (tags[games.event[place]] if games.by_event else "") or files[file_of[place]]
            points = 2 - int(results[place])
            yield RatedGame(white, black, points, place + 1, event, games.odds.get(place, 0) or 0)


def ratable(games: Games, naming: Naming, variant: str = "standard") -> Ratable:
    """Of the variant, between two engines that are wanted, with a result.

    UsageRefused for a pattern that no engine answers to.
    """
    called = [naming(name_text(raw)) for raw in games.names]
    naming.refuse_unanswered()
    names = tuple(sorted({name for name in called if name is not None}))
    place = {name: number for number, name in enumerate(names)}
    places = np.array([-1 if name is None else place[name] for name in called], dtype=np.int64)
    white = places[np.array(games.white, dtype=np.intp)]
    black = places[np.array(games.black, dtype=np.intp)]
    results = np.array(games.results, dtype=np.int64)
    finished, ours = results != UNFINISHED, (white >= 0) & (black >= 0)
    inside = of_variant(games, variant)
    others = variants_of(games, finished & ~inside)
    finished &= inside
    alone = finished & ours & (white == black)
    left_out = LeftOut(
        others=dict(games.others.most_common()),
        places=places_of(games),
        broken=games.broken_games,
        alone=int(alone.sum()),
        unwanted=int((finished & ~ours).sum()),
        few=0,
        engines=(),
        apart={"variant": sum(others.values())} if others else {},
        variants=others,
    )
    return Ratable(naming, names, white, black, results, np.flatnonzero(finished & ours & ~alone), left_out)
