"""Which games a list includes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
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

from enginetour.interop.gamefilter import any_fits, at_least, ended_so
from enginetour.model.game import Outcome, Termination
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
from enginetour.store.definition import ListDefinition
from enginetour.store.engines import marked_names, played_by, rated_names, shown_names, version_rows
from enginetour.store.games import TournamentReader
from enginetour.store.tables import ENGINES, EVEN, EVEN_READ, GAMES, IMPORTED_GAMES, IMPORTS, ODDS, STRUCK, TOURNAMENTS
from enginetour.store.tournaments import Store

if TYPE_CHECKING:
    from enginetour.ratings.pairs import Pairs
    from enginetour.store.counts import Sums


# Which games a list takes: its filter as conditions on rows, and how many games fall to which part of it.
#
# The parts are asked in one order (that of `PARTS`), and a game counts with the first that does not want it: what is
# left out and what is taken add up to all.

_TOLD = (GAMES.c.white_tc, GAMES.c.black_tc, GAMES.c.termination)
_TAGS = (IMPORTED_GAMES.c.tc, IMPORTED_GAMES.c.black_tc, IMPORTED_GAMES.c.termination)
_PARTS = ("variant", "tournament", "odds", "date", "time class", "control", "termination", "hardware")
# The `ENDINGS` of game files, for games that were played here.
_PLAYED: Mapping[str, frozenset[str]] = {
    "time": frozenset({Termination.TIME}),
    "crash": frozenset({Termination.CRASH}),
    "stall": frozenset({Termination.STALL}),
    "illegal-move": frozenset({Termination.ILLEGAL_MOVE, Termination.FALSE_CLAIM}),
    "adjudication": frozenset(code for code in Termination if code.startswith("adjudication")),
}


@dataclass(frozen=True, slots=True)
class GameFilter:
    """Conditions on rows of games and of imported games; `left_out` counts the games that stand and are not taken."""

    games: ColumnElement[bool]
    imported: ColumnElement[bool]
    left_out: dict[str, int]
    standing: int


def tournaments_of(connection: Connection, definition: ListDefinition) -> set[int]:
    """Those of the variant that are wanted by name, or by ``name #edition`` for one of them."""
    rows = connection.execute(select(TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition)).fetchall()
    odd = nonstandard_variants(connection)
    return {
        row.id
        for row in rows
        if odd.get(row.id, STANDARD) == definition.variant and _wanted_tournament(row, definition)
    }


def is_whole(definition: ListDefinition) -> bool:
    """The filter takes or leaves whole tournaments and engines, so that the kept pair counts answer it."""
    tags = definition.since or definition.until or definition.time_classes or definition.tc
    return not (tags or definition.exclude_termination or definition.hardware or definition.odds)


