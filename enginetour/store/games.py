"""GameQuery: lines, whole games, counts, conditions.

Long lists are read in pages, so that no reader holds a view of the database while its consumer thinks.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, or_, select

from enginetour.interop.gametags import NOT_TOLD, Partners
from enginetour.model.errors import StoreRefused, UsageRefused, match_name, no_match_hint, suggest
from enginetour.model.game import (
    Added,
    Entrant,
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
    SideRecord,
    Withdrawn,
)
from enginetour.model.task import EngineSpec
from enginetour.store import codecs
from enginetour.store.address import ServerAddress
from enginetour.store.codecs import side_of
from enginetour.store.counts import (
    counts_by_name,
    counts_by_pair,
    import_stands,
    join_counts,
    kept_counts,
    nonstandard_variants,
    title_of,
)
from enginetour.store.database import Database
from enginetour.store.engines import rated_names
from enginetour.store.tables import (
    ENGINES,
    ENTRANTS,
    EVEN,
    EVEN_READ,
    EVENTS,
    GAMES,
    IMPORTED_GAMES,
    INCIDENTS,
    MOVES,
    NEXT_POSITION,
    NOTES,
    ODDS,
    STANDING,
    STRUCK,
    TOURNAMENTS,
)

# What is read from a tournament: events, lines of games, whole games, counts. Nothing here writes.

_EVENTS_A_PAGE = 2000  # about 1 MB of rows
GAMES_A_PAGE = 100  # whole games: about 1 MB too

_PAIRING = tuple(GAMES.c[field.name] for field in fields(Pairing))
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
class StoredGame:
    """A game of the log with its number; `voided`: it was struck out afterwards."""

    number: int
    game: Game
    voided: bool


def events(database: Database, tournament: int, after: int = 0) -> Iterator[Event]:
    """Every event of a tournament beyond a position, in order; reads no moves."""
    last = after
    joined = EVENTS.outerjoin(GAMES, GAMES.c.id == EVENTS.c.game)
    page = select(EVENTS.c.position, EVENTS.c.kind, EVENTS.c.payload, GAMES.c.outcome, *_PAIRING).select_from(joined)
    page = page.where(EVENTS.c.tournament == tournament).order_by(EVENTS.c.position).limit(_EVENTS_A_PAGE)
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


def _game_lines(
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


def full_games(database: Database, tournament: int, *, first: int = 1, last: int | None = None) -> Iterator[StoredGame]:
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
            yield StoredGame(row.number, game, bool(row.voided))
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
        return counts_by_pair(join_counts(kept_counts(connection, [tournament]).values()))


def pair_counts(database: Database, tournament: int) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Wins, draws, losses of White by names; versions of one entrant are added up."""
    with database.reading() as connection:
        names = {row.id: row.name for row in connection.execute(select(ENGINES.c.id, ENGINES.c.name))}
        kept = join_counts(kept_counts(connection, [tournament]).values())
    return counts_by_name(counts_by_pair(kept).items(), names)


# Games at time odds: no list of even games has them, so they are told apart, by what the giver scored.

UNKNOWN = 0  # bands, of games from files whose odds do not say who gives what
Scores = dict[int, tuple[int, int]]  # bands given -> games, half points of those that gave them


def scores_at_odds(
    connection: Connection, *wanted: ColumnElement[bool], read: ColumnElement[bool] | None = None
) -> Scores:
    """Of the games at odds that are `wanted` (of GAMES), by bands; which results count is among the conditions.

    With `read`, a condition of the kind on IMPORTED_GAMES, those from files too.
    """
    handicap, outcome = GAMES.c.handicap, GAMES.c.outcome
    rows = select(handicap, outcome, func.count()).where(ODDS, *wanted).group_by(handicap, outcome)
    games, points = Counter[int](), Counter[int]()
    for given, result, count in connection.execute(rows):
        games[abs(given)] += count
        points[abs(given)] += count * Outcome(result).half_points(white=given > 0)
    if read is not None:
        given, scored = IMPORTED_GAMES.c.handicap, IMPORTED_GAMES.c.half_points
        rows = select(given, scored, func.count()).where(~EVEN_READ, read).group_by(given, scored)
        for bands, half_points, count in connection.execute(rows):
            games[abs(bands or UNKNOWN)] += count
            points[abs(bands or UNKNOWN)] += count * (half_points if (bands or 0) > 0 else 2 - half_points)
    return {bands: (games[bands], points[bands]) for bands in sorted(games)}


