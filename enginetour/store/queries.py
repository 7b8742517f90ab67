"""What is read from a tournament: events, lines of games, whole games, counts. Nothing here writes.

Long lists are read in pages, so that no reader holds a view of the database while its consumer thinks.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, and_, exists, func, literal_column, or_, select

from enginetour.model.game import (
    Added,
    Event,
    Extended,
    Game,
    GameFinished,
    GameKey,
    GameVoided,
    Incident,
    Note,
    Outcome,
    Pairing,
    Replaced,
    Withdrawn,
)
from enginetour.store import codecs
from enginetour.store.database import Database
from enginetour.store.paircounts import added_up, by_pair, joined, kept_counts
from enginetour.store.tables import ENGINES, EVENTS, GAMES, IMPORTED_GAMES, INCIDENTS, MOVES, NOTES

EVENTS_A_PAGE = 2000  # about 1 MB of rows
GAMES_A_PAGE = 100  # whole games: about 1 MB too

_PAIRING = tuple(GAMES.c[field.name] for field in fields(Pairing))
EVEN = GAMES.c.handicap == 0
ODDS = GAMES.c.handicap != literal_column("0")  # as the index `games_odds` has it, or it would not be used
EVEN_READ = func.coalesce(IMPORTED_GAMES.c.handicap, 1) == 0  # of an imported game; null: odds of unknown size
STRUCK = exists().where(EVENTS.c.game == GAMES.c.id, EVENTS.c.kind == "voided")
STANDING = and_(GAMES.c.outcome != Outcome.VOID.value, ~STRUCK)
_INCIDENTS_OF = select(func.count()).where(INCIDENTS.c.game == GAMES.c.id).scalar_subquery()


@dataclass(frozen=True, slots=True)
class GameLine:
    """A game as a line of a list. `voided`: it was struck out afterwards; `incidents` counts them."""

    number: int
    white: str
    black: str
    outcome: Outcome
    termination: str
    cause: str
    culprit: str
    category: str
    plies: int
    started: float
    ended: float
    meeting: int
    leg: int
    encounter: int
    round: int
    replay: int
    voided: bool
    incidents: int
    handicap: int
    white_tc: str
    black_tc: str
    load: float | None
    cores: int | None
    own_us: int | None = None

    @property
    def busy(self) -> bool:
        """More wanted to run on that machine than it has processors: clocks and strengths may have suffered."""
        return self.load is not None and self.cores is not None and self.load > self.cores

    @property
    def counts(self) -> bool:
        """It has a result that stands."""
        return self.outcome is not Outcome.VOID and not self.voided

    @property
    def how(self) -> str:
        """How it ended, and that it was struck out."""
        return f"struck out, was {self.outcome}: {self.cause}" if self.voided else self.cause


@dataclass(frozen=True, slots=True)
class Stored:
    """A game of the log with its number; `voided`: it was struck out afterwards."""

    number: int
    game: Game
    voided: bool


def events(database: Database, tournament: int, after: int = 0) -> Iterator[Event]:
    """Every event of a tournament beyond a position, in order; reads no moves."""
    last = after
    joined = EVENTS.outerjoin(GAMES, GAMES.c.id == EVENTS.c.game)
    page = select(EVENTS.c.position, EVENTS.c.kind, EVENTS.c.payload, GAMES.c.outcome, *_PAIRING).select_from(joined)
    page = page.where(EVENTS.c.tournament == tournament).order_by(EVENTS.c.position).limit(EVENTS_A_PAGE)
    while True:
        with database.reading() as connection:
            rows = connection.execute(page.where(EVENTS.c.position > last)).fetchall()
        if not rows:
            return
        for row in rows:
            yield _event(row)
        last = rows[-1].position


def _event(row: Any) -> Event:
    if row.kind == "finished":
        return GameFinished(codecs.pairing_of(row), Outcome(row.outcome))
    payload = json.loads(row.payload)
    if row.kind == "voided":
        return GameVoided(codecs.pairing_of(row), Outcome(row.outcome), payload["why"])
    if row.kind == "withdrawn":
        return Withdrawn(payload["name"])
    if row.kind == "extended":
        return Extended(tuple(payload["settings"].items()))
    entrant = codecs.entrant_of(payload["entrant"])
    return Added(entrant) if row.kind == "added" else Replaced(payload["old"], entrant)


def notes(database: Database, tournament: int) -> list[tuple[int, Note]]:
    """Every decision with the position of its event, oldest first."""
    rows = select(NOTES).where(NOTES.c.tournament == tournament).order_by(NOTES.c.position, NOTES.c.ordinal)
    with database.reading() as connection:
        return [(row.position, codecs.note_of(row)) for row in connection.execute(rows)]


def decisions(database: Database, tournament: int, first: int) -> dict[int, list[Note]]:
    """The decisions that games from number `first` on caused, by number, in order."""
    joined = GAMES.join(EVENTS, and_(EVENTS.c.game == GAMES.c.id, EVENTS.c.kind == "finished"))
    joined = joined.join(NOTES, and_(NOTES.c.tournament == tournament, NOTES.c.position == EVENTS.c.position))
    rows = select(GAMES.c.number, NOTES).select_from(joined).order_by(GAMES.c.number, NOTES.c.ordinal)
    found: dict[int, list[Note]] = defaultdict(list)
    with database.reading() as connection:
        for row in connection.execute(rows.where(GAMES.c.tournament == tournament, GAMES.c.number >= first)):
            found[row.number].append(codecs.note_of(row))
    return found


def game_lines(
    database: Database,
    tournament: int,
    *,
    engine: str | None = None,
    opponent: str | None = None,
    termination: str | None = None,
    outcome: Outcome | None = None,
    incidents: bool = False,
    counting: bool = False,
    first: int = 1,
    limit: int | None = None,
) -> list[GameLine]:
    """Lines of games in order; `counting` leaves out void ones, `incidents` those without, `limit` keeps the last."""
    wanted = [GAMES.c.tournament == tournament, GAMES.c.number >= first]
    named = [name for name in (engine, opponent) if name is not None]
    wanted += [or_(GAMES.c.white == name, GAMES.c.black == name) for name in named]
    if termination is not None:
        wanted.append(or_(GAMES.c.termination == termination, GAMES.c.termination.startswith(f"{termination}-")))
    if outcome is not None:
        wanted.append(GAMES.c.outcome == outcome.value)
    if incidents:
        wanted.append(exists().where(INCIDENTS.c.game == GAMES.c.id))
    if counting:
        wanted.append(and_(GAMES.c.outcome != Outcome.VOID.value, ~STRUCK))
    computed = {"voided": STRUCK.label("voided"), "incidents": _INCIDENTS_OF.label("incidents")}
    columns = [computed[name] if name in computed else GAMES.c[name] for name in GameLine.__slots__]
    rows = select(*columns).where(*wanted).order_by(GAMES.c.number.desc())
    with database.reading() as connection:
        found = connection.execute(rows if limit is None else rows.limit(limit)).fetchall()
    return [_line(row) for row in reversed(found)]


def _line(row: Any) -> GameLine:
    fields = row._asdict()
    return GameLine(**{**fields, "outcome": Outcome(row.outcome), "voided": bool(row.voided)})


def endings(database: Database, tournament: int) -> Counter[str]:
    """How many games that count ended in each way; without a line for each, which takes 0.15 s for 10 000."""
    kept = [GAMES.c.tournament == tournament, GAMES.c.outcome != Outcome.VOID.value, ~STRUCK]
    rows = select(GAMES.c.termination, func.count().label("games")).where(*kept).group_by(GAMES.c.termination)
    with database.reading() as connection:
        return Counter({row.termination: row.games for row in connection.execute(rows)})


def full_games(database: Database, tournament: int, *, first: int = 1, last: int | None = None) -> Iterator[Stored]:
    """Whole games in order, `first` to `last`, read a page at a time."""
    joined = GAMES.join(MOVES, MOVES.c.game == GAMES.c.id)
    page = select(GAMES, MOVES.c.moves, STRUCK.label("voided")).select_from(joined)
    page = page.where(GAMES.c.tournament == tournament).order_by(GAMES.c.number).limit(GAMES_A_PAGE)
    if last is not None:
        page = page.where(GAMES.c.number <= last)
    while True:
        with database.reading() as connection:
            rows = connection.execute(page.where(GAMES.c.number >= first)).fetchall()
            trouble = _incidents_of(connection, [row.id for row in rows])
        for row in rows:
            game = codecs.game_of(row, row.moves, trouble.get(row.id, ()))
            yield Stored(row.number, game, bool(row.voided))
        if not rows:
            return
        first = rows[-1].number + 1


def _incidents_of(connection: Connection, games: list[int]) -> dict[int, list[Incident]]:
    found: dict[int, list[Incident]] = defaultdict(list)
    rows = select(INCIDENTS).where(INCIDENTS.c.game.in_(games)).order_by(INCIDENTS.c.game, INCIDENTS.c.ordinal)
    for row in connection.execute(rows):
        found[row.game].append(codecs.incident_of(row))
    return found


def incidents(database: Database, tournament: int) -> list[tuple[int, Incident]]:
    """What a tester must see, with the numbers of the games, oldest first."""
    rows = select(GAMES.c.number, INCIDENTS).join(GAMES, GAMES.c.id == INCIDENTS.c.game)
    rows = rows.where(GAMES.c.tournament == tournament).order_by(GAMES.c.number, INCIDENTS.c.ordinal)
    with database.reading() as connection:
        return [(row.number, codecs.incident_of(row)) for row in connection.execute(rows)]


def _of_key(tournament: int, key: GameKey) -> tuple[Any, ...]:
    a, b, meeting, leg = key
    same = (GAMES.c.a == a, GAMES.c.b == b, GAMES.c.meeting == meeting, GAMES.c.leg == leg)
    return (GAMES.c.tournament == tournament, *same)


def replays(database: Database, tournament: int, key: GameKey) -> int:
    """How many games of the key are void or struck out."""
    void = or_(GAMES.c.outcome == Outcome.VOID.value, STRUCK)
    with database.reading() as connection:
        rows = select(func.count()).select_from(GAMES).where(*_of_key(tournament, key), void)
        return int(connection.execute(rows).scalar_one())


def aborts(database: Database, tournament: int, key: GameKey) -> int:
    """How many games of the key an engine gave up."""
    given_up = (GAMES.c.outcome == Outcome.VOID.value, GAMES.c.category == "engine-abort")
    with database.reading() as connection:
        rows = select(func.count()).select_from(GAMES).where(*_of_key(tournament, key), *given_up)
        return int(connection.execute(rows).scalar_one())


def standing_game(connection: Connection, tournament: int, key: GameKey) -> Any | None:
    """The row of the key's game whose result stands, if there is one."""
    stands = (GAMES.c.outcome != Outcome.VOID.value, ~STRUCK)
    return connection.execute(select(GAMES).where(*_of_key(tournament, key), *stands)).first()


