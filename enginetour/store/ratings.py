"""Incremental ratings of the whole database (Elo, GoR, EGF): rating events that are appended after new games.

The stored rows are the only state. An update that continues from them gives the same bits as a replay of all games.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import ColumnElement, Connection, and_, case, func, insert, or_, select

from enginetour.model.errors import StoreRefused, UsageRefused
from enginetour.model.game import Outcome
from enginetour.model.plugins import PluginRefused, refuse_missing, stored_plugins
from enginetour.ratings import incremental
from enginetour.ratings.gor import Egf2021Settings
from enginetour.ratings.grades import Scale
from enginetour.ratings.incremental import (
    EventTallies,
    Lineage,
    RatedGame,
    RatingEvent,
    RatingState,
    Standing,
    Version,
    lineage,
)
from enginetour.ratings.systems import SYSTEMS, IncrementalSystem
from enginetour.store.counts import (
    counts_by_pair,
    engines_in,
    kept_counts,
    nonstandard_variants,
    removed_imports,
    tournament_titles,
    unpack_counts,
)
from enginetour.store.dialect import config_rating_scale
from enginetour.store.engines import engine_names, rated_names, version_rows
from enginetour.store.tables import (
    ENGINES,
    ENTRANTS,
    EVEN,
    EVEN_READ,
    EVENTS,
    GAMES,
    IMPORTED_GAMES,
    IMPORTS,
    LISTS,
    RATING_EVENTS,
    RATING_REVISIONS,
    STANDING,
    TOURNAMENTS,
)
from enginetour.store.tournaments import Store

if TYPE_CHECKING:
    from enginetour.store.counts import Sums


_EVENT = tuple(column for column in RATING_EVENTS.c if column.name not in ("system", "revision", "position"))
_STORED = RATING_EVENTS.c


class _Span(NamedTuple):
    """Rating events of one revision that are valid: from position `start` to before position `end`."""

    revision: int
    start: int
    end: int


class _Career(NamedTuple):
    """Ratings of an engine up to a position. `game` and `imported` are its newest game and imported game, or 0."""

    first: int  # position of its first row
    entry: float
    rating: float
    peak: float
    games: int
    game: int
    imported: int


@dataclass(frozen=True, slots=True)
class Stream:
    """The valid rating events of a system: the rows that no later revision has replaced."""

    connection: Connection
    system: str
    spans: tuple[_Span, ...]

    def __len__(self) -> int:
        return self.spans[-1].end if self.spans else 0

    def rows(self, start: int = 0) -> list[Any]:
        """Return the position and the event of every row from position `start` on."""
        chosen = select(_STORED.position, *_EVENT).order_by(_STORED.position)
        return [row for part in self._parts(start) for row in self.connection.execute(chosen.where(part))]

    def first_annulled(self) -> int:
        """Return the position of the first row with an annulled game or a removed import, or else the length."""
        voided = select(EVENTS.c.game).where(EVENTS.c.kind == "voided")
        chosen = select(func.min(_STORED.position)).where(
            or_(_STORED.game.in_(voided), _STORED.tournament.in_(removed_imports()))
        )
        places = (self.connection.execute(chosen.where(part)).scalar() for part in self._parts())
        return next((place for place in places if place is not None), len(self))

    def careers(self, end: int | None = None) -> dict[int, _Career]:
        """Return the ratings of every engine with a row before position `end`, by the key of the engine version."""
        found: dict[int, _Career] = {}
        for part in self._parts(0, end):
            for engine, *columns in self.connection.execute(_careers(part)):
                career = _Career(*columns)
                if engine in found:
                    old = found[engine]
                    newest = {"game": max(old.game, career.game), "imported": max(old.imported, career.imported)}
                    peak = max(old.peak, career.peak)
                    career = career._replace(first=old.first, entry=old.entry, peak=peak, **newest)
                found[engine] = career
        return found

    def rating_before(self, engine: int, end: int) -> float:
        """Return the rating of an engine before position `end`. The engine must have a row before this position."""
        newest = select(_STORED.after).where(_STORED.engine == engine).order_by(_STORED.position.desc()).limit(1)
        ratings = (self.connection.execute(newest.where(part)).scalar() for part in reversed(self._parts(0, end)))
        return float(next(rating for rating in ratings if rating is not None))

    def _parts(self, start: int = 0, end: int | None = None) -> list[ColumnElement[bool]]:
        """Return one condition per revision, in order, because one condition for thousands of them may be too long."""
        last = len(self) if end is None else end
        cut = [_Span(s.revision, max(s.start, start), min(s.end, last)) for s in self.spans]
        return [
            and_(
                _STORED.system == self.system,
                _STORED.revision == s.revision,
                _STORED.position >= s.start,
                _STORED.position < s.end,
            )
            for s in cut
            if s.start < s.end
        ]


def stream(connection: Connection, system: str) -> Stream:
    """Return the valid rating events of a system."""
    rows = select(RATING_REVISIONS.c.revision, RATING_REVISIONS.c.first_position).where(
        RATING_REVISIONS.c.system == system
    )
    newest_first = connection.execute(rows.order_by(RATING_REVISIONS.c.revision.desc())).fetchall()
    spans: list[_Span] = []
    end: int | None = None
    for revision, start in newest_first:
        if end is None:
            end = _length(connection, system, revision, start)
        if start < end:
            spans.append(_Span(revision, start, end))
            end = start
    return Stream(connection, system, tuple(reversed(spans)))


def _length(connection: Connection, system: str, revision: int, start: int) -> int:
    """Return the end of the newest revision: after its last row, or its start if it has no rows."""
    last = select(func.max(_STORED.position)).where(_STORED.system == system, _STORED.revision == revision)
    place = connection.execute(last).scalar()
    return start if place is None else int(place) + 1


def _careers(part: ColumnElement[bool]) -> Any:
    """Build a query that finds the first and last row of every engine in one scan, then reads these rows by key."""
    ends = (
        select(
            _STORED.engine,
            func.min(_STORED.system).label("system"),  # the same in all rows of a part
            func.min(_STORED.revision).label("revision"),
            func.min(_STORED.position).label("first"),
            func.max(_STORED.position).label("last"),
            func.max(_STORED.before).label("before"),
            func.max(_STORED.after).label("after"),
            func.max(_STORED.games).label("games"),
            func.coalesce(func.max(_STORED.game), 0).label("game"),
            func.coalesce(func.max(_STORED.imported_game), 0).label("imported"),
        )
        .where(part)
        .group_by(_STORED.engine)
        .subquery()
    )
    one, other = RATING_EVENTS.alias(), RATING_EVENTS.alias()
    joined = ends
    for row, place in ((one, ends.c.first), (other, ends.c.last)):
        same = and_(row.c.system == ends.c.system, row.c.revision == ends.c.revision, row.c.position == place)
        joined = joined.join(row, same)  # type: ignore[assignment]
    peak = case((ends.c.before > ends.c.after, ends.c.before), else_=ends.c.after)
    columns = (ends.c.engine, ends.c.first, one.c.before, other.c.after, peak, ends.c.games, ends.c.game)
    return select(*columns, ends.c.imported).select_from(joined)


# Rated games, in the order of commits. The games of an import follow the games that were played before it. New games
# are therefore always last, and only an annulment changes earlier ratings.


class Position(NamedTuple):
    """A position in the order of rated games: the newest game and the newest imported game before it, or 0."""

    game: int = 0
    imported: int = 0


def rated_games(connection: Connection, after: Position | None = None) -> Iterator[RatedGame]:
    """Yield the rated games (standard chess, no odds) after a position, in order; ids of imported ones are negative."""
    mark = after or Position()
    points = {outcome: outcome.half_points(white=True) for outcome in Outcome}
    columns = (GAMES.c.id, GAMES.c.tournament, GAMES.c.white_engine, GAMES.c.black_engine, GAMES.c.outcome)
    rows = select(*columns).where(GAMES.c.id > mark.game, STANDING, EVEN)
    if odd := nonstandard_variants(connection):
        rows = rows.where(GAMES.c.tournament.not_in(odd))
    played = iter(connection.execute(rows.order_by(GAMES.c.id)))
    row = next(played, None)
    for event, after_game in _imports(connection):
        while row is not None and row[0] <= after_game:
            yield RatedGame(str(row[2]), str(row[3]), points[row[4]], row[0], str(row[1]))
            row = next(played, None)
        yield from _imported(connection, event, mark.imported)
    while row is not None:
        yield RatedGame(str(row[2]), str(row[3]), points[row[4]], row[0], str(row[1]))
        row = next(played, None)


def number_rated(connection: Connection) -> int:
    """Count the rated games with the stored pair counts."""
    return sum(int(sums[2:].sum()) for sums in _standard_counts(connection).values())


def _standard_counts(connection: Connection) -> dict[int, Sums]:
    odd = nonstandard_variants(connection)
    return {event: sums for event, sums in kept_counts(connection).items() if event not in odd}


def _tallies_by_event(connection: Connection) -> dict[str, EventTallies]:
    """Return the results of every event with rated games, in the order of the first game of each event."""
    counted = _standard_counts(connection)
    places = {event: (after_game, 1, event) for event, after_game in _imports(connection)}
    for event in counted:
        own = GAMES.c.tournament == event, STANDING, EVEN
        first = connection.execute(select(GAMES.c.id).where(*own).order_by(GAMES.c.number).limit(1)).scalar()
        if first is not None:
            places[event] = first, 0, event
    events: dict[str, EventTallies] = {str(event): {} for event in sorted(places, key=places.__getitem__)}
    for event, sums in counted.items():
        for (white, black), results in counts_by_pair(sums).items():
            events[str(event)][str(white), str(black), 0] = results
    return {event: tallies for event, tallies in events.items() if tallies}


def entry_ratings(connection: Connection, scale: Scale) -> dict[str, float]:
    """Return the ratings from the configuration of each engine version's first tournament, by key of the version.

    Ratings on another scale are left out.
    """
    rows = select(ENTRANTS.c.engine, ENTRANTS.c.rating, config_rating_scale(TOURNAMENTS.c.config)).join(
        TOURNAMENTS, TOURNAMENTS.c.id == ENTRANTS.c.tournament
    )
    first: dict[str, float | None] = {}
    for engine, rating, stated in connection.execute(rows.order_by(ENTRANTS.c.tournament, ENTRANTS.c.since_event)):
        first.setdefault(str(engine), rating if stated in (None, scale) else None)
    return {engine: rating for engine, rating in first.items() if rating is not None}


def version_lineage(connection: Connection) -> Lineage:
    """Return the lineage (predecessors) of all engine versions in the database."""
    return lineage(Version(str(row.id), row.name, row.family) for row in version_rows(connection))


def with_event_classes(connection: Connection, settings: BaseModel) -> BaseModel:
    """Return the settings with the keys of events in the event classes, instead of names or ``name #edition``."""
    if not isinstance(settings, Egf2021Settings) or not settings.classes:
        return settings
    classes = {}
    for event, name, edition in connection.execute(select(TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition)):
        own = settings.classes.get(f"{name} #{edition}", settings.classes.get(name))
        if own is not None:
            classes[str(event)] = own
    return settings.model_copy(update={"classes": classes})