def game_filter(connection: Connection, definition: ListDefinition, moment: Moment) -> GameFilter:
    """The filter at a moment. Two scans of the games."""
    tournaments, odd = tournaments_of(connection, definition), nonstandard_variants(connection)
    wanted: dict[str, set[Any]] = {"told": set(), "hardware": set(), "tags": set()}
    left: Counter[str] = Counter()
    standing = 0
    inside, inside_read = _days(definition)
    groups: Select[Any] = (
        select(GAMES.c.tournament, EVEN, inside, *_TOLD, GAMES.c.hardware, func.count())
        .where(moment.standing())
        .group_by(GAMES.c.tournament, EVEN, inside, *_TOLD, GAMES.c.hardware)
    )
    for tournament, even, in_time, white_tc, black_tc, termination, hardware, count in connection.execute(groups):
        why = _why_not(
            definition,
            variant=odd.get(tournament, STANDARD),
            tournament=tournament in tournaments,
            even=bool(even),
            in_time=bool(in_time),
            controls=(white_tc, black_tc),
            excluded=any(termination in _PLAYED[name] for name in definition.exclude_termination),
            hardware=hardware,
        )
        standing += count
        if why:
            left[why] += count
        else:
            wanted["told"].add((white_tc, black_tc, termination))
            wanted["hardware"].add(hardware)
    read: Select[Any] = (
        select(IMPORTED_GAMES.c.tournament, EVEN_READ, inside_read, *_TAGS, func.count())
        .where(moment.read())
        .group_by(IMPORTED_GAMES.c.tournament, EVEN_READ, inside_read, *_TAGS)
    )
    for tournament, even, in_time, tc, black_tc, termination, count in connection.execute(read):
        why = _why_not(
            definition,
            variant=odd.get(tournament, STANDARD),
            tournament=tournament in tournaments,
            even=bool(even),
            in_time=bool(in_time),
            controls=(tc, black_tc or tc),
            excluded=ended_so(termination, definition.exclude_termination),
            hardware="",
        )
        standing += count
        if why:
            left[why] += count
        else:
            wanted["tags"].add((tc, black_tc, termination))
    games = and_(
        moment.standing(),
        GAMES.c.tournament.in_(tournaments),
        inside,
        tuple_(*_TOLD).in_(sorted(wanted["told"])),
        GAMES.c.hardware.in_(sorted(wanted["hardware"])),
        true() if definition.odds else EVEN,
    )
    imported = and_(
        moment.read(),
        IMPORTED_GAMES.c.tournament.in_(tournaments),
        inside_read,
        tuple_(*_TAGS).in_(sorted(wanted["tags"])),
        true() if definition.odds else EVEN_READ,
    )
    return GameFilter(games, imported, {part: left[part] for part in _PARTS if left[part]}, standing)


def _wanted_tournament(row: Any, definition: ListDefinition) -> bool:
    names = (row.name, f"{row.name} #{row.edition}")
    if definition.tournaments and not any(any_fits(name, definition.tournaments) for name in names):
        return False
    return not any(any_fits(name, definition.not_tournaments) for name in names)


def _why_not(
    definition: ListDefinition,
    *,
    variant: str,
    tournament: bool,
    even: bool,
    in_time: bool,
    controls: tuple[str, str],
    excluded: bool,
    hardware: str,
) -> str | None:
    """The first part of the filter that does not want such games."""
    kept = {
        "variant": variant == definition.variant,
        "tournament": tournament,
        "odds": even or definition.odds,
        "date": in_time,
        "time class": not definition.time_classes or time_class(*controls) in definition.time_classes,
        "control": not definition.tc or all(any_fits(control, definition.tc) for control in controls),
        "termination": not excluded,
        "hardware": not definition.hardware or any_fits(hardware, definition.hardware),
    }
    return next((part for part in _PARTS if not kept[part]), None)


def _days(definition: ListDefinition) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Ended between the days, for games; dated between them, for imported ones: a game without a date is on no day."""
    ended: list[ColumnElement[bool]] = []
    dated: list[ColumnElement[bool]] = []
    if definition.since:
        ended.append(GAMES.c.ended >= _seconds(definition.since))
        dated.append(IMPORTED_GAMES.c.day >= _number(definition.since))
    if definition.until:
        ended.append(GAMES.c.ended < _seconds(definition.until) + DAY)
        dated += [IMPORTED_GAMES.c.day <= _number(definition.until), IMPORTED_GAMES.c.day > 0]
    if not ended:
        return literal(True), literal(True)  # noqa: FBT003 - a bound value: a bare one groups nothing in PostgreSQL
    return and_(*ended), and_(*dated)


def _seconds(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def _number(day: date) -> int:
    return day.year * 10_000 + day.month * 100 + day.day


# The games of a list as pair counts, with the names they are rated under and what was left out by which filter.

_DENSE_NAMES = 2000  # names; a count of every two takes 32 MB, sorting half a million pairs 80 ms (measured)


@dataclass(frozen=True, slots=True, eq=False)
class _Named:
    """Engine versions under the names of a list; those that are not wanted are in none of the maps."""

    names: Mapping[int, str]  # of a version
    relatives: Mapping[int, tuple[str, str]]  # the plain name and the family of a version; "" where none is told
    meant: Mapping[str, set[str]]  # by whatever a version is called: plain, with its mark, or in the list

    def family(self, versions: Collection[int]) -> str:
        """That of the newest which tells one, else ""."""
        return next((family for _, family in map(self.relatives.__getitem__, sorted(versions)[::-1]) if family), "")


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What a definition takes of the store at a moment. `left_out`: games by the filter that did not want them.

    `few` are engines with too few games; `versions` tells which rows of the store each name stands for, `meant` which
    names of the list people may mean by a plain name, or by one with a mark that is not shown.
    """

    definition: ListDefinition
    moment: Moment
    pairs: Pairs
    left_out: Mapping[str, int]
    few: tuple[str, ...]
    versions: Mapping[str, tuple[int, ...]]
    families: Mapping[str, str]
    by_name: bool  # a family of theirs is only known from a name
    meant: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """Engines with games, in the order of the alphabet."""
        return self.pairs.names

    @property
    def games(self) -> int:
        """How many were taken."""
        return int(self.pairs.games.sum())


