"""Ratings of the whole store: incremental systems as append-only events, and the counts for likelihood lists.

The rated thing is an engine version. It is shown by its name alone while the name has one version with games,
else as ``name [fingerprint]``. Games count in the order in which they were committed, over all tournaments.

A revision replaces the stream of a system's rating events from its `start` on: a game struck out, a game that
came late or other settings give a new one, and what was published before stays beside it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection, insert, select, union

from enginetour.errors import UsageRefused
from enginetour.model import Outcome
from enginetour.ratings import egf2021, elo, gor
from enginetour.ratings.base import RatedGame, RatingEvent
from enginetour.store.queries import STRUCK
from enginetour.store.tables import (
    ENGINES,
    ENTRANTS,
    GAMES,
    PAIR_COUNTS,
    RATING_EVENTS,
    RATING_REVISIONS,
    TOURNAMENTS,
)
from enginetour.store.tournaments import Store


@dataclass(frozen=True, slots=True)
class IncrementalSystem:
    """A system whose ratings depend on the order of games; an engine may bring from `lowest` up to `below`."""

    settings: BaseModel
    rate: Callable[[Iterable[RatedGame], Any, Mapping[str, float]], list[RatingEvent]]
    lowest: float = float("-inf")
    below: float = float("inf")


SYSTEMS: dict[str, IncrementalSystem] = {
    "elo": IncrementalSystem(elo.EloSettings(), elo.rate),
    "gor": IncrementalSystem(gor.GorSettings(variant="czech"), gor.rate, gor.FLOOR),
    "egf": IncrementalSystem(gor.GorSettings(variant="egf"), gor.rate, gor.FLOOR),
    "egf2021": IncrementalSystem(egf2021.Egf2021Settings(), egf2021.rate, below=egf2021.CEILING),
}

_EVENT = tuple(column for column in RATING_EVENTS.c if column.name not in ("system", "revision", "place"))


def system_named(name: str) -> IncrementalSystem:
    """The system; UsageRefused names the known ones."""
    if name not in SYSTEMS:
        raise UsageRefused(f"there is no incremental system {name!r}", step=f"known: {', '.join(SYSTEMS)}")
    return SYSTEMS[name]


def refresh(store: Store, system: str, settings: BaseModel | None = None) -> int:
    """Bring the rating events of a system up to the log; how many rows were appended.

    The whole log is folded again and compared with what is stored, so the bits are those of a full replay.
    Without `settings` those of the newest revision hold, or the system's own.
    """
    known = system_named(system)
    with store.database.writing() as connection:
        revisions = _revisions(connection, system)
        if settings is None:
            default = known.settings
            settings = type(default).model_validate_json(revisions[-1].settings) if revisions else default
        told = settings.model_dump_json()
        rated = _rows(known.rate(_games(connection), settings, _start(connection, known)))
        stored = [tuple(row)[1:] for row in _stream(connection, system, revisions)]
        same = next((n for n, (old, new) in enumerate(zip(stored, rated, strict=False)) if old != new), None)
        if same is None:
            same = min(len(stored), len(rated))
        if not revisions or same < len(stored) or revisions[-1].settings != told:
            revision = revisions[-1].revision + 1 if revisions else 1
            changed = bool(revisions) and revisions[-1].settings != told
            why = "settings" if changed else "games" if revisions else "first"
            place = {"system": system, "revision": revision, "start": same}
            connection.execute(insert(RATING_REVISIONS), {**place, "settings": told, "why": why, "made": time.time()})
        else:
            revision = revisions[-1].revision
        keys = [column.name for column in _EVENT]
        fresh = [
            {"system": system, "revision": revision, "place": place, **dict(zip(keys, row, strict=True))}
            for place, row in enumerate(rated[same:], same)
        ]
        if fresh:
            connection.execute(insert(RATING_EVENTS), fresh)
    return len(fresh)


def ratings_of(store: Store, system: str) -> dict[str, tuple[float, int]]:
    """Rating and rated games of every engine version, best first, as `refresh` left them."""
    with store.database.reading() as connection:
        names = rated_names(connection)
        latest = _latest(connection, system)
    found = {names[engine]: (row.after, row.games) for engine, row in latest.items()}
    return dict(sorted(found.items(), key=lambda item: (-item[1][0], item[0])))


def prior_ratings(store: Store, names: Collection[str], system: str = "elo") -> dict[str, float]:
    """What the store knows of these engines: the rating of each one's newest rated version."""
    return {name: rating for name, rating in _by_name(store, system).items() if name in names}


def order(store: Store, system: str = "elo") -> list[str]:
    """Engines by rating, best first: the old ranking of a next edition."""
    rated = _by_name(store, system)
    return sorted(rated, key=lambda name: (-rated[name], name))


def history(store: Store, system: str, name: str) -> list[RatingEvent]:
    """Rating events of an engine, all its versions, in order; `game` is the number in the edition `event` names."""
    system_named(system)
    with store.database.reading() as connection:
        shown = rated_names(connection)
        own = {row.id for row in connection.execute(select(ENGINES.c.id).where(ENGINES.c.name == name))}
        titles = {
            row.id: row.name if row.edition == 1 else f"{row.name} #{row.edition}"
            for row in connection.execute(select(TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition))
        }
        rows = [row for row in _stream(connection, system, _revisions(connection, system)) if row.engine in own]
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


