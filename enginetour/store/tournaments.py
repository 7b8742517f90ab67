"""Tournaments of a database: create one, find one by name and edition, list all; imports can be read as tournaments."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from sqlalchemy import Connection, and_, false, func, insert, select

from enginetour import __version__
from enginetour.model.errors import UsageRefused, did_you_mean
from enginetour.model.game import Entrant, Note
from enginetour.model.renamed import system_name
from enginetour.model.task import EngineSpec
from enginetour.store.address import Address, slug_of
from enginetour.store.counts import engines_in, import_stands, removals, removed_imports, unpack_counts
from enginetour.store.database import Database, database_exists, inserted_id
from enginetour.store.engines import add_entrant, engine_names, rated_names
from enginetour.store.games import scores_at_odds
from enginetour.store.log import TournamentLog, write_notes
from enginetour.store.tables import (
    EDITIONS,
    ENTRANTS,
    EVENTS,
    GAMES,
    IMPORTED_GAMES,
    IMPORTS,
    LISTS,
    NEXT_POSITION,
    STANDING,
    TOURNAMENTS,
    TournamentEntry,
)

# Value of the column `system` for an import. For a tournament, the column contains the name of its format.
IMPORT = "import"


class _ImportedEvent(TournamentLog):
    """An import, read as a tournament with ratings.

    Everything that only a played tournament has raises UsageRefused.
    """

    is_import = True

    def __init__(self, database: Database, row: Any) -> None:
        super().__init__(database, row)
        # An import has no log to replay. Without these attributes, `__getattr__` raises UsageRefused.
        del self.system, self.format_version

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("system", "format_version"):
            self._refuse()
        raise AttributeError(name)

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """The engines that have games in the import, by name."""
        return tuple(Entrant(name) for name in sorted({plain for plain, _ in self._names()}))

    @property
    def specs(self) -> dict[str, EngineSpec]:
        """The engines by their names with and without version marks, without a command to start them."""
        return {name: EngineSpec(plain, (), "uci") for plain, shown in self._names() for name in (plain, shown)}

    def scores_at_odds(self) -> dict[int, tuple[int, int]]:
        """Return the number of games at time odds and the half points of the engines that gave the odds, by bands.

        The key `games.UNKNOWN` is used for odds of unknown size.
        """
        with self.database.reading() as connection:
            mine = and_(IMPORTED_GAMES.c.tournament == self.id, import_stands())
            return scores_at_odds(connection, false(), read=mine)

    def require_not_removed(self) -> None:
        """Raise UsageRefused if the import was removed."""
        with self.database.reading() as connection:
            mine = [one for one in removals(connection) if (one.name, one.edition) == (self.name, self.edition)]
        if mine:
            day, before = (datetime.fromtimestamp(at, UTC) for at in (mine[0].at, mine[0].at - 1))
            step = f"show its earlier state with --as-of {before:%Y-%m-%dT%H:%M:%S}"
            raise UsageRefused(f"was removed on {day:%Y-%m-%d %H:%M} UTC", place=self.title, step=step)

    def _names(self) -> list[tuple[str, str]]:
        """Return the name and the displayed name of every engine with games."""
        with self.database.reading() as connection:
            shown = rated_names(connection)
            counts = select(IMPORTS.c.counts).where(IMPORTS.c.tournament == self.id)
            met = engines_in(unpack_counts(connection.execute(counts).scalar_one()))
            return [(name, shown[key]) for key, name in engine_names(connection).items() if key in met]

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        step = f"run enginetour ratings -t {shlex.quote(self.name)}"
        what = "is an import, which has ratings but no rounds, tables or moves"
        raise UsageRefused(what, place=self.title, step=step)

    events = notes = games = game = full_games = incidents = _refuse
    record_games = record_event = accept_change = _refuse


PLAYED = TOURNAMENTS.c.system != IMPORT
_ENTRY = tuple(TOURNAMENTS.c[name] for name in TournamentEntry.model_fields)
_ENTRIES = select(*_ENTRY).where(PLAYED).order_by(TOURNAMENTS.c.id)


def _newest_edition(name: str) -> Any:
    return select(func.coalesce(func.max(TOURNAMENTS.c.edition), 0)).where(TOURNAMENTS.c.name == name)


def add_edition(connection: Connection, name: str, columns: Mapping[str, Any]) -> tuple[int, int]:
    """Insert the next edition of a tournament or an import, with the current time. Return its key and number."""
    edition = int(connection.execute(_newest_edition(name)).scalar_one()) + 1
    made = {"name": name, "edition": edition, "slug": slug_of(name, edition), "created_unix": time.time()}
    return inserted_id(connection.execute(insert(TOURNAMENTS), {**made, "version": __version__, **columns})), edition


@dataclass(frozen=True, slots=True)
class Draft:
    """A tournament to create. `config` must be ready for JSON; `specs` contains the engine of each entrant's name."""

    name: str
    system: str
    format_version: int
    config: Mapping[str, Any]
    seed: int
    entrants: tuple[Entrant, ...]
    specs: Mapping[str, EngineSpec]


