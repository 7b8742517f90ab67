"""Read a stored tournament: entrants, events, games, incidents, results, game conditions, head-to-head results.

Long lists are read in pages, so that a slow reader does not keep a snapshot of the database open.
"""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, Connection, Select, and_, case, exists, func, or_, select

from enginetour.interop.gamepairs import UNKNOWN_OPENING, OpeningPairs
from enginetour.model.errors import StoreRefused, UsageRefused, did_you_mean
from enginetour.model.game import (
    RESULTS,
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
    Opening,
    Outcome,
    Pairing,
    Replaced,
    SideRecord,
    Termination,
    Withdrawal,
    Withdrawn,
    duration_ms,
)
from enginetour.model.renamed import rename_keys, system_name
from enginetour.model.task import EngineSpec
from enginetour.store import codecs
from enginetour.store.address import ServerAddress
from enginetour.store.counts import (
    counts_by_name,
    counts_by_pair,
    import_stands,
    join_counts,
    kept_counts,
    nonstandard_variants,
    tournament_titles,
)
from enginetour.store.database import Database
from enginetour.store.engines import engine_names, rated_names, versions_named
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
    EnteredEngine,
    GameConditions,
    ListedGame,
    Row,
    title_of,
)

_EVENTS_A_PAGE = 2000  # events; about 1 MB
GAMES_A_PAGE = 100  # whole games; about 1 MB

_PAIRING = tuple(GAMES.c[field.name] for field in fields(Pairing))
_INCIDENTS_OF = select(func.count()).where(INCIDENTS.c.game == GAMES.c.id).scalar_subquery()
_MADE = {"voided": STRUCK.label("voided"), "incidents": _INCIDENTS_OF.label("incidents")}  # fields that are no columns


class GameLine(ListedGame):
    """A game as a row of a list. `voided` is true if it was annulled later. `incidents` is the number of incidents."""

    voided: bool
    incidents: int

    @property
    def counts(self) -> bool:
        """Return whether the game has a result and was not annulled."""
        return self.outcome is not Outcome.VOID and not self.voided

    @property
    def how(self) -> str:
        """Return why the game ended, and whether it was annulled."""
        return f"annulled, was {self.outcome}: {self.cause}" if self.voided else self.cause


class ReportedGame(GameLine, GameConditions):
    """Everything about a game except its incidents, its moves and its final position."""


def _columns_of(row: type[Row]) -> list[ColumnElement[Any]]:
    return [_MADE[name] if name in _MADE else GAMES.c[name] for name in row.model_fields]


def termination_named(word: str) -> str:
    """Return a termination, or adjudication for all its kinds. Raise ValueError, with all of them, for another word."""
    known = ["adjudication", *map(str, Termination)]
    if word not in known:
        raise ValueError(f"must be one of {', '.join(known)} (found {word!r}){did_you_mean(word, known)}")
    return word


@dataclass(frozen=True, slots=True)
class StoredGame:
    """A whole game with its number. `voided` is true if it was annulled later."""

    number: int
    game: Game
    voided: bool


def _event(kind: str, payload: Any, outcome: Outcome, began: float, ended: float, *pairing: Any) -> Event:
    """Return the event of a row. `pairing` has the columns of `Pairing`; columns of a game are None in other events."""
    if kind == "finished":
        return GameFinished(Pairing(*pairing), outcome, duration_ms(began, ended))
    if kind == "voided":
        return GameVoided(Pairing(*pairing), outcome, payload["why"])
    if kind == "withdrawn":
        return Withdrawn(payload["name"])
    if kind == "extended":
        return Extended(tuple(payload["settings"].items()))
    entrant = codecs.entrant_of(payload["entrant"])
    return Added(entrant) if kind == "added" else Replaced(payload["old"], entrant)


def _incidents_of(connection: Connection, games: list[int]) -> dict[int, list[Incident]]:
    found: dict[int, list[Incident]] = defaultdict(list)
    rows = select(INCIDENTS).where(INCIDENTS.c.game.in_(games)).order_by(INCIDENTS.c.game, INCIDENTS.c.ordinal)
    for row in connection.execute(rows):
        found[row.game].append(codecs.incident_of(row))
    return found


