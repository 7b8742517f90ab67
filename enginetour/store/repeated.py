"""Games that went as an earlier one: engines without a clock are the same again on an opening that comes again."""

from __future__ import annotations

from sqlalchemy import case, func, or_, select

from enginetour.store.queries import STANDING
from enginetour.store.reader import TournamentReader
from enginetour.store.tables import GAMES

_SINGLE = case((or_(GAMES.c.culprit != "", GAMES.c.final_fen == ""), GAMES.c.id), else_=0)
"""A game that an engine lost by a fault, a crash at its first move say, tells nothing of how others go; nor does one
whose last position was not kept."""
_GAME = GAMES.c.white_engine, GAMES.c.black_engine, GAMES.c.opening, GAMES.c.plies, GAMES.c.final_fen, _SINGLE
"""What one is known by; its moves are packed, and a last position after as many moves hardly comes by other ways."""


def repeated(log: TournamentReader) -> tuple[int, int]:
    """How many games of a tournament are an earlier one over again, and how many there are."""
    alike = (
        select(func.count().label("games")).where(GAMES.c.tournament == log.id, STANDING).group_by(*_GAME).subquery()
    )
    sums = select(func.coalesce(func.sum(alike.c.games), 0), func.count()).select_from(alike)
    with log.database.reading() as connection:
        games, kinds = connection.execute(sums).one()
    return int(games) - int(kinds), int(games)
