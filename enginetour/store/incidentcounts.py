"""How many incidents each engine had, counted by the database: no line of their traffic is read for it."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import func, select

from enginetour.store.reader import TournamentReader
from enginetour.store.tables import GAMES, INCIDENTS


def incident_counts(log: TournamentReader) -> Counter[str]:
    """By engine, warnings left out."""
    rows = select(INCIDENTS.c.engine, func.count()).join(GAMES, GAMES.c.id == INCIDENTS.c.game)
    rows = rows.where(GAMES.c.tournament == log.id, ~INCIDENTS.c.category.endswith("warning"))
    with log.database.reading() as connection:
        return Counter({engine: int(count) for engine, count in connection.execute(rows.group_by(INCIDENTS.c.engine))})
