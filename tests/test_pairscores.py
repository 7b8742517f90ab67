"""Pairs of games on one opening, read from the store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from enginetour.model.game import GameVoided, Opening, Outcome
from enginetour.ratings.ratinglist import rating_list
from enginetour.store.selection import openings_of, openings_of_tournament
from enginetour.store.tables import GAMES
from tests.storing import add_game, counted_pairs, draft, game, open_log

WHITE, DRAW, BLACK = Outcome.WHITE, Outcome.DRAW, Outcome.BLACK


def test_pairs_by_the_points_of_the_first_name(tmp_path: Path) -> None:
    """Whichever version is older in the store, points are those of the name that sorts first; lone games are none."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        for meeting, (first, second) in enumerate(((WHITE, BLACK), (WHITE, DRAW), (DRAW, DRAW), (BLACK, WHITE)), 1):
            add_game(log, game("Toga", "Fruit", first, meeting=meeting, leg=1))
            add_game(log, game("Fruit", "Toga", second, meeting=meeting, leg=2))
        add_game(log, game("Toga", "HoiChess", WHITE, leg=1))
        add_game(log, game("HoiChess", "Toga", BLACK, leg=2))
        add_game(log, game("Toga", "Fruit", WHITE, meeting=9, leg=1))
        found = openings_of(store.database)
        assert found == {("Fruit", "Toga"): (1, 1, 1, 0, 1), ("HoiChess", "Toga"): (1, 0, 0, 0, 0)}
        assert openings_of_tournament(log) == found
        turned = openings_of(store.database, GAMES.c.meeting > 1, names={1: "x", 2: "a"})
        assert turned == {("a", "x"): (1, 0, 1, 1, 0)}
        assert "5 pairs" in rating_list(counted_pairs(store), openings=found).caption[-2]


def test_legs_that_are_no_pair(tmp_path: Path) -> None:
    """A void or struck leg, twice the same colours, another opening; legs 3 and 4 are a pair of their own."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game(leg=1))
        add_game(log, game("Toga", "Fruit", Outcome.VOID, leg=2))
        for leg in (3, 4):
            add_game(log, game(*(("Fruit", "Toga") if leg % 2 else ("Toga", "Fruit")), DRAW, leg=leg))
        add_game(log, game(meeting=2, leg=1))
        add_game(log, game(meeting=2, leg=2))
        add_game(log, game(meeting=3, leg=1))
        add_game(log, replace(game("Toga", "Fruit", meeting=3, leg=2), opening=Opening("B20", 3, "", ("e2e4",))))
        assert openings_of(store.database) == {("Fruit", "Toga"): (0, 0, 1, 0, 0)}
        add_game(log, game("Toga", "Fruit", DRAW, leg=2, replay=1))
        assert openings_of(store.database) == {("Fruit", "Toga"): (0, 0, 1, 1, 0)}
        struck = game("Toga", "Fruit", DRAW, leg=4)
        log.record_event(GameVoided(struck.pairing, struck.outcome, "power cut"))
        assert openings_of(store.database) == {("Fruit", "Toga"): (0, 0, 0, 1, 0)}


def test_versions_and_tournaments(tmp_path: Path) -> None:
    """Legs of two tournaments, or of two versions, are no pair; versions of a name are added up when asked."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game(leg=1))
        later = store.create_tournament(draft("winter", fingerprint="f2"))
        add_game(later, game("Toga", "Fruit", DRAW, leg=2))
        assert openings_of(store.database) == {}
        add_game(later, game("Fruit", "Toga", DRAW, leg=1))
        add_game(log, game("Toga", "Fruit", BLACK, leg=2))
        assert openings_of(store.database) == {
            ("Fruit [f1]", "Toga [f1]"): (0, 0, 0, 0, 1),
            ("Fruit [f2]", "Toga [f2]"): (0, 0, 1, 0, 0),
        }
        assert openings_of_tournament(later) == {("Fruit", "Toga"): (0, 0, 1, 0, 0)}
