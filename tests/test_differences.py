"""What moved between two states of a list."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from enginetour.model.errors import UsageRefused
from enginetour.model.game import GameVoided, Outcome
from enginetour.reports import editions
from enginetour.reports.sheet import render
from enginetour.store.definition import ListDefinition, define
from enginetour.store.editions import difference, edition, publish
from enginetour.store.tournaments import Store
from tests.listing_games import record
from tests.storing import draft, game, spec

BOTH = (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK, Outcome.DRAW)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Edition 1 of "all": three engines that are equal."""
    with Store.open(tmp_path / "t.db") as opened:
        log = opened.create_tournament(draft())
        for white, black in (("Fruit", "Toga"), ("Toga", "Phalanx"), ("Phalanx", "Fruit")):
            for outcome in BOTH:
                record(log, white, black, outcome)
        define(opened, "all", ListDefinition())
        publish(opened, "all")
        yield opened


def test_nothing_moves(store: Store) -> None:
    """Without new games nobody moves, and there is nothing to tell."""
    found = difference(store, "all")
    assert [(move.name, move.change, move.new, move.own, move.others) for move in found.moves] == [
        (name, 0.0, 0, 0.0, 0.0) for name in ("Fruit", "Phalanx", "Toga")
    ]
    assert (found.entered, found.left, found.struck, found.changes, found.new_games) == ((), (), (), (), 0)


def test_own_games_and_those_of_others(store: Store) -> None:
    """A move is the part of own games and that of others, and they add up; without a game all is of others."""
    log = store.tournament("autumn")
    record(log, "Fruit", "Toga")
    record(log, "Fruit", "Toga")
    found = {move.name: move for move in difference(store, "all").moves}
    assert (found["Fruit"].new, found["Toga"].new, found["Phalanx"].new) == (2, 2, 0)
    for move in found.values():
        assert move.own is not None
        assert move.others is not None
        assert move.own + move.others == pytest.approx(move.change, abs=1e-9)
        assert move.terms == 0
    assert found["Fruit"].own == pytest.approx(found["Fruit"].change, abs=1e-6), "all new games are its own"
    assert found["Phalanx"].own == pytest.approx(0, abs=1e-6)


def test_games_of_two_causes(store: Store) -> None:
    """What an engine would have gained from its own games alone is told apart from what its opponents gained."""
    log = store.tournament("autumn")
    record(log, "Fruit", "Toga")
    record(log, "Toga", "Phalanx")
    record(log, "Toga", "Phalanx")
    move = next(move for move in difference(store, "all").moves if move.name == "Fruit")
    assert move.own is not None
    assert move.others is not None
    assert move.own > 10
    assert move.others > 1, "Toga turned out to be stronger than it was thought"


def test_who_came_and_who_went(store: Store) -> None:
    """New engines, those that are left out, games struck out and terms that changed are named with their reasons."""
    log = store.tournament("autumn")
    record(log, "HoiChess", "Toga", Outcome.DRAW)
    first = log.games()[0]
    log.record_event(GameVoided(game(meeting=first.meeting).pairing, Outcome.WHITE), why="wrong book")
    define(store, "all", ListDefinition(not_engines=("Phalanx",), scale=800.0))
    found = difference(store, "all")
    assert found.entered == (("HoiChess", 1),)
    assert found.left == (("Phalanx", "no games that the list takes"),)
    assert [(gone.number, gone.why) for gone in found.struck] == [(1, "wrong book")]
    assert found.changes == ("scale: 400 -> 800", "not_engines: all -> Phalanx")
    moves = {move.name: move for move in found.moves}
    assert (moves["Fruit"].new, moves["Fruit"].struck) == (0, 1)
    assert moves["Toga"].terms == pytest.approx(0, abs=1e-6), "equal engines stand in the middle on every scale"
    assert moves["Fruit"].others is not None


def test_versions_keep_their_identity(store: Store) -> None:
    """A second version changes what the first is called, not who it is."""
    log = store.tournament("autumn")
    log.accept_change({"Fruit": spec("Fruit", "abcdef0123")})
    record(log, "Fruit", "Toga", Outcome.DRAW)
    found = difference(store, "all")
    assert found.entered == (("Fruit [abcdef01]", 1),)
    assert found.left == ()
    assert {move.name for move in found.moves} == {"Fruit [f1]", "Phalanx", "Toga"}


