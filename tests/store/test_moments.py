"""The store at an earlier time: a list of a moment does not follow what the store became later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.model.game import GameVoided, Outcome
from enginetour.store.address import Address
from enginetour.store.counts import (
    remove_imports,
)
from enginetour.store.definition import ListDefinition, define_list, revisions_of
from enginetour.store.editions import Edition, difference, make_edition, publish, read_edition
from enginetour.store.lists import rate_selection
from enginetour.store.log import TournamentLog
from enginetour.store.selection import select_games
from enginetour.store.tournaments import Store
from tests.support.databases import (
    draft,
    enter,
    findings,
    game,
    pgn,
    record,
    spec,
)

OWN, READ = "Fruit [f1]", "Fruit [imported]"


@pytest.fixture
def store(place: Address, tmp_path: Path) -> Iterator[Store]:
    """Fruit beat Toga here, and engines of the same names and Rebel met in a file."""
    path = tmp_path / "club.pgn"
    path.write_text(pgn(("Fruit", "Toga", "0-1"), ("Toga", "Rebel", "1/2-1/2"), ("Rebel", "Fruit", "1-0")))
    with Store.open(place) as opened:
        log = opened.create_tournament(draft("spring", ("Fruit", "Toga")))
        record(log, "Fruit", "Toga")
        enter(opened, path, "club")
        yield opened


def log_of(store: Store) -> TournamentLog:
    return store.tournament("spring")


def published(store: Store, **parts: object) -> Edition:
    define_list(store, "all", ListDefinition.model_validate(parts))
    return publish(store, "all")


def again(store: Store) -> Edition:
    """The first edition as its games give it now."""
    made, definition = read_edition(store, "all", 1), revisions_of(store, "all")[0].definition
    selection = select_games(store, definition, made.moment)
    return make_edition("all", 1, selection, rate_selection(store, selection))


@pytest.mark.parametrize("parts", [{}, {"min_games": 1, "tc": ("*",)}, {"by": "name"}, {"system": "elo"}])
def test_an_edition_outlives_its_import(store: Store, parts: dict[str, object]) -> None:
    """Two versions of one name fell together under it once the import that had told them apart was struck out."""
    made = published(store, **parts)
    remove_imports(store.database, ["club"])
    assert again(store).numbers() == made.numbers()
    assert again(store).versions == made.versions
    assert findings(store) == []


def test_marks_are_those_of_the_moment(store: Store) -> None:
    """With the import, after it was struck out, and before it came."""
    made = published(store)
    assert {line.name for line in made.lines} == {OWN, READ, "Rebel", "Toga [f1]", "Toga [imported]"}
    remove_imports(store.database, ["club"])
    assert {line.name for line in publish(store, "all").lines} == {"Fruit", "Toga"}
    then = select_games(store, ListDefinition(), made.moment)
    assert set(then.names) == set(made.versions)
    assert select_games(store, ListDefinition(), "game 1").names == ("Fruit", "Toga")


def test_a_difference_counts_what_an_import_took_along(store: Store) -> None:
    """The engine that stays kept its game: only the file's games went."""
    published(store)
    remove_imports(store.database, ["club"])
    found = difference(store, "all")
    assert [(move.name, move.new, move.struck) for move in found.moves] == [("Fruit", 0, 0), ("Toga", 0, 0)]
    assert sorted(name for name, _ in found.left) == [READ, "Rebel", "Toga [imported]"]
    assert [one.title for one in found.removed] == ["club"]


@pytest.mark.parametrize("parts", [{"aliases": {OWN: "Old"}}, {"engines": (OWN, "Toga*")}, {"anchors": {OWN: 2700.0}}])
def test_a_marked_name_means_one_version_at_every_moment(store: Store, parts: dict[str, object]) -> None:
    """What a mark named was another thing, or nothing, while no second version had games."""
    made = published(store, **parts)
    remove_imports(store.database, ["club"])
    assert findings(store) == []
    now = publish(store, "all")
    name = "Old" if "aliases" in parts else "Fruit"
    assert set(now.versions) == {name, "Toga"}
    assert [line.games for line in now.lines] == [1, 1]
    assert again(store).numbers() == made.numbers()


def test_a_pattern_fits_marks_of_the_moment_alone(store: Store) -> None:
    """A second version came, and a published list lost the engine that a mark now told apart."""
    remove_imports(store.database, ["club"])
    made = published(store, not_engines=("*f1?",))
    log_of(store).accept_change({"Fruit": spec("Fruit", "f2")})
    record(log_of(store), "Fruit", "Toga")
    assert findings(store) == []
    assert again(store).numbers() == made.numbers()


@pytest.mark.parametrize("parts", [{}, {"min_games": 1, "tc": ("*",)}])
def test_a_family_is_told_by_versions_with_games_in_the_list(store: Store, parts: dict[str, object]) -> None:
    """A version that came later told the family of its name, and a published best of families lost an engine."""
    made = published(store, by="name", best_of_family=True, **parts)
    with store.database.writing() as connection:
        connection.exec_driver_sql(
            "INSERT INTO engines (name, fingerprint, options, protocol, own_name, family, origin, command)"
            " VALUES ('Toga', 'f9', '[]', 'uci', '', 'Fruit', '', '[]')"
        )
    assert again(store).numbers() == made.numbers()


def test_a_game_voided_by_a_clock_that_was_set_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event written before the newest one by the clock took its game out of editions of before."""
    made = published(store)
    pairing = replace(game().pairing, meeting=log_of(store).games()[0].meeting)
    monkeypatch.setattr("time.time", lambda: 1.0)
    log_of(store).record_event(GameVoided(pairing, Outcome.WHITE), why="wrong book")
    assert again(store).numbers() == made.numbers()
    assert "Fruit [f1]" not in select_games(store, ListDefinition()).names