def select_games(
    store: Store, definition: ListDefinition, as_of: str | Moment | None = None, *, names_of: Moment | None = None
) -> Selection:
    """The games of a list now or at a moment: a day, a time, or ``game N``; UsageRefused for another one.

    Engines have the names that told their versions apart at that moment, or at the moment `names_of`.
    """
    with store.database.reading() as connection:
        moment = as_of if isinstance(as_of, Moment) else moment_of(connection, as_of)
        named = _named_versions(connection, definition, None if as_of is None else moment, names_of)
        if as_of is None and is_whole(definition):
            sums, left = _kept_sums(connection, definition)
        else:
            sums, left = _counted_sums(connection, definition, moment)
    pairs, unwanted, alone = _pairs(sums, named.names)
    enough = at_least(pairs, definition.min_games)
    left |= {"engine": unwanted, "one engine": alone, "few games": int(pairs.games.sum() - enough.games.sum())}
    versions: defaultdict[str, list[int]] = defaultdict(list)
    met = (sums[2] | sums[3] | sums[4]) > 0  # kept counts have pairs whose games were all struck out
    played = engines_in(sums if met.all() else sums[:, met])
    for engine, name in named.names.items():
        if engine in played:
            versions[name].append(engine)
    told = {name: named.family(versions[name]) for name in enough.names}
    return Selection(
        definition,
        moment,
        enough,
        {part: games for part, games in left.items() if games},
        tuple(sorted(set(pairs.names) - set(enough.names))),
        {name: tuple(versions[name]) for name in enough.names},
        # Where none is told it is the plain name without the version.
        {name: family or stem(named.relatives[versions[name][0]][0]) for name, family in told.items()},
        not all(told.values()),
        {word: tuple(sorted(names.intersection(enough.names))) for word, names in named.meant.items()},
    )


def _named_versions(
    connection: Connection, definition: ListDefinition, moment: Moment | None, names_of: Moment | None = None
) -> _Named:
    """Which versions are wanted and under which names, as they were told apart at a moment, or now for None.

    With the names of another moment, those that had no games then have none of its names. Words of the definition mean
    the same versions at every moment: a name with its mark does where no mark is shown.
    """
    rows = version_rows(connection)
    marks = marked_names(rows)
    played = played_by(connection, names_of or moment)
    shown = shown_names(rows, marks, played)
    if names_of is not None:
        borne = {row.name for row in rows if row.id in played}
        gone = played_by(connection, moment) - played  # an import brought them that was struck out between the two
        shown |= {row.id: marks[row.id] for row in rows if row.id in gone and row.name in borne}
    aliases, plain = definition.aliases, definition.by == "name"
    names: dict[int, str] = {}
    meant: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        own, marked = (row.name, row.name) if plain else (shown[row.id], marks[row.id])
        name = aliases.get(marked) or aliases.get(row.name) or own
        called = (name, own, row.name)
        if definition.engines and not _fits(definition.engines, called, marked):
            continue
        if definition.not_engines and _fits(definition.not_engines, called, marked):
            continue
        names[row.id] = name
        for word in (*called, marked):
            meant[word].add(name)
    return _Named(names, {row.id: (row.name, row.family) for row in rows}, meant)


