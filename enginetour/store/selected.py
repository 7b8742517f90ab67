"""The games of a list as pair counts, with the names they are rated under and what was left out by which filter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, CursorResult, func, select, union

from enginetour.interop.naming import any_fits
from enginetour.interop.selection import at_least
from enginetour.model import Outcome
from enginetour.ratings.lineage import stem
from enginetour.ratings.pairs import Pairs
from enginetour.store.cuts import cut_of, is_whole, tournaments_of
from enginetour.store.definition import ListDefinition
from enginetour.store.moments import Moment, moment_of
from enginetour.store.paircounts import LINES, engines_in, joined, kept_counts, with_keys
from enginetour.store.queries import EVEN, EVEN_READ, ODDS, STRUCK
from enginetour.store.ratednames import rated_names
from enginetour.store.removals import removed
from enginetour.store.tables import ENGINES, GAMES, IMPORTED_GAMES, IMPORTS
from enginetour.store.tournaments import Store
from enginetour.store.variantgames import odd_ones
from enginetour.variants import STANDARD

if TYPE_CHECKING:
    from enginetour.store.paircounts import Sums

DENSE_NAMES = 2000  # names; a count of every two takes 32 MB, sorting half a million pairs 80 ms (measured)


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """Engine versions under the names of a list; those that are not wanted are in none of the maps."""

    names: Mapping[int, str]  # of a version
    families: Mapping[str, str]  # of a name; where none is told, its plain name without the version
    told: AbstractSet[str]  # the names whose families were told
    meant: Mapping[str, set[str]]  # by whatever a version is called: plain, marked as now, or in the list


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What a definition takes of the store at a moment. `left_out`: games by the filter that did not want them.

    `few` are engines with too few games; `versions` tells which rows of the store each name stands for, `meant` which
    names of the list people may mean by a plain name, or by one with a mark that came later.
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


def selected(
    store: Store, definition: ListDefinition, as_of: str | Moment | None = None, *, names_of: Moment | None = None
) -> Selection:
    """The games of a list now or at a moment: a day, a time, or ``game N``; UsageRefused for another one.

    Engines have the names that told their versions apart at that moment, or at the moment `names_of`.
    """
    with store.database.reading() as connection:
        moment = as_of if isinstance(as_of, Moment) else moment_of(connection, as_of)
        named = named_versions(connection, definition, names_of or (None if as_of is None else moment))
        if as_of is None and is_whole(definition):
            sums, left = _kept_sums(connection, definition)
        else:
            sums, left = _counted_sums(connection, definition, moment)
    pairs, unwanted, alone = _pairs(sums, named.names)
    enough = at_least(pairs, definition.min_games)
    left |= {"engine": unwanted, "one engine": alone, "few games": int(pairs.games.sum() - enough.games.sum())}
    versions: defaultdict[str, list[int]] = defaultdict(list)
    played = engines_in(sums)
    for engine, name in named.names.items():
        if engine in played:
            versions[name].append(engine)
    return Selection(
        definition,
        moment,
        enough,
        {part: games for part, games in left.items() if games},
        tuple(sorted(set(pairs.names) - set(enough.names))),
        {name: tuple(versions[name]) for name in enough.names},
        {name: named.families[name] for name in enough.names},
        bool(set(enough.names) - named.told),
        {word: tuple(sorted(names.intersection(enough.names))) for word, names in named.meant.items()},
    )


def named_versions(connection: Connection, definition: ListDefinition, moment: Moment | None) -> Named:
    """Which versions are wanted and under which names, as they were told apart at a moment, or now for None."""
    shown = marked = rated_names(connection)
    rows = connection.execute(select(ENGINES.c.id, ENGINES.c.name, ENGINES.c.family).order_by(ENGINES.c.id)).fetchall()
    if moment is not None:
        # A version that came later must not rename those of then.
        played = _played(connection, moment)
        several = defaultdict[str, int](int)
        for row in rows:
            several[row.name] += row.id in played
        shown = {row.id: row.name if several[row.name] < 2 else shown[row.id] for row in rows}
    names: dict[int, str] = {}
    families: dict[str, str] = {}
    told: set[str] = set()
    meant: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        own, now = (row.name, row.name) if definition.by == "name" else (shown[row.id], marked[row.id])
        aliases = definition.aliases
        name = aliases.get(own) or aliases.get(now) or aliases.get(row.name) or own
        called = (name, own, now, row.name)
        if definition.engines and not any(any_fits(word, definition.engines) for word in called):
            continue
        if any(any_fits(word, definition.not_engines) for word in called):
            continue
        names[row.id] = name
        if row.family or name not in families:  # of the newest version that tells one
            families[name] = row.family or stem(row.name)
        if row.family:
            told.add(name)
        for word in called:
            meant[word].add(name)
    return Named(names, families, told, meant)


def _played(connection: Connection, moment: Moment) -> set[int]:
    """Versions that had an even game by then, whether it was struck out later or not."""
    own = GAMES.c.id <= moment.game, GAMES.c.outcome != Outcome.VOID.value, EVEN
    met = union(
        select(GAMES.c.white_engine).where(*own),
        select(GAMES.c.black_engine).where(*own),
        select(IMPORTED_GAMES.c.white).where(moment.read(), EVEN_READ),
        select(IMPORTED_GAMES.c.black).where(moment.read(), EVEN_READ),
    )
    return {row[0] for row in connection.execute(met)}


def _kept_sums(connection: Connection, definition: ListDefinition) -> tuple[Sums, dict[str, int]]:
    """From the counts that are kept with every game."""
    wanted, kept = tournaments_of(connection, definition), kept_counts(connection)
    found = joined(sums for tournament, sums in kept.items() if tournament in wanted)
    odd = odd_ones(connection)
    others = {tournament for tournament in kept if odd.get(tournament, STANDARD) != definition.variant}
    apart = sum(int(sums[2:].sum()) for tournament, sums in kept.items() if tournament in others)
    left = sum(int(sums[2:].sum()) for tournament, sums in kept.items() if tournament not in wanted | others)
    standing = ODDS, GAMES.c.outcome != Outcome.VOID.value, ~STRUCK
    rows = connection.execute(select(GAMES.c.tournament, func.count()).where(*standing).group_by(GAMES.c.tournament))
    read = select(IMPORTS.c.tournament, IMPORTS.c.odds).where(
        IMPORTS.c.odds > 0, IMPORTS.c.tournament.not_in(removed())
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
    cut = cut_of(connection, definition, moment)
    won, drawn, lost = (
        func.count().filter(GAMES.c.outcome == outcome.value)
        for outcome in (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK)
    )
    ends = GAMES.c.white_engine, GAMES.c.black_engine
    own = _columns(connection.execute(select(*ends, won, drawn, lost).where(cut.games).group_by(*ends)))
    ends = IMPORTED_GAMES.c.white, IMPORTED_GAMES.c.black
    won, drawn, lost = (func.count().filter(IMPORTED_GAMES.c.half_points == points) for points in (2, 1, 0))
    read = _columns(connection.execute(select(*ends, won, drawn, lost).where(cut.imported).group_by(*ends)))
    return joined((own, read)), cut.left_out


def _columns(found: CursorResult[Any]) -> Sums:
    """Straight from the driver: a mesh of a thousand engines has half a million rows."""
    cursor: Any = found.cursor
    return with_keys(np.fromiter(chain.from_iterable(cursor), np.int64).reshape(-1, len(LINES)).T)


def _pairs(sums: Sums, names: Mapping[int, str]) -> tuple[Pairs, int, int]:
    """Counts under the names; games of engines that have none, and games of a name against itself."""
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
    elif len(known) <= DENSE_NAMES:  # a count for every two is quicker than sorting
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
