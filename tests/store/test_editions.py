"""Tests of lists and their editions."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.model.errors import UsageRefused
from enginetour.model.game import GameVoided, Outcome
from enginetour.reports import editions
from enginetour.reports.sheet import render
from enginetour.store.definition import ListDefinition, define_list, definition_changes, lists_of, revisions_of
from enginetour.store.editions import current_edition, difference, editions_of, make_edition, publish, read_edition
from enginetour.store.lists import rate_selection
from enginetour.store.selection import select_games
from enginetour.store.tournaments import Store
from tests.support.databases import bring, draft, game, record, spec
from tests.support.tournaments import config, read, tour

# Lists and editions.


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Fruit, Toga and Phalanx have each won and lost games."""
    with Store.open(tmp_path / "t.db") as opened:
        log = opened.create_tournament(draft())
        for white, black, outcome in (
            ("Fruit", "Toga", Outcome.WHITE),
            ("Toga", "Phalanx", Outcome.WHITE),
            ("Phalanx", "Fruit", Outcome.DRAW),
            ("Toga", "Fruit", Outcome.DRAW),
            ("Phalanx", "Toga", Outcome.WHITE),
        ):
            record(log, white, black, outcome)
        yield opened


def test_define(store: Store) -> None:
    """A changed definition makes a revision with its changes; the same definition writes nothing."""
    first, written = define_list(store, "blitz", ListDefinition(time_classes=("blitz",)))
    assert (first.revision, first.why, written) == (1, "first", True)
    assert define_list(store, "blitz", ListDefinition(time_classes=("blitz",))) == (first, False)
    second, _ = define_list(
        store, "blitz", ListDefinition(time_classes=("blitz",), model="davidson", anchors={"Toga": 10})
    )
    assert second.why == "model: logistic -> davidson; anchors: none -> Toga = 10"
    assert [revision.revision for revision in revisions_of(store, "blitz")] == [1, 2]
    assert [(found.revision.revision, found.edition) for found in lists_of(store)] == [(2, 0)]
    assert definition_changes(first.definition, first.definition) == []


def test_lists_are_named(store: Store) -> None:
    """An unknown list is an error with suggestions, and names of lists must be easy to type."""
    with pytest.raises(UsageRefused, match=r"rating list 'blits' not found.* enginetour lists define"):
        revisions_of(store, "blits")
    define_list(store, "blitz", ListDefinition())
    with pytest.raises(UsageRefused, match="did you mean 'blitz'"):
        read_edition(store, "blits")
    for name in ("", " blitz", "a#1", "x" * 65, "a\nb"):
        with pytest.raises(UsageRefused, match="is not a valid list name"):
            define_list(store, name, ListDefinition())


def test_publish(store: Store) -> None:
    """An edition never changes, whatever games are played later."""
    define_list(store, "all", ListDefinition())
    made = publish(store, "all", note="first snow")
    assert (made.number, made.note, made.games) == (1, "first snow", 5)
    assert [line.name for line in made.lines] == ["Fruit", "Phalanx", "Toga"]
    record(store.tournament("autumn"), "Toga", "Fruit")
    assert read_edition(store, "all", 1) == made
    second = publish(store, "all")
    assert [line.difference for line in second.lines] == [
        line.rating - next(old.rating for old in made.lines if old.name == line.name) for line in second.lines
    ]
    assert [found.number for found in editions_of(store, "all")] == [1, 2]
    assert read_edition(store, "all") == second


def test_nothing_new_is_not_published(store: Store) -> None:
    """An unchanged list is only published again on request, a list without engines never."""
    define_list(store, "all", ListDefinition())
    publish(store, "all")
    record(store.tournament("autumn"), "Toga", "Fruit", Outcome.VOID)
    with pytest.raises(UsageRefused, match=r"'all' has not changed since edition 1.*--again"):
        publish(store, "all")
    assert publish(store, "all", again=True).number == 2
    define_list(store, "all", ListDefinition(scale=403.5))
    assert publish(store, "all").revision == 2
    define_list(store, "none", ListDefinition(engines=("Crafty",)))
    with pytest.raises(UsageRefused, match="does not rate any engine yet"):
        publish(store, "none")


