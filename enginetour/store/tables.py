"""Tables: where the games table and all others are defined, the schema version, and common conditions on them.

Rows are never changed, except `PairCountRow` and an engine's own name, which can be rebuilt. `GAMES.c.id` and
`EVENTS.c.position` define the order, never a clock. SQLAlchemy Core moves the data: nothing here is an object of a
session.
"""

from typing import Any, ClassVar

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

APPLICATION_ID = 0x456E5472  # "EnTr", in the header of every database of ours (SQLite file format 1.3.17)
SCHEMA_VERSION = 8  # user_version in the same header; grows with every change of this page, with a file in `schema`

METADATA = SQLModel.metadata
PARTIAL = "where"  # of an index's `info`: the rows it holds; `migrations` tells it to the dialect that makes the index

_STORED: dict[Any, Any] = {Integer: WHOLE, AutoString: WORDS}


class Row(SQLModel):
    """Base of all rows. Rows from the database are made by `model_construct`, which does not validate."""

    model_config = {"frozen": True, "defer_build": True, "revalidate_instances": "always", "strict": True}
    __table__: ClassVar[Table]
    __first__: ClassVar[str] = ""  # columns that come first in the table, in this order; then those of the bases

    @classmethod
    def __table_cls__(cls, name: str, metadata: Any, *parts: Any, **options: Any) -> Table:
        """Make the table; databases keep the order of columns that they were created with."""
        columns = [part for part in parts if isinstance(part, Column)]
        for column in columns:
            column.type = _STORED.get(type(column.type), column.type)
        first = cls.__first__.split()
        columns.sort(key=lambda column: first.index(column.name) if column.name in first else len(first))
        rest = [part for part in parts if not isinstance(part, Column)]
        return Table(name, metadata, *columns, *rest, **options)


def _key(of: str | None = None, *, about: str | None = None) -> Any:
    """A part of the primary key, perhaps the number of a row of another table."""
    if of is None:
        return Field(primary_key=True, description=about)
    return Field(primary_key=True, foreign_key=f"{of}.id", description=about)


def _row_of(table: str, *, about: str | None = None) -> Any:
    """The number of a row of another table."""
    return Field(foreign_key=f"{table}.id", description=about)


def _added(default: Any, *, about: str, **more: Any) -> Any:
    """A column that a later version of the schema appended, with the value of older rows."""
    return Field(default=default, sa_column_kwargs={"server_default": str(default)}, description=about, **more)


class EngineRow(Row, table=True):
    """An engine version, the rated thing: another binary, option or protocol is another row."""

    __tablename__ = "engines"
    __table_args__ = (UniqueConstraint("name", "fingerprint", "options", "protocol"),)
    id: int = _key(about="number of the engine version")
    name: str = Field(description="name without its version mark")
    fingerprint: str = Field(
        description="start of the SHA-256 of the program and its files; empty where a file told only the name"
    )
    options: tuple[tuple[str, str], ...] = Field(
        sa_type=TUPLE, description="[name, value] pairs in the order they are sent"
    )
    protocol: str = Field(description="uci or cecp, empty where a file told only the name")
    own_name: str = Field(default="", description="what the engine calls itself")
    family: str = Field(default="", description="engines of one family are versions of one program")
    origin: str = Field(default="", description="federation, club or author, as the configuration says")
    command: tuple[str, ...] = Field(default=(), sa_type=TUPLE, description="how it is started")


class TournamentEntry(Row):
    """A tournament in lists, cheap enough to be read every second; `created_unix` is UTC seconds, for people."""

    id: int = _key(about="number of the tournament")
    name: str = Field(description="name, shared by all editions")
    edition: int = Field(description="edition of the name, from 1")
    slug: str = Field(description="name in file names")
    system: str = Field(description="tournament system; import for games read from files")
    created_unix: float = Field(description="when it was created, in seconds since 1970 UTC")

    @property
    def title(self) -> str:
        """The name, with its edition from the second on."""
        return title_of(self.name, self.edition)


class TournamentRow(TournamentEntry, table=True):
    """One edition of one tournament and the configuration it is frozen to."""

    __tablename__ = "tournaments"
    __table_args__ = (UniqueConstraint("name", "edition"), UniqueConstraint("slug"))
    __first__ = "id name edition slug system format_version config seed"
    format_version: int = Field(description="version of the rules of its system")
    config: dict[str, Any] = Field(sa_type=Json(), description="the configuration that it is frozen to")
    seed: int = Field(description="seed of all random choices")
    version: str = Field(description="enginetour that created it")