def recounted(database: Database, tournament: int) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Count wins, draws and losses of the even games of a tournament, by pairs of engine versions."""
    sums = [func.count().filter(GAMES.c.outcome == outcome).label(outcome.name) for outcome in RESULTS]
    rows = select(GAMES.c.white_engine, GAMES.c.black_engine, *sums).group_by(
        GAMES.c.white_engine, GAMES.c.black_engine
    )
    rows = rows.where(GAMES.c.tournament == tournament, STANDING, EVEN)
    return {(row[0], row[1]): (row[2], row[3], row[4]) for row in database.rows(rows)}


def versions_counts(database: Database, tournament: int) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Return the stored wins, draws and losses of a tournament, by pairs of engine versions."""
    with database.reading() as connection:
        return counts_by_pair(join_counts(kept_counts(connection, [tournament]).values()))


# Games at time odds: rating lists leave them out and report their results separately.

UNKNOWN = 0  # the bands of a game from a file if the size of the odds is unknown
Scores = dict[int, tuple[int, int]]  # bands of odds -> games, half points of the engines that gave the odds


def scores_at_odds(
    connection: Connection, *wanted: ColumnElement[bool], read: ColumnElement[bool] | None = None
) -> Scores:
    """Count games at time odds, and the half points of the engines that gave the odds, by bands of odds.

    Args:
        connection: Connection to the database.
        wanted: Conditions on GAMES, which also select the results that count.
        read: Condition on IMPORTED_GAMES. Without it, games from files are not counted.
    """
    handicap, outcome = GAMES.c.handicap, GAMES.c.outcome
    rows = select(handicap, outcome, func.count()).where(ODDS, *wanted).group_by(handicap, outcome)
    games, points = Counter[int](), Counter[int]()
    for given, result, count in connection.execute(rows):
        games[abs(given)] += count
        points[abs(given)] += count * result.half_points(white=given > 0)
    if read is not None:
        given, scored = IMPORTED_GAMES.c.handicap, IMPORTED_GAMES.c.white_half_points
        rows = select(given, scored, func.count()).where(~EVEN_READ, read).group_by(given, scored)
        for bands, half_points, count in connection.execute(rows):
            games[abs(bands or UNKNOWN)] += count
            points[abs(bands or UNKNOWN)] += count * (half_points if (bands or 0) > 0 else 2 - half_points)
    return {bands: (games[bands], points[bands]) for bands in sorted(games)}


def describe_scores(scores: Mapping[int, tuple[int, int]]) -> str:
    """Format ``games at time odds, not rated: 5; the engine giving odds scored 2.5 of 3 at 1 band, ...``."""
    parts = [
        f"{points / 2:g} of {games:,} at {bands} band{'s' * (bands > 1)}"
        for bands, (games, points) in scores.items()
        if bands != UNKNOWN
    ]
    total = sum(games for games, _ in scores.values())
    clauses = [f"games at time odds, not rated: {total:,}"]
    clauses += [f"the engine giving odds scored {', '.join(parts)}"] if parts else []
    clauses += [f"{scores[UNKNOWN][0]:,} at odds of unknown size"] if UNKNOWN in scores and parts else []
    return "; ".join(clauses)


def _damaged_tournament(log: TournamentReader, what: str) -> StoreRefused:
    where = "" if isinstance(log.database.path, ServerAddress) else f" --db {shlex.quote(str(log.database.path))}"
    step = f"repair the database with enginetour db repair{where}"
    return StoreRefused(what, place=log.title, step=step)


def _readable_spec(log: TournamentReader, name: str, text: object) -> EngineSpec:
    try:
        spec = codecs.spec_of(text)
        if spec.name != name:
            raise ValueError(f"it has the wrong name {spec.name!r}")
        return spec
    except ValueError as error:
        raise _damaged_tournament(log, f"the specification of {name!r} cannot be read: {error}") from None


