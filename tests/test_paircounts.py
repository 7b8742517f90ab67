"""Kept counts: what a tournament writes row by row and an import in one piece reads the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from enginetour.model.game import GameVoided, Outcome
from enginetour.store.counts import added_up, by_pair, engines_in, joined, kept_counts, packed
from enginetour.store.tables import IMPORTS
from enginetour.store.tournaments import Store
from tests.listing_games import bring
from tests.storing import add_game, game, open_log


def test_rows_and_packed_counts_read_alike(tmp_path: Path) -> None:
    """Each tournament has its own counts, however they are kept, and some may be asked for alone."""
    store, log = open_log(tmp_path / "t.db")
    add_game(log, game())
    add_game(log, game(meeting=2, outcome=Outcome.DRAW))
    bring(store, [(2, 1, 2), (1, 2, 0), (2, 1, 1)])
    with store.database.reading() as connection:
        kept = kept_counts(connection)
        assert {event: by_pair(sums) for event, sums in kept.items()} == {
            1: {(1, 2): (1, 1, 0)},
            2: {(1, 2): (0, 0, 1), (2, 1): (1, 1, 0)},
        }
        assert set(kept_counts(connection, [2])) == {2}
        assert kept_counts(connection, []) == {}
    store.close()


def test_a_pair_without_results_has_met(tmp_path: Path) -> None:
    """A game that was struck out leaves its engines where they are, and no count."""
    store, log = open_log(tmp_path / "t.db")
    add_game(log, game())
    log.record_event(GameVoided(game().pairing, Outcome.WHITE))
    with store.database.reading() as connection:
        [sums] = kept_counts(connection).values()
    assert by_pair(sums) == {}
    assert engines_in(sums) == {1, 2}
    store.close()


def test_nothing_kept(tmp_path: Path) -> None:
    """A store without games has no counts, and no engine in none of them."""
    with Store.open(tmp_path / "t.db") as store, store.database.reading() as connection:
        assert kept_counts(connection) == {}
    assert joined([]).shape == (5, 0)
    assert engines_in(joined([])) == set()


def test_packed_numbers_are_the_same_on_every_machine(tmp_path: Path) -> None:
    """Little-endian, four bytes each, one line of the counts after the other."""
    store, _ = open_log(tmp_path / "t.db")
    assert packed(np.array([[1], [2], [3], [0], [258]])).hex() == "01000000020000000300000000000000" + "02010000"
    bring(store, [(1, 2, 2)] * 258)
    with store.database.reading() as connection:
        assert len(connection.execute(IMPORTS.select()).one().counts) == 20
        assert by_pair(kept_counts(connection)[2]) == {(1, 2): (258, 0, 0)}
    store.close()


def test_versions_of_one_name_are_added_up() -> None:
    """By the names of both; a version without a name is left out."""
    counts = {(1, 2): (1, 0, 0), (3, 2): (0, 1, 0), (2, 9): (0, 0, 1)}
    assert added_up(counts.items(), {1: "Fruit", 3: "Fruit", 2: "Toga"}) == {("Fruit", "Toga"): (1, 1, 0)}