class EnteredEngine(Row):
    """An entrant in lists; `starting_rank` is its place in the starting list, from 1, best first."""

    name: str = _key(about="name of the entrant, unique in the tournament")
    starting_rank: int = Field(description="place in the starting list, from 1, best first")
    family: str = Field(default="", description="family of the entrant: some settings keep one family apart")
    origin: str = Field(default="", description="federation, club or author")


class EntrantRow(EnteredEngine, table=True):
    """Who stood in the list from `since_event` on, and how it is started; the latest row of a name holds."""

    __tablename__ = "entrants"
    __first__ = "tournament name since_event starting_rank engine new rating"
    tournament: int = _key("tournaments")
    since_event: int = _key(about="position of the event that brought it; 0: there from the start")
    engine: int = _row_of("engines", about="engine version that plays")
    new: bool = Field(description="true for a newcomer, who had no place in the old ranking")
    rating: float | None = Field(description="rating it was given, on the scale of the tournament")
    spec: str = Field(sa_type=JsonText(), description="how the engine is started, with its options and limits")


class EventRow(Row, table=True):
    """The log. `game` is the game that ended or was struck out; payload holds the rest."""

    __tablename__ = "events"
    __table_args__ = (Index("events_game", "game", "kind"),)
    tournament: int = _key("tournaments")
    position: int = _key(about="place in the log, from 1")
    kind: str = Field(description="finished, voided, withdrawn, added, replaced, extended; of an import only: removed")
    game: int | None = _row_of("games", about="game that ended or was struck out")
    payload: dict[str, Any] | None = Field(
        sa_type=Json(may_be_empty=True),
        nullable=False,
        sa_column_kwargs={"default": ""},
        description="everything else about the event; empty where there is nothing to say",
    )
    at_unix: float = Field(default=0.0, description="when it was written, in seconds since 1970 UTC")


class _Game(Row):
    """What all lists of games tell. Times are UTC seconds."""

    number: int = Field(description="number in the tournament, from 1, in the order of the log")
    white: str = Field(description="entrant")
    black: str = Field(description="entrant")
    outcome: Outcome = Field(sa_type=Word(Outcome), description="result in PGN's words; * is void")
    started_unix: float = Field(description="start, in seconds since 1970 UTC")
    ended_unix: float = Field(description="end, in seconds since 1970 UTC")
    handicap: int = _added(0, about="time odds: bands of 100 rating points that White gives, below 0 takes")
    load_average: float | None = Field(description="load average of the machine over a minute; null: not measured")
    cores: int | None = Field(description="processors of the machine")
    referee_us: int | None = Field(description="what the referee itself may have cost a late move, in microseconds")

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended_unix - self.started_unix

    @property
    def busy(self) -> bool:
        """Whether the load exceeded the processors, which may have affected clocks and playing strength."""
        return self.load_average is not None and self.cores is not None and self.load_average > self.cores


class ListedGame(_Game):
    """The columns of a game that lists of games show."""

    meeting: int = Field(description="encounter of this pair, from 1")
    leg: int = Field(description="game of the encounter, from 1")
    encounter: int = Field(description="encounter of the whole tournament, from 1")
    round: int = Field(description="round, from 1")
    replay: int = Field(description="how many void games of this pairing came before")
    termination: Termination = Field(sa_type=Word(Termination), description="why it ended, as a code")
    cause: str = Field(sa_type=CleanText, description="why it ended, in words")
    culprit: str = Field(
        sa_type=CleanText, description="entrant whose fault ended the game; empty if there was no fault"
    )
    category: str = Field(sa_type=CleanText, description="kind of fault, for a void game or a forfeit")
    plies: int = Field(description="half moves, opening included")
    white_tc: str = Field(description="time control of White")
    black_tc: str = Field(description="time control of Black")


