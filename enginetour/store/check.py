"""Check and repair a database (`db check`, `db repair`).

Every check yields one sentence for each fault. All rows are read from one snapshot, so that tournaments can run during
the check.
"""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

import numpy as np
from pydantic import ValidationError
from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    String,
    Table,
    bindparam,
    cast,
    exists,
    func,
    select,
    update,
)

from enginetour.engines.enginefile import LOST_COMMAND, salvaged_spec, stored_json
from enginetour.model.errors import StoreRefused, TourError
from enginetour.model.game import format_fixed
from enginetour.model.task import EngineSpec
from enginetour.model.validation import plain_error
from enginetour.ratings.systems import SYSTEMS
from enginetour.store import codecs
from enginetour.store.address import Address
from enginetour.store.counts import REMOVED, counts_by_pair, removed_imports, unpack_counts
from enginetour.store.database import Database
from enginetour.store.definition import lists_of, revisions_of
from enginetour.store.dialect import UNREADABLE
from enginetour.store.editions import Edition, editions_of, make_edition, read_edition
from enginetour.store.engines import engine_names
from enginetour.store.games import recounted, versions_counts
from enginetour.store.imports import imports_of
from enginetour.store.lists import rate_selection
from enginetour.store.log import TournamentLog
from enginetour.store.ratings import require_system, settings_of
from enginetour.store.replay import audit, format_of
from enginetour.store.selection import select_games
from enginetour.store.tables import (
    ENGINES,
    ENTRANTS,
    EVEN_READ,
    EVENTS,
    GAMES,
    IMPORTED_GAMES,
    IMPORTS,
    MOVES,
    RATING_EVENTS,
    RATING_REVISIONS,
    SCHEMA_VERSION,
    TOURNAMENTS,
    EditionLine,
    title_of,
)
from enginetour.store.tournaments import IMPORT, Store

if TYPE_CHECKING:
    from pydantic import TypeAdapter


_MOST_SHOWN = 20  # findings of one kind in one place; further findings are only counted
_DIGEST_BYTES = 8  # bytes of the digest of one game in the table of imports

_Counts = Mapping[tuple[int, int], tuple[int, int, int]]


def _invalid_cells(database: Database) -> Iterator[str]:
    with database.reading() as connection:
        yield from database.backend.invalid_cells(connection)


def _events_of_no_revision(database: Database) -> Iterator[str]:
    own = RATING_REVISIONS.c.system == RATING_EVENTS.c.system, RATING_REVISIONS.c.revision == RATING_EVENTS.c.revision
    rows = select(RATING_EVENTS.c.system, func.count()).where(~exists().where(*own)).group_by(RATING_EVENTS.c.system)
    for system, count in database.rows(rows):
        yield f"{count} rating events of {system} do not belong to a revision"


def _numbering_faults(log: TournamentLog) -> Iterator[str]:
    here = EVENTS.c.tournament == log.id
    finished = select(EVENTS.c.game).where(here, EVENTS.c.kind == "finished")
    with log.database.reading() as connection:
        yield from _gap(connection, EVENTS.c.position, here, "events")
        yield from _gap(connection, GAMES.c.number, GAMES.c.tournament == log.id, "games")
        games = set(connection.execute(select(GAMES.c.id).where(GAMES.c.tournament == log.id)).scalars())
        finished_games = Counter(connection.execute(finished).scalars())
    for fault, count in (
        ("games have no event", len(games - set(finished_games))),
        ("events refer to a game that does not exist", len(set(finished_games) - games)),
        ("games have two events that finish them", sum(times > 1 for times in finished_games.values())),
    ):
        if count:
            yield f"{count} {fault}"


def _unreadable_games(log: TournamentLog) -> Iterator[str]:
    mine = select(GAMES.c.id, GAMES.c.number).where(GAMES.c.tournament == log.id).order_by(GAMES.c.number)
    with log.database.reading() as connection:
        found = connection.execute(mine).fetchall()
        yield from _some(fault for key, number in found if (fault := _why_unreadable(connection, key, number)))


def _wrong_pair_counts(database: Database, tournament: int) -> Iterator[str]:
    yield from _differences(database, versions_counts(database, tournament), recounted(database, tournament))