def describe_scores(scores: Mapping[int, tuple[int, int]]) -> str:
    """``games at odds, apart from the list: 5; the giver scored 2.5 of 3 at 1 band, 0.5 of 2 at 2 bands``."""
    parts = [
        f"{points / 2:g} of {games:,} at {bands} band{'s' * (bands > 1)}"
        for bands, (games, points) in scores.items()
        if bands != UNKNOWN
    ]
    total = sum(games for games, _ in scores.values())
    words = [f"games at odds, apart from the list: {total:,}"]
    words += [f"the giver scored {', '.join(parts)}"] if parts else []
    words += [f"{scores[UNKNOWN][0]:,} of unknown size"] if UNKNOWN in scores and parts else []
    return "; ".join(words)


def odds_by_entrant(connection: Connection, tournament: int) -> dict[str, int]:
    """How many of an entrant's games that count were at odds, for those that have any."""
    standing = ODDS, GAMES.c.tournament == tournament, STANDING
    found = Counter[str]()
    for white, black in connection.execute(select(GAMES.c.white, GAMES.c.black).where(*standing)):
        found.update((white, black))
    return dict(found)


# One edition of a tournament in an open database, as it is read. Readers need no lock.


def damaged(log: TournamentReader, what: str) -> StoreRefused:
    """The refusal of a tournament in which one entrant cannot be read."""
    where = "" if isinstance(log.database.path, ServerAddress) else f" --db {shlex.quote(str(log.database.path))}"
    step = f"repair the database: enginetour db repair{where}"
    return StoreRefused(what, place=log.title, step=step)


def _spec_in_row(log: TournamentReader, name: str, text: object) -> EngineSpec:
    """How an entrant is started; StoreRefused where its row is damaged."""
    try:
        spec = codecs.spec_of(text)
        if spec.name != name:
            raise ValueError(f"it has another name, {spec.name!r}")
        return spec
    except ValueError as error:
        raise damaged(log, f"the specification of {name!r} cannot be read: {error}") from None


