"""Imports struck out: gone from every list of now, there in every list of before, and free to come again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enginetour.model.errors import UsageRefused
from enginetour.store.counts import remove_imports
from enginetour.store.definition import ListDefinition, define
from enginetour.store.editions import difference, edition, publish
from enginetour.store.games import meetings
from enginetour.store.imports import imports_of
from enginetour.store.ratings import ratings_of, refresh
from enginetour.store.selection import selected
from enginetour.store.tournaments import Store
from tests.listing_games import findings, record
from tests.storing import draft, meddled
from tests.test_imports import enter, invoke, pgn, rows


@pytest.fixture
def club(tmp_path: Path) -> Path:
    path = tmp_path / "club.pgn"
    path.write_text(pgn(("Fruit", "Toga", "1-0"), ("Toga", "Fruit", "1/2-1/2"), ("Fruit", "Rebel", "0-1")))
    return path


@pytest.fixture
def store(tmp_path: Path, club: Path) -> Iterator[Store]:
    """Two games played here with an import of three between them."""
    with Store.open(tmp_path / "x.db") as opened:
        log = opened.create_tournament(draft())
        record(log, "Phalanx", "HoiChess")
        enter(opened, club, "club")
        record(log, "HoiChess", "Phalanx", day="2026-11-02")
        yield opened


def games(store: Store, as_of: str | None = None, **parts: Any) -> int:
    return selected(store, ListDefinition.model_validate(parts), as_of).games


@pytest.mark.parametrize("parts", [{}, {"min_games": 1, "tc": ("*",)}, {"system": "elo"}])
def test_a_list_loses_its_games_and_gets_them_back(store: Store, club: Path, parts: dict[str, Any]) -> None:
    """By kept counts and counted from the games; the same file brings all of them once more."""
    assert games(store, **parts) == 5
    [struck] = remove_imports(store.database, ["club"], why="wrong clocks")
    assert (struck.title, struck.games) == ("club", 3)
    assert games(store, **parts) == 2
    assert enter(store, club, "club").games == 3
    assert games(store, **parts) == 5
    assert [line.removed is None for line in imports_of(store.database)] == [False, True]


def test_it_is_an_event_of_its_time(tmp_path: Path, store: Store, club: Path) -> None:
    """No row changes; editions and lists of before have the games, those of later have not."""
    define(store, "all", ListDefinition())
    first = publish(store, "all")
    before = {table: rows(tmp_path / "x.db", table) for table in ("imports", "imported_games", "tournaments", "games")}
    remove_imports(store.database, ["club"], why="wrong clocks")
    assert {table: rows(tmp_path / "x.db", table) for table in before} == before
    assert games(store, "game 2") == 5
    assert edition(store, "all", 1).numbers() == first.numbers()
    again = selected(store, ListDefinition(), first.moment)
    assert (again.games, again.names) == (5, ("Fruit", "HoiChess", "Phalanx", "Rebel", "Toga"))
    found = difference(store, "all").to_json()
    assert found["removed"] == [{"import": "club", "games": 3, "why": "wrong clocks"}]
    publish(store, "all")
    enter(store, club, "club")
    assert difference(store, "all", 1, 2).to_json()["removed"] == found["removed"]
    assert difference(store, "all", 2).to_json()["removed"] == []


@pytest.mark.parametrize("system", ["elo", "gor"])
def test_incremental_ratings_are_rated_again(store: Store, club: Path, system: str) -> None:
    """From the first of its games on, in games and in events; the bits are those of a store that never had it."""
    refresh(store, system)
    remove_imports(store.database, ["club"])
    refresh(store, system)
    assert set(ratings_of(store, system)) == {"Phalanx", "HoiChess"}
    with Store.open(club.parent / "other.db") as other:
        log = other.create_tournament(draft())
        record(log, "Phalanx", "HoiChess")
        record(log, "HoiChess", "Phalanx")
        refresh(other, system)
        assert ratings_of(other, system) == ratings_of(store, system)
    enter(store, club, "club")
    refresh(store, system)
    assert len(ratings_of(store, system)) == 5


def test_whoever_reads_games_one_by_one_leaves_them_out(store: Store, club: Path) -> None:
    """A sequential test has none, and then those of the second import alone."""
    remove_imports(store.database, ["club"])
    with pytest.raises(UsageRefused, match="have not met"):
        meetings(store.database, "Fruit", "Toga")
    enter(store, club, "club")
    assert [points for _, points in meetings(store.database, "Fruit", "Toga").games] == [2, 1]


def test_the_check_understands_it(tmp_path: Path, store: Store, club: Path) -> None:
    """A removal is sound, the games of the file may come again; two removals of one import are a finding."""
    define(store, "all", ListDefinition())
    publish(store, "all")
    remove_imports(store.database, ["club"])
    enter(store, club, "club")
    assert findings(store) == []
    meddled(
        tmp_path / "x.db",
        "INSERT INTO events SELECT tournament, 2, kind, game, payload, at FROM events WHERE kind = 'removed'",
    )
    assert ["struck out, once" in words for words in findings(store)] == [True]


def test_which_import_is_meant(store: Store, club: Path, tmp_path: Path) -> None:
    """One by its name, of several one by its number or all by a pattern; all that are named or none."""
    other = tmp_path / "more.pgn"
    other.write_text(pgn(("Rebel", "Toga", "1-0")))
    enter(store, other, "club")
    for words, refusal in (
        (["club"], "2 imports are called 'club'"),
        (["clubs"], "did you mean 'club'"),
        (["autumn"], "no import"),
        (["club #2", "nobody"], "no import"),
    ):
        with pytest.raises(UsageRefused, match=refusal):
            remove_imports(store.database, words)
    assert games(store) == 6
    assert [one.title for one in remove_imports(store.database, ["club #2"])] == ["club #2"]
    with pytest.raises(UsageRefused, match="struck out already"):
        remove_imports(store.database, ["club #2"])
    assert [one.edition for one in remove_imports(store.database, ["club #*"], write=False)] == [1]
    assert games(store) == 5, "nothing was written"
    assert [one.edition for one in remove_imports(store.database, ["club", "club #1"])] == [1]


# --- the commands


def test_list_and_remove_on_the_command_line(tmp_path: Path, club: Path) -> None:
    """`--list` is `imports`; a removal is told, listed with its reason, and the import's own list refers to before."""
    invoke(tmp_path, "import", club)
    assert invoke(tmp_path, "import", "--list").output == invoke(tmp_path, "imports").output
    assert "would be struck out" in invoke(tmp_path, "import", "--remove", "club", "--dry-run").output
    told = json.loads(invoke(tmp_path, "import", "--remove", "club", "--why", "wrong clocks", "--json").stdout)
    assert [(one["name"], one["edition"], one["games"]) for one in told["removed"]] == [("club", 1, 3)]
    [line] = json.loads(invoke(tmp_path, "import", "--list", "--json").stdout)
    assert (line["removed"], line["why"]) == (told["removed"][0]["at"], "wrong clocks")
    assert "club #1 was struck out: wrong clocks" in invoke(tmp_path, "imports").output
    refused = invoke(tmp_path, "ratings", "-t", "club")
    assert isinstance(refused.exception, UsageRefused)
    assert "was struck out on" in str(refused.exception)
    assert invoke(tmp_path, "ratings", "-t", "club", "--as-of", "2000-01-01").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("a.pgn", "--list"),
        ("--list", "--remove", "x"),
        ("a.pgn", "--why", "x"),
        ("--list", "--name", "x"),
        ("a.pgn", "--csv"),
    ],
)
def test_one_thing_at_a_time(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Files, --list or --remove; options of the others are wrong usage."""
    assert invoke(tmp_path, "import", *words).exit_code == 2
