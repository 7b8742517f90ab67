"""Moments: the state of the store at an earlier time, as `--as-of` names it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from datetime import time as time_of_day

from sqlalchemy import ColumnElement, Connection, and_, exists, func, select

from enginetour.model.errors import UsageRefused
from enginetour.model.game import Outcome
from enginetour.store.codecs import LARGEST_NUMBER
from enginetour.store.counts import removed_imports
from enginetour.store.tables import EVENTS, GAMES, IMPORTED_GAMES, IMPORTS, TOURNAMENTS

DAY = 86_400  # seconds, UTC
_GAME = re.compile(r"game\s+(\d{1,19})")
_EDITION = re.compile(r"edition\s+(\d{1,9})")
_FORMS = "a day 2026-11-01, a time 2026-11-01T22:30 (UTC), 'edition N' of a list, or 'game N'"


@dataclass(frozen=True, slots=True)
class Moment:
    """A state of the store: games up to id `game`, imported games up to id `imported`, annulments until `at` (UTC)."""

    game: int
    imported: int
    at: float

    def standing(self) -> ColumnElement[bool]:
        """Build the condition on GAMES: played by then, with a result, not annulled by then."""
        struck = exists().where(EVENTS.c.game == GAMES.c.id, EVENTS.c.kind == "voided", EVENTS.c.at <= self.at)
        return and_(GAMES.c.id <= self.game, GAMES.c.outcome != Outcome.VOID, ~struck)

    def read(self) -> ColumnElement[bool]:
        """Build the condition on IMPORTED_GAMES: imported by then, and the import not removed by then."""
        return and_(IMPORTED_GAMES.c.id <= self.imported, IMPORTED_GAMES.c.tournament.not_in(removed_imports(self.at)))


def edition_in(words: str | None) -> int | None:
    """Parse ``edition N`` into its number; None for other moments."""
    found = _EDITION.fullmatch((words or "").strip())
    return int(found[1]) if found else None


def moment_of(connection: Connection, words: str | None, tournament: int | None = None) -> Moment:
    """Parse the moment of `--as-of`: the end of a day, a time, or just after ``game N``; None is now.

    N is the game's number in the tournament, or, without a tournament, the last game that an edition names. Imports
    before that game and annulments until its end are included. UsageRefused for anything else; an ``edition N`` is
    read with `editions.read_edition`.
    """
    if words is None:
        at = connection.execute(select(func.max(EVENTS.c.at))).scalar() or 0.0
        return Moment(_newest(connection, GAMES), _newest(connection, IMPORTED_GAMES), at)
    if found := _GAME.fullmatch(words.strip()):
        return _after_game(connection, int(found[1]), tournament)
    if edition_in(words) is not None:
        step = f"enginetour ratings LIST --as-of {words.strip()!r}"
        raise UsageRefused(f"{words.strip()!r} of which list?", place="--as-of", step=step)
    at = _time(words.strip())
    game = select(func.max(EVENTS.c.game)).where(EVENTS.c.kind == "finished", EVENTS.c.at <= at)
    imported = select(func.max(IMPORTED_GAMES.c.id)).join(
        TOURNAMENTS, and_(TOURNAMENTS.c.id == IMPORTED_GAMES.c.tournament, TOURNAMENTS.c.created <= at)
    )
    return Moment(connection.execute(game).scalar() or 0, connection.execute(imported).scalar() or 0, at)


def _newest(connection: Connection, table: object) -> int:
    return int(connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one())  # type: ignore[attr-defined]


def _after_game(connection: Connection, number: int, tournament: int | None) -> Moment:
    counted = GAMES.c.id if tournament is None else GAMES.c.number
    own = [] if tournament is None else [GAMES.c.tournament == tournament]
    row = select(GAMES.c.id, EVENTS.c.at).join(EVENTS, EVENTS.c.game == GAMES.c.id)
    row = row.where(counted == min(number, LARGEST_NUMBER), EVENTS.c.kind == "finished", *own)
    found = connection.execute(row).first()
    if found is None:
        newest = connection.execute(select(func.coalesce(func.max(counted), 0)).where(*own)).scalar_one()
        where = "" if tournament is None else " in this tournament"
        which = f"the newest is {newest}" if newest else "none was played here"
        raise UsageRefused(f"there is no game {number}{where}, {which}", place="--as-of")
    imported = select(func.max(IMPORTED_GAMES.c.id)).join(
        IMPORTS, and_(IMPORTS.c.tournament == IMPORTED_GAMES.c.tournament, IMPORTS.c.after_game < found.id)
    )
    return Moment(found.id, connection.execute(imported).scalar() or 0, found.at)


def _time(words: str) -> float:
    """UTC seconds of a time, or of the last instant of a day."""
    try:
        found = datetime.fromisoformat(words)
    except ValueError:
        raise UsageRefused(f"{words!r} is no moment; write {_FORMS}", place="--as-of") from None
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    whole_day = len(words) <= len("2026-11-01") and found.time() == time_of_day()
    return found.timestamp() + (DAY - 1e-6 if whole_day else 0)