@pytest.mark.parametrize("system", ["ml", "elo", "gor"])
@pytest.mark.parametrize("since", [None, "2020-01-01"])
def test_edition_is_recomputed(store: Store, system: str, since: str | None) -> None:
    """An edition can be computed again after later games, annulments and new versions."""
    values = {"system": system, "since": since, "min_games": 1}
    definition = ListDefinition.model_validate_json(json.dumps(values))
    define_list(store, "all", definition)
    bring(store, [(1, 3, 1), (3, 2, 2)])
    log = store.tournament("autumn")
    early = log.games()[1]
    log.record_event(GameVoided(game("Toga", "Phalanx", meeting=early.meeting).pairing, Outcome.WHITE))
    made = publish(store, "all")
    late = log.games()[0]
    log.record_event(GameVoided(game(meeting=late.meeting).pairing, Outcome.WHITE))
    log.accept_change({"Fruit": spec("Fruit", "abcdef0123")})
    record(log, "Toga", "Fruit")
    bring(store, [(1, 3, 1)], name="rapid club")
    assert current_edition(store, "all").numbers() != made.numbers()
    again = select_games(store, definition, made.moment)
    assert make_edition("all", 1, again, rate_selection(store, again)).numbers() == made.numbers()


def test_best_of_family(store: Store) -> None:
    """Only the best engine of each family is shown, but the games of all engines count."""
    log = store.create_tournament(draft("second"))
    record(log, "HoiChess", "Fruit", Outcome.DRAW)
    whole = rate_selection(store, select_games(store, ListDefinition()))
    selection = select_games(store, ListDefinition(best_of_family=True))
    one_family = replace(selection, families={name: "Fruit" if name != "Toga" else "Toga" for name in selection.names})
    found = rate_selection(store, one_family)
    first = whole.rows[0]
    assert [(row.name, row.rating, row.rank) for row in found.rows] == [
        (first.name, first.rating, 1),
        ("Toga", next(row.rating for row in whole.rows if row.name == "Toga"), 2),
    ]
    assert found.games == whole.games
    basis = first.basis
    assert basis is not None
    best, other = (basis.fit.names.index(row.name) for row in found.rows)
    assert [row.los for row in found.rows] == [basis.errors.los(best, other), None]
    assert "best engine of each family: 2 of 4 engines; the games of all engines count" in found.caption


# Editions of tournaments.


