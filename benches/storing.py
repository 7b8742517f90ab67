"""Time of durable commits of games and of reading the log, compared with SQLite alone in the same directory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from benches.measure import Settings, a_second, divided, in_turn, line
from benches.simulated import thought_moves
from enginetour.model.game import Game, MoveMade, Outcome, Pairing, Termination
from enginetour.store.log import TournamentLog
from enginetour.store.tournaments import Store
from tests.support.databases import add_game, draft

PLIES = 160  # games of CCRL have 60 to 70 moves on average, those of equal engines a little more
SHORT = 2  # plies of games that only fill the log


def storing(settings: Settings) -> Iterator[str]:
    """Measure commits per second, then reading the events of many games."""
    with Store.open(settings.folder / "bench.db") as store:
        log = store.create_tournament(draft())
        bare = bare_database(settings.folder / "bare.db")
        moves = thought_moves(PLIES)
        count = iter(range(1, 1 << 30))

        def games() -> None:
            for _ in range(settings.commits):
                add_game(log, game(next(count), moves))

        def rows() -> None:
            for _ in range(settings.commits):
                bare.execute("BEGIN IMMEDIATE")
                bare.execute("INSERT INTO bare VALUES (?)", (next(count),))
                bare.execute("COMMIT")

        mine, theirs = (divided(taken, settings.commits) for taken in in_turn(settings.rounds, games, rows))
        bare.close()
        yield line(f"durable commits of a game of {PLIES} plies", mine, theirs, "a bare commit", show=a_second)
        fill(store, log, settings.games - len(log.games()), count, moves[:SHORT])
        yield events(settings, log)


def events(settings: Settings, log: TournamentLog) -> str:
    """Compare reading the log with fetching the same number of rows by the driver."""
    path = settings.folder / "bench.db"
    plain = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    query = "SELECT e.*, g.* FROM events e JOIN games g ON g.id = e.game ORDER BY e.position"
    mine, rows = in_turn(
        settings.rounds, lambda: sum(1 for _ in log.events()), lambda: sum(1 for _ in plain.execute(query))
    )
    plain.close()
    return line(f"events() of {log.last_position} stored games", mine, rows, "fetching the rows")


def fill(store: Store, log: TournamentLog, games: int, count: Iterator[int], moves: tuple[MoveMade, ...]) -> None:
    """Write more games without waiting for the disk."""
    store.database.close()  # so that the next connection is the only one
    with store.database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA synchronous=OFF")
    for _ in range(games):
        add_game(log, game(next(count), moves))
    store.database.close()  # close the connection that does not wait for the disk


def bare_database(path: Path) -> sqlite3.Connection:
    """Open a database as durable as enginetour's: with a write-ahead log that is synced at every commit."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE bare (x INTEGER)")
    return connection


def game(number: int, moves: tuple[MoveMade, ...]) -> Game:
    """Return the next game of a pair."""
    pairing = Pairing("Fruit", "Toga", meeting=number, encounter=number)
    return Game(pairing, Outcome.BLACK, Termination.RESIGN, cause="White resigns", moves=moves)