def counted_pairs(
    store: Store,
    *,
    tournament: str | None = None,
    edition: int | None = None,
    engines: Collection[str] | None = None,
    by_version: bool = True,
) -> dict[tuple[str, str], tuple[int, int, int]]:
    """White's wins, draws, losses for each (white, black), over the tournaments and engines asked for.

    `engines` are plain names, both sides must be among them; without `by_version` an engine's versions are added up.
    """
    rows = select(PAIR_COUNTS).join(TOURNAMENTS, TOURNAMENTS.c.id == PAIR_COUNTS.c.tournament)
    if tournament is not None:
        rows = rows.where(TOURNAMENTS.c.name == tournament)
    if edition is not None:
        rows = rows.where(TOURNAMENTS.c.edition == edition)
    wins: Counter[tuple[str, str]] = Counter()
    draws: Counter[tuple[str, str]] = Counter()
    losses: Counter[tuple[str, str]] = Counter()
    with store.database.reading() as connection:
        plain = {row.id: row.name for row in connection.execute(select(ENGINES.c.id, ENGINES.c.name))}
        shown = rated_names(connection) if by_version else plain
        for row in connection.execute(rows):
            if engines is None or (plain[row.white] in engines and plain[row.black] in engines):
                pair = shown[row.white], shown[row.black]
                wins[pair] += row.wins
                draws[pair] += row.draws
                losses[pair] += row.losses
    sums = {pair: (wins[pair], draws[pair], losses[pair]) for pair in sorted(wins)}
    return {pair: counts for pair, counts in sums.items() if any(counts)}


def rated_names(connection: Connection) -> dict[int, str]:
    """Engine versions as people read them: the name, with the fingerprint where several versions have games."""
    met = union(select(PAIR_COUNTS.c.white), select(PAIR_COUNTS.c.black))
    played = {row[0] for row in connection.execute(met)}
    versions = connection.execute(select(ENGINES.c.id, ENGINES.c.name, ENGINES.c.fingerprint).order_by(ENGINES.c.id))
    rows = versions.fetchall()
    several = Counter(row.name for row in rows if row.id in played)
    names: dict[int, str] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for row in rows:
        short = row.fingerprint[:8]
        if several[row.name] < 2:
            names[row.id] = row.name
            continue
        seen[row.name, short] += 1  # other options of the same binary: numbered as they came
        again = seen[row.name, short]
        mark = f"{short}-{again}".strip("-") if again > 1 or not short else short
        names[row.id] = f"{row.name} [{mark}]"
    return names


def _games(connection: Connection) -> list[RatedGame]:
    points = {outcome.value: outcome.half_points(white=True) for outcome in Outcome}
    columns = (GAMES.c.id, GAMES.c.tournament, GAMES.c.white_engine, GAMES.c.black_engine, GAMES.c.outcome)
    rows = select(*columns).where(GAMES.c.outcome != Outcome.VOID.value, ~STRUCK).order_by(GAMES.c.id)
    return [
        RatedGame(str(white), str(black), points[outcome], game, str(tournament))
        for game, tournament, white, black, outcome in connection.execute(rows)
    ]


def _start(connection: Connection, known: IncrementalSystem) -> dict[str, float]:
    """What engine versions brought when they first entered; a rating the scale does not know counts as none."""
    rows = select(ENTRANTS.c.engine, ENTRANTS.c.rating).order_by(ENTRANTS.c.tournament, ENTRANTS.c.since)
    first: dict[str, float | None] = {}
    for row in connection.execute(rows):
        first.setdefault(str(row.engine), row.rating)
    return {engine: own for engine, own in first.items() if own is not None and known.lowest <= own < known.below}


def _rows(events: Iterable[RatingEvent]) -> list[tuple[Any, ...]]:
    """Rating events in the order of the table's columns after `place`."""
    return [(int(e.engine), int(e.event), e.game, e.before, e.change, e.after, e.weight, e.games, None) for e in events]


def _revisions(connection: Connection, system: str) -> list[Any]:
    rows = select(RATING_REVISIONS).where(RATING_REVISIONS.c.system == system)
    return list(connection.execute(rows.order_by(RATING_REVISIONS.c.revision)))


def _stream(connection: Connection, system: str, revisions: list[Any]) -> list[Any]:
    """The rating events that hold now: of each revision what no later one replaced."""
    parts: list[list[Any]] = []
    end: int | None = None
    for revision in reversed(revisions):
        if end is None or revision.start < end:
            rows = select(RATING_EVENTS.c.place, *_EVENT).order_by(RATING_EVENTS.c.place)
            rows = rows.where(RATING_EVENTS.c.system == system, RATING_EVENTS.c.revision == revision.revision)
            parts.append(list(connection.execute(rows if end is None else rows.where(RATING_EVENTS.c.place < end))))
            end = revision.start
    return [row for part in reversed(parts) for row in part]


def _latest(connection: Connection, system: str) -> dict[int, Any]:
    system_named(system)
    return {row.engine: row for row in _stream(connection, system, _revisions(connection, system))}


def _by_name(store: Store, system: str) -> dict[str, float]:
    """Rating of the newest rated version of each name."""
    with store.database.reading() as connection:
        latest = _latest(connection, system)
        rows = connection.execute(select(ENGINES.c.id, ENGINES.c.name).order_by(ENGINES.c.id)).fetchall()
    return {row.name: latest[row.id].after for row in rows if row.id in latest}


def _numbers(connection: Connection, games: set[int]) -> list[tuple[int, int]]:
    if not games:
        return []
    rows = select(GAMES.c.id, GAMES.c.number).where(GAMES.c.id.between(min(games), max(games)))
    return [(row.id, row.number) for row in connection.execute(rows)]
