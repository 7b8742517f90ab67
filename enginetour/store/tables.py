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
from enginetour.store.codecs import OPENING, SIDE, TUPLE, WHOLE, WORDS, CleanText, Json, JsonText, Word

APPLICATION_ID = 0x456E5472  # "EnTr", in the header of every database of ours (SQLite file format 1.3.17)
SCHEMA_VERSION = 7  # user_version in the same header; grows with every change of this page, and `migrations` adds it

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


def _key(of: str | None = None) -> Any:
    """A part of the primary key, perhaps the number of a row of another table."""
    return Field(primary_key=True) if of is None else Field(primary_key=True, foreign_key=f"{of}.id")


def _row_of(table: str) -> Any:
    """The number of a row of another table."""
    return Field(foreign_key=f"{table}.id")


def _added(default: Any, **more: Any) -> Any:
    """A column that a later version of the schema appended, with the value of older rows."""
    return Field(default=default, sa_column_kwargs={"server_default": str(default)}, **more)


class EngineRow(Row, table=True):
    """An engine version, the rated thing: another binary, option or protocol is another row."""

    __tablename__ = "engines"
    __table_args__ = (UniqueConstraint("name", "fingerprint", "options", "protocol"),)
    id: int = _key()
    name: str
    fingerprint: str
    options: tuple[tuple[str, str], ...] = Field(sa_type=TUPLE)  # in the order they are sent
    protocol: str
    own_name: str = ""
    family: str = ""
    origin: str = ""
    command: tuple[str, ...] = Field(default=(), sa_type=TUPLE)


class TournamentEntry(Row):
    """A tournament in lists, cheap enough to be read every second; `created` is UTC seconds, for people."""

    id: int = _key()
    name: str
    edition: int
    slug: str
    system: str  # `import` for games that were read from files
    created: float

    @property
    def title(self) -> str:
        """The name, with its edition from the second on."""
        return title_of(self.name, self.edition)


class TournamentRow(TournamentEntry, table=True):
    """One edition of one tournament and the configuration it is frozen to."""

    __tablename__ = "tournaments"
    __table_args__ = (UniqueConstraint("name", "edition"), UniqueConstraint("slug"))
    __first__ = "id name edition slug system format_version config seed"
    format_version: int
    config: dict[str, Any] = Field(sa_type=Json())
    seed: int
    version: str  # of enginetour


class EnteredEngine(Row):
    """An entrant in lists; `place` is its place in the starting list, from 1, best first."""

    name: str = _key()
    place: int
    family: str = ""
    origin: str = ""


class EntrantRow(EnteredEngine, table=True):
    """Who stood in the list from event `since` on, and how it is started; the latest row of a name holds."""

    __tablename__ = "entrants"
    __first__ = "tournament name since place engine new rating"
    tournament: int = _key("tournaments")
    since: int = _key()  # position of the event that brought it; 0: there from the start
    engine: int = _row_of("engines")
    new: bool
    rating: float | None
    spec: str = Field(sa_type=JsonText())  # text, so that a damaged one is refused by the name of its entrant


class EventRow(Row, table=True):
    """The log. `game` is the game that ended or was struck out; payload holds the rest."""

    __tablename__ = "events"
    __table_args__ = (Index("events_game", "game", "kind"),)
    tournament: int = _key("tournaments")
    position: int = _key()
    kind: str  # finished, voided, withdrawn, added, replaced, extended; of an import only: removed
    game: int | None = _row_of("games")
    payload: dict[str, Any] | None = Field(
        sa_type=Json(may_be_empty=True), nullable=False, sa_column_kwargs={"default": ""}
    )
    at: float = 0.0  # UTC seconds


class _Game(Row):
    """What all lists of games tell. Times are UTC seconds."""

    number: int
    white: str
    black: str
    outcome: Outcome = Field(sa_type=Word(Outcome))
    started: float
    ended: float
    handicap: int = _added(0)  # bands White gives, below 0 takes
    load: float | None  # of the machine, and its processors
    cores: int | None
    own_us: int | None

    @property
    def busy(self) -> bool:
        """Whether the load exceeded the processors, which may have affected clocks and playing strength."""
        return self.load is not None and self.cores is not None and self.load > self.cores