class TournamentReader:
    """One edition of a tournament in an open database, for reading: entrants, events, games, decisions, results.

    Readers do not need a lock.
    """

    is_import: ClassVar[bool] = False  # an import is read as a tournament without a format

    def __init__(self, database: Database, row: Any) -> None:
        self.database = database
        self.id: int = row.id
        self.name: str = row.name
        self.edition: int = row.edition
        self.slug: str = row.slug
        self.system: str = system_name(row.system)
        self.format_version: int = row.format_version
        self.config: dict[str, Any] = row.config
        if isinstance(self.config, dict):
            self.config, _ = rename_keys(row.config)
            if "format" in self.config:
                self.config["format"] = {**self.config["format"], "system": self.system}
        self.seed: int = row.seed
        self.created_unix: float = row.created_unix

    @property
    def title(self) -> str:
        """The name, with the number of the edition for the second and later editions."""
        return title_of(self.name, self.edition)

    @property
    def pgn_tags(self) -> Mapping[str, str]:
        """PGN tags of the user for every game; empty for an import or a damaged configuration."""
        play = self.config.get("play") if isinstance(self.config, Mapping) else None
        tags = play.get("tags") if isinstance(play, Mapping) else None
        return tags if isinstance(tags, Mapping) else {}

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """The starting list, best first, as it was before the first event. A replay starts from it."""
        first = select(ENTRANTS).where(ENTRANTS.c.tournament == self.id, ENTRANTS.c.since_event == 0)
        rows = self.database.rows(first.order_by(ENTRANTS.c.starting_rank))
        try:
            return tuple(codecs.entrant_of(row._asdict()) for row in rows)
        except ValueError as error:
            raise _damaged_tournament(self, f"an entrant cannot be read: {error}") from None

    @property
    def specs(self) -> dict[str, EngineSpec]:
        """The specifications with which entrants are started now, by name, including entrants that joined later."""
        rows = select(ENTRANTS.c.name, ENTRANTS.c.spec).where(ENTRANTS.c.tournament == self.id)
        found = self.database.rows(rows.order_by(ENTRANTS.c.since_event))
        return {row.name: _readable_spec(self, row.name, row.spec) for row in found}

    @property
    def known_ratings(self) -> dict[str, float]:
        """The ratings that entrants got from the configuration, by name."""
        known = (ENTRANTS.c.tournament == self.id, ENTRANTS.c.rating.is_not(None))
        rows = select(ENTRANTS.c.name, ENTRANTS.c.rating).where(*known).order_by(ENTRANTS.c.since_event)
        return {row.name: row.rating for row in self.database.rows(rows)}

    @property
    def last_position(self) -> int:
        """Position of the newest event; 0 if there is none."""
        return int(self.database.scalar(NEXT_POSITION, {"t": self.id})) - 1

    @property
    def last_at(self) -> float:
        """Time of the newest event in UTC seconds; 0 if there is none."""
        newest = select(func.coalesce(func.max(EVENTS.c.at_unix), 0)).where(EVENTS.c.tournament == self.id)
        return float(self.database.scalar(newest))

    @property
    def last_number(self) -> int:
        """Number of the newest game; 0 if there is none."""
        newest = select(func.coalesce(func.max(GAMES.c.number), 0)).where(GAMES.c.tournament == self.id)
        return int(self.database.scalar(newest))

    @property
    def annulled_numbers(self) -> list[int]:
        """Numbers of the games that were annulled later, in order."""
        joined = GAMES.join(EVENTS, and_(EVENTS.c.game == GAMES.c.id, EVENTS.c.kind == "voided"))
        rows = select(GAMES.c.number).select_from(joined).where(EVENTS.c.tournament == self.id)
        return [row.number for row in self.database.rows(rows.order_by(GAMES.c.number))]

    def events(self, after: int = 0) -> Iterator[Event]:
        """Read the events after a position, in order, without moves."""
        last = after
        joined = EVENTS.outerjoin(GAMES, GAMES.c.id == EVENTS.c.game)
        times = GAMES.c.started_unix, GAMES.c.ended_unix
        page = select(EVENTS.c.kind, EVENTS.c.payload, GAMES.c.outcome, *times, *_PAIRING, EVENTS.c.position)
        page = page.select_from(joined)
        page = page.where(EVENTS.c.tournament == self.id).order_by(EVENTS.c.position).limit(_EVENTS_A_PAGE)
        while True:
            rows = self.database.rows(page.where(EVENTS.c.position > last))
            if not rows:
                return
            for *columns, _ in rows:
                yield _event(*columns)
            last = rows[-1].position

    def notes(self) -> list[tuple[int, Note]]:
        """Return all decisions with the positions of their events, oldest first."""
        rows = select(NOTES).where(NOTES.c.tournament == self.id).order_by(NOTES.c.position, NOTES.c.ordinal)
        return [(row.position, codecs.note_of(row)) for row in self.database.rows(rows)]

    def decisions(self, first: int = 1) -> dict[int, list[Note]]:
        """Return the decisions caused by games from number `first` on, by the number of the game, in order."""
        joined = GAMES.join(EVENTS, and_(EVENTS.c.game == GAMES.c.id, EVENTS.c.kind == "finished"))
        joined = joined.join(NOTES, and_(NOTES.c.tournament == self.id, NOTES.c.position == EVENTS.c.position))
        rows = select(GAMES.c.number, NOTES).select_from(joined).order_by(GAMES.c.number, NOTES.c.ordinal)
        found: dict[int, list[Note]] = defaultdict(list)
        for row in self.database.rows(rows.where(GAMES.c.tournament == self.id, GAMES.c.number >= first)):
            found[row.number].append(codecs.note_of(row))
        return found

    def games(
        self,
        *,
        engine: str | None = None,
        opponent: str | None = None,
        termination: str | None = None,
        outcome: Outcome | None = None,
        incidents: bool = False,
        counting: bool = False,
        first: int = 1,
        limit: int | None = None,
        oldest: bool = False,
    ) -> list[GameLine]:
        """Return games as rows of a list, in the order of their numbers.

        Args:
            engine: Only games of this entrant.
            opponent: Only games that this entrant played too.
            termination: Only games with this termination, for example ``adjudication`` or ``adjudication-draw``.
            outcome: Only games with this outcome.
            incidents: Only games with incidents.
            counting: Only games that count.
            first: Only games from this number on.
            limit: Largest number of games; the last ones are returned.
            oldest: With `limit`, return the first ones instead.
        """
        wanted = [GAMES.c.tournament == self.id, GAMES.c.number >= first]
        named = [name for name in (engine, opponent) if name is not None]
        wanted += [or_(GAMES.c.white == name, GAMES.c.black == name) for name in named]
        if termination is not None:
            wanted.append(or_(GAMES.c.termination == termination, GAMES.c.termination.startswith(f"{termination}-")))
        if outcome is not None:
            wanted.append(GAMES.c.outcome == outcome)
        if incidents:
            wanted.append(exists().where(INCIDENTS.c.game == GAMES.c.id))
        if counting:
            wanted.append(STANDING)
        rows = (
            select(*_columns_of(GameLine)).where(*wanted).order_by(GAMES.c.number if oldest else GAMES.c.number.desc())
        )
        found = self.database.rows(rows if limit is None else rows.limit(limit))
        return list(GameLine.read(found if oldest else reversed(found)))

    def game(self, number: int) -> StoredGame:
        """Return one game with its moves. Raise UsageRefused for an unknown number."""
        if 0 < number <= codecs.LARGEST_NUMBER:
            for stored in self.full_games(number, last=number):
                return stored
        raise UsageRefused(f"game {number} does not exist in {self.title}", step="run enginetour games for a list")

    def full_games(self, first: int = 1, *, last: int | None = None) -> Iterator[StoredGame]:
        """Read whole games from number `first` to `last`, in order, page by page."""
        joined = GAMES.join(MOVES, MOVES.c.game == GAMES.c.id)
        page = select(GAMES, MOVES.c.moves, STRUCK.label("voided")).select_from(joined)
        page = page.where(GAMES.c.tournament == self.id).order_by(GAMES.c.number).limit(GAMES_A_PAGE)
        if last is not None:
            page = page.where(GAMES.c.number <= last)
        while True:
            with self.database.reading() as connection:
                rows = connection.execute(page.where(GAMES.c.number >= first)).fetchall()
                trouble = _incidents_of(connection, [row.id for row in rows])
            for row in rows:
                game = codecs.game_of(row, row.moves, trouble.get(row.id, ()))
                yield StoredGame(row.number, game, row.voided)
            if len(rows) < GAMES_A_PAGE:
                return
            first = rows[-1].number + 1

    def endings(self) -> Counter[str]:
        """Return the number of games that count, by termination."""
        kept = [GAMES.c.tournament == self.id, STANDING]
        rows = select(GAMES.c.termination, func.count().label("games")).where(*kept).group_by(GAMES.c.termination)
        return Counter({row.termination: row.games for row in self.database.rows(rows)})

    @property
    def gone(self) -> set[str]:
        """Names of entrants that were withdrawn or replaced."""
        with self.database.reading() as connection:
            return self._gone(connection)

    def withdrawals(self) -> tuple[Withdrawal, ...]:
        """Return the entrants that were withdrawn or replaced, in the order of the log."""
        rows = self._changes("withdrawn", "replaced").order_by(EVENTS.c.position)
        return tuple(
            Withdrawal(payload["name"], payload["why"], "")
            if kind == "withdrawn"
            else Withdrawal(payload["old"], payload["why"], payload["entrant"]["name"])
            for kind, payload in self.database.rows(rows)
        )

    @property
    def extended_settings(self) -> dict[str, int]:
        """Settings of the format that were extended after the start, with their current values."""
        values: dict[str, int] = {}
        for row in self.database.rows(self._changes("extended").order_by(EVENTS.c.position)):
            values |= row.payload["settings"]
        return values

    def replays(self, key: GameKey) -> int:
        """Count the void games of a key, which is the replay number of the next game."""
        void = or_(GAMES.c.outcome == Outcome.VOID, STRUCK)
        return int(self.database.scalar(select(func.count()).select_from(GAMES).where(*self._of_key(key), void)))

    def aborts(self, key: GameKey) -> int:
        """Count the games of a key that an engine aborted with ``*``."""
        given_up = (GAMES.c.outcome == Outcome.VOID, GAMES.c.category == "engine-abort")
        return int(self.database.scalar(select(func.count()).select_from(GAMES).where(*self._of_key(key), *given_up)))

    def pair_counts(self) -> dict[tuple[str, str], tuple[int, int, int]]:
        """Return wins, draws and losses of White by (white, black), with all versions of an entrant together."""
        with self.database.reading() as connection:
            names = engine_names(connection)
            kept = join_counts(kept_counts(connection, [self.id]).values())
        return counts_by_name(counts_by_pair(kept).items(), names)

    def odds_by_entrant(self) -> dict[str, int]:
        """Return the number of games at time odds that count, by entrant. Entrants without such games are left out."""
        standing = ODDS, GAMES.c.tournament == self.id, STANDING
        found = Counter[str]()
        for players in self.database.rows(select(GAMES.c.white, GAMES.c.black).where(*standing)):
            found.update(players)
        return dict(found)

    def scores_at_odds(self) -> dict[int, tuple[int, int]]:
        """Return the number of games at time odds and the half points of the engines that gave the odds, by bands."""
        with self.database.reading() as connection:
            return scores_at_odds(connection, GAMES.c.tournament == self.id, STANDING)

    def require_not_removed(self) -> None:
        """Raise UsageRefused for a removed import. Do nothing here, because tournaments cannot be removed."""

    def incidents(self) -> list[tuple[int, Incident]]:
        """Return all incidents with the numbers of their games, oldest first."""
        rows = select(GAMES.c.number, INCIDENTS).join(GAMES, GAMES.c.id == INCIDENTS.c.game)
        rows = rows.where(GAMES.c.tournament == self.id).order_by(GAMES.c.number, INCIDENTS.c.ordinal)
        return [(row.number, codecs.incident_of(row)) for row in self.database.rows(rows)]

    def _changes(self, *kinds: str) -> Select[Any]:
        """Select events of these kinds, which have no game. The index of games and kinds contains them, too.

        SQLite would choose the index of tournaments and positions and read the whole log, but not for an expression.
        """
        mine = EVENTS.c.tournament + 0 == self.id, EVENTS.c.game.is_(None), EVENTS.c.kind.in_(kinds)
        return select(EVENTS.c.kind, EVENTS.c.payload).where(*mine)

    def _gone(self, connection: Connection) -> set[str]:
        left: set[str] = set()
        for row in connection.execute(self._changes("withdrawn", "replaced")):
            payload = row.payload
            if row.kind == "withdrawn":
                left.add(payload["name"])
            elif payload["entrant"]["name"] != payload["old"]:
                left.add(payload["old"])
        return left

    def _of_key(self, key: GameKey) -> tuple[Any, ...]:
        a, b, meeting, leg = key
        same = (GAMES.c.pair_low == a, GAMES.c.pair_high == b, GAMES.c.meeting == meeting, GAMES.c.leg == leg)
        return (GAMES.c.tournament == self.id, *same)


