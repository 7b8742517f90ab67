"""Select the games of a rating list with its filter, as pair counts by name; count game pairs by points."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    CursorResult,
    Select,
    Subquery,
    and_,
    bindparam,
    case,
    func,
    literal,
    select,
    true,
    tuple_,
)

from enginetour.interop.gamefilter import has_ending, matches_any
from enginetour.interop.gametags import GameColumns
from enginetour.model.game import RESULTS, Outcome, Termination
from enginetour.model.timecontrol import time_class
from enginetour.model.variants import STANDARD
from enginetour.ratings.incremental import stem
from enginetour.store.counts import (
    DAY,
    LINES,
    Moment,
    check_versions,
    engines_in,
    join_counts,
    kept_counts,
    moment_of,
    nonstandard_variants,
    removed_imports,
)
from enginetour.store.database import Database
from enginetour.store.engines import engine_names, marked_names, played_by, rated_names, shown_names, version_rows
from enginetour.store.games import TournamentReader
from enginetour.store.tables import (
    ENGINES,
    EVEN,
    EVEN_READ,
    GAMES,
    IMPORTED_GAMES,
    IMPORTS,
    ODDS,
    STANDING,
    TOURNAMENTS,
)
from enginetour.store.tournaments import Store

if TYPE_CHECKING:
    from enginetour.ratings.pairs import Pairs
    from enginetour.store.counts import Sums
    from enginetour.store.definition import ListDefinition


# The filter. If several parts of the filter exclude a game, the game is counted for the first of these parts in the
# order of `_PARTS`. The sum of included and excluded games is therefore the number of all games.

_PLAYED_TAGS = (GAMES.c.white_tc, GAMES.c.black_tc, GAMES.c.termination)
_IMPORTED_TAGS = (IMPORTED_GAMES.c.tc, IMPORTED_GAMES.c.black_tc, IMPORTED_GAMES.c.termination)
_PARTS = ("variant", "tournament", "odds", "date", "time class", "control", "termination", "hardware")
# Terminations of stored games for each of the `ENDINGS` of game files.
_PLAYED: Mapping[str, frozenset[str]] = {
    "time": frozenset({Termination.TIME}),
    "crash": frozenset({Termination.CRASH}),
    "stall": frozenset({Termination.STALL}),
    "illegal-move": frozenset({Termination.ILLEGAL_MOVE, Termination.FALSE_CLAIM}),
    "adjudication": frozenset(code for code in Termination if code.startswith("adjudication")),
}


@dataclass(frozen=True, slots=True)
class GameFilter:
    """The filter of a list as conditions on GAMES and IMPORTED_GAMES. `left_out` counts the excluded games by part."""

    games: ColumnElement[bool]
    imported: ColumnElement[bool]
    left_out: dict[str, int]


def tournaments_of(connection: Connection, definition: ListDefinition) -> set[int]:
    """Return the keys of the tournaments and imports in a list, by variant and by name or ``name #edition``."""
    rows = connection.execute(select(TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition)).fetchall()
    odd = nonstandard_variants(connection)
    return {
        row.id
        for row in rows
        if odd.get(row.id, STANDARD) == definition.variant and _wanted_tournament(row, definition)
    }


def is_whole(definition: ListDefinition) -> bool:
    """Return whether the filter selects whole tournaments and engines. The stored pair counts are then sufficient."""
    tags = definition.since or definition.until or definition.time_classes or definition.tc
    return not (tags or definition.exclude_termination or definition.hardware or definition.odds)


