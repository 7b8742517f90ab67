"""The rows: what the database holds, one class a table. They never leave this room.

Nothing here is ever edited but two things that can be rebuilt from the rest: `PairCountRow`, and an engine's
own name, which is only known once it has spoken. Names are bound parameters and plain text; everything nested
is compact JSON. The order of all things is `GameRow.id` and `EventRow.position`, never a clock.
"""

from __future__ import annotations

from sqlalchemy import Index, LargeBinary, Table, UniqueConstraint
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

APPLICATION_ID = 0x456E5472  # "EnTr", in the header of every database of ours (SQLite file format 1.3.17)
SCHEMA_VERSION = 2  # user_version in the same header; grows with every change of this page, and `schema` adds it


class Row(SQLModel, registry=registry()):
    """A table of ours; a registry of its own keeps other people's models out of our schema."""


class EngineRow(Row, table=True):
    """An engine version, the rated thing: another binary, option or protocol is another row."""

    __tablename__ = "engines"
    __table_args__ = (UniqueConstraint("name", "fingerprint", "options", "protocol"),)
    id: int | None = Field(default=None, primary_key=True)
    name: str
    fingerprint: str
    options: str  # JSON [[name, value], ...] in the order they are sent
    protocol: str
    own_name: str = ""
    family: str = ""
    origin: str = ""
    command: str = "[]"


class TournamentRow(Row, table=True):
    """One edition of one tournament and the configuration it is frozen to."""

    __tablename__ = "tournaments"
    __table_args__ = (UniqueConstraint("name", "edition"), UniqueConstraint("slug"))
    id: int | None = Field(default=None, primary_key=True)
    name: str
    edition: int
    slug: str
    system: str
    format_version: int
    config: str
    seed: int
    created: float  # UTC seconds, for people
    version: str  # of enginetour


class EntrantRow(Row, table=True):
    """Who stood in the list from event `since` on, and how it is started; the latest row of a name holds."""

    __tablename__ = "entrants"
    tournament: int = Field(foreign_key="tournaments.id", primary_key=True)
    name: str = Field(primary_key=True)
    since: int = Field(primary_key=True)  # position of the event that brought it; 0: there from the start
    place: int  # in the starting list, from 1, best first
    engine: int = Field(foreign_key="engines.id")
    new: bool
    rating: float | None = None
    family: str = ""
    origin: str = ""
    spec: str


class EventRow(Row, table=True):
    """The log. `game` is the game that ended or was struck out; payload holds the rest as JSON."""

    __tablename__ = "events"
    __table_args__ = (Index("events_game", "game", "kind"),)
    tournament: int = Field(foreign_key="tournaments.id", primary_key=True)
    position: int = Field(primary_key=True)
    kind: str  # finished, voided, withdrawn, added, replaced, extended
    game: int | None = Field(default=None, foreign_key="games.id")
    payload: str = ""
    at: float = 0.0


class GameRow(Row, table=True):
    """A game without its moves. `a` and `b` are the pair in sorted order: the key with meeting, leg, replay."""

    __tablename__ = "games"
    __table_args__ = (
        UniqueConstraint("tournament", "a", "b", "meeting", "leg", "replay"),
        UniqueConstraint("tournament", "number"),
    )
    id: int | None = Field(default=None, primary_key=True)
    tournament: int = Field(foreign_key="tournaments.id")
    number: int
    a: str
    b: str
    white: str
    black: str
    white_engine: int = Field(foreign_key="engines.id")
    black_engine: int = Field(foreign_key="engines.id")
    meeting: int
    leg: int
    encounter: int
    round: int
    replay: int
    outcome: str
    termination: str
    cause: str
    culprit: str
    category: str
    plies: int
    opening: str
    white_side: str
    black_side: str
    white_tc: str
    black_tc: str
    final_fen: str
    started: float
    ended: float
    relay: str
    hardware: str = Field(
        default="", sa_column_kwargs={"server_default": ""}
    )  # processor of the machine it was played on


class MovesRow(Row, table=True):
    """The moves of a game, apart so that lists of games stay light: zlib over JSON rows."""

    __tablename__ = "moves"
    game: int = Field(foreign_key="games.id", primary_key=True)
    moves: bytes = Field(sa_type=LargeBinary)


class IncidentRow(Row, table=True):
    """Something a tester must see, in the transaction of its game."""

    __tablename__ = "incidents"
    game: int = Field(foreign_key="games.id", primary_key=True)
    ordinal: int = Field(primary_key=True)
    engine: str
    category: str
    cause: str
    ply: int
    traffic: str
    stderr: str


