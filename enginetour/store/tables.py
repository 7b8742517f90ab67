"""The rows: what the database holds, one table each. They never leave this room.

Nothing here is ever edited but two things that can be rebuilt from the rest: `PAIR_COUNTS`, and an engine's
own name, which is only known once it has spoken. Names are bound parameters and plain text; everything nested
is compact JSON. The order of all things is `GAMES.c.id` and `EVENTS.c.position`, never a clock.

The tables are SQLAlchemy's own: classes that are mapped to them would cost every command 0.17 s of start-up (measured).
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
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
    text,
)

APPLICATION_ID = 0x456E5472  # "EnTr", in the header of every database of ours (SQLite file format 1.3.17)
SCHEMA_VERSION = 5  # user_version in the same header; grows with every change of this page, and `schema` adds it

METADATA = MetaData()


def _number() -> Column[Any]:
    """The key that the database counts up itself."""
    return Column("id", Integer, primary_key=True)


def _key(name: str, of: str | None = None, kind: type[Any] = Integer) -> Column[Any]:
    """Part of the primary key, perhaps the number of a row `of` another table."""
    return Column(name, kind, *([ForeignKey(f"{of}.id")] if of else []), primary_key=True)


def _of(name: str, table: str, *, nullable: bool = False) -> Column[Any]:
    """The number of another table's row."""
    return Column(name, Integer, ForeignKey(f"{table}.id"), nullable=nullable)


def _text(name: str, default: str | None = None) -> Column[Any]:
    """Never null; with a default it may be left out of a new row."""
    return Column(name, String, nullable=False, default=default)


def _whole(name: str) -> Column[Any]:
    return Column(name, Integer, nullable=False)


def _real(name: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, Float, nullable=nullable)


def _texts(*names: str) -> list[Column[Any]]:
    return [_text(name) for name in names]


def _wholes(*names: str) -> list[Column[Any]]:
    return [_whole(name) for name in names]


def _reals(*names: str) -> list[Column[Any]]:
    return [_real(name) for name in names]


ENGINES = Table(
    "engines",
    METADATA,
    _number(),
    *_texts("name", "fingerprint"),
    _text("options"),  # JSON [[name, value], ...] in the order they are sent
    _text("protocol"),
    _text("own_name", ""),
    _text("family", ""),
    _text("origin", ""),
    _text("command", "[]"),
    UniqueConstraint("name", "fingerprint", "options", "protocol"),
)
"""An engine version, the rated thing: another binary, option or protocol is another row."""

TOURNAMENTS = Table(
    "tournaments",
    METADATA,
    _number(),
    _text("name"),
    _whole("edition"),
    *_texts("slug", "system"),
    _whole("format_version"),
    _text("config"),
    _whole("seed"),
    _real("created"),  # UTC seconds, for people
    _text("version"),  # of enginetour
    UniqueConstraint("name", "edition"),
    UniqueConstraint("slug"),
)
"""One edition of one tournament and the configuration it is frozen to."""

ENTRANTS = Table(
    "entrants",
    METADATA,
    _key("tournament", "tournaments"),
    _key("name", kind=String),
    _key("since"),  # position of the event that brought it; 0: there from the start
    _whole("place"),  # in the starting list, from 1, best first
    _of("engine", "engines"),
    Column("new", Boolean, nullable=False),
    _real("rating", nullable=True),
    _text("family", ""),
    _text("origin", ""),
    _text("spec"),
)
"""Who stood in the list from event `since` on, and how it is started; the latest row of a name holds."""

EVENTS = Table(
    "events",
    METADATA,
    _key("tournament", "tournaments"),
    _key("position"),
    _text("kind"),  # finished, voided, withdrawn, added, replaced, extended; of an import only: removed
    _of("game", "games", nullable=True),
    _text("payload", ""),
    Column("at", Float, nullable=False, default=0.0),
    Index("events_game", "game", "kind"),
)
"""The log. `game` is the game that ended or was struck out; payload holds the rest as JSON."""

GAMES = Table(
    "games",
    METADATA,
    _number(),
    _of("tournament", "tournaments"),
    _whole("number"),
    *_texts("a", "b", "white", "black"),
    _of("white_engine", "engines"),
    _of("black_engine", "engines"),
    *_wholes("meeting", "leg", "encounter", "round", "replay"),
    *_texts("outcome", "termination", "cause", "culprit", "category"),
    _whole("plies"),
    *_texts("opening", "white_side", "black_side", "white_tc", "black_tc", "final_fen"),
    *_reals("started", "ended"),
    _text("relay"),
    # processor of the machine it was played on
    Column("hardware", String, nullable=False, default="", server_default=""),
    Column("handicap", Integer, nullable=False, default=0, server_default="0"),  # bands White gives, below 0 takes
    _real("load", nullable=True),
    Column("cores", Integer),
    _real("steal", nullable=True),
    Column("own_us", Integer),
    UniqueConstraint("tournament", "a", "b", "meeting", "leg", "replay"),
    UniqueConstraint("tournament", "number"),
    Index("games_odds", "tournament", sqlite_where=text("handicap != 0")),  # few, and every list tells how many
)
"""A game without its moves. `a` and `b` are the pair in sorted order: the key with meeting, leg, replay."""