def _imports(connection: Connection) -> list[tuple[int, int]]:
    """Return the imports of standard chess that were not removed, oldest first, with the newest game before each."""
    rows = select(IMPORTS.c.tournament, IMPORTS.c.after_game).where(IMPORTS.c.tournament.not_in(removed_imports()))
    if odd := nonstandard_variants(connection):
        rows = rows.where(IMPORTS.c.tournament.not_in(odd))
    return [(event, after_game) for event, after_game in connection.execute(rows.order_by(IMPORTS.c.tournament))]


def _imported(connection: Connection, event: int, after: int) -> Iterator[RatedGame]:
    columns = (
        IMPORTED_GAMES.c.id,
        IMPORTED_GAMES.c.white_engine,
        IMPORTED_GAMES.c.black_engine,
        IMPORTED_GAMES.c.white_half_points,
    )
    rows = select(*columns).where(IMPORTED_GAMES.c.tournament == event, IMPORTED_GAMES.c.id > after, EVEN_READ)
    for game, white, black, half_points in connection.execute(rows.order_by(IMPORTED_GAMES.c.id)):
        yield RatedGame(str(white), str(black), half_points, -game, str(event))


# Update. With unchanged settings and entry ratings, the state is restored from the rows and only later games are rated.
# A few earlier games are rated again as a check. If the bits differ, another version of the arithmetic wrote them, and
# all games are rated again.

