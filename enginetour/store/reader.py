"""One edition of a tournament in an open database, as it is read. Readers need no lock."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import func, select

from enginetour.model.errors import StoreRefused, UsageRefused
from enginetour.model.game import Entrant, Event, GameKey, Incident, Note
from enginetour.model.task import EngineSpec
from enginetour.store import codecs, queries
from enginetour.store.database import Database
from enginetour.store.hold import NEXT_POSITION
from enginetour.store.oddsgames import odds_by_entrant, scores_at_odds
from enginetour.store.queries import STANDING, GameLine, Stored
from enginetour.store.serveraddress import ServerAddress
from enginetour.store.tables import ENTRANTS, EVENTS, GAMES


def damaged(log: TournamentReader, what: str) -> StoreRefused:
    """The refusal of a tournament in which one entrant cannot be read."""
    where = "" if isinstance(log.database.path, ServerAddress) else f" --db {shlex.quote(str(log.database.path))}"
    step = f"repair the database: enginetour db repair{where}"
    return StoreRefused(what, place=log.title, step=step)


def spec_in_row(log: TournamentReader, name: str, text: object) -> EngineSpec:
    """How an entrant is started; StoreRefused where its row is damaged."""
    try:
        spec = codecs.spec_of(text)
        if spec.name != name:
            raise ValueError(f"it has another name, {spec.name!r}")
        return spec
    except ValueError as error:
        raise damaged(log, f"the specification of {name!r} cannot be read: {error}") from None


class TournamentReader:
    """What is known of it: who takes part, events, games, decisions, counts."""

    def __init__(self, database: Database, row: Any) -> None:
        self.database = database
        self.id: int = row.id
        self.name: str = row.name
        self.edition: int = row.edition
        self.slug: str = row.slug
        self.system: str = row.system
        self.format_version: int = row.format_version
        self.config: dict[str, Any] = json.loads(row.config)
        self.seed: int = row.seed
        self.created: float = row.created

    @property
    def title(self) -> str:
        """The name, with its edition from the second on."""
        return self.name if self.edition == 1 else f"{self.name} #{self.edition}"

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """The starting list, best first, as it was before the first event: what a replay starts from."""
        rows = self._rows(
            select(ENTRANTS).where(ENTRANTS.c.tournament == self.id, ENTRANTS.c.since == 0), ENTRANTS.c.place
        )
        try:
            return tuple(codecs.entrant_of(row._asdict()) for row in rows)
        except ValueError as error:
            raise damaged(self, f"an entrant cannot be read: {error}") from None

    @property
    def specs(self) -> dict[str, EngineSpec]:
        """How every entrant is started now, those that joined later included."""
        rows = self._rows(
            select(ENTRANTS.c.name, ENTRANTS.c.spec).where(ENTRANTS.c.tournament == self.id), ENTRANTS.c.since
        )
        return {row.name: spec_in_row(self, row.name, row.spec) for row in rows}

    @property
    def known_ratings(self) -> dict[str, float]:
        """The ratings that entrants were given, by name."""
        known = (ENTRANTS.c.tournament == self.id, ENTRANTS.c.rating.is_not(None))
        rows = self._rows(select(ENTRANTS.c.name, ENTRANTS.c.rating).where(*known), ENTRANTS.c.since)
        return {row.name: row.rating for row in rows}

    @property
    def last_position(self) -> int:
        """Position of the newest event, 0 before the first."""
        with self.database.reading() as connection:
            return int(connection.execute(NEXT_POSITION, {"t": self.id}).scalar_one()) - 1

    @property
    def last_at(self) -> float:
        """When the newest event was written in UTC seconds, 0 before the first."""
        newest = select(func.coalesce(func.max(EVENTS.c.at), 0)).where(EVENTS.c.tournament == self.id)
        with self.database.reading() as connection:
            return float(connection.execute(newest).scalar_one())

    @property
    def last_number(self) -> int:
        """Number of the newest game, 0 before the first."""
        newest = select(func.coalesce(func.max(GAMES.c.number), 0)).where(GAMES.c.tournament == self.id)
        with self.database.reading() as connection:
            return int(connection.execute(newest).scalar_one())

    def events(self, after: int = 0) -> Iterator[Event]:
        """Every event beyond the position `after`, in order, without loading a move."""
        return queries.events(self.database, self.id, after)

    def notes(self) -> list[tuple[int, Note]]:
        """Every decision with the position of its event, oldest first."""
        return queries.notes(self.database, self.id)

    def decisions(self, first: int = 1) -> dict[int, list[Note]]:
        """The decisions that games caused, by the game's number, of games from number `first` on."""
        return queries.decisions(self.database, self.id, first)

    def games(self, **filters: Any) -> list[GameLine]:
        """Games as lines, in order; the filters are those of `queries.game_lines`."""
        return queries.game_lines(self.database, self.id, **filters)

    def game(self, number: int) -> Stored:
        """One game with its moves; UsageRefused for a number that is not there."""
        if 0 < number <= codecs.LARGEST_NUMBER:
            for stored in queries.full_games(self.database, self.id, first=number, last=number):
                return stored
        raise UsageRefused(f"there is no game {number} in {self.title}", step="enginetour games lists them")

    def full_games(self, first: int = 1) -> Iterator[Stored]:
        """Games with their moves from number `first` on, a few at a time."""
        return queries.full_games(self.database, self.id, first=first)

    @property
    def gone(self) -> set[str]:
        """Who withdrew or was replaced."""
        with self.database.reading() as connection:
            return queries.gone(connection, self.id)

    @property
    def grown(self) -> dict[str, int]:
        """Settings of the format that were extended after the start, with their values now."""
        return queries.grown(self.database, self.id)

    def replays(self, key: GameKey) -> int:
        """How many games of that key do not count: the replay number of the next one."""
        return queries.replays(self.database, self.id, key)

    def aborts(self, key: GameKey) -> int:
        """How many games of that key an engine gave up by ``*``."""
        return queries.aborts(self.database, self.id, key)

    def pair_counts(self) -> dict[tuple[str, str], tuple[int, int, int]]:
        """Wins, draws, losses of White for each (white, black) that met."""
        return queries.pair_counts(self.database, self.id)

    def odds_by_entrant(self) -> dict[str, int]:
        """How many of an entrant's games that count were at odds, for those that have any."""
        with self.database.reading() as connection:
            return odds_by_entrant(connection, self.id)

    def scores_at_odds(self) -> dict[int, tuple[int, int]]:
        """By bands given: the games at odds that count, and the half points of those that gave them."""
        with self.database.reading() as connection:
            return scores_at_odds(connection, GAMES.c.tournament == self.id, STANDING)

    def refuse_struck_out(self) -> None:
        """For imports, which can be: a tournament that was played here stays."""

    def incidents(self) -> list[tuple[int, Incident]]:
        """What a tester must see, with the numbers of the games."""
        return queries.incidents(self.database, self.id)

    def _rows(self, statement: Any, order: Any) -> Sequence[Any]:
        with self.database.reading() as connection:
            return connection.execute(statement.order_by(order)).fetchall()
