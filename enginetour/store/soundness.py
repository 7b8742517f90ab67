"""What can be wrong with rows that a database itself finds in order: gaps, unreadable games, wrong counts.

Every check yields sentences about what it found, none for what is well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, exists, func, select

from enginetour.store import codecs
from enginetour.store.database import Database
from enginetour.store.importlog import IMPORT
from enginetour.store.log import TournamentLog
from enginetour.store.paircounts import by_pair, unpacked
from enginetour.store.queries import EVEN_READ, recounted, versions_counts
from enginetour.store.removals import KIND, removed
from enginetour.store.tables import (
    ENGINES,
    EVENTS,
    GAMES,
    IMPORTED_GAMES,
    IMPORTS,
    MOVES,
    RATING_EVENTS,
    RATING_REVISIONS,
    TOURNAMENTS,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter


MOST_TOLD = 20  # findings of one kind in one place: a screenful; the rest is counted
DIGEST_BYTES = 8  # of one imported game, as the table of imports keeps it
GAMES_A_BLOCK = 100  # whole games held at once, about 1 MB

Counts = Mapping[tuple[int, int], tuple[int, int, int]]


def pages(database: Database) -> Iterator[str]:
    """The database's own full check, then references to rows that are not there."""
    with database.reading() as connection:
        yield from database.ground.integrity(connection, MOST_TOLD)


def streams(database: Database) -> Iterator[str]:
    """Rating events of revisions that are not there."""
    own = RATING_REVISIONS.c.system == RATING_EVENTS.c.system, RATING_REVISIONS.c.revision == RATING_EVENTS.c.revision
    rows = select(RATING_EVENTS.c.system, func.count()).where(~exists().where(*own)).group_by(RATING_EVENTS.c.system)
    with database.reading() as connection:
        for system, count in connection.execute(rows):
            yield f"{count} rating events of {system} are of no revision"


def order(log: TournamentLog) -> Iterator[str]:
    """Positions and game numbers without gaps, and one event for every game."""
    here = EVENTS.c.tournament == log.id
    finished = select(EVENTS.c.game).where(here, EVENTS.c.kind == "finished")
    with log.database.reading() as connection:
        yield from _gap(connection, EVENTS.c.position, here, "events")
        yield from _gap(connection, GAMES.c.number, GAMES.c.tournament == log.id, "games")
        games = set(connection.execute(select(GAMES.c.id).where(GAMES.c.tournament == log.id)).scalars())
        told = Counter(connection.execute(finished).scalars())
    for words, count in (
        ("games have no event", len(games - set(told))),
        ("events finish a game that is not there", len(set(told) - games)),
        ("games were finished twice", sum(times > 1 for times in told.values())),
    ):
        if count:
            yield f"{count} {words}"


def unreadable(log: TournamentLog) -> Iterator[str]:
    """Games whose record or moves cannot be read back."""
    rows = select(GAMES, MOVES.c.moves).select_from(GAMES.outerjoin(MOVES, MOVES.c.game == GAMES.c.id))
    rows = rows.where(GAMES.c.tournament == log.id).order_by(GAMES.c.number)
    with log.database.reading() as connection:
        found = connection.execute(rows.execution_options(yield_per=GAMES_A_BLOCK))
        yield from _some(words for row in found if (words := _unreadable(row)))


def miscounted(database: Database, tournament: int) -> Iterator[str]:
    """Pairs of a tournament whose kept counts are not what its games give."""
    yield from _differences(database, versions_counts(database, tournament), recounted(database, tournament))


def imports(database: Database) -> list[tuple[str, int]]:
    """Name and edition of every import, oldest first; reads nothing of what it brought."""
    rows = select(TOURNAMENTS.c.name, TOURNAMENTS.c.edition).where(TOURNAMENTS.c.system == IMPORT)
    with database.reading() as connection:
        return [(name, edition) for name, edition in connection.execute(rows.order_by(TOURNAMENTS.c.id))]


