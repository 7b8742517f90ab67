"""What the engines of a tournament did in their games, as their records tell it, for averages."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select

from enginetour.model.game import Outcome, SideRecord
from enginetour.store.codecs import side_of
from enginetour.store.queries import STRUCK
from enginetour.store.reader import TournamentReader
from enginetour.store.tables import GAMES


def sides(log: TournamentReader) -> Iterator[tuple[str, SideRecord]]:
    """Name and record of both sides of every game that counts, at odds or not, without loading a move."""
    columns = GAMES.c.white, GAMES.c.white_side, GAMES.c.black, GAMES.c.black_side
    counting = GAMES.c.tournament == log.id, GAMES.c.outcome != Outcome.VOID.value, ~STRUCK
    with log.database.reading() as connection:
        for white, white_side, black, black_side in connection.execute(select(*columns).where(*counting)):
            yield white, side_of(white_side)
            yield black, side_of(black_side)
