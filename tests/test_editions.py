"""Lists by name and their editions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.model.errors import UsageRefused
from enginetour.model.game import GameVoided, Outcome
from enginetour.store.definition import ListDefinition, changes, define, lists_of, revisions_of
from enginetour.store.editions import current, edition, edition_of, editions_of, publish
from enginetour.store.lists import list_of
from enginetour.store.selection import selected
from enginetour.store.tournaments import Store
from tests.listing_games import bring, record
from tests.storing import draft, game, spec


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Fruit, Toga and Phalanx have taken points from each other."""
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
    """A list gets a revision for what is new, and says what changed; the same again writes nothing."""
    first, written = define(store, "blitz", ListDefinition(time_classes=("blitz",)))
    assert (first.number, first.why, written) == (1, "first", True)
    assert define(store, "blitz", ListDefinition(time_classes=("blitz",))) == (first, False)
    second, _ = define(store, "blitz", ListDefinition(time_classes=("blitz",), model="davidson", anchors={"Toga": 10}))
    assert second.why == "model: logistic -> davidson; anchors: none -> Toga = 10"
    assert [revision.number for revision in revisions_of(store, "blitz")] == [1, 2]
    assert [(found.revision.number, found.edition) for found in lists_of(store)] == [(2, 0)]
    assert changes(first.definition, first.definition) == []


def test_lists_are_named(store: Store) -> None:
    """A list that is not there is answered with what there is, and a name is one that can be typed."""
    with pytest.raises(UsageRefused, match="no list 'blits'; enginetour lists define"):
        revisions_of(store, "blits")
    define(store, "blitz", ListDefinition())
    with pytest.raises(UsageRefused, match="did you mean 'blitz'"):
        edition(store, "blits")
    for name in ("", " blitz", "a#1", "x" * 65, "a\nb"):
        with pytest.raises(UsageRefused, match="a list's name is"):
            define(store, name, ListDefinition())


def test_publish(store: Store) -> None:
    """An edition is what was there when it was made, to the last bit, whatever came after."""
    define(store, "all", ListDefinition())
    made = publish(store, "all", note="first snow")
    assert (made.number, made.note, made.games) == (1, "first snow", 5)
    assert [line.name for line in made.lines] == ["Fruit", "Phalanx", "Toga"]
    record(store.tournament("autumn"), "Toga", "Fruit")
    assert edition(store, "all", 1) == made
    second = publish(store, "all")
    assert [line.difference for line in second.lines] == [
        line.rating - next(old.rating for old in made.lines if old.name == line.name) for line in second.lines
    ]
    assert [found.number for found in editions_of(store, "all")] == [1, 2]
    assert edition(store, "all") == second


def test_nothing_new_is_not_published(store: Store) -> None:
    """The same list is not published twice, unless asked; a list without engines never."""
    define(store, "all", ListDefinition())
    publish(store, "all")
    record(store.tournament("autumn"), "Toga", "Fruit", Outcome.VOID)
    with pytest.raises(UsageRefused, match="nothing has changed since edition 1 of 'all'; --again"):
        publish(store, "all")
    assert publish(store, "all", again=True).number == 2
    define(store, "all", ListDefinition(scale=403.5))
    assert publish(store, "all").revision == 2
    define(store, "none", ListDefinition(engines=("Crafty",)))
    with pytest.raises(UsageRefused, match="rates no engine yet"):
        publish(store, "none")


@pytest.mark.parametrize("system", ["ml", "elo", "gor"])
@pytest.mark.parametrize("since", [None, "2020-01-01"])
def test_edition_is_recomputed(store: Store, system: str, since: str | None) -> None:
    """From its last games an edition comes out again, though games came, were struck out, and versions joined since."""
    values = {"system": system, "since": since, "min_games": 1}
    definition = ListDefinition.model_validate_json(json.dumps(values))
    define(store, "all", definition)
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
    assert current(store, "all").numbers() != made.numbers()
    again = selected(store, definition, made.moment)
    assert edition_of("all", 1, again, list_of(store, again)).numbers() == made.numbers()


def test_best_of_family(store: Store) -> None:
    """Only the best of each family is shown, while the games of all count."""
    log = store.create_tournament(draft("second"))
    record(log, "HoiChess", "Fruit", Outcome.DRAW)
    whole = list_of(store, selected(store, ListDefinition()))
    selection = selected(store, ListDefinition(best_of_family=True))
    one_family = replace(selection, families={name: "Fruit" if name != "Toga" else "Toga" for name in selection.names})
    found = list_of(store, one_family)
    first = whole.rows[0]
    assert [(row.name, row.rating, row.rank) for row in found.rows] == [
        (first.name, first.rating, 1),
        ("Toga", next(row.rating for row in whole.rows if row.name == "Toga"), 2),
    ]
    assert found.games == whole.games
    ground = first.ground
    assert ground is not None
    best, other = (ground.fit.names.index(row.name) for row in found.rows)
    assert [row.los for row in found.rows] == [ground.errors.los(best, other), None]
    assert "the best of each family: 2 of 4 engines; the games of all count" in found.caption
