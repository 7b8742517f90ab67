"""Who has stood in a tournament's list, with what the engines call themselves; and the machines it was played on."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from enginetour.store.reader import TournamentReader
from enginetour.store.tables import ENGINES, ENTRANTS, GAMES


@dataclass(frozen=True, slots=True)
class Entered:
    """One entrant as its latest row has it; `place` is in the starting list, from 1, best first."""

    name: str
    place: int
    own_name: str
    family: str
    origin: str


def lineup(log: TournamentReader) -> dict[str, Entered]:
    """Everybody by name, those who left included."""
    columns = ENTRANTS.c.name, ENTRANTS.c.place, ENGINES.c.own_name, ENTRANTS.c.family, ENTRANTS.c.origin
    joined = ENTRANTS.join(ENGINES, ENGINES.c.id == ENTRANTS.c.engine)
    rows = select(*columns).select_from(joined).where(ENTRANTS.c.tournament == log.id).order_by(ENTRANTS.c.since)
    with log.database.reading() as connection:
        return {row.name: Entered(*row) for row in connection.execute(rows)}


def machines(log: TournamentReader) -> tuple[str, ...]:
    """Processors its games were played on, by name."""
    rows = select(GAMES.c.hardware).distinct().where(GAMES.c.tournament == log.id, GAMES.c.hardware != "")
    with log.database.reading() as connection:
        return tuple(connection.execute(rows.order_by(GAMES.c.hardware)).scalars())
