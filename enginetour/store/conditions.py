"""Under what each game was played: opening, clocks and machine, and what both sides did; no move is loaded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from enginetour.model.game import Outcome, SideRecord
from enginetour.store.codecs import side_of
from enginetour.store.queries import STRUCK
from enginetour.store.reader import TournamentReader
from enginetour.store.tables import GAMES

_COLUMNS = (
    *("number", "white", "black", "outcome", "opening", "started", "ended", "relay", "load", "cores", "steal"),
    *("own_us", "hardware", "handicap", "white_side", "black_side"),
)


@dataclass(frozen=True, slots=True)
class Conditions:
    """One game that counts. Times are UTC seconds; `opening` is its name and 1-based place in the suite.

    `relay_us` is the relay gap: median, 99th percentile, largest. None is what was not measured.
    """

    number: int
    white: str
    black: str
    outcome: Outcome
    opening: tuple[str, int]
    started: float
    ended: float
    relay_us: tuple[int, int, int] | None
    load: float | None
    cores: int | None
    steal: float | None
    own_us: int | None
    hardware: str
    handicap: int
    sides: tuple[SideRecord, SideRecord]  # White's, Black's

    @property
    def busy(self) -> bool:
        """More wanted to run on that machine than it has processors."""
        return self.load is not None and self.cores is not None and self.load > self.cores


def conditions(log: TournamentReader) -> Iterator[Conditions]:
    """Every game that counts, at odds or not, in the order of the log."""
    columns = [GAMES.c[name] for name in _COLUMNS]
    counting = GAMES.c.tournament == log.id, GAMES.c.outcome != Outcome.VOID.value, ~STRUCK
    with log.database.reading() as connection:
        yield from map(_conditions, connection.execute(select(*columns).where(*counting).order_by(GAMES.c.number)))


def _conditions(row: Any) -> Conditions:
    opening, relay = json.loads(row.opening), json.loads(row.relay) if row.relay else None
    name, place = (opening[0], opening[1]) if len(opening) > 1 else ("", 0)
    fields = row._asdict()
    del fields["white_side"], fields["black_side"], fields["relay"]
    return Conditions(
        **{**fields, "outcome": Outcome(row.outcome), "opening": (name, place)},
        relay_us=None if not relay else (relay[0], relay[1], relay[2]),
        sides=(side_of(row.white_side), side_of(row.black_side)),
    )