class TournamentReader:
    """What is known of it: who takes part, events, games, decisions, counts."""

    def __init__(self, database: Database, row: Any) -> None:
        self.database = database
        self.id: int = row.id
        self.name: str = row.name
        self.edition: int = row.edition
        self.slug: str = row.slug
        self.system: str = row.system
        self.format_version: int = row.format_version
        self.config: dict[str, Any] = json.loads(row.config)
        self.seed: int = row.seed
        self.created: float = row.created

    @property
    def title(self) -> str:
        """The name, with its edition from the second on."""
        return self.name if self.edition == 1 else f"{self.name} #{self.edition}"

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """The starting list, best first, as it was before the first event: what a replay starts from."""
        rows = self._rows(
            select(ENTRANTS).where(ENTRANTS.c.tournament == self.id, ENTRANTS.c.since == 0), ENTRANTS.c.place
        )
        try:
            return tuple(codecs.entrant_of(row._asdict()) for row in rows)
        except ValueError as error:
            raise damaged(self, f"an entrant cannot be read: {error}") from None

    @property
    def specs(self) -> dict[str, EngineSpec]:
        """How every entrant is started now, those that joined later included."""
        rows = self._rows(
            select(ENTRANTS.c.name, ENTRANTS.c.spec).where(ENTRANTS.c.tournament == self.id), ENTRANTS.c.since
        )
        return {row.name: _spec_in_row(self, row.name, row.spec) for row in rows}

    @property
    def known_ratings(self) -> dict[str, float]:
        """The ratings that entrants were given, by name."""
        known = (ENTRANTS.c.tournament == self.id, ENTRANTS.c.rating.is_not(None))
        rows = self._rows(select(ENTRANTS.c.name, ENTRANTS.c.rating).where(*known), ENTRANTS.c.since)
        return {row.name: row.rating for row in rows}

    @property
    def last_position(self) -> int:
        """Position of the newest event, 0 before the first."""
        with self.database.reading() as connection:
            return int(connection.execute(NEXT_POSITION, {"t": self.id}).scalar_one()) - 1

    @property
    def last_at(self) -> float:
        """When the newest event was written in UTC seconds, 0 before the first."""
        newest = select(func.coalesce(func.max(EVENTS.c.at), 0)).where(EVENTS.c.tournament == self.id)
        with self.database.reading() as connection:
            return float(connection.execute(newest).scalar_one())

    @property
    def last_number(self) -> int:
        """Number of the newest game, 0 before the first."""
        newest = select(func.coalesce(func.max(GAMES.c.number), 0)).where(GAMES.c.tournament == self.id)
        with self.database.reading() as connection:
            return int(connection.execute(newest).scalar_one())

    def events(self, after: int = 0) -> Iterator[Event]:
        """Every event beyond the position `after`, in order, without loading a move."""
        return events(self.database, self.id, after)

    def notes(self) -> list[tuple[int, Note]]:
        """Every decision with the position of its event, oldest first."""
        return notes(self.database, self.id)

    def decisions(self, first: int = 1) -> dict[int, list[Note]]:
        """The decisions that games caused, by the game's number, of games from number `first` on."""
        return decisions(self.database, self.id, first)

    def games(self, **filters: Any) -> list[GameLine]:
        """Games as lines, in order; the filters are those of `queries.game_lines`."""
        return _game_lines(self.database, self.id, **filters)

    def game(self, number: int) -> StoredGame:
        """One game with its moves; UsageRefused for a number that is not there."""
        if 0 < number <= codecs.LARGEST_NUMBER:
            for stored in full_games(self.database, self.id, first=number, last=number):
                return stored
        raise UsageRefused(f"there is no game {number} in {self.title}", step="enginetour games lists them")

    def full_games(self, first: int = 1) -> Iterator[StoredGame]:
        """Games with their moves from number `first` on, a few at a time."""
        return full_games(self.database, self.id, first=first)

    @property
    def gone(self) -> set[str]:
        """Who withdrew or was replaced."""
        with self.database.reading() as connection:
            return gone(connection, self.id)

    @property
    def grown(self) -> dict[str, int]:
        """Settings of the format that were extended after the start, with their values now."""
        return grown(self.database, self.id)

    def replays(self, key: GameKey) -> int:
        """How many games of that key do not count: the replay number of the next one."""
        return replays(self.database, self.id, key)

    def aborts(self, key: GameKey) -> int:
        """How many games of that key an engine gave up by ``*``."""
        return aborts(self.database, self.id, key)

    def pair_counts(self) -> dict[tuple[str, str], tuple[int, int, int]]:
        """Wins, draws, losses of White for each (white, black) that met."""
        return pair_counts(self.database, self.id)

    def odds_by_entrant(self) -> dict[str, int]:
        """How many of an entrant's games that count were at odds, for those that have any."""
        with self.database.reading() as connection:
            return odds_by_entrant(connection, self.id)

    def scores_at_odds(self) -> dict[int, tuple[int, int]]:
        """By bands given: the games at odds that count, and the half points of those that gave them."""
        with self.database.reading() as connection:
            return scores_at_odds(connection, GAMES.c.tournament == self.id, STANDING)

    def refuse_struck_out(self) -> None:
        """For imports, which can be: a tournament that was played here stays."""

    def incidents(self) -> list[tuple[int, Incident]]:
        """What a tester must see, with the numbers of the games."""
        return incidents(self.database, self.id)

    def _rows(self, statement: Any, order: Any) -> Sequence[Any]:
        with self.database.reading() as connection:
            return connection.execute(statement.order_by(order)).fetchall()


# Under what each game was played: opening, clocks and machine, and what both sides did; no move is loaded.

_COLUMNS = (
    *("number", "white", "black", "outcome", "opening", "started", "ended", "relay", "load", "cores", "steal"),
    *("own_us", "hardware", "handicap", "white_side", "black_side"),
)


