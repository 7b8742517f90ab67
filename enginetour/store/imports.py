"""Import games from PGN files: find duplicates, write one or several events, list the imports.

The database driver inserts the games, because a million rows would take minutes with SQLAlchemy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, and_, func, insert, select

from enginetour.interop.files import one_line
from enginetour.interop.gamefilter import EngineNames, RatableGames
from enginetour.interop.gamepairs import UNKNOWN_OPENING
from enginetour.interop.gametags import ClaimedGame, GameColumns
from enginetour.interop.tally import RESULTS, normal_name, tag_text
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Outcome
from enginetour.model.variants import STANDARD
from enginetour.store.address import LONGEST_NAME
from enginetour.store.codecs import Values
from enginetour.store.counts import engines_in, pack_counts, removals, removed_imports, unpack_counts
from enginetour.store.database import Database
from enginetour.store.tables import ENGINES, GAMES, IMPORTS, TOURNAMENTS, ImportSummary, title_of
from enginetour.store.tournaments import IMPORT, PLAYED, add_edition

if TYPE_CHECKING:
    from enginetour.store.counts import Sums


# Duplicates: games with the digest of an imported game, and games of the tournaments in the database.

_LONGEST_TAG = 255  # characters of a tag in a PGN export (PGN standard 4)
_ROUND = "."  # separates the round and the number of a game in an export of enginetour


def export_titles(database: Database) -> frozenset[str]:
    """Return the Event tags that PGN exports of enginetour have, one for each tournament."""
    rows = database.rows(select(TOURNAMENTS.c.name, TOURNAMENTS.c.edition).where(PLAYED))
    return frozenset(_export_tag(title_of(name, edition)) for name, edition in rows)


def _fresh_games(
    connection: Connection, games: GameColumns, identities: NDArray[np.uint64], wanted: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the places of the wanted games that are not in the database, each game once, in the order of the files.

    Games of removed imports count as new.
    """
    blobs = (
        select(IMPORTS.c.digests).where(IMPORTS.c.tournament.not_in(removed_imports())).order_by(IMPORTS.c.tournament)
    )
    known = np.frombuffer(b"".join(connection.execute(blobs).scalars()), dtype="<u8").astype(np.uint64)
    if len(known) or len(games.ends) > 1:
        _, first = np.unique(np.concatenate([known, identities[wanted]]), return_index=True)
        found = wanted[np.sort(first[first >= len(known)]) - len(known)]
    else:
        found = wanted  # the games of one file are all different
    own = _played_games(connection, games)
    return found[~np.isin(found, own)] if own else found


def _played_games(connection: Connection, games: GameColumns) -> list[int]:
    """Return the places of games that were played in tournaments of this database and exported.

    A game of a file and a stored game are the same if number, names and result are equal, and also date and start time
    if the file contains them.
    """
    events = {claim.event for claim in games.claims}
    results = {code: raw.decode() for raw, code in RESULTS.items()}
    played: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for number, event, white, black, outcome, started in _stored(connection, events):
        start = datetime.fromtimestamp(started, UTC)
        when = (f"{start:%Y.%m.%d}", f"{start:%Y-%m-%dT%H:%M:%S}Z")
        played.setdefault((event, str(number)), set()).add((_export_tag(white), _export_tag(black), outcome, *when))
    return [
        claim.game
        for claim in games.claims
        if any(
            _matches(claim, results.get(games.results[claim.game], ""), game) for game in played.get(_key(claim), ())
        )
    ]


def _stored(connection: Connection, events: set[str]) -> Iterable[tuple[int, str, str, str, str, float]]:
    own = select(TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition).where(PLAYED)
    for key, name, edition in connection.execute(own).fetchall():
        if (title := _export_tag(title_of(name, edition))) in events:
            rows = select(*(GAMES.c[column] for column in ("number", "white", "black", "outcome", "started_unix")))
            for number, *game in connection.execute(
                rows.where(GAMES.c.tournament == key, GAMES.c.outcome != Outcome.VOID)
            ):
                yield number, title, *game


def _matches(claim: ClaimedGame, result: str, game: tuple[str, ...]) -> bool:
    white, black, outcome, date, start = game
    same_time = claim.date in ("", date) and claim.start in ("", start)
    return same_time and (claim.white, claim.black, result) == (white, black, outcome)


def _key(claim: ClaimedGame) -> tuple[str, str]:
    return claim.event, claim.round.rpartition(_ROUND)[2]


def _export_tag(text: str) -> str:
    return one_line(text, _LONGEST_TAG)


# Imports: all games of an import are written in one transaction.