def reported_games(log: TournamentReader) -> Iterator[ReportedGame]:
    """Return all games, also those that are void, in the order of the log."""
    rows = select(*_columns_of(ReportedGame)).where(GAMES.c.tournament == log.id)
    return ReportedGame.read(log.database.rows(rows.order_by(GAMES.c.number)))


def game_conditions(log: TournamentReader) -> Iterator[GameConditions]:
    """Return the conditions of every game that counts, with or without time odds, in the order of the log."""
    rows = select(*_columns_of(GameConditions)).where(GAMES.c.tournament == log.id, STANDING)
    return GameConditions.read(log.database.rows(rows.order_by(GAMES.c.number)))


def game_openings(log: TournamentReader, first: int, last: int) -> list[Opening]:
    """Return the openings of the games from number `first` to `last`, in order."""
    rows = select(GAMES.c.opening).where(GAMES.c.tournament == log.id, GAMES.c.number.between(first, last))
    return [row.opening for row in log.database.rows(rows.order_by(GAMES.c.number))]


def game_durations(log: TournamentReader) -> dict[tuple[str, str], tuple[int, float, float]]:
    """Return the number of games that count, the sum of their seconds and of its squares, by (White, Black)."""
    seconds = GAMES.c.ended_unix - GAMES.c.started_unix
    sums = func.count(), func.sum(seconds), func.sum(seconds * seconds)
    rows = select(GAMES.c.white, GAMES.c.black, *sums).where(GAMES.c.tournament == log.id, STANDING)
    found = log.database.rows(rows.group_by(GAMES.c.white, GAMES.c.black))
    return {(row[0], row[1]): (row[2], float(row[3]), float(row[4])) for row in found}