def imported(database: Database, tournament: int) -> Iterator[str]:
    """An import's games, digests and counts against each other, and its log: struck out once at most."""
    with database.reading() as connection:
        row = connection.execute(select(IMPORTS).where(IMPORTS.c.tournament == tournament)).first()
        if row is None:
            yield "its import is not there"
            return
        mine = IMPORTED_GAMES.c.tournament == tournament
        games, even = connection.execute(select(func.count(), func.count().filter(EVEN_READ)).where(mine)).one()
        log = connection.execute(select(EVENTS.c.kind).where(EVENTS.c.tournament == tournament)).scalars().all()
        sums = [func.count().filter(IMPORTED_GAMES.c.half_points == points) for points in (2, 1, 0)]
        pair = (IMPORTED_GAMES.c.white, IMPORTED_GAMES.c.black)
        counted = {
            (white, black): (wins, draws, losses)
            for white, black, wins, draws, losses in connection.execute(
                select(*pair, *sums).where(mine, EVEN_READ).group_by(*pair)
            )
        }
        kept = by_pair(unpacked(row.counts))
    if log not in ([], [KIND]):
        yield f"its log tells {', '.join(log)}, an import can only be struck out, once"
    if games - even != row.odds:
        yield f"brought {row.odds} games at odds, {games - even} are there"
    if games != row.games:
        yield f"brought {row.games} games, {games} are there"
    if len(row.digests) != DIGEST_BYTES * row.games:
        yield f"{len(row.digests) / DIGEST_BYTES:g} digests for {row.games} games"
    yield from _differences(database, kept, counted)


def doubled(database: Database) -> Iterator[str]:
    """Digests that are in the store twice: a game of a file counts once, whatever files bring it.

    Those of imports that were struck out may come again.
    """
    standing = select(IMPORTS.c.digests).where(IMPORTS.c.tournament.not_in(removed()))
    with database.reading() as connection:
        blobs = connection.execute(standing.order_by(IMPORTS.c.tournament)).scalars().all()
    found = np.frombuffer(b"".join(blob[: len(blob) // DIGEST_BYTES * DIGEST_BYTES] for blob in blobs), dtype="<u8")
    twice = len(found) - len(np.unique(found))
    if twice:
        yield f"{twice} imported games are there twice"


def _gap(connection: Connection, column: Any, condition: Any, words: str) -> Iterator[str]:
    count, last = connection.execute(select(func.count(), func.coalesce(func.max(column), 0)).where(condition)).one()
    if count != last:
        yield f"{count} {words} up to number {last}"


def _unreadable(row: Any) -> str:
    """Why a game cannot be read, "" where it can."""
    if row.moves is None:
        return f"game {row.number} has no moves"
    try:
        game = codecs.game_of(row, row.moves)
    except (ValueError, TypeError, LookupError, AttributeError) as error:  # whatever a changed row can hold
        return f"game {row.number} cannot be read: {error}"
    if odd := misshapen(game):
        return f"game {row.number} cannot be read: {odd}"
    return "" if game.plies == row.plies else f"game {row.number} has {game.plies} plies, its record says {row.plies}"


def misshapen(noun: object) -> str:
    """The first field of a dataclass, or of what is in it, that holds another type than is declared; "" for none."""
    from pydantic import ValidationError

    kind: Any = type(noun)
    try:
        _shape(kind).validate_python((noun,))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}"
    return ""


@lru_cache
def _shape(kind: Any) -> TypeAdapter[tuple[Any]]:
    from pydantic import ConfigDict, TypeAdapter

    # In a tuple: a dataclass alone takes no settings from outside (pydantic, "TypeAdapter").
    return TypeAdapter(tuple[kind], config=ConfigDict(revalidate_instances="always", strict=True))


def _differences(database: Database, kept: Counts, counted: Counts) -> Iterator[str]:
    differing = sorted(pair for pair in kept.keys() | counted.keys() if kept.get(pair) != counted.get(pair))
    if not differing:
        return
    with database.reading() as connection:
        names = {row.id: row.name for row in connection.execute(select(ENGINES.c.id, ENGINES.c.name))}
    none = (0, 0, 0)
    yield from _some(
        f"{names.get(white, white)} - {names.get(black, black)}: kept as {_wdl(kept.get((white, black), none))}, "
        f"the games give {_wdl(counted.get((white, black), none))}"
        for white, black in differing
    )


def _wdl(counts: tuple[int, int, int]) -> str:
    """Won, drawn, lost: ``+3 =1 -0``."""
    won, drawn, lost = counts
    return f"+{won} ={drawn} -{lost}"


def _some(findings: Iterator[str]) -> Iterator[str]:
    """The first ones, and how many more there are."""
    yield from islice(findings, MOST_TOLD)
    more = sum(1 for _ in findings)
    if more:
        yield f"and {more} more of this kind"
