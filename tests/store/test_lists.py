"""Tests of rating lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from enginetour.formats.adaptive import Adaptive
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Outcome
from enginetour.ratings.design import posterior
from enginetour.ratings.pairs import pairs_of
from enginetour.ratings.priors import GaussianPrior
from enginetour.ratings.ratinglist import rating_list
from enginetour.reports import editions
from enginetour.reports.ratinglist import list_footer
from enginetour.reports.sheet import render
from enginetour.store import editions as editions_module
from enginetour.store.careers import career
from enginetour.store.definition import ListDefinition, define_list
from enginetour.store.editions import difference, publish
from enginetour.store.lists import rate_selection, tournament_rating_list
from enginetour.store.selection import select_games
from enginetour.store.tournaments import Store
from tests.support.databases import draft, record
from tests.support.tournaments import tour


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Fruit and Toga met in two tournaments, the second time with another binary of Fruit."""
    with Store.open(tmp_path / "t.db") as opened:
        for name, fingerprint, day in (("spring", "f1", "2026-05-01"), ("autumn", "f2", "2026-11-01")):
            log = opened.create_tournament(draft(name, ("Fruit", "Toga"), fingerprint))
            record(log, "Fruit", "Toga", day=day)
            record(log, "Toga", "Fruit", day=day)
        yield opened


def ratings(store: Store, as_of: str | None = None, **parts: object) -> dict[str, float]:
    found = rate_selection(store, select_games(store, ListDefinition.model_validate(parts), as_of))
    return {row.name: row.rating for row in found.rows}


@pytest.mark.parametrize(("system", "prior"), [("adaptive", 350.0), ("adaptive", 90.0), ("roundrobin", None)])
def test_the_list_of_an_adaptive_tournament_has_its_prior(tmp_path: Path, system: str, prior: float | None) -> None:
    """Only the list of an adaptive tournament is the posterior with the prior of its settings, as its caption says."""
    with Store.open(tmp_path / "t.db") as opened:
        settings = {"goal": {"error": 10.0}, "prior": prior} if prior else {}
        made = replace(draft("cup", ("Fruit", "Toga")), system=system, config={"format": settings})
        made = replace(made, format_version=Adaptive.version if prior else 1)
        log = opened.create_tournament(made)
        for outcome in (Outcome.WHITE, Outcome.WHITE, Outcome.BLACK):
            record(log, "Fruit", "Toga", outcome=outcome)
        found = tournament_rating_list(log, {})
        plain = rating_list(log.pair_counts())
        if prior is None:
            assert found.rows == plain.rows
        else:
            pairs = pairs_of(log.pair_counts())
            known = posterior(pairs.names, pairs.dense(), GaussianPrior(prior))
            ratings = {row.name: row.rating for row in found.rows}
            assert ratings == pytest.approx(
                dict(zip(known.names, known.mode - known.mode.mean(), strict=True)), abs=1e-6
            )
        captions = [text for text in found.caption if text.startswith("adaptive tournament")]
        assert [f"a prior of ± {prior:g} Elo" in text for text in captions] == ([True] if prior else [])
        advantage = list_footer(found, 95).rpartition("; ")[2]
        assert advantage.startswith("White advantage") is bool(prior)
        assert advantage.endswith(", estimated") is bool(prior), "no user gave it"


def test_the_list_of_an_adaptive_tournament_with_few_games(tmp_path: Path) -> None:
    """Without games the list is empty, and engines that won all games or never met have finite ratings and errors."""
    names = ("Fruit", "Toga", "Phalanx", "HoiChess")
    made = replace(draft("cup", names), system="adaptive", config={"format": {"goal": {"error": 10.0}}})
    made = replace(made, format_version=Adaptive.version)
    with Store.open(tmp_path / "t.db") as opened:
        log = opened.create_tournament(made)
        assert tournament_rating_list(log, {"Fruit": 2800.0}).rows == ()
        for white, black in (("Fruit", "Toga"), ("Phalanx", "HoiChess")):
            record(log, white, black, outcome=Outcome.WHITE)
        found = {row.name: row for row in tournament_rating_list(log, {"Fruit": 2800.0}).rows}
    assert found["Fruit"].rating == 2800.0 > found["Toga"].rating
    assert found["Phalanx"].rating == -found["HoiChess"].rating > 0
    assert all(row.plus and row.minus for name, row in found.items() if name != "Fruit")