def game_filter(connection: Connection, definition: ListDefinition, moment: Moment) -> GameFilter:
    """Return the filter of a list at a moment as conditions on rows. This scans all games and imported games."""
    tournaments, variants = tournaments_of(connection, definition), nonstandard_variants(connection)
    ended, dated = _days(definition)
    played, read = moment.standing(), moment.read()
    left: Counter[str] = Counter()

    def wanted(groups: Select[Any], why_not: Callable[..., str | None]) -> list[tuple[Any, ...]]:
        """Return the tags of the groups that the filter includes, and count the games of the other groups."""
        taken = []
        for tournament, even, in_time, *tags, count in connection.execute(groups):
            common = {"tournament": tournament in tournaments, "even": bool(even), "in_time": bool(in_time)}
            why = why_not(tags, variant=variants.get(tournament, STANDARD), **common)
            if why:
                left[why] += count
            else:
                taken.append(tuple(tags))
        return taken

    def why_not_played(tags: Sequence[str], **common: Any) -> str | None:
        *controls, termination, hardware = tags
        excluded = any(termination in _PLAYED[name] for name in definition.exclude_termination)
        return _excluding_part(definition, **common, controls=controls, excluded=excluded, hardware=hardware)

    def why_not_imported(tags: Sequence[str], **common: Any) -> str | None:
        tc, black_tc, termination = tags
        excluded = has_ending(termination, definition.exclude_termination)
        return _excluding_part(definition, **common, controls=(tc, black_tc or tc), excluded=excluded, hardware="")

    columns = (GAMES.c.tournament, EVEN, ended, *_PLAYED_TAGS, GAMES.c.hardware)
    tags = wanted(select(*columns, func.count()).where(played).group_by(*columns), why_not_played)
    games = and_(
        played,
        GAMES.c.tournament.in_(tournaments),
        ended,
        tuple_(*_PLAYED_TAGS).in_(sorted({tag[:-1] for tag in tags})),
        GAMES.c.hardware.in_(sorted({tag[-1] for tag in tags})),
        true() if definition.odds else EVEN,
    )
    groups = (IMPORTED_GAMES.c.tournament, EVEN_READ, dated, *_IMPORTED_TAGS)
    tags = wanted(select(*groups, func.count()).where(read).group_by(*groups), why_not_imported)
    imported = and_(
        read,
        IMPORTED_GAMES.c.tournament.in_(tournaments),
        dated,
        tuple_(*_IMPORTED_TAGS).in_(sorted(set(tags))),
        true() if definition.odds else EVEN_READ,
    )
    return GameFilter(games, imported, {part: left[part] for part in _PARTS if left[part]})


def _wanted_tournament(row: Any, definition: ListDefinition) -> bool:
    names = (row.name, f"{row.name} #{row.edition}")
    if definition.tournaments and not any(matches_any(name, definition.tournaments) for name in names):
        return False
    return not any(matches_any(name, definition.not_tournaments) for name in names)


def _excluding_part(
    definition: ListDefinition,
    *,
    variant: str,
    tournament: bool,
    even: bool,
    in_time: bool,
    controls: Sequence[str],
    excluded: bool,
    hardware: str,
) -> str | None:
    kept = {
        "variant": variant == definition.variant,
        "tournament": tournament,
        "odds": even or definition.odds,
        "date": in_time,
        "time class": not definition.time_classes or time_class(*controls) in definition.time_classes,
        "control": not definition.tc or all(matches_any(control, definition.tc) for control in controls),
        "termination": not excluded,
        "hardware": not definition.hardware or matches_any(hardware, definition.hardware),
    }
    return next((part for part in _PARTS if not kept[part]), None)