class GameConditions(_Game):
    """Opening, machine and records of both sides, for the fairness of a tournament. None: not measured."""

    opening: Opening = Field(
        sa_type=OPENING,
        description="name, index in the book, fen, moves, eco, variant; fields with their usual value are left out",
    )
    white_side: SideRecord = Field(
        sa_type=SIDE, description="what White's engine did: times in milliseconds, warnings, search figures"
    )
    black_side: SideRecord = Field(sa_type=SIDE, description="the same for Black's engine")
    relay_gap_us: tuple[int, int, int] | None = Field(
        sa_type=RELAY_GAP,
        nullable=False,
        description="microseconds from an answer to the opponent's go: median, p99, max",
    )
    hardware: str = _added("", sa_type=CleanText, about="processor of the machine")
    steal_percent: float | None = Field(description="percentage of the machine's time that its host gave to others")

    @property
    def sides(self) -> tuple[SideRecord, SideRecord]:
        """The records of White and Black."""
        return self.white_side, self.black_side

    @property
    def numbered_opening(self) -> tuple[str, int]:
        """Name and 1-based number of its opening in the opening book."""
        return self.opening.name, self.opening.index


class GameRow(ListedGame, GameConditions, table=True):
    """A game without its moves. The pair in sorted order is the key with meeting, leg and replay."""

    __tablename__ = "games"
    __table_args__ = (
        UniqueConstraint("tournament", "pair_low", "pair_high", "meeting", "leg", "replay"),
        UniqueConstraint("tournament", "number"),
        Index("games_odds", "tournament", info={PARTIAL: "handicap != 0"}),  # few, and every list tells how many
    )
    __first__ = (
        "id tournament number pair_low pair_high white black white_engine black_engine meeting leg encounter round "
        "replay outcome termination cause culprit category plies opening white_side black_side white_tc black_tc "
        "final_fen started_unix ended_unix relay_gap_us hardware handicap load_average cores steal_percent referee_us"
    )
    id: int = _key(about="number of the game in the database, in the order of all games")
    tournament: int = _row_of("tournaments")
    pair_low: str = Field(description="the name of the pair that sorts first")
    pair_high: str = Field(description="the other name of the pair")
    white_engine: int = _row_of("engines", about="engine version that played White")
    black_engine: int = _row_of("engines", about="engine version that played Black")
    final_fen: str = Field(sa_type=CleanText, description="position at the end")


class MovesRow(Row, table=True):
    """The moves of a game, apart so that lists of games stay light."""

    __tablename__ = "moves"
    game: int = _key("games")
    moves: bytes = Field(
        description="JSON by columns, compressed by zlib: uci, san, elapsed_ms, clock_ms, score (centipawns), ..."
    )


class IncidentRow(Row, table=True):
    """Something a tester must see, written together with its game."""

    __tablename__ = "incidents"
    game: int = _key("games")
    ordinal: int = _key(about="number in the game, from 1")
    engine: str = Field(sa_type=CleanText, description="entrant at fault")
    category: str = Field(sa_type=CleanText, description="kind of incident")
    cause: str = Field(sa_type=CleanText, description="what was seen")
    ply: int = Field(description="half move at which it was seen")
    traffic: tuple[str, ...] = Field(sa_type=TUPLE, description="last lines of the talk with the engine, oldest first")
    stderr: tuple[str, ...] = Field(sa_type=TUPLE, description="last lines of its standard error output")
    status: str = _added("", about="how its process ended: exit 1, signal 11 (SIGSEGV)")
    load_average: float | None = Field(description="load average of the machine at that moment")
    last_go_us: int | None = Field(
        description="when the engine got its last go, in microseconds since its start, as the traffic has it"
    )
    memory_kb: int | None = Field(description="most memory its processes were seen to hold, in KiB")
    referee_us: int | None = Field(description="what the referee itself may have cost the move, in microseconds")


class NoteRow(Row, table=True):
    """A decision of the format, beside the event that caused it; position 0: before the first event."""

    __tablename__ = "notes"
    tournament: int = _key("tournaments")
    position: int = _key(about="event that caused the decision; 0: before the first event")
    ordinal: int = _key(about="number among the decisions of the event, from 1")
    kind: str = Field(description="kind of decision")
    text: str = Field(sa_type=CleanText, description="the decision in words")
    fields: tuple[tuple[str, object], ...] = Field(sa_type=PAIRS, description="the decision as figures, by name")