_FORMAT_VERSION = 1  # version of the configuration that an import stores
_CLASSES = 3  # results: White won, drew or lost
_MOST_EVENTS = 10_000  # events in one import


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import or a dry run: the numbers of new games (`odds` of them at time odds) and of duplicates.

    `edition` is 0 if nothing was written. `namesakes` contains new engines with the name of a known engine, and
    `matched` contains names whose games count for the known engine.
    """

    name: str
    edition: int
    games: int
    duplicates: int
    engines: int
    new_engines: int
    odds: int
    namesakes: tuple[str, ...] = ()
    matched: tuple[str, ...] = ()


class ImportLine(ImportSummary):
    """One import in the list of imports. `removed_unix` is the time of its removal, and `why` is the reason for it."""

    name: str
    edition: int
    created_unix: float
    engines: int
    removed_unix: float | None
    why: str


def import_games(
    database: Database,
    name: str,
    games: GameColumns,
    rated: RatableGames,
    files: Sequence[str],
    *,
    variant: str = STANDARD,
    match_names: bool = False,
    write: bool = True,
) -> list[Imported]:
    """Import the new games as the next edition of an event.

    If the games were read by event, they become one event for each Event tag. All events are written in one
    transaction.

    Args:
        database: The open database.
        name: Name of the event. With one event per tag, it is the name of the event for games without an Event tag.
            Raise UsageRefused if a tournament of the database has this name.
        games: All games of the files.
        rated: The games to import, all of one `variant`.
        files: Names of the files, for the list of imports.
        variant: Chess variant of the games.
        match_names: Whether the games of a name count for a known engine, if exactly one known engine has this name.
        write: False for a dry run.
    """
    wanted = _by_event(games, rated, name) if games.by_event else {name: rated.wanted}
    importer = _Importer(database, games, rated, files, variant, match_names, write)
    with importer.connected() as connection:
        return [importer.event(connection, event, part) for event, part in wanted.items()]


def _by_event(games: GameColumns, rated: RatableGames, name: str) -> dict[str, NDArray[np.intp]]:
    numbers = np.array(games.event, dtype=np.intp)[rated.wanted]
    names = [_event_name(tag_text(raw)) or name for raw in games.event_tags]
    wanted: dict[str, list[NDArray[np.intp]]] = {}
    for number in dict.fromkeys(numbers.tolist()):
        wanted.setdefault(names[number], []).append(rated.wanted[numbers == number])
    if len(wanted) > _MOST_EVENTS:
        what = f"the number of Event tags must be at most {_MOST_EVENTS:,} (found {len(wanted):,})"
        raise UsageRefused(what, place="--by-event", step="import without --by-event")
    return {event: np.sort(np.concatenate(parts)) for event, parts in wanted.items()}


def _event_name(tag: str) -> str:
    """Return the name of an event for an Event tag, or "" for the tag of an unknown event (PGN standard 8.1.1.1)."""
    name = one_line(tag)
    return "" if name == "?" else name[:LONGEST_NAME].rstrip()


@dataclass
class _Importer:
    """Imports the events of games from files, all of them in one transaction."""

    _database: Database
    _games: GameColumns
    _rated: RatableGames
    _files: Sequence[str]
    _variant: str
    _match_names: bool
    _write: bool

    def __post_init__(self) -> None:
        self._identities = self._games.identities()
        self._planned: set[str] = set()  # new engines of earlier events, for a dry run

    def connected(self) -> AbstractContextManager[Connection]:
        """Begin the transaction. Foreign keys are not checked: all references are to rows read or written in it."""
        return self._database.writing(bulk=True) if self._write else self._database.reading()

    def event(self, connection: Connection, name: str, wanted: NDArray[np.intp]) -> Imported:
        """Import the new games among those in `wanted`, as the next edition of an event."""
        rated = self._rated
        own = select(TOURNAMENTS.c.id).where(TOURNAMENTS.c.name == name, TOURNAMENTS.c.system != IMPORT)
        fresh = _fresh_games(connection, self._games, self._identities, wanted)
        if connection.execute(own).first() is not None and (len(fresh) or not self._games.by_event):
            step = "choose another name with --name, without --by-event"
            raise UsageRefused(f"a tournament {name!r} already exists", place="--name", step=step)
        white, black = rated.white[fresh], rated.black[fresh]
        used = [rated.names[place] for place in np.unique(np.concatenate([white, black])).tolist()]
        named = _named_versions(connection)
        matched = {one: named[one][0] for one in used if self._match_names and len(named.get(one, ())) == 1}
        there = {**_versions_by_name_alone(connection), **matched}
        new = [one for one in used if one not in there and one not in self._planned]
        self._planned.update(new)
        duplicates = len(wanted) - len(fresh)
        even = np.isin(fresh, np.array(list(self._games.odds), dtype=np.intp), invert=True)
        odds, edition = int((~even).sum()), 0
        if self._write and len(fresh):
            if new:
                unknown = {"fingerprint": "", "options": (), "protocol": ""}
                connection.execute(insert(ENGINES), [{"name": one, **unknown} for one in new])
            there = {**_versions_by_name_alone(connection), **matched}
            keys = np.array([there.get(one, 0) for one in rated.names], dtype=np.int64)
            about = {"system": IMPORT, "format_version": _FORMAT_VERSION, "seed": 0}
            about["config"] = _import_config(rated.naming, self._variant)
            event, edition = add_edition(connection, name, about)
            after = int(connection.execute(select(func.coalesce(func.max(GAMES.c.id), 0))).scalar_one())
            counts = pack_counts(_pair_counts(keys[white][even], keys[black][even], rated.results[fresh][even]))
            row = {"tournament": event, "files": self._files, "after_game": after}
            row |= {"games": len(fresh), "duplicates": duplicates, "counts": counts, "odds_games": odds}
            row |= {"digests": self._identities[fresh].astype("<u8").tobytes()}
            connection.execute(insert(IMPORTS), row)
            _add_games(self._database, connection, event, self._games, fresh, keys[white], keys[black])
        namesakes = tuple(one for one in new if one in named)
        return Imported(name, edition, len(fresh), duplicates, len(used), len(new), odds, namesakes, tuple(matched))


def check_event_name(name: str) -> None:
    """Raise UsageRefused for an invalid name of an event."""
    if not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
        step = f"use 1 to {LONGEST_NAME} printable characters"
        raise UsageRefused(f"{name!r} is not a valid event name", place="--name", step=step)


def imports_of(database: Database) -> list[ImportLine]:
    """Return all imports, oldest first, including removed ones."""
    columns = (TOURNAMENTS.c.name, TOURNAMENTS.c.edition, TOURNAMENTS.c.created_unix, IMPORTS.c.counts)
    rows = select(*columns, *(IMPORTS.c[name] for name in ImportSummary.model_fields))
    rows = rows.join(IMPORTS, IMPORTS.c.tournament == TOURNAMENTS.c.id).order_by(TOURNAMENTS.c.id)
    with database.reading() as connection:
        found = connection.execute(rows).fetchall()
        removed = {(one.name, one.edition): one for one in removals(connection)}
    lines = []
    for row in found:
        values = row._asdict()
        engines, removal = len(engines_in(unpack_counts(values.pop("counts")))), removed.get((row.name, row.edition))
        about: dict[str, Any] = {
            "engines": engines,
            "removed_unix": removal and removal.at,
            "why": removal.why if removal else "",
        }
        lines.append(ImportLine.model_construct(**values, **about))
    return lines


_NAME_ALONE = and_(ENGINES.c.fingerprint == "", ENGINES.c.options == (), ENGINES.c.protocol == "")


def _versions_by_name_alone(connection: Connection) -> dict[str, int]:
    rows = connection.execute(select(ENGINES.c.name, ENGINES.c.id).where(_NAME_ALONE))
    return {normal_name(row.name): row.id for row in rows}


def _named_versions(connection: Connection) -> dict[str, list[int]]:
    """Return, by name, the engine versions of which more than the name is known."""
    found: dict[str, list[int]] = {}
    for row in connection.execute(select(ENGINES.c.name, ENGINES.c.id).where(~_NAME_ALONE)):
        found.setdefault(normal_name(row.name), []).append(row.id)
    return found


def _import_config(naming: EngineNames, variant: str) -> dict[str, Any]:
    return {
        "aliases": naming.aliases,
        "include": naming.include,
        "exclude": naming.exclude,
        "ratings": {"systems": ["ml"], "anchor": {}},
        **({} if variant == STANDARD else {"play": {"variant": variant}}),  # as in the configuration of a tournament
    }


def _add_games(
    database: Database,
    connection: Connection,
    event: int,
    games: GameColumns,
    fresh: NDArray[np.intp],
    white: NDArray[np.int64],
    black: NDArray[np.int64],
) -> None:
    controls = [tag_text(raw) for raw in games.controls]
    openings = np.array(games.openings)[fresh]
    results = np.array(games.results, dtype=np.int64)[fresh]
    columns: dict[str, Values | int] = {
        "tournament": event,
        "white_engine": white,
        "black_engine": black,
        "white_half_points": 2 - results,
        "played_yyyymmdd": np.array(games.days)[fresh],
        "tc": [controls[number] for number in np.array(games.control)[fresh].tolist()],
        "file_index": np.searchsorted(np.array(games.ends), fresh, side="right") if len(games.ends) > 1 else 0,
        "offset_bytes": np.array(games.offsets)[fresh],
        "opening_key": openings if openings.any() else UNKNOWN_OPENING,
    }
    places = fresh.tolist()
    if games.black_control:
        blacks = (games.black_control.get(place) for place in places)
        columns["black_tc"] = ["" if number is None else controls[number] for number in blacks]
    if games.terminations:
        columns["termination"] = [tag_text(games.terminations.get(place, b"")) for place in places]
    if games.odds:
        columns["handicap"] = [games.odds.get(place, 0) for place in places]
    database.backend.fill(connection, "imported_games", columns)


def _pair_counts(white: NDArray[np.int64], black: NDArray[np.int64], results: NDArray[np.int64]) -> Sums:
    engines = int(max(white.max(initial=0), black.max(initial=0))) + 1
    found, times = np.unique((white * engines + black) * _CLASSES + results, return_counts=True)
    pairs, row = np.unique(found // _CLASSES, return_inverse=True)
    counts = np.zeros((_CLASSES, len(pairs)), dtype=np.int64)
    counts[found % _CLASSES, row] = times
    return np.stack((pairs // engines, pairs % engines, *counts))