def gone(connection: Connection, tournament: int) -> set[str]:
    """Names that withdrew or were replaced by another name."""
    rows = select(EVENTS.c.kind, EVENTS.c.payload).where(EVENTS.c.tournament == tournament)
    left: set[str] = set()
    for row in connection.execute(rows.where(EVENTS.c.kind.in_(["withdrawn", "replaced"]))):
        payload = json.loads(row.payload)
        if row.kind == "withdrawn":
            left.add(payload["name"])
        elif payload["entrant"]["name"] != payload["old"]:
            left.add(payload["old"])
    return left


def grown(database: Database, tournament: int) -> dict[str, int]:
    """Settings of the format that were extended, with their values now."""
    rows = select(EVENTS.c.payload).where(EVENTS.c.tournament == tournament, EVENTS.c.kind == "extended")
    values: dict[str, int] = {}
    with database.reading() as connection:
        for row in connection.execute(rows.order_by(EVENTS.c.position)):
            values |= json.loads(row.payload)["settings"]
    return values


def recounted(database: Database, tournament: int) -> dict[tuple[int, int], tuple[int, int, int]]:
    """The pair counts by engine versions, counted again from the even games: what the kept ones must equal."""
    sums = [
        func.count().filter(GAMES.c.outcome == outcome.value).label(outcome.name)
        for outcome in (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK)
    ]
    rows = select(GAMES.c.white_engine, GAMES.c.black_engine, *sums).group_by(
        GAMES.c.white_engine, GAMES.c.black_engine
    )
    rows = rows.where(GAMES.c.tournament == tournament, GAMES.c.outcome != Outcome.VOID.value, ~STRUCK, EVEN)
    with database.reading() as connection:
        return {(row[0], row[1]): (row[2], row[3], row[4]) for row in connection.execute(rows)}


def versions_counts(database: Database, tournament: int) -> dict[tuple[int, int], tuple[int, int, int]]:
    """The pair counts by engine versions as they were kept."""
    with database.reading() as connection:
        return by_pair(joined(kept_counts(connection, [tournament]).values()))


def pair_counts(database: Database, tournament: int) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Wins, draws, losses of White by names; versions of one entrant are added up."""
    with database.reading() as connection:
        names = {row.id: row.name for row in connection.execute(select(ENGINES.c.id, ENGINES.c.name))}
        kept = joined(kept_counts(connection, [tournament]).values())
    return added_up(by_pair(kept).items(), names)