def test_the_next_edition_has_other_openings(tmp_path: Path) -> None:
    """The next edition of a tournament has other openings, so that deterministic engines do not repeat games."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "cycles = 3")
    path.write_text(path.read_text().replace("seed = 4", 'seed = 4\norder = "file"'))
    tour(tmp_path, "run", path.name)
    tour(tmp_path, "run", path.name, "--new")
    first, second = (
        [read(tmp_path, "games", str(number), "--edition", edition)["opening"]["name"] for number in (1, 2, 3)]
        for edition in ("1", "2")
    )
    assert not set(first) & set(second)


# Differences of two states of a list.

BOTH = (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK, Outcome.DRAW)


@pytest.fixture
def differences_store(tmp_path: Path) -> Iterator[Store]:
    """Edition 1 of "all" has three equal engines."""
    with Store.open(tmp_path / "t.db") as opened:
        log = opened.create_tournament(draft())
        for white, black in (("Fruit", "Toga"), ("Toga", "Phalanx"), ("Phalanx", "Fruit")):
            for outcome in BOTH:
                record(log, white, black, outcome)
        define_list(opened, "all", ListDefinition())
        publish(opened, "all")
        yield opened


def test_nothing_moves(differences_store: Store) -> None:
    """Without new games there is no difference."""
    found = difference(differences_store, "all")
    assert [(move.name, move.change, move.new, move.own, move.others) for move in found.moves] == [
        (name, 0.0, 0, 0.0, 0.0) for name in ("Fruit", "Phalanx", "Toga")
    ]
    assert (found.entered, found.left, found.struck, found.changes, found.new_games) == ((), (), (), (), 0)


def test_own_games_and_those_of_others(differences_store: Store) -> None:
    """The parts of a change (own games, games of others) add up to it."""
    log = differences_store.tournament("autumn")
    record(log, "Fruit", "Toga")
    record(log, "Fruit", "Toga")
    found = {move.name: move for move in difference(differences_store, "all").moves}
    assert (found["Fruit"].new, found["Toga"].new, found["Phalanx"].new) == (2, 2, 0)
    for move in found.values():
        assert move.own is not None
        assert move.others is not None
        assert move.own + move.others == pytest.approx(move.change, abs=1e-9)
        assert move.terms == 0
    assert found["Fruit"].own == pytest.approx(found["Fruit"].change, abs=1e-6), "all new games are its own"
    assert found["Phalanx"].own == pytest.approx(0, abs=1e-6)


def test_games_of_two_causes(differences_store: Store) -> None:
    """The part of an engine's own games is separate from the part of its opponents' games."""
    log = differences_store.tournament("autumn")
    record(log, "Fruit", "Toga")
    record(log, "Toga", "Phalanx")
    record(log, "Toga", "Phalanx")
    move = next(move for move in difference(differences_store, "all").moves if move.name == "Fruit")
    assert move.own is not None
    assert move.others is not None
    assert move.own > 10
    assert move.others > 1, "Toga turned out to be stronger than it was thought"


def test_who_came_and_who_went(differences_store: Store) -> None:
    """New engines, missing engines, annulled games and changed settings are listed with their reasons."""
    log = differences_store.tournament("autumn")
    record(log, "HoiChess", "Toga", Outcome.DRAW)
    first = log.games()[0]
    log.record_event(GameVoided(game(meeting=first.meeting).pairing, Outcome.WHITE), why="wrong book")
    define_list(differences_store, "all", ListDefinition(not_engines=("Phalanx",), scale=800.0))
    found = difference(differences_store, "all")
    assert found.entered == (("HoiChess", 1),)
    assert found.left == (("Phalanx", "no games in the list"),)
    assert [(gone.number, gone.why) for gone in found.struck] == [(1, "wrong book")]
    assert found.changes == ("scale: 400 -> 800", "not_engines: all -> Phalanx")
    moves = {move.name: move for move in found.moves}
    assert (moves["Fruit"].new, moves["Fruit"].struck) == (0, 1)
    assert moves["Toga"].terms == pytest.approx(0, abs=1e-6), "equal engines stand in the middle on every scale"
    assert moves["Fruit"].others is not None


def test_versions_keep_their_identity(differences_store: Store) -> None:
    """A second version changes the name of the first version, not its identity."""
    log = differences_store.tournament("autumn")
    log.accept_change({"Fruit": spec("Fruit", "abcdef0123")})
    record(log, "Fruit", "Toga", Outcome.DRAW)
    found = difference(differences_store, "all")
    assert found.entered == (("Fruit [abcdef01]", 1),)
    assert found.left == ()
    assert {move.name for move in found.moves} == {"Fruit [f1]", "Phalanx", "Toga"}


def test_two_editions(differences_store: Store) -> None:
    """Two editions are compared as they were published, without later games."""
    log = differences_store.tournament("autumn")
    record(log, "Fruit", "Toga")
    publish(differences_store, "all")
    record(log, "Toga", "Fruit")
    found = difference(differences_store, "all", 1, 2)
    assert found.new_games == 1
    assert (found.before.number, found.after.number) == (1, 2)
    assert difference(differences_store, "all", 1).new_games == 2
    assert difference(differences_store, "all").new_games == 1, "the newest edition against now"
    with pytest.raises(UsageRefused, match="edition 2 is not before edition 1"):
        difference(differences_store, "all", 2, 1)
    with pytest.raises(UsageRefused, match=r"edition 3 of the list 'all' does not exist.*from 1 to 2"):
        difference(differences_store, "all", 3)


@pytest.fixture
def apart(differences_store: Store) -> Store:
    """Edition 1 of "main", with anchors, has two pools: the three engines of "all", and two others."""
    log = differences_store.create_tournament(draft("apart", ("Rebel", "Rodent")))
    for outcome in BOTH:
        record(log, "Rebel", "Rodent", outcome)
    define_list(differences_store, "main", ListDefinition(anchors={"Toga": 2244.4}))
    publish(differences_store, "main")
    return differences_store


def moved(differences_store: Store) -> dict[str, float | None]:
    return {move.name: move.change for move in difference(differences_store, "main").moves}


def test_another_zero_point_is_no_move(apart: Store) -> None:
    """If a pool is joined to another one, its ratings have no change, because the zero point is different."""
    log = apart.create_tournament(draft("joined", ("Fruit", "Rebel")))
    record(log, "Fruit", "Rebel", Outcome.DRAW)
    found = difference(apart, "main")
    assert [(move.name, move.change, move.note) for move in found.moves[-2:]] == [
        (name, None, "other pool") for name in ("Rebel", "Rodent")
    ]
    assert {name for name, change in moved(apart).items() if change is not None} == {"Fruit", "Phalanx", "Toga"}
    assert all(move.own is None for move in found.moves if move.change is None)
    sheet = editions.difference_sheet(found.to_json(), None)
    assert {row["name"]: row["change"] for row in csv.DictReader(io.StringIO(sheet.csv()))}["Rebel"] == ""
    assert "Rebel" in next(line for line in render(sheet).splitlines() if "other pool" in line)


def test_an_edition_shows_another_pool(apart: Store) -> None:
    """After a change of pools, an edition shows no differences; the next edition shows them again."""
    log = apart.create_tournament(draft("joined", ("Fruit", "Rebel")))
    record(log, "Fruit", "Rebel", Outcome.DRAW)
    lines = {line.name: line for line in publish(apart, "main").lines}
    assert (lines["Rebel"].difference, lines["Rebel"].remarks[-1:]) == (None, ("other pool",))
    assert lines["Toga"].difference == 0
    sheet = editions.edition_sheet(read_edition(apart, "main", 2).to_json() | {"made": "today"})
    cells = {row["name"]: shown["difference"] for row, shown in zip(sheet.rows, sheet.shown, strict=True)}
    assert (cells["Rebel"], cells["Toga"]) == ("other pool", "+0.0")
    assert (
        sum("other pool: the rating pool has a different zero point than before" in note for note in sheet.notes) == 1
    )
    with pytest.raises(UsageRefused, match="has not changed"):
        publish(apart, "main")
    assert {line.difference for line in publish(apart, "main", again=True).lines} == {0.0}


def test_pools_that_grow_keep_their_zero_point(apart: Store) -> None:
    """A pool keeps its zero point if engines join it; a divided pool keeps it in the larger part."""
    record(apart.create_tournament(draft("more", ("Rebel", "Ruffian"))), "Rebel", "Ruffian", Outcome.DRAW)
    record(apart.create_tournament(draft("less", ("Fruit", "Hoi"))), "Fruit", "Hoi", Outcome.DRAW)
    assert None not in moved(apart).values()
    define_list(apart, "main", ListDefinition(anchors={"Toga": 2200.0}))
    assert moved(apart)["Toga"] == pytest.approx(-44.4), "what other terms change is their part of the move"
    assert moved(apart)["Rebel"] is not None


def test_incremental_lists(differences_store: Store) -> None:
    """An incremental list has changes and counts, but no parts of changes."""
    define_list(differences_store, "elo", ListDefinition(system="elo"))
    publish(differences_store, "elo")
    record(differences_store.tournament("autumn"), "Fruit", "Toga")
    moves = {move.name: move for move in difference(differences_store, "elo").moves}
    assert (moves["Fruit"].change or 0) > 0
    assert (moves["Fruit"].own, moves["Phalanx"].change) == (None, 0)
