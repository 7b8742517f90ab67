"""A state of the store in the past: which games were there, and which of them were struck out by then."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time

from sqlalchemy import ColumnElement, Connection, and_, exists, func, select

from enginetour.model.errors import UsageRefused
from enginetour.model.game import Outcome
from enginetour.store.codecs import LARGEST_NUMBER
from enginetour.store.removals import removed
from enginetour.store.tables import EVENTS, GAMES, IMPORTED_GAMES, IMPORTS, TOURNAMENTS

DAY = 86_400  # seconds, UTC
_GAME = re.compile(r"game\s+(\d{1,19})")
_EDITION = re.compile(r"edition\s+(\d{1,9})")
_FORMS = "a day 2026-11-01, a time 2026-11-01T22:30 (UTC), 'edition N' of a list, or 'game N'"


@dataclass(frozen=True, slots=True)
class Moment:
    """Games up to id `game`, imported ones up to id `imported`, without what was struck out by `at` (UTC seconds)."""

    game: int
    imported: int
    at: float

    def standing(self) -> ColumnElement[bool]:
        """The condition on rows of games: there by then, with a result that stood."""
        struck = exists().where(EVENTS.c.game == GAMES.c.id, EVENTS.c.kind == "voided", EVENTS.c.at <= self.at)
        return and_(GAMES.c.id <= self.game, GAMES.c.outcome != Outcome.VOID.value, ~struck)

    def read(self) -> ColumnElement[bool]:
        """The condition on rows of imported games: there by then, of an import that stood."""
        return and_(IMPORTED_GAMES.c.id <= self.imported, IMPORTED_GAMES.c.tournament.not_in(removed(self.at)))


def edition_in(words: str | None) -> int | None:
    """The number of ``edition N``; None for other moments."""
    found = _EDITION.fullmatch((words or "").strip())
    return int(found[1]) if found else None


def moment_of(connection: Connection, words: str | None, tournament: int | None = None) -> Moment:
    """Now for None; else the end of a day, a time, or just after a game. UsageRefused for anything else.

    ``game N`` is the tournament's own number, or, over all tournaments, what an edition tells of its last game. Games
    of files are those imported before it, and what was struck out is what was by its end: an edition may have been
    made later. Editions are moments of their lists: `editions.edition` has them.
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
    whole_day = len(words) <= len("2026-11-01") and found.time() == time()
    return found.timestamp() + (DAY - 1e-6 if whole_day else 0)