def _import_names(database: Database) -> list[tuple[str, int]]:
    rows = select(TOURNAMENTS.c.name, TOURNAMENTS.c.edition).where(TOURNAMENTS.c.system == IMPORT)
    return [(name, edition) for name, edition in database.rows(rows.order_by(TOURNAMENTS.c.id))]


def _import_faults(database: Database, tournament: int) -> Iterator[str]:
    """Compare the games, digests and counts of an import, and check that its log has at most one event."""
    with database.reading() as connection:
        row = connection.execute(select(IMPORTS).where(IMPORTS.c.tournament == tournament)).first()
        if row is None:
            yield "its row in the table of imports does not exist"
            return
        mine = IMPORTED_GAMES.c.tournament == tournament
        games, even = connection.execute(select(func.count(), func.count().filter(EVEN_READ)).where(mine)).one()
        log = connection.execute(select(EVENTS.c.kind).where(EVENTS.c.tournament == tournament)).scalars().all()
        sums = [func.count().filter(IMPORTED_GAMES.c.white_half_points == points) for points in (2, 1, 0)]
        pair = (IMPORTED_GAMES.c.white_engine, IMPORTED_GAMES.c.black_engine)
        counted = {
            (white, black): (wins, draws, losses)
            for white, black, wins, draws, losses in connection.execute(
                select(*pair, *sums).where(mine, EVEN_READ).group_by(*pair)
            )
        }
        kept = counts_by_pair(unpack_counts(row.counts))
    if log not in ([], [REMOVED]):
        yield f"its log has the events {', '.join(log)}, but the log of an import can only contain one removal"
    if games - even != row.odds_games:
        yield f"it had {row.odds_games} games at time odds, but {games - even} were found"
    if games != row.games:
        yield f"it had {row.games} games, but {games} were found"
    if len(row.digests) != _DIGEST_BYTES * row.games:
        yield f"it has {len(row.digests) / _DIGEST_BYTES:g} digests, but {row.games} games"
    yield from _differences(database, kept, counted)


