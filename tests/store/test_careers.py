"""Tests of the history of one engine."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from math import log10
from pathlib import Path

import pytest

from enginetour.model.errors import UsageRefused
from enginetour.model.game import Outcome
from enginetour.store.careers import career
from enginetour.store.definition import ListDefinition, define_list
from enginetour.store.editions import publish
from enginetour.store.ratings import update_ratings
from enginetour.store.tournaments import Store
from tests.support.databases import bring, draft, record, spec


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Fruit has played three games against Toga and one against Phalanx."""
    with Store.open(tmp_path / "t.db") as opened:
        log = opened.create_tournament(draft())
        record(log, "Fruit", "Toga", day="2026-11-02")
        record(log, "Toga", "Fruit", Outcome.DRAW)
        record(log, "Fruit", "Toga", Outcome.BLACK)
        record(log, "Phalanx", "Fruit", Outcome.DRAW, day="2026-11-03", tc="600")
        record(log, "Toga", "Phalanx", Outcome.DRAW)
        record(log, "Fruit", "Phalanx", Outcome.VOID, day="2026-12-24")
        yield opened


def test_opponents(store: Store) -> None:
    """Each opponent has games, results, rating gap and performance; void games do not count."""
    found = career(store, "Fruit")
    assert (found.name, found.games, found.first, found.last) == ("Fruit", 4, date(2026, 11, 1), date(2026, 11, 3))
    toga, phalanx = found.opponents
    assert (toga.name, toga.games, toga.wins, toga.draws, toga.losses, toga.score) == ("Toga", 3, 1, 1, 1, 0.5)
    assert found.rating is not None
    assert toga.rating is not None
    assert toga.gap == pytest.approx(found.rating - toga.rating)
    assert toga.performance == pytest.approx(toga.rating)
    assert (phalanx.games, phalanx.draws) == (1, 1)
    assert career(store, "Toga").opponents[0].wins == 1


def test_performance(store: Store) -> None:
    """Three of four points give a performance 400 log10(3) above the opponent; a perfect score gives none."""
    record(store.tournament("autumn"), "Fruit", "Toga")
    toga = career(store, "Fruit").opponents[0]
    assert toga.rating is not None
    assert toga.performance == pytest.approx(toga.rating + 400 * log10(0.625 / 0.375))
    record(store.tournament("autumn"), "HoiChess", "Fruit", Outcome.BLACK)
    assert career(store, "HoiChess").opponents[0].performance is None


def test_list_and_editions(store: Store) -> None:
    """Opponents can be those of a list, and editions give the published ratings."""
    define_list(store, "blitz", ListDefinition(time_classes=("blitz",)))
    first = publish(store, "blitz")
    record(store.tournament("autumn"), "Fruit", "Phalanx")
    publish(store, "blitz")
    found = career(store, "Phalanx", list_name="blitz")
    assert [opponent.name for opponent in found.opponents] == ["Fruit", "Toga"]
    assert [(line.list, line.edition, line.games) for line in found.published] == [("blitz", 1, 1), ("blitz", 2, 2)]
    assert found.published[0].rating == next(line.rating for line in first.lines if line.name == "Phalanx")
    with pytest.raises(UsageRefused, match="'HoiChess' has no games in the list 'blitz'"):
        career(store, "HoiChess", list_name="blitz")


def test_versions(store: Store) -> None:
    """A name without mark means all versions, a name with mark only its own games and rating events."""
    log = store.tournament("autumn")
    log.accept_change({"Fruit": spec("Fruit", "abcdef0123")})
    record(log, "Fruit", "Toga")
    update_ratings(store, "elo")
    whole, old, new = (career(store, name) for name in ("Fruit", "Fruit [f1]", "Fruit [abcdef01]"))
    assert (whole.games, old.games, new.games) == (5, 4, 1)
    assert [len(found.events) for found in (whole, old, new)] == [5, 4, 1]
    with pytest.raises(UsageRefused, match="engine 'Fruit 3' not found in this database, did you mean 'Fruit"):
        career(store, "Fruit 3")


def test_imported_days(store: Store) -> None:
    """Full dates of imported games count for the first and last day."""
    bring(store, [(1, 2, 1)], day=20200229)
    bring(store, [(1, 2, 1)], name="older", day=20190000)
    assert career(store, "Fruit").first == date(2020, 2, 29)