def test_an_anchor_outlives_a_version_that_is_not_in_the_list(store: Store) -> None:
    """An anchor stays valid if a second version of its name plays outside of the list."""
    found = ratings(store, tournaments=("spring",), anchors={"Fruit": 2700.0})
    assert found == pytest.approx({"Fruit [f1]": 2700.0, "Toga [f1]": 2700.0})


def test_an_anchor_of_several_versions_is_told(store: Store) -> None:
    """An anchor that means several versions is an error."""
    with pytest.raises(UsageRefused, match=r"'Fruit' has several versions in this list: Fruit \[f1\], Fruit \[f2\]"):
        ratings(store, anchors={"Fruit": 2700.0})
    with pytest.raises(UsageRefused, match=r"'Fruit \[f1\]' is given twice as an anchor"):
        ratings(store, tournaments=("spring",), anchors={"Fruit": 2700.0, "Fruit [f1]": 2600.0})


def test_a_marked_name_means_the_same_version_in_the_past(store: Store) -> None:
    """A name with mark in a definition is valid for earlier times without the mark."""
    then = "2026-06-01"
    anchored = ratings(store, then, anchors={"Fruit [f1]": 2700.0})
    assert anchored == pytest.approx({"Fruit": 2700.0, "Toga": 2700.0})
    assert select_games(store, ListDefinition(engines=("Fruit [f1]", "Toga [f1]")), then).games == 2
    assert select_games(store, ListDefinition(not_engines=("Fruit [f1]",)), then).games == 0
    assert select_games(store, ListDefinition(aliases={"Fruit [f1]": "Apple"}), then).names == ("Apple", "Toga")


def test_versions_added_up_keep_the_level_of_the_list(store: Store) -> None:
    """All versions of an engine together have a rating at the level of the list's anchors."""
    define_list(
        store, "main", ListDefinition(anchors={"Toga": 2700.0}, aliases={"Toga [f2]": "Toga", "Toga [f1]": "Toga"})
    )
    assert career(store, "Fruit", list_name="main").rating == pytest.approx(2700.0)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--average", "1e308"), "must be between -1000000 and 1000000"),
        (("--scale", "1e-300"), "must be between 1 and 1000000"),
        (("--anchor", "Toga=-1e7"), "must be between"),
        (("--prior", "gaussian=1e-300"), "a number between 0.000001 and 1,000,000"),
        (("--prior", "virtual=1e300"), "a number between"),
        (("--confidence", "nan"), "must be between 50 and 99.99 (found nan)"),
        (("--system", "elo", "--setting", "start_value=1e308"), "start_value: must be between"),
        (("--system", "gor", "--setting", "start_value=1e308"), "start_value: must be between"),
    ],
)
def test_numbers_that_no_rating_has_are_refused(tmp_path: Path, words: tuple[str, str], told: str) -> None:
    """Settings that would make ratings overflow are errors."""
    with Store.open(tmp_path / "results" / "enginetour.db") as opened:
        record(opened.create_tournament(draft()), "Fruit", "Toga")
    done = tour(tmp_path, "ratings", "--all", *words, expect=2)
    assert told in done.stderr
    assert done.stdout == ""


def test_the_last_day_of_the_calendar(store: Store) -> None:
    """The last day that a date can have is valid."""
    everything = ratings(store)
    assert ratings(store, "9999-12-31") == everything
    assert ratings(store, until=date(9999, 12, 31)) == everything