def games_by_ending(log: TournamentReader) -> Iterator[tuple[tuple[str, str], str, Termination, int]]:
    """Yield the players, the engine at fault or "", the termination, and the number of games that count."""
    columns = GAMES.c.white, GAMES.c.black, GAMES.c.culprit, GAMES.c.termination
    rows = select(*columns, func.count()).where(GAMES.c.tournament == log.id, STANDING).group_by(*columns)
    for white, black, culprit, termination, games in log.database.rows(rows):
        yield (white, black), culprit, termination, int(games)


# A game lost by a fault (for example a crash at the first move), or without a final position, is never a repetition.
_SINGLE = case((or_(GAMES.c.culprit != "", GAMES.c.final_fen == ""), GAMES.c.id), else_=0)
# Games with the same values are repetitions. The packed moves are not compared: the same final position after the same
# number of plies is almost never reached by different moves.
_GAME = GAMES.c.white_engine, GAMES.c.black_engine, GAMES.c.opening, GAMES.c.plies, GAMES.c.final_fen, _SINGLE


def repeated_games(log: TournamentReader) -> tuple[int, int]:
    """Return the number of games of a tournament that repeat an earlier game, and the number of all its games."""
    alike = (
        select(func.count().label("games")).where(GAMES.c.tournament == log.id, STANDING).group_by(*_GAME).subquery()
    )
    sums = select(func.coalesce(func.sum(alike.c.games), 0), func.count()).select_from(alike)
    ((games, kinds),) = log.database.rows(sums)
    return int(games) - int(kinds), int(games)


