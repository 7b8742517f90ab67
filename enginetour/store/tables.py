"""Tables: where the games table and all others are defined, the schema version, and common conditions on them.

Rows are never changed, except `PAIR_COUNTS` and an engine's own name, which can be rebuilt. Nested values are compact
JSON. `GAMES.c.id` and `EVENTS.c.position` define the order, never a clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    select,
)

from enginetour.model.game import Outcome

# Columns. Integers have 64 bits and text is sorted by bytes, as in SQLite; PostgreSQL needs explicit types.

WHOLE = Integer().with_variant(BigInteger(), "postgresql")
WORDS = String().with_variant(String(collation="C"), "postgresql")


def _serial() -> Column[Any]:
    """The key that the database counts up itself."""
    return Column("id", WHOLE, primary_key=True)


def key(name: str, of: str | None = None, kind: Any = WHOLE) -> Column[Any]:
    """Part of the primary key, perhaps the number of a row `of` another table."""
    return Column(name, kind, *([ForeignKey(f"{of}.id")] if of else []), primary_key=True)


def row_of(name: str, table: str, *, nullable: bool = False) -> Column[Any]:
    """The number of another table's row."""
    return Column(name, WHOLE, ForeignKey(f"{table}.id"), nullable=nullable)


def words(name: str, default: str | None = None) -> Column[Any]:
    """Never null; with a default it may be left out of a new row."""
    return Column(name, WORDS, nullable=False, default=default)


def whole(name: str) -> Column[Any]:
    """A whole number; never null."""
    return Column(name, WHOLE, nullable=False)


def real(name: str, *, nullable: bool = False) -> Column[Any]:
    """A measure or a moment; null only where it may be unknown."""
    return Column(name, Float, nullable=nullable)


def each(kind: Callable[[str], Column[Any]], *names: str) -> list[Column[Any]]:
    """Several of one kind in a row."""
    return [kind(name) for name in names]


APPLICATION_ID = 0x456E5472  # "EnTr", in the header of every database of ours (SQLite file format 1.3.17)
SCHEMA_VERSION = 7  # user_version in the same header; grows with every change of this page, and `schema` adds it

METADATA = MetaData()
PARTIAL = "where"  # of an index's `info`: the rows it holds; `schema` tells it to the dialect that makes the index

ENGINES = Table(
    "engines",
    METADATA,
    _serial(),
    *each(words, "name", "fingerprint"),
    words("options"),  # JSON [[name, value], ...] in the order they are sent
    words("protocol"),
    words("own_name", ""),
    words("family", ""),
    words("origin", ""),
    words("command", "[]"),
    UniqueConstraint("name", "fingerprint", "options", "protocol"),
)
"""An engine version, the rated thing: another binary, option or protocol is another row."""

TOURNAMENTS = Table(
    "tournaments",
    METADATA,
    _serial(),
    words("name"),
    whole("edition"),
    *each(words, "slug", "system"),
    whole("format_version"),
    words("config"),
    whole("seed"),
    real("created"),  # UTC seconds, for people
    words("version"),  # of enginetour
    UniqueConstraint("name", "edition"),
    UniqueConstraint("slug"),
)
"""One edition of one tournament and the configuration it is frozen to."""

ENTRANTS = Table(
    "entrants",
    METADATA,
    key("tournament", "tournaments"),
    key("name", kind=WORDS),
    key("since"),  # position of the event that brought it; 0: there from the start
    whole("place"),  # in the starting list, from 1, best first
    row_of("engine", "engines"),
    Column("new", Boolean, nullable=False),
    real("rating", nullable=True),
    words("family", ""),
    words("origin", ""),
    words("spec"),
)
"""Who stood in the list from event `since` on, and how it is started; the latest row of a name holds."""

EVENTS = Table(
    "events",
    METADATA,
    key("tournament", "tournaments"),
    key("position"),
    words("kind"),  # finished, voided, withdrawn, added, replaced, extended; of an import only: removed
    row_of("game", "games", nullable=True),
    words("payload", ""),
    Column("at", Float, nullable=False, default=0.0),
    Index("events_game", "game", "kind"),
)
"""The log. `game` is the game that ended or was struck out; payload holds the rest as JSON."""

GAMES = Table(
    "games",
    METADATA,
    _serial(),
    row_of("tournament", "tournaments"),
    whole("number"),
    *each(words, "a", "b", "white", "black"),
    row_of("white_engine", "engines"),
    row_of("black_engine", "engines"),
    *each(whole, "meeting", "leg", "encounter", "round", "replay"),
    *each(words, "outcome", "termination", "cause", "culprit", "category"),
    whole("plies"),
    *each(words, "opening", "white_side", "black_side", "white_tc", "black_tc", "final_fen"),
    *each(real, "started", "ended"),
    words("relay"),
    # processor of the machine it was played on
    Column("hardware", WORDS, nullable=False, default="", server_default=""),
    Column("handicap", WHOLE, nullable=False, default=0, server_default="0"),  # bands White gives, below 0 takes
    real("load", nullable=True),
    Column("cores", WHOLE),
    real("steal", nullable=True),
    Column("own_us", WHOLE),
    UniqueConstraint("tournament", "a", "b", "meeting", "leg", "replay"),
    UniqueConstraint("tournament", "number"),
    Index("games_odds", "tournament", info={PARTIAL: "handicap != 0"}),  # few, and every list tells how many
)
"""A game without its moves. `a` and `b` are the pair in sorted order: the key with meeting, leg, replay."""

MOVES = Table("moves", METADATA, key("game", "games"), Column("moves", LargeBinary, nullable=False))
"""The moves of a game, apart so that lists of games stay light: zlib over JSON rows."""

