"""Time of incremental ratings: rate all games, and update a database after one more game."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
from sqlalchemy import insert

from benches.measure import Settings, divided, in_turn, line
from enginetour.model.game import Game, Outcome, Pairing, Termination
from enginetour.ratings import elo
from enginetour.ratings.elo import EloSettings
from enginetour.ratings.incremental import RatedGame, rate
from enginetour.store.counts import pack_counts
from enginetour.store.ratings import update_ratings
from enginetour.store.tables import IMPORTED_GAMES, IMPORTS, RATING_EVENTS, RATING_REVISIONS, TOURNAMENTS
from enginetour.store.tournaments import Store
from tests.support.databases import add_game, draft

FILE = 2  # key of the imported event; the tournament has 1


def incremental(settings: Settings) -> Iterator[str]:
    """Rate the games with Elo and a fixed K, compared with adding up their points in a plain loop."""
    engines, games = settings.rated
    dice = random.Random(games)
    pairs = [dice.sample(range(engines), 2) for _ in range(games)]
    white, black = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    scored = dice.choices((0, 1, 2), k=games)
    log = [RatedGame(str(w), str(b), s, n) for n, (w, b, s) in enumerate(zip(white, black, scored, strict=True), 1)]
    chosen = EloSettings()

    def added_up() -> list[int]:
        points = [0] * engines
        for one, other, half_points in zip(white, black, scored, strict=True):
            points[one] += half_points
            points[other] += 2 - half_points
        return points

    events, plain = in_turn(
        settings.rounds,
        lambda: rate(log, elo.begin(chosen, {})),
        added_up,
    )
    base = divided(plain, games)
    yield line(f"Elo events of {games} games: per game", divided(events, games), base, "a plain loop")
    with Store.open(settings.folder / "rated.db") as store:
        yield one_more(settings, store, list(zip(white, black, scored, strict=True)))


def one_more(settings: Settings, store: Store, games: list[tuple[int, int, int]]) -> str:
    """Update the ratings after one more game, compared with rating all games."""
    log = store.create_tournament(draft(names=tuple(f"Engine {n:04}" for n in range(settings.rated[0]))))
    imported(store, games)
    count = iter(range(1, settings.rounds + 1))

    def nothing_stored() -> int:
        with store.database.writing() as connection:
            connection.execute(RATING_EVENTS.delete())
            connection.execute(RATING_REVISIONS.delete())
        return update_ratings(store, "elo")

    def one() -> int:
        pairing = Pairing("Engine 0000", "Engine 0001", meeting=next(count), encounter=1)
        add_game(log, Game(pairing, Outcome.DRAW, Termination.RESIGN))
        return update_ratings(store, "elo")

    whole, more = in_turn(settings.rounds, nothing_stored, one)
    return line(f"stored Elo after game {len(games)} + 1", more, whole, "rating all games")


def imported(store: Store, games: list[tuple[int, int, int]]) -> None:
    """Store games of engines 1, 2, ... as if they had been imported from a file."""
    event = {"id": FILE, "name": "file", "slug": "file", "edition": 1, "system": "import", "format_version": 1}
    rows = [
        {
            "tournament": FILE,
            "white_engine": w + 1,
            "black_engine": b + 1,
            "white_half_points": s,
            "played_yyyymmdd": 0,
            "tc": "",
            "file_index": 0,
            "offset_bytes": 0,
        }
        for w, b, s in games
    ]
    tally = Counter(games)
    met = sorted({(w, b) for w, b, _ in games})
    sums = np.array([(w + 1, b + 1, *(tally[w, b, points] for points in (2, 1, 0))) for w, b in met]).T
    with store.database.writing() as connection:
        connection.execute(insert(TOURNAMENTS), {**event, "config": {}, "seed": 1, "created_unix": 0.0, "version": ""})
        sizes = {
            "files": (),
            "after_game": 0,
            "games": len(games),
            "duplicates": 0,
            "counts": pack_counts(sums),
            "digests": b"",
        }
        connection.execute(insert(IMPORTS), {"tournament": FILE, **sizes})
        connection.execute(insert(IMPORTED_GAMES), rows)
