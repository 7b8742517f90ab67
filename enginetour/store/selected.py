"""The games of a list as pair counts, with the names they are rated under and what was left out by which filter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, CursorResult, func, select

from enginetour.interop.gamefilter import any_fits, at_least
from enginetour.model.game import Outcome
from enginetour.model.variants import STANDARD
from enginetour.ratings.incremental import stem
from enginetour.ratings.pairs import Pairs
from enginetour.store.cuts import cut_of, is_whole, tournaments_of
from enginetour.store.definition import ListDefinition
from enginetour.store.moments import Moment, moment_of
from enginetour.store.paircounts import LINES, engines_in, joined, kept_counts, with_keys
from enginetour.store.queries import ODDS, STRUCK
from enginetour.store.ratednames import marked_names, played_by, shown_names, version_rows
from enginetour.store.removals import removed
from enginetour.store.tables import GAMES, IMPORTED_GAMES, IMPORTS
from enginetour.store.tournaments import Store
from enginetour.store.variantgames import odd_ones

if TYPE_CHECKING:
    from enginetour.store.paircounts import Sums


DENSE_NAMES = 2000  # names; a count of every two takes 32 MB, sorting half a million pairs 80 ms (measured)


@dataclass(frozen=True, slots=True, eq=False)
class Named:
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


def selected(
    store: Store, definition: ListDefinition, as_of: str | Moment | None = None, *, names_of: Moment | None = None
) -> Selection:
    """The games of a list now or at a moment: a day, a time, or ``game N``; UsageRefused for another one.

    Engines have the names that told their versions apart at that moment, or at the moment `names_of`.
    """
    with store.database.reading() as connection:
        moment = as_of if isinstance(as_of, Moment) else moment_of(connection, as_of)
        named = named_versions(connection, definition, None if as_of is None else moment, names_of)
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


def named_versions(
    connection: Connection, definition: ListDefinition, moment: Moment | None, names_of: Moment | None = None
) -> Named:
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
    return Named(names, {row.id: (row.name, row.family) for row in rows}, meant)


def _fits(globs: Collection[str], called: Collection[str], marked: str) -> bool:
    """One of the patterns fits what a version is called then, or is its name with the mark, shown or not."""
    return marked in globs or any(any_fits(word, globs) for word in called)


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