@dataclass(frozen=True, slots=True)
class GameConditions:
    """One game that counts. Times are UTC seconds; `opening` is its name and 1-based place in the suite.

    `relay_us` is the relay gap: median, 99th percentile, largest. None is what was not measured.
    """

    number: int
    white: str
    black: str
    outcome: Outcome
    opening: tuple[str, int]
    started: float
    ended: float
    relay_us: tuple[int, int, int] | None
    load: float | None
    cores: int | None
    steal: float | None
    own_us: int | None
    hardware: str
    handicap: int
    sides: tuple[SideRecord, SideRecord]  # White's, Black's

    @property
    def busy(self) -> bool:
        """More wanted to run on that machine than it has processors."""
        return self.load is not None and self.cores is not None and self.load > self.cores


def game_conditions(log: TournamentReader) -> Iterator[GameConditions]:
    """Every game that counts, at odds or not, in the order of the log."""
    columns = [GAMES.c[name] for name in _COLUMNS]
    counting = GAMES.c.tournament == log.id, GAMES.c.outcome != Outcome.VOID.value, ~STRUCK
    with log.database.reading() as connection:
        yield from map(_conditions, connection.execute(select(*columns).where(*counting).order_by(GAMES.c.number)))


def _conditions(row: Any) -> GameConditions:
    opening, relay = json.loads(row.opening), json.loads(row.relay) if row.relay else None
    name, place = (opening[0], opening[1]) if len(opening) > 1 else ("", 0)
    fields = row._asdict()
    del fields["white_side"], fields["black_side"], fields["relay"]
    return GameConditions(
        **{**fields, "outcome": Outcome(row.outcome), "opening": (name, place)},
        relay_us=None if not relay else (relay[0], relay[1], relay[2]),
        sides=(side_of(row.white_side), side_of(row.black_side)),
    )


# Games that went as an earlier one: engines without a clock are the same again on an opening that comes again.

_SINGLE = case((or_(GAMES.c.culprit != "", GAMES.c.final_fen == ""), GAMES.c.id), else_=0)
"""A game that an engine lost by a fault, a crash at its first move say, tells nothing of how others go; nor does one
whose last position was not kept."""
_GAME = GAMES.c.white_engine, GAMES.c.black_engine, GAMES.c.opening, GAMES.c.plies, GAMES.c.final_fen, _SINGLE
"""What one is known by; its moves are packed, and a last position after as many moves hardly comes by other ways."""


def repeated_games(log: TournamentReader) -> tuple[int, int]:
    """How many games of a tournament are an earlier one over again, and how many there are."""
    alike = (
        select(func.count().label("games")).where(GAMES.c.tournament == log.id, STANDING).group_by(*_GAME).subquery()
    )
    sums = select(func.coalesce(func.sum(alike.c.games), 0), func.count()).select_from(alike)
    with log.database.reading() as connection:
        games, kinds = connection.execute(sums).one()
    return int(games) - int(kinds), int(games)


# How an engine was started when it played a certain game, whatever has come in its place since.


def spec_in_game(log: TournamentReader, number: int, name: str) -> EngineSpec | None:
    """The newest spec of `name` with the engine version that played game `number`; None for who did not play it."""
    same = or_(
        (GAMES.c.white == ENTRANTS.c.name) & (GAMES.c.white_engine == ENTRANTS.c.engine),
        (GAMES.c.black == ENTRANTS.c.name) & (GAMES.c.black_engine == ENTRANTS.c.engine),
    )
    found = select(ENTRANTS.c.spec).join(GAMES, (GAMES.c.tournament == ENTRANTS.c.tournament) & same)
    found = found.where(GAMES.c.tournament == log.id, GAMES.c.number == number, ENTRANTS.c.name == name)
    with log.database.reading() as connection:
        text = connection.execute(found.order_by(ENTRANTS.c.since.desc())).scalar()
    return None if text is None else _spec_in_row(log, name, text)


# What the engines of a tournament did in their games, as their records tell it, for averages.