def spec_in_game(log: TournamentReader, number: int, name: str) -> EngineSpec | None:
    """Return how an entrant was started in a game: its newest specification with the engine version that played.

    Return None if there is no such entrant or game.
    """
    same = or_(
        (GAMES.c.white == ENTRANTS.c.name) & (GAMES.c.white_engine == ENTRANTS.c.engine),
        (GAMES.c.black == ENTRANTS.c.name) & (GAMES.c.black_engine == ENTRANTS.c.engine),
    )
    found = select(ENTRANTS.c.spec).join(GAMES, (GAMES.c.tournament == ENTRANTS.c.tournament) & same)
    found = found.where(GAMES.c.tournament == log.id, GAMES.c.number == number, ENTRANTS.c.name == name)
    text = log.database.scalar(found.order_by(ENTRANTS.c.since_event.desc()))
    return None if text is None else _readable_spec(log, name, text)


def side_records(log: TournamentReader) -> Iterator[tuple[str, SideRecord]]:
    """Yield the name and the record of both sides of every game that counts, with or without time odds."""
    columns = GAMES.c.white, GAMES.c.white_side, GAMES.c.black, GAMES.c.black_side
    counting = GAMES.c.tournament == log.id, STANDING
    with log.database.reading() as connection:
        for white, white_side, black, black_side in connection.execute(select(*columns).where(*counting)):
            yield white, white_side
            yield black, black_side


