"""Lists by name that once went wrong, and what was once accepted of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from enginetour.errors import UsageRefused
from enginetour.store.careers import career
from enginetour.store.definition import ListDefinition
from enginetour.store.listed import listed
from enginetour.store.revisions import define
from enginetour.store.selected import selected
from enginetour.store.tournaments import Store
from tests.listing_games import record
from tests.storing import draft


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Fruit and Toga met in two tournaments, the second time as another binary of Fruit."""
    with Store.open(tmp_path / "t.db") as opened:
        for name, fingerprint, day in (("spring", "f1", "2026-05-01"), ("autumn", "f2", "2026-11-01")):
            log = opened.create_tournament(draft(name, ("Fruit", "Toga"), fingerprint))
            record(log, "Fruit", "Toga", day=day)
            record(log, "Toga", "Fruit", day=day)
        yield opened


def ratings(store: Store, as_of: str | None = None, **parts: object) -> dict[str, float]:
    found = listed(store, ListDefinition.model_validate(parts), as_of)
    return {row.name: row.rating for row in found.rows}


def test_an_anchor_outlives_a_version_that_is_not_in_the_list(store: Store) -> None:
    """A second version elsewhere in the store gave the first a mark, and the list's anchor was nobody any more."""
    found = ratings(store, tournaments=("spring",), anchors={"Fruit": 2700.0})
    assert found == pytest.approx({"Fruit [f1]": 2700.0, "Toga [f1]": 2700.0})


def test_an_anchor_of_several_versions_is_told(store: Store) -> None:
    """Which of them is fixed is the list's owner's to say."""
    with pytest.raises(UsageRefused, match=r"'Fruit' has several versions in this list: Fruit \[f1\], Fruit \[f2\]"):
        ratings(store, anchors={"Fruit": 2700.0})
    with pytest.raises(UsageRefused, match=r"'Fruit \[f1\]' is fixed twice"):
        ratings(store, tournaments=("spring",), anchors={"Fruit": 2700.0, "Fruit [f1]": 2600.0})


def test_a_marked_name_means_the_same_version_in_the_past(store: Store) -> None:
    """Before the second version came the first had no mark: anchors, patterns and aliases with one fitted nobody."""
    then = "2026-06-01"
    anchored = ratings(store, then, anchors={"Fruit [f1]": 2700.0})
    assert anchored == pytest.approx({"Fruit": 2700.0, "Toga": 2700.0})
    assert selected(store, ListDefinition(engines=("Fruit [f1]", "Toga [f1]")), then).games == 2
    assert selected(store, ListDefinition(not_engines=("Fruit [f1]",)), then).games == 0
    assert selected(store, ListDefinition(aliases={"Fruit [f1]": "Apple"}), then).names == ("Apple", "Toga")


def test_versions_added_up_keep_the_level_of_the_list(store: Store) -> None:
    """An engine of several versions was told at the pool's average 0, whatever the list is anchored at."""
    define(store, "main", ListDefinition(anchors={"Toga": 2700.0}, aliases={"Toga [f2]": "Toga", "Toga [f1]": "Toga"}))
    assert career(store, "Fruit", list_name="main").rating == pytest.approx(2700.0)