class _Summary(TournamentEntry):
    """A tournament with its numbers of entrants and of games that count.

    `last` is the time of the last event in seconds since 1970 UTC, or None if there is no event.
    """

    entrants: int
    games: int
    last: float | None


class Store:
    """All tournaments of one open database; use it as a context manager or call `close`."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def open(
        cls,
        path: Address | str,
        *,
        create: bool = True,
        readonly: bool = False,
        check_stop: Callable[[], None] = lambda: None,
    ) -> Store:
        """Open or create a database. The arguments and errors are the same as in `Database.open`."""
        return cls(Database.open(path, create=create, readonly=readonly, check_stop=check_stop))

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create_tournament(self, draft: Draft, notes: Sequence[Note] = ()) -> TournamentLog:
        """Create the next edition of a tournament; `notes` are the decisions before the first event."""
        names = [entrant.name for entrant in draft.entrants]
        if len(set(names)) != len(names) or not set(names) <= set(draft.specs):
            raise ValueError("every entrant needs a unique name and an engine specification")
        with self.database.writing() as connection:
            imported = select(TOURNAMENTS.c.id).where(TOURNAMENTS.c.name == draft.name, ~PLAYED)
            if connection.execute(imported).first() is not None:
                step = "choose another name for the tournament"
                raise UsageRefused(f"an import {draft.name!r} already exists", place=str(self.database.path), step=step)
            about = {"system": draft.system, "format_version": draft.format_version, "seed": draft.seed}
            made, edition = add_edition(connection, draft.name, {**about, "config": dict(draft.config)})
            for place, entrant in enumerate(draft.entrants, 1):
                add_entrant(connection, made, entrant, draft.specs[entrant.name], since=0, place=place)
            write_notes(connection, made, 0, notes)
        return self.tournament(draft.name, edition)

    def tournament(self, name: str | None = None, edition: int | None = None) -> TournamentLog:
        """Return a tournament or an import by name, by default its newest edition that was not removed.

        Without a name, return the newest tournament. Raise UsageRefused for an unknown name or edition.
        """
        rows = select(TOURNAMENTS).order_by(TOURNAMENTS.c.id.in_(removed_imports()), TOURNAMENTS.c.id.desc())
        rows = rows.where(PLAYED if name is None else TOURNAMENTS.c.name == name)
        if edition is not None:
            rows = rows.where(TOURNAMENTS.c.edition == edition)
        with self.database.reading() as connection:
            found = connection.execute(rows).first()
        if found is None:
            raise self._unknown(name, edition)
        return (_ImportedEvent if found.system == IMPORT else TournamentLog)(self.database, found)

    def newest_edition(self, name: str) -> int:
        """Return the number of the newest edition with this name, or 0 if the name does not exist."""
        return int(self.database.scalar(_newest_edition(name)))

    def has(self, name: str) -> bool:
        """Return whether a tournament (not an import) has this name."""
        rows = select(TOURNAMENTS.c.id).where(TOURNAMENTS.c.name == name, PLAYED)
        return self.database.scalar(rows) is not None

    def tournaments(self) -> list[_Summary]:
        """Return a summary of every tournament (not imports), oldest first."""
        here = TOURNAMENTS.c.id
        counting = (GAMES.c.tournament == here, STANDING)
        games = select(func.count(GAMES.c.id)).where(*counting)
        entrants = select(func.count()).where(ENTRANTS.c.tournament == here, ENTRANTS.c.since_event == 0)
        last = select(func.max(EVENTS.c.at_unix)).where(EVENTS.c.tournament == here)
        counted = {"entrants": entrants, "games": games, "last": last}
        rows = _ENTRIES.add_columns(*(query.scalar_subquery().label(name) for name, query in counted.items()))
        return [_Summary.model_construct(**_entry_values(row)) for row in self.database.rows(rows)]

    def _unknown(self, name: str | None, edition: int | None) -> UsageRefused:
        rows = select(TOURNAMENTS.c.name).distinct().order_by(TOURNAMENTS.c.name)
        with self.database.reading() as connection:
            known = list(connection.execute(rows if name is not None else rows.where(PLAYED)).scalars())
            imported = not known and bool(connection.execute(rows).first())
        place = str(self.database.path)
        if not known:
            step = "start one with enginetour run CONFIG"
            step += ", or rate the imported games with enginetour ratings --all" if imported else ""
            return UsageRefused("does not contain a tournament", place=place, step=step)
        if name is None or name in known:
            what = f"edition {edition} of {name} does not exist" if name else f"no tournament has an edition {edition}"
            return UsageRefused(what, place=place)
        shown = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
        what = f"tournament {name!r} not found{did_you_mean(name, known)}"
        return UsageRefused(what, place=place, step=f"choose one of: {shown}")


@contextmanager
def existing_store(address: Address) -> Iterator[Store | None]:
    """Open a database for reading, and yield it; yield None if it does not exist."""
    if not database_exists(address):
        yield None
        return
    with Store.open(address, create=False, readonly=True) as store:
        yield store


@contextmanager
def newest_log(address: Address, name: str) -> Iterator[TournamentLog | None]:
    """Yield the newest edition of a tournament; yield None if the database or the tournament does not exist."""
    with existing_store(address) as store:
        yield store.tournament(name) if store is not None and store.has(name) else None


def tournament_entries(store: Store) -> list[TournamentEntry]:
    """Return all tournaments (not imports), oldest first."""
    return [TournamentEntry.model_construct(**_entry_values(row)) for row in store.database.rows(_ENTRIES)]


def mean_seconds(store: Store, controls: Sequence[str], names: Sequence[str]) -> tuple[float, int]:
    """Return the mean duration and the number of the games with these time controls between some entrants.

    Without names, the games of all entrants count. The duration of 0 games is 0.
    """
    each = func.avg(GAMES.c.ended_unix - GAMES.c.started_unix)
    found = select(each, func.count()).where(STANDING, GAMES.c.white_tc.in_(controls), GAMES.c.black_tc.in_(controls))
    if names:
        found = found.where(GAMES.c.white.in_(names), GAMES.c.black.in_(names))
    ((seconds, games),) = store.database.rows(found)
    return float(seconds or 0.0), int(games)


def tournament_position(store: Store, number: int) -> int:
    """Return the position of the newest event of the tournament with this `TournamentEntry.id`; 0 without events."""
    return int(store.database.scalar(NEXT_POSITION, {"t": number})) - 1


def database_position(store: Store) -> tuple[int, ...]:
    """Return numbers that change with every event, tournament, import, list and edition of the database."""
    newest = select(func.coalesce(func.max(EVENTS.c.position), 0)).where(EVENTS.c.tournament == TOURNAMENTS.c.id)
    counts = [select(func.count()).select_from(table).scalar_subquery() for table in (LISTS, EDITIONS)]
    sums = select(func.count(), func.coalesce(func.sum(newest.scalar_subquery()), 0), *counts).select_from(TOURNAMENTS)
    ((*found,),) = store.database.rows(sums)
    return tuple(map(int, found))


def _entry_values(row: Any) -> dict[str, Any]:
    return {**row._mapping, "system": system_name(row.system)}
