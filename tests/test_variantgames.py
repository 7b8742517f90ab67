"""Tournaments of variants in the store: kept with their games, and in lists of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.model.game import Opening, Outcome
from enginetour.store import codecs
from enginetour.store.counts import odd_ones
from enginetour.store.definition import ListDefinition
from enginetour.store.ratings import number_rated, rated_games
from enginetour.store.selection import selected
from enginetour.store.tournaments import Store
from tests.storing import add_game, draft, game


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two games of standard chess, three of Chess960."""
    made = Store.open(tmp_path / "t.db")
    for name, variant, games in (("old", None, 1), ("usual", "standard", 1), ("shuffled", "chess960", 3)):
        play = {} if variant is None else {"play": {"variant": variant}}  # older configurations do not say
        plan = replace(draft(name), config={**draft().config, **play})
        log = made.create_tournament(plan)
        for meeting in range(1, games + 1):
            add_game(log, game(outcome=Outcome.WHITE, meeting=meeting))
    return made


def test_a_list_is_of_one_variant(store: Store) -> None:
    """Standard unless asked; what is left out is told, from kept counts and from games alike."""
    with store:
        usual = selected(store, ListDefinition())
        shuffled = selected(store, ListDefinition(variant="chess960"))
        assert (usual.games, usual.left_out) == (2, {"variant": 3})
        assert (shuffled.games, shuffled.left_out) == (3, {"variant": 2})
        now = "2100-01-01"
        assert selected(store, ListDefinition(), now).left_out == {"variant": 3}
        assert selected(store, ListDefinition(variant="chess960", tc=("*",)), now).games == 3
        assert selected(store, ListDefinition(tournaments=("usual",))).left_out == {"variant": 3, "tournament": 1}


def test_rating_events_are_of_standard_chess(store: Store) -> None:
    """The streams of incremental systems never see another game."""
    with store, store.database.reading() as connection:
        assert len(list(rated_games(connection))) == number_rated(connection) == 2
        assert list(odd_ones(connection).values()) == ["chess960"]


def test_an_unknown_variant_is_no_list() -> None:
    """The nearest one is named."""
    with pytest.raises(ValueError, match="did you mean 'crazyhouse'"):
        ListDefinition(variant="crazyhous")


def test_the_variant_of_a_game_comes_back() -> None:
    """With its opening; rows of older databases say nothing of it and are standard."""
    opening = Opening("SP 7", 8, "8/8/8/8/8/8/8/8 w - - 0 1", (), "", "chess960")
    text = str(codecs.game_columns(replace(game(), opening=opening))["opening"])
    assert codecs._opening_of(text) == opening
    assert codecs._opening_of('["x",3,null,["e2e4"]]') == Opening("x", 3, None, ("e2e4",))