class ListedGame(_Game):
    """The columns of a game that lists of games show."""

    meeting: int
    leg: int
    encounter: int
    round: int
    replay: int
    termination: Termination = Field(sa_type=Word(Termination))
    cause: str = Field(sa_type=CleanText)
    culprit: str = Field(sa_type=CleanText)
    category: str = Field(sa_type=CleanText)
    plies: int
    white_tc: str
    black_tc: str


class GameConditions(_Game):
    """Opening, machine and records of both sides, for the fairness of a tournament. None: not measured."""

    opening: Opening = Field(sa_type=OPENING)
    white_side: SideRecord = Field(sa_type=SIDE)
    black_side: SideRecord = Field(sa_type=SIDE)
    relay: tuple[int, int, int] | None = Field(  # relay gap in us: median, 99th percentile, largest
        sa_type=Json(tuple, may_be_empty=True), nullable=False
    )
    hardware: str = _added("", sa_type=CleanText)  # processor of the machine it was played on
    steal: float | None  # share of the machine's time that its host gave to others, 0 to 1

    @property
    def sides(self) -> tuple[SideRecord, SideRecord]:
        """The records of White and Black."""
        return self.white_side, self.black_side

    @property
    def numbered_opening(self) -> tuple[str, int]:
        """Name and 1-based number of its opening in the opening book."""
        return self.opening.name, self.opening.index


class GameRow(ListedGame, GameConditions, table=True):
    """A game without its moves. `a` and `b` are the pair in sorted order: the key with meeting, leg, replay."""

    __tablename__ = "games"
    __table_args__ = (
        UniqueConstraint("tournament", "a", "b", "meeting", "leg", "replay"),
        UniqueConstraint("tournament", "number"),
        Index("games_odds", "tournament", info={PARTIAL: "handicap != 0"}),  # few, and every list tells how many
    )
    __first__ = (
        "id tournament number a b white black white_engine black_engine meeting leg encounter round replay outcome "
        "termination cause culprit category plies opening white_side black_side white_tc black_tc final_fen started "
        "ended relay hardware handicap load cores steal own_us"
    )
    id: int = _key()
    tournament: int = _row_of("tournaments")
    a: str
    b: str
    white_engine: int = _row_of("engines")
    black_engine: int = _row_of("engines")
    final_fen: str = Field(sa_type=CleanText)


class MovesRow(Row, table=True):
    """The moves of a game, apart so that lists of games stay light; unpacked game by game, by `moves_of`."""

    __tablename__ = "moves"
    game: int = _key("games")
    moves: bytes


class IncidentRow(Row, table=True):
    """Something a tester must see, in the transaction of its game; fields as of `Incident`."""

    __tablename__ = "incidents"
    game: int = _key("games")
    ordinal: int = _key()
    engine: str = Field(sa_type=CleanText)
    category: str = Field(sa_type=CleanText)
    cause: str = Field(sa_type=CleanText)
    ply: int
    traffic: tuple[str, ...] = Field(sa_type=TUPLE)
    stderr: tuple[str, ...] = Field(sa_type=TUPLE)
    status: str = _added("")  # how its process ended
    load: float | None
    asked_us: int | None  # stamp of its last `go`, as the lines of traffic have it
    memory_kb: int | None
    own_us: int | None


class NoteRow(Row, table=True):
    """A decision of the format, beside the event that caused it; position 0: before the first event."""

    __tablename__ = "notes"
    tournament: int = _key("tournaments")
    position: int = _key()
    ordinal: int = _key()
    kind: str
    text: str = Field(sa_type=CleanText)
    fields: tuple[tuple[str, object], ...] = Field(sa_type=TUPLE)


class PairCountRow(Row, table=True):
    """Derived: results of even games of an ordered pair of engine versions, kept in each game's own transaction.

    See `counts`.
    """

    __tablename__ = "pair_counts"
    tournament: int = _key("tournaments")
    white: int = _key("engines")
    black: int = _key("engines")
    wins: int
    draws: int
    losses: int


