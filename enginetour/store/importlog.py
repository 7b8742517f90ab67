"""An imported event as commands meet it: it has engines and counts, and no events, moves or format."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import Any, NoReturn

from sqlalchemy import and_, false, select

from enginetour.model.errors import UsageRefused
from enginetour.model.game import Entrant
from enginetour.model.task import EngineSpec
from enginetour.store.database import Database
from enginetour.store.log import TournamentLog
from enginetour.store.oddsgames import scores_at_odds
from enginetour.store.paircounts import engines_in, unpacked
from enginetour.store.ratednames import rated_names
from enginetour.store.removals import removals, stands
from enginetour.store.tables import ENGINES, IMPORTED_GAMES, IMPORTS

IMPORT = "import"  # what an import has where a tournament that was played has its format


class ImportedEvent(TournamentLog):
    """Ratings can be asked for; whatever only a tournament that was played has is refused with UsageRefused."""

    def __init__(self, database: Database, row: Any) -> None:
        super().__init__(database, row)
        # Whoever asks for these is about to replay a log.
        del self.system, self.format_version

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("system", "format_version"):
            self._refuse()
        raise AttributeError(name)

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """The engines that have games in it, by name."""
        return tuple(Entrant(name) for name in sorted({plain for plain, _ in self._names()}))

    @property
    def specs(self) -> dict[str, EngineSpec]:
        """The engines by the names under which lists show them, with no command to start them by."""
        return {name: EngineSpec(plain, (), "uci") for plain, shown in self._names() for name in (plain, shown)}

    def scores_at_odds(self) -> dict[int, tuple[int, int]]:
        """As of a tournament that was played; `oddsgames.UNKNOWN` stands for odds of unknown size."""
        with self.database.reading() as connection:
            mine = and_(IMPORTED_GAMES.c.tournament == self.id, stands())
            return scores_at_odds(connection, false(), read=mine)

    def refuse_struck_out(self) -> None:
        """UsageRefused for an import that has no games any more."""
        with self.database.reading() as connection:
            mine = [one for one in removals(connection) if (one.name, one.edition) == (self.name, self.edition)]
        if mine:
            day, before = (datetime.fromtimestamp(at, UTC) for at in (mine[0].at, mine[0].at - 1))
            step = f"--as-of {before:%Y-%m-%dT%H:%M:%S} shows it as it was"
            raise UsageRefused(f"was struck out on {day:%Y-%m-%d %H:%M} UTC", place=self.title, step=step)

    def _names(self) -> list[tuple[str, str]]:
        """Plain and shown name of every engine with games."""
        with self.database.reading() as connection:
            shown = rated_names(connection)
            counts = select(IMPORTS.c.counts).where(IMPORTS.c.tournament == self.id)
            met = engines_in(unpacked(connection.execute(counts).scalar_one()))
            rows = connection.execute(select(ENGINES.c.id, ENGINES.c.name).order_by(ENGINES.c.id))
            return [(row.name, shown[row.id]) for row in rows if row.id in met]

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        step = f"enginetour ratings -t {shlex.quote(self.name)}"
        what = "is an import: it has ratings, and no rounds, tables or moves of its own"
        raise UsageRefused(what, place=self.title, step=step)

    events = notes = games = game = full_games = incidents = _refuse
    record_games = record_event = accept_change = _refuse
