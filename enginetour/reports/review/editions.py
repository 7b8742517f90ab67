"""Ratings through time: a tournament's engines in the editions of published lists, and by incremental systems."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import select

from enginetour.ratings.ratinglist import SHARED
from enginetour.ratings.systems import SYSTEMS
from enginetour.store.careers import Published
from enginetour.store.editions import Edition, edition, editions_of, lines_by_name
from enginetour.store.ratings import stream
from enginetour.store.tables import ENGINES, EVEN, GAMES, STANDING
from enginetour.store.tournaments import Store


@dataclass(frozen=True, slots=True)
class ListHistory:
    """One list: its editions (number, made, games, note), oldest first; the engines asked for, the best now first."""

    name: str
    editions: tuple[tuple[int, float, int, str], ...]
    engines: tuple[tuple[str, tuple[Published, ...]], ...]


@dataclass(frozen=True, slots=True)
class RatingPath:
    """An engine's rating by an incremental system after each of its games of the tournament: (number, rating)."""

    system: str
    name: str
    before: float
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class History:
    """What the store knows of these engines beyond the tournament's own list."""

    lists: tuple[ListHistory, ...]
    paths: tuple[RatingPath, ...]


def history_of(store: Store, tournament: int, names: Sequence[str]) -> History:
    """Lists in which one of the names stands, and the rating events of the tournament's games."""
    by_list: dict[str, list[Edition]] = {}
    for head in editions_of(store):
        by_list.setdefault(head.name, []).append(head)
    lists = (list_history(store, name, heads, names) for name, heads in by_list.items())
    return History(tuple(one for one in lists if one.engines), _paths(store, tournament, names))


def list_history(
    store: Store, name: str, heads: Sequence[Edition], wanted: Collection[str] | None = None
) -> ListHistory:
    """Of all engines, or of those wanted; best of the newest edition first."""
    found: dict[str, list[Published]] = {}
    for head in heads:
        made = edition(store, name, head.number)
        for engine, line in lines_by_name(store, made).items():
            if wanted is None or engine in wanted:
                found.setdefault(engine, []).append(Published.of(head, engine, line))
    ordered = sorted(found.items(), key=lambda one: (-one[1][-1].edition, -round(one[1][-1].rating, SHARED), one[0]))
    told = tuple((head.number, head.made, head.games, head.note) for head in heads)
    return ListHistory(name, told, tuple((engine, tuple(points)) for engine, points in ordered))


def _paths(store: Store, tournament: int, names: Sequence[str]) -> tuple[RatingPath, ...]:
    """By the systems that have rated all of the tournament that counts: others are of an earlier state of it."""
    with store.database.reading() as connection:
        plain = {row.id: row.name for row in connection.execute(select(ENGINES.c.id, ENGINES.c.name))}
        own = select(GAMES.c.id, GAMES.c.number).where(GAMES.c.tournament == tournament, STANDING, EVEN)
        numbers = {row.id: row.number for row in connection.execute(own)}
        found: dict[tuple[str, str], tuple[float, list[tuple[int, float]]]] = {}
        for system in SYSTEMS:
            rows = [row for row in stream(connection, system).rows() if row.tournament == tournament and row.game]
            if {row.game for row in rows} == numbers.keys():
                for row in rows:
                    path = found.setdefault((system, plain[row.engine]), (row.before, []))
                    path[1].append((numbers[row.game], row.after))
    places = {name: place for place, name in enumerate(names)}
    ordered = sorted(found.items(), key=lambda one: places.get(one[0][1], len(places)))
    return tuple(
        RatingPath(system, name, before, tuple(points))
        for (system, name), (before, points) in ordered
        if name in places
    )
