"""Games as their pages want them, streamed: no more than a page of the store's rows is held at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice

from sqlalchemy import and_, select

from enginetour.reports.html.gamerow import GameRow, Neighbour
from enginetour.store.queries import GAMES_A_PAGE, Stored, full_games
from enginetour.store.reader import TournamentReader
from enginetour.store.tables import GAMES

_OTHER = GAMES.alias("other")
_SAME = and_(
    _OTHER.c.id != GAMES.c.id, *(_OTHER.c[name] == GAMES.c[name] for name in ("tournament", "a", "b", "meeting"))
)


def game_rows(log: TournamentReader, first: int = 1, last: int | None = None) -> Iterator[GameRow]:
    """Games `first` to `last` in order. Numbers run from 1 without a gap."""
    newest = log.last_number
    games = full_games(log.database, log.id, first=first, last=last)
    while page := list(islice(games, GAMES_A_PAGE)):
        beside = _neighbours(log, page)
        for stored in page:
            number = stored.number
            yield GameRow(
                number,
                stored.game,
                stored.voided,
                log.title,
                tuple(beside[number]),
                number - 1 if number > 1 else None,
                number + 1 if number < newest else None,
            )


def _neighbours(log: TournamentReader, page: Iterable[Stored]) -> dict[int, list[Neighbour]]:
    """The other games of the same encounters, by number."""
    numbers = [stored.number for stored in page]
    rows = select(GAMES.c.number, _OTHER.c.number.label("other"), _OTHER.c.leg, _OTHER.c.replay).join(_OTHER, _SAME)
    rows = rows.where(GAMES.c.tournament == log.id, GAMES.c.number.between(numbers[0], numbers[-1]))
    found: dict[int, list[Neighbour]] = defaultdict(list)
    with log.database.reading() as connection:
        for row in connection.execute(rows.order_by(_OTHER.c.number)):
            found[row.number].append(Neighbour(row.other, row.leg, row.replay))
    return found