_RATED_AGAIN = 50  # games before the first new game; most engines of a tournament play once or twice in them
_ROWS_A_GAME = 2  # one for White and one for Black
_Row = tuple[Any, ...]  # the columns of the table after `position`


def _updated(connection: Connection, stored: Stream, begun: RatingState, *, trusted: bool) -> tuple[int, list[_Row]]:
    """Return the position up to which the stored events are valid, and the new rows after it.

    `begun` is the state before the first game. `trusted` means that the stored events were written with the same
    settings.
    """
    if trusted and begun.rule.mode == "sequential":
        for end in (stored.__len__, stored.first_annulled):
            found = _rate_from(connection, stored, begun, max(0, end() // _ROWS_A_GAME - _RATED_AGAIN) * _ROWS_A_GAME)
            if found is not None:
                return found
    rated = _rate_all(connection, begun)
    same = _common_rows([tuple(row)[1:] for row in stored.rows()], rated)
    return same, rated[same:]


def _rate_all(connection: Connection, begun: RatingState) -> list[_Row]:
    if begun.rule.mode == "sequential":
        return _rows(incremental.rate(rated_games(connection), begun))
    return _rows(incremental.rate_events(_tallies_by_event(connection), begun))


def _rate_from(connection: Connection, stored: Stream, begun: RatingState, place: int) -> tuple[int, list[_Row]] | None:
    """Rate the games after a position. Return None if stored events before or just after it differ from a replay."""
    careers = stored.careers(place)
    ends = [Position(career.game, career.imported) for career in careers.values()] or [Position()]
    mark = Position(max(end.game for end in ends), max(end.imported for end in ends))
    games = list(rated_games(connection, mark))
    if place // _ROWS_A_GAME + len(games) != number_rated(connection) or not _entries_match(careers, stored, begun):
        return None
    known = {str(engine): Standing(career.rating, career.peak, career.games) for engine, career in careers.items()}
    rated = _rows(incremental.rate(games, replace(begun, standings={**begun.standings, **known})))
    behind = [tuple(row)[1:] for row in stored.rows(place)]
    same = _common_rows(behind, rated)
    if same < min(len(behind), len(rated)) and _row_and_game(behind[same]) == _row_and_game(rated[same]):
        return None
    return place + same, rated[same:]


def _entries_match(careers: Mapping[int, _Career], stored: Stream, begun: RatingState) -> bool:
    """Return whether every engine has the entry rating of a replay: its own, its predecessor's, or the start value."""
    order = sorted(careers.items(), key=lambda item: item[1].first)
    rated: dict[str, _Career] = {}  # engines with a game before the first game of the new engine
    arrived = 0
    for engine, career in order:
        begins = career.first - career.first % _ROWS_A_GAME
        while order[arrived][1].first < begins:
            rated[str(order[arrived][0])] = order[arrived][1]
            arrived += 1
        given = begun.standings.get(str(engine))
        before = begun.lineage.predecessor(str(engine), rated) if begun.lineage and given is None else None
        if given is not None:
            entry = given.rating
        elif before is not None:
            entry = stored.rating_before(int(before), begins)
        else:
            entry = begun.rule.entry()
        if career.entry != entry:
            return False
    return True


def _rows(events: Iterable[RatingEvent]) -> list[_Row]:
    """Return rating events as rows of the table. Imported games have a separate column."""
    return [
        (int(engine), int(event), *((None, *numbers, -game) if game and game < 0 else (game, *numbers, None)))
        for _, engine, event, game, *numbers in events
    ]


def _row_and_game(row: _Row) -> _Row:
    return row[0], row[2], row[-1]


def _common_rows(one: list[_Row], other: list[_Row]) -> int:
    differs = (place for place, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs)
    return next(differs, min(len(one), len(other)))


# Ratings belong to engine versions. Lists show ``name`` if one version of it has games, else ``name [fingerprint]``, or
# ``name [imported]`` for versions from files. A revision replaces the rating events of a system from its first position
# on, after an annulled game, a late game or a change of settings. Earlier revisions are kept.


def require_system(store: Store, name: str) -> None:
    """Raise StoreRefused if a rating system is not installed, but a list or tournament of the database uses it.

    The error names the package, which was stored when the list was defined or the tournament started.
    """
    if name == "ml" or name in SYSTEMS:
        return
    lists = store.database.rows(select(LISTS.c.definition).order_by(LISTS.c.made_unix.desc()))
    started = store.database.rows(select(TOURNAMENTS.c.config).order_by(TOURNAMENTS.c.id.desc()))
    for stored in (*(row.definition for row in lists), *(row.config for row in started)):
        used = stored_plugins(stored).get(SYSTEMS.group, {})
        if name in used:
            try:
                refuse_missing({SYSTEMS.group: {name: used[name]}}, "")
            except PluginRefused as error:  # the rest of the database can be read
                raise StoreRefused(error.what, step=error.step) from None


def system_named(name: str) -> IncrementalSystem:
    """Return an incremental rating system by name. Raise UsageRefused for an unknown name."""
    if name not in SYSTEMS:
        raise UsageRefused(f"unknown rating system {name!r}", step=f"choose one of: {', '.join(SYSTEMS)}")
    return SYSTEMS[name]


def stored_systems(connection: Connection) -> list[str]:
    """Return the incremental systems with rating events, without those whose plug-in is not installed."""
    found = connection.execute(select(RATING_REVISIONS.c.system).distinct()).scalars()
    return sorted((name for name in found if name in SYSTEMS), key=lambda name: (SYSTEMS.place(name), name))


def update_ratings(store: Store, system: str, settings: BaseModel | None = None) -> int:
    """Rate new games with a system and return the number of appended rating events.

    The result is the same as after a replay of all games. By default, `settings` are the settings of the newest
    revision, or the defaults of the system if there is no revision.
    """
    known = system_named(system)
    with store.database.writing() as connection:
        newest = select(RATING_REVISIONS).where(RATING_REVISIONS.c.system == system)
        last = connection.execute(newest.order_by(RATING_REVISIONS.c.revision.desc()).limit(1)).first()
        before = None if last is None else type(known.settings).model_validate_json(last.settings)
        settings = settings or before or known.settings
        entry = known.fitting(entry_ratings(connection, known.scale))
        begun = known.begin(with_event_classes(connection, settings), entry, version_lineage(connection))
        stored = stream(connection, system)
        same, fresh = _updated(connection, stored, begun, trusted=settings == before)
        revision = 0 if last is None else last.revision
        if last is None or same < len(stored) or settings != before:
            revision += 1
            why = "first" if last is None else "settings" if settings != before else "games"
            row = {"settings": settings.model_dump_json(), "why": why, "made_unix": time.time()}
            connection.execute(
                insert(RATING_REVISIONS), {"system": system, "revision": revision, "first_position": same, **row}
            )
        if fresh:
            # `fill`, because inserting 200,000 rows as dictionaries takes longer than rating the games
            events = dict(zip((column.name for column in _EVENT), map(list, zip(*fresh, strict=True)), strict=True))
            head = {"system": [system] * len(fresh), "revision": revision}
            places = {"position": list(range(same, same + len(fresh)))}
            store.database.backend.fill(connection, RATING_EVENTS.name, head | places | events)
    return len(fresh)


def settings_of(store: Store) -> list[BaseModel]:
    """Return the settings of all revisions of the installed rating systems. Raise ValueError for invalid settings."""
    rows = select(RATING_REVISIONS.c.system, RATING_REVISIONS.c.settings)
    found = (row for row in store.database.rows(rows) if row.system in SYSTEMS)
    return [type(SYSTEMS[row.system].settings).model_validate_json(row.settings) for row in found]


def ratings_of(store: Store, system: str, tournament: int | None = None) -> dict[str, tuple[float, int]]:
    """Return the rating and the number of rated games of every engine version, best first.

    With a `tournament`, return only its entrants. They have their names in the tournament, unless several versions have
    the same name.
    """
    with store.database.reading() as connection:
        names = rated_names(connection)
        latest = _latest(connection, system)
        if tournament is not None:
            entered = select(ENTRANTS.c.engine, ENTRANTS.c.name).where(ENTRANTS.c.tournament == tournament).distinct()
            here = {row.engine: row.name for row in connection.execute(entered)}
            imported = connection.execute(select(IMPORTS.c.counts).where(IMPORTS.c.tournament == tournament)).scalar()
            here |= {engine: names[engine] for engine in (engines_in(unpack_counts(imported)) if imported else ())}
            several = Counter(name for engine, name in here.items() if engine in latest)
            names |= {engine: name for engine, name in here.items() if several[name] == 1}
            latest = {engine: latest[engine] for engine in here if engine in latest}
    found = {names[engine]: (career.rating, career.games) for engine, career in latest.items()}
    return dict(sorted(found.items(), key=lambda item: (-item[1][0], item[0])))


def prior_ratings(store: Store, names: Collection[str]) -> dict[str, float]:
    """Return the Elo ratings of the engines in `names`. The newest rated version of each engine is used."""
    with store.database.reading() as connection:
        latest = _latest(connection, "elo")
        plain = engine_names(connection)
    return {name: latest[key].rating for key, name in plain.items() if key in latest and name in names}


def rating_history(store: Store, system: str, name: str) -> list[RatingEvent]:
    """Return the rating events of all versions of an engine. `game` is the number in the tournament `event`."""
    system_named(system)
    with store.database.reading() as connection:
        shown = rated_names(connection)
        own = {row.id for row in connection.execute(select(ENGINES.c.id).where(ENGINES.c.name == name))}
        titles = tournament_titles(connection)
        rows = [row for row in stream(connection, system).rows() if row.engine in own]
        numbers = dict(_numbers(connection, {row.game for row in rows if row.game is not None}))
    return [
        RatingEvent(
            system,
            shown[row.engine],
            titles[row.tournament],
            None if row.game is None else numbers[row.game],
            *(row.before, row.change, row.after, row.weight, row.games),
        )
        for row in rows
    ]


def ratings_by_game(store: Store, tournament: int) -> dict[tuple[str, str], tuple[float, list[tuple[int, float]]]]:
    """Return the ratings of engines during a tournament, for systems that have rated all its games that count.

    The key is the system and the name without mark. The value is the rating before the first game, then the number of
    each game and the rating after it.
    """
    found: dict[tuple[str, str], tuple[float, list[tuple[int, float]]]] = {}
    with store.database.reading() as connection:
        if not (systems := stored_systems(connection)):
            return found
        plain = engine_names(connection)
        own = select(GAMES.c.id, GAMES.c.number).where(GAMES.c.tournament == tournament, STANDING, EVEN)
        numbers = {row.id: row.number for row in connection.execute(own)}
        for system in systems:
            rows = [row for row in stream(connection, system).rows() if row.tournament == tournament and row.game]
            if {row.game for row in rows} == numbers.keys():
                for row in rows:
                    path = found.setdefault((system, plain[row.engine]), (row.before, []))
                    path[1].append((numbers[row.game], row.after))
    return found


def _latest(connection: Connection, system: str) -> dict[int, _Career]:
    system_named(system)
    return stream(connection, system).careers()


def _numbers(connection: Connection, games: set[int]) -> list[tuple[int, int]]:
    if not games:
        return []
    rows = select(GAMES.c.id, GAMES.c.number).where(GAMES.c.id.between(min(games), max(games)))
    return [(row.id, row.number) for row in connection.execute(rows)]
