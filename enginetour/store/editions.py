"""Editions: published rating lists, which never change, and the differences between two of them with their causes."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection, func, insert, select

from enginetour.model.errors import TourError, UsageRefused
from enginetour.ratings.pairs import Counts, Pairs, pairs_of
from enginetour.ratings.pentanomial import NORMAL_95
from enginetour.ratings.ratinglist import RatingList
from enginetour.store.codecs import clean_text
from enginetour.store.counts import Moment, Removal, removals
from enginetour.store.database import inserted_id
from enginetour.store.definition import ListDefinition, definition_changes, revisions_in, revisions_of
from enginetour.store.engines import engine_names
from enginetour.store.lists import likelihood_list, rate_selection
from enginetour.store.selection import Selection, select_games
from enginetour.store.tables import (
    EDITION_LINES,
    EDITIONS,
    EVENTS,
    GAMES,
    IMPORTED_GAMES,
    OTHER_POOL,
    TOURNAMENTS,
    EditionDetails,
    EditionHead,
    EditionLine,
    title_of,
)
from enginetour.store.tournaments import Store

# Version of the computation of ratings, which an edition stores. It increases if the same games and settings give other
# ratings. Version 2: pools without a common game share White's advantage and the draw parameter.
COMPUTATION = 2


class Edition(EditionHead):
    """A published list. It is never changed: a correction is a new edition. Number 0 means that it is not published."""

    lines: tuple[EditionLine, ...] = ()

    @property
    def moment(self) -> Moment:
        """The state of the database whose games count."""
        return Moment(self.last_game, self.last_imported, self.details.at)

    @property
    def versions(self) -> dict[str, tuple[int, ...]]:
        """Engine versions by their names in the list."""
        return {name: tuple(found) for name, found in self.details.versions.items()}

    @property
    def summary(self) -> dict[str, Any]:
        """Everything that the list shows, except its lines."""
        return self.details.model_dump(exclude={"versions", "at", "computation"})

    def to_json(self) -> dict[str, object]:
        """Return the edition ready for JSON."""
        head = {"name": self.list, "edition": self.number, "revision": self.revision, "made": self.made_unix}
        place = {"last_game": self.last_game, "last_imported": self.last_imported, "note": self.note}
        lines = [{**line.model_dump(mode="json"), "score": line.score} for line in self.lines]
        return {**head, **place, "list": lines, **self.summary, "residual": self.residual, "games": self.games}

    def numbers(self) -> tuple[object, ...]:
        """Return everything that readers see, except time, note and differences. It is used to compare editions."""
        lines = tuple(
            line.model_copy(update={"difference": None, "remarks": tuple(m for m in line.remarks if m != OTHER_POOL)})
            for line in self.lines
        )
        return self.revision, self.games, self.residual, self.summary, lines


def current_edition(store: Store, name: str) -> Edition:
    """Compute a list as of now, with the differences from its newest edition."""
    return _current(store, name)[0]


def make_edition(name: str, revision: int, selection: Selection, found: RatingList) -> Edition:
    """Make an unpublished edition of a rating list."""
    whole = found.to_json()
    names = EditionLine.model_fields.keys() - {"ordinal", "difference"}
    lines = tuple(
        EditionLine.model_construct(ordinal=place, difference=None, **{name: getattr(row, name) for name in names})
        for place, row in enumerate(found.rows, 1)
    )
    about = {name: whole[name] for name in EditionDetails.model_fields if name in whole}
    details = json.dumps(
        {**about, "versions": selection.versions, "at": selection.moment.at, "computation": COMPUTATION}
    )
    return Edition.model_construct(
        list=name,
        number=0,
        revision=revision,
        made_unix=time.time(),
        last_game=selection.moment.game,
        last_imported=selection.moment.imported,
        games=found.games,
        residual=found.residual,
        details=EditionDetails.model_validate_json(details),
        note="",
        lines=lines,
    )


def publish(store: Store, name: str, *, note: str = "", again: bool = False) -> Edition:
    """Publish a list as of now.

    Raise UsageRefused if the list does not rate any engine. Also raise it if the list has not changed since the newest
    edition, unless `again` is True.
    """
    while True:
        made, newest = _current(store, name)
        if not made.lines:
            what = f"the list {name!r} does not rate any engine yet"
            raise UsageRefused(what, step=f"run enginetour lists show {name!r}")
        with store.database.writing() as connection:
            number = select(func.max(EDITIONS.c.number)).where(EDITIONS.c.list == name)
            there = connection.execute(number).scalar() or 0, revisions_in(connection, name)[-1].revision
            if there != (newest, made.revision):
                continue  # another process published or defined the list meanwhile: compute it again
            if newest and not again and _read(connection, name, newest).numbers() == made.numbers():
                what = f"the list {name!r} has not changed since edition {newest}"
                raise UsageRefused(what, step="publish it with --again")
            made = made.model_copy(update={"number": newest + 1, "note": clean_text(note)})
            _write(connection, made)
        return made


def editions_of(store: Store, name: str | None = None) -> list[Edition]:
    """Return the editions of one list or of all lists, oldest first and without lines.

    Raise UsageRefused for an unknown list.
    """
    if name is not None:
        revisions_of(store, name)
    rows = select(EDITIONS).order_by(EDITIONS.c.list, EDITIONS.c.number)
    found = store.database.rows(rows if name is None else rows.where(EDITIONS.c.list == name))
    return [_edition(row, ()) for row in found]


def read_edition(store: Store, name: str, number: int | None = None) -> Edition:
    """Return one edition with its lines, by default the newest. Raise UsageRefused for an unknown edition."""
    revisions_of(store, name)
    known = _numbers(store, name)
    if not known:
        raise UsageRefused(f"the list {name!r} has no edition yet", step=f"run enginetour publish {name!r}")
    if number is not None and number not in known:
        what = f"edition {number} of the list {name!r} does not exist"
        raise UsageRefused(what, step=f"choose an edition from 1 to {known[-1]}")
    with store.database.reading() as connection:
        return _read(connection, name, number or known[-1])


def _renamed(made: Edition, known: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """Map the names in an edition to the names of the same engine versions in another list, if it contains them."""
    name_of = {version: name for name, versions in known.items() for version in versions}
    found: dict[str, str] = {}
    for name, versions in made.versions.items():
        others = {name_of[version] for version in versions if version in name_of}
        found[name] = name if name in others or len(others) != 1 else others.pop()
    return found


def _common_zero(before: Edition, after: Edition, loose: Collection[str] = ()) -> frozenset[str]:
    """Return the engines in both editions whose ratings have a common zero point, by their later names.

    The zero point of a pool is given by its anchors (also those in `loose`) or by its average. Two pools without
    anchors correspond if each has more engines in common with the other than with any other pool. If the anchors have
    changed, only this correspondence counts.
    """
    named = _renamed(before, after.versions)
    then = [{named.get(name, name) for name in pool} for pool in before.details.pools]
    now = [set(pool) for pool in after.details.pools]
    shared = {(one, other): len(then[one] & now[other]) for one in range(len(then)) for other in range(len(now))}
    partner = {one: max(range(len(now)), key=lambda other: shared[one, other]) for one in range(len(then)) if now}
    back = {other: max(range(len(then)), key=lambda one: shared[one, other]) for other in range(len(now)) if then}
    fixed = {named.get(name, name): rating for name, rating in before.details.anchors.items()}
    same_terms = fixed == after.details.anchors and before.details.level == after.details.level
    anchors = {*fixed, *loose} if same_terms else set()
    alike = (
        then[one] & now[other]
        for one, other in shared
        if (anchors & then[one] & now[other])
        or (not anchors & (then[one] | now[other]) and partner[one] == other and back[other] == one)
    )
    return frozenset().union(*alike)


def lines_by_name(store: Store, made: Edition) -> dict[str, EditionLine]:
    """Return the lines of an edition by name, and by the name without mark for the newest version."""
    with store.database.reading() as connection:
        plain = engine_names(connection)
    line_of = {line.name: line for line in made.lines}
    rated = sorted((version, name) for name, versions in made.versions.items() for version in versions)
    return {plain[version]: line_of[name] for version, name in rated if name in line_of} | line_of


def rating_errors(lines: Mapping[str, EditionLine]) -> dict[str, float]:
    """Return the standard errors of the ratings in Elo, by the names of the lines, without those that are not known."""
    known = ((name, line.plus, line.minus) for name, line in lines.items())
    return {
        name: (plus + minus) / 2 / NORMAL_95 for name, plus, minus in known if plus is not None and minus is not None
    }


def _current(store: Store, name: str) -> tuple[Edition, int]:
    """Return the list as of now and the number of its newest edition (0 if there is none)."""
    newest = (_numbers(store, name) or [0])[-1]
    revision = revisions_of(store, name)[-1]
    selection = select_games(store, revision.definition)
    made = make_edition(name, revision.revision, selection, rate_selection(store, selection))
    if not newest:
        return made, newest
    return _compared(made, read_edition(store, name, newest), revision.definition.loose), newest


def _compared(made: Edition, before: Edition, loose: Collection[str]) -> Edition:
    """Add the differences from an earlier edition, for each engine version."""
    now = _renamed(before, made.versions)
    ratings = {now.get(line.name, line.name): line.rating for line in before.lines}
    alike = _common_zero(before, made, loose)

    def compared(line: EditionLine) -> EditionLine:
        if line.name not in ratings:
            return line.model_copy(update={"difference": None})
        if line.name not in alike:
            return line.model_copy(update={"difference": None, "remarks": (*line.remarks, OTHER_POOL)})
        return line.model_copy(update={"difference": line.rating - ratings[line.name]})

    return made.model_copy(update={"lines": tuple(map(compared, made.lines))})


def _numbers(store: Store, name: str) -> list[int]:
    rows = select(EDITIONS.c.number).where(EDITIONS.c.list == name).order_by(EDITIONS.c.number)
    return [row.number for row in store.database.rows(rows)]


def _write(connection: Connection, made: Edition) -> None:
    row = {name: getattr(made, name) for name in EditionHead.model_fields}
    key = inserted_id(connection.execute(insert(EDITIONS), row))
    connection.execute(insert(EDITION_LINES), [{**dict(line), "edition": key} for line in made.lines])


def _read(connection: Connection, name: str, number: int) -> Edition:
    row = connection.execute(select(EDITIONS).where(EDITIONS.c.list == name, EDITIONS.c.number == number)).one()
    columns = (EDITION_LINES.c[name] for name in EditionLine.model_fields)
    rows = select(*columns).where(EDITION_LINES.c.edition == row.id).order_by(EDITION_LINES.c.ordinal)
    return _edition(row, [dict(line._mapping) for line in connection.execute(rows)])


def _edition(row: Any, lines: Sequence[dict[str, Any]]) -> Edition:
    head = {name: getattr(row, name) for name in EditionHead.model_fields}
    return Edition.model_validate({**head, "lines": tuple(lines)})


# Differences. Two more fits with the later definition divide the rating change of an engine into parts. A fit of the
# earlier games gives the part of the definition. A fit of the earlier games and the engine's new games gives the part
# of its own games. The rest is the part of the games of others.

_MOVERS = 10  # engines whose changes are divided into parts, with two fits each


@dataclass(frozen=True, slots=True)
class RatingChange:
    """The rating change of an engine that is in both states, in Elo, and its parts (None if not computed).

    The change is None if the two ratings do not have a common zero point; `note` then contains the reason. `new` and
    `struck` count the games that were played and annulled in between and that the later filter includes.
    """

    name: str
    rank_before: int
    rank: int
    before: float
    rating: float
    change: float | None
    new: int
    struck: int
    note: str = ""
    own: float | None = None
    others: float | None = None
    terms: float | None = None


@dataclass(frozen=True, slots=True)
class StruckGame:
    """A game that was annulled between two states of a list."""

    tournament: str
    number: int
    white: str
    black: str
    outcome: str
    why: str


@dataclass(frozen=True, slots=True)
class _Difference:
    """The difference between two states of a list.

    `entered` contains the new engines and their numbers of games. `left` contains the engines that are no longer in the
    list, and the reasons. `struck` contains the games that were annulled between the two states, and `removed` contains
    the imports that were removed.
    """

    before: Edition
    after: Edition
    changes: tuple[str, ...]
    moves: tuple[RatingChange, ...]
    entered: tuple[tuple[str, int], ...]
    left: tuple[tuple[str, str], ...]
    struck: tuple[StruckGame, ...]
    removed: tuple[Removal, ...]
    new_games: int

    def to_json(self) -> dict[str, object]:
        """Return the difference ready for JSON. Edition 0 is the list as of now."""
        return {
            "list": self.after.list,
            "before": self.before.number,
            "after": self.after.number,
            "pools": [len(state.details.pools) for state in (self.before, self.after)],
            "new_games": self.new_games,
            "changes": list(self.changes),
            "moves": [asdict(move) for move in self.moves],
            "entered": [{"name": name, "games": games} for name, games in self.entered],
            "left": [{"name": name, "why": why} for name, why in self.left],
            "struck": [asdict(game) for game in self.struck],
            "removed": [{"import": one.title, "games": one.games, "why": one.why} for one in self.removed],
        }


def difference(
    store: Store, name: str, one: int | None = None, other: int | None = None, *, movers: int = _MOVERS
) -> _Difference:
    """Compare edition `one` (by default the newest) with edition `other` (by default the list as of now).

    The largest changes come first, and the first `movers` of them are divided into parts. Raise UsageRefused for an
    unknown edition.
    """
    before = read_edition(store, name, one)
    after = current_edition(store, name) if other is None else read_edition(store, name, other)
    if other is not None and before.number >= other:
        raise UsageRefused(f"edition {before.number} is not before edition {other}", step="give the earlier one first")
    definitions = {revision.revision: revision.definition for revision in revisions_of(store, name)}
    definition = definitions[after.revision]
    later = _renamed(before, after.versions)
    unbounded = definition.model_copy(update={"min_games": 0})
    counted = _Counted(store, unbounded, before.moment, after.moment)
    rated = {later.get(line.name, line.name): line for line in before.lines}
    alike = _common_zero(before, after, definition.loose)
    moves = [
        RatingChange(
            name=line.name,
            rank_before=rated[line.name].rank,
            rank=line.rank,
            before=rated[line.name].rating,
            rating=line.rating,
            change=line.rating - rated[line.name].rating if line.name in alike else None,
            new=counted.new.get(line.name, 0),
            struck=counted.struck.get(line.name, 0),
            note="" if line.name in alike else OTHER_POOL,
        )
        for line in after.lines
        if line.name in rated
    ]
    moves.sort(key=lambda move: (move.change is None, -abs(move.change or 0.0), move.name))
    if definition.system == "ml":
        parts = _Parts(store, definition, before, after)
        moves[:movers] = [parts.of(move) for move in moves[:movers]]
    there = {line.name for line in after.lines}
    return _Difference(
        before,
        after,
        (*definition_changes(definitions[before.revision], definition), *_other_computation(before, after)),
        tuple(moves),
        tuple((line.name, line.games) for line in after.lines if line.name not in rated),
        tuple((gone, _why_left(gone, after, counted)) for gone in rated if gone not in there),
        _struck_games(store, before.moment, after.moment),
        _removed_imports(store, before.moment, after.moment),
        counted.games,
    )


def _other_computation(before: Edition, after: Edition) -> Iterator[str]:
    one, other = before.details.computation, after.details.computation
    if one != other:
        yield f"version of the computation: {one} -> {other}"


class _Counted:
    """Games by engine that were added or annulled between two moments, with one filter."""

    def __init__(self, store: Store, definition: ListDefinition, before: Moment, after: Moment) -> None:
        def games(moment: Moment) -> dict[str, int]:
            pairs = select_games(store, definition, moment, names_of=after).pairs
            return {name: int(count) for name, count in zip(pairs.names, pairs.played, strict=True)}

        then = games(before)
        kept = games(Moment(before.game, before.imported, after.at))
        self.now = games(after)
        self.new = {name: count - kept.get(name, 0) for name, count in self.now.items()}
        self.struck = {name: count - kept.get(name, 0) for name, count in then.items()}
        self.games = sum(self.new.values()) // 2


class _Parts:
    """Divides rating changes into parts. All fits use the later definition."""

    def __init__(self, store: Store, definition: ListDefinition, before: Edition, after: Edition) -> None:
        then = select_games(store, definition, before.moment, names_of=after.moment)
        self._now = select_games(store, definition, after.moment)
        self._base = self._ratings(then.pairs)
        self._before, after_counts = _counts(then.pairs), _counts(self._now.pairs)
        every = self._before.keys() | after_counts.keys()
        counts = ((pair, self._before.get(pair), after_counts.get(pair, (0, 0, 0))) for pair in every)
        self._changed = {pair: now for pair, was, now in counts if was != now}
        self._same_terms = before.revision == after.revision and not [*_other_computation(before, after)]

    def of(self, move: RatingChange) -> RatingChange:
        """Return the change with its parts, or unchanged if the earlier games do not rate this engine."""
        base = self._base.get(move.name)
        if base is None or move.change is None:
            return move
        own = {pair: counts for pair, counts in self._changed.items() if move.name in pair}
        alone = self._ratings(pairs_of({**self._before, **own})) if own else self._base
        if move.name not in alone:
            return move
        mine = alone[move.name] - base
        terms = 0.0 if self._same_terms else base - move.before
        return replace(move, own=mine, terms=terms, others=move.change - terms - mine)

    def _ratings(self, pairs: Pairs) -> dict[str, float]:
        try:
            return {row.name: row.rating for row in likelihood_list(self._now, pairs).rows}
        except TourError:  # an anchor had no games at that time, so the ratings cannot be compared
            return {}


def _counts(pairs: Pairs) -> Counts:
    columns = zip(pairs.white, pairs.black, pairs.wins, pairs.draws, pairs.losses, strict=True)
    return {(pairs.names[w], pairs.names[b]): (int(won), int(drawn), int(lost)) for w, b, won, drawn, lost in columns}


def _why_left(name: str, after: Edition, counted: _Counted) -> str:
    reasons = {engine.name: engine.why for engine in after.details.unrated}
    if name in reasons:
        return reasons[name]
    return "too few games, or not the best of its family" if counted.now.get(name) else "no games in the list"


def _struck_games(store: Store, before: Moment, after: Moment) -> tuple[StruckGame, ...]:
    rows = (
        select(
            *(TOURNAMENTS.c.name, TOURNAMENTS.c.edition, EVENTS.c.payload),
            *(GAMES.c.number, GAMES.c.white, GAMES.c.black, GAMES.c.outcome),
        )
        .join(GAMES, GAMES.c.id == EVENTS.c.game)
        .join(TOURNAMENTS, TOURNAMENTS.c.id == EVENTS.c.tournament)
        .where(
            EVENTS.c.kind == "voided",
            EVENTS.c.at_unix > before.at,
            EVENTS.c.at_unix <= after.at,
            GAMES.c.id <= before.game,
        )
        .order_by(EVENTS.c.at_unix)
    )
    return tuple(
        StruckGame(
            *(title_of(row.name, row.edition), row.number, row.white, row.black, row.outcome), row.payload["why"]
        )
        for row in store.database.rows(rows)
    )


def _removed_imports(store: Store, before: Moment, after: Moment) -> tuple[Removal, ...]:
    there = select(IMPORTED_GAMES.c.id).where(IMPORTED_GAMES.c.id <= before.imported).limit(1)
    with store.database.reading() as connection:
        found = removals(connection, before.at, after.at)
        first = {one: connection.execute(there.where(IMPORTED_GAMES.c.tournament == one.key)).first() for one in found}
    return tuple(one for one in found if first[one])