class PairCountRow(Row, table=True):
    """Derived: results of even games of an ordered pair of engine versions, kept in each game's own transaction.

    See `counts`.
    """

    __tablename__ = "pair_counts"
    tournament: int = _key("tournaments")
    white_engine: int = _key("engines")
    black_engine: int = _key("engines")
    wins: int = Field(description="games that White won")
    draws: int = Field(description="drawn games")
    losses: int = Field(description="games that White lost")


class RatingRevisionRow(Row, table=True):
    """When a stream of rating events was begun or corrected: from `first_position` on this revision holds."""

    __tablename__ = "rating_revisions"
    system: str = _key(about="rating system: elo, gor, egf, egf2021")
    revision: int = _key(about="number, from 1")
    first_position: int = Field(description="position of the first rating event that this revision replaces or adds")
    settings: str = Field(sa_type=JsonText(), description="settings of the rating system")
    why: str = Field(description="first, settings or games")
    made_unix: float = Field(description="when it was written, in seconds since 1970 UTC")


class RatingEventRow(Row, table=True):
    """One change of one rating. `position` counts the stream from 0; a corrected row stays beside its successor."""

    __tablename__ = "rating_events"
    system: str = _key(about="rating system")
    revision: int = _key(about="revision that wrote it")
    position: int = _key(about="place in the stream of rating events, from 0")
    engine: int = _row_of("engines", about="engine version that is rated")
    tournament: int = _row_of("tournaments")
    game: int | None = _row_of(
        "games", about="game that changed the rating; null: a whole tournament, or an imported game"
    )
    before: float = Field(description="rating before")
    change: float = Field(description="difference")
    after: float = Field(description="rating after")
    weight: float = Field(description="K, or con of the Go systems")
    games: int = Field(description="rated games of the engine after this event")
    imported_game: int | None = _row_of("imported_games", about="the game, where it was read from a file")


class ImportSummary(Row):
    """An import in lists."""

    files: tuple[str, ...] = Field(sa_type=TUPLE, description="names of the files")
    games: int = Field(description="games that were new")
    duplicates: int = Field(description="games of the files that were there already")
    odds_games: int = _added(0, about="games at time odds, which counts leaves out")


class ImportRow(ImportSummary, table=True):
    """Games that were read from files as one event: a tournament row of the system `import`.

    Its log is empty, or has one event: that it was struck out.
    """

    __tablename__ = "imports"
    __first__ = "tournament files after_game games duplicates counts digests"
    tournament: int = _key("tournaments")
    after_game: int = Field(
        description="newest game played here at that time: in the order of all games these follow it"
    )
    counts: bytes = Field(
        description="pair counts as 32-bit numbers, little-endian: white engines, black engines, wins, draws, losses"
    )
    digests: bytes = Field(description="8 bytes of each game, in the order of their rows")


class ImportedGameRow(Row, table=True):
    """A game from a file, for the ratings: who, what, when; its moves stay in the file."""

    __tablename__ = "imported_games"
    id: int = _key(about="number of the game among all imported games")
    tournament: int = _row_of("tournaments")
    white_engine: int = _row_of("engines")
    black_engine: int = _row_of("engines")
    white_half_points: int = Field(description="half points of White: 0, 1 or 2")
    played_yyyymmdd: int = Field(description="the Date tag as a number; 0 where it does not say")
    tc: str = Field(description="the TimeControl tag, or White's")
    file_index: int = Field(description="place of the file in the import, from 0")
    offset_bytes: int = Field(description="where the game begins in the file, in bytes")
    black_tc: str = _added("", about="time control of Black where it has another")
    handicap: int | None = _added(0, about="bands of time odds that White gives, below 0 takes; null: size unknown")
    opening_key: int | None = Field(
        description="number of the opening, the same for the same moves; 0: unknown; null: imported before it was kept"
    )
    termination: str = _added("", about="the Termination tag, unless it is the usual one")


class ListRevision(Row):
    """One revision of a list, without its definition."""

    name: str = _key(about="name of the list")
    revision: int = _key(about="number, from 1; the newest holds")
    why: str = Field(description="what changed")
    made_unix: float = Field(description="when it was written, in seconds since 1970 UTC")


class ListRow(ListRevision, table=True):
    """One revision of a published list's definition: filter, model, anchors, scale. The newest holds."""

    __tablename__ = "lists"
    __first__ = "name revision definition"
    definition: str = Field(sa_type=JsonText(), description="filter, rating system, anchors, scale")