def side_records(log: TournamentReader) -> Iterator[tuple[str, SideRecord]]:
    """Name and record of both sides of every game that counts, at odds or not, without loading a move."""
    columns = GAMES.c.white, GAMES.c.white_side, GAMES.c.black, GAMES.c.black_side
    counting = GAMES.c.tournament == log.id, GAMES.c.outcome != Outcome.VOID.value, ~STRUCK
    with log.database.reading() as connection:
        for white, white_side, black, black_side in connection.execute(select(*columns).where(*counting)):
            yield white, side_of(white_side)
            yield black, side_of(black_side)


# How many incidents each engine had, counted by the database: no line of their traffic is read for it.


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


# The games of two engines against each other, over one tournament or all of them.

_PairKey = tuple[int, int, int, int, int]  # tournament, versions of both, meeting or imported game, pair of legs
# Tournament, White's and Black's version, the rest of the key, half points, opening of a game from a file, where kept
_Game = tuple[int, int, int, int, int, int, int | None]


@dataclass(frozen=True, slots=True)
class _HeadToHead:
    """Games that count as (key of their pair, half points of the first engine): ours in log order, then from files.

    The two games of a pair have one opening and the colours swapped: legs 1 and 2, 3 and 4, ... of a meeting of the
    same two versions; in files what `gameopenings` takes for one. `places` sort the games. `versions` are those that
    met, the first engine's and the second's; `unopened` counts games by the titles of imports that kept no openings.
    """

    games: tuple[tuple[_PairKey, int], ...]
    places: tuple[_PairKey, ...]
    versions: tuple[tuple[str, ...], tuple[str, ...]]
    unopened: Mapping[str, int]
    names: tuple[str, str]  # of the two engines, as they were meant

    @property
    def scheduled(self) -> list[tuple[_PairKey, int]]:
        """Pairs of a tournament in the order of its schedule, games of files as they stand there.

        Where games run side by side, the order in which they end favours the short ones.
        """
        order = sorted(range(len(self.games)), key=self.places.__getitem__)
        return [self.games[at] for at in order]


def head_to_head(database: Database, one: str, other: str, *, tournament: int | None = None) -> _HeadToHead:
    """What `one` scored against `other`; a plain name stands for all versions of that name.

    UsageRefused for names that have no games here, or have not met.
    """
    with database.reading() as connection:
        shown = rated_names(connection)
        (first, one), (second, other) = (_versions(connection, shown, name) for name in (one, other))
        if first & second:
            raise UsageRefused(f"{one!r} and {other!r} are one engine, a test needs two", place="--sprt")
        rows = [*_played(connection, first, second, tournament), *_imported(connection, first, second, tournament)]
        unopened = _titles(connection, Counter(row[0] for row in rows if row[-1] is None))
    if not rows:
        where = "in this tournament" if tournament is not None else "yet"
        step = "without a game there is nothing to test" + ("; --all asks the whole store" if tournament else "")
        raise UsageRefused(f"{one!r} and {other!r} have not met {where}", place="--sprt", step=step)
    games, places, met = [], [], (set[str](), set[str]())
    partners = Partners[_PairKey]()
    for edition, white_engine, black_engine, meeting, pair, points, opening in rows:
        is_white = white_engine in first
        own, foe = (white_engine, black_engine) if is_white else (black_engine, white_engine)
        met[0].add(shown[own])
        met[1].add(shown[foe])
        place = (edition, own, foe, meeting, pair)
        places.append(place)
        key = partners.pair_of((own, foe), opening or NOT_TOLD, "white" if is_white else "black", place)
        games.append((key, points if is_white else 2 - points))
    return _HeadToHead(
        tuple(games), tuple(places), (tuple(sorted(met[0])), tuple(sorted(met[1]))), unopened, (one, other)
    )