class RatingRevisionRow(Row, table=True):
    """When a stream of rating events was begun or corrected: from `start` on this revision holds."""

    __tablename__ = "rating_revisions"
    system: str = _key()
    revision: int = _key()
    start: int
    settings: str = Field(sa_type=JsonText())  # the model of its system reads it
    why: str
    made: float


class RatingEventRow(Row, table=True):
    """One change of one rating. `place` counts the stream from 0; a corrected row stays beside its successor."""

    __tablename__ = "rating_events"
    system: str = _key()
    revision: int = _key()
    place: int = _key()
    engine: int = _row_of("engines")
    tournament: int = _row_of("tournaments")
    game: int | None = _row_of("games")
    before: float
    change: float
    after: float
    weight: float
    games: int
    imported: int | None = _row_of("imported_games")  # the game, where it was read from a file


class ImportRow(Row, table=True):
    """Games that were read from files as one event: a tournament row of the system `import`.

    Its log is empty, or has one event: that it was struck out.
    """

    __tablename__ = "imports"
    tournament: int = _key("tournaments")
    files: tuple[str, ...] = Field(sa_type=TUPLE)
    after_game: int  # the newest of the games played here: in the order of all games these follow it
    games: int
    duplicates: int  # games of the files that were there already
    counts: bytes  # derived, as `counts` packs them
    digests: bytes  # of every game, 8 bytes each, in the order of their rows
    odds: int = _added(0)  # games at odds: `counts` has none of them


class ImportedGameRow(Row, table=True):
    """A game from a file, for the ratings: who, what, when; its moves stay in the file."""

    __tablename__ = "imported_games"
    id: int = _key()
    tournament: int = _row_of("tournaments")
    white: int = _row_of("engines")
    black: int = _row_of("engines")
    half_points: int  # White's
    day: int  # of the Date tag as YYYYMMDD, 0 where it does not say
    tc: str  # the TimeControl tag, or White's
    file: int  # place in the import's files, from 0
    offset: int  # of the game in the file, in bytes
    black_tc: str = _added("")  # where Black has another
    handicap: int | None = _added(0)  # bands White gives, below 0 takes; null: size unknown
    opening: int | None  # as `gametags` numbers them, 0: nothing tells it; null: imported before it was kept
    termination: str = _added("")  # the tag, unless it is usual


class ListRow(Row, table=True):
    """One revision of a published list's definition: filter, model, anchors, scale. The newest holds."""

    __tablename__ = "lists"
    name: str = _key()
    revision: int = _key()
    definition: str = Field(sa_type=JsonText())  # `ListDefinition` reads it
    why: str
    made: float


class EditionRow(Row, table=True):
    """A published list, frozen: of the games up to `last_game` and `last_imported` that stood when it was made."""

    __tablename__ = "editions"
    __table_args__ = (UniqueConstraint("list", "number"),)
    id: int = _key()
    list: str
    number: int
    revision: int
    made: float
    last_game: int
    last_imported: int
    games: int
    residual: float
    story: dict[str, Any] = Field(sa_type=Json())  # model, advantage, draws, pools, anchors, who is not rated and why
    note: str = Field(sa_type=CleanText)


class EditionLine(Row):
    """One engine of an edition. `difference` is its rating less that of the edition before, in Elo.

    It is None for a new engine, and for one with the remark `OTHER_POOL`.
    """

    ordinal: int = _key()
    pool: int
    rank: int
    name: str
    rating: float
    plus: float | None
    minus: float | None
    games: int
    wins: int
    draws: int
    losses: int
    opponents: float
    performance: float | None
    los: float | None
    difference: float | None
    remarks: tuple[str, ...] = Field(sa_type=TUPLE)

    @property
    def score(self) -> float:
        """Score from 0 to 1."""
        return (self.wins + self.draws / 2) / self.games


class EditionLineRow(EditionLine, table=True):
    """A line of an edition with its key."""

    __tablename__ = "edition_lines"
    __first__ = "edition"
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