class EditionHead(Row):
    """A published list without its lines, frozen: of the games that stood when it was made."""

    list: str = Field(description="name of the list")
    number: int = Field(description="edition of the list, from 1")
    revision: int = Field(description="revision of the list's definition")
    made_unix: float = Field(description="when it was published, in seconds since 1970 UTC")
    last_game: int = Field(description="newest game that counts")
    last_imported: int = Field(description="newest imported game that counts")
    games: int = Field(description="games that count")
    residual: float = Field(
        description="largest difference of an engine's expected and scored points that the fit left"
    )
    details: dict[str, Any] = Field(
        sa_type=Json(),
        description="model, advantage, draws, pools, anchors, who is not rated and why, engine versions by name",
    )
    note: str = Field(sa_type=CleanText, description="words of the publisher")


class EditionRow(EditionHead, table=True):
    """A published list, frozen: of the games up to `last_game` and `last_imported` that stood when it was made."""

    __tablename__ = "editions"
    __table_args__ = (UniqueConstraint("list", "number"),)
    __first__ = "id"
    id: int = _key(about="number of the edition in the database")


class RankedEngine(Row):
    """An engine with its rating in an edition."""

    rank: int = Field(description="rank in its pool")
    name: str = Field(description="engine as the list shows it")
    rating: float = Field(description="rating on the scale of the list")
    plus: float | None = Field(description="upper half of the 95 % confidence interval; null: not computed")
    minus: float | None = Field(description="lower half of the 95 % confidence interval")
    games: int = Field(description="games")


class EditionLine(RankedEngine):
    """One engine of an edition. `difference` is its rating less that of the edition before, in Elo.

    It is None for a new engine, and for one with the remark `OTHER_POOL`.
    """

    ordinal: int = _key(about="line, from 1")
    pool: int = Field(description="number of the pool, from 1")
    wins: int = Field(description="wins")
    draws: int = Field(description="draws")
    losses: int = Field(description="losses")
    opponents: float = Field(description="mean rating of the opponents")
    performance: float | None = Field(description="performance rating")
    los: float | None = Field(description="likelihood of superiority over the next engine, 0 to 1")
    difference: float | None = Field(
        description="rating less that of the edition before; null: a new engine, or another pool"
    )
    remarks: tuple[str, ...] = Field(sa_type=TUPLE, description="remarks on the line")

    @property
    def score(self) -> float:
        """Score from 0 to 1."""
        return (self.wins + self.draws / 2) / self.games


class EditionLineRow(EditionLine, table=True):
    """A line of an edition with its key."""

    __tablename__ = "edition_lines"
    __first__ = "edition ordinal pool"
    edition: int = _key("editions")


def title_of(name: str, edition: int) -> str:
    """Format name and edition of a tournament or an import: the edition is added from the second on."""
    return name if edition == 1 else f"{name} #{edition}"


ENGINES, TOURNAMENTS, ENTRANTS, EVENTS = (row.__table__ for row in (EngineRow, TournamentRow, EntrantRow, EventRow))
GAMES, MOVES, INCIDENTS, NOTES = (row.__table__ for row in (GameRow, MovesRow, IncidentRow, NoteRow))
PAIR_COUNTS, RATING_REVISIONS, RATING_EVENTS = (
    row.__table__ for row in (PairCountRow, RatingRevisionRow, RatingEventRow)
)
IMPORTS, IMPORTED_GAMES = ImportRow.__table__, ImportedGameRow.__table__
LISTS, EDITIONS, EDITION_LINES = ListRow.__table__, EditionRow.__table__, EditionLineRow.__table__

NEXT_POSITION = select(func.coalesce(func.max(EVENTS.c.position), 0) + 1).where(EVENTS.c.tournament == bindparam("t"))

EVEN = GAMES.c.handicap == 0
ODDS = GAMES.c.handicap != literal_column("0")  # as the index `games_odds` has it, or it would not be used
EVEN_READ = func.coalesce(IMPORTED_GAMES.c.handicap, 1) == 0  # of an imported game; null: odds of unknown size
STRUCK = exists().where(EVENTS.c.game == GAMES.c.id, EVENTS.c.kind == "voided")
STANDING = and_(GAMES.c.outcome != Outcome.VOID, ~STRUCK)
