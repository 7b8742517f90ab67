"""Stores with games of several controls, machines and days, for tests of lists and their filters."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from sqlalchemy import insert, select, update

from enginetour.model.game import Outcome
from enginetour.ratings.ratinglist import RatingList, Row
from enginetour.store.check import inspect
from enginetour.store.counts import packed
from enginetour.store.log import TournamentLog
from enginetour.store.tables import EVENTS, IMPORTED_GAMES, IMPORTS, TOURNAMENTS
from enginetour.store.tournaments import Store
from tests.storing import add_game, game

_meetings = itertools.count(1)


def seconds(day: str) -> float:
    """UTC seconds of a day or a time."""
    return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()


def record(
    log: TournamentLog,
    white: str,
    black: str,
    outcome: Outcome = Outcome.WHITE,
    *,
    day: str = "2026-11-01",
    tc: str = "180+2",
    hardware: str = "",
) -> int:
    """A game that ended, and was written, at noon of a day; its id."""
    at = seconds(f"{day}T12:00")
    played = game(white, black, outcome, meeting=next(_meetings))
    add_game(log, replace(played, white_tc=tc, black_tc=tc, hardware=hardware, started=at - 60, ended=at))
    return stamp(log, at)


def findings(store: Store) -> list[str]:
    """But for those on the log: its games were never on offer."""
    return [one.what for one in inspect(store).findings if not one.place.startswith("tournament")]


def row(found: RatingList, name: str) -> Row:
    """Of one engine."""
    return next(each for each in found.rows if each.name == name)


def stamp(log: TournamentLog, at: float) -> int:
    """The newest event happened at that time; the id of its game."""
    newest = (EVENTS.c.tournament == log.id, EVENTS.c.position == log.last_position)
    with log.database.writing() as connection:
        connection.execute(update(EVENTS).where(*newest).values(at=at))
        return int(connection.execute(select(EVENTS.c.game).where(*newest)).scalar_one() or 0)


def bring(
    store: Store, games: list[tuple[int, int, int]], *, name: str = "club", day: int = 20261101, tc: str = "300+3"
) -> None:
    """An import with games as (White's version, Black's version, White's half points)."""
    with store.database.writing() as connection:
        row = {"name": name, "edition": 1, "slug": name, "system": "import", "format_version": 1}
        row |= {"config": "{}", "seed": 1, "created": seconds("2026-11-05"), "version": "1"}
        tournament = connection.execute(insert(TOURNAMENTS), row).inserted_primary_key[0]  # type: ignore[index]
        newest = connection.exec_driver_sql("SELECT coalesce(max(id), 0) FROM games").scalar_one()
        place = {"tournament": tournament, "files": "[]", "after_game": newest, "games": len(games)}
        met = sorted({(white, black) for white, black, _ in games})
        sums = np.array([(*pair, *(games.count((*pair, points)) for points in (2, 1, 0))) for pair in met]).T
        connection.execute(insert(IMPORTS), {**place, "duplicates": 0, "counts": packed(sums), "digests": b""})
        for number, (white, black, points) in enumerate(games):
            ends = {"tournament": tournament, "white": white, "black": black}
            about = {"half_points": points, "day": day, "tc": tc, "file": 0, "offset": number}
            connection.execute(insert(IMPORTED_GAMES), {**ends, **about})