INCIDENTS = Table(
    "incidents",
    METADATA,
    key("game", "games"),
    key("ordinal"),
    *each(words, "engine", "category", "cause"),
    whole("ply"),
    *each(words, "traffic", "stderr"),
    Column("status", WORDS, nullable=False, default="", server_default=""),  # how its process ended
    real("load", nullable=True),
    # asked: stamp of its last `go`, as the lines of traffic have it
    *(Column(name, WHOLE) for name in ("asked_us", "memory_kb", "own_us")),
)
"""Something a tester must see, in the transaction of its game."""

NOTES = Table(
    "notes",
    METADATA,
    key("tournament", "tournaments"),
    key("position"),
    key("ordinal"),
    *each(words, "kind", "text", "fields"),
)
"""A decision of the format, beside the event that caused it; position 0: before the first event."""

PAIR_COUNTS = Table(
    "pair_counts",
    METADATA,
    key("tournament", "tournaments"),
    key("white", "engines"),
    key("black", "engines"),
    *each(whole, "wins", "draws", "losses"),
)
"""Derived: results of even games of an ordered pair of engine versions, kept in each game's own transaction.

See `paircounts`.
"""

RATING_REVISIONS = Table(
    "rating_revisions",
    METADATA,
    key("system", kind=WORDS),
    key("revision"),
    whole("start"),
    *each(words, "settings", "why"),
    real("made"),
)
"""When a stream of rating events was begun or corrected: from `start` on this revision holds."""

RATING_EVENTS = Table(
    "rating_events",
    METADATA,
    key("system", kind=WORDS),
    key("revision"),
    key("place"),
    row_of("engine", "engines"),
    row_of("tournament", "tournaments"),
    row_of("game", "games", nullable=True),
    *each(real, "before", "change", "after", "weight"),
    whole("games"),
    row_of("imported", "imported_games", nullable=True),  # the game, where it was read from a file
)
"""One change of one rating. `place` counts the stream from 0; a corrected row stays beside its successor."""

IMPORTS = Table(
    "imports",
    METADATA,
    key("tournament", "tournaments"),
    words("files"),  # JSON [path, ...]
    whole("after_game"),  # the newest of the games played here: in the order of all games these follow it
    *each(whole, "games", "duplicates"),  # duplicates: games of the files that were there already
    Column("counts", LargeBinary, nullable=False),  # derived, as `paircounts` packs them
    Column("digests", LargeBinary, nullable=False),  # of every game, 8 bytes each, in the order of their rows
    Column("odds", WHOLE, nullable=False, default=0, server_default="0"),  # games at odds: `counts` has none of them
)
"""Games that were read from files as one event: a tournament row of the system `import`.

Its log is empty, or has one event: that it was struck out.
"""

IMPORTED_GAMES = Table(
    "imported_games",
    METADATA,
    _serial(),
    row_of("tournament", "tournaments"),
    row_of("white", "engines"),
    row_of("black", "engines"),
    whole("half_points"),  # White's
    whole("day"),  # of the Date tag as YYYYMMDD, 0 where it does not say
    words("tc"),  # the TimeControl tag, or White's
    whole("file"),  # place in the import's files, from 0
    whole("offset"),  # of the game in the file, in bytes
    Column("black_tc", WORDS, nullable=False, default="", server_default=""),  # where Black has another
    Column("handicap", WHOLE, default=0, server_default="0"),  # bands White gives, below 0 takes; null: size unknown
    Column("opening", WHOLE),  # as `gameopenings` numbers them, 0: nothing tells it; null: imported before it was kept
    Column("termination", WORDS, nullable=False, default="", server_default=""),  # the tag, unless it is usual
)
"""A game from a file, for the ratings: who, what, when; its moves stay in the file."""

LISTS = Table(
    "lists",
    METADATA,
    key("name", kind=WORDS),
    key("revision"),
    *each(words, "definition", "why"),
    real("made"),
)
"""One revision of a published list's definition: filter, model, anchors, scale. The newest holds."""

EDITIONS = Table(
    "editions",
    METADATA,
    _serial(),
    words("list"),
    *each(whole, "number", "revision"),
    real("made"),
    *each(whole, "last_game", "last_imported", "games"),
    real("residual"),
    words("story"),  # JSON: model, advantage, draws, pools, anchors, caption, who is not rated and why
    words("note"),
    UniqueConstraint("list", "number"),
)
"""A published list, frozen: of the games up to `last_game` and `last_imported` that stood when it was made."""

EDITION_LINES = Table(
    "edition_lines",
    METADATA,
    key("edition", "editions"),
    key("ordinal"),
    *each(whole, "pool", "rank"),
    words("name"),
    real("rating"),
    real("plus", nullable=True),
    real("minus", nullable=True),
    *each(whole, "games", "wins", "draws", "losses"),
    real("opponents"),
    real("performance", nullable=True),
    real("los", nullable=True),
    real("difference", nullable=True),
    words("remarks"),  # JSON [...]
)
"""One engine of an edition. `difference` is its rating less that of the edition before, where it was in it."""


NEXT_POSITION = select(func.coalesce(func.max(EVENTS.c.position), 0) + 1).where(EVENTS.c.tournament == bindparam("t"))


EVEN = GAMES.c.handicap == 0
ODDS = GAMES.c.handicap != literal_column("0")  # as the index `games_odds` has it, or it would not be used
EVEN_READ = func.coalesce(IMPORTED_GAMES.c.handicap, 1) == 0  # of an imported game; null: odds of unknown size
STRUCK = exists().where(EVENTS.c.game == GAMES.c.id, EVENTS.c.kind == "voided")
STANDING = and_(GAMES.c.outcome != Outcome.VOID.value, ~STRUCK)
