"""Where rating goes on, and when everything is rated again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from sqlalchemy import insert, update

from enginetour.model.game import Added, Entrant, GameVoided, Outcome
from enginetour.ratings import elo
from enginetour.ratings.elo import EloSettings
from enginetour.store import ratings
from enginetour.store.counts import packed
from enginetour.store.log import TournamentLog
from enginetour.store.ratings import Mark, history, rated_games, refresh, stream
from enginetour.store.tables import IMPORTED_GAMES, IMPORTS, RATING_EVENTS, TOURNAMENTS
from enginetour.store.tournaments import Store
from tests.storing import add_game, draft, game, spec


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "t.db") as opened, patch.object(ratings, "AGAIN", 0):
        yield opened


def start(store: Store, name: str = "autumn", rating: float | None = None) -> TournamentLog:
    return store.create_tournament(replace(draft(name), entrants=(Entrant("Fruit", rating=rating), Entrant("Toga"))))


def never_whole() -> object:
    return patch.object(ratings, "_whole", side_effect=AssertionError("everything was rated again"))


def imported(store: Store, after_game: int) -> None:
    """Two draws from a file."""
    with store.database.writing() as connection:
        own = {"id": 9, "name": "file", "slug": "file", "edition": 1, "system": "import", "seed": 1, "created": 0.0}
        connection.execute(insert(TOURNAMENTS), {**own, "format_version": 1, "config": "{}", "version": ""})
        sizes = {"games": 2, "duplicates": 0, "digests": b"", "files": "[]"}
        sizes["counts"] = packed(np.array([[1], [2], [0], [2], [0]]))
        connection.execute(insert(IMPORTS), {"tournament": 9, "after_game": after_game, **sizes})
        row = {"tournament": 9, "white": 1, "black": 2, "half_points": 1, "day": 0, "tc": "", "file": 0}
        connection.execute(insert(IMPORTED_GAMES), [{**row, "offset": place} for place in range(2)])


def test_an_import_stands_where_it_was_made(store: Store) -> None:
    """Imported games follow those that had been played here by then, and those played later follow them."""
    log = start(store)
    add_game(log, game())
    imported(store, after_game=1)
    add_game(log, game(meeting=2))
    with store.database.reading() as connection:
        assert [rated.game for rated in rated_games(connection)] == [1, -1, -2, 2]
        assert [rated.game for rated in rated_games(connection, Mark(1, 1))] == [-2, 2]


def test_new_games_are_all_that_is_rated(store: Store) -> None:
    """After an import, a new version that inherited and a struck game, one more game costs one game."""
    log, chosen = start(store), EloSettings(inherit=True)
    add_game(log, game())
    imported(store, after_game=1)
    add_game(log, game(meeting=2))
    log.accept_change({"Fruit": spec("Fruit", "f2")})
    add_game(log, game(meeting=3))
    log.accept_change({"Fruit": spec("Fruit", "f1")})
    add_game(log, game(meeting=4))
    assert refresh(store, "elo", chosen) == 12
    with never_whole():  # type: ignore[attr-defined]
        add_game(log, game(meeting=5))
        assert refresh(store, "elo") == 2
        log.record_event(GameVoided(game(meeting=4).pairing, Outcome.WHITE))
        assert refresh(store, "elo") == 2
        add_game(log, game(meeting=6))
        assert refresh(store, "elo") == 2
    entered = next(event for event in history(store, "elo", "Fruit") if event.engine == "Fruit [f2]")
    assert entered.before == history(store, "elo", "Fruit")[3].after


def test_a_peak_of_long_ago(store: Store) -> None:
    """Whoever once reached 2400 keeps the small K, although the rows since are of another revision."""
    log = start(store, rating=2395)
    with patch.object(elo, "NEW_GAMES", 1):
        for meeting in (1, 2, 3, 4, 5, 6):
            outcome = Outcome.BLACK if meeting > 1 else Outcome.WHITE
            add_game(log, game("Fruit", "Toga", outcome, meeting=meeting))
        refresh(store, "elo", EloSettings(k_policy="fide", start_value=2395))
        log.record_event(GameVoided(game(meeting=3).pairing, Outcome.BLACK))
        refresh(store, "elo")
        add_game(log, game(meeting=7))
        with never_whole():  # type: ignore[attr-defined]
            refresh(store, "elo")
        own = history(store, "elo", "Fruit")
    assert own[0].after > 2400 > own[-1].before
    assert own[-1].weight == 10


def test_a_rating_that_came_late(store: Store) -> None:
    """An engine that enters an older tournament with a rating has had it from its first game on."""
    older, newer = store.create_tournament(draft(names=("Toga", "Phalanx"))), start(store, "spring")
    add_game(newer, game())
    refresh(store, "elo")
    older.record_event(Added(Entrant("Fruit", rating=1500)), spec=spec("Fruit"))
    add_game(newer, game(meeting=2))
    assert refresh(store, "elo") == 4
    assert history(store, "elo", "Fruit")[0].before == 1500


def test_other_settings_rate_everything(store: Store) -> None:
    """No row of other settings is gone on from."""
    add_game(start(store), game())
    refresh(store, "elo")
    assert refresh(store, "elo", EloSettings(k=24)) == 2


def test_rows_of_another_arithmetic(store: Store) -> None:
    """Rows just before the new games that are not what a replay gives are a reason to rate everything."""
    log = start(store)
    add_game(log, game())
    refresh(store, "elo")
    with store.database.writing() as connection:
        connection.execute(update(RATING_EVENTS).values(change=7.5))
    add_game(log, game(meeting=2))
    with patch.object(ratings, "AGAIN", 1):
        assert refresh(store, "elo") == 4
    with store.database.reading() as connection:
        assert {span.revision for span in stream(connection, "elo").spans} == {2}
