"""Games as their pages want them, streamed: no more than a page of the store's rows is held at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from sqlalchemy import and_, select

from enginetour.reports.html.gamerow import GameRow, Neighbour
from enginetour.store.games import GAMES_A_PAGE, Stored, TournamentReader, full_games
from enginetour.store.tables import GAMES

_SAME = ("tournament", "a", "b", "meeting")


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


def _neighbours(log: TournamentReader, page: Sequence[Stored]) -> dict[int, list[Neighbour]]:
    """The other games of the same encounters, by number."""
    first, last = page[0].number, page[-1].number
    inside = GAMES.c.tournament == log.id, GAMES.c.number.between(first, last)
    # With a limit it is read first: SQLite would begin with all games of the tournament, at 2 ms a game (measured).
    these = select(GAMES.c.id, GAMES.c.number, *(GAMES.c[name] for name in _SAME)).where(*inside).limit(len(page))
    this = these.subquery("this")
    same = and_(GAMES.c.id != this.c.id, *(GAMES.c[name] == this.c[name] for name in _SAME))
    rows = select(this.c.number, GAMES.c.number.label("other"), GAMES.c.leg, GAMES.c.replay).join(this, same)
    found: dict[int, list[Neighbour]] = defaultdict(list)
    with log.database.reading() as connection:
        for row in connection.execute(rows.order_by(GAMES.c.number)):
            found[row.number].append(Neighbour(row.other, row.leg, row.replay))
    return found