class NoteRow(Row, table=True):
    """A decision of the format, beside the event that caused it; position 0: before the first event."""

    __tablename__ = "notes"
    tournament: int = Field(foreign_key="tournaments.id", primary_key=True)
    position: int = Field(primary_key=True)
    ordinal: int = Field(primary_key=True)
    kind: str
    text: str
    fields: str


class PairCountRow(Row, table=True):
    """Derived: results of one ordered pair of engine versions, kept in each game's own transaction."""

    __tablename__ = "pair_counts"
    tournament: int = Field(foreign_key="tournaments.id", primary_key=True)
    white: int = Field(foreign_key="engines.id", primary_key=True)
    black: int = Field(foreign_key="engines.id", primary_key=True)
    wins: int
    draws: int
    losses: int


class RatingRevisionRow(Row, table=True):
    """When a stream of rating events was begun or corrected: from `start` on this revision holds."""

    __tablename__ = "rating_revisions"
    system: str = Field(primary_key=True)
    revision: int = Field(primary_key=True)
    start: int
    settings: str
    why: str
    made: float


class RatingEventRow(Row, table=True):
    """One change of one rating. `place` counts the stream from 0; a corrected row stays beside its successor."""

    __tablename__ = "rating_events"
    system: str = Field(primary_key=True)
    revision: int = Field(primary_key=True)
    place: int = Field(primary_key=True)
    engine: int = Field(foreign_key="engines.id")
    tournament: int = Field(foreign_key="tournaments.id")
    game: int | None = Field(default=None, foreign_key="games.id")
    before: float
    change: float
    after: float
    weight: float
    games: int
    imported: int | None = Field(
        default=None, foreign_key="imported_games.id"
    )  # the game, where it was read from a file


class ImportRow(Row, table=True):
    """Games that were read from files as one event: a tournament row of the system `import`, whose log is empty."""

    __tablename__ = "imports"
    tournament: int = Field(foreign_key="tournaments.id", primary_key=True)
    files: str  # JSON [path, ...]
    after_game: int  # the newest of the games played here: in the order of all games these follow it
    games: int
    duplicates: int  # games of the files that were there already
    digests: bytes = Field(sa_type=LargeBinary)  # of every game, 8 bytes each, in the order of their rows


class ImportedGameRow(Row, table=True):
    """A game from a file, for the ratings: who, what, when; its moves stay in the file."""

    __tablename__ = "imported_games"
    id: int | None = Field(default=None, primary_key=True)
    tournament: int = Field(foreign_key="tournaments.id")
    white: int = Field(foreign_key="engines.id")
    black: int = Field(foreign_key="engines.id")
    half_points: int  # White's
    day: int  # of the Date tag as YYYYMMDD, 0 where it does not say
    tc: str  # the TimeControl tag
    file: int  # place in the import's files, from 0
    offset: int  # of the game in the file, in bytes


class ListRow(Row, table=True):
    """One revision of a published list's definition: filter, model, anchors, scale. The newest holds."""

    __tablename__ = "lists"
    name: str = Field(primary_key=True)
    revision: int = Field(primary_key=True)
    definition: str
    why: str
    made: float


class EditionRow(Row, table=True):
    """A published list, frozen: of the games up to `last_game` and `last_imported` that stood when it was made."""

    __tablename__ = "editions"
    __table_args__ = (UniqueConstraint("list", "number"),)
    id: int | None = Field(default=None, primary_key=True)
    list: str
    number: int
    revision: int
    made: float
    last_game: int
    last_imported: int
    games: int
    residual: float
    story: str  # JSON: model, advantage, draws, pools, anchors, caption, who is not rated and why
    note: str


class EditionLineRow(Row, table=True):
    """One engine of an edition. `difference` is its rating less that of the edition before, where it was in it."""

    __tablename__ = "edition_lines"
    edition: int = Field(foreign_key="editions.id", primary_key=True)
    ordinal: int = Field(primary_key=True)
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
    remarks: str  # JSON [...]


def table(row: type[SQLModel]) -> Table:
    """The table of a row class, for statements of SQLAlchemy Core."""
    return Row.metadata.tables[str(row.__tablename__)]


ENGINES = table(EngineRow)
TOURNAMENTS = table(TournamentRow)
ENTRANTS = table(EntrantRow)
EVENTS = table(EventRow)
GAMES = table(GameRow)
MOVES = table(MovesRow)
INCIDENTS = table(IncidentRow)
NOTES = table(NoteRow)
PAIR_COUNTS = table(PairCountRow)
RATING_REVISIONS = table(RatingRevisionRow)
RATING_EVENTS = table(RatingEventRow)
IMPORTS = table(ImportRow)
IMPORTED_GAMES = table(ImportedGameRow)
LISTS = table(ListRow)
EDITIONS = table(EditionRow)
EDITION_LINES = table(EditionLineRow)