def test_a_list_is_not_written_over_a_folder(tmp_path: Path) -> None:
    """Writing a list to a directory is an error in one line."""
    (tmp_path / "g.pgn").write_text('[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1-0\n')
    assert "--output: . is a directory" in tour(tmp_path, "rate", "g.pgn", "-o", ".", expect=2).stderr


def test_an_edition_never_goes_back_behind_another(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If two processes publish at the same time, the newer edition has the newer games."""
    define_list(store, "main", ListDefinition())
    publish(store, "main")
    reckoned = rate_selection
    rivals = iter([("Fruit", "Toga")])

    def slow(*given: Any) -> Any:
        found = reckoned(*given)
        for white, black in rivals:
            record(store.tournament(), white, black)
            publish(store, "main")
        return found

    monkeypatch.setattr(editions_module, "rate_selection", slow)
    record(store.tournament(), "Toga", "Fruit")
    late = publish(store, "main", again=True)
    assert (late.number, late.games) == (3, 6)
    assert [one.games for one in editions_module.editions_of(store, "main")] == [4, 6, 6]
    assert {line.difference for line in late.lines} == {0.0}


@pytest.mark.parametrize(("name", "told"), [("x" * 65, "1 to 64"), ("a\x1b[2J", "printable"), ("", "1 to 64")])
def test_an_import_has_a_name_as_a_tournament_has(tmp_path: Path, name: str, told: str) -> None:
    """The name of an import has the same limits as the name of a tournament."""
    (tmp_path / "g.pgn").write_text('[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1-0\n')
    assert told in tour(tmp_path, "import", "g.pgn", "--name", name, expect=2).stderr
    assert not (tmp_path / "results" / "enginetour.db").exists()


def test_a_folder_is_no_file_of_games(tmp_path: Path) -> None:
    """A directory cannot be imported."""
    assert ".: cannot be read: Is a directory" in tour(tmp_path, "import", ".", expect=3).stderr


def test_what_moved_fits_eighty_columns(store: Store) -> None:
    """The table of differences fits into 80 columns."""
    define_list(store, "main", ListDefinition())
    publish(store, "main")
    record(store.tournament(), "Toga", "Fruit")
    found = difference(store, "main").to_json()
    text = render(editions.difference_sheet(found, 10), 80)
    assert "Fruit [f2]" in text
    assert max(map(len, text.splitlines())) <= 80
    assert [column.key for column in editions.difference_sheet(found, None).columns][-3:] == ["terms", "new", "struck"]


def test_moves_of_several_pools_are_told_apart(store: Store) -> None:
    """A difference with several pools says so."""
    log = store.create_tournament(draft("apart", ("Rebel", "Phalanx")))
    record(log, "Rebel", "Phalanx", Outcome.DRAW)
    define_list(store, "main", ListDefinition())
    publish(store, "main")
    record(log, "Phalanx", "Rebel", Outcome.DRAW)
    told = "rating pools: 3; each pool has its own ranks"
    assert told in editions.difference_sheet(difference(store, "main").to_json(), 10).notes
    record(store.create_tournament(draft("joined", ("Toga", "Rebel"))), "Toga", "Rebel", Outcome.DRAW)
    sheet = editions.difference_sheet(difference(store, "main").to_json(), 10)
    assert "rating pools: 2 (before: 3); each pool has its own ranks" in sheet.notes
    place = [column.key for column in sheet.columns].index("change")
    moved = {row["name"]: (row["change"], told[place]) for row, told in zip(sheet.rows, sheet.cells(), strict=True)}
    assert {name for name, told in moved.items() if told == (None, "other pool")} == {"Phalanx", "Rebel"}


def test_the_best_of_families_of_nobody(tmp_path: Path) -> None:
    """A list of best versions without games is empty."""
    with Store.open(tmp_path / "t.db") as store:
        record(store.create_tournament(draft()), "Fruit", "Toga", day="2026-11-05")
        found = rate_selection(store, select_games(store, ListDefinition(best_of_family=True), "2026-11-01"))
    assert found.rows == ()
    assert found.caption == ("best engine of each family: 0 of 0 engines; the games of all engines count",)
