"""What moved between two states of a list, and why: own games, other people's games, other terms.

An engine's move is taken apart by two further fits, each on the terms of the later state: the earlier games (what that
changes is the terms' part), and the earlier games with this engine's new ones (its own part). The others' is the rest.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import select

from enginetour.model.errors import TourError, UsageRefused
from enginetour.ratings.pairs import Counts, Pairs, pairs_of
from enginetour.ratings.ratinglist import OTHER_POOL
from enginetour.store.definition import ListDefinition
from enginetour.store.editions import Edition, current, edition, renamed, same_zero
from enginetour.store.lists import likelihood_list
from enginetour.store.moments import Moment
from enginetour.store.removals import Removal, removals
from enginetour.store.revisions import changes, revisions_of
from enginetour.store.selected import selected
from enginetour.store.tables import EVENTS, GAMES, IMPORTED_GAMES, TOURNAMENTS
from enginetour.store.tournaments import Store

MOVERS = 10  # engines whose moves are taken apart: two fits each, and a screenful


@dataclass(frozen=True, slots=True)
class Move:
    """One engine of both states. The parts of its change are None where it was not taken apart.

    The change is None where the two ratings are not measured from one zero point; `note` says so then.

    `new` games came since, `struck` ones were struck out since; both only if the later filter takes them.
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
    """A game that was struck out between the two states."""

    tournament: str
    number: int
    white: str
    black: str
    outcome: str
    why: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Two states of a list, earlier and later. `entered`: new engines with their games; `left`: those not there now.

    `struck` are games, `removed` whole imports that were struck out between the two.
    """

    before: Edition
    after: Edition
    changes: tuple[str, ...]
    moves: tuple[Move, ...]
    entered: tuple[tuple[str, int], ...]
    left: tuple[tuple[str, str], ...]
    struck: tuple[StruckGame, ...]
    removed: tuple[Removal, ...]
    new_games: int

    def to_json(self) -> dict[str, object]:
        """Ready for json.dumps; edition 0 is now."""
        return {
            "list": self.after.name,
            "before": self.before.number,
            "after": self.after.number,
            "pools": [len(state.story["pools"]) for state in (self.before, self.after)],
            "new_games": self.new_games,
            "changes": list(self.changes),
            "moves": [asdict(move) for move in self.moves],
            "entered": [{"name": name, "games": games} for name, games in self.entered],
            "left": [{"name": name, "why": why} for name, why in self.left],
            "struck": [asdict(game) for game in self.struck],
            "removed": [{"import": one.title, "games": one.games, "why": one.why} for one in self.removed],
        }


def difference(
    store: Store, name: str, one: int | None = None, other: int | None = None, *, movers: int = MOVERS
) -> Difference:
    """Between edition `one` (the newest for None) and edition `other`, or now for None.

    Moves come by size, the largest first; the first `movers` are taken apart. UsageRefused as `edition` does.
    """
    before = edition(store, name, one)
    after = current(store, name) if other is None else edition(store, name, other)
    if other is not None and before.number >= other:
        raise UsageRefused(f"edition {before.number} is not before edition {other}", step="name the earlier one first")
    definitions = {revision.number: revision.definition for revision in revisions_of(store, name)}
    definition = definitions[after.revision]
    later = renamed(before, after.versions)
    unbounded = definition.model_copy(update={"min_games": 0})
    counted = _Counted(store, unbounded, before.moment, after.moment)
    rated = {later.get(line.name, line.name): line for line in before.lines}
    alike = same_zero(before, after, definition.loose)
    moves = [
        Move(
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
    return Difference(
        before,
        after,
        tuple(changes(definitions[before.revision], definition)),
        tuple(moves),
        tuple((line.name, line.games) for line in after.lines if line.name not in rated),
        tuple((gone, _why_left(gone, after, counted)) for gone in rated if gone not in there),
        _struck(store, before.moment, after.moment),
        _removed(store, before.moment, after.moment),
        counted.games,
    )


class _Counted:
    """Games by engine that came or went between two moments, on one filter."""

    def __init__(self, store: Store, definition: ListDefinition, before: Moment, after: Moment) -> None:
        def games(moment: Moment) -> dict[str, int]:
            pairs = selected(store, definition, moment, names_of=after).pairs
            return {name: int(count) for name, count in zip(pairs.names, pairs.played, strict=True)}

        then = games(before)
        kept = games(Moment(before.game, before.imported, after.at))
        self.now = games(after)
        self.new = {name: count - kept.get(name, 0) for name, count in self.now.items()}
        self.struck = {name: count - kept.get(name, 0) for name, count in then.items()}
        self.games = sum(self.new.values()) // 2


class _Parts:
    """Takes moves apart. The fits are on the later terms, without the caption of the filter."""

    def __init__(self, store: Store, definition: ListDefinition, before: Edition, after: Edition) -> None:
        then = selected(store, definition, before.moment, names_of=after.moment)
        self._now = selected(store, definition, after.moment)
        self._base = self._ratings(then.pairs)
        self._before, after_counts = _counts(then.pairs), _counts(self._now.pairs)
        every = self._before.keys() | after_counts.keys()
        counts = ((pair, self._before.get(pair), after_counts.get(pair, (0, 0, 0))) for pair in every)
        self._changed = {pair: now for pair, was, now in counts if was != now}
        self._same_terms = before.revision == after.revision

    def of(self, move: Move) -> Move:
        """The move with its parts, or as it was where the earlier games give this engine no rating."""
        base = self._base.get(move.name)
        if base is None or move.change is None:
            return move
        own = {pair: counts for pair, counts in self._changed.items() if move.name in pair}
        alone = self._ratings(pairs_of({**self._before, **own})) if own else self._base
        if move.name not in alone:
            return move
        mine = alone[move.name] - base
        terms = 0.0 if self._same_terms else base - move.before
        fields = {**asdict(move), "own": mine, "terms": terms, "others": move.change - terms - mine}
        return Move(**fields)

    def _ratings(self, pairs: Pairs) -> dict[str, float]:
        try:
            return {row.name: row.rating for row in likelihood_list(self._now, pairs).rows}
        except TourError:  # an anchor without games then: no level to compare on
            return {}


def _counts(pairs: Pairs) -> Counts:
    columns = zip(pairs.white, pairs.black, pairs.wins, pairs.draws, pairs.losses, strict=True)
    return {(pairs.names[w], pairs.names[b]): (int(won), int(drawn), int(lost)) for w, b, won, drawn, lost in columns}


def _why_left(name: str, after: Edition, counted: _Counted) -> str:
    reasons: dict[str, str] = {engine["name"]: engine["why"] for engine in after.story["unrated"]}
    if name in reasons:
        return reasons[name]
    return "too few games, or not the best of its family" if counted.now.get(name) else "no games that the list takes"


def _struck(store: Store, before: Moment, after: Moment) -> tuple[StruckGame, ...]:
    """Games of the earlier state that were struck out by the later, whatever the filter."""
    rows = (
        select(
            *(TOURNAMENTS.c.name, TOURNAMENTS.c.edition, EVENTS.c.payload),
            *(GAMES.c.number, GAMES.c.white, GAMES.c.black, GAMES.c.outcome),
        )
        .join(GAMES, GAMES.c.id == EVENTS.c.game)
        .join(TOURNAMENTS, TOURNAMENTS.c.id == EVENTS.c.tournament)
        .where(EVENTS.c.kind == "voided", EVENTS.c.at > before.at, EVENTS.c.at <= after.at, GAMES.c.id <= before.game)
        .order_by(EVENTS.c.at)
    )
    with store.database.reading() as connection:
        return tuple(_struck_game(row) for row in connection.execute(rows))


def _removed(store: Store, before: Moment, after: Moment) -> tuple[Removal, ...]:
    """Imports of the earlier state that were struck out by the later, whatever the filter."""
    there = select(IMPORTED_GAMES.c.id).where(IMPORTED_GAMES.c.id <= before.imported).limit(1)
    with store.database.reading() as connection:
        found = removals(connection, before.at, after.at)
        first = {one: connection.execute(there.where(IMPORTED_GAMES.c.tournament == one.key)).first() for one in found}
    return tuple(one for one in found if first[one])


def _struck_game(row: Any) -> StruckGame:
    title = row.name if row.edition == 1 else f"{row.name} #{row.edition}"
    return StruckGame(title, row.number, row.white, row.black, row.outcome, json.loads(row.payload)["why"])