def _fits(globs: Collection[str], called: Collection[str], marked: str) -> bool:
    """One of the patterns fits what a version is called then, or is its name with the mark, shown or not."""
    return marked in globs or any(any_fits(word, globs) for word in called)


def _kept_sums(connection: Connection, definition: ListDefinition) -> tuple[Sums, dict[str, int]]:
    """From the counts that are kept with every game."""
    wanted, kept = tournaments_of(connection, definition), kept_counts(connection)
    found = join_counts(sums for tournament, sums in kept.items() if tournament in wanted)
    odd = nonstandard_variants(connection)
    others = {tournament for tournament in kept if odd.get(tournament, STANDARD) != definition.variant}
    apart = sum(int(sums[2:].sum()) for tournament, sums in kept.items() if tournament in others)
    left = sum(int(sums[2:].sum()) for tournament, sums in kept.items() if tournament not in wanted | others)
    standing = ODDS, GAMES.c.outcome != Outcome.VOID.value, ~STRUCK
    rows = connection.execute(select(GAMES.c.tournament, func.count()).where(*standing).group_by(GAMES.c.tournament))
    read = select(IMPORTS.c.tournament, IMPORTS.c.odds).where(
        IMPORTS.c.odds > 0, IMPORTS.c.tournament.not_in(removed_imports())
    )
    odds = {row[0]: int(row[1]) for row in (*rows, *connection.execute(read))}
    inside = sum(games for tournament, games in odds.items() if tournament in wanted)
    given = sum(games for tournament, games in odds.items() if odd.get(tournament, STANDARD) != definition.variant)
    return found, {
        "variant": apart + given,
        "tournament": left + sum(odds.values()) - inside - given,
        "odds": inside,
    }


def _counted_sums(connection: Connection, definition: ListDefinition, moment: Moment) -> tuple[Sums, dict[str, int]]:
    """Counted from the games."""
    cut = game_filter(connection, definition, moment)
    won, drawn, lost = (
        func.count().filter(GAMES.c.outcome == outcome.value)
        for outcome in (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK)
    )
    ends = GAMES.c.white_engine, GAMES.c.black_engine
    own = _columns(connection.execute(select(*ends, won, drawn, lost).where(cut.games).group_by(*ends)))
    ends = IMPORTED_GAMES.c.white, IMPORTED_GAMES.c.black
    won, drawn, lost = (func.count().filter(IMPORTED_GAMES.c.half_points == points) for points in (2, 1, 0))
    read = _columns(connection.execute(select(*ends, won, drawn, lost).where(cut.imported).group_by(*ends)))
    return join_counts((own, read)), cut.left_out


def _columns(found: CursorResult[Any]) -> Sums:
    """Straight from the driver: a mesh of a thousand engines has half a million rows."""
    import numpy as np

    cursor: Any = found.cursor
    return check_versions(np.fromiter(chain.from_iterable(cursor), np.int64).reshape(-1, len(LINES)).T)


def _pairs(sums: Sums, names: Mapping[int, str]) -> tuple[Pairs, int, int]:
    """Counts under the names; games of engines that have none, and games of a name against itself."""
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
    if (code[1:] > code[:-1]).all():  # one import of engines that were new in it
        keys, columns = code, [column.astype(np.float64) for column in counts]
    elif len(known) <= _DENSE_NAMES:  # a count for every two is quicker than sorting
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


# Which games of the store came in pairs on one opening, counted by the points they brought: one aggregate.

_STANDING = and_(GAMES.c.outcome != Outcome.VOID.value, ~STRUCK, EVEN)

Pentanomial = tuple[int, int, int, int, int]  # pairs that brought 0, 1/2, 1, 3/2, 2 points


