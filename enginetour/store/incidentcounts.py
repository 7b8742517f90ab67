"""How many incidents each engine had, counted by the database: no line of their traffic is read for it."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import func, select

from enginetour.model.game import Incident
from enginetour.store.reader import TournamentReader
from enginetour.store.tables import GAMES, INCIDENTS


def incident_counts(log: TournamentReader) -> Counter[str]:
    """By who was at fault, warnings left out."""
    columns = INCIDENTS.c.engine, INCIDENTS.c.category
    rows = select(*columns, func.count().label("number")).join(GAMES, GAMES.c.id == INCIDENTS.c.game)
    rows = rows.where(GAMES.c.tournament == log.id, ~INCIDENTS.c.category.endswith("warning"))
    found: Counter[str] = Counter()
    with log.database.reading() as connection:
        for row in connection.execute(rows.group_by(*columns)):
            found[Incident(row.engine, row.category, "").at_fault] += int(row.number)
    return found