def _days(definition: ListDefinition) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Build conditions for the days of games and imported games. Imported games without a date do not match any day."""
    ended: list[ColumnElement[bool]] = []
    if definition.since:
        ended.append(GAMES.c.ended_unix >= _seconds(definition.since))
    if definition.until:
        ended.append(GAMES.c.ended_unix < _seconds(definition.until) + DAY)
    if not ended:
        return literal(True), literal(True)  # noqa: FBT003 - PostgreSQL cannot group by a constant
    played = IMPORTED_GAMES.c.played_yyyymmdd
    lowest, highest, later = GameColumns.day_numbers(definition.since, definition.until)
    return and_(*ended), and_(played.between(lowest, highest), played.not_in(later))


def _seconds(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


_DENSE_NAMES = 2000  # names; a dense array takes 32 MB then, and sorting half a million pairs takes 80 ms (measured)


@dataclass(frozen=True, slots=True, eq=False)
class _Named:
    """Engine versions by their names in a list, without the versions that the list excludes."""

    names: Mapping[int, str]  # name in the list by version
    relatives: Mapping[int, tuple[str, str]]  # name and family by version; "" for an unknown family
    by_term: Mapping[str, set[str]]  # names in the list by every name of a version (also with or without mark)

    def family(self, versions: Collection[int]) -> str:
        """Return the family of the newest version with a known family, or "" if there is none."""
        return next((family for _, family in map(self.relatives.__getitem__, sorted(versions)[::-1]) if family), "")


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The games that a list includes at a moment, as pair counts.

    `left_out` counts the excluded games by part of the filter. `versions` maps each name to the keys of its engine
    versions. `names_by_term` maps every name that users can type, with or without mark, to names in the list.
    """

    definition: ListDefinition
    moment: Moment
    pairs: Pairs
    left_out: Mapping[str, int]
    versions: Mapping[str, tuple[int, ...]]
    families: Mapping[str, str]
    by_name: bool  # whether some families are derived from names
    names_by_term: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the engines with games, sorted."""
        return self.pairs.names

    @property
    def games(self) -> int:
        """Number of selected games."""
        return int(self.pairs.games.sum())


def select_games(
    store: Store, definition: ListDefinition, as_of: str | Moment | None = None, *, names_of: Moment | None = None
) -> Selection:
    """Select the games of a list, now or as of a day, a time or ``game N``. Raise UsageRefused for any other text.

    Engine versions have their names at that moment, or at the moment `names_of`.
    """
    with store.database.reading() as connection:
        moment = as_of if isinstance(as_of, Moment) else moment_of(connection, as_of)
        named = _named_versions(connection, definition, None if as_of is None else moment, names_of)
        if as_of is None and is_whole(definition):
            sums, left = _sums_from_counts(connection, definition)
        else:
            sums, left = _sums_from_games(connection, definition, moment)
    pairs, unwanted, alone = _pairs(sums, named.names)
    enough = pairs.with_min_games(definition.min_games)
    left |= {"engine": unwanted, "one engine": alone, "few games": int(pairs.games.sum() - enough.games.sum())}
    versions: defaultdict[str, list[int]] = defaultdict(list)
    met = (sums[2] | sums[3] | sums[4]) > 0  # a pair whose games were all annulled has zeros
    played = engines_in(sums if met.all() else sums[:, met])
    for engine, name in named.names.items():
        if engine in played:
            versions[name].append(engine)
    families = {name: named.family(versions[name]) for name in enough.names}
    return Selection(
        definition,
        moment,
        enough,
        {part: games for part, games in left.items() if games},
        {name: tuple(versions[name]) for name in enough.names},
        # An unknown family is replaced by the engine's name without the version number.
        {name: family or stem(named.relatives[versions[name][0]][0]) for name, family in families.items()},
        not all(families.values()),
        {term: tuple(sorted(names.intersection(enough.names))) for term, names in named.by_term.items()},
    )


def _named_versions(
    connection: Connection, definition: ListDefinition, moment: Moment | None, names_of: Moment | None = None
) -> _Named:
    """Return the engine versions that the definition includes, with their displayed names at a moment (None is now).

    With `names_of`, the names are those of another moment. A version without games at that moment gets its name with
    mark if another version has the name. A name in the definition means the same versions at every moment: a name with
    mark is valid even if the mark is not displayed.
    """
    rows = version_rows(connection)
    marks = marked_names(rows)
    played = played_by(connection, names_of or moment)
    shown = shown_names(rows, marks, played)
    if names_of is not None:
        used = {row.name for row in rows if row.id in played}
        gone = played_by(connection, moment) - played  # their import was removed between the two moments
        shown |= {row.id: marks[row.id] for row in rows if row.id in gone and row.name in used}
    aliases, plain = definition.aliases, definition.by == "name"
    names: dict[int, str] = {}
    by_term: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        own, marked = (row.name, row.name) if plain else (shown[row.id], marks[row.id])
        name = aliases.get(marked) or aliases.get(row.name) or own
        called = (name, own, row.name)
        if definition.engines and not _fits(definition.engines, called, marked):
            continue
        if definition.not_engines and _fits(definition.not_engines, called, marked):
            continue
        names[row.id] = name
        for term in (*called, marked):
            by_term[term].add(name)
    return _Named(names, {row.id: (row.name, row.family) for row in rows}, by_term)


def _fits(globs: Collection[str], called: Collection[str], marked: str) -> bool:
    """Return whether a pattern matches a displayed name of a version, or is equal to its name with mark."""
    return marked in globs or any(matches_any(name, globs) for name in called)


def _sums_from_counts(connection: Connection, definition: ListDefinition) -> tuple[Sums, dict[str, int]]:
    wanted, kept = tournaments_of(connection, definition), kept_counts(connection)
    found = join_counts(sums for tournament, sums in kept.items() if tournament in wanted)
    odd = nonstandard_variants(connection)
    others = {tournament for tournament in kept if odd.get(tournament, STANDARD) != definition.variant}
    apart = sum(int(sums[2:].sum()) for tournament, sums in kept.items() if tournament in others)
    left = sum(int(sums[2:].sum()) for tournament, sums in kept.items() if tournament not in wanted | others)
    standing = ODDS, STANDING
    rows = connection.execute(select(GAMES.c.tournament, func.count()).where(*standing).group_by(GAMES.c.tournament))
    read = select(IMPORTS.c.tournament, IMPORTS.c.odds_games).where(
        IMPORTS.c.odds_games > 0, IMPORTS.c.tournament.not_in(removed_imports())
    )
    odds = {row[0]: int(row[1]) for row in (*rows, *connection.execute(read))}
    inside = sum(games for tournament, games in odds.items() if tournament in wanted)
    given = sum(games for tournament, games in odds.items() if odd.get(tournament, STANDARD) != definition.variant)
    return found, {
        "variant": apart + given,
        "tournament": left + sum(odds.values()) - inside - given,
        "odds": inside,
    }


def _sums_from_games(connection: Connection, definition: ListDefinition, moment: Moment) -> tuple[Sums, dict[str, int]]:
    cut = game_filter(connection, definition, moment)
    won, drawn, lost = (func.count().filter(GAMES.c.outcome == outcome) for outcome in RESULTS)
    ends = GAMES.c.white_engine, GAMES.c.black_engine
    own = _columns(connection.execute(select(*ends, won, drawn, lost).where(cut.games).group_by(*ends)))
    ends = IMPORTED_GAMES.c.white_engine, IMPORTED_GAMES.c.black_engine
    won, drawn, lost = (func.count().filter(IMPORTED_GAMES.c.white_half_points == points) for points in (2, 1, 0))
    read = _columns(connection.execute(select(*ends, won, drawn, lost).where(cut.imported).group_by(*ends)))
    return join_counts((own, read)), cut.left_out


def _columns(found: CursorResult[Any]) -> Sums:
    """Read pair counts directly from the driver, because a thousand engines can have half a million rows."""
    import numpy as np

    cursor: Any = found.cursor
    return check_versions(np.fromiter(chain.from_iterable(cursor), np.int64).reshape(-1, len(LINES)).T)


def _pairs(sums: Sums, names: Mapping[int, str]) -> tuple[Pairs, int, int]:
    """Return the counts by name, and the numbers of games of excluded engines and of a name against itself."""
    import numpy as np

    from enginetour.ratings.pairs import Pairs

    known = tuple(sorted(set(names.values())))
    place = {name: number for number, name in enumerate(known)}
    places = np.full(int(sums[:2].max(initial=0)) + 1, -1)
    for engine, name in names.items():
        if engine < len(places):
            places[engine] = place[name]
    ends, games = places[sums[:2]], sums[2:].sum(axis=0)
    wanted = (ends >= 0).all(axis=0)
    apart = wanted & (ends[0] != ends[1]) & (games > 0)
    code, counts = ends[0] * len(known) + ends[1], sums[2:]
    if not apart.all():
        code, counts = code[apart], counts[:, apart]
    if (code[1:] > code[:-1]).all():  # already sorted, for example after one import of new engines
        keys, columns = code, [column.astype(np.float64) for column in counts]
    elif len(known) <= _DENSE_NAMES:  # counting in a dense array is faster than sorting
        keys = np.flatnonzero(np.bincount(code, minlength=len(known) ** 2))
        columns = [np.bincount(code, column, len(known) ** 2)[keys] for column in counts]
    else:
        keys, row = np.unique(code, return_inverse=True)
        columns = [np.bincount(row, column, len(keys)) for column in counts]
    white, black = np.divmod(keys, max(len(known), 1))
    everybody = Pairs(known, white, black, *columns)
    met = [name for name, played in zip(known, everybody.played, strict=True) if played]
    alone = int(games[wanted].sum() - games[apart].sum())
    return everybody.within(met), int(games[~wanted].sum()), alone


# Pentanomial results: game pairs with the same opening, counted by their points.

_STANDING = and_(STANDING, EVEN)

Pentanomial = tuple[int, int, int, int, int]  # game pairs with 0, 1/2, 1, 3/2, 2 points


def pentanomials_of(
    database: Database,
    *wanted: ColumnElement[bool],
    names: Mapping[int, str] | None = None,
    standing: ColumnElement[bool] = _STANDING,
) -> dict[tuple[str, str], Pentanomial]:
    """Count the complete game pairs of every two engines by the points of the first engine.

    The games of a pair are legs 1 and 2, 3 and 4, ... of an encounter. They have the same two versions and the same
    opening, with swapped colors.

    Args:
        database: The open database.
        wanted: Conditions on GAMES.
        names: Names of engine versions. By default, all versions of the database are counted. Versions with the same
            name are counted together, and versions without a name are left out.
        standing: Condition for results that count; by default even games that are not annulled.
    """
    with database.reading() as connection:
        shown = rated_names(connection) if names is None else names
        return _sum_by_name(connection, (standing, *wanted), shown)


def pentanomial_of_pair(log: TournamentReader, one: str, other: str) -> tuple[Pentanomial | None, int]:
    """Return the pentanomial result of two entrants, as points of the first one, and the number of draw-draw pairs.

    The result is None if there is no complete pair.
    """
    found, draws = [0] * 5, 0
    with log.database.reading() as connection:
        rows = connection.execute(_match_query(), {"t": log.id}).all()
        ids = {key for row in rows for key in row[:2]}
        named = select(ENGINES.c.id, ENGINES.c.name).where(ENGINES.c.id.in_(ids)) if ids else None
        plain = {row.id: row.name for row in connection.execute(named)} if named is not None else {}
    for low, high, brought, drawn, number in rows:
        if {plain[low], plain[high]} == {one, other} and one != other:
            found[brought if plain[low] == one else 4 - brought] += number
            draws += number * (drawn == 2)
    return ((found[0], found[1], found[2], found[3], found[4]) if any(found) else None), draws


def pentanomials_of_tournament(log: TournamentReader) -> dict[tuple[str, str], Pentanomial]:
    """Return the pentanomial results of a tournament by the names of both engines."""
    with log.database.reading() as connection:
        return _sum_by_name(connection, (_STANDING, GAMES.c.tournament == log.id), engine_names(connection))


@cache
def _match_query() -> Select[Any]:
    """Build the statement of `pentanomial_of_pair`. It is cached, because building it takes longer than running it."""
    game_pairs = _game_pairs((_STANDING, GAMES.c.tournament == bindparam("t")))
    columns = game_pairs.c.low, game_pairs.c.high, game_pairs.c.points, game_pairs.c.draws
    return select(*columns, func.count()).group_by(*columns)


def _sum_by_name(
    connection: Connection, wanted: tuple[ColumnElement[bool], ...], names: Mapping[int, str]
) -> dict[tuple[str, str], Pentanomial]:
    """Sum the game pairs by names, as points of the name that sorts first."""
    game_pairs = _game_pairs(wanted)
    columns = game_pairs.c.low, game_pairs.c.high, game_pairs.c.points
    found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * 5)
    for one, other, brought, number in connection.execute(select(*columns, func.count()).group_by(*columns)).all():
        if one not in names or other not in names or names[one] == names[other]:
            continue
        turned = names[one] > names[other]
        pair = (names[other], names[one]) if turned else (names[one], names[other])
        found[pair][4 - brought if turned else brought] += number
    return {pair: (c[0], c[1], c[2], c[3], c[4]) for pair, c in sorted(found.items())}


def _game_pairs(wanted: tuple[ColumnElement[bool], ...]) -> Subquery:
    """Build a query for complete game pairs: both versions, the points of the smaller key, and the number of draws."""
    white, black, outcome = GAMES.c.white_engine, GAMES.c.black_engine, GAMES.c.outcome
    forward = white < black
    points = case(
        (outcome == Outcome.DRAW, 1),
        (outcome == Outcome.WHITE, case((forward, 2), else_=0)),
        else_=case((forward, 0), else_=2),
    )
    low, high = case((forward, white), else_=black), case((forward, black), else_=white)
    drawn = func.sum(case((outcome == Outcome.DRAW, 1), else_=0)).label("draws")
    return (
        select(low.label("low"), high.label("high"), func.sum(points).label("points"), drawn)
        .where(*wanted)
        .group_by(GAMES.c.tournament, low, high, GAMES.c.meeting, (GAMES.c.leg + 1) // 2)
        .having(
            func.count() == 2,
            func.sum(case((forward, 1), else_=0)) == 1,
            func.min(GAMES.c.opening) == func.max(GAMES.c.opening),
        )
        .subquery()
    )
