"""Define all tables of the database, the schema version, and conditions that many queries use.

Rows are never changed, except `PairCountRow` and the own name of an engine, whose values can be found again. The order
of games and events is defined by `GAMES.c.id` and `EVENTS.c.position`, never by a clock. SQLAlchemy Core reads and
writes the rows, without sessions.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self

from sqlalchemy import (
    Column,
    Index,
    Integer,
    Table,
    UniqueConstraint,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    select,
)
from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import AutoString

from enginetour.model.game import Opening, Outcome, SideRecord, Termination
from enginetour.store.codecs import (
    OPENING,
    PAIRS,
    RELAY_GAP,
    SIDE,
    TUPLE,
    WHOLE,
    WORDS,
    CleanText,
    Json,
    JsonText,
    Word,
)

APPLICATION_ID = 0x456E5472  # "EnTr", in the header of every SQLite file of enginetour (SQLite file format 1.3.17)
SCHEMA_VERSION = 9  # user_version in the same header; each change of the tables needs a new version in `schema`

METADATA = SQLModel.metadata
PARTIAL = "where"  # key of a partial index's condition in its `info`; `migrations` sets the condition for the dialect

_FIELDS_SET = set[str]()  # of all rows from the database, which are never changed
_STORED: dict[Any, Any] = {Integer: WHOLE, AutoString: WORDS}


class Row(SQLModel):
    """Base class of all rows. Rows from the database are not validated: see `read` and `model_construct`."""

    model_config = {"frozen": True, "defer_build": True, "revalidate_instances": "always", "strict": True}
    __table__: ClassVar[Table]
    __first__: ClassVar[str] = ""  # names of the first columns of the table, in their order

    @classmethod
    def read(cls, rows: Iterable[Sequence[Any]]) -> Iterator[Self]:
        """Yield rows of a query whose columns are the fields of this class, in their order.

        It takes an eighth of the time of `model_construct`, which looks for aliases and default values, and half of the
        memory.
        """
        names, fill = tuple(cls.model_fields), object.__setattr__
        for row in rows:
            made = object.__new__(cls)
            fill(made, "__dict__", dict(zip(names, row, strict=True)))
            fill(made, "__pydantic_fields_set__", _FIELDS_SET)
            fill(made, "__pydantic_extra__", None)
            fill(made, "__pydantic_private__", None)
            yield made

    @classmethod
    def __table_cls__(cls, name: str, metadata: Any, *parts: Any, **options: Any) -> Table:
        """Make the table with its columns in the order that existing databases have."""
        columns = [part for part in parts if isinstance(part, Column)]
        for column in columns:
            column.type = _STORED.get(type(column.type), column.type)
        first = cls.__first__.split()
        columns.sort(key=lambda column: first.index(column.name) if column.name in first else len(first))
        rest = [part for part in parts if not isinstance(part, Column)]
        return Table(name, metadata, *columns, *rest, **options)


def _key(of: str | None = None, *, about: str | None = None) -> Any:
    """Make a column of the primary key, which can refer to another table."""
    if of is None:
        return Field(primary_key=True, description=about)
    return Field(primary_key=True, foreign_key=f"{of}.id", description=about)


def _row_of(table: str, *, about: str | None = None) -> Any:
    """Make a column that refers to a row of another table."""
    return Field(foreign_key=f"{table}.id", description=about)


def _added(default: Any, *, about: str, **more: Any) -> Any:
    """Make a column that a later schema version appended, with the default for older rows."""
    return Field(default=default, sa_column_kwargs={"server_default": str(default)}, description=about, **more)


class EngineRow(Row, table=True):
    """An engine version, to which a rating belongs.

    A different binary, option or protocol makes a different version.
    """

    __tablename__ = "engines"
    __table_args__ = (UniqueConstraint("name", "fingerprint", "options", "protocol"),)
    id: int = _key(about="number of the engine version")
    name: str = Field(description="name without its version mark")
    fingerprint: str = Field(
        description="start of the SHA-256 of the program and its files; "
        "empty for an engine that is only known from an imported file"
    )
    options: tuple[tuple[str, str], ...] = Field(
        sa_type=TUPLE, description="[name, value] pairs in the order in which they are sent"
    )
    protocol: str = Field(description="uci or cecp; empty for an engine that is only known from an imported file")
    own_name: str = Field(default="", description="name that the engine itself reports")
    family: str = Field(
        default="", description="family of the engine, shared with related engines such as other versions"
    )
    origin: str = Field(default="", description="federation, club or author, from the configuration")
    command: tuple[str, ...] = Field(default=(), sa_type=TUPLE, description="command that starts the engine, as a list")


class TournamentEntry(Row):
    """The columns of a tournament that are shown in lists. Reading them is cheap; some commands do it every second."""

    id: int = _key(about="number of the tournament in the database")
    name: str = Field(description="name, shared by all editions")
    edition: int = Field(description="number of the edition, from 1")
    slug: str = Field(description="name of the tournament in file names")
    system: str = Field(description="tournament system; 'import' for games from files")
    created_unix: float = Field(description="time at which it was created, in seconds since 1970 UTC")

    @property
    def title(self) -> str:
        """The name, followed by the number of the edition from the second edition on."""
        return title_of(self.name, self.edition)


class TournamentRow(TournamentEntry, table=True):
    """One edition of a tournament with its configuration, which does not change after the start."""

    __tablename__ = "tournaments"
    __table_args__ = (UniqueConstraint("name", "edition"), UniqueConstraint("slug"))
    __first__ = "id name edition slug system format_version config seed"
    format_version: int = Field(description="version of the rules of the tournament system")
    config: dict[str, Any] = Field(sa_type=Json(), description="configuration at the start of the tournament")
    seed: int = Field(description="seed of all random numbers")
    version: str = Field(description="version of enginetour that created the tournament")


class EnteredEngine(Row):
    """The columns of an entrant that are shown in lists."""

    name: str = _key(about="name of the entrant, unique in the tournament")
    starting_rank: int = Field(description="rank in the starting list, from 1 for the best")
    family: str = Field(default="", description="family of the entrant, which some pairing settings use")
    origin: str = Field(default="", description="federation, club or author")


class EntrantRow(EnteredEngine, table=True):
    """An entrant with its engine, valid from the event `since_event` on. A newer row of the same name replaces it."""

    __tablename__ = "entrants"
    __first__ = "tournament name since_event starting_rank engine new rating"
    tournament: int = _key("tournaments")
    since_event: int = _key(about="position of the event that made the row valid; 0: valid from the start")
    engine: int = _row_of("engines", about="engine version that plays for the entrant")
    new: bool = Field(description="true for a new engine that is not in the old ranking")
    rating: float | None = Field(description="rating from the configuration, on the tournament's scale")
    spec: str = Field(sa_type=JsonText(), description="specification of the engine: command, options and limits")


class EventRow(Row, table=True):
    """The log of a tournament: its events in order."""

    __tablename__ = "events"
    __table_args__ = (Index("events_game", "game", "kind"),)
    tournament: int = _key("tournaments")
    position: int = _key(about="number of the event in the log, from 1")
    kind: str = Field(description="finished, voided, withdrawn, added, replaced or extended; for an import: removed")
    game: int | None = _row_of("games", about="game that was finished or annulled")
    payload: dict[str, Any] | None = Field(
        sa_type=Json(may_be_empty=True),
        nullable=False,
        sa_column_kwargs={"default": ""},
        description="other data of the event; empty if there is none",
    )
    at_unix: float = Field(default=0.0, description="time at which it was written, in seconds since 1970 UTC")


class _Game(Row):
    """The columns that all lists of games have."""

    number: int = Field(description="number of the game in the tournament, from 1, in the order of the log")
    white: str = Field(description="entrant that played White")
    black: str = Field(description="entrant that played Black")
    outcome: Outcome = Field(sa_type=Word(Outcome), description="result as in PGN; * is a void game")
    started_unix: float = Field(description="time of the start, in seconds since 1970 UTC")
    ended_unix: float = Field(description="time of the end, in seconds since 1970 UTC")
    handicap: int = _added(0, about="time odds in bands of 100 rating points; given by White, or by Black if negative")
    load_average: float | None = Field(description="load average of the machine over one minute; null: not measured")
    cores: int | None = Field(description="number of processors of the machine")
    referee_us: int | None = Field(description="delay of a late move that enginetour may have caused, in microseconds")

    @property
    def seconds(self) -> float:
        """The duration of the game in seconds."""
        return self.ended_unix - self.started_unix

    @property
    def busy(self) -> bool:
        """Return whether the load exceeded the number of processors, which can affect clocks and playing strength."""
        return self.load_average is not None and self.cores is not None and self.load_average > self.cores


class ListedGame(_Game):
    """The columns of a game that are shown in lists of games."""

    meeting: int = Field(description="number of the encounter of this pair, from 1")
    leg: int = Field(description="number of the game in the encounter, from 1")
    encounter: int = Field(description="number of the encounter in the tournament, from 1")
    round: int = Field(description="number of the round, from 1")
    replay: int = Field(description="number of void games of the same pairing before this game")
    termination: Termination = Field(sa_type=Word(Termination), description="code of the reason why the game ended")
    cause: str = Field(sa_type=CleanText, description="reason why the game ended, as text")
    culprit: str = Field(sa_type=CleanText, description="entrant whose fault ended the game; empty if there was none")
    category: str = Field(sa_type=CleanText, description="kind of fault, if the game is void or was forfeited")
    plies: int = Field(description="number of plies, including the opening")
    white_tc: str = Field(description="time control of White")
    black_tc: str = Field(description="time control of Black")


class GameConditions(_Game):
    """Opening, machine and records of both sides, which show how fair a game was. None means not measured."""

    opening: Opening = Field(
        sa_type=OPENING,
        description="opening: name, index in the opening book, fen, moves, eco, variant; default values are omitted",
    )
    white_side: SideRecord = Field(
        sa_type=SIDE, description="record of White's engine: times in milliseconds, warnings, search statistics"
    )
    black_side: SideRecord = Field(
        sa_type=SIDE, description="record of Black's engine, in the same form as `white_side`"
    )
    relay_gap_us: tuple[int, int, int] | None = Field(
        sa_type=RELAY_GAP,
        nullable=False,
        description="delay from a move to the `go` command for the opponent, in microseconds: median, p99, max",
    )
    hardware: str = _added("", sa_type=CleanText, about="processor model of the machine")
    steal_percent: float | None = Field(description="processor time taken by the host (steal time), in percent")

    @property
    def numbered_opening(self) -> tuple[str, int]:
        """The name of the opening, and its number in the opening book, from 1."""
        return self.opening.name, self.opening.index


class GameRow(ListedGame, GameConditions, table=True):
    """A game without its moves. In a tournament, the sorted pair of names, meeting, leg and replay are unique."""

    __tablename__ = "games"
    __table_args__ = (
        UniqueConstraint("tournament", "pair_low", "pair_high", "meeting", "leg", "replay"),
        UniqueConstraint("tournament", "number"),
        Index("games_odds", "tournament", info={PARTIAL: "handicap != 0"}),  # few games, but every list counts them
    )
    __first__ = (
        "id tournament number pair_low pair_high white black white_engine black_engine meeting leg encounter round "
        "replay outcome termination cause culprit category plies opening white_side black_side white_tc black_tc "
        "final_fen started_unix ended_unix relay_gap_us hardware handicap load_average cores steal_percent referee_us"
    )
    id: int = _key(about="number of the game in the database, in the order of all games")
    tournament: int = _row_of("tournaments")
    pair_low: str = Field(description="name of the entrant that comes first in sorted order")
    pair_high: str = Field(description="name of the other entrant")
    white_engine: int = _row_of("engines", about="engine version that played White")
    black_engine: int = _row_of("engines", about="engine version that played Black")
    final_fen: str = Field(sa_type=CleanText, description="final position as FEN")


class MovesRow(Row, table=True):
    """The moves of a game, in a separate table so that lists of games are read quickly."""

    __tablename__ = "moves"
    game: int = _key("games")
    moves: bytes = Field(
        description="JSON, compressed with zlib, with a list for each of: uci, san, elapsed_ms, score (centipawns), ..."
    )


class IncidentRow(Row, table=True):
    """An incident of a game that a tester should see. It is written together with the game."""

    __tablename__ = "incidents"
    game: int = _key("games")
    ordinal: int = _key(about="number of the incident in the game, from 1")
    engine: str = Field(sa_type=CleanText, description="entrant at fault")
    category: str = Field(sa_type=CleanText, description="kind of incident")
    cause: str = Field(sa_type=CleanText, description="description of the incident")
    ply: int = Field(description="ply at which the incident was detected")
    traffic: tuple[str, ...] = Field(sa_type=TUPLE, description="last lines of the engine log, oldest first")
    stderr: tuple[str, ...] = Field(sa_type=TUPLE, description="last lines of the engine's standard error output")
    status: str = _added("", about="exit status of the engine's process, for example: exit 1, signal 11 (SIGSEGV)")
    load_average: float | None = Field(description="load average of the machine at the time of the incident")
    last_go_us: int | None = Field(
        description="time of the last `go` command, in microseconds since the engine process started; "
        "same clock as in the column `traffic`"
    )
    memory_kb: int | None = Field(description="largest measured memory of the engine's processes, in KiB")
    referee_us: int | None = Field(description="delay of the move that enginetour may have caused, in microseconds")


class NoteRow(Row, table=True):
    """A decision of the tournament system, with the position of the event that caused it."""

    __tablename__ = "notes"
    tournament: int = _key("tournaments")
    position: int = _key(about="position of the event that caused the decision; 0: before the first event")
    ordinal: int = _key(about="number of the decision for the event, from 1")
    kind: str = Field(description="kind of decision")
    text: str = Field(sa_type=CleanText, description="the decision as text")
    fields: tuple[tuple[str, object], ...] = Field(sa_type=PAIRS, description="the decision as named values")


class PairCountRow(Row, table=True):
    """Results of two engine versions in games without odds, updated in the transaction of each game; see `counts`."""

    __tablename__ = "pair_counts"
    tournament: int = _key("tournaments")
    white_engine: int = _key("engines")
    black_engine: int = _key("engines")
    wins: int = Field(description="number of games that White won")
    draws: int = Field(description="number of drawn games")
    losses: int = Field(description="number of games that White lost")


class RatingRevisionRow(Row, table=True):
    """A revision of the rating events of a system, which is valid from `first_position` on."""

    __tablename__ = "rating_revisions"
    system: str = _key(about="rating system: elo, gor, egf, egf2021")
    revision: int = _key(about="number of the revision, from 1")
    first_position: int = Field(description="position of the first rating event that this revision replaces or adds")
    settings: str = Field(sa_type=JsonText(), description="settings of the rating system")
    why: str = Field(description="cause of the revision: first, settings or games")
    made_unix: float = Field(description="time at which it was written, in seconds since 1970 UTC")


class RatingEventRow(Row, table=True):
    """One change of a rating. Rows that a later revision replaces are kept."""

    __tablename__ = "rating_events"
    system: str = _key(about="rating system")
    revision: int = _key(about="revision that the event belongs to")
    position: int = _key(about="number of the rating event, from 0")
    engine: int = _row_of("engines", about="engine version that is rated")
    tournament: int = _row_of("tournaments")
    game: int | None = _row_of(
        "games", about="game that changed the rating; null for a whole tournament or an imported game"
    )
    before: float = Field(description="rating before the event")
    change: float = Field(description="change of the rating")
    after: float = Field(description="rating after the event")
    weight: float = Field(description="K of Elo, or con of the Go rating systems")
    games: int = Field(description="number of rated games of the engine after the event")
    imported_game: int | None = _row_of("imported_games", about="imported game that changed the rating")


class ImportSummary(Row):
    """The columns of an import that are shown in lists of imports."""

    files: tuple[str, ...] = Field(sa_type=TUPLE, description="names of the files")
    games: int = Field(description="number of new games")
    duplicates: int = Field(description="number of games that were already in the database")
    odds_games: int = _added(0, about="number of games at time odds, which `counts` does not include")


class ImportRow(ImportSummary, table=True):
    """An import of games from files. It also has a row in `tournaments`, with the system `import`.

    The log of an import is empty or contains one event, which is its removal.
    """

    __tablename__ = "imports"
    __first__ = "tournament files after_game games duplicates counts digests"
    tournament: int = _key("tournaments")
    after_game: int = Field(
        description="newest game in the database at the time of the import; the imported games come after it"
    )
    counts: bytes = Field(
        description="pair counts as little-endian 32-bit integers: white engines, black engines, wins, draws, losses"
    )
    digests: bytes = Field(description="digests of the games, 8 bytes each, in the order of their rows")


class ImportedGameRow(Row, table=True):
    """A game from a file, with everything that ratings need. Its moves are only in the file."""

    __tablename__ = "imported_games"
    id: int = _key(about="number of the game among all imported games")
    tournament: int = _row_of("tournaments")
    white_engine: int = _row_of("engines")
    black_engine: int = _row_of("engines")
    white_half_points: int = Field(description="half points of White: 0, 1 or 2")
    played_yyyymmdd: int = Field(
        description="the Date tag as a number, with 00 for an unknown month or day; 0 if it is unknown"
    )
    tc: str = Field(description="the TimeControl tag, or White's time control")
    file_index: int = Field(description="index of the file in the import, from 0")
    offset_bytes: int = Field(description="position of the game in the file, in bytes")
    black_tc: str = _added("", about="time control of Black, if it differs")
    handicap: int | None = _added(0, about="time odds in bands, as in the table `games`; null: odds of unknown size")
    opening_key: int | None = Field(
        description="number of the opening, the same for the same moves; 0: unknown; null: imported by an older version"
    )
    termination: str = _added("", about="the Termination tag; empty for a normal termination")


class ListRevision(Row):
    """One revision of a list, without its definition."""

    name: str = _key(about="name of the list")
    revision: int = _key(about="number of the revision, from 1; the newest is valid")
    why: str = Field(description="what changed")
    made_unix: float = Field(description="time at which it was written, in seconds since 1970 UTC")


class ListRow(ListRevision, table=True):
    """One revision of the definition of a rating list. The newest revision is valid."""

    __tablename__ = "lists"
    __first__ = "name revision definition"
    definition: str = Field(sa_type=JsonText(), description="filter, rating system, anchors, scale")


class UnratedEngine(Row):
    """An engine with games that a list does not rate, and the reason."""

    name: str
    why: str


class EditionDetails(Row):
    """The values below an edition's lines, as `RatingList.to_json` defines them, and the data that was used.

    `versions` are the engine versions by their names in the list; `at` is the time of the state of the database.
    `computation` is the version of the computation of ratings.
    """

    model: str
    white_advantage: float
    draw_parameter: float | None
    point: float
    draw_rate: float | None
    pools: list[list[str]]
    anchors: dict[str, float]
    level: str | None = None  # None in editions of older versions
    skipped: int
    unrated: list[UnratedEngine]
    caption: list[str]
    versions: dict[str, list[int]]
    at: float
    computation: int = 1  # editions of older versions do not have the value


class EditionHead(Row):
    """A published list without its lines."""

    list: str = Field(description="name of the list")
    number: int = Field(description="number of the edition of the list, from 1")
    revision: int = Field(description="revision of the list's definition")
    made_unix: float = Field(description="time at which it was published, in seconds since 1970 UTC")
    last_game: int = Field(description="number of the newest game that counts")
    last_imported: int = Field(description="number of the newest imported game that counts")
    games: int = Field(description="number of games that count")
    residual: float = Field(
        description="largest difference between expected and actual points of an engine after the fit"
    )
    details: EditionDetails = Field(
        sa_type=Json(EditionDetails.model_validate, EditionDetails.model_dump),
        description="model, advantage, draws, pools, anchors, engines that are not rated, engine versions by name",
    )
    note: str = Field(sa_type=CleanText, description="note of the user who published it")


class EditionRow(EditionHead, table=True):
    """A published list of the games up to `last_game` and `last_imported`. It is never changed."""

    __tablename__ = "editions"
    __table_args__ = (UniqueConstraint("list", "number"),)
    __first__ = "id"
    id: int = _key(about="number of the edition in the database")


class SeasonRow(Row, table=True):
    """One season of a league: its rules and the places of the engines. It is never changed."""

    __tablename__ = "seasons"
    __table_args__ = (UniqueConstraint("league", "number"),)
    id: int = _key(about="number of the season in the database")
    league: str = Field(description="name of the league")
    number: int = Field(description="number of the season, from 1")
    created_unix: float = Field(description="time at which it was created, in seconds since 1970 UTC")
    version: str = Field(description="version of enginetour that created the season")
    rules: dict[str, Any] = Field(sa_type=Json(), description="the section [league] of the league file")
    places: dict[str, Any] = Field(
        sa_type=Json(), description="divisions with their engines, qualifier, waiting engines, and moves with reasons"
    )


OTHER_POOL = "other pool"  # marks an engine whose pool has a different zero point than in the previous edition


class RankedEngine(Row):
    """An engine with its rating in an edition."""

    rank: int = Field(description="rank in the rating pool")
    name: str = Field(description="name of the engine in the list")
    rating: float = Field(description="rating on the scale of the list")
    plus: float | None = Field(description="upper half of the 95 % confidence interval; null: not computed")
    minus: float | None = Field(description="lower half of the 95 % confidence interval")
    games: int = Field(description="number of games")


class EditionLine(RankedEngine):
    """One engine of an edition. `difference` is the change of its rating since the edition before, in Elo.

    It is None for a new engine, and for an engine with the remark `OTHER_POOL`.
    """

    ordinal: int = _key(about="number of the line, from 1")
    pool: int = Field(description="number of the rating pool, from 1")
    wins: int = Field(description="number of wins")
    draws: int = Field(description="number of draws")
    losses: int = Field(description="number of losses")
    opponents: float = Field(description="mean rating of the opponents")
    performance: float | None = Field(description="performance rating")
    los: float | None = Field(description="likelihood of superiority over the next engine, from 0 to 1")
    difference: float | None = Field(
        description="change of the rating since the previous edition; null: new engine, or another rating pool"
    )
    remarks: tuple[str, ...] = Field(sa_type=TUPLE, description="remarks on the line")

    @property
    def score(self) -> float:
        """The score of the engine, from 0 to 1."""
        return (self.wins + self.draws / 2) / self.games


class EditionLineRow(EditionLine, table=True):
    """One engine in an edition of a rating list."""

    __tablename__ = "edition_lines"
    __first__ = "edition ordinal pool"
    edition: int = _key("editions")


def title_of(name: str, edition: int) -> str:
    """Return the name of a tournament or an import, with the number of the edition from the second edition on."""
    return name if edition == 1 else f"{name} #{edition}"


ENGINES, TOURNAMENTS, ENTRANTS, EVENTS = (row.__table__ for row in (EngineRow, TournamentRow, EntrantRow, EventRow))
GAMES, MOVES, INCIDENTS, NOTES = (row.__table__ for row in (GameRow, MovesRow, IncidentRow, NoteRow))
PAIR_COUNTS, RATING_REVISIONS, RATING_EVENTS = (
    row.__table__ for row in (PairCountRow, RatingRevisionRow, RatingEventRow)
)
IMPORTS, IMPORTED_GAMES = ImportRow.__table__, ImportedGameRow.__table__
SEASONS = SeasonRow.__table__
LISTS, EDITIONS, EDITION_LINES = ListRow.__table__, EditionRow.__table__, EditionLineRow.__table__

NEXT_POSITION = select(func.coalesce(func.max(EVENTS.c.position), 0) + 1).where(EVENTS.c.tournament == bindparam("t"))

EVEN = GAMES.c.handicap == 0
ODDS = GAMES.c.handicap != literal_column("0")  # exactly the condition of the index `games_odds`, so that it is used
EVEN_READ = func.coalesce(IMPORTED_GAMES.c.handicap, 1) == 0  # for imported games; null: odds of unknown size
STRUCK = exists().where(EVENTS.c.game == GAMES.c.id, EVENTS.c.kind == "voided")
STANDING = and_(GAMES.c.outcome != Outcome.VOID, ~STRUCK)
