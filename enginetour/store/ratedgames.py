"""What incremental ratings are folded from: all rated games of the store in one order, and what engines bring.

The order is that in which games were committed. An import is one block: it follows the games that had been played
here when it was made. So whatever comes, comes last, and only a game struck out changes what was rated before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel
from sqlalchemy import Connection, select

from enginetour.model.game import Outcome
from enginetour.ratings.gor import Egf2021Settings
from enginetour.ratings.grades import Scale
from enginetour.ratings.incremental import Lineage, Met, Tally, Version, lineage
from enginetour.ratings.pairs import RatedGame
from enginetour.store.paircounts import by_pair, kept_counts
from enginetour.store.queries import EVEN, EVEN_READ, STRUCK
from enginetour.store.removals import removed
from enginetour.store.sqlwords import scale_told
from enginetour.store.tables import ENGINES, ENTRANTS, GAMES, IMPORTED_GAMES, IMPORTS, TOURNAMENTS
from enginetour.store.variantgames import odd_ones

if TYPE_CHECKING:
    from enginetour.store.paircounts import Sums


class Mark(NamedTuple):
    """A place in the order: the newest game played here and the newest imported one before it, 0 for none."""

    game: int = 0
    imported: int = 0


def rated_games(connection: Connection, after: Mark | None = None) -> Iterator[RatedGame]:
    """Even games of standard chess that count, in order; engines and events by keys, imported games by minus theirs."""
    mark = after or Mark()
    points = {outcome.value: outcome.half_points(white=True) for outcome in Outcome}
    columns = (GAMES.c.id, GAMES.c.tournament, GAMES.c.white_engine, GAMES.c.black_engine, GAMES.c.outcome)
    rows = select(*columns).where(GAMES.c.id > mark.game, GAMES.c.outcome != Outcome.VOID.value, ~STRUCK, EVEN)
    if odd := odd_ones(connection):
        rows = rows.where(GAMES.c.tournament.not_in(odd))
    played = iter(connection.execute(rows.order_by(GAMES.c.id)))
    row = next(played, None)
    for event, after_game in _imports(connection):
        while row is not None and row[0] <= after_game:
            yield RatedGame(str(row[2]), str(row[3]), points[row[4]], row[0], str(row[1]))
            row = next(played, None)
        yield from _imported(connection, event, mark.imported)
    while row is not None:
        yield RatedGame(str(row[2]), str(row[3]), points[row[4]], row[0], str(row[1]))
        row = next(played, None)


def number_rated(connection: Connection) -> int:
    """How many games count, from the pair counts: they follow every game and every one that is struck out."""
    return sum(int(sums[2:].sum()) for sums in _counts(connection).values())


def _counts(connection: Connection) -> dict[int, Sums]:
    """The pair counts of standard chess."""
    odd = odd_ones(connection)
    return {event: sums for event, sums in kept_counts(connection).items() if event not in odd}


def tallies_by_event(connection: Connection) -> dict[str, dict[Met, Tally]]:
    """The results of every event that has a rated game, events by their first one."""
    counted = _counts(connection)
    places = {event: (after_game, 1, event) for event, after_game in _imports(connection)}
    for event in counted:
        own = GAMES.c.tournament == event, GAMES.c.outcome != Outcome.VOID.value, ~STRUCK, EVEN
        first = connection.execute(select(GAMES.c.id).where(*own).order_by(GAMES.c.number).limit(1)).scalar()
        if first is not None:
            places[event] = first, 0, event
    events: dict[str, dict[Met, Tally]] = {str(event): {} for event in sorted(places, key=places.__getitem__)}
    for event, sums in counted.items():
        for (white, black), results in by_pair(sums).items():
            events[str(event)][str(white), str(black), 0] = results
    return {event: tallies for event, tallies in events.items() if tallies}


def brought(connection: Connection, scale: Scale) -> dict[str, float]:
    """Ratings that engine versions brought when they first entered, by their keys.

    Those of tournaments that state another scale are left out.
    """
    rows = select(ENTRANTS.c.engine, ENTRANTS.c.rating, scale_told(TOURNAMENTS.c.config)).join(
        TOURNAMENTS, TOURNAMENTS.c.id == ENTRANTS.c.tournament
    )
    first: dict[str, float | None] = {}
    for engine, rating, stated in connection.execute(rows.order_by(ENTRANTS.c.tournament, ENTRANTS.c.since)):
        first.setdefault(str(engine), rating if stated in (None, scale) else None)
    return {engine: rating for engine, rating in first.items() if rating is not None}


def versions(connection: Connection) -> Lineage:
    """Who comes after whom, among all engine versions of the store."""
    rows = select(ENGINES.c.id, ENGINES.c.name, ENGINES.c.family).order_by(ENGINES.c.id)
    return lineage(Version(str(engine), name, family) for engine, name, family in connection.execute(rows))


def for_events(connection: Connection, settings: BaseModel) -> BaseModel:
    """The settings with event classes by the keys of events; people give them by tournament, or ``name #edition``."""
    if not isinstance(settings, Egf2021Settings) or not settings.classes:
        return settings
    classes = {}
    for event, name, edition in connection.execute(select(TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition)):
        own = settings.classes.get(f"{name} #{edition}", settings.classes.get(name))
        if own is not None:
            classes[str(event)] = own
    return settings.model_copy(update={"classes": classes})


def _imports(connection: Connection) -> list[tuple[int, int]]:
    """Imports of standard chess that stand, oldest first, each with the newest game it follows."""
    rows = select(IMPORTS.c.tournament, IMPORTS.c.after_game).where(IMPORTS.c.tournament.not_in(removed()))
    if odd := odd_ones(connection):
        rows = rows.where(IMPORTS.c.tournament.not_in(odd))
    return [(event, after_game) for event, after_game in connection.execute(rows.order_by(IMPORTS.c.tournament))]


def _imported(connection: Connection, event: int, after: int) -> Iterator[RatedGame]:
    columns = (IMPORTED_GAMES.c.id, IMPORTED_GAMES.c.white, IMPORTED_GAMES.c.black, IMPORTED_GAMES.c.half_points)
    rows = select(*columns).where(IMPORTED_GAMES.c.tournament == event, IMPORTED_GAMES.c.id > after, EVEN_READ)
    for game, white, black, half_points in connection.execute(rows.order_by(IMPORTED_GAMES.c.id)):
        yield RatedGame(str(white), str(black), half_points, -game, str(event))