def incident_counts(log: TournamentReader) -> Counter[str]:
    """Count incidents (without warnings) by the engine at fault."""
    columns = INCIDENTS.c.engine, INCIDENTS.c.category
    rows = select(*columns, func.count().label("number")).join(GAMES, GAMES.c.id == INCIDENTS.c.game)
    rows = rows.where(GAMES.c.tournament == log.id, ~INCIDENTS.c.category.endswith("warning"))
    found: Counter[str] = Counter()
    for row in log.database.rows(rows.group_by(*columns)):
        found[Incident(row.engine, row.category, "").at_fault] += int(row.number)
    return found


# Head-to-head results of two engines, in one tournament or in the whole database.

_PairKey = tuple[int, int, int, int, int]  # tournament, both versions, encounter or imported game, game pair
# Tournament, White's and Black's version, the last two parts of the key, half points, opening (if from a file).
_Game = tuple[int, int, int, int, int, int, int | None]


@dataclass(frozen=True, slots=True)
class _HeadToHead:
    """The games of two engines that count, each with the key of its game pair and the half points of the first engine.

    Games of tournaments come first, in the order of the log, then games from files. The two games of a pair have the
    same opening and swapped colors: legs 1 and 2, 3 and 4, ... of an encounter of the same two versions. In files,
    `gamepairs` finds the pairs. `places` are sort keys of the games. `versions` are the versions of both engines that
    have games. `unopened` counts the games without stored openings, by the title of their import.
    """

    games: tuple[tuple[_PairKey, int], ...]
    places: tuple[_PairKey, ...]
    versions: tuple[tuple[str, ...], tuple[str, ...]]
    unopened: Mapping[str, int]
    names: tuple[str, str]  # full names of the two engines

    @property
    def scheduled(self) -> list[tuple[_PairKey, int]]:
        """The games in the order of the schedule of their tournament; games from files in the order of the file.

        The order in which concurrent games end would favor short games.
        """
        order = sorted(range(len(self.games)), key=self.places.__getitem__)
        return [self.games[at] for at in order]


