"""Ratings of the whole store: incremental systems as append-only events.

The rated thing is an engine version. It is shown by its name alone while the name has one version with games,
else as ``name [fingerprint]``, or ``name [imported]`` where a file told no more. Games count in the order in which
they were committed, over all tournaments.

A revision replaces the stream of a system's rating events from its `start` on: a game struck out, a game that
came late or other settings give a new one, and what was published before stays beside it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection

from pydantic import BaseModel
from sqlalchemy import Connection, insert, select

from enginetour.model.errors import UsageRefused
from enginetour.ratings.pairs import RatingEvent
from enginetour.ratings.systems import SYSTEMS, IncrementalSystem
from enginetour.store.paircounts import engines_in, unpacked
from enginetour.store.ratedgames import brought, for_events, versions
from enginetour.store.ratednames import rated_names
from enginetour.store.ratingstream import EVENT, Career, stream
from enginetour.store.refold import refolded
from enginetour.store.tables import ENGINES, ENTRANTS, GAMES, IMPORTS, RATING_EVENTS, RATING_REVISIONS, TOURNAMENTS
from enginetour.store.tournaments import Store


def system_named(name: str) -> IncrementalSystem:
    """The system; UsageRefused names the known ones."""
    if name not in SYSTEMS:
        raise UsageRefused(f"there is no incremental system {name!r}", step=f"known: {', '.join(SYSTEMS)}")
    return SYSTEMS[name]


def refresh(store: Store, system: str, settings: BaseModel | None = None) -> int:
    """Bring the rating events of a system up to the log; how many rows were appended.

    The bits are those of a full replay, whatever the first game is from which on games are rated again. Without
    `settings` those of the newest revision hold, or the system's own.
    """
    known = system_named(system)
    with store.database.writing() as connection:
        newest = select(RATING_REVISIONS).where(RATING_REVISIONS.c.system == system)
        last = connection.execute(newest.order_by(RATING_REVISIONS.c.revision.desc()).limit(1)).first()
        before = None if last is None else type(known.settings).model_validate_json(last.settings)
        settings = settings or before or known.settings
        entry = known.fitting(brought(connection, known.scale))
        begun = known.begin(for_events(connection, settings), entry, versions(connection))
        stored = stream(connection, system)
        same, fresh = refolded(connection, stored, begun, trusted=settings == before)
        revision = 0 if last is None else last.revision
        if last is None or same < len(stored) or settings != before:
            revision += 1
            why = "first" if last is None else "settings" if settings != before else "games"
            told = {"settings": settings.model_dump_json(), "why": why, "made": time.time()}
            connection.execute(
                insert(RATING_REVISIONS), {"system": system, "revision": revision, "start": same, **told}
            )
        if fresh:
            # by the driver: 200,000 rows as dictionaries would take longer than rating them
            events = dict(zip((column.name for column in EVENT), map(list, zip(*fresh, strict=True)), strict=True))
            head = {"system": [system] * len(fresh), "revision": revision}
            places = {"place": list(range(same, same + len(fresh)))}
            store.database.fill(connection, RATING_EVENTS.name, head | places | events)
    return len(fresh)


def settings_of(store: Store) -> list[BaseModel]:
    """Settings of all revisions of all streams; ValueError for what are none."""
    rows = select(RATING_REVISIONS.c.system, RATING_REVISIONS.c.settings)
    with store.database.reading() as connection:
        found = connection.execute(rows).fetchall()
    return [type(system_named(row.system).settings).model_validate_json(row.settings) for row in found]


def ratings_of(store: Store, system: str, tournament: int | None = None) -> dict[str, tuple[float, int]]:
    """Rating and rated games of every engine version, best first, as `refresh` left them.

    Of a `tournament` those that took part, by their names there where these are of one version each.
    """
    with store.database.reading() as connection:
        names = rated_names(connection)
        latest = _latest(connection, system)
        if tournament is not None:
            entered = select(ENTRANTS.c.engine, ENTRANTS.c.name).where(ENTRANTS.c.tournament == tournament).distinct()
            here = {row.engine: row.name for row in connection.execute(entered)}
            imported = connection.execute(select(IMPORTS.c.counts).where(IMPORTS.c.tournament == tournament)).scalar()
            here |= {engine: names[engine] for engine in (engines_in(unpacked(imported)) if imported else ())}
            several = Counter(name for engine, name in here.items() if engine in latest)
            names |= {engine: name for engine, name in here.items() if several[name] == 1}
            latest = {engine: latest[engine] for engine in here if engine in latest}
    found = {names[engine]: (career.rating, career.games) for engine, career in latest.items()}
    return dict(sorted(found.items(), key=lambda item: (-item[1][0], item[0])))


def prior_ratings(store: Store, names: Collection[str]) -> dict[str, float]:
    """What the store knows of these engines: the Elo of each one's newest rated version."""
    with store.database.reading() as connection:
        latest = _latest(connection, "elo")
        rows = connection.execute(select(ENGINES.c.id, ENGINES.c.name).order_by(ENGINES.c.id)).fetchall()
    return {row.name: latest[row.id].rating for row in rows if row.id in latest and row.name in names}


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


def _latest(connection: Connection, system: str) -> dict[int, Career]:
    system_named(system)
    return stream(connection, system).careers()


def _numbers(connection: Connection, games: set[int]) -> list[tuple[int, int]]:
    if not games:
        return []
    rows = select(GAMES.c.id, GAMES.c.number).where(GAMES.c.id.between(min(games), max(games)))
    return [(row.id, row.number) for row in connection.execute(rows)]