def test_two_editions(store: Store) -> None:
    """Two editions are compared as they were published; what came later plays no part."""
    log = store.tournament("autumn")
    record(log, "Fruit", "Toga")
    publish(store, "all")
    record(log, "Toga", "Fruit")
    found = difference(store, "all", 1, 2)
    assert found.new_games == 1
    assert (found.before.number, found.after.number) == (1, 2)
    assert difference(store, "all", 1).new_games == 2
    assert difference(store, "all").new_games == 1, "the newest edition against now"
    with pytest.raises(UsageRefused, match="edition 2 is not before edition 1"):
        difference(store, "all", 2, 1)
    with pytest.raises(UsageRefused, match="no edition 3, it has 1 to 2"):
        difference(store, "all", 3)


@pytest.fixture
def apart(store: Store) -> Store:
    """Edition 1 of "main", anchored, of two pools: the three of "all", and two that never met them."""
    log = store.create_tournament(draft("apart", ("Rebel", "Rodent")))
    for outcome in BOTH:
        record(log, "Rebel", "Rodent", outcome)
    define(store, "main", ListDefinition(anchors={"Toga": 2244.4}))
    publish(store, "main")
    return store


def moved(store: Store) -> dict[str, float | None]:
    return {move.name: move.change for move in difference(store, "main").moves}


def test_another_zero_point_is_no_move(apart: Store) -> None:
    """Two engines of an unanchored pool meet the anchor's: the change of 2244.4 points is no change of strength."""
    log = apart.create_tournament(draft("joined", ("Fruit", "Rebel")))
    record(log, "Fruit", "Rebel", Outcome.DRAW)
    found = difference(apart, "main")
    assert [(move.name, move.change, move.note) for move in found.moves[-2:]] == [
        (name, None, "other pool") for name in ("Rebel", "Rodent")
    ]
    assert {name for name, change in moved(apart).items() if change is not None} == {"Fruit", "Phalanx", "Toga"}
    assert all(move.own is None for move in found.moves if move.change is None)
    sheet = editions.difference(found.to_json(), None)
    assert {row["name"]: row["change"] for row in csv.DictReader(io.StringIO(sheet.csv()))}["Rebel"] == ""
    assert "Rebel" in next(line for line in render(sheet).splitlines() if "other pool" in line)


def test_an_edition_shows_another_pool(apart: Store) -> None:
    """Neither a difference nor a new engine; the next edition has its differences again, and nothing else changed."""
    log = apart.create_tournament(draft("joined", ("Fruit", "Rebel")))
    record(log, "Fruit", "Rebel", Outcome.DRAW)
    lines = {line.name: line for line in publish(apart, "main").lines}
    assert (lines["Rebel"].difference, lines["Rebel"].remarks[-1:]) == (None, ("other pool",))
    assert lines["Toga"].difference == 0
    sheet = editions.edition(edition(apart, "main", 2).to_json() | {"made": "today"})
    cells = {row["name"]: shown["difference"] for row, shown in zip(sheet.rows, sheet.shown, strict=True)}
    assert (cells["Rebel"], cells["Toga"]) == ("other pool", "+0.0")
    assert sum("other pool: measured from another zero point" in note for note in sheet.notes) == 1
    with pytest.raises(UsageRefused, match="nothing has changed"):
        publish(apart, "main")
    assert {line.difference for line in publish(apart, "main", again=True).lines} == {0.0}


def test_pools_that_grow_keep_their_zero_point(apart: Store) -> None:
    """New engines join a pool, with an anchor or without; a pool that falls apart keeps it in its larger part."""
    record(apart.create_tournament(draft("more", ("Rebel", "Ruffian"))), "Rebel", "Ruffian", Outcome.DRAW)
    record(apart.create_tournament(draft("less", ("Fruit", "Hoi"))), "Fruit", "Hoi", Outcome.DRAW)
    assert None not in moved(apart).values()
    define(apart, "main", ListDefinition(anchors={"Toga": 2200.0}))
    assert moved(apart)["Toga"] == pytest.approx(-44.4), "what other terms change is their part of the move"
    assert moved(apart)["Rebel"] is not None


def test_incremental_lists(store: Store) -> None:
    """An incremental list has moves and counts; its moves are not taken apart."""
    define(store, "elo", ListDefinition(system="elo"))
    publish(store, "elo")
    record(store.tournament("autumn"), "Fruit", "Toga")
    moves = {move.name: move for move in difference(store, "elo").moves}
    assert (moves["Fruit"].change or 0) > 0
    assert (moves["Fruit"].own, moves["Phalanx"].change) == (None, 0)