def head_to_head(database: Database, one: str, other: str, *, tournament: int | None = None) -> _HeadToHead:
    """Return the games of one engine against another. A name without a mark includes all versions.

    Raise UsageRefused for unknown engines, and for engines without games against each other.
    """
    with database.reading() as connection:
        shown = rated_names(connection)
        (first, one), (second, other) = (versions_named(connection, name, "--sprt") for name in (one, other))
        if first & second:
            raise UsageRefused(f"{one!r} and {other!r} are the same engine", place="--sprt", step="name two engines")
        rows = [
            *_tournament_games(connection, first, second, tournament),
            *_from_files(connection, first, second, tournament),
        ]
        counts, titles = Counter(row[0] for row in rows if row[-1] is None), tournament_titles(connection)
        unopened = {titles[key]: count for key, count in sorted(counts.items())}
    if not rows:
        where = "in this tournament" if tournament is not None else "in this database"
        step = "use the games of the whole database with --all" if tournament else "play or import games of them first"
        raise UsageRefused(f"{one!r} and {other!r} have no games {where}", place="--sprt", step=step)
    games, places, met = [], [], (set[str](), set[str]())
    partners = OpeningPairs[_PairKey]()
    for edition, white_engine, black_engine, meeting, pair, points, opening in rows:
        is_white = white_engine in first
        own, foe = (white_engine, black_engine) if is_white else (black_engine, white_engine)
        met[0].add(shown[own])
        met[1].add(shown[foe])
        place = (edition, own, foe, meeting, pair)
        places.append(place)
        key = partners.pair_of((own, foe), opening or UNKNOWN_OPENING, "white" if is_white else "black", place)
        games.append((key, points if is_white else 2 - points))
    return _HeadToHead(
        tuple(games), tuple(places), (tuple(sorted(met[0])), tuple(sorted(met[1]))), unopened, (one, other)
    )


def _tournament_games(
    connection: Connection, first: set[int], second: set[int], tournament: int | None
) -> Iterator[_Game]:
    """Yield the even games of tournaments that count, in the order of the log."""
    columns = (GAMES.c.tournament, GAMES.c.white_engine, GAMES.c.black_engine, GAMES.c.meeting, GAMES.c.leg)
    rows = select(*columns, GAMES.c.outcome).where(STANDING, EVEN)
    rows = rows.where(_between(GAMES.c.white_engine, GAMES.c.black_engine, first, second))
    if tournament is not None:
        rows = rows.where(GAMES.c.tournament == tournament)
    elif odd := nonstandard_variants(connection):
        rows = rows.where(GAMES.c.tournament.not_in(odd))
    for edition, white, black, meeting, leg, outcome in connection.execute(rows.order_by(GAMES.c.id)):
        yield edition, white, black, meeting, (leg + 1) // 2, outcome.half_points(white=True), UNKNOWN_OPENING


def _from_files(connection: Connection, first: set[int], second: set[int], tournament: int | None) -> Iterator[_Game]:
    games = IMPORTED_GAMES.c
    rows = select(
        games.tournament, games.white_engine, games.black_engine, games.id, games.white_half_points, games.opening_key
    )
    rows = rows.where(_between(games.white_engine, games.black_engine, first, second), import_stands(), EVEN_READ)
    if tournament is not None:
        rows = rows.where(games.tournament == tournament)
    elif odd := nonstandard_variants(connection):
        rows = rows.where(games.tournament.not_in(odd))
    for edition, white, black, number, points, opening in connection.execute(rows.order_by(games.id)):
        yield edition, white, black, number, 0, points, opening


def _between(
    white: ColumnElement[int], black: ColumnElement[int], first: set[int], second: set[int]
) -> ColumnElement[bool]:
    return or_(and_(white.in_(first), black.in_(second)), and_(white.in_(second), black.in_(first)))


class LineupEntry(EnteredEngine):
    """An entrant with its newest settings and the name that the engine reports."""

    own_name: str


def lineup(log: TournamentReader) -> dict[str, LineupEntry]:
    """Return all entrants by name, including withdrawn and replaced ones."""
    columns = *(ENTRANTS.c[name] for name in EnteredEngine.model_fields), ENGINES.c.own_name
    rows = select(*columns).join(ENGINES, ENGINES.c.id == ENTRANTS.c.engine).where(ENTRANTS.c.tournament == log.id)
    entered = log.database.rows(rows.order_by(ENTRANTS.c.since_event))
    return {entry.name: entry for entry in LineupEntry.read(entered)}


def processors(log: TournamentReader) -> tuple[str, ...]:
    """Return the names of the processors that played the games."""
    rows = select(GAMES.c.hardware).distinct().where(GAMES.c.tournament == log.id, GAMES.c.hardware != "")
    return tuple(row.hardware for row in log.database.rows(rows.order_by(GAMES.c.hardware)))
