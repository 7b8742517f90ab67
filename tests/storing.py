"""Tournaments and games for tests of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from enginetour.formats.base import make_format, options_model
from enginetour.model.game import (
    Entrant,
    Game,
    Incident,
    MoveMade,
    Note,
    Opening,
    Outcome,
    Pairing,
    SideRecord,
    Termination,
)
from enginetour.model.task import EngineSpec
from enginetour.store.address import Address
from enginetour.store.counts import added_up, by_pair, kept_counts
from enginetour.store.engines import rated_names
from enginetour.store.games import TournamentReader, recounted, versions_counts
from enginetour.store.log import TournamentLog
from enginetour.store.tournaments import Draft, Store

NAMES = ("Fruit", "Toga", "Phalanx", "HoiChess")


def spec(name: str, fingerprint: str = "f1", **options: str) -> EngineSpec:
    return EngineSpec(name, (f"/opt/{name}",), "uci", options=tuple(options.items()), fingerprint=fingerprint)


def draft(name: str = "autumn", names: tuple[str, ...] = NAMES, fingerprint: str = "f1") -> Draft:
    entrants = tuple(Entrant(entrant, rating=2700.0 - 100 * n) for n, entrant in enumerate(names))
    specs = {entrant: spec(entrant, fingerprint) for entrant in names}
    return Draft(name, "roundrobin", 1, {"format": {"cycles": 2}}, 7, entrants, specs)


def game(
    white: str = "Fruit",
    black: str = "Toga",
    outcome: Outcome = Outcome.WHITE,
    *,
    meeting: int = 1,
    leg: int = 1,
    replay: int = 0,
) -> Game:
    pairing = Pairing(white, black, meeting, leg, encounter=meeting, round=1)
    termination = Termination.ABORTED if outcome is Outcome.VOID else Termination.RESIGN
    return Game(pairing, outcome, termination, moves=(MoveMade("e2e4", "e4"),), replay=replay)


def full_game() -> Game:
    """A game with something in every field, and in its texts what engines may say."""
    return Game(
        Pairing("Fruit", "Toga", 2, 2, 5, 3),
        Outcome.BLACK,
        Termination.CRASH,
        cause="White crashes; DROP TABLE games; -- \x1b[31m ½ 'quoted'",
        culprit="Fruit",
        category="crash",
        opening=Opening(
            "B20 Sicilian", 17, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", ("e2e4", "c7c5"), "B20"
        ),
        moves=(
            MoveMade("e2e4", "e4", book=True),
            MoveMade("c7c5", "c5", 120, 59_980, -15, 14, 10**25, "g1f3 d7d6"),
            MoveMade("g1f3", "Nf3", 90, None, 31_997, None, None, "½"),
            MoveMade("d7d6", "d6", 30, 59_900, 0, 9, 0, "", False, 14, 900_000, 12, 0, 26, ("info string a", "½ {b}")),
        ),
        white=SideRecord("Fruit 2.1", 1, 90, 90, 59_000, 2, ("late pong", "odd\nline")),
        black=SideRecord(
            "Toga II",
            2,
            150,
            effort=(("depth", 2, 23), ("tbhits", 1, 0)),
            claims=(("pv-illegal", 2, "move 1: its PV goes on with 'x'"),),
        ),
        white_tc="60+0.1",
        black_tc="40/60",
        final_fen="8/8/8/8/8/8/8/8 w - - 0 1",
        started=1_700_000_000.25,
        ended=1_700_000_120.5,
        relay_us=(10, 20, 30),
        incidents=(
            Incident(
                "Fruit",
                "crash",
                "signal 11 (SIGSEGV)",
                3,
                ("1.5 > go", "1.6 < \ud800"),
                ("boom",),
                "signal 11",
                9,
                77,
                1.5,
                8,
            ),
            Incident("Fruit", "protocol-warning", "odd"),
        ),
        replay=1,
    )


def sound_log(path: Address) -> tuple[Store, TournamentLog]:
    """As `open_log`, with the decisions that a replay comes to."""
    store, plan = Store.open(path), draft()
    format_ = make_format(plan.system, options_model(plan.system)(**plan.config["format"]), plan.seed)
    return store, store.create_tournament(plan, format_.notes(format_.start(plan.entrants)))


def open_log(path: Address) -> tuple[Store, TournamentLog]:
    store = Store.open(path)
    return store, store.create_tournament(draft())


def add_game(log: TournamentLog, game: Game, notes: Sequence[Note] = ()) -> int | None:
    """One game and the decisions that belong to it; its number, None for a game that is there already."""
    return log.record_games([(game, notes)])[0]


def counts_are_kept(log: TournamentReader) -> bool:
    """The pair counts are what the games give when they are counted again."""
    return versions_counts(log.database, log.id) == recounted(log.database, log.id)


def meddled(path: Path, *statements: str) -> None:
    """A database after somebody else's statements."""
    raw = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        raw.execute(statement)
    raw.close()


def counted_pairs(store: Store) -> dict[tuple[str, str], tuple[int, int, int]]:
    """White's wins, draws, losses by the names of lists, over the whole store."""
    with store.database.reading() as connection:
        kept = [by_pair(part) for part in kept_counts(connection).values()]
        return added_up(chain.from_iterable(part.items() for part in kept), rated_names(connection))
