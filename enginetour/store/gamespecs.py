"""How an engine was started when it played a certain game, whatever has come in its place since."""

from __future__ import annotations

from sqlalchemy import or_, select

from enginetour.model.task import EngineSpec
from enginetour.store.reader import TournamentReader, spec_in_row
from enginetour.store.tables import ENTRANTS, GAMES


def spec_in(log: TournamentReader, number: int, name: str) -> EngineSpec | None:
    """The newest spec of `name` with the engine version that played game `number`; None for who did not play it."""
    same = or_(
        (GAMES.c.white == ENTRANTS.c.name) & (GAMES.c.white_engine == ENTRANTS.c.engine),
        (GAMES.c.black == ENTRANTS.c.name) & (GAMES.c.black_engine == ENTRANTS.c.engine),
    )
    found = select(ENTRANTS.c.spec).join(GAMES, (GAMES.c.tournament == ENTRANTS.c.tournament) & same)
    found = found.where(GAMES.c.tournament == log.id, GAMES.c.number == number, ENTRANTS.c.name == name)
    with log.database.reading() as connection:
        text = connection.execute(found.order_by(ENTRANTS.c.since.desc())).scalar()
    return None if text is None else spec_in_row(log, name, text)