MOVES = Table("moves", METADATA, _key("game", "games"), Column("moves", LargeBinary, nullable=False))
"""The moves of a game, apart so that lists of games stay light: zlib over JSON rows."""

INCIDENTS = Table(
    "incidents",
    METADATA,
    _key("game", "games"),
    _key("ordinal"),
    *_texts("engine", "category", "cause"),
    _whole("ply"),
    *_texts("traffic", "stderr"),
    Column("status", String, nullable=False, default="", server_default=""),  # how its process ended
    _real("load", nullable=True),
    # asked: stamp of its last `go`, as the lines of traffic have it
    *(Column(name, Integer) for name in ("asked_us", "memory_kb", "own_us")),
)
"""Something a tester must see, in the transaction of its game."""

NOTES = Table(
    "notes",
    METADATA,
    _key("tournament", "tournaments"),
    _key("position"),
    _key("ordinal"),
    *_texts("kind", "text", "fields"),
)
"""A decision of the format, beside the event that caused it; position 0: before the first event."""

PAIR_COUNTS = Table(
    "pair_counts",
    METADATA,
    _key("tournament", "tournaments"),
    _key("white", "engines"),
    _key("black", "engines"),
    *_wholes("wins", "draws", "losses"),
)
"""Derived: results of even games of an ordered pair of engine versions, kept in each game's own transaction.

See `paircounts`.
"""

RATING_REVISIONS = Table(
    "rating_revisions",
    METADATA,
    _key("system", kind=String),
    _key("revision"),
    _whole("start"),
    *_texts("settings", "why"),
    _real("made"),
)
"""When a stream of rating events was begun or corrected: from `start` on this revision holds."""

RATING_EVENTS = Table(
    "rating_events",
    METADATA,
    _key("system", kind=String),
    _key("revision"),
    _key("place"),
    _of("engine", "engines"),
    _of("tournament", "tournaments"),
    _of("game", "games", nullable=True),
    *_reals("before", "change", "after", "weight"),
    _whole("games"),
    _of("imported", "imported_games", nullable=True),  # the game, where it was read from a file
)
"""One change of one rating. `place` counts the stream from 0; a corrected row stays beside its successor."""

IMPORTS = Table(
    "imports",
    METADATA,
    _key("tournament", "tournaments"),
    _text("files"),  # JSON [path, ...]
    _whole("after_game"),  # the newest of the games played here: in the order of all games these follow it
    *_wholes("games", "duplicates"),  # duplicates: games of the files that were there already
    Column("counts", LargeBinary, nullable=False),  # derived, as `paircounts` packs them
    Column("digests", LargeBinary, nullable=False),  # of every game, 8 bytes each, in the order of their rows
    Column("odds", Integer, nullable=False, default=0, server_default="0"),  # games at odds: `counts` has none of them
)
"""Games that were read from files as one event: a tournament row of the system `import`.

Its log is empty, or has one event: that it was struck out.
"""

IMPORTED_GAMES = Table(
    "imported_games",
    METADATA,
    _number(),
    _of("tournament", "tournaments"),
    _of("white", "engines"),
    _of("black", "engines"),
    _whole("half_points"),  # White's
    _whole("day"),  # of the Date tag as YYYYMMDD, 0 where it does not say
    _text("tc"),  # the TimeControl tag, or White's
    _whole("file"),  # place in the import's files, from 0
    _whole("offset"),  # of the game in the file, in bytes
    Column("black_tc", String, nullable=False, default="", server_default=""),  # where Black has another
    Column("handicap", Integer, default=0, server_default="0"),  # bands White gives, below 0 takes; null: size unknown
)
"""A game from a file, for the ratings: who, what, when; its moves stay in the file."""

LISTS = Table(
    "lists",
    METADATA,
    _key("name", kind=String),
    _key("revision"),
    *_texts("definition", "why"),
    _real("made"),
)
"""One revision of a published list's definition: filter, model, anchors, scale. The newest holds."""

EDITIONS = Table(
    "editions",
    METADATA,
    _number(),
    _text("list"),
    *_wholes("number", "revision"),
    _real("made"),
    *_wholes("last_game", "last_imported", "games"),
    _real("residual"),
    _text("story"),  # JSON: model, advantage, draws, pools, anchors, caption, who is not rated and why
    _text("note"),
    UniqueConstraint("list", "number"),
)
"""A published list, frozen: of the games up to `last_game` and `last_imported` that stood when it was made."""

EDITION_LINES = Table(
    "edition_lines",
    METADATA,
    _key("edition", "editions"),
    _key("ordinal"),
    *_wholes("pool", "rank"),
    _text("name"),
    _real("rating"),
    _real("plus", nullable=True),
    _real("minus", nullable=True),
    *_wholes("games", "wins", "draws", "losses"),
    _real("opponents"),
    _real("performance", nullable=True),
    _real("los", nullable=True),
    _real("difference", nullable=True),
    _text("remarks"),  # JSON [...]
)
"""One engine of an edition. `difference` is its rating less that of the edition before, where it was in it."""