def _duplicates(database: Database) -> Iterator[str]:
    """Find games that were imported twice. Games of removed imports can be imported again, so they are not compared."""
    standing = select(IMPORTS.c.digests).where(IMPORTS.c.tournament.not_in(removed_imports()))
    blobs = [row.digests for row in database.rows(standing.order_by(IMPORTS.c.tournament))]
    found = np.frombuffer(b"".join(blob[: len(blob) // _DIGEST_BYTES * _DIGEST_BYTES] for blob in blobs), dtype="<u8")
    twice = len(found) - len(np.unique(found))
    if twice:
        yield f"{twice} imported games are stored twice"


def _gap(connection: Connection, column: Any, condition: Any, rows: str) -> Iterator[str]:
    count, last = connection.execute(select(func.count(), func.coalesce(func.max(column), 0)).where(condition)).one()
    if count != last:
        yield f"there are {count} {rows}, but the last one has number {last}"


_WHOLE_GAME = (
    select(GAMES, MOVES.c.moves).outerjoin(MOVES, MOVES.c.game == GAMES.c.id).where(GAMES.c.id == bindparam("key"))
)


def _why_unreadable(connection: Connection, key: int, number: int) -> str:
    """Return the reason why a game cannot be read, or "" if it can be read."""
    try:
        row = connection.execute(_WHOLE_GAME, {"key": key}).one()
        if row.moves is None:
            return f"game {number} has no moves"
        game = codecs.game_of(row, row.moves)
    except (ValueError, TypeError, LookupError, AttributeError) as error:  # a changed row can contain anything
        return f"game {number} cannot be read: {error}"
    if odd := wrong_type(game):
        return f"game {number} cannot be read: {odd}"
    return "" if game.plies == row.plies else f"game {number} has {game.plies} plies, but its row has {row.plies}"


def wrong_type(noun: object) -> str:
    """Describe the first field of a dataclass, or of an object in it, that has a wrong type. Return "" without one."""
    kind: Any = type(noun)
    try:
        _shape(kind).validate_python((noun,))
    except ValidationError as error:
        return plain_error(error, skip=1)
    return ""


@lru_cache
def _shape(kind: Any) -> TypeAdapter[tuple[Any]]:
    from pydantic import ConfigDict, TypeAdapter

    # The type is in a tuple, because TypeAdapter does not accept a config for a dataclass (pydantic, "TypeAdapter").
    return TypeAdapter(tuple[kind], config=ConfigDict(revalidate_instances="always", strict=True))


def _differences(database: Database, kept: _Counts, counted: _Counts) -> Iterator[str]:
    differing = sorted(pair for pair in kept.keys() | counted.keys() if kept.get(pair) != counted.get(pair))
    if not differing:
        return
    with database.reading() as connection:
        names = engine_names(connection)
    none = (0, 0, 0)
    yield from _some(
        f"{names.get(white, white)} - {names.get(black, black)}: stored as {_wdl(kept.get((white, black), none))}, "
        f"counted as {_wdl(counted.get((white, black), none))}"
        for white, black in differing
    )


def _wdl(counts: tuple[int, int, int]) -> str:
    """Format wins, draws and losses: ``+3 =1 -0``."""
    won, drawn, lost = counts
    return f"+{won} ={drawn} -{lost}"


def _some(findings: Iterator[str]) -> Iterator[str]:
    """Yield the first findings, then the number of the other findings."""
    yield from islice(findings, _MOST_SHOWN)
    more = sum(1 for _ in findings)
    if more:
        yield f"and {more} more of this kind"


# Damaged entrants. An entrant is stored in three places: its own row, with the specification of its engine; the row of
# the engine version; and, if it joined later, an event. A valid place repairs the others.

_JOINING = ("added", "replaced")  # kinds of events that add an entrant


def _texts(kind: type[String | LargeBinary], table: Table, *names: str) -> list[Any]:
    """Return columns as text or bytes, because the type of a column raises an exception for a damaged cell."""
    return [cast(table.c[name], kind).label(name) for name in names]


@dataclass(frozen=True, slots=True)
class _Damage:
    """Damaged cells of one row, and their repair: `written` replaces the values in the rows that match `where`."""

    tournament: str
    name: str
    what: str
    repair: str
    table: Table
    where: tuple[ColumnElement[bool], ...]
    written: Mapping[str, object]


def damages(database: Database) -> list[_Damage]:
    """Find all damaged cells of entrants, in the order of tournaments and entrants."""
    tables = ENTRANTS.join(TOURNAMENTS, TOURNAMENTS.c.id == ENTRANTS.c.tournament)
    tables = tables.join(ENGINES, ENGINES.c.id == ENTRANTS.c.engine)
    at = (EVENTS.c.tournament == ENTRANTS.c.tournament) & (EVENTS.c.position == ENTRANTS.c.since_event)
    tables = tables.outerjoin(EVENTS, at & EVENTS.c.kind.in_(_JOINING))
    keys = (ENTRANTS.c.tournament, ENTRANTS.c.name, ENTRANTS.c.since_event, ENTRANTS.c.engine, EVENTS.c.kind)
    titles = (TOURNAMENTS.c.name.label("title"), TOURNAMENTS.c.edition)
    with database.reading() as connection:
        # SQLite can store any bytes in any cell, PostgreSQL only values of the column's type.
        kind: type[String | LargeBinary] = LargeBinary if connection.dialect.name == "sqlite" else String
        rows = select(
            *(*keys, *titles),
            *_texts(kind, ENTRANTS, "new", "rating", "family", "origin", "spec"),
            *_texts(kind, ENGINES, "command", "options", "protocol", "fingerprint"),
            *_texts(kind, EVENTS, "payload"),
        ).select_from(tables)
        ordered = rows.order_by(ENTRANTS.c.tournament, ENTRANTS.c.since_event, ENTRANTS.c.starting_rank)
        found = connection.execute(ordered).fetchall()
    return [damage for row in found for damage in _damages(SimpleNamespace(**_bytes_as_text(row._asdict())))]


def _bytes_as_text(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value.decode("utf-8", "replace") if isinstance(value, bytes) else value for key, value in row.items()}


def repair(database: Database) -> list[_Damage]:
    """Repair all damaged entrants in one transaction. Raise StoreRefused if one of the tournaments is running."""
    found = damages(database)
    with ExitStack() as stack:
        for name in dict.fromkeys(damage.name for damage in found):
            stack.enter_context(database.backend.lock(name))
        with database.writing() as connection:
            for damage in found:
                connection.execute(update(damage.table).where(*damage.where).values(**damage.written))
        if left := damages(database):
            what = f"{left[0].tournament}: {left[0].what}, which cannot be repaired"
            raise StoreRefused(what, place=str(database.path), step="restore a backup")
    return found


def _damages(row: Any) -> Iterator[_Damage]:
    title = title_of(row.title, row.edition)
    here = (title, row.title)
    mine = (
        ENTRANTS.c.tournament == row.tournament,
        ENTRANTS.c.name == row.name,
        ENTRANTS.c.since_event == row.since_event,
    )
    entrant, odd = _entrant(row)
    for key in odd:
        what = f"the {key} of {row.name!r} is not valid (found {getattr(row, key)!r})"
        repaired = f"the {key} is now {entrant[key]}"
        yield _Damage(*here, what, repaired, ENTRANTS, mine, {key: entrant[key]})
    spec, wrong = _spec(row)
    if wrong:
        what = f"the specification of {row.name!r} cannot be read: {wrong}"
        written = {"spec": codecs.spec_text(spec)}
        yield _Damage(*here, what, _repaired(spec, row.title), ENTRANTS, mine, written)
    for key, value in _version(row, spec):
        it: tuple[ColumnElement[bool], ...] = (ENGINES.c.id == row.engine,)
        what = f"the engine version of {row.name!r} has a damaged {key}"
        yield _Damage(*here, what, "it was copied from the specification", ENGINES, it, {key: value})
    if row.kind in _JOINING and (payload := _payload(row, entrant)):
        event = (EVENTS.c.tournament == row.tournament, EVENTS.c.position == row.since_event)
        what = f"the event that added {row.name!r} is damaged"
        yield _Damage(*here, what, "it was copied from the list of entrants", EVENTS, event, {"payload": payload})


def _entrant(row: Any) -> tuple[dict[str, Any], list[str]]:
    """Return an entrant as JSON, and the names of its damaged columns."""
    odd = []
    try:
        rating = None if row.rating is None else float(row.rating)
        if rating is not None and not math.isfinite(rating):
            raise ValueError
    except ValueError:
        rating = None
        odd.append("rating")
    if row.new not in ("0", "1", "false", "true"):
        odd.append("new")
    new = row.new in ("1", "true")
    return {"name": row.name, "new": new, "rating": rating, "family": row.family, "origin": row.origin}, odd


def _spec(row: Any) -> tuple[EngineSpec, str]:
    """Return the valid or repaired specification of an entrant, and the fault of the stored one (or "")."""
    try:
        spec = codecs.spec_of(row.spec)
    except ValueError as error:
        version = {key: _json_or_none(getattr(row, key)) for key in ("command", "options", "protocol")}
        version |= {"protocol": row.protocol, "fingerprint": row.fingerprint}
        return salvaged_spec(row.name, _json_or_none(row.spec), version), str(error)
    if spec.name != row.name:
        return salvaged_spec(row.name, _json_or_none(row.spec)), f"it has the wrong name {spec.name!r}"
    return spec, ""


def _repaired(spec: EngineSpec, tournament: str) -> str:
    """Describe the repair of a specification."""
    if spec.command != LOST_COMMAND:
        return f"its command is now: {shlex.join(spec.command)}"
    withdraw = shlex.join(["enginetour", "withdraw", "-t", tournament, spec.name])
    replace = f"enginetour replace -t {shlex.quote(tournament)} {shlex.quote(spec.name)} ENGINE"
    return f"its command is lost; run {replace}, or {withdraw}"


def _version(row: Any, spec: EngineSpec) -> Iterator[tuple[str, object]]:
    """Yield the damaged columns of an engine version with their new values."""
    if not _is_list_of_text(_json_or_none(row.command)):
        yield "command", spec.command
    options = _json_or_none(row.options)
    if not (isinstance(options, list) and all(_is_list_of_text(one) and len(one) == 2 for one in options)):
        yield "options", spec.options
    if row.protocol not in ("uci", "cecp"):
        yield "protocol", spec.protocol


def _is_list_of_text(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _payload(row: Any, entrant: Mapping[str, Any]) -> dict[str, Any]:
    """Return the repaired payload of the event that added an entrant.

    The result is empty if the stored payload is valid or cannot be repaired. An event ``replaced`` without the name of
    the replaced entrant cannot be repaired.
    """
    held = _json_or_none(row.payload)
    held = held if isinstance(held, dict) else {}
    try:
        valid = codecs.entrant_of(held["entrant"]).name == row.name
    except (KeyError, TypeError, ValueError):
        valid = False
    leaves = isinstance(held.get("old"), str) or row.kind == "added"
    if (valid and isinstance(held.get("why"), str)) or not leaves:
        return {}
    left = {"old": held["old"]} if row.kind == "replaced" else {}
    return {**left, "entrant": entrant, "why": str(held.get("why", ""))[:1000]}


def _json_or_none(text: object) -> Any:
    try:
        return stored_json(text)
    except ValueError:
        return None


# The full check: everything that can be computed again is computed and compared with the stored values.

_T = TypeVar("_T")
_SAME = 1e-6  # Elo; ratings with a smaller difference count as equal


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault and the place where it was found."""

    place: str
    what: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """The result of a check: the numbers of checked tournaments, games, imports and editions, and the findings.

    `unreplayed` contains what cannot be computed again: logs of other format versions, and editions of another version
    of the computation or of a rating system that is not installed.
    """

    tournaments: int
    games: int
    imports: int
    editions: int
    findings: tuple[Finding, ...]
    unreplayed: tuple[Finding, ...]
    repairable: int = 0  # number of findings that ``db repair`` can repair

    def to_json(self) -> dict[str, object]:
        """Return the result ready for JSON."""
        return {"database_schema": SCHEMA_VERSION, "sound": not self.findings, **asdict(self)}


def inspect(store: Store) -> Inspection:
    """Check the whole database. A finding does not stop the check."""
    with store.database.snapshot():
        return _Inspector(store).all()


def first_fault(path: Address) -> str:
    """Check a whole database. Return a description of the first fault, or "" if there is none."""
    with Store.open(path, create=False, readonly=True) as store:
        found = inspect(store).findings
    return f"{found[0].place}: {found[0].what}" if found else ""


class _Inspector:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.findings: list[Finding] = []
        self.unreplayed: list[Finding] = []
        self.repairable = 0

    def all(self) -> Inspection:
        """Run all checks. The pages are checked first, because damaged pages can cause other findings."""
        database = self.store.database
        self._note("pages", database.integrity())
        self._note("rows", _invalid_cells(database))
        for damage in self._listed("entrants", lambda: damages(database)):
            self.findings.append(Finding(f"tournament {damage.tournament}", damage.what))
            self.repairable += 1
        tournaments = self._listed("tournaments", lambda: self.store.tournaments())
        for line in tournaments:
            for log in self._log("tournament", line.name, line.edition):
                self._tournament(log)
        imports = self._listed("imports", lambda: _import_names(database))
        for name, number in imports:
            for log in self._log("import", name, number):
                self._note(f"import {log.title}", _import_faults(database, log.id))
        self._note("imports", _duplicates(database))
        self._note("imports", self._shapes(lambda: imports_of(database)))
        self._note("ratings", _events_of_no_revision(database))
        self._listed("ratings", lambda: settings_of(self.store))
        for summary in self._listed("lists", lambda: lists_of(self.store)):
            self._list(summary.revision.name)
        editions = self._listed("editions", lambda: editions_of(self.store))
        for head in editions:
            self._note(f"edition {head.number} of {head.list}", self._edition(head))
        games = sum(line.games for line in tournaments)
        counts = (len(tournaments), games, len(imports), len(editions))
        return Inspection(*counts, tuple(self.findings), tuple(self.unreplayed), self.repairable)

    def _log(self, kind: str, name: str, number: int) -> list[TournamentLog]:
        """Return a list with one tournament or import, or an empty list if it cannot be read."""
        return self._listed(f"{kind} {name} #{number}", lambda: [self.store.tournament(name, number)])

    def _tournament(self, log: TournamentLog) -> None:
        place = f"tournament {log.title}"
        self._note(place, _numbering_faults(log))
        self._note(place, _unreadable_games(log))
        self._note(place, _wrong_pair_counts(log.database, log.id))
        self._note(place, self._replay(log))
        self._note(place, self._shapes(lambda: [one for _, one in log.incidents()]))

    def _replay(self, log: TournamentLog) -> Iterator[str]:
        try:
            format_of(log)
        except StoreRefused as refused:
            self.unreplayed.append(Finding(f"tournament {log.title}", refused.what))
            return
        try:
            audit(log)
        except StoreRefused as refused:
            yield refused.what

    def _list(self, name: str) -> None:
        self._listed(f"list {name}", lambda: revisions_of(self.store, name))

    def _shapes(self, read: Callable[[], Iterable[object]]) -> Iterator[str]:
        """Yield a sentence for each object with a field of the wrong type."""
        yield from filter(None, map(wrong_type, read()))

    def _edition(self, head: Edition) -> Iterator[str]:
        definitions = {revision.revision: revision.definition for revision in revisions_of(self.store, head.list)}
        stored = read_edition(self.store, head.list, head.number)
        definition = definitions[head.revision]
        if definition.system != "ml" and definition.system not in SYSTEMS:
            self._without_plugin(f"edition {head.number} of {head.list}", definition.system)
            return
        selection = select_games(self.store, definition, head.moment)
        again = make_edition(head.list, head.revision, selection, rate_selection(self.store, selection))
        if stored.games != again.games:
            yield f"published with {stored.games} games, but its filter now selects {again.games} games up to that time"
        differing = list(_differing_lines(stored.lines, again.lines))
        written, now = stored.details.computation, again.details.computation
        if differing and written != now and not any(_differing_lines(stored.lines, again.lines, _same_counts)):
            what = f"its ratings are of version {written} of the computation, but this is version {now}"
            self.unreplayed.append(Finding(f"edition {head.number} of {head.list}", what))
            return
        yield from differing

    def _without_plugin(self, place: str, system: str) -> None:
        what = f"the rating system {system!r} is not known"
        try:
            require_system(self.store, system)
        except StoreRefused as refused:
            what = refused.what
        self.unreplayed.append(Finding(place, what))

    def _note(self, place: str, found: Iterable[str]) -> None:
        try:
            with self.store.database.savepoint():
                self.findings += [Finding(place, what) for what in found]
        except UNREADABLE as error:
            cause = getattr(error, "orig", None) or error  # SQLAlchemy's error contains the SQL statement
            if isinstance(cause, ValidationError):
                text = plain_error(cause)
            else:
                text = cause.what if isinstance(cause, TourError) else f"{type(cause).__name__}: {cause}"
            self.findings.append(Finding(place, f"cannot be read: {' '.join(text.split())}"))

    def _listed(self, place: str, read: Callable[[], list[_T]]) -> list[_T]:
        found: list[_T] = []

        def reading() -> Iterator[str]:
            found.extend(read())
            yield from ()

        self._note(place, reading())
        return found


def _same_counts(one: EditionLine | None, other: EditionLine | None) -> bool:
    if one is None or other is None:
        return False
    counts = [(line.games, line.wins, line.draws, line.losses) for line in (one, other)]
    return counts[0] == counts[1]


def _same(one: EditionLine | None, other: EditionLine | None) -> bool:
    if one is None or other is None:
        return False
    return _same_counts(one, other) and abs(one.rating - other.rating) <= _SAME


def _differing_lines(
    stored: tuple[EditionLine, ...],
    again: tuple[EditionLine, ...],
    same: Callable[[EditionLine | None, EditionLine | None], bool] = _same,
) -> Iterator[str]:
    """Yield a sentence with the first line that differs and the number of such lines."""
    here, there = ({line.name: line for line in lines} for lines in (stored, again))
    differing = [name for name in {**here, **there} if not same(here.get(name), there.get(name))]
    if differing:
        name = differing[0]
        was, now = (_line_text(lines.get(name)) for lines in (here, there))
        yield f"{len(differing)} lines differ from a new computation; {name}: published {was}, computed {now}"


def _line_text(line: EditionLine | None) -> str:
    if line is None:
        return "nothing"
    return f"{format_fixed(line.rating, 2)} with +{line.wins} ={line.draws} -{line.losses}"
