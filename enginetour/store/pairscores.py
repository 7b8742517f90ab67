"""Which games of the store came in pairs on one opening, counted by the points they brought: one aggregate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Subquery, and_, bindparam, case, func, select

from enginetour.model.game import Outcome
from enginetour.store.database import Database
from enginetour.store.queries import EVEN, STRUCK
from enginetour.store.ratednames import rated_names
from enginetour.store.reader import TournamentReader
from enginetour.store.tables import ENGINES, GAMES

STANDING = and_(GAMES.c.outcome != Outcome.VOID.value, ~STRUCK, EVEN)

PairCounts = tuple[int, int, int, int, int]  # pairs that brought 0, 1/2, 1, 3/2, 2 points


def openings_of(
    database: Database,
    *wanted: ColumnElement[bool],
    names: Mapping[int, str] | None = None,
    standing: ColumnElement[bool] = STANDING,
) -> dict[tuple[str, str], PairCounts]:
    """Complete pairs of every two engines by the points of the first, of the games that are `wanted` (of GAMES).

    `names` are those of engine versions, by default as the whole store's lists show them; versions of one name are
    added up, versions without a name left out. `standing` says which results count, by default those of even games
    that stand now. Both legs have one, by the same two versions with colours swapped on the same opening: legs 1 and
    2, 3 and 4, ... of a meeting.
    """
    with database.reading() as connection:
        shown = rated_names(connection) if names is None else names
        return _added_up(connection, (standing, *wanted), shown)


def openings_of_pair(log: TournamentReader, one: str, other: str) -> tuple[PairCounts | None, int]:
    """The pairs of two engines of a tournament by the points of the first, and how many of them are two draws.

    None where they have none; the other level ones are a win each.
    """
    found, draws = [0] * 5, 0
    with log.database.reading() as connection:
        rows = connection.execute(_of_match(), {"t": log.id}).all()
        ids = {key for row in rows for key in row[:2]}
        named = select(ENGINES.c.id, ENGINES.c.name).where(ENGINES.c.id.in_(ids)) if ids else None
        plain = {row.id: row.name for row in connection.execute(named)} if named is not None else {}
    for low, high, brought, drawn, number in rows:
        if {plain[low], plain[high]} == {one, other} and one != other:
            found[brought if plain[low] == one else 4 - brought] += number
            draws += number * (drawn == 2)
    return ((found[0], found[1], found[2], found[3], found[4]) if any(found) else None), draws


def openings_of_tournament(log: TournamentReader) -> dict[tuple[str, str], PairCounts]:
    """Those of one tournament by the plain names of its engines."""
    with log.database.reading() as connection:
        plain = {row.id: row.name for row in connection.execute(select(ENGINES.c.id, ENGINES.c.name))}
        return _added_up(connection, (STANDING, GAMES.c.tournament == log.id), plain)


@cache
def _of_match() -> Select[Any]:
    """Made once: it is asked for every second, and takes longer to make than to answer."""
    couples = _couples((STANDING, GAMES.c.tournament == bindparam("t")))
    columns = couples.c.low, couples.c.high, couples.c.points, couples.c.draws
    return select(*columns, func.count()).group_by(*columns)


def _added_up(
    connection: Connection, wanted: tuple[ColumnElement[bool], ...], names: Mapping[int, str]
) -> dict[tuple[str, str], PairCounts]:
    """The aggregate under these names, from the side of the name that sorts first."""
    couples = _couples(wanted)
    columns = couples.c.low, couples.c.high, couples.c.points
    found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * 5)
    for one, other, brought, number in connection.execute(select(*columns, func.count()).group_by(*columns)):
        if one not in names or other not in names or names[one] == names[other]:
            continue
        turned = names[one] > names[other]
        pair = (names[other], names[one]) if turned else (names[one], names[other])
        found[pair][4 - brought if turned else brought] += number
    return {pair: (c[0], c[1], c[2], c[3], c[4]) for pair, c in sorted(found.items())}


def _couples(wanted: tuple[ColumnElement[bool], ...]) -> Subquery:
    """Complete pairs: both versions, the points of the one with the lower number, and how many games were drawn."""
    white, black, outcome = GAMES.c.white_engine, GAMES.c.black_engine, GAMES.c.outcome
    forward = white < black
    points = case(
        (outcome == Outcome.DRAW.value, 1),
        (outcome == Outcome.WHITE.value, case((forward, 2), else_=0)),
        else_=case((forward, 0), else_=2),
    )
    low, high = case((forward, white), else_=black), case((forward, black), else_=white)
    drawn = func.sum(case((outcome == Outcome.DRAW.value, 1), else_=0)).label("draws")
    return (
        select(low.label("low"), high.label("high"), func.sum(points).label("points"), drawn)
        .where(*wanted)
        .group_by(GAMES.c.tournament, low, high, GAMES.c.meeting, (GAMES.c.leg + 1) // 2)
        .having(
            func.count() == 2,
            func.sum(case((forward, 1), else_=0)) == 1,
            func.min(GAMES.c.opening) == func.max(GAMES.c.opening),
        )
        .subquery()
    )
