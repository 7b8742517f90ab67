"""Cells that no version of ours writes, and whose fault it is when rows cannot be read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.cli.common import rows_of_others
from enginetour.model.errors import StoreRefused
from enginetour.store.check import odd_cells
from enginetour.store.database import Database
from tests.storing import add_game, full_game, game, meddled, sound_log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A tournament with a game that has something in every field."""
    store, log = sound_log(tmp_path / "t.db")
    with store:
        add_game(log, game())
        add_game(log, replace(full_game(), pairing=game("Toga", "Fruit", meeting=2).pairing, replay=0))
    return tmp_path / "t.db"


def found(path: Path) -> list[str]:
    with Database.open(path, create=False, readonly=True) as database:
        return list(odd_cells(database))


def test_ours_are_in_order(path: Path) -> None:
    """A game with all its parts, and one with few."""
    assert found(path) == []


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE games SET started = 'soon' WHERE number = 2", "row 2 of games has 'soon' as started"),
        ("UPDATE games SET plies = 1e300", "row 1 of games has '1.0e+300' as plies, and 1 more"),
        ("UPDATE games SET ended = 9e999 WHERE number = 1", "row 1 of games has 'Inf' as ended"),
        ("UPDATE games SET round = 1 << 62 WHERE number = 1", "row 1 of games has '4611686018427387904' as round"),
        ("UPDATE games SET opening = '[' WHERE number = 1", "row 1 of games has '[' as opening"),
        ("UPDATE tournaments SET config = ''", "row 1 of tournaments has '' as config"),
        ("UPDATE games SET cause = x'ff1b' WHERE number = 1", "row 1 of games has '\\\\xff\\x1b' as cause"),
        ("UPDATE moves SET moves = 'e4' WHERE game = 1", "row 1 of moves has 'e4' as moves"),
        ("UPDATE entrants SET new = 2 WHERE place = 1", "row 1 of entrants has '2' as new"),
    ],
)
def test_each_kind_is_named(path: Path, statement: str, told: str) -> None:
    """Another type, no JSON, beyond all measure: row, table, value and column, and how many more."""
    meddled(path, statement)
    assert found(path) == [told]


def test_whose_fault_it_is(path: Path) -> None:
    """A failure over a sound database, or over none, is our own; over one with something to find it is its."""
    with pytest.raises(KeyError), rows_of_others(path):
        raise KeyError("our own")
    with pytest.raises(KeyError), rows_of_others(path.with_name("none.db")):
        raise KeyError("our own")
    meddled(path, "UPDATE games SET started = 'soon' WHERE number = 2")
    told = r"row 2 of games has 'soon' as started; enginetour db check"
    with pytest.raises(StoreRefused, match=told), rows_of_others(path):
        raise KeyError("theirs")