def _played(connection: Connection, first: set[int], second: set[int], tournament: int | None) -> Iterator[_Game]:
    """Even games of our tournaments that count, in the order of the log."""
    columns = (GAMES.c.tournament, GAMES.c.white_engine, GAMES.c.black_engine, GAMES.c.meeting, GAMES.c.leg)
    rows = select(*columns, GAMES.c.outcome).where(GAMES.c.outcome != Outcome.VOID.value, ~STRUCK, EVEN)
    rows = rows.where(_met(GAMES.c.white_engine, GAMES.c.black_engine, first, second))
    if tournament is not None:
        rows = rows.where(GAMES.c.tournament == tournament)
    elif odd := nonstandard_variants(connection):
        rows = rows.where(GAMES.c.tournament.not_in(odd))
    for edition, white, black, meeting, leg, outcome in connection.execute(rows.order_by(GAMES.c.id)):
        yield edition, white, black, meeting, (leg + 1) // 2, Outcome(outcome).half_points(white=True), NOT_TOLD


def _imported(connection: Connection, first: set[int], second: set[int], tournament: int | None) -> Iterator[_Game]:
    """Even games read from files, in their order."""
    games = IMPORTED_GAMES.c
    rows = select(games.tournament, games.white, games.black, games.id, games.half_points, games.opening)
    rows = rows.where(_met(games.white, games.black, first, second), import_stands(), EVEN_READ)
    if tournament is not None:
        rows = rows.where(games.tournament == tournament)
    elif odd := nonstandard_variants(connection):
        rows = rows.where(games.tournament.not_in(odd))
    for edition, white, black, number, points, opening in connection.execute(rows.order_by(games.id)):
        yield edition, white, black, number, 0, points, opening


def _titles(connection: Connection, counts: Mapping[int, int]) -> dict[str, int]:
    """The counts by the titles of the imports."""
    rows = select(TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition).order_by(TOURNAMENTS.c.id)
    found = connection.execute(rows).fetchall() if counts else []
    return {title_of(row.name, row.edition): counts[row.id] for row in found if row.id in counts}


def _met(
    white: ColumnElement[int], black: ColumnElement[int], first: set[int], second: set[int]
) -> ColumnElement[bool]:
    """One of the first against one of the second, whoever has White."""
    return or_(and_(white.in_(first), black.in_(second)), and_(white.in_(second), black.in_(first)))


def _versions(connection: Connection, shown: dict[int, str], name: str) -> tuple[set[int], str]:
    """The rows of an engine, those shown under the name or else all that bear it, and its name if that is a part."""
    plain = {row.id: row.name for row in connection.execute(select(ENGINES.c.id, ENGINES.c.name))}
    known = [*shown.values(), *plain.values()]
    meant = name if name in known else match_name(name, plain.values()) or match_name(name, known)
    found = {key for key, words in shown.items() if words == meant} or {k for k, own in plain.items() if own == meant}
    if not found or meant is None:
        raise UsageRefused(
            f"{name!r} is not in this store{no_match_hint(name, known) or suggest(name, known)}", place="--sprt"
        )
    return found, meant


# Who has stood in a tournament's list, with what the engines call themselves; and the machines it was played on.


@dataclass(frozen=True, slots=True)
class LineupEntry:
    """One entrant as its latest row has it; `place` is in the starting list, from 1, best first."""

    name: str
    place: int
    own_name: str
    family: str
    origin: str


def lineup(log: TournamentReader) -> dict[str, LineupEntry]:
    """Everybody by name, those who left included."""
    columns = ENTRANTS.c.name, ENTRANTS.c.place, ENGINES.c.own_name, ENTRANTS.c.family, ENTRANTS.c.origin
    joined = ENTRANTS.join(ENGINES, ENGINES.c.id == ENTRANTS.c.engine)
    rows = select(*columns).select_from(joined).where(ENTRANTS.c.tournament == log.id).order_by(ENTRANTS.c.since)
    with log.database.reading() as connection:
        return {row.name: LineupEntry(*row) for row in connection.execute(rows)}


def processors(log: TournamentReader) -> tuple[str, ...]:
    """Processors its games were played on, by name."""
    rows = select(GAMES.c.hardware).distinct().where(GAMES.c.tournament == log.id, GAMES.c.hardware != "")
    with log.database.reading() as connection:
        return tuple(connection.execute(rows.order_by(GAMES.c.hardware)).scalars())