def pentanomials_of(
    database: Database,
    *wanted: ColumnElement[bool],
    names: Mapping[int, str] | None = None,
    standing: ColumnElement[bool] = _STANDING,
) -> dict[tuple[str, str], Pentanomial]:
    """Complete pairs of every two engines by the points of the first, of the games that are `wanted` (of GAMES).

    `names` are those of engine versions, by default as the whole store's lists show them; versions of one name are
    added up, versions without a name left out. `standing` says which results count, by default those of even games
    that stand now. Both legs have one, by the same two versions with colours swapped on the same opening: legs 1 and
    2, 3 and 4, ... of a meeting.
    """
    with database.reading() as connection:
        shown = rated_names(connection) if names is None else names
        return _added_up(connection, (standing, *wanted), shown)


def pentanomial_of_pair(log: TournamentReader, one: str, other: str) -> tuple[Pentanomial | None, int]:
    """The pairs of two engines of a tournament by the points of the first, and how many of them are two draws.

    None where they have none; the other level ones are a win each.
    """
    found, draws = [0] * 5, 0
    with log.database.reading() as connection:
        rows = connection.execute(_of_match(), {"t": log.id}).all()
        ids = {key for row in rows for key in row[:2]}
        named = select(ENGINES.c.id, ENGINES.c.name).where(ENGINES.c.id.in_(ids)) if ids else None
        plain = {row.id: row.name for row in connection.execute(named)} if named is not None else {}
    for low, high, brought, drawn, number in rows:
        if {plain[low], plain[high]} == {one, other} and one != other:
            found[brought if plain[low] == one else 4 - brought] += number
            draws += number * (drawn == 2)
    return ((found[0], found[1], found[2], found[3], found[4]) if any(found) else None), draws


def pentanomials_of_tournament(log: TournamentReader) -> dict[tuple[str, str], Pentanomial]:
    """Those of one tournament by the plain names of its engines."""
    with log.database.reading() as connection:
        plain = {row.id: row.name for row in connection.execute(select(ENGINES.c.id, ENGINES.c.name))}
        return _added_up(connection, (_STANDING, GAMES.c.tournament == log.id), plain)


@cache
def _of_match() -> Select[Any]:
    """Made once: it is asked for every second, and takes longer to make than to answer."""
    couples = _couples((_STANDING, GAMES.c.tournament == bindparam("t")))
    columns = couples.c.low, couples.c.high, couples.c.points, couples.c.draws
    return select(*columns, func.count()).group_by(*columns)


def _added_up(
    connection: Connection, wanted: tuple[ColumnElement[bool], ...], names: Mapping[int, str]
) -> dict[tuple[str, str], Pentanomial]:
    """The aggregate under these names, from the side of the name that sorts first."""
    couples = _couples(wanted)
    columns = couples.c.low, couples.c.high, couples.c.points
    found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * 5)
    for one, other, brought, number in connection.execute(select(*columns, func.count()).group_by(*columns)):
        if one not in names or other not in names or names[one] == names[other]:
            continue
        turned = names[one] > names[other]
        pair = (names[other], names[one]) if turned else (names[one], names[other])
        found[pair][4 - brought if turned else brought] += number
    return {pair: (c[0], c[1], c[2], c[3], c[4]) for pair, c in sorted(found.items())}


def _couples(wanted: tuple[ColumnElement[bool], ...]) -> Subquery:
    """Complete pairs: both versions, the points of the one with the lower number, and how many games were drawn."""
    white, black, outcome = GAMES.c.white_engine, GAMES.c.black_engine, GAMES.c.outcome
    forward = white < black
    points = case(
        (outcome == Outcome.DRAW.value, 1),
        (outcome == Outcome.WHITE.value, case((forward, 2), else_=0)),
        else_=case((forward, 0), else_=2),
    )
    low, high = case((forward, white), else_=black), case((forward, black), else_=white)
    drawn = func.sum(case((outcome == Outcome.DRAW.value, 1), else_=0)).label("draws")
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
