"""From the games to the rating events that are missing: a full replay, or one from the first game that differs.

The events of games that stand are right as long as the settings and what engines brought are the same: then the state
is restored from the rows and only the rest is rated. A few games before that are rated again; where they give other
bits than those stored, another version of the arithmetic wrote them, and everything is replayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from enginetour.ratings import incremental
from enginetour.ratings.incremental import RatingState, Standing
from enginetour.ratings.pairs import RatingEvent
from enginetour.store.ratedgames import Mark, number_rated, rated_games, tallies_by_event
from enginetour.store.ratingstream import Career, Stream

AGAIN = 50  # games rated again before the first new one: each engine of a tournament once or twice
ROWS_A_GAME = 2  # White's and Black's
Row = tuple[Any, ...]  # the columns of the table after `place`


def refolded(connection: Connection, stored: Stream, begun: RatingState, *, trusted: bool) -> tuple[int, list[Row]]:
    """Up to which place the stored stream holds, and the rows that follow there.

    `begun` is the state before the first game; `trusted` says that the stream was written from the same settings.
    """
    if trusted and begun.rule.mode == "sequential":
        for end in (stored.__len__, stored.first_struck):
            found = _from(connection, stored, begun, max(0, end() // ROWS_A_GAME - AGAIN) * ROWS_A_GAME)
            if found is not None:
                return found
    rated = _whole(connection, begun)
    same = _same([tuple(row)[1:] for row in stored.rows()], rated)
    return same, rated[same:]


def _whole(connection: Connection, begun: RatingState) -> list[Row]:
    if begun.rule.mode == "sequential":
        return _rows(incremental.rate(rated_games(connection), begun)[1])
    state, written = begun, list[RatingEvent]()
    for event, tallies in tallies_by_event(connection).items():
        state, events = incremental.rate_event(state, event, tallies)
        written += events
    return _rows(written)


def _from(connection: Connection, stored: Stream, begun: RatingState, place: int) -> tuple[int, list[Row]] | None:
    """The same from a place on; None when what is stored before it, or just behind, is not what a replay gives."""
    careers = stored.careers(place)
    ends = [Mark(career.game, career.imported) for career in careers.values()] or [Mark()]
    mark = Mark(max(end.game for end in ends), max(end.imported for end in ends))
    games = list(rated_games(connection, mark))
    if place // ROWS_A_GAME + len(games) != number_rated(connection) or not _entered_so(careers, stored, begun):
        return None
    known = {str(engine): Standing(career.rating, career.peak, career.games) for engine, career in careers.items()}
    restored = replace(begun, standings=begun.standings.update(known))
    rated = _rows(incremental.rate(games, restored)[1])
    behind = [tuple(row)[1:] for row in stored.rows(place)]
    same = _same(behind, rated)
    if same < min(len(behind), len(rated)) and _game(behind[same]) == _game(rated[same]):
        return None
    return place + same, rated[same:]


def _entered_so(careers: Mapping[int, Career], stored: Stream, begun: RatingState) -> bool:
    """Everybody entered with the rating a replay would give it: its own, its predecessor's, or the start value."""
    order = sorted(careers.items(), key=lambda item: item[1].first)
    rated: dict[str, Career] = {}  # those with a game before that of the newcomer
    arrived = 0
    for engine, career in order:
        begins = career.first - career.first % ROWS_A_GAME
        while order[arrived][1].first < begins:
            rated[str(order[arrived][0])] = order[arrived][1]
            arrived += 1
        given = begun.standings.get(str(engine))
        before = begun.lineage.predecessor(str(engine), rated) if begun.lineage and given is None else None
        if given is not None:
            entry = given.rating
        elif before is not None:
            entry = stored.rating_before(int(before), begins)
        else:
            entry = begun.rule.entry()
        if career.entry != entry:
            return False
    return True


def _rows(events: Iterable[RatingEvent]) -> list[Row]:
    """Rating events in the order of the table's columns after `place`; an imported game has a column of its own."""
    return [
        (int(engine), int(event), *((None, *numbers, -game) if game and game < 0 else (game, *numbers, None)))
        for _, engine, event, game, *numbers in events
    ]


def _game(row: Row) -> Row:
    """Whose row it is and of which game."""
    return row[0], row[2], row[-1]


def _same(one: list[Row], other: list[Row]) -> int:
    """How many rows the two have in common before they differ."""
    differs = (place for place, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs)
    return next(differs, min(len(one), len(other)))
